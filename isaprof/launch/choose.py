"""Which object of a folder serves a shape: the manifest and the rule of the public driver.

Matrix products (aiter's asm_gemm_*.cu): the tile that needs the fewest rounds
over the GPU's CUs, then the fewest idle CUs in the last round or the better
ratio of work to traffic, rows in the manifest's order. Others: the row whose
columns fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from isaprof.errors import BadInput, UsageError
from isaprof.launch.file import LaunchFile
from isaprof.launch.manifest import Row
from isaprof.launch.match import builtins
from isaprof.launch.shape import parse_shape

Figures = dict[str, int | float]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One row (with one split of K), and what the rule made of it."""

    row: Row
    verdict: str  #: why it was taken or passed over
    fits: bool  #: it serves the shape at all
    split: int = 1
    figures: Figures | None = None  #: tile_m, tile_n, workgroups, rounds, empty, efficiency


@dataclass(frozen=True, slots=True)
class Pick:
    """``driver``: what the driver takes from the whole manifest; ``chosen``: from the objects there are."""

    candidates: tuple[Candidate, ...]
    driver: Candidate | None
    chosen: Candidate | None
    shape: str  #: for --shape, with the split that was chosen
    rule: str


@dataclass(frozen=True, slots=True)
class _Rule:
    """How a family's driver picks. ``defaults``: columns it fixes unless told otherwise."""

    text: str
    pick: Callable[[_Query], list[Candidate]]
    defaults: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Query:
    rows: Sequence[Row]
    sizes: Mapping[str, int]  #: axes and the options that were given
    cus: int
    columns: Mapping[str, str]


def choose(
    rows: Sequence[Row], shape_text: str | None, cus: int, arch: str, columns: Mapping[str, str] | None = None
) -> Pick:
    """Pick a row. ``cus``: compute units of the GPU; ``columns``: what its columns must be.

    Raises BadInput where no launch file describes the family, UsageError for a
    shape that does not fit it or columns it does not have.
    """
    family, file = _family(rows, arch)
    rule = _RULES[family]
    known = set().union(*(r.values for r in rows))
    if unknown := sorted(set(columns or {}) - known):
        raise UsageError(
            f"--where: no column {', '.join(unknown)} (the manifest has {', '.join(sorted(known))})",
            kind="where",
        )
    wanted = {k: v for k, v in rule.defaults.items() if k in known} | dict(columns or {})
    sizes = parse_shape(file, shape_text, driver=True)
    kept = [r for r in rows if all(r.values.get(k) == v for k, v in wanted.items())]
    if not kept:
        asked = ", ".join(f"{k}={v}" for k, v in wanted.items())
        raise BadInput(f"no row of the manifest has {asked}", kind="no_row")
    query = _Query(kept, sizes, cus, wanted)
    candidates = rule.pick(query)
    driver = _last_taken(candidates)
    chosen = driver
    if driver is None or driver.row.path is None:
        present = [r for r in kept if r.path is not None]
        chosen = _last_taken(rule.pick(replace(query, rows=present)))
    return Pick(tuple(candidates), driver, chosen, _shape_text(file, sizes, chosen), rule.text)


def _family(rows: Sequence[Row], arch: str) -> tuple[str, LaunchFile]:
    """The built-in launch file that describes the manifest's kernels."""
    for file in builtins():
        name = file.origin.removeprefix("builtin:")
        if name not in _RULES or (file.match.archs and arch not in file.match.archs):
            continue
        if any(s.match(rows[0].kernel) is not None for s in file.match.symbols):
            return name, file
    raise BadInput(
        f"no rule for kernels like {rows[0].kernel} on {arch}: how their driver chooses is not known here",
        kind="no_rule",
        hint=f"name the object: isaprof run {rows[0].path or rows[0].name} --shape ...",
    )


def _last_taken(candidates: Sequence[Candidate]) -> Candidate | None:
    return next((c for c in reversed(candidates) if c.verdict.startswith("taken")), None)


