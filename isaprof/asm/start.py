"""Reading the code of an object beside other work: most of it is waiting for llvm-objdump."""

from __future__ import annotations

from isaprof.asm.code import Code, code_of, start_reading
from isaprof.codeobj.elf import CodeObject


class Started:
    """``code()`` waits for the rows that llvm-objdump began to write; it raises what reading raises."""

    def __init__(self, co: CodeObject) -> None:
        self.co = co
        self._reading = start_reading(co)

    def code(self) -> Code:
        return code_of(self.co, self._reading)
