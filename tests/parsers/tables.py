"""What an engine's trace says as plain rows, from the reference's objects and from the compiled tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from isaprof.parsers.sqtt import slots
from isaprof.parsers.sqtt.records import EngineTrace, Wave


def object_rows(t: EngineTrace) -> dict[str, list[Any]]:
    """From the lists of the reference builder."""
    return {
        "waves": [_wave(w) for w in t.waves],
        "occupancy": [(o.time, o.cu, o.simd, o.slot, o.start, o.entry) for o in t.occupancy],
        "events": [(e.time, e.kind, e.value) for e in t.events],
        "counters": [(s.time, s.cu, s.bank, *s.values) for s in t.counters],
        "rest": _rest(t),
    }


def _rest(t: EngineTrace) -> list[Any]:
    return [
        t.packets, t.objects, t.workgroup, t.dispatches, t.realtime_hz, t.lost, t.unknown, t.unknown_at,
        t.cut_kind, t.cut_block, t.stopped_at, t.stopped_why, t.end_time,
    ]  # fmt: skip


def _wave(w: Wave) -> tuple[Any, ...]:
    r = w.records
    records = [
        (
            -1 if i in r.unfinished else int(r.category[i]),
            r.time[i],
            r.duration[i],
            r.stall[i],
            (-2 if r.pcs[i] is None else r.pcs[i]) if i in r.pcs else -1,
        )
        for i in range(len(r))
    ]
    runs = [(int(s), n) for s, n in w.timeline.runs]
    where = (w.cu, w.simd, w.slot, w.begin, w.end, w.threads, w.entry, w.dispatch)
    return *where, w.target, w.start_seen, w.end_seen, records, runs


def table_rows(t: EngineTrace) -> dict[str, list[Any]]:
    """From the tables of the compiled builder."""
    assert t.rows is not None
    assert [*t.waves, *t.occupancy, *t.events, *t.counters] == []
    seen = np.concatenate([*(x for _, x in t.rows.unstarted.blocks(7, backwards=True)), _all(t.rows.seen)])
    return {
        "waves": [_row(t, n, w) for n, w in enumerate(_all(t.rows.waves))],
        "occupancy": [
            (*(int(o[k]) for k in ("time", "cu", "simd", "slot")), bool(o["start"]), known(o["entry"]))
            for o in seen
        ],
        "events": [
            (int(e["time"]), t.rows.kinds[e["kind"]], int(e["value"]) if e["given"] else None)
            for e in _all(t.rows.events)
        ],
        "counters": [
            (int(c["time"]), int(c["cu"]), int(c["bank"]), *c["values"].tolist())
            for c in _all(t.rows.counters)
        ],
        "rest": _rest(t),
    }


def known(value: Any) -> int | None:
    return None if value < 0 else int(value)


def _all(spool: Any) -> Any:
    return spool.read(0, len(spool))


def _row(t: EngineTrace, n: int, w: Any) -> tuple[Any, ...]:
    assert t.rows is not None
    parts = [*t.rows.parts.get(n, []), tuple(int(w[k]) for k in ("first", "count", "first_run", "runs"))]
    records: list[Any] = []
    runs: list[Any] = []
    for first, count, first_run, length in parts:
        for r in t.rows.records.read(first, count):
            records.append(tuple(int(r[k]) for k in ("category", "time", "duration", "stall", "pc")))
        runs += [(int(r["state"]), int(r["cycles"])) for r in t.rows.runs.read(first_run, length)]
    flags = int(w["flags"])
    return (
        int(w["cu"]), int(w["simd"]), int(w["slot"]), int(w["begin"]), int(w["end"]), known(w["threads"]),
        known(w["entry"]), known(w["dispatch"]), bool(flags & slots.TARGET), bool(flags & slots.START_SEEN),
        bool(flags & slots.END_SEEN), records, runs,
    )  # fmt: skip