def _shape_text(file: LaunchFile, sizes: Mapping[str, int], chosen: Candidate | None) -> str:
    out = dict(sizes)
    names = [name for name, _ in file.options]
    if chosen is not None and "log2_k_split" in names:
        out["log2_k_split"] = chosen.split.bit_length() - 1
    elif chosen is not None and "split" in names:
        out["split"] = chosen.split
    return ",".join(f"{k}={v}" for k, v in out.items())


# -- matrix products -----------------------------------------------------------------
def _tiles(q: _Query, splits: Callable[[_Query, Row], Sequence[int] | str]) -> list[Candidate]:
    """``splits``: the splits of K that a row offers, or why it does not serve the shape."""
    out: list[Candidate] = []
    rounds_so_far: float = float("inf")
    empty_so_far, efficiency_so_far = q.cus, 1.0
    for row in q.rows:
        tm, tn = row.number("tile_M", "tile_m", "tileM"), row.number("tile_N", "tile_n", "tileN")
        if not tm or not tn or tm < 0 or tn < 0:
            out.append(Candidate(row, "the manifest gives no tile", False))
            continue
        offered = splits(q, row)
        if isinstance(offered, str):
            out.append(Candidate(row, offered, False, figures={"tile_m": tm, "tile_n": tn}))
            continue
        for split in offered:
            workgroups = -(-q.sizes["M"] // tm) * -(-q.sizes["N"] // tn) * split
            rounds = -(-workgroups // q.cus)
            empty = rounds * q.cus - workgroups
            efficiency = tm * tn / (tm + tn)
            figures: Figures = {
                "tile_m": tm, "tile_n": tn, "workgroups": workgroups, "rounds": rounds, "empty": empty,
                "efficiency": efficiency,
            }  # fmt: skip
            taken, why = False, f"{rounds} rounds, more than {rounds_so_far:.0f}"
            if rounds < rounds_so_far:
                taken, why = True, "the first" if not out or rounds_so_far == float("inf") else "fewer rounds"
            elif rounds == rounds_so_far:
                taken = empty < empty_so_far or efficiency > efficiency_so_far
                why = "as many rounds, " + (
                    "fewer idle CUs"
                    if empty < empty_so_far
                    else "better ratio of work to traffic"
                    if efficiency > efficiency_so_far
                    else "no fewer idle CUs and no better ratio of work to traffic"
                )
            if taken:
                rounds_so_far, empty_so_far, efficiency_so_far = rounds, empty, efficiency
            out.append(Candidate(row, f"{'taken' if taken else 'passed over'}: {why}", True, split, figures))
    return out


def _f4gemm(q: _Query, row: Row) -> Sequence[int] | str:
    log2 = q.sizes.get("log2_k_split", 0)
    splitting = row.number("splitK") or 0
    if log2 != 0 and not splitting:
        return "does not split K"
    if (row.number("tile_M"), row.number("tile_N")) == (128, 512) and q.sizes["N"] % 512:
        return "needs N to be a multiple of 512"
    if not splitting:
        return (1,)
    return (2, 4, 8, 16) if log2 < 0 else (1 << min(log2, 30),)


def _with_ks(q: _Query, row: Row) -> Sequence[int] | str:
    """int8 and block-scaled fp8: whole tiles of N, and only rows that can split K."""
    tile = row.number("tile_n")
    if not tile or q.sizes["N"] % tile:
        return f"N is no multiple of {tile}"
    if not row.number("splitK"):
        return "the driver takes rows with splitK = 1 only"
    split = q.sizes.get("split", 1)
    return tuple(range(1, 17)) if split < 0 else (max(1, split),)


def _bf16gemm(q: _Query, row: Row) -> Sequence[int] | str:
    tile, sub_k = row.number("tileN"), row.number("subK") or 64
    tile_m = row.number("tileM")
    if not tile or not tile_m or q.sizes["N"] % tile:
        return f"N is no multiple of {tile}"
    if q.sizes.get("bias") and row.number("bias") == 0:
        return "takes no bias"
    split = q.sizes.get("split", -1)
    if split >= 0:
        return (max(1, split),)
    workgroups = -(-q.sizes["M"] // tile_m) * (q.sizes["N"] // tile)
    if not row.number("splitK") or workgroups >= q.cus:
        return (1,)
    return (max(1, min(q.cus // workgroups, 16, q.sizes["K"] // sub_k)),)


# -- one row for each case -----------------------------------------------------------
def _topk(q: _Query) -> list[Candidate]:
    """The largest ``subm`` up to 4, or up to 12 from 10000 tokens on."""
    most = 12 if q.sizes["tokens"] >= 10_000 else 4
    cases = {(r.values.get("num_experts"), r.values.get("topk"), r.values.get("dtype")) for r in q.rows}
    if len(cases) > 1:
        raise UsageError(
            "the manifest has rows for several routers", kind="where",
            hint="--where num_experts=128,topk=6,dtype=fp32 names one",
        )  # fmt: skip
    best = max((n for r in q.rows if 0 < (n := r.number("subm") or 0) <= most), default=None)
    out: list[Candidate] = []
    for row in q.rows:
        n = row.number("subm") or 0
        taken = n == best and not any(c.fits for c in out)
        why = (
            f"taken: {n} rows, the most up to {most}" if taken else f"passed over: {n} rows of at most {most}"
        )
        out.append(Candidate(row, why, taken))
    return out


def _first(q: _Query) -> list[Candidate]:
    """Attention: the columns say it all; where rows remain, what tells them apart must be given."""
    if len(q.rows) > 1:
        columns = [c for c in q.rows[0].values if len({r.values.get(c) for r in q.rows}) > 1]
        values = ",".join(f"{c}={q.rows[0].values[c]}" for c in columns)
        raise UsageError(
            f"{len(q.rows)} rows of the manifest remain; {', '.join(columns)} tell them apart",
            kind="where",
            hint=f"--where {values} names the first",
        )
    return [Candidate(q.rows[0], "taken: its columns fit", True)]


_TILE_RULE = (
    "fewest rounds over the CUs; among equals fewer idle CUs in the last round, or a larger "
    "tile_m*tile_n/(tile_m+tile_n); rows in the manifest's order (the driver's own order is that of a hash "
    "map: ties may differ)"
)
_RULES: Mapping[str, _Rule] = {
    "aiter_f4gemm": _Rule(_TILE_RULE, lambda q: _tiles(q, _f4gemm), {"bpreshuffle": "1"}),
    "aiter_i8gemm": _Rule(_TILE_RULE, lambda q: _tiles(q, _with_ks), {"bpreshuffle": "1"}),
    "aiter_fp8gemm_blockscale": _Rule(_TILE_RULE, lambda q: _tiles(q, _with_ks), {"bpreshuffle": "1"}),
    "aiter_bf16gemm": _Rule(_TILE_RULE, lambda q: _tiles(q, _bf16gemm), {"bPreshuffle": "1"}),
    "aiter_topksoftmax": _Rule("the largest subm up to 4, up to 12 from 10000 tokens on", _topk, {}),
    "aiter_fmha_v3_fwd": _Rule("the row whose columns fit", _first, {}),
}


def describe(pick: Pick) -> dict[str, Any]:
    """JSON-able."""

    def one(c: Candidate | None) -> dict[str, Any] | None:
        if c is None:
            return None
        path = None if c.row.path is None else str(c.row.path)
        return {
            "kernel": c.row.kernel, "object": c.row.name, "path": path, "split": c.split, "fits": c.fits,
            "verdict": c.verdict, **(c.figures or {}), "columns": dict(c.row.values),
        }  # fmt: skip

    return {
        "rule": pick.rule,
        "shape": pick.shape,
        "driver": one(pick.driver),
        "chosen": one(pick.chosen),
        "candidates": [one(c) for c in pick.candidates],
    }
