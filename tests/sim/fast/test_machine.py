"""Whole runs: real kernels and machines in trouble give the same on both executors."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isaprof.errors import EnvironmentProblem, UsageError
from isaprof.sim import functional
from isaprof.sim.fast import build
from isaprof.sim.fast import machine as fast_machine
from isaprof.sim.fast.machine import FastMachine
from isaprof.sim.faults import SimulatedFault
from tests.sim import test_f4gemm, test_real_kernels
from tests.sim.kernels import Launch, assemble, buffers

run = functional.run


def same_result(a: functional.FunctionalResult, b: functional.FunctionalResult) -> None:
    """Outputs, counts, paths and memory events, bit by bit."""
    assert a.outputs == b.outputs
    assert (a.instructions, a.workgroups, a.lds_outside) == (b.instructions, b.workgroups, b.lds_outside)
    np.testing.assert_array_equal(a.per_line_counts, b.per_line_counts)
    assert [t.workgroup for t in a.traces] == [t.workgroup for t in b.traces]
    for left, right in zip(a.traces, b.traces, strict=True):
        for x, y in zip(left.waves, right.waves, strict=True):
            assert (x.wave_in_wg, x.threads, x.taken, x.exec_zero) == (
                y.wave_in_wg,
                y.threads,
                y.taken,
                y.exec_zero,
            )
            np.testing.assert_array_equal(x.lines, y.lines)
            assert x.memory.keys() == y.memory.keys()
            for step, p in x.memory.items():
                q = y.memory[step]
                assert (p.space, p.load, p.store, p.bytes) == (q.space, q.load, q.store, q.bytes)
                np.testing.assert_array_equal(p.addresses, q.addresses)
                np.testing.assert_array_equal(p.lanes, q.lanes)
                assert (p.addresses.dtype, p.lanes.dtype) == (q.addresses.dtype, q.lanes.dtype)


def both(*args: Any, **kw: Any) -> functional.FunctionalResult:
    fast = run(*args, executor="fast", **kw)
    same_result(fast, run(*args, executor="reference", **kw))
    assert fast.executor == "fast"
    assert not fast.fallbacks
    return fast


REAL: list[Callable[[Path], None]] = [
    *(
        lambda d, a=a: test_real_kernels.test_gemm_of_1024_workgroups(d, a)
        for a in ("gfx1100", "gfx950", "gfx1200")
    ),
    *(
        lambda d, a=a: test_real_kernels.test_plus_adds_three_elements(d, a)
        for a in ("gfx1100", "gfx950", "gfx1200")
    ),
    *(
        lambda d, a=a: test_real_kernels.test_sync_writes_its_index_table(d, a)
        for a in ("gfx1100", "gfx1200")
    ),
    *(lambda d, a=a: test_real_kernels.test_sync_barrier_kernel_ends(d, a) for a in ("gfx1100", "gfx1200")),
    test_real_kernels.test_mfma_gemm_with_kernarg_preload,
    lambda d: test_f4gemm.test_f4gemm_matches_the_dequantised_product(d, (32, 128), (17, 256, 512)),
    lambda d: test_f4gemm.test_f4gemm_matches_the_dequantised_product(d, (256, 256), (256, 256, 512)),
]


@pytest.mark.parametrize("number", range(len(REAL)))
def test_real_kernels_are_bit_identical(data_dir: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (test_real_kernels, test_f4gemm):
        monkeypatch.setattr(module, "run", both)
    REAL[number](data_dir)


#: kernels with branches per lane, loops, barriers, LDS between waves; each thread stores one dword to ``out``
PROGRAMS = {
    "divergent loop": """
        s_load_b64 s[4:5], s[0:1], 0x0
        s_waitcnt lgkmcnt(0)
        v_and_b32 v1, 15, v0
        v_mov_b32 v2, 0
        s_mov_b32 s6, exec_lo
    top:
        v_add_nc_u32 v2, v2, v1
        v_sub_nc_u32 v1, v1, 1
        v_cmpx_gt_i32 0x100, v2
        v_cmpx_lt_i32 0, v1
        s_cbranch_execnz top
        s_mov_b32 exec_lo, s6
        v_lshlrev_b32 v3, 2, v0
        global_store_b32 v3, v2, s[4:5]
        s_endpgm""",
    "barriers": """
        s_load_b64 s[4:5], s[0:1], 0x0
        v_lshlrev_b32 v3, 2, v0
        v_mul_u32_u24 v2, 3, v0
        ds_store_b32 v3, v2
        s_waitcnt lgkmcnt(0)
        s_barrier
        v_xor_b32 v4, 0x80, v3
        ds_load_b32 v5, v4
        s_waitcnt lgkmcnt(0)
        s_barrier
        ds_add_u32 v3, v5
        v_mbcnt_lo_u32_b32 v6, -1, v5
        ds_load_b32 v2, v3
        v_add_nc_u32 v2, v2, v6
        global_store_b32 v3, v2, s[4:5]
        s_endpgm""",
    "atomics": """
        s_load_b64 s[4:5], s[0:1], 0x0
        v_mov_b32 v3, 0
        v_mov_b32 v2, 1
        s_waitcnt lgkmcnt(0)
        global_atomic_add_u32 v4, v3, v2, s[4:5] glc
        global_atomic_add_f32 v3, v2, s[4:5] offset:4
        s_endpgm""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    co, listing = assemble("gfx1100", PROGRAMS[name], lds=1024)
    out = np.zeros(1024, np.uint32)
    launch = Launch(buffers(out=out), grid=(7, 1, 1), workgroup=(96, 1, 1))
    both(co, co.kernel(None), listing, launch, trace=lambda wg: wg[0] % 3 == 0)


