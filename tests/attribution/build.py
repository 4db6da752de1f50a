"""A tiny builder of captures for the tests: program text and timed records in, Capture out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from isaprof.capture.model import Capture
from isaprof.isa.decode import decode_lines

#: line, time, stall, duration, dynamic category or None for the line's own
Row = tuple[int | None, int, int, int, str | None]


@dataclass
class Wave:
    """One wave; every record follows the one before unless ``idle`` says otherwise."""

    begin: int = 0
    end: int | None = None
    se: int = 0
    cu: int = 0
    simd: int = 0
    slot: int = 0
    now: int | None = None
    rows: list[Row] = field(default_factory=list)

    def add(
        self, line: int | None, *, idle: int = 0, stall: int = 0, issue: int = 4, category: str | None = None
    ) -> Wave:
        """A record ``idle`` cycles after the end of the one before, issuing for ``issue`` cycles."""
        time = (self.begin if self.now is None else self.now) + idle
        self.rows.append((line, time, stall, stall + issue, category))
        self.now = time + stall + issue
        return self

    def straight(self, lines: Iterable[int], **kwargs: Any) -> Wave:
        """One plain record for each of ``lines``."""
        for line in lines:
            self.add(line, **kwargs)
        return self


def memory_table(rows: Iterable[tuple[int, int, int, int]]) -> pd.DataFrame:
    """The capture's memory table of LDS accesses: (wave, seq, passes, min_passes)."""
    frame = pd.DataFrame(rows, columns=["wave", "seq", "passes", "min_passes"])
    return frame.astype({"passes": "Int32", "min_passes": "Int32"}).assign(space="lds", store=False)


def capture(arch: str, program: Sequence[str], waves: Sequence[Wave], **meta: Any) -> Capture:
    """A capture of ``program`` (8 bytes a line from 0x1000) with the records of ``waves``."""
    ins = decode_lines(arch, [(0x1000 + 8 * i, (), text) for i, text in enumerate(program)])
    code = pd.DataFrame(
        {
            "line": range(len(ins)), "codeobj": 0, "pc": [x.pc for x in ins], "size": 8,
            "text": [x.text for x in ins], "mnemonic": [x.mnemonic for x in ins],
            "category": [str(x.category) for x in ins], "pipe": [str(x.pipe) for x in ins],
            "label": None, "source": None, "target": None, "encoding": None,
        }
    )  # fmt: skip
    wave_rows, inst_rows = [], []
    for w, wave in enumerate(waves):
        last = max((t + d for _, t, _, d, _ in wave.rows), default=wave.begin)
        end = last if wave.end is None else wave.end
        wave_rows.append((w, wave.se, wave.cu, wave.simd, wave.slot, wave.begin, end, True, True))
        for seq, (line, time, stall, duration, category) in enumerate(wave.rows):
            own = "VALU" if line is None else str(ins[line].category)
            inst_rows.append((w, seq, line, time, stall, duration, category or own))
    names = ["wave", "se", "cu", "simd", "slot", "begin", "end", "traced", "complete"]
    frame = pd.DataFrame(wave_rows, columns=names)
    for name in ("dispatch", "wg_x", "wg_y", "wg_z", "wave_in_wg", "threads"):
        frame[name] = pd.array([None] * len(frame), dtype="Int32")
    insts = pd.DataFrame(inst_rows, columns=["wave", "seq", "line", "time", "stall", "duration", "category"])
    insts["line"] = insts["line"].astype("Int32")
    insts["category"] = insts["category"].astype("category")
    tables = {"code": code, "waves": frame, "insts": insts}
    full = {"provenance": "modelled", "arch": arch, "kernel": {"name": "k"}, "warnings": [], **meta}
    return Capture(full, tables)
