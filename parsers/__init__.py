"""Readers of recorded traces: raw SQTT streams, rocprofv3 output, trace folders.

They turn bytes into plain columns and records. They know no view, no command
line and no simulator.
"""
