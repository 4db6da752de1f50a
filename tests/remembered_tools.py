"""LLVM's tools, asked once: the same program with the same words and input gives the same output.

Most tests assemble and disassemble the same few kernels, and the start of a
tool takes longer than the rest of such a test. tests/asm and tests/isa, which
test the use of the tools itself, start them every time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from isaprof.asm import assemble, prove
from isaprof.isa import llvm
from isaprof.isa.process import TIMEOUT_S, Completed, Running

#: a command and the SHA-256 of its input
Key = tuple[tuple[str, ...], bytes]
#: longer outputs (bytes), of the largest recorded kernels, are not kept
LIMIT = 4 << 20


class Remembered:
    """The results of tools that succeeded."""

    def __init__(self, launch: Callable[..., Running]) -> None:
        self._launch = launch
        self._known: dict[Key, Completed] = {}

    def launch(self, argv: Sequence[str | Path], stdin: str | bytes = b"") -> _Tool:
        data = stdin if isinstance(stdin, bytes) else stdin.encode("utf-8", "surrogateescape")
        key = (tuple(map(str, argv)), sha256(data).digest())
        return _Tool(key, self._known, None if key in self._known else self._launch(argv, data))


class _Tool:
    """Stands for :class:`isaprof.isa.process.Running`."""

    def __init__(self, key: Key, known: dict[Key, Completed], running: Running | None) -> None:
        self.name = key[0][0]
        self._key, self._known, self._running = key, known, running

    def wait(self, timeout: float = TIMEOUT_S) -> Completed:
        if self._running is None:
            return self._known[self._key]
        done = self._running.wait(timeout)
        if done.returncode == 0 and len(done.output) <= LIMIT:
            self._known[self._key] = done
        return done

    def kill(self) -> None:
        if self._running is not None:
            self._running.kill()


_tools = Remembered(llvm.launch)


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remember until the end of the test; what is known stays known in the process."""
    monkeypatch.setattr(llvm, "launch", _tools.launch)
    for user in (assemble, prove):  # a tool that was started in advance would wait for nothing
        monkeypatch.setattr(user, "prepare", lambda argv: None)
