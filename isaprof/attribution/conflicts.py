"""LDS bank conflicts of executed instructions, where the capture knows their addresses.

A conflict-free access takes ``min_passes`` data passes, a conflicting one
``passes``, at a cycle each (where a pass takes longer to cross the port, the
architecture's ``lds_pass_cycles``); the capture's ``memory`` table has both (the
simulator computes them from the addresses; a thread trace carries none, see
:mod:`isaprof.accuracy.addresses` for executing the kernel to get them).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isaprof.attribution import dispatch_counters
from isaprof.attribution.constraints import CAUSE_CODE
from isaprof.attribution.exposure import SPLIT
from isaprof.attribution.model import Cause
from isaprof.attribution.static import Cls

if TYPE_CHECKING:
    from isaprof.arch.table import ArchTable
    from isaprof.attribution.exposure import Exposure
    from isaprof.attribution.records import Records
    from isaprof.attribution.segments import Segments
    from isaprof.attribution.static import StaticCode
    from isaprof.capture.model import Capture
    from isaprof.isa.model import Instruction


def extra_cycles(capture: Capture, records: Records, table: ArchTable) -> dict[int, int]:
    """Record number -> cycles that bank conflicts added to it; records without conflict are left out."""
    memory = capture.memory
    if memory is None or not len(records):
        return {}
    extra = (memory["passes"] - memory["min_passes"]).to_numpy(dtype=np.int64, na_value=0)
    extra = extra * int(table.get("lds_pass_cycles", 1))
    hit = np.flatnonzero(extra > 0)
    span = int(records.seq.max()) + 1
    key = records.waves.wave[records.w] * span + records.seq
    order = np.argsort(key, kind="stable")
    seq = memory["seq"].to_numpy(dtype=np.int64)[hit]
    wanted = memory["wave"].to_numpy(dtype=np.int64)[hit] * span + seq
    at = np.minimum(np.searchsorted(key[order], wanted), len(order) - 1)
    found = (key[order][at] == wanted) & (seq < span)
    return dict(zip(order[at[found]].tolist(), extra[hit[found]].tolist(), strict=True))


#: key of the capture's metadata that says where the table ``memory`` of a hardware capture comes from
ADDRESSES_FROM = "addresses"
#: what a capture can say about LDS bank conflicts, in words that the views print
FROM_CAPTURE = "addresses from the capture (simulated kernel)"
EXECUTED = "addresses executed in the simulator, times from the trace"
FROM_COUNTERS = "counters of the whole unit, not by instruction"
ASSUMED_NONE = "assumed none: no addresses"
#: counters that count cycles lost to conflicts (rocprofiler-compute documentation)
_COUNTERS = ("SQ_LDS_BANK_CONFLICT",)  # gfx9 alone streams counters into a trace


def has_passes(capture: Capture) -> bool:
    """True where the capture knows the data passes of LDS accesses."""
    memory = capture.memory
    return memory is not None and bool(memory["passes"].notna().any())


def evidence(capture: Capture) -> str:
    """Where the conflicts are known from, as the views print it; counted cycles stand beside addresses."""
    said = capture.meta.get(ADDRESSES_FROM) or {}
    words = []
    if has_passes(capture):
        words.append(FROM_CAPTURE)
        if said.get("from") == "executed":
            some, traced = said.get("waves") or (0, 0)
            words[0] = EXECUTED + (f" ({some} of {traced} waves)" if some != traced else "")
    counted = _counted(capture)
    if counted is not None:
        words.append(f"{FROM_COUNTERS}: {counted:,} conflict cycles")
    if whole := dispatch_counters.conflicts(capture.meta):
        words.append(whole)
    if not words:
        words.append(ASSUMED_NONE + (f" ({said['why']})" if said.get("why") else ""))
    return "; ".join(words)


def _counted(capture: Capture) -> int | None:
    """Conflict cycles of the trace's own counters, summed over units; None without such a counter."""
    counters = capture.counters
    if counters is None:
        return None
    mine = counters[counters["name"].astype(str).isin(_COUNTERS)]
    return int(mine["value"].sum()) if len(mine) else None


