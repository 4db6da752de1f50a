"""What `suggest` and `apply` are pointed at: a capture, a code object, or an assembly source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isaprof.codeobj.source import load_object
from isaprof.errors import BadInput, UsageError
from isaprof.files import read_bytes
from isaprof.transforms.context import Context
from isaprof.transforms.model import Finding
from isaprof.transforms.registry import find
from isaprof.transforms.source import Source, is_binary

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis
    from isaprof.capture.model import Capture
    from isaprof.transforms.model import Transform

_PLACE = re.compile(r"([\w-]+)(?:@(0x[0-9a-fA-F]{1,16}|\d{1,9}))?")


@dataclass(frozen=True)
class Subject:
    """A kernel, with a capture of it or its source where there is one."""

    path: Path
    context: Context
    source: Source | None = None  #: for assembly files only
    capture: Capture | None = None
    notes: tuple[str, ...] = ()  #: what the user has to know about the choice of the object

    @classmethod
    def open(cls, path: Path, kernel: str | None = None, target: str | None = None) -> Subject:
        """Read ``path``; BadInput where it is neither of the three.

        A file or folder that holds code objects counts as the one that
        ``target`` and ``kernel`` choose.
        """
        if (path / "capture.json").is_file():
            found = open_capture(path, kernel)
            name, arch = found.capture.kernel, found.capture.arch
            context = Context.of(found.data, name, analysis=found.analysis, path=str(path), arch=arch)
            return cls(path, context, capture=found.capture)
        data = b"" if path.is_dir() else read_bytes(path)
        if path.is_dir() or is_binary(data):
            data, _, origin = load_object(path, target=target, kernel=kernel)
            context = Context.of(data, origin.kernel, path=origin.label, arch=origin.arch)
            return cls(path, context, notes=origin.notes)
        source = Source.load(path, data)
        return cls(path, Context.of(source.data, kernel, path=str(path)), source)

    def place(self, finding: Finding) -> str:
        """The place as `isaprof apply` takes it: source line, else address."""
        line = None if self.source is None else self.source.line_of.get(finding.index)
        return f"{finding.pc:#x}" if line is None else str(line)

    def command(self, finding: Finding) -> str:
        """The next command for a finding."""
        if finding.edit is None:
            return "advice: see the rewritten code"
        name = str(self.path)
        out = f"{self.path.with_suffix('')}.{finding.transform}{self.path.suffix}"
        if self.path.is_dir():
            name, out = "KERNEL.co", f"KERNEL.{finding.transform}.co"
        return f"isaprof apply {name} {finding.transform}@{self.place(finding)} -o {out}"


@dataclass(frozen=True)
class Captured:
    """A capture, its analysis, and the code object that it is of."""

    capture: Capture
    analysis: Analysis
    data: bytes


def open_capture(path: Path, kernel: str | None = None) -> Captured:
    """Raises BadInput where the capture holds no code object, or is of another kernel."""
    from isaprof.attribution import analyse
    from isaprof.capture import open as open_

    capture = open_(path)
    if not capture.code_objects:
        raise BadInput(
            "the capture holds no code object, so its code cannot be analysed",
            path=path,
            kind="no_code_object",
            hint="isaprof suggest KERNEL.co works on the object itself",
        )
    if kernel is not None and kernel != capture.kernel:
        raise BadInput(f"is a capture of {capture.kernel}, not of {kernel}", path=path, kind="unknown_kernel")
    chosen = next((c for c in capture.code_objects if c.name == capture.kernel), capture.code_objects[0])
    return Captured(capture, analyse(capture), chosen.data)


def parse_place(text: str) -> tuple[Transform, int | None, bool]:
    """``NAME``, ``NAME@LINE`` or ``NAME@0xPC`` -> (transform, number, number is an address)."""
    m = _PLACE.fullmatch(text)
    if m is None:
        raise UsageError(
            f"{text}: expected TRANSFORM, TRANSFORM@LINE or TRANSFORM@0xADDRESS",
            hint="isaprof suggest KERNEL prints the places",
        )
    transform = find(m[1])
    if m[2] is None:
        return transform, None, False
    return transform, int(m[2], 0) if m[2].startswith("0x") else int(m[2]), m[2].startswith("0x")
