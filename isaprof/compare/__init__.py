"""Comparison of two captures, instruction by instruction."""
