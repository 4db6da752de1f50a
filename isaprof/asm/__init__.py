"""Reassemblable text of code objects, and back: the edit loop stands on this."""

from isaprof.asm.assemble import assemble_file, assemble_text
from isaprof.asm.disasm import Disassembly, disassemble_object

__all__ = ["Disassembly", "assemble_file", "assemble_text", "disassemble_object"]
