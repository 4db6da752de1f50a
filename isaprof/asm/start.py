"""Reading the code of an object beside other work: most of it is waiting for llvm-objdump."""

from __future__ import annotations

import threading

from isaprof.asm.code import Code, read_code
from isaprof.codeobj.elf import CodeObject


class Started:
    """``code()`` waits for the rows that a thread began to read; it raises what reading raised."""

    def __init__(self, co: CodeObject) -> None:
        self.co = co
        self._code: Code | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            self._code = read_code(self.co)
        except BaseException as e:
            self._error = e

    def code(self) -> Code:
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._code is not None
        return self._code
