"""The loop's output as Capture tables (isaprof.capture.schema), with a hardware trace's meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isaprof.isa.model import Category
from isaprof.sim.timing.engine import Engine
from isaprof.sim.timing.lines import CATEGORIES, CODE
from isaprof.sim.timing.paths import LOCAL, VECTOR, Paths
from isaprof.sim.timing.state import Records
from isaprof.sim.trace import WorkgroupTrace

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from isaprof.sim.timing.compiled import Loop

_STATES = ("EMPTY", "IDLE", "EXEC", "WAIT", "STALL")
_IDLE, _EXEC, _WAIT, _STALL = 1, 2, 3, 4


def frames(engine: Engine | Loop, paths: Paths, traces: Sequence[WorkgroupTrace]) -> dict[str, pd.DataFrame]:
    """Tables waves, insts, states, occupancy and memory."""
    import numpy as np
    import pandas as pd

    out = engine.records
    if isinstance(out, Records):
        out = {
            n: np.asarray(getattr(out, n)) for n in ("wave", "step", "time", "stall", "duration", "category")
        }
    wave = out["wave"].astype(np.int64)
    order = np.argsort(wave, kind="stable")
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
        }
    )
    waves = _waves(engine, traces)
    return {
        "waves": waves,
        "insts": insts,
        "states": _states(waves, wave, first, columns),
        "occupancy": _occupancy(waves),
        "memory": _memory(paths, wave, seq, step),
    }


def _named(codes: NDArray[np.int64], names: Sequence[str]) -> pd.Series[Any]:
    """Codes as a dictionary-coded column."""
    import pandas as pd

    return pd.Series(pd.Categorical.from_codes(codes.tolist(), dtype=pd.CategoricalDtype(list(names))))


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
    waves: pd.DataFrame,
    wave: NDArray[np.int64],
    first: NDArray[np.int64],
    columns: dict[str, NDArray[np.int64]],
) -> pd.DataFrame:
    """IDLE to the first record, then WAIT in an immediate, STALL while ready, EXEC otherwise."""
    import numpy as np
    import pandas as pd

    begin, end = waves["begin"].to_numpy(), waves["end"].to_numpy()
    time, stall = columns["time"], columns["stall"]
    immediate = columns["category"] == CODE[Category.IMMED]
    n = len(time)
    # change points of every wave: its begin (IDLE), each record's time (STALL or WAIT) and issue (EXEC)
    ids = np.concatenate((np.arange(len(waves)), wave, wave))
    rank = np.concatenate((np.full(len(waves), -1), np.arange(n) * 2, np.arange(n) * 2 + 1))
    at = np.concatenate((begin, time, time + stall))
    what = np.concatenate((np.full(len(waves), _IDLE), np.where(immediate, _WAIT, _STALL), np.full(n, _EXEC)))
    order = np.lexsort((rank, ids))
    ids, at, what = ids[order], np.minimum(at[order], end[ids[order]]), what[order]
    at = np.maximum(at, begin[ids])
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
    return pd.DataFrame(
        {
            "wave": ids[starts].astype(np.int32),
            "begin": at[starts],
            "duration": total,
            "state": _named(what[starts], _STATES),
        }
    )


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


def _memory(
    paths: Paths, wave: NDArray[np.int64], seq: NDArray[np.int64], step: NDArray[np.int64]
) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    events = np.asarray(paths.event, dtype=np.int64)[step] if len(step) else np.zeros(0, np.int64)
    has = events >= 0
    events = events[has]

    def column(values: NDArray[Any]) -> NDArray[np.int64]:
        return values.astype(np.int64)[events]

    space = column(paths.space)
    touched = column(np.diff(paths.lines_ptr))
    frame = pd.DataFrame(
        {
            "wave": wave[has].astype(np.int32),
            "seq": seq[has].astype(np.int32),
            "space": pd.Categorical(np.array(paths.names, dtype=object)[events]),
            "store": column(paths.store).astype(bool),
            "lanes": column(paths.lanes).astype(np.int32),
            "bytes": column(paths.bytes).astype(np.int32),
        }
    )
    for name, values, where in (
        ("lines", touched, space == VECTOR),
        ("passes", column(paths.passes), space == LOCAL),
        ("min_passes", column(paths.least), space == LOCAL),
    ):
        frame[name] = pd.array(np.where(where, values, 0), dtype="Int32")
        frame.loc[~where, name] = pd.NA
    numbers = events.tolist()
    frame["stride"] = pd.array([paths.stride.get(e) for e in numbers], dtype="Int32")
    frame["clash"] = pd.Series([paths.clash.get(e) for e in numbers], dtype=object)
    frame["address_min"] = column(paths.lowest)
    frame["address_max"] = column(paths.highest)
    return frame