FAULTS = {
    "wild pointer": (
        "v_mov_b32 v1, 0x1234\n v_mov_b32 v2, 0x55\n global_load_b32 v3, v[1:2], off\n s_endpgm",
        {},
    ),
    "endless loop": ("top:\n v_add_nc_u32 v1, v1, v1\n s_branch top\n s_endpgm", {"max_instructions": 5000}),
    "past the end": ("s_mov_b32 s4, 1", {}),
    "unknown": ("s_getreg_b32 s4, hwreg(HW_REG_STATUS)\n s_endpgm", {}),
    "store to arguments": ("v_mov_b32 v1, 0\n global_store_b32 v1, v1, s[0:1]\n s_endpgm", {}),
    "register": ("v_mov_b32 v200, 0\n s_endpgm", {}),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_the_same(name: str) -> None:
    body, options = FAULTS[name]
    co, listing = assemble("gfx1100", body, vgprs=16)
    messages = []
    for executor in ("fast", "reference"):
        launch = Launch(buffers(out=np.zeros(64, np.uint32)), grid=(3, 1, 1))
        with pytest.raises(SimulatedFault) as caught:
            run(co, co.kernel(None), listing, launch, executor=executor, **options)
        messages.append(
            (str(caught.value), caught.value.kind, caught.value.lane, caught.value.memory_address)
        )
    assert messages[0] == messages[1]


def test_a_deadlock_is_explained_alike() -> None:
    body = """
        v_readfirstlane_b32 s4, v0
        s_cmp_eq_u32 s4, 0
        s_cbranch_scc1 skip
        s_barrier_wait -1
    skip:
        s_barrier_wait -1
        s_endpgm"""
    co, listing = assemble("gfx1200", body)
    texts = []
    for executor in ("fast", "reference"):
        launch = Launch(buffers(out=np.zeros(64, np.uint32)), workgroup=(64, 1, 1))
        with pytest.raises(SimulatedFault, match="deadlock") as caught:
            run(co, co.kernel(None), listing, launch, executor=executor)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_workgroups_that_wait_for_each_other_get_on() -> None:
    """The first workgroup spins until the last one has stored its flag."""
    body = """
        s_load_b64 s[4:5], s[0:1], 0x0
        v_mov_b32 v1, 0
        s_waitcnt lgkmcnt(0)
        s_cmp_eq_u32 s2, 0
        s_cbranch_scc0 other
    spin:
        global_load_b32 v2, v1, s[4:5] glc
        s_waitcnt vmcnt(0)
        v_readfirstlane_b32 s6, v2
        s_cmp_eq_u32 s6, 7
        s_cbranch_scc0 spin
        global_store_b32 v1, v2, s[4:5] offset:4
        s_endpgm
    other:
        v_mov_b32 v2, 7
        global_store_b32 v1, v2, s[4:5]
        s_endpgm"""
    co, listing = assemble("gfx1100", body)
    for threads in (1, 2):
        launch = Launch(buffers(out=np.zeros(16, np.uint32)), grid=(4, 1, 1))
        machine = FastMachine(co, co.kernel(None), listing, launch)
        machine.threads = threads
        machine.run_all([(i, 0, 0) for i in range(4)], lambda wg: False, 1 << 40, lambda *a: None)
        out = np.frombuffer(machine.memory.contents(machine.segments["out"]), np.uint32)
        assert out[:2].tolist() == [7, 7]


def test_what_the_fast_executor_lacks_is_counted() -> None:
    co, listing = assemble(
        "gfx1100", "v_cubeid_f32 v1, v2, v3, v4\n s_nop 0\n v_cubeid_f32 v1, v2, v3, v4\n s_endpgm"
    )
    launch = Launch(buffers(out=np.zeros(16, np.uint32)), grid=(5, 1, 1))
    result = run(co, co.kernel(None), listing, launch, executor="fast")
    assert sum(result.fallbacks.values()) == 10
    assert next(iter(result.fallbacks)).startswith("v_cubeid_f32")
    assert result.instructions == 20


def test_without_a_compiler_the_reference_does_the_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build, "_library", None)
    monkeypatch.setattr(build, "_failure", None)
    monkeypatch.setenv("CC", "/nowhere/cc")
    functional._note.cache_clear()
    co, listing = assemble("gfx1100", "s_endpgm")
    launch = Launch(buffers(out=np.zeros(16, np.uint32)))
    assert run(co, co.kernel(None), listing, launch, executor="auto").executor == "reference"
    assert "apt-get install gcc" in capsys.readouterr().err
    with pytest.raises(EnvironmentProblem, match="compiler"):
        run(co, co.kernel(None), listing, launch, executor="fast")
    monkeypatch.setattr(build, "_failure", None)


