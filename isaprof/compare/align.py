"""Aligning two programs instruction by instruction, and the change of each row's cycles.

Instructions are compared by their normalised text: branch destinations by what
lies there (``branch +3`` would differ after every insertion), other texts as
LLVM prints them, and lines of the same loop depth and label go first. The
alignment is the longest common subsequence (Myers' O(ND) algorithm) between
unique anchors (patience diff): fast for programs of many thousand lines and
stable where loops repeat the same instruction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from isaprof.compare.context import Place, destination, places
from isaprof.compare.lcs import align
from isaprof.compare.model import Comparison, Status

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.attribution.model import Analysis

#: a block of moved instructions is at least so long, unless its texts occur only once
_MIN_MOVED = 3
_SUMS = ("hits", "latency", "stall", "idle", "wait", "issue")


def compare(a: Analysis, b: Analysis) -> Comparison:
    """Align ``a`` (before) with ``b`` (after) and say where the cycles changed.

    Neither needs to be of the same kernel or architecture; ``notes`` says what
    makes the figures hard to compare.
    """
    pairs = pair_lines(normalised(a), normalised(b), places(a), places(b))
    return Comparison(
        a, b, _rows(a, b, pairs), _causes(a, b), len(a.waves), len(b.waves), a.total_cycles, b.total_cycles,
        _notes(a, b),
    )  # fmt: skip


# -- texts -------------------------------------------------------------------
def normalised(analysis: Analysis) -> list[str]:
    """Texts to compare by: the destination of a branch is replaced by the text of the line there."""
    lines = analysis.lines
    texts = [" ".join(str(t).split()) for t in lines["text"].tolist()]
    pcs = [int(x) for x in lines["pc"].tolist()]
    by_pc = {pc: i for i, pc in enumerate(pcs)}
    out = []
    for pc, text in zip(pcs, texts, strict=True):
        mnemonic, _, operand = text.partition(" ")
        if "branch" in mnemonic and operand:
            to = destination(pc, operand)
            where = None if to is None else by_pc.get(to)
            direction = "" if where is None else ("back " if pcs[where] <= pc else "on ")
            text = f"{mnemonic} {direction}{operand if where is None else texts[where].partition(' ')[0]}"
        out.append(text)
    return out


# -- alignment ---------------------------------------------------------------
Pair = tuple[Status, int, int]


def pair_lines(
    a: Sequence[str],
    b: Sequence[str],
    places_a: Sequence[Place] | None = None,
    places_b: Sequence[Place] | None = None,
) -> list[Pair]:
    """(status, line of a, line of b) rows; -1 for the side that has none.

    Every line of both occurs exactly once. Order: that of ``b``, deleted lines
    where they were in ``a``; a moved line stands where it is in ``b``. Lines
    are matched with those of the same loop depth and label first, between
    these with the same text anywhere (a loop that got an outer loop).
    """
    if places_a is None or places_b is None:
        places_a, places_b = [Place()] * len(a), [Place()] * len(b)
    keys_a = [p.key(t) for p, t in zip(places_a, a, strict=True)]
    keys_b = [p.key(t) for p, t in zip(places_b, b, strict=True)]
    same: list[tuple[int, int]] = []
    i = j = 0
    for x, y in [*align(keys_a, keys_b), (len(a), len(b))]:
        same.extend((i + p, j + q) for p, q in align(a[i:x], b[j:y]))
        same.append((x, y))
        i, j = x + 1, y + 1
    names_a = [f"{p.depth} {t.partition(' ')[0]}" for p, t in zip(places_a, a, strict=True)]
    names_b = [f"{p.depth} {t.partition(' ')[0]}" for p, t in zip(places_b, b, strict=True)]
    rows: list[Pair] = []
    i = j = 0
    for x, y in same:
        rows.extend(_gap(names_a, names_b, range(i, x), range(j, y)))
        if x < len(a):
            rows.append((Status.SAME, x, y))
        i, j = x + 1, y + 1
    return _with_moves(rows, a, b)


def _gap(all_a: Sequence[str], all_b: Sequence[str], left: range, right: range) -> list[Pair]:
    """Rows for lines between two matches: same mnemonic at the same depth is a change, the rest is alone."""
    names_a = [all_a[i] for i in left]
    names_b = [all_b[j] for j in right]
    rows: list[Pair] = []
    i = j = 0
    for x, y in [*align(names_a, names_b), (len(left), len(right))]:
        rows.extend((Status.DELETED, left[k], -1) for k in range(i, x))
        rows.extend((Status.INSERTED, -1, right[k]) for k in range(j, y))
        if x < len(left):
            rows.append((Status.CHANGED, left[x], right[y]))
        i, j = x + 1, y + 1
    return rows


def _with_moves(rows: list[Pair], a: Sequence[str], b: Sequence[str]) -> list[Pair]:
    """Join deleted and inserted lines of the same text into moved ones.

    A text that is deleted once and inserted once has moved; of repeated texts
    only runs of at least three lines that stay together.
    """
    gone: dict[str, list[int]] = defaultdict(list)
    new: dict[str, list[int]] = defaultdict(list)
    for status, i, j in rows:
        if status is Status.DELETED:
            gone[a[i]].append(i)
        elif status is Status.INSERTED:
            new[b[j]].append(j)
    free_a = {i for v in gone.values() for i in v}
    free_b = {j for v in new.values() for j in v}
    moved: dict[int, int] = {}  # line of b -> line of a
    for j in sorted(free_b):
        if j in moved:
            continue
        best: list[tuple[int, int]] = []
        for i in gone.get(b[j], ())[:64]:
            run: list[tuple[int, int]] = []
            n = 0
            while i + n in free_a and j + n in free_b and j + n not in moved and a[i + n] == b[j + n]:
                run.append((i + n, j + n))
                n += 1
            if len(run) > len(best):
                best = run
        unique = len(gone.get(b[j], ())) == 1 and len(new[b[j]]) == 1
        if len(best) >= _MIN_MOVED or (best and unique):
            for i, k in best:
                moved[k] = i
                free_a.discard(i)
    origins = set(moved.values())
    out: list[Pair] = []
    for status, i, j in rows:
        if status is Status.DELETED and i in origins:
            continue
        if status is Status.INSERTED and j in moved:
            out.append((Status.MOVED, moved[j], j))
        else:
            out.append((status, i, j))
    return out


# -- figures -----------------------------------------------------------------
def _line_cycles(analysis: Analysis) -> dict[int, int]:
    """All wave cycles by line; launch, drain and lines not known are under -1."""
    s = analysis.segments
    part = s["part"].astype(str)
    at = s["line"].where(~part.isin(("launch", "drain")), -1)
    sums = s["cycles"].groupby(at).sum()
    return dict(zip(sums.index.tolist(), sums.tolist(), strict=True))


def _residuals(analysis: Analysis) -> dict[str, int]:
    """Cycles that belong to no line: launch, drain, others."""
    s = analysis.segments
    part = s["part"].astype(str)
    name = part.where(part.isin(("launch", "drain")), "no line")
    rest = s["cycles"].where((s["line"] < 0) | (name != "no line"), 0)
    sums = rest.groupby(name).sum()
    return {str(k): v for k, v in zip(sums.index.tolist(), sums.tolist(), strict=True) if v}


def _rows(a: Analysis, b: Analysis, pairs: list[Pair]) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    data: dict[str, Any] = {
        "status": [str(s) for s, _, _ in pairs],
        "line_a": [i for _, i, _ in pairs],
        "line_b": [j for _, _, j in pairs],
    }
    extra = list(dict.fromkeys(["launch", "drain", *_residuals(a), *_residuals(b)]))
    data["status"] += [str(Status.RESIDUAL)] * len(extra)
    data["line_a"] += [-1] * len(extra)
    data["line_b"] += [-1] * len(extra)
    frame = pd.DataFrame({**data, "line_a": np.array(data["line_a"], np.int64),
                          "line_b": np.array(data["line_b"], np.int64)})  # fmt: skip
    for side, analysis in (("a", a), ("b", b)):
        at = frame[f"line_{side}"].to_numpy(np.int64)
        lines = analysis.lines
        has = at >= 0
        safe = np.where(has, at, 0)
        text = lines["text"].to_numpy(object)
        cause = lines["cause"].to_numpy(object)
        frame[f"text_{side}"] = np.where(has, text[safe], "") if len(text) else ""
        frame[f"cause_{side}"] = np.where(has, cause[safe], "") if len(text) else ""
        for name in _SUMS:
            values = lines[name].to_numpy(np.int64)
            frame[f"{name}_{side}"] = np.where(has, values[safe], 0) if len(values) else 0
        by_line = _line_cycles(analysis)
        rest = _residuals(analysis)
        cycles = [by_line.get(i, 0) if i >= 0 else 0 for i in at.tolist()]
        cycles[len(pairs) :] = [rest.get(name, 0) for name in extra]
        frame[f"cycles_{side}"] = np.array(cycles, np.int64)
        frame.loc[len(pairs) :, f"text_{side}"] = np.array(extra, object)
        frame.loc[len(pairs) :, f"cause_{side}"] = [n if n != "no line" else "unexplained" for n in extra]
        frame[f"per_wave_{side}"] = frame[f"cycles_{side}"] / max(len(analysis.waves), 1)
    frame["delta"] = frame["cycles_b"] - frame["cycles_a"]
    frame["delta_per_wave"] = frame["per_wave_b"] - frame["per_wave_a"]
    size = frame["delta_per_wave"].abs().to_numpy()
    frame["heat"] = frame["delta_per_wave"] / size.max() if size.any() else 0.0
    rank = np.zeros(len(frame), np.int64)
    order = np.argsort(-size, kind="stable")
    order = order[size[order] > 0]
    rank[order] = np.arange(1, len(order) + 1)
    frame["rank"] = rank
    return frame


def _causes(a: Analysis, b: Analysis) -> pd.DataFrame:
    import pandas as pd

    def column(analysis: Analysis, name: str) -> pd.Series[Any]:
        return analysis.causes.set_index("cause")[name]

    names = list(dict.fromkeys([*a.causes["cause"], *b.causes["cause"]]))
    frame = pd.DataFrame({"cause": names})
    for side, x in (("a", a), ("b", b)):
        frame[f"cycles_{side}"] = column(x, "cycles").reindex(names, fill_value=0).to_numpy("int64")
        frame[f"share_{side}"] = column(x, "share").reindex(names, fill_value=0.0).to_numpy("float64")
        frame[f"per_wave_{side}"] = frame[f"cycles_{side}"] / max(len(x.waves), 1)
    frame["delta"] = frame["cycles_b"] - frame["cycles_a"]
    frame["delta_per_wave"] = frame["per_wave_b"] - frame["per_wave_a"]
    return frame.sort_values(
        "delta_per_wave", key=lambda s: -s.abs(), kind="stable", ignore_index=True
    )  # fmt: skip


def _notes(a: Analysis, b: Analysis) -> tuple[str, ...]:
    notes = []
    if a.provenance != b.provenance:
        notes.append(f"a is {a.provenance}, b is {b.provenance}: the difference includes the model's error")
    if a.arch != b.arch:
        notes.append(f"different architectures: {a.arch} and {b.arch}")
    if a.kernel != b.kernel:
        notes.append(f"different kernels: {a.kernel} and {b.kernel}")
    if len(a.waves) != len(b.waves):
        notes.append(f"{len(a.waves)} and {len(b.waves)} traced waves: compare the figures per wave")
    return tuple(notes)
