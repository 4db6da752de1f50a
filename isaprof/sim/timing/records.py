"""The loop's output as Capture tables (isaprof.capture.schema), with a hardware trace's meaning."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isaprof.isa.model import Category
from isaprof.sim.events import SPACES
from isaprof.sim.timing.accesses import LOCAL, VECTOR
from isaprof.sim.timing.engine import Engine
from isaprof.sim.timing.lines import CATEGORIES, CODE
from isaprof.sim.timing.paths import Paths
from isaprof.sim.timing.state import Records
from isaprof.sim.trace import WorkgroupTrace

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from isaprof.sim.timing.compiled import Loop

_STATES = ("EMPTY", "IDLE", "EXEC", "WAIT", "STALL")
_IDLE, _EXEC, _WAIT, _STALL = 1, 2, 3, 4


def frames(
    engine: Engine | Loop, paths: Paths, traces: Sequence[WorkgroupTrace], lib: ctypes.CDLL | None = None
) -> dict[str, pd.DataFrame]:
    """Tables waves, insts, states, occupancy and memory; ``lib``: the compiled library."""
    import numpy as np
    import pandas as pd

    out = engine.records
    if isinstance(out, Records):
        out = {
            n: np.asarray(getattr(out, n)) for n in ("wave", "step", "time", "stall", "duration", "category")
        }
    wave = out["wave"].astype(np.int64)
    # numbers of 16 bits are sorted by counting
    order = np.argsort(wave.astype(np.uint16) if len(engine.end) <= 1 << 16 else wave, kind="stable")
    wave = wave[order]
    step = out["step"].astype(np.int64)[order]
    count = np.bincount(wave, minlength=len(engine.end)) if len(wave) else np.zeros(len(engine.end), np.int64)
    first = np.concatenate(([0], np.cumsum(count)))
    seq = np.arange(len(wave)) - first[wave]
    columns = {name: out[name].astype(np.int64)[order] for name in ("time", "stall", "duration", "category")}
    insts = pd.DataFrame(
        {
            "wave": wave.astype(np.int32),
            "seq": seq.astype(np.int32),
            "line": np.asarray(paths.line, dtype=np.int32)[step] if len(step) else np.zeros(0, np.int32),
            "time": columns["time"],
            "stall": columns["stall"],
            "duration": columns["duration"],
            "category": _named(columns["category"], CATEGORIES),
        },
        copy=False,
    )
    waves = _waves(engine, traces)
    return {
        "waves": waves,
        "insts": insts,
        "states": _states(lib, waves, first, columns),
        "occupancy": _occupancy(waves),
        "memory": memory_table(paths, wave, seq, step),
    }


def _named(codes: NDArray[Any], names: Sequence[str]) -> pd.Series[Any]:
    """Codes as a dictionary-coded column."""
    import numpy as np
    import pandas as pd

    dtype = pd.CategoricalDtype(list(names))
    return pd.Series(pd.Categorical.from_codes(codes.astype(np.int8), dtype=dtype))


def _waves(engine: Engine | Loop, traces: Sequence[WorkgroupTrace]) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    rows = []
    places = iter(zip(engine.place, engine.end, strict=True))
    for trace in traces:
        for wave in trace.waves:
            place, end = next(places)
            assert place is not None
            rows.append(
                (place.simd, place.slot, *trace.workgroup, wave.wave_in_wg, wave.threads, place.begin, end)
            )
    names = ("simd", "slot", "wg_x", "wg_y", "wg_z", "wave_in_wg", "threads", "begin", "end")
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(names))
    frame = pd.DataFrame({"wave": np.arange(len(rows), dtype=np.int32)})
    for name in ("se", "cu"):
        frame[name] = np.zeros(len(rows), dtype=np.int32)
    for i, name in enumerate(names):
        frame[name] = table[:, i].astype(np.int64 if name in ("begin", "end") else np.int32)
    frame["dispatch"] = np.zeros(len(rows), dtype=np.int32)
    frame["traced"] = True
    frame["complete"] = True
    return frame


def _states(
    lib: ctypes.CDLL | None,
    waves: pd.DataFrame,
    first: NDArray[np.int64],
    columns: dict[str, NDArray[np.int64]],
) -> pd.DataFrame:
    """IDLE to the first record, then WAIT in an immediate, STALL while ready, EXEC otherwise."""
    import pandas as pd

    begin, end = waves["begin"].to_numpy(), waves["end"].to_numpy()
    immediate = columns["category"] == CODE[Category.IMMED]
    stretches = _stretches if lib is None else functools.partial(_compiled_stretches, lib)
    wave, at, duration, state = stretches(first, begin, end, columns["time"], columns["stall"], immediate)
    named = _named(state, _STATES)
    return pd.DataFrame({"wave": wave, "begin": at, "duration": duration, "state": named}, copy=False)


def _compiled_stretches(
    lib: ctypes.CDLL,
    first: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    time: NDArray[np.int64],
    stall: NDArray[np.int64],
    immediate: NDArray[np.bool_],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    import numpy as np

    room = 2 * len(time) + len(begin)
    out = (
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.empty(room, np.int8),
    )
    given = [np.ascontiguousarray(a) for a in (first, begin, end, time, stall, immediate)]
    call = lib.tl_states
    call.argtypes, call.restype = [ctypes.c_int64, *[ctypes.c_void_p] * 10], ctypes.c_int64
    n = call(len(begin), *(a.ctypes.data for a in given), *(a.ctypes.data for a in out))
    return out[0][:n].copy(), out[1][:n].copy(), out[2][:n].copy(), out[3][:n].copy()


def _stretches(
    first: NDArray[np.int64],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    time: NDArray[np.int64],
    stall: NDArray[np.int64],
    immediate: NDArray[np.bool_],
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:
    """wave, begin, duration, state; ``first``: each wave's first record, and their number."""
    import numpy as np

    n, waves = len(time), len(begin)
    # change points of every wave: its begin (IDLE), each record's time (STALL or WAIT) and issue (EXEC)
    ids = np.repeat(np.arange(waves), 1 + 2 * np.diff(first))
    at, what = np.empty(len(ids), np.int64), np.empty(len(ids), np.int8)
    ready = 2 * np.arange(n) + np.repeat(np.arange(waves), np.diff(first)) + 1
    for where, when, state in (
        (2 * first[:-1] + np.arange(waves), begin, _IDLE),
        (ready, time, np.where(immediate, np.int8(_WAIT), np.int8(_STALL))),
        (ready + 1, time + stall, _EXEC),
    ):
        at[where], what[where] = when, state
    at = np.maximum(np.minimum(at, end[ids]), begin[ids])
    following = np.append(at[1:], 0)
    lasting = np.append(ids[1:] != ids[:-1], True) if len(ids) else np.zeros(0, bool)
    following = np.where(lasting, end[ids], following) if len(ids) else following[:0]
    length = following - at
    keep = length > 0
    ids, at, what, length = ids[keep], at[keep], what[keep], length[keep]
    new = np.ones(len(ids), dtype=bool)
    new[1:] = (ids[1:] != ids[:-1]) | (what[1:] != what[:-1])
    starts = np.flatnonzero(new)
    total = np.add.reduceat(length, starts) if len(starts) else length
    return ids[starts].astype(np.int32), at[starts], total, what[starts]


