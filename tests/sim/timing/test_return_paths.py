"""Units of RDNA that give back the data of several waves one by one.

The gaps are those of public hardware traces (gfx1100 and a gfx1201-class device, 32x32 GEMM).
"""

from __future__ import annotations

import numpy as np
import pytest

from isaprof.sim.timing import Place
from isaprof.sim.timing.units import ReturnPath
from isaprof.sim.trace import MemEvent
from tests.sim.timing.programs import gaps, global_event, issues, lds_event, listing, run, straight

KERNARGS = MemEvent("scalar", True, False, 16, np.array([0x2000], dtype=np.int64), np.zeros(0, np.int16))


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_wide_lds_reads_of_a_cu_come_back_six_cycles_apart(arch: str) -> None:
    """Two every 12 cycles on the traces, with one lane active; LDS itself is busy with each for 4."""
    wait = "s_waitcnt lgkmcnt(0)" if arch == "gfx1100" else "s_wait_dscnt 0x0"
    program = listing(arch, "ds_load_b128 v[2:5], v1", wait, "s_endpgm")
    waves = [straight(program, {0: lds_event([0], 16)}, number=n) for n in range(8)]
    out = run(program, [[w] for w in waves], places=[[Place(0, n, 0)] for n in range(8)])
    back = [issues(out, n)[1] for n in range(8)]
    assert np.diff(back).tolist() == [6] * 7


def test_valu_behind_a_wait_waits_until_lds_has_taken_up_the_access() -> None:
    """7 cycles after an LDS instruction (VMEMEXEC 3, then 4), however satisfied the wait between is."""
    add = "v_add_f32_e32 v0, v0, v6"
    program = listing("gfx1201", "ds_load_b128 v[2:5], v1", "s_wait_dscnt 0x1", add, "s_endpgm")
    assert gaps(run(program, [[straight(program, {0: lds_event([0], 16)})]]))[:2] == [3, 4]
    at_once = listing("gfx1201", "ds_load_b128 v[2:5], v1", add, "s_endpgm")
    assert gaps(run(at_once, [[straight(at_once, {0: lds_event([0], 16)})]]))[0] == 1


def test_an_lds_that_holds_all_it_can_delays_the_valu_behind_the_wait() -> None:
    program = listing("gfx1201", "ds_load_b128 v[2:5], v1", "s_wait_dscnt 0x1", "v_nop", "s_endpgm")
    waves = [straight(program, {0: lds_event([0], 16)}, number=n) for n in range(24)]
    out = run(program, [[w] for w in waves], places=[[Place(n % 2 * 2, n // 2, 0)] for n in range(24)])
    behind = sorted(issues(out, n)[2] - issues(out, n)[0] for n in range(24))
    assert behind[0] == 7
    assert behind[-1] > 20  # 19 were there before


@pytest.mark.parametrize(("arch", "apart"), [("gfx1100", 8), ("gfx1201", 2)])
def test_scattered_loads_of_a_cu_come_back_by_their_lines(arch: str, apart: int) -> None:
    """16 lanes in 16 lines: 2 lines a cycle on gfx1100, 8 on the gfx1201-class device; warm caches."""
    wait = "s_waitcnt vmcnt(0)" if arch == "gfx1100" else "s_wait_loadcnt 0x0"
    text = "global_load_b32 v5, v[3:4], off"
    program = listing(arch, text, text, wait, text, wait, "s_endpgm")
    event = global_event([256 * lane for lane in range(16)])
    waves = [straight(program, {0: event, 1: event, 3: event}, number=n) for n in range(4)]
    out = run(program, [[w] for w in waves], places=[[Place(0, n, 0)] for n in range(4)])
    back = [issues(out, n)[4] for n in range(4)]
    assert np.diff(back).min() >= apart


@pytest.mark.parametrize(("arch", "apart"), [("gfx1100", 4.0), ("gfx1201", 0.7)])
def test_waves_that_wait_for_cold_code_begin_one_after_the_other(arch: str, apart: float) -> None:
    """The line arrives once, whenever they began: 355-562 cycles of launch within one dispatch."""
    program = listing(arch, "s_nop 0", "s_endpgm")
    begins = [0, 20, 35, 50, 65, 80, 100, 115, 130, 150, 165]
    places = [[Place(n % 4, n // 4, begin)] for n, begin in enumerate(begins)]
    out = run(program, [[straight(program)] for _ in begins], places=places, warm=False)
    first = [issues(out, n)[0] for n in range(len(begins))]
    assert [t - first[0] for t in first] == [round(apart * n) for n in range(len(begins))]


def test_a_scalar_cache_gives_16_bytes_a_cycle() -> None:
    program = listing("gfx1100", "s_load_b128 s[4:7], s[0:1], null", "s_waitcnt lgkmcnt(0)", "s_endpgm")
    out = run(
        program, [[straight(program, {0: KERNARGS}, number=n)] for n in range(4)],
        places=[[Place(n, 0, 0)] for n in range(4)], warm=False,
    )  # fmt: skip
    back = sorted(issues(out, n)[1] for n in range(4))
    assert np.diff(back).tolist() == [1, 1, 1]


def test_what_was_ready_long_before_is_not_held_back() -> None:
    path = ReturnPath(80)
    assert [path.through(t, 32) for t in (1000, 1000, 950, 700)] == [1000, 1002, 1004, 700]
    assert path.through(2000, 32) == 2000
