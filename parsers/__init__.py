"""Readers of trace formats. They know no views."""