def _occupancy(waves: pd.DataFrame) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    n = len(waves)
    both = pd.concat([waves, waves], ignore_index=True)
    start = np.repeat([True, False], n)
    time = np.concatenate((waves["begin"].to_numpy(), waves["end"].to_numpy()))
    # an end comes before a start at the same cycle: the slot must be free
    order = np.lexsort((start, time))
    frame = pd.DataFrame(
        {
            "se": both["se"].to_numpy()[order],
            "time": time[order],
            "cu": both["cu"].to_numpy()[order],
            "simd": both["simd"].to_numpy()[order],
            "slot": both["slot"].to_numpy()[order],
            "start": start[order],
        }
    )
    frame["kernel"] = np.zeros(2 * n, dtype=np.int32)
    return frame


def memory_table(
    paths: Paths, wave: NDArray[np.int64], seq: NDArray[np.int64], step: NDArray[np.int64]
) -> pd.DataFrame:
    """The capture's table ``memory`` of records: ``wave``, ``seq`` and ``step`` (of ``paths``) of each."""
    import numpy as np
    import pandas as pd

    events = paths.event[step]
    has = np.flatnonzero(events >= 0)
    events = events[has]

    def column(values: NDArray[Any]) -> NDArray[Any]:
        return values[events]

    space, reason = column(paths.space), column(paths.reason)
    frame = pd.DataFrame(
        {
            "wave": wave[has].astype(np.int32),
            "seq": seq[has].astype(np.int32),
            "space": _present(column(paths.name), SPACES),
            "store": column(paths.store),
            "lanes": column(paths.lanes),
            "bytes": column(paths.bytes),
        },
        copy=False,
    )
    for name, values, where in (
        ("lines", column(np.diff(paths.lines_ptr)), space == VECTOR),
        ("passes", column(paths.passes), space == LOCAL),
        ("min_passes", column(paths.least), space == LOCAL),
    ):
        frame[name] = pd.arrays.IntegerArray(values.astype(np.int32), ~where)
    # without a reason (-1): the last entry
    strides, clashes = [*(s for s, _ in paths.reasons), None], [*(c for _, c in paths.reasons), None]
    frame["stride"] = pd.arrays.IntegerArray(
        np.array([s or 0 for s in strides], dtype=np.int32)[reason],
        np.array([s is None for s in strides])[reason],
    )
    frame["clash"] = pd.Series(np.array(clashes, dtype=object)[reason], dtype=object)
    frame["address_min"] = column(paths.lowest)
    frame["address_max"] = column(paths.highest)
    return frame


def _present(codes: NDArray[np.uint8], names: Sequence[str]) -> pd.Categorical:
    """Codes as a dictionary-coded column whose categories are the names that occur, sorted."""
    import numpy as np
    import pandas as pd

    present = sorted(np.flatnonzero(np.bincount(codes)).tolist(), key=names.__getitem__)
    number = np.zeros(len(names), np.int8)
    number[present] = np.arange(len(present))
    categories = pd.Categorical(np.array([names[i] for i in present], dtype=object)).categories
    return pd.Categorical.from_codes(number[codes], categories=categories)
