"""The loops of two captures side by side, and the wait cycles of both by how exposed they were.

Captures with sums only (no ``detail``) have neither; both functions then give
empty tables.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

from isaprof.compare.lcs import align

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.compare.model import Comparison

#: columns of the loop tables that are put side by side
FIGURES = (
    "header", "iterations", "t_iter_median", "t_iter_mean", "cycles", "exposed", "matrix_efficiency",
    "matrix_gap_mean", "skeleton",
)  # fmt: skip
#: two loops are one where at least this share (0..1) of their aligned lines is common
LEAST_COMMON = 0.25
#: number of a side that has no such loop; -1 is the kernel as a whole
NONE = -2


def pair_loops(c: Comparison) -> pd.DataFrame:
    """One row a loop, in the order of b, loops of a alone last; the whole kernel first.

    Columns: loop_a, loop_b (:data:`NONE` where that side has none), for each of
    :data:`FIGURES` name_a and name_b (cycles, or as in Detail.loops; None or NaN where
    unknown), exposed_per_wave_a and _b (cycles over the waves that ran it).
    Two loops belong together by the aligned instructions they share.
    """
    import numpy as np
    import pandas as pd

    if c.a.detail is None or c.b.detail is None:
        return pd.DataFrame()
    sides = [c.a.detail.loops, c.b.detail.loops]
    both = c.rows[(c.rows["line_a"] >= 0) & (c.rows["line_b"] >= 0)]
    tables = [{int(r["loop"]): r for r in t.to_dict("records")} for t in sides]
    numbers_a, numbers_b = ([n for n in t if n >= 0] for t in tables)
    x = np.array([_inside(tables[0][n], both["line_a"]) for n in numbers_a]).reshape(
        len(numbers_a), len(both)
    )
    y = np.array([_inside(tables[1][n], both["line_b"]) for n in numbers_b]).reshape(
        len(numbers_b), len(both)
    )
    shared = x.astype(float) @ y.astype(float).T
    either = x.sum(axis=1)[:, None] + y.sum(axis=1)[None, :] - shared
    share = shared / np.maximum(either, 1)
    common = sorted((-share[i, j], numbers_a[i], numbers_b[j]) for i, j in np.argwhere(share >= LEAST_COMMON))
    found: dict[int, int] = {}  # loop of b -> loop of a
    for _, a, b in common:
        if b not in found and a not in found.values():
            found[b] = a
    order = [(-1, -1)] if -1 in tables[0] and -1 in tables[1] else []
    order += [(found.get(b, NONE), b) for b in tables[1] if b >= 0]
    order += [(a, NONE) for a in tables[0] if a >= 0 and a not in found.values()]
    rows = []
    for numbers in order:
        row: dict[str, object] = {}
        for side, number, table in zip("ab", numbers, tables, strict=True):
            mine = table.get(number, {})
            row[f"loop_{side}"] = number
            row |= {f"{name}_{side}": mine.get(name) for name in FIGURES}
            waves = mine.get("waves")
            row[f"exposed_per_wave_{side}"] = mine["exposed"] / waves if waves else None
        rows.append(row)
    return pd.DataFrame(rows)


def _inside(loop: Mapping[Hashable, Any], lines: pd.Series[int]) -> Any:
    return lines.between(loop["first_line"], loop["last_line"]).to_numpy(bool)


def pair_skeletons(a: str, b: str) -> list[tuple[str, str]]:
    """Tokens of two skeletons under each other; "" where one has nothing there."""
    x, y = (s.replace("(", "( ").replace(")", " )").split() for s in (a, b))
    out: list[tuple[str, str]] = []
    i = j = 0
    for p, q in [*align(x, y), (len(x), len(y))]:
        left, right = x[i:p], y[j:q]
        n = max(len(left), len(right))
        out += zip(left + [""] * (n - len(left)), right + [""] * (n - len(right)), strict=True)
        if p < len(x):
            out.append((x[p], y[q]))
        i, j = p + 1, q + 1
    return out


def exposure_change(c: Comparison) -> pd.DataFrame:
    """Wait cycles by class and, of the exposed ones, by cause: cycles per traced wave.

    Columns: kind ("class" or "cause"), name, per_wave_a, per_wave_b, delta
    (float64). Classes in the captures' order, causes with the largest change first.
    """
    import pandas as pd

    if c.a.detail is None or c.b.detail is None:
        return pd.DataFrame()
    tables = [d.by("category") for d in (c.a.detail, c.b.detail)]
    waves = [max(c.waves_a, 1), max(c.waves_b, 1)]
    names = list(dict.fromkeys((*c.a.detail.classes, *c.b.detail.classes)))
    rows = []
    for name in names:
        x, y = (float(t[name].sum()) / n if name in t else 0.0 for t, n in zip(tables, waves, strict=True))
        rows.append(("class", name, x, y, y - x))
    by = [dict(zip(t["cause"], t["exposed"] / n, strict=True)) for t, n in zip(tables, waves, strict=True)]
    causes = []
    for cause in dict.fromkeys((*by[0], *by[1])):
        x, y = float(by[0].get(cause, 0.0)), float(by[1].get(cause, 0.0))
        if x or y:
            causes.append(("cause", str(cause), x, y, y - x))
    causes.sort(key=lambda r: (-abs(r[4]), -max(r[2], r[3]), r[1]))
    return pd.DataFrame(rows + causes, columns=["kind", "name", "per_wave_a", "per_wave_b", "delta"])
