"""``--decoder rocprof``: raw traces by AMD's own decoder library, where it is installed.

**Not run on hardware, nor with AMD's library:** built from its public header
and tested with libraries of our own that speak its interface. The decoder runs
in a process of its own (:mod:`isaprof.backends.amd_child`), and what comes
back is checked like any other input.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isaprof
from isaprof import arch as tables_of
from isaprof.backends import environment
from isaprof.backends.protocol import Progress
from isaprof.backends.rocprof_totals import FOUR_CYCLES, FOUR_CYCLES_FIXED, four_cycles
from isaprof.backends.sqtt import LoadedCode
from isaprof.capture.model import Warning_
from isaprof.errors import BadInput, EnvironmentProblem
from isaprof.parsers.sqtt.model import Cat, State
from isaprof.parsers.ui_output import CodeRow, UiOutput, UiWave
from isaprof.parsers.wave_json import Rows

I64 = NDArray[np.int64]
_PACKAGE = "rocprof_trace_decoder"
#: status of the decoder: the buffer has no header it knows
_INVALID_SHADER_DATA = 4
_STATUS = (
    "success",
    "error",
    "out of resources",
    "invalid argument",
    "INVALID_SHADER_DATA",
    "not implemented",
)
#: seconds for a job, and for each megabyte of trace on top
_SECONDS, _SECONDS_PER_MB = 60.0, 10.0
#: columns of the arrays that come back, and the limits of each (inclusive)
_T = (-(1 << 62), 1 << 62)
_N = (0, (1 << 31) - 1)
_SHAPES: dict[str, tuple[tuple[int, int], ...]] = {
    "waves": ((0, 255), (0, 3), (0, 255), _T, _T, _N, _N),
    "insts": (_T, (0, len(Cat) - 1), (0, 1 << 24), _N, (-(1 << 63), (1 << 63) - 1), _N),
    "states": ((0, len(State) - 1), _N),
    "occupancy": (_T, (0, 255), (0, 255), (0, 255), (0, 1), (-(1 << 63), (1 << 63) - 1), _N),
    "counters": (_T, *((0, 1 << 16),) * 4, (0, 255), (0, 1)),
    "realtime": (_T, (-(1 << 63), (1 << 63) - 1)),
    "shaderdata": (_T, (-(1 << 63), (1 << 63) - 1)),
    "other_simd": (_T, (0, 1 << 16), (0, len(Cat) - 1)),
}


def require(path: Path, environ: Mapping[str, str] = os.environ) -> str:
    """Name of the library, "" for AMD's Python package; EnvironmentProblem where neither is there."""
    found = environment.find_decoder(environ)
    if found is not None:
        return str(found)
    if importlib.util.find_spec(_PACKAGE) is not None:
        return ""
    raise EnvironmentProblem(
        "AMD's trace decoder is not installed (librocprof-trace-decoder.so, or its Python package)",
        path=path,
        kind="decoder_missing",
        hint=f"isaprof import {quote(str(path))} --decoder isaprof   needs nothing",
    )


def decode(
    path: Path,
    buffers: Sequence[tuple[int, Path]],
    objects: Sequence[LoadedCode],
    target: str,
    warnings: list[Warning_],
    progress: Progress,
) -> UiOutput:
    """Decode the buffers of one dispatch (engine, file) with AMD's decoder.

    Raises EnvironmentProblem (``decoder_missing``, ``decoder_failed``) or
    BadInput (``invalid_shader_data``, ``decoder_crashed``). An engine that
    cannot be decoded among others becomes a warning.
    """
    library = require(path)
    progress(0, len(buffers), "decoding with AMD's library")
    with tempfile.TemporaryDirectory(prefix="isaprof-decode-") as scratch:
        directory = Path(scratch)
        job = {
            "library": library,
            "buffers": [[se, str(p.resolve())] for se, p in buffers],
            "objects": [
                {
                    "id": o.id,
                    "base": o.base,
                    "instructions": [[i.pc, i.size, i.text] for i in o.listing.instructions],
                }
                for o in objects
            ],
        }
        (directory / "job.json").write_text(json.dumps(job), encoding="utf-8")
        _run(directory, path, sum(p.stat().st_size for _, p in buffers))
        return _collect(directory, path, buffers, objects, target, warnings)


