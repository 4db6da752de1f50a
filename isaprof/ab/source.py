"""The two kernels of a comparison: loaded, matched, checked against each other."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING

from isaprof.errors import BadInput, UsageError

if TYPE_CHECKING:
    from isaprof.codeobj.elf import CodeObject, Kernel
    from isaprof.launch.file import LaunchFile


@dataclass(frozen=True, slots=True)
class Source:
    """One kernel of one code object, with the launch file that describes it."""

    name: str  #: "A" or "B", or the name of a step
    path: str
    data: bytes = field(repr=False)
    co: CodeObject
    kernel: Kernel
    file: LaunchFile

    @property
    def text_sha256(self) -> str:
        """SHA-256 of the executable sections' bytes."""
        return hashlib.sha256(b"".join(s.data for s in self.co.text)).hexdigest()

    @property
    def start_in_text(self) -> int:
        """Offset of the kernel in the executable bytes: tells two kernels of one object apart."""
        before = 0
        for s in self.co.text:
            if s.address <= self.kernel.entry < s.address + len(s.data):
                return before + self.kernel.entry - s.address
            before += len(s.data)
        return self.kernel.entry


def load_a(
    path: str | PathLike[str],
    data: bytes,
    *,
    kernel: str | None = None,
    launch: str | PathLike[str] | None = None,
    target: str | None = None,
    name: str = "A",
) -> Source:
    """The first kernel with its own launch file (``launch``, beside it, or built in)."""
    from isaprof.codeobj.elf import CodeObject
    from isaprof.launch.match import find

    co = CodeObject.from_bytes(data, path=path, arch=target)
    chosen = co.kernel(kernel)
    explicit = None if launch is None else str(launch)
    return Source(name, str(path), data, co, chosen, find(chosen, co, str(path), explicit))


def load_b(
    a: Source,
    path: str | PathLike[str],
    data: bytes,
    *,
    kernel: str | None = None,
    launch: str | PathLike[str] | None = None,
    target: str | None = None,
    name: str = "B",
) -> Source:
    """The second kernel; without ``launch`` it is launched by A's launch file.

    ``kernel`` defaults to A's name where B has it. Raises BadInput for another
    architecture, and, with A's launch file, for another kernarg layout.
    """
    from isaprof.codeobj.elf import CodeObject
    from isaprof.launch.match import bind, find

    co = CodeObject.from_bytes(data, path=path, arch=target)
    if co.arch != a.co.arch:
        raise BadInput(
            f"is for {co.arch}, {a.name} ({a.path}) is for {a.co.arch}: cycles of different "
            "architectures are no comparison of two kernels",
            path=path,
            kind="arch_mismatch",
        )
    names = {k.name for k in co.kernels}
    if kernel is None and a.kernel.name in names:
        kernel = a.kernel.name
    chosen = co.kernel(kernel)
    if launch is not None:
        return Source(name, str(path), data, co, chosen, find(chosen, co, str(path), str(launch)))
    mine, theirs = _layout(chosen), _layout(a.kernel)
    if mine != theirs:
        raise BadInput(
            f"kernarg layout {mine} of kernel {chosen.name}; {a.name} has {theirs}, "
            f"so {a.name}'s launch file does not describe it",
            path=path,
            kind="launch_mismatch",
            hint="give the launch file of B with --launch-b FILE",
        )
    return Source(name, str(path), data, co, chosen, bind(a.file, chosen, co))


def refuse_same_text(a: Source, b: Source) -> None:
    """UsageError where both arms would execute the same instructions."""
    if a.text_sha256 == b.text_sha256 and a.start_in_text == b.start_in_text:
        raise UsageError(
            f"{a.path} and {b.path} hold the same instructions (.text SHA-256 {a.text_sha256}): "
            "there is nothing to compare",
            kind="same_text",
            hint="check that B was rebuilt after the edit: isaprof asm KERNEL.s -o B.co",
        )


def _layout(kernel: Kernel) -> str:
    """The explicit arguments, or only the size where the metadata lists none."""
    rows = [f"{a.offset}:{a.size} {a.value_kind}" for a in kernel.args if not a.hidden]
    return f"[{', '.join(rows)}]" if rows else f"of {kernel.kernarg_size} bytes"
