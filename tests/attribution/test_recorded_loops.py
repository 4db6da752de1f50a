"""An attention-like loop, two waves a SIMD, from a folder of rocprofv3 without code object.

What authors compute by hand on such traces: cycles of an iteration, busy matrix pipe, the stalls by
kind of instruction, and which of them the other wave hides, which only the matrix pipe covers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isaprof import cli
from tests.attribution.build import Wave
from tests.attribution.ui_folder import back_to, write

PROGRAM = (
    "s_mov_b32 s0, 3",  # 0
    "ds_read_b128 v[4:7], v1",  # 1
    "s_waitcnt lgkmcnt(0)",  # 2
    "v_mfma_f32_32x32x16_bf16 v[16:31], v[4:7], v[8:11], v[16:31]",  # 3
    "v_mul_f32_e32 v40, v41, v42",  # 4
    "v_pk_mul_f32 v[44:45], v[46:47], v[48:49]",  # 5
    "s_nop 3",  # 6
    "buffer_load_dwordx4 v50, s[4:7], 0 offen lds",  # 7
    "s_waitcnt vmcnt(0)",  # 8
    "s_barrier",  # 9
    f"s_cbranch_scc1 {back_to(1, 10)}",  # 10
    "v_add_f32_e32 v40, v40, v44",  # 11
    "s_endpgm",  # 12
)
MFMA, LAST, ITERATIONS = 3, 10, 5
#: vmcnt stall of each iteration
LOADS = (300, 320, 340, 360, 380)
PASSES = 32  #: cycles of the MFMA


def attention(begin: int, slot: int, simd: int = 0) -> Wave:
    wave = Wave(begin=begin, slot=slot, simd=simd).add(0, idle=28)
    for i, load in enumerate(LOADS):
        wave.add(1, idle=16 if i else 0).add(2, stall=52, issue=0).add(3).add(4, idle=4)
        wave.add(5, stall=32).add(6, stall=16, issue=0).add(7, stall=60).add(8, stall=load, issue=0)
        wave.add(9, stall=40, issue=0).add(LAST, category="JUMP" if i + 1 < ITERATIONS else "NEXT")
    return wave.add(11).add(12, issue=40)


WAVES = [attention(1000, 0), attention(1100, 1), attention(1000, 0, simd=1), attention(1040, 1, simd=1)]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ui")
    out = folder / "fa.isaprof"
    with pytest.raises(SystemExit) as stop:
        cli.main(["import", str(write(folder, "gfx950", PROGRAM, WAVES)), "--arch", "gfx950", "-o", str(out)])
    assert not stop.value.code
    return out


def shown(capsys: pytest.CaptureFixture[str], path: Path, by: str, *more: str) -> Any:
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        cli.main(["show", str(path), "--by", by, "--json", *more])
    assert not stop.value.code
    return json.loads(capsys.readouterr().out)


def counted() -> dict[int, np.ndarray]:
    """Line -> stall cycles (exposed, hidden, covered), cycle by cycle."""
    high = max(t + d for w in WAVES for _, t, _, d, _ in w.rows) + 100
    issues = np.zeros((len(WAVES), high), bool)
    matrix = np.zeros((2, high), bool)
    for n, wave in enumerate(WAVES):
        for line, time, stall, duration, _ in wave.rows[:-1]:
            issues[n, time + stall : time + duration] = True
            if line == MFMA:
                matrix[wave.simd, time + stall : time + stall + PASSES] = True
        issues[n, wave.rows[-1][1] : wave.rows[-1][1] + 4] = True  # s_endpgm: a slot, the rest is drain
    out: dict[int, np.ndarray] = {}
    for n, wave in enumerate(WAVES):
        others = issues[[m for m, o in enumerate(WAVES) if m != n and o.simd == wave.simd]].any(axis=0)
        for line, time, stall, _, _ in wave.rows:
            at = slice(time, time + stall)
            hidden, covered = others[at].sum(), (matrix[wave.simd, at] & ~others[at]).sum()
            assert line is not None
            out.setdefault(line, np.zeros(3, int))
            out[line] += np.array([stall - hidden - covered, hidden, covered])
    return out


def test_iterations_and_the_matrix_pipe(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = shown(capsys, imported, "loop")
    kernel, loop = body["loops"]
    assert (loop["first_line"], loop["last_line"], loop["iterations"]) == (1, LAST, ITERATIONS * 4)
    # 16 behind the branch, read 4, lgkmcnt 52, MFMA 4, VALU 4 + 4, packed 36, nop 16, load 64, barrier 40, 4
    steps = [244 + load for load in LOADS[:-1]]
    assert sorted(loop["iteration_cycles"]["0"]) == steps
    assert (loop["t_iter_min"], loop["t_iter_max"]) == (steps[0], steps[-1])
    assert loop["t_iter_median"] == pytest.approx(np.median(steps * 4))
    assert loop["t_iter_p90"] == pytest.approx(np.percentile(steps * 4, 90))
    assert loop["matrix_cycles"] == PASSES * ITERATIONS * 4
    spans = []
    for simd in (0, 1):
        mine = [w for w in WAVES if w.simd == simd]
        inside = [(t, t + d) for w in mine for line, t, _, d, _ in w.rows if line in range(1, 11)]
        spans.append(max(e for _, e in inside) - min(b for b, _ in inside))
    assert loop["matrix_efficiency"] == pytest.approx(loop["matrix_cycles"] / sum(spans))
    assert loop["skeleton"] == "R1 w M1 G1 w B"
    assert (
        loop["exposed"] + loop["hidden"] + loop["covered"] + loop["unknown"] + loop["issue"] == loop["cycles"]
    )
    assert loop["unknown"] == 0
    stalls = {"wait vmcnt": sum(LOADS) * 4, "load": 60 * 20, "wait lgkmcnt": 52 * 20, "barrier": 40 * 20}
    assert loop["stalls"] == {**stalls, "VALU": 32 * 20, "s_nop/s_sleep": 16 * 20}
    assert kernel["loop"] == -1


def test_stalls_by_kind_and_who_hides_them(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = shown(capsys, imported, "kind")
    kinds = {row["kind"]: row for row in body["kinds"]}
    total = body["total_cycles"]
    reference = counted()
    of_kind = {"wait vmcnt": 8, "wait lgkmcnt": 2, "VALU": 5, "s_nop/s_sleep": 6, "load": 7, "barrier": 9}
    for name, line in of_kind.items():
        row, (exposed, hidden, covered) = kinds[name], reference[line]
        assert (row["stall_exposed"], row["stall_hidden"], row["stall_covered"]) == (exposed, hidden, covered)
        assert row["stall"] == exposed + hidden + covered
        assert row["stall_share"] == pytest.approx(row["stall"] / total)
    assert kinds["VALU"]["stall_covered"] > 0  # packed f32 behind an MFMA: the pipe covers 28 of its 32
    assert kinds["wait vmcnt"]["stall_hidden"] > 0
    assert kinds["matrix"]["hits"] == ITERATIONS * 4
    assert kinds["matrix"]["issue_share"] == pytest.approx(4 * ITERATIONS * 4 / total)
    assert sum(row["cycles"] for row in body["kinds"]) == total
    assert (kinds["launch"]["cycles"], kinds["drain"]["cycles"]) == (28 * 4, 36 * 4)


def test_the_other_listings_need_no_code_object(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    causes = {r["cause"]: r for r in shown(capsys, imported, "category")["categories"]}
    assert causes["wait: global load"]["cycles"] == sum(LOADS) * 4
    assert causes["matrix pipe busy"]["covered"] > 0
    gaps = shown(capsys, imported, "gap")["gaps"]
    assert {"wait: global load", "barrier"} <= {g["cause"] for g in gaps}
    flight = shown(capsys, imported, "in-flight")["in_flight"]
    assert (max(r["waves"] for r in flight), flight[-1]["waves"]) == (4, 0)
    life = shown(capsys, imported, "time", "--wave", "1")["timeline"]
    own = {"begin", "end"}
    assert (
        sum(v for row in life for k, v in row.items() if k not in own) == life[-1]["end"] - life[0]["begin"]
    )
    (bank,) = shown(capsys, imported, "bank")["banks"]
    assert bank["evidence"].startswith("assumed none: no addresses")
    culprits = shown(capsys, imported, "culprit")["culprits"]
    assert culprits[0]["text"].startswith("buffer_load_dwordx4")


@pytest.mark.slow
def test_the_text_says_the_same(imported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for by, words in (("loop", "median"), ("kind", "wait vmcnt"), ("gap", "load"), ("in-flight", "waves")):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main(["show", str(imported), "--by", by])
        assert not stop.value.code
        assert words in capsys.readouterr().out