def test_the_executor_is_chosen_by_name() -> None:
    co, listing = assemble("gfx1100", "s_endpgm")
    launch = Launch(buffers(out=np.zeros(16, np.uint32)))
    with pytest.raises(UsageError, match="no executor 'slow'"):
        run(co, co.kernel(None), listing, launch, executor="slow")


@pytest.mark.slow
def test_a_library_is_compiled_once_and_found_again(tmp_path: Path) -> None:
    """In processes of their own: the first one compiles, the second one loads the same file."""
    code = "from isaprof.sim.fast import build; build.load()"
    env = {**os.environ, "ISAPROF_CACHE_DIR": str(tmp_path / "kept")}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
    assert "compil" not in done.stderr
    (library,) = (tmp_path / "kept").iterdir()
    assert library.suffix == ".so"
    # a file that is no library is replaced
    library.write_bytes(b"damaged")
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert library.stat().st_size > 10000


SPIN = """
        s_load_b64 s[4:5], s[0:1], 0x0
        v_mov_b32 v1, 0
        s_waitcnt lgkmcnt(0)
    spin:
        {sleep}
        global_load_b32 v2, v1, s[4:5] glc
        s_waitcnt vmcnt(0)
        v_readfirstlane_b32 s6, v2
        s_cmp_eq_u32 s6, 7
        s_cbranch_scc0 spin
        s_endpgm"""


@pytest.mark.parametrize("executor", ["fast", "reference"])
@pytest.mark.parametrize("sleep", ["s_nop 0", "s_sleep 1"])
def test_waiting_for_a_value_that_nobody_writes_is_a_deadlock(
    executor: str, sleep: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(functional, "SLICE", 500)
    monkeypatch.setattr(fast_machine, "SLICE_INSTRUCTIONS", 2000)
    co, listing = assemble("gfx1100", SPIN.format(sleep=sleep))
    launch = Launch(buffers(out=np.zeros(16, np.uint32)), grid=(6, 1, 1), workgroup=(64, 1, 1))
    with pytest.raises(SimulatedFault, match="nobody will write") as caught:
        run(co, co.kernel(None), listing, launch, executor=executor)
    assert caught.value.kind == "deadlock"
    text = str(caught.value)
    assert "workgroup (0, 0, 0): wave 0 at 0x" in text
    assert "2 more workgroups" in text


@pytest.mark.parametrize("executor", ["fast", "reference"])
def test_a_sample_that_waits_for_a_workgroup_left_out_is_a_deadlock(
    executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workgroup 0 waits for one that does not run: named, not run up to the limit."""
    monkeypatch.setattr(functional, "SLICE", 500)
    monkeypatch.setattr(fast_machine, "SLICE_INSTRUCTIONS", 2000)
    co, listing = assemble("gfx1100", SPIN.format(sleep="s_nop 0"))
    launch = Launch(buffers(out=np.zeros(16, np.uint32)), grid=(6, 1, 1))
    with pytest.raises(SimulatedFault, match="deadlock"):
        run(co, co.kernel(None), listing, launch, executor=executor, workgroups=[(0, 0, 0)])


def test_a_loop_that_counts_is_no_deadlock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_machine, "SLICE_INSTRUCTIONS", 100)
    co, listing = assemble(
        "gfx1100", "s_mov_b32 s4, 20000\n top:\n s_sub_u32 s4, s4, 1\n s_cbranch_scc0 top\n s_endpgm"
    )
    launch = Launch(buffers(out=np.zeros(16, np.uint32)))
    assert run(co, co.kernel(None), listing, launch, executor="fast").instructions == 40004
