"""Blame of counter waits: which memory instruction was really waited for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isaprof.attribution import Analysis, analyse
from isaprof.attribution.counters import simulate
from isaprof.attribution.records import read_records
from isaprof.attribution.static import static_code
from isaprof.backends.recorded import open_recording
from isaprof.capture.model import Capture
from tests.attribution.build import Wave, capture


def blamed(arch: str, program: list[str], stalls: dict[int, int]) -> list[tuple[int, int, str, int, bool]]:
    """(victim, culprit, cause, cycles, ambiguous) of the stalls; every line runs once, in order."""
    wave = Wave()
    for line in range(len(program)):
        wave.add(line, stall=stalls.get(line, 0), issue=0 if line in stalls else 4)
    s = analyse(capture(arch, program, [wave])).segments
    s = s[s["part"] == "stall"]
    columns = (s[c] for c in ("line", "culprit", "cause", "cycles", "ambiguous"))
    return [tuple(x) for x in zip(*(c.tolist() for c in columns), strict=True)]


PLAIN = ["s_nop 0"] * 4


def test_gfx9_loads_and_stores_share_vmcnt_and_complete_in_order() -> None:
    program = [
        *PLAIN, "global_load_dword v1, v[2:3], off", "buffer_store_dword v4, v5, s[4:7], 0 offen",
        "scratch_load_dword v6, off, s0", "s_waitcnt vmcnt(2)", "s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(0)",
    ]  # fmt: skip
    assert blamed("gfx942", program, {7: 500, 8: 60, 9: 40}) == [
        (7, 4, "wait: global load", 500, False),
        (8, 5, "wait: store", 60, False),
        (9, 6, "wait: global load", 40, False),
    ]


def test_gfx11_stores_count_on_vscnt() -> None:
    program = [
        *PLAIN, "global_load_b32 v1, v[2:3], off", "global_store_b32 v[2:3], v4, off",
        "s_waitcnt vmcnt(0)", "s_waitcnt_vscnt null, 0x0",
    ]  # fmt: skip
    assert blamed("gfx1100", program, {6: 400, 7: 90}) == [
        (6, 4, "wait: global load", 400, False),
        (7, 5, "wait: store", 90, False),
    ]


def test_gfx12_split_waits() -> None:
    program = [
        *PLAIN, "s_load_b64 s[0:1], s[2:3], 0x0", "global_load_b32 v1, v[2:3], off",
        "ds_load_b32 v2, v3", "global_store_b32 v[2:3], v4, off", "s_wait_kmcnt 0x0", "s_wait_loadcnt 0x0",
        "s_wait_dscnt 0x0", "s_wait_storecnt 0x0",
    ]  # fmt: skip
    found = blamed("gfx1201", program, {8: 100, 9: 300, 10: 30, 11: 50})
    assert [(v, c, w) for v, c, w, _, _ in found] == [
        (8, 4, "wait: SMEM"), (9, 5, "wait: global load"), (10, 6, "wait: LDS"), (11, 7, "wait: store"),
    ]  # fmt: skip


def test_the_youngest_released_operation_ended_the_wait() -> None:
    program = [f"ds_read_b32 v{i}, v9" for i in range(5)] + ["s_waitcnt lgkmcnt(2)", "s_waitcnt lgkmcnt(0)"]
    assert [(v, c) for v, c, *_ in blamed("gfx950", program, {5: 50, 6: 20})] == [(5, 2), (6, 4)]


def test_scalar_loads_return_in_any_order_so_all_are_candidates() -> None:
    program = ["s_load_dword s4, s[0:1], 0x0", "s_load_dword s5, s[0:1], 0x8", "s_waitcnt lgkmcnt(0)"]
    assert blamed("gfx950", program, {2: 101}) == [
        (2, 0, "wait: SMEM", 50, True),
        (2, 1, "wait: SMEM", 51, True),
    ]


def test_a_partial_wait_on_scalar_loads_releases_nobody_for_sure() -> None:
    program = ["s_load_dword s4, s[0:1], 0x0", "s_load_dword s5, s[0:1], 0x8", "s_waitcnt lgkmcnt(1)",
               "s_waitcnt lgkmcnt(0)"]  # fmt: skip
    found = blamed("gfx950", program, {2: 100, 3: 100})
    assert [(v, c, amb) for v, c, _, _, amb in found] == [
        (2, 0, True),
        (2, 1, True),
        (3, 0, True),
        (3, 1, True),
    ]


def test_flat_counts_on_two_counters_and_is_one_culprit() -> None:
    program = ["flat_load_dword v1, v[2:3]", "s_nop 0", "s_waitcnt vmcnt(0) lgkmcnt(0)"]
    assert blamed("gfx950", program, {2: 300}) == [(2, 0, "wait: global load", 300, False)]


def test_a_combined_wait_is_split_and_marked() -> None:
    program = ["buffer_load_dword v1, v2, s[4:7], 0 offen", "ds_read_b32 v3, v4", "s_nop 0",
               "s_waitcnt vmcnt(0) lgkmcnt(0)"]  # fmt: skip
    found = blamed("gfx950", program, {3: 60})
    assert sorted(found) == [
        (3, 0, "wait: global load", 30, True),
        (3, 1, "wait: LDS", 30, True),
    ]


def test_an_lds_read_that_must_be_done_is_no_candidate() -> None:
    # the LDS read issued at 4; after 256 cycles it is certainly done: the rest is the load's
    program = ["buffer_load_dword v1, v2, s[4:7], 0 offen", "ds_read_b32 v3, v4",
               "s_waitcnt vmcnt(0) lgkmcnt(0)"]  # fmt: skip
    found = blamed("gfx950", program, {2: 1000})
    assert found == [
        (2, 0, "wait: global load", 126, True),
        (2, 1, "wait: LDS", 126, True),
        (2, 0, "wait: global load", 748, False),
    ]


@pytest.mark.parametrize(
    ("arch", "program"),
    [
        ("gfx950", ["ds_read_b128 v[0:3], v8", "ds_read_b128 v[4:7], v8", "s_waitcnt lgkmcnt(0)"]),
        ("gfx1151", ["ds_load_b128 v[0:3], v8", "ds_load_b128 v[4:7], v8", "s_waitcnt lgkmcnt(0)"]),
        ("gfx950", ["s_nop 0", "flat_load_dword v1, v[4:5]", "s_waitcnt lgkmcnt(0)"]),
    ],
)
def test_lds_under_load_is_the_culprit_however_long_it_takes(arch: str, program: list[str]) -> None:
    found = blamed(arch, program, {2: 600})
    assert [(victim, culprit, cycles) for victim, culprit, _, cycles, _ in found] == [(2, 1, 600)]


def test_a_satisfied_wait_blames_nobody() -> None:
    program = [
        "s_nop 0",
        "s_waitcnt vmcnt(0)",
        "buffer_load_dword v1, v2, s[4:7], 0 offen",
        "s_waitcnt vmcnt(1)",
    ]
    found = blamed("gfx950", program, {1: 4, 3: 4})
    assert found == [(1, -1, "issue", 4, False), (3, -1, "issue", 4, False)]


def test_all_ones_is_no_wait() -> None:
    program = ["buffer_load_dword v1, v2, s[4:7], 0 offen", "s_waitcnt vmcnt(63)", "s_waitcnt vmcnt(0)"]
    found = blamed("gfx950", program, {1: 4, 2: 90})
    assert found == [(1, -1, "issue", 4, False), (2, 0, "wait: global load", 90, False)]


def test_a_full_counter_blocks_the_next_of_its_kind() -> None:
    # lgkmcnt counts to 15 on gfx9: the sixteenth LDS read waits for the first
    program = [f"ds_read_b32 v{i}, v40" for i in range(16)]
    assert blamed("gfx950", program, {15: 40}) == [(15, 0, "wait: LDS", 40, False)]


def test_each_iteration_of_a_loop_blames_its_own_load() -> None:
    program = ["global_load_dword v1, v[2:3], off", "s_waitcnt vmcnt(1)", "s_cbranch_scc1 65532", "s_endpgm"]
    wave = Wave()
    for n in range(3):
        wave.add(0).add(1, stall=200 if n else 4, issue=0).add(
            2, category="JUMP" if n < 2 else "NEXT", idle=4
        )
    cap = capture("gfx950", program, [wave])
    found = simulate(static_code(cap), read_records(cap)).waits
    # the wait of iteration n lets the load of n pass and waits for that of n - 1
    assert {r: [op.r for g in groups for op in g.culprits] for r, groups in found.items()} == {4: [0], 7: [3]}


def test_outstanding_stores_are_to_blame_for_the_drain() -> None:
    program = ["global_load_dword v1, v[2:3], off", "global_store_dword v[2:3], v1, off", "s_endpgm"]
    a: Analysis = analyse(capture("gfx950", program, [Wave().add(0).add(1).add(2, issue=240)]))
    drain = a.segments[a.segments["part"] == "drain"]
    assert drain["culprit"].tolist() == [1]
    assert drain["cycles"].tolist() == [236]


@pytest.fixture(scope="module")
def mfma_gemm(data_dir: Path) -> Capture:
    raw = open_recording(data_dir / "att" / "wave_gemm_gfx950").read(3, decoder="ui")
    return Capture(raw.meta, raw.tables, raw.code_objects)


def test_released_operations_equal_amds_wait_analysis(mfma_gemm: Capture, data_dir: Path) -> None:
    """``wave.waitcnt`` of all 16 wave files, written by AMD's att-tool."""
    out = data_dir / "att" / "wave_gemm_gfx950" / "ui_output_agent_32617_dispatch_3"
    rows = json.loads((out / "code.json").read_text())["code"]
    number = {r[5]: r[2] for r in rows if not r[0].startswith(";")}
    code, records = static_code(mfma_gemm), read_records(mfma_gemm)
    found = simulate(code, records).waits
    waves = records.waves
    compared = 0
    for file in sorted(out.glob("se*_sm*_sl*_wv*.json")):
        wave = json.loads(file.read_text())["wave"]
        key = (int(file.name[2:].split("_")[0]), wave["cu"], wave["simd"], wave["slot"], wave["begin"])
        places = zip(waves.se, waves.cu, waves.simd, waves.slot, waves.begin, strict=True)
        (w,) = [k for k, place in enumerate(places) if key == place]
        mine = []
        for r in range(records.first[w], records.last[w]):
            for group in sorted(found.get(r, ()), key=lambda g: g.counter):  # lgkmcnt before vmcnt
                lines = [[number[int(code.pc[op.line])], 0] for op in group.released]
                if lines:
                    mine.append([number[int(code.pc[records.line[r]])], lines])
        assert mine == wave["waitcnt"], file.name
        compared += len(mine)
    assert compared == 16 * len(wave["waitcnt"])
