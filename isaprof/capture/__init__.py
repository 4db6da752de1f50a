"""The Capture: one on-disk model for measured and modelled executions."""

from isaprof.capture.model import Capture, CodeObjectRef, Provenance, Warning_
from isaprof.capture.place import default_path
from isaprof.capture.schema import SCHEMA_VERSION, TABLES
from isaprof.capture.store import open, save, save_numbered  # noqa: A004

__all__ = [
    "SCHEMA_VERSION",
    "TABLES",
    "Capture",
    "CodeObjectRef",
    "Provenance",
    "Warning_",
    "default_path",
    "open",
    "save",
    "save_numbered",
]