def lds_conflicts(
    capture: Capture, code: StaticCode, records: Records, s: Segments, exposure: Exposure
) -> pd.DataFrame:
    """One row for each LDS instruction that ran, most extra cycles first.

    line, text, hits, bytes (a lane), lanes (most active), passes and
    min_passes (data cycles with and without conflicts, summed), extra (their
    difference), degree (passes / min_passes), worst (largest of one
    execution), stride (most frequent distance from lane to lane where banks
    conflict, bytes), clash (the lanes of one group that want one bank, most
    frequent), groups (lanes that are checked together, by the architecture
    table), banks; charged (wait cycles whose cause is *LDS bank conflict*) and
    of these exposed, hidden, covered, unknown; evidence. Figures are None where the
    capture has no addresses; a conflict that a longer wait covers is charged
    nothing, so its ``exposed`` is 0.
    """
    found = evidence(capture)
    lines = np.flatnonzero((code.cls & int(Cls.LDS)) != 0)
    lines = lines[np.isin(lines, records.line)]
    memory = _by_line(capture, records) if has_passes(capture) else None
    hits = np.bincount(records.line, minlength=len(code))
    mine = (s.cause == CAUSE_CODE[Cause.LDS_CONFLICT]) & (s.culprit >= 0)
    size = capture.meta.get("wave_size") or code.table.get("wave_sizes", (64,))[0]
    costs = {
        name: np.bincount(s.culprit[mine], values[mine], minlength=len(code)).astype(np.int64)
        for name, values in (("charged", s.cycles), *((n, getattr(exposure, n)) for n in SPLIT))
    }
    rows = []
    for line in lines.tolist():
        x = code.instructions[line]
        row: dict[str, Any] = {"line": line, "text": x.text, "hits": int(hits[line])}
        row |= _pattern(code, x, int(size)) | dict.fromkeys(_FIGURES)
        if memory is not None and line in memory:
            row |= memory[line]
        elif memory is not None:
            continue  # no access to banks (ds_bpermute and the like)
        for name, cycles in costs.items():
            row[name] = int(cycles[line]) if memory is not None else None
        rows.append(row | {"evidence": found})
    columns = ["line", "text", "hits", "bytes", "banks", "groups", *_FIGURES, "charged", *SPLIT,
               "evidence"]  # fmt: skip
    out = pd.DataFrame(rows, columns=columns)
    return out.sort_values("extra", ascending=False, kind="stable", ignore_index=True)


_FIGURES = ("lanes", "passes", "min_passes", "extra", "degree", "worst", "stride", "clash")


def _pattern(code: StaticCode, x: Instruction, wave_size: int) -> dict[str, Any]:
    """Width, banks and lane groups of an LDS instruction; None where the table does not know them."""
    from isaprof.sim.timing.lds import pattern_key

    mem = x.mem
    groups = code.table.get("lds_lane_groups", {}).get(wave_size)
    if mem is None or groups is None:
        return {"bytes": None if mem is None else mem.bytes, "banks": None, "groups": None}
    # the two halves of ds_read2 are accesses of their own, of half the bytes
    width = mem.bytes // 2 if re.match(r"ds_(read|write|load|store)_?2", x.base) else mem.bytes
    pattern = groups[pattern_key(mem.store, width)]
    return {"bytes": width, "banks": pattern.banks, "groups": len(pattern.groups)}


def _by_line(capture: Capture, records: Records) -> dict[int, dict[str, Any]]:
    """Sums over the executions of each line that have addresses."""
    memory = capture.memory
    assert memory is not None
    lds = memory[memory["passes"].notna() & (memory["space"].astype(str) == "lds")]
    frame = pd.DataFrame(
        {
            "wave": lds["wave"].to_numpy(np.int64), "seq": lds["seq"].to_numpy(np.int64),
            "passes": lds["passes"].to_numpy(np.int64),
            "least": lds["min_passes"].to_numpy(np.int64, na_value=0),
            "lanes": lds["lanes"].to_numpy(np.int64, na_value=0) if "lanes" in lds else 0,
        }
    )  # fmt: skip
    for name in ("stride", "clash"):
        frame[name] = lds[name].to_numpy(dtype=object) if name in lds else None
    where = pd.DataFrame({"wave": records.waves.wave[records.w], "seq": records.seq, "line": records.line})
    frame = frame.merge(where, on=["wave", "seq"], how="inner")
    out = {}
    for line, rows in frame.groupby("line"):
        passes, least = int(rows["passes"].sum()), int(rows["least"].sum())
        out[int(str(line))] = {
            "lanes": int(rows["lanes"].max()), "passes": passes, "min_passes": least, "extra": passes - least,
            "degree": passes / least if least else None,
            "worst": float((rows["passes"] / rows["least"].clip(lower=1)).max()),
            "stride": _usual(rows["stride"]), "clash": _usual(rows["clash"]),
        }  # fmt: skip
    return out


def _usual(values: pd.Series[Any]) -> Any:
    """The most frequent value that is there."""
    counts = values.dropna().value_counts()
    return counts.index[0] if len(counts) else None
