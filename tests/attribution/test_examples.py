"""The worked examples of docs/attribution.md that tests/attribution/test_causes.py does not have yet.

Each is a few lines of code with recorded times, the piece that must come out, and
the words in which the page tells it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from isaprof.attribution import analyse
from isaprof.attribution.model import CAUSES
from tests.attribution.build import Wave, capture
from tests.attribution.invariants import check

PAGE = Path(__file__).resolve().parents[2] / "docs" / "attribution.md"


class Example(NamedTuple):
    """``rows``: arguments of Wave.add, by line; ``found``: line, cause, culprit, cycles of the last piece."""

    arch: str
    program: tuple[str, ...]
    rows: tuple[tuple[int, dict[str, Any]], ...]
    found: tuple[int, str, int, int]
    says: str


def waited(arch: str, op: str, wait: str, stall: int, cause: str, says: str) -> Example:
    """One operation and the wait for it."""
    rows = ((0, {"issue": 1}), (1, {"stall": stall, "issue": 0}))
    return Example(arch, (op, wait), rows, (1, cause, 0, stall), says)


EXAMPLES = [
    waited("gfx1100", "global_store_b32 v[2:3], v9, off", "s_waitcnt_vscnt null, 0x0", 300, "wait: store",
           "gfx11 `global_store_b32`, then `s_waitcnt_vscnt null, 0x0`: 300"),
    waited("gfx1201", "global_store_b32 v[2:3], v9, off", "s_wait_storecnt 0x0", 310, "wait: store",
           "gfx12 `s_wait_storecnt 0x0`: 310"),
    waited("gfx950", "ds_read_b32 v1, v2", "s_waitcnt lgkmcnt(0)", 60, "wait: LDS",
           "`ds_read_b32`, then `s_waitcnt lgkmcnt(0)`: 60"),
    waited("gfx950", "s_load_dword s4, s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", 400, "wait: SMEM",
           "`s_load_dword`, then `s_waitcnt lgkmcnt(0)`: 400"),
    waited("gfx1100", "exp mrt0 v0, v1, v2, v3 done", "s_waitcnt expcnt(0)", 90, "wait: export/GDS",
           "gfx11 `exp mrt0 ... done`, then `s_waitcnt expcnt(0)`: 90"),
    waited("gfx1030", "ds_add_rtn_u32 v4, v0, v1 gds", "s_waitcnt lgkmcnt(0)", 200, "wait: export/GDS",
           "`ds_add_rtn_u32 ... gds`, then `s_waitcnt lgkmcnt(0)`: 200"),
    waited("gfx1250", "global_load_async_to_lds_b32 v1, v[2:3], off", "s_wait_asynccnt 0x0", 700,
           "wait: async/tensor", "gfx1250 `global_load_async_to_lds_b32`, then `s_wait_asynccnt 0x0`: 700"),
    waited("gfx1250", "tensor_load_to_lds s[0:3], s[4:11]", "s_wait_tensorcnt 0x0", 900, "wait: async/tensor",
           "`tensor_load_to_lds`, then `s_wait_tensorcnt 0x0`: 900"),
    Example("gfx1201", tuple(f"v_exp_f32_e32 v{i}, v{20 + i}" for i in range(9)),
            (*((i, {"issue": 1}) for i in range(8)), (8, {"stall": 20, "issue": 1})),
            (8, "VALU pipe busy", 2, 20), "nine `v_exp_f32` on gfx12: the ninth stalls 20"),
    Example("gfx950", ("s_load_dword s4, s[0:1], 0x0", "s_load_dword s5, s[0:1], 0x4"),
            ((0, {}), (1, {"stall": 12})), (1, "SMEM pipe busy", 0, 12), "two `s_load_dword`: stall 12"),
    Example("gfx950", ("s_add_u32 s4, s5, s6", "s_sub_u32 s7, s8, s9"),
            ((0, {}), (1, {"stall": 8})), (1, "SALU pipe busy", 0, 8),
            "`s_add_u32`, then an `s_sub_u32` of other registers: stall 8"),
    Example("gfx950", ("v_cmp_lt_u32_e32 vcc, v1, v2", "s_cbranch_vccnz 4"),
            ((0, {}), (1, {"idle": 20, "category": "NEXT"})), (1, "VALU dependency", 0, 20),
            "CDNA `v_cmp`, then `s_cbranch_vccnz`: idle 20"),
    Example("gfx1100", ("s_nop 0", "s_branch 65534"),
            ((1, {"issue": 1, "category": "JUMP"}), (0, {"stall": 8, "issue": 1})), (0, "branch", 1, 8),
            "taken on gfx1100: 8 before the next instruction"),
    Example("gfx1100", ("v_fma_f32 v1, v4, v8, v12", "v_mov_b32_e32 v20, v21"),
            tuple((i % 2, {"issue": 1, "idle": i % 2}) for i in range(6)), (1, "VGPR bank conflict", 0, 1),
            "`v_fma_f32 v1, v4, v8, v12` three times, a `v_mov` a cycle late each time: 3"),
    Example("gfx950", ("s_mov_b32 s0, 0",), ((0, {}), (None, {"issue": 500, "category": "CONTEXT"}), (0, {})),
            (0, "trap/context switch", -1, 500), "trap of 500"),
]  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.found[1]}-{e.arch}".replace(" ", "_"))
def test_example(example: Example) -> None:
    wave = Wave()
    for line, times in example.rows:
        wave.add(line, **times)
    cap = capture(example.arch, example.program, [wave])
    a = analyse(cap)
    check(cap, a)
    s = a.segments[a.segments["cause"] == example.found[1]]
    assert len(s)
    line, _, culprit, cycles = example.found
    got = s.iloc[-1]
    assert (got["cycles"], got["culprit"]) == (cycles, culprit)
    assert got["line"] in (line, -1)
    assert example.says in PAGE.read_text(encoding="utf-8").replace("\n", " ")


def test_every_cause_has_an_example_on_the_page() -> None:
    """The last column of the table of rules is never empty, and every cause has a row."""
    text = PAGE.read_text(encoding="utf-8").split("\n")
    first = next(i for i, row in enumerate(text) if row.startswith("| cause | rule | source |")) + 2
    rows = text[first : text.index("", first)]
    examples = {
        row.split(" | ")[0].removeprefix("| "): row.rsplit(" | ", 1)[1].removesuffix(" |") for row in rows
    }
    assert [cause for cause, example in examples.items() if not example.strip(" |-")] == []
    assert set(examples) == {str(c) for c in CAUSES}
