"""Backends: they turn a code object and a launch into a Capture."""