def _run(directory: Path, path: Path, size: int) -> None:
    seconds = _SECONDS + _SECONDS_PER_MB * size / (1 << 20)
    # -P: no module of the directory the user stands in, which may be the recording's
    command = [sys.executable, "-P", "-m", "isaprof.backends.amd_child", str(directory)]
    root = str(Path(isaprof.__file__).resolve().parents[1])
    paths = [root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    hint = f"isaprof import {quote(str(path))} --decoder isaprof"
    try:
        done = subprocess.run(command, capture_output=True, timeout=seconds, check=False, env=environ)
    except subprocess.TimeoutExpired:
        message = f"AMD's decoder was stopped after {seconds:.0f} s"
        raise BadInput(message, path=path, kind="decoder_hangs", hint=hint) from None
    if done.returncode < 0:
        message = f"AMD's decoder crashed on this trace (signal {-done.returncode})"
        raise BadInput(message, path=path, kind="decoder_crashed", hint=hint)
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["no message"]
        raise EnvironmentProblem(
            f"AMD's decoder could not be run: {last[0][:300]}", path=path, kind="decoder_failed", hint=hint
        )


def _collect(
    directory: Path,
    path: Path,
    buffers: Sequence[tuple[int, Path]],
    objects: Sequence[LoadedCode],
    target: str,
    warnings: list[Warning_],
) -> UiOutput:
    """What came back, checked, in the form of a ui_output directory."""
    try:
        result = json.loads((directory / "result.json").read_bytes())
        version, statuses = result["version"], result["engines"]
        engines = {se: _arrays(directory / f"engine_{se}.npz") for se, _ in buffers}
        failed = {se: int(statuses[str(se)]["status"]) for se, _ in buffers}
        gfxip = {v for se, _ in buffers if isinstance(v := statuses[str(se)]["gfxip"], int)}
        hz = {v for se, _ in buffers if isinstance(v := statuses[str(se)]["frequency"], int) and v > 0}
    except (OSError, ValueError, KeyError, TypeError, EOFError) as e:
        message = (
            f"AMD's decoder gave no usable result: {str(e).splitlines()[0] if str(e) else type(e).__name__}"
        )
        hint = f"isaprof import {quote(str(path))} --decoder isaprof"
        raise BadInput(message, path=path, kind="decoder_crashed", hint=hint) from None
    _report_failures(path, dict(buffers), failed, warnings)
    generation = tables_of.generation(target)
    number = int(generation.removeprefix("gfx")[:2])
    out = UiOutput(
        path, min(gfxip, default=number), version or "", [], [], has_totals=False, other_simd_known=True
    )
    out.realtime_hz = hz.pop() if len(hz) == 1 else None
    place = _Places(objects)
    for se in sorted(engines):
        if not failed[se]:
            _engine(se, engines[se], place, out, warnings)
    out.code = place.rows()
    if generation in FOUR_CYCLES and _older(version, FOUR_CYCLES_FIXED):
        warnings.append(
            four_cycles(
                f"AMD's decoder is release {version}, older than 0.1.5", f"isaprof import {quote(str(path))}"
            )
        )
    return out


def _report_failures(
    path: Path, files: Mapping[int, Path], failed: Mapping[int, int], warnings: list[Warning_]
) -> None:
    bad = {se: status for se, status in failed.items() if status}
    total = sum(p.stat().st_size for p in files.values())
    for se, status in sorted(bad.items()):
        name, size = _status(status), files[se].stat().st_size
        message = (
            f"engine {se}: AMD's decoder says {name}; that is {size / max(total, 1):.0%} of the trace, "
            "the other engines are kept"
        )
        warnings.append(Warning_("undecodable", message, size, "bytes", se))
    if len(bad) == len(failed):
        status = next(iter(bad.values()), _INVALID_SHADER_DATA)
        raise BadInput(
            f"AMD's decoder says {_status(status)} for every engine",
            path=path,
            kind="invalid_shader_data" if status == _INVALID_SHADER_DATA else "undecodable",
            hint=f"isaprof import {quote(str(path))} --decoder isaprof   or update ROCm, record again",
        )


def _status(number: int) -> str:
    return _STATUS[number] if 0 <= number < len(_STATUS) else f"status {number}"


def _again(rows: I64) -> Rows:
    """Rows that are at hand, in the form of those that are read again."""
    return lambda: iter((rows,))


def _arrays(path: Path) -> dict[str, I64]:
    """The arrays of one engine. ValueError where one has not the documented form."""
    out: dict[str, I64] = {}
    with np.load(path, allow_pickle=False) as found:
        for name, limits in _SHAPES.items():
            rows = found[name] if name in found.files else np.zeros((0, len(limits)), np.int64)
            if rows.dtype != np.int64 or rows.ndim != 2 or rows.shape[1] != len(limits):
                raise ValueError(f"array {name} has a wrong form")
            for i, (low, high) in enumerate(limits):
                if ((rows[:, i] < low) | (rows[:, i] > high)).any():
                    raise ValueError(f"array {name}, column {i}: a value outside {low}..{high}")
            out[name] = rows
        out["info"] = found["info"] if "info" in found.files else np.zeros(0, np.int64)
    waves = out["waves"]
    if waves[:, 5].sum() != len(out["insts"]) or waves[:, 6].sum() != len(out["states"]):
        raise ValueError("the waves do not add up")
    if (waves[:, 4] < waves[:, 3]).any():
        raise ValueError("a wave ends before it begins")
    return out


class _Places:
    """Addresses of the trace -> execution line numbers, growing by whole kernels as they are hit."""

    def __init__(self, objects: Sequence[LoadedCode]) -> None:
        self.by_id = {o.id: o for o in objects}
        self.line: dict[tuple[int, int], int] = {}
        self.hits: dict[int, int] = {}
        self.code: list[tuple[int, int, str, str | None]] = []

    def at(self, ident: int, address: int) -> tuple[int, int] | None:
        """(code object, virtual address) of an address; object 0 means an absolute one."""
        if ident:
            return (ident, address) if ident in self.by_id else None
        found = next((o for o in self.by_id.values() if o.holds(address)), None)
        return None if found is None or found.base is None else (found.id, address - found.base)

    def number(self, ident: int, address: int, hits: int) -> int:
        """Line of an instruction, 0 where there is none."""
        where = self.at(ident, address)
        if where is None:
            return 0
        if where not in self.line:
            self._add(*where)
        line = self.line.get(where, 0)
        if line:
            self.hits[line] = self.hits.get(line, 0) + hits
        return line

    def _add(self, ident: int, vaddr: int) -> None:
        """All instructions of the kernel around an address, else of the stretch between two labels."""
        o = self.by_id[ident]
        kernel = o.kernel_at(vaddr)
        if kernel is not None:
            lo, hi = kernel.entry, kernel.entry + kernel.size
        else:
            labels = sorted(o.co.labels)
            lo = max((a for a in labels if a <= vaddr), default=0)
            hi = min((a for a in labels if a > vaddr), default=1 << 62)
        for i in o.listing.instructions:
            if lo <= i.pc < hi and (ident, i.pc) not in self.line:
                self.code.append((ident, i.pc, i.text, o.listing.labels.get(i.pc)))
                self.line[ident, i.pc] = len(self.code)

    def rows(self) -> list[CodeRow]:
        return [
            CodeRow(n, ident, pc, text, label, None, self.hits.get(n, 0), 0, 0, 0)
            for n, (ident, pc, text, label) in enumerate(self.code, 1)
        ]


def _engine(
    se: int, found: Mapping[str, I64], place: _Places, out: UiOutput, warnings: list[Warning_]
) -> None:
    """One engine's arrays into ``out``."""
    insts = found["insts"]
    pcs, index, counts = np.unique(insts[:, 4:6], axis=0, return_inverse=True, return_counts=True)
    numbers = [place.number(o, a, n) for (a, o), n in zip(pcs.tolist(), counts.tolist(), strict=True)]
    lines = np.array(numbers, np.int64)[index.reshape(-1)].reshape(-1, 1)
    rows = np.concatenate([insts[:, :4], lines], axis=1)
    first = state = 0
    for w in found["waves"].tolist():
        cu, simd, slot, begin, end, n, states = w
        part, timeline = rows[first : first + n], found["states"][state : state + states]
        first, state = first + n, state + states
        unknown = int((part[:, 4] <= 0).sum())
        where = (se, cu, simd, slot, begin, end)
        out.waves.append(UiWave(*where, n, unknown, _again(part), _again(timeline)))
    occupancy = found["occupancy"]
    if len(occupancy):
        entries, index = np.unique(occupancy[:, 5:7], axis=0, return_inverse=True)
        ids = np.array([_kernel(place, out, a, o) for a, o in entries.tolist()])
        out.occupancy[se] = np.concatenate([occupancy[:, :5], ids[index.reshape(-1, 1)]], axis=1)
    for name, rows_of in (("counters", out.counters), ("realtime", out.realtime),
                          ("shaderdata", out.shaderdata), ("other_simd", out.other_simd)):  # fmt: skip
        if len(found[name]):
            rows_of[se] = found[name]
    lost = int((found["info"] == 1).sum())
    if lost:
        message = f"engine {se}: packets were lost at {lost} places"
        warnings.append(Warning_("data_lost", message, lost, "places", se))


def _kernel(place: _Places, out: UiOutput, address: int, ident: int) -> int:
    """Number in ``out.kernels`` of the kernel that starts at an address; 0 = unknown."""
    if not address and not ident:
        return 0
    where = place.at(ident, address) or (ident, address)
    text = f"{where[0]} / {where[1]:#x}"
    for number, known in out.kernels.items():
        if known == text:
            return number
    place.number(ident, address, 0)
    out.kernels[len(out.kernels) + 1] = text
    return len(out.kernels)


def _older(version: Any, fixed: tuple[int, ...]) -> bool:
    parts = version.split(".") if isinstance(version, str) else []
    return bool(parts) and all(p.isdecimal() for p in parts) and tuple(map(int, parts)) < fixed


__all__ = ["decode", "require"]
