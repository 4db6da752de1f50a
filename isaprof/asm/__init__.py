"""Reassemblable text of code objects, and back: the edit loop stands on this."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isaprof.asm.assemble import assemble_file, assemble_text
    from isaprof.asm.disasm import Disassembly, disassemble_object

__all__ = ["Disassembly", "assemble_file", "assemble_text", "disassemble_object"]

_HOME = {
    "Disassembly": "isaprof.asm.disasm",
    "assemble_file": "isaprof.asm.assemble",
    "assemble_text": "isaprof.asm.assemble",
    "disassemble_object": "isaprof.asm.disasm",
}


def __getattr__(name: str) -> Any:
    # loaded when first used: `isaprof roundtrip` starts llvm-objdump before it needs them
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
