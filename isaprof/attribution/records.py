"""The instruction records of a capture as NumPy arrays, sorted and checked once.

Everything that follows works on these arrays; ``r`` below always means a
position in them (a record number), ``w`` a position in the wave arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isaprof.errors import BadInput
from isaprof.isa.model import CATEGORY_CODES, Category

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isaprof.capture.model import Capture

#: Category -> small integer, the order of the enum
CATEGORY_NUMBER: dict[str, int] = {str(c): n for n, c in CATEGORY_CODES.items()}

CONTEXT = CATEGORY_NUMBER[Category.CONTEXT]
JUMP = CATEGORY_NUMBER[Category.JUMP]
NEXT = CATEGORY_NUMBER[Category.NEXT]
IMMED = CATEGORY_NUMBER[Category.IMMED]
MESSAGE = CATEGORY_NUMBER[Category.MESSAGE]


@dataclass(frozen=True, slots=True)
class Waves:
    """The traced waves of a capture that have a lifetime, in table order."""

    wave: NDArray[np.int64]  #: wave key of the capture
    se: NDArray[np.int64]
    cu: NDArray[np.int64]
    simd: NDArray[np.int64]
    slot: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.wave)

    def unit(self, *, simd: bool) -> NDArray[np.int64]:
        """A dense number of the CU or WGP (``simd=False``) or of the SIMD of each wave."""
        columns = [self.se, self.cu] + ([self.simd] if simd else [])
        if not len(self):
            return np.zeros(0, np.int64)
        _, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        return np.asarray(inverse, np.int64).reshape(-1)


@dataclass(frozen=True, slots=True)
class Records:
    """Records with a known line of traced waves, by wave and then program order.

    ``first``/``last`` delimit the records of each wave: ``first[w] <= r <
    last[w]``. ``hidden`` marks records before which records without a line
    were left out (AMD's totals skip those, too); ``hidden_until`` is the end
    of the last of them, ``trapped`` says that one was a trap or context switch.
    ``tail_until[w]`` is the end of records without a line after the last record.
    """

    waves: Waves
    w: NDArray[np.int64]
    seq: NDArray[np.int64]
    line: NDArray[np.int64]
    time: NDArray[np.int64]
    stall: NDArray[np.int64]
    duration: NDArray[np.int64]
    category: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    hidden: NDArray[np.bool_]
    hidden_until: NDArray[np.int64]
    trapped: NDArray[np.bool_]
    tail_until: NDArray[np.int64]
    untold: int  #: records left out because their line is not known
    issue: NDArray[np.int64] = field(init=False)  #: cycle each record issued

    def __post_init__(self) -> None:
        object.__setattr__(self, "issue", self.time + self.stall)

    def __len__(self) -> int:
        return len(self.line)

    @property
    def is_first(self) -> NDArray[np.bool_]:
        """True for the first record of its wave."""
        out = np.zeros(len(self), np.bool_)
        out[self.first[self.first < self.last]] = True
        return out


def _ints(frame: Any, column: str) -> NDArray[np.int64]:
    return np.asarray(frame[column].to_numpy(dtype=np.int64, na_value=-1))


def read_waves(capture: Capture) -> Waves:
    """The traced waves; a wave that has records counts as traced whatever its flag says."""
    frame = capture.waves
    keep = frame["traced"].to_numpy(dtype=np.bool_)
    used = np.zeros(len(frame), np.bool_)
    used[np.unique(_ints(capture.insts, "wave"))] = True
    frame = frame[keep | used]
    return Waves(
        _ints(frame, "wave"), _ints(frame, "se"), _ints(frame, "cu"), _ints(frame, "simd"),
        _ints(frame, "slot"), _ints(frame, "begin"), _ints(frame, "end"),
    )  # fmt: skip


def category_numbers(series: Any) -> NDArray[np.int64]:
    """Category numbers of a categorical (or plain text) column."""
    import pandas as pd

    cat = series if isinstance(series.dtype, pd.CategoricalDtype) else series.astype("category")
    table = np.array([CATEGORY_NUMBER.get(str(c), 0) for c in cat.cat.categories] + [0], np.int64)
    return np.asarray(table[cat.cat.codes.to_numpy()])


def read_records(capture: Capture) -> Records:
    """The records of ``capture`` in the form above. Costs a few sorts.

    Raises BadInput where the times span more than any trace can.
    """
    waves = read_waves(capture)
    frame = capture.insts
    _check_times(capture, waves)
    key = _ints(frame, "wave")
    position = np.full(len(capture.waves) + 1, -1, np.int64)
    position[waves.wave] = np.arange(len(waves))
    w, seq = position[key], _ints(frame, "seq")
    line, time = _ints(frame, "line"), _ints(frame, "time")
    stall, duration = _ints(frame, "stall"), _ints(frame, "duration")
    category = category_numbers(frame["category"])
    place = w * (int(seq.max(initial=0)) + 1) + seq
    if (place[1:] < place[:-1]).any():  # captures are mostly written in order
        order = np.argsort(place, kind="stable")
        w, seq, line, time, stall, duration, category = (
            c[order] for c in (w, seq, line, time, stall, duration, category)
        )

    known = line >= 0
    kept = np.flatnonzero(known)
    hidden, hidden_until, trapped, tail_until = _left_out(
        w, known, time + duration, category == CONTEXT, kept, waves
    )
    if len(kept) < len(w):
        w, seq, line, time, stall, duration, category = (
            c[kept] for c in (w, seq, line, time, stall, duration, category)
        )
    n = len(waves)
    first = np.searchsorted(w, np.arange(n), side="left").astype(np.int64)
    last = np.searchsorted(w, np.arange(n), side="right").astype(np.int64)
    return Records(
        waves, w, seq, line, time, stall, duration, category,
        first, last, hidden, hidden_until, trapped, tail_until, int(len(known) - len(kept)),
    )  # fmt: skip


def _check_times(capture: Capture, waves: Waves) -> None:
    """Times times waves must fit into 64 bits: the searches over all waves use one key for both."""
    insts = capture.insts
    columns = [waves.begin, waves.end, _ints(insts, "time"), _ints(insts, "stall"), _ints(insts, "duration")]
    extent = sum(max(abs(int(c.max())), abs(int(c.min()))) for c in columns if len(c))
    if 2 * extent * (len(waves) + 2) >= 1 << 62:
        raise BadInput(
            f"times of up to {extent} cycles: no trace is so long", path=capture.path, kind="bad_times"
        )


def _left_out(
    w: NDArray[np.int64],
    known: NDArray[np.bool_],
    end: NDArray[np.int64],
    context: NDArray[np.bool_],
    kept: NDArray[np.int64],
    waves: Waves,
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """What the records without a line covered: before which known record, or at a wave's end."""
    hidden = np.zeros(len(kept), np.bool_)
    until = np.zeros(len(kept), np.int64)
    trapped = np.zeros(len(kept), np.bool_)
    tail = waves.begin.copy()
    for i in np.flatnonzero(~known).tolist():
        k = int(np.searchsorted(kept, i))
        if k < len(kept) and w[kept[k]] == w[i]:
            until[k] = max(int(until[k]), int(end[i])) if hidden[k] else int(end[i])
            hidden[k] = True
            trapped[k] |= context[i]
        else:
            tail[w[i]] = max(int(tail[w[i]]), int(end[i]))
    return hidden, until, trapped, tail
