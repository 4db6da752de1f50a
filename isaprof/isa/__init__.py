"""Decoded AMDGCN instructions: one model for simulator, attribution, edits and views."""
