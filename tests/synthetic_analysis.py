"""Deterministic synthetic Analysis objects for the tests of the views.

They keep every invariant of :class:`isaprof.attribution.model.Analysis`
(segments partition the waves, line causes sum to wait, causes sum to the total)
so that a view that adds nothing shows numbers that add up.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd

from isaprof.attribution.model import Analysis, Cause
from isaprof.compare.model import Comparison

#: (text template, cause of its wait, largest wait of one issue, issue cycles)
BODY: tuple[tuple[str, Cause | None, int, int], ...] = (
    ("buffer_load_dwordx4 v[{a}:{b}], v{c}, s[4:7], 0 offen offset:{o}", Cause.VMEM_BUSY, 24, 4),
    ("ds_read_b128 v[{a}:{b}], v{c} offset:{o}", Cause.LDS_CONFLICT, 32, 4),
    ("v_mfma_f32_16x16x32_bf16 a[{a}:{b}], v[{a}:{b}], v[{a}:{b}], a[{a}:{b}]", Cause.MATRIX_BUSY, 28, 4),
    ("s_waitcnt vmcnt({n})", Cause.WAIT_LOAD, 900, 4),
    ("v_add_u32_e32 v{a}, {o}, v{c}", None, 0, 4),
    ("v_pk_mul_f32 v[{a}:{b}], v[{a}:{b}], v[{a}:{b}] op_sel_hi:[1,0]", Cause.VALU_DEP, 8, 4),
    ("s_waitcnt lgkmcnt({n})", Cause.WAIT_LDS, 120, 4),
    ("ds_write_b128 v{c}, v[{a}:{b}] offset:{o}", None, 0, 4),
    ("s_barrier", Cause.BARRIER, 400, 8),
    ("s_add_u32 s{n}, s{n}, {o}", None, 0, 4),
    ("s_cbranch_scc1 65{o}", Cause.BRANCH, 16, 8),
)


def program(n_lines: int, seed: int = 1) -> list[tuple[str, Cause | None, int, int]]:
    """``n_lines`` instructions that look like a tiled matrix kernel."""
    rng = random.Random(seed)
    out: list[tuple[str, Cause | None, int, int]] = [
        ("s_load_dwordx4 s[4:7], s[0:1], 0x0", None, 0, 4),
        ("s_waitcnt lgkmcnt(0)", Cause.WAIT_SMEM, 700, 4),
    ]
    while len(out) < n_lines - 1:
        template, cause, worst, issue = BODY[rng.randrange(len(BODY))]
        a = 4 * rng.randrange(60)
        out.append(
            (
                template.format(
                    a=a, b=a + 3, c=rng.randrange(256), o=16 * rng.randrange(200), n=rng.randrange(8)
                ),
                cause,
                worst,
                issue,
            )
        )
    return [*out[: n_lines - 1], ("s_endpgm", None, 0, 4)]


def build(
    n_lines: int = 60,
    n_waves: int = 8,
    *,
    seed: int = 1,
    provenance: str = "modelled",
    kernel: str = "demo_gemm",
    iterations: int = 3,
    texts: list[tuple[str, Cause | None, int, int]] | None = None,
    meta: dict[str, Any] | None = None,
) -> Analysis:
    """An Analysis of ``n_lines`` instructions and ``n_waves`` waves."""
    rng = np.random.default_rng(seed)
    prog = texts if texts is not None else program(n_lines, seed)
    n = len(prog)
    loop_from, loop_to = n // 4, n - max(1, n // 5)
    path = [*range(0, loop_to), *(list(range(loop_from, loop_to)) * (iterations - 1)), *range(loop_to, n)]
    worst = np.array([p[2] for p in prog], dtype=np.int64)
    issue = np.array([p[3] for p in prog], dtype=np.int64)
    causes = [p[1] for p in prog]
    rows: dict[str, list[Any]] = {
        k: [] for k in ("wave", "seq", "line", "part", "cause", "culprit", "ambiguous", "begin", "cycles")
    }
    waves = []
    for w in range(n_waves):
        now = begin = 100 * w
        waits = (rng.random(len(path)) ** 4 * worst[path]).astype(np.int64)

        def add(seq: int, line: int, part: str, cause: Cause, culprit: int, cycles: int, w: int = w) -> None:
            nonlocal now
            if cycles <= 0:
                return
            values = (w, seq, line, part, str(cause), culprit, False, now, cycles)
            for key, value in zip(rows, values, strict=True):
                rows[key].append(value)
            now += cycles

        add(-1, -1, "launch", Cause.LAUNCH, -1, 40 + 3 * w)
        for seq, line in enumerate(path):
            cause = causes[line]
            if cause is not None and waits[seq]:
                half = int(waits[seq]) // 3
                culprit = max(0, line - 3) if cause is not Cause.BARRIER else -1
                add(seq, line, "idle", cause, culprit, half)
                add(seq, line, "stall", cause, culprit, int(waits[seq]) - half)
            add(seq, line, "issue", Cause.ISSUE, -1, int(issue[line]))
        add(-1, -1, "drain", Cause.DRAIN, -1, 12)
        waves.append((w, 0, w // 4, w % 4, 0, begin, now, now - begin, len(path)))
    seg = pd.DataFrame(rows)
    for column in ("wave", "seq", "line", "culprit", "begin", "cycles"):
        seg[column] = seg[column].astype("int64")
    return assemble(seg, waves, prog, path, n_waves, provenance, kernel, meta)


def assemble(
    seg: pd.DataFrame,
    waves: list[tuple[int, ...]],
    prog: list[tuple[str, Cause | None, int, int]],
    path: list[int],
    n_waves: int,
    provenance: str,
    kernel: str,
    meta: dict[str, Any] | None,
) -> Analysis:
    """Sum the segments into every table of the Analysis."""
    n = len(prog)
    index = pd.RangeIndex(n)

    def per_line(part: str) -> pd.Series:
        sums = seg[seg["part"] == part].groupby("line")["cycles"].sum()
        return sums.reindex(index, fill_value=0).astype("int64")

    stall, idle, issue = per_line("stall"), per_line("idle"), per_line("issue")
    wait = stall + idle
    waiting = seg[seg["part"].isin(("stall", "idle"))]
    line_causes = waiting.groupby(["line", "cause"], as_index=False)["cycles"].sum()
    culprits = (
        waiting[waiting["culprit"] >= 0]
        .groupby(["culprit", "line", "cause"], as_index=False)["cycles"]
        .sum()
        .rename(columns={"line": "victim"})
    )
    total = int(seg["cycles"].sum())
    causes = (
        seg.groupby("cause", as_index=False)["cycles"]
        .sum()
        .sort_values(["cycles", "cause"], ascending=[False, True], ignore_index=True)
    )
    causes["share"] = causes["cycles"] / total if total else 0.0
    hits = pd.Series(path).value_counts().reindex(index, fill_value=0).to_numpy() * n_waves
    top = line_causes.sort_values("cycles").groupby("line").last()["cause"] if len(line_causes) else None
    blamed = culprits.sort_values("cycles").groupby("victim").last()["culprit"] if len(culprits) else None
    order = wait.sort_values(ascending=False, kind="stable")
    rank = pd.Series(range(1, n + 1), index=order.index).reindex(index).where(wait > 0, 0)
    lines = pd.DataFrame(
        {
            "line": np.arange(n, dtype="int64"),
            "pc": 0x1000 + 8 * np.arange(n, dtype="int64"),
            "text": [p[0] for p in prog],
            "label": [kernel if i == 0 else "L_loop" if i == n // 4 and n > 8 else None for i in range(n)],
            "source": [f"gemm.hip:{10 + i // 4}" if i % 2 else None for i in range(n)],
            "hits": hits.astype("int64"),
            "latency": (stall + issue).astype("int64"),
            "stall": stall,
            "idle": idle,
            "wait": wait,
            "issue": issue,
            "held": issue * 0,
            "lost": wait,
            "cause": "" if top is None else top.reindex(index).fillna(""),
            "culprit": -1 if blamed is None else blamed.reindex(index).fillna(-1).astype("int64"),
            "share": (wait + issue) / total if total else 0.0,
            "heat": wait / wait.max() if wait.max() else 0.0,
            "rank": rank.astype("int64"),
        }
    )
    wave_frame = pd.DataFrame(
        waves, columns=["wave", "se", "cu", "simd", "slot", "begin", "end", "cycles", "instructions"]
    ).astype("int64")
    for cause, part in seg.groupby("cause"):
        sums = part.groupby("wave")["cycles"].sum()
        wave_frame[str(cause)] = wave_frame["wave"].map(sums).fillna(0).astype("int64")
    full_meta: dict[str, Any] = {
        "schema_version": 1,
        "provenance": provenance,
        "arch": "gfx950",
        "kernel": {"name": kernel},
        "tool": {"name": "isaprof", "version": "0.1.0"},
        "warnings": [{"kind": "sampled", "message": "4 of 64 workgroups were simulated"}],
        **(meta or {}),
    }
    return Analysis(
        provenance=provenance,
        arch="gfx950",
        kernel=kernel,
        segments=seg,
        lines=lines,
        line_causes=line_causes,
        culprits=culprits,
        causes=causes,
        waves=wave_frame,
        total_cycles=total,
        span_cycles=int(wave_frame["end"].max() - wave_frame["begin"].min()) if len(wave_frame) else 0,
        overlap_cycles=0,
        instructions=len(path) * n_waves,
        notes=("idle before the first instruction of a wave counts as launch",),
        meta=full_meta,
    )


def empty(n_lines: int = 12) -> Analysis:
    """A capture with code but without a traced wave."""
    return build(n_lines, 0, meta={"warnings": []})


def variant(n_lines: int = 60, n_waves: int = 8, **kwargs: Any) -> tuple[Analysis, Analysis]:
    """Two analyses: the second lacks one barrier, has a line more and relaxes a wait."""
    prog = program(n_lines)
    other = list(prog)
    relaxed = next(i for i, p in enumerate(other) if p[1] is Cause.WAIT_LOAD)
    other[relaxed] = ("s_waitcnt vmcnt(63)", Cause.WAIT_LOAD, 40, 4)
    del other[next(i for i, p in enumerate(other) if p[1] is Cause.BARRIER)]
    other.insert(n_lines // 2, ("s_setprio 3", None, 0, 4))
    provenance = kwargs.pop("provenances", ("modelled", "modelled"))
    a = build(n_lines, n_waves, texts=prog, provenance=provenance[0], **kwargs)
    b = build(n_lines, n_waves, texts=other, provenance=provenance[1], **kwargs)
    return a, b


def comparison(a: Analysis, b: Analysis) -> Comparison:
    """The real alignment of two synthetic analyses."""
    from isaprof.compare.align import compare

    return compare(a, b)
