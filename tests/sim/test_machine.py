"""Whole small kernels: ABI, memory spaces, barriers, atomics, faults."""

from __future__ import annotations

import numpy as np
import pytest

from isaprof.errors import KernelFault, UsageError
from isaprof.sim.faults import SimulatedFault

from .kernels import Launch, buffers, execute

ARCHS = ["gfx942", "gfx1100", "gfx1200"]


def fault(arch: str, body: str, launch: Launch, **kw) -> SimulatedFault:  # type: ignore[no-untyped-def]
    with pytest.raises(KernelFault) as e:
        execute(arch, body, launch, **kw)
    assert isinstance(e.value, SimulatedFault)
    return e.value


#: out[i] = work-item id register pieces, for a 3-D workgroup
IDS = """
  s_load_b64 s[4:5], s[0:1], 0x0
  v_and_b32 v1, 0x3ff, v0
  v_bfe_u32 v2, v0, 10, 10
  v_bfe_u32 v3, v0, 20, 10
  v_mul_u32_u24 v4, 4, v2
  v_add_nc_u32 v4, v4, v1
  v_mul_u32_u24 v5, 8, v3
  v_add_nc_u32 v4, v4, v5
  v_lshlrev_b32 v4, 2, v4
  v_lshlrev_b32 v2, 8, v2
  v_lshlrev_b32 v3, 16, v3
  v_or3_b32 v1, v1, v2, v3
  s_waitcnt lgkmcnt(0)
  global_store_b32 v4, v1, s[4:5]
  s_endpgm
"""


def test_workitem_ids_are_packed_on_gfx11() -> None:
    launch = Launch(buffers(out=np.zeros(24, np.uint32)), workgroup=(4, 2, 3))
    out = np.frombuffer(execute("gfx1100", IDS, launch, kernel={"dims": 2}).outputs["out"], np.uint32)
    want = [x | y << 8 | z << 16 for z in range(3) for y in range(2) for x in range(4)]
    assert out.tolist() == want


@pytest.mark.parametrize(
    ("arch", "ids", "load"),
    [("gfx942", ("s2", "s3"), "s_load_dwordx2"), ("gfx1100", ("s2", "s3"), "s_load_b64"),
     ("gfx1200", ("ttmp9", "ttmp7"), "s_load_b64")],
)  # fmt: skip
def test_workgroup_ids(arch: str, ids: tuple[str, str], load: str) -> None:
    body = f"""
      {load} s[4:5], s[0:1], 0x0
      s_mul_i32 s6, {ids[1]}, 5
      s_add_{"co_" if arch == "gfx1200" else ""}u32 s6, s6, {ids[0]}
      s_lshl_b32 s7, s6, 2
      v_mov_b32 v1, s7
      v_mov_b32 v2, s6
      {"s_wait_kmcnt 0x0" if arch == "gfx1200" else "s_waitcnt lgkmcnt(0)"}
      {"global_store_dword" if arch == "gfx942" else "global_store_b32"} v1, v2, s[4:5]
      s_endpgm
    """
    launch = Launch(buffers(out=np.full(15, 99, np.uint32)), grid=(5, 3, 1), workgroup=(1, 1, 1))
    out = np.frombuffer(execute(arch, body, launch).outputs["out"], np.uint32)
    assert out.tolist() == list(range(15))


def test_exec_covers_only_existing_threads() -> None:
    body = """
      s_load_b64 s[4:5], s[0:1], 0x0
      v_lshlrev_b32 v1, 2, v0
      v_mov_b32 v2, 7
      s_waitcnt lgkmcnt(0)
      global_store_b32 v1, v2, s[4:5]
      s_endpgm
    """
    launch = Launch(buffers(out=np.zeros(64, np.uint32)), workgroup=(40, 1, 1))
    result = execute("gfx1100", body, launch, trace=lambda wg: True)
    out = np.frombuffer(result.outputs["out"], np.uint32)
    assert (out[:40] == 7).all()
    assert (out[40:] == 0).all()
    assert [w.threads for w in result.traces[0].waves] == [32, 8]
    store = next(e for e in result.traces[0].waves[1].memory.values() if e.store)
    assert store.lanes.tolist() == list(range(8))
    assert store.addresses.tolist() == [result.addresses["out"] + 4 * i for i in range(32, 40)]


LDS_REVERSE = """
  s_load_b64 s[4:5], s[0:1], 0x0
  v_lshlrev_b32 v1, 2, v0
  v_sub_nc_u32 v2, 0xfc, v1
  ds_store_b32 v2, v0
  {barrier}
  ds_load_b32 v3, v1
  {wait}
  global_store_b32 v1, v3, s[4:5]
  s_endpgm
"""


@pytest.mark.parametrize(
    ("arch", "barrier", "wait"),
    [("gfx1100", "s_waitcnt lgkmcnt(0)\n s_barrier", "s_waitcnt lgkmcnt(0)"),
     ("gfx1200", "s_wait_dscnt 0x0\n s_barrier_signal -1\n s_barrier_wait -1", "s_wait_dscnt 0x0")],
)  # fmt: skip
def test_waves_exchange_data_over_lds(arch: str, barrier: str, wait: str) -> None:
    launch = Launch(buffers(out=np.zeros(64, np.uint32)), workgroup=(64, 1, 1))
    body = LDS_REVERSE.format(barrier=barrier, wait=wait)
    out = np.frombuffer(execute(arch, body, launch, kernel={"lds": 256}).outputs["out"], np.uint32)
    assert out.tolist() == list(range(63, -1, -1))


def test_a_barrier_that_one_wave_never_signals_is_a_deadlock() -> None:
    body = """
      v_readfirstlane_b32 s4, v0
      s_cmp_eq_u32 s4, 0
      s_cbranch_scc1 skip
      s_barrier_signal -1
    skip:
      s_barrier_wait -1
      s_endpgm
    """
    f = fault("gfx1200", body, Launch([], workgroup=(64, 1, 1)))
    assert f.kind == "deadlock"
    assert "wave 0" in f.message
    assert "wave 1" in f.message


def test_a_wave_that_ended_does_not_hold_up_a_barrier() -> None:
    body = """
      v_readfirstlane_b32 s4, v0
      s_cmp_eq_u32 s4, 0
      s_cbranch_scc1 out
      s_barrier
    out:
      s_endpgm
    """
    result = execute("gfx1100", body, Launch([], workgroup=(64, 1, 1)))
    assert result.instructions == 4 + 5


def test_global_atomic_add_counts_every_lane_of_every_workgroup() -> None:
    body = """
      s_load_b64 s[4:5], s[0:1], 0x0
      v_mov_b32 v1, 0
      v_mov_b32 v2, 1
      s_waitcnt lgkmcnt(0)
      global_atomic_add_u32 v3, v1, v2, s[4:5] glc
      v_lshlrev_b32 v4, 2, v3
      s_waitcnt vmcnt(0)
      global_store_b32 v4, v3, s[4:5] offset:4
      s_endpgm
    """
    launch = Launch(buffers(out=np.zeros(1 + 96, np.uint32)), grid=(3, 1, 1))
    out = np.frombuffer(execute("gfx1100", body, launch).outputs["out"], np.uint32)
    assert out[0] == 96
    assert out[1:].tolist() == list(range(96))  # each lane got its own ticket


def test_a_spin_loop_on_a_later_workgroup_ends() -> None:
    """Workgroup 0 waits for a flag that workgroup 1 sets: both must make progress."""
    body = """
      s_load_b64 s[4:5], s[0:1], 0x0
      v_mov_b32 v1, 0
      s_waitcnt lgkmcnt(0)
      s_cmp_eq_u32 s2, 1
      s_cbranch_scc1 setter
    again:
      s_sleep 1
      global_load_b32 v2, v1, s[4:5] glc
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s6, v2
      s_cmp_eq_u32 s6, 0
      s_cbranch_scc1 again
      v_mov_b32 v3, 5
      global_store_b32 v1, v3, s[4:5] offset:4
      s_endpgm
    setter:
      v_mov_b32 v3, 1
      global_store_b32 v1, v3, s[4:5]
      s_endpgm
    """
    launch = Launch(buffers(out=np.zeros(2, np.uint32)), grid=(2, 1, 1), workgroup=(1, 1, 1))
    out = np.frombuffer(
        execute("gfx1100", body, launch, max_instructions=3_000_000).outputs["out"], np.uint32
    )
    assert out.tolist() == [1, 5]


BUFFER = """
  s_load_b64 s[4:5], s[0:1], 0x0
  s_load_b64 s[8:9], s[0:1], 0x8
  s_mov_b32 s6, 40
  s_mov_b32 s7, 0x31004000
  v_lshlrev_b32 v1, 2, v0
  s_waitcnt lgkmcnt(0)
  buffer_load_b32 v2, v1, s[4:7], 0 offen
  s_waitcnt vmcnt(0)
  global_store_b32 v1, v2, s[8:9]
  s_endpgm
"""


def test_buffer_loads_beyond_num_records_give_zero() -> None:
    data = np.arange(1, 33, dtype=np.uint32)
    launch = Launch(buffers(a=data, out=np.full(32, 77, np.uint32)))
    out = np.frombuffer(execute("gfx1100", BUFFER, launch).outputs["out"], np.uint32)
    assert out.tolist() == list(range(1, 11)) + [0] * 22


def test_lds_dma_puts_lane_data_behind_m0() -> None:
    body = """
      s_load_dwordx2 s[4:5], s[0:1], 0x0
      s_load_dwordx2 s[8:9], s[0:1], 0x8
      s_mov_b32 s6, 256
      s_mov_b32 s7, 0x00020000
      s_mov_b32 m0, 64
      v_lshlrev_b32 v1, 2, v0
      s_waitcnt lgkmcnt(0)
      buffer_load_dword v1, s[4:7], 0 offen lds
      s_waitcnt vmcnt(0)
      ds_read_b32 v2, v1 offset:64
      s_waitcnt lgkmcnt(0)
      global_store_dword v1, v2, s[8:9]
      s_endpgm
    """
    data = np.arange(100, 164, dtype=np.uint32)
    launch = Launch(buffers(a=data, out=np.zeros(64, np.uint32)), workgroup=(64, 1, 1))
    out = np.frombuffer(execute("gfx942", body, launch, kernel={"lds": 512}).outputs["out"], np.uint32)
    assert out.tolist() == data.tolist()


def test_scratch_is_private_to_each_lane() -> None:
    body = """
      s_load_b64 s[4:5], s[0:1], 0x0
      v_lshlrev_b32 v1, 2, v0
      scratch_store_b32 off, v0, off offset:8
      scratch_load_b32 v2, off, off offset:8
      s_waitcnt vmcnt(0) lgkmcnt(0)
      global_store_b32 v1, v2, s[4:5]
      s_endpgm
    """
    launch = Launch(buffers(out=np.zeros(32, np.uint32)))
    out = np.frombuffer(execute("gfx1100", body, launch, kernel={"scratch": 16}).outputs["out"], np.uint32)
    assert out.tolist() == list(range(32))


def test_call_and_return() -> None:
    body = """
      s_load_b64 s[4:5], s[0:1], 0x0
      s_getpc_b64 s[6:7]
      s_add_u32 s6, s6, sub-here
      s_addc_u32 s7, s7, 0
    here = k+12
      s_swappc_b64 s[8:9], s[6:7]
      s_waitcnt lgkmcnt(0)
      v_mov_b32 v1, 0
      v_mov_b32 v2, s10
      global_store_b32 v1, v2, s[4:5]
      s_endpgm
    sub:
      s_movk_i32 s10, 0x123
      s_setpc_b64 s[8:9]
    """
    launch = Launch(buffers(out=np.zeros(1, np.uint32)), workgroup=(1, 1, 1))
    out = np.frombuffer(execute("gfx1100", body, launch).outputs["out"], np.uint32)
    assert out[0] == 0x123


# -- faults --------------------------------------------------------------------------------------


def test_an_access_outside_every_buffer_names_lane_address_and_neighbour() -> None:
    body = """
      s_load_b64 s[4:5], s[0:1], 0x0
      v_lshlrev_b32 v1, 2, v0
      s_waitcnt lgkmcnt(0)
      global_load_b32 v2, v1, s[4:5]
      s_endpgm
    """
    f = fault("gfx1100", body, Launch(buffers(small=np.zeros(20, np.uint32))))
    assert f.kind == "memory"
    assert f.lane == 20
    assert f.wave == 0
    assert f.instruction is not None
    assert f.instruction.text in f.message
    assert "small" in f.message
    assert f"{f.memory_address:#x}" in f.message
    assert f.exit_code == 4


def test_a_store_to_the_kernarg_segment_is_refused() -> None:
    body = "v_mov_b32 v1, 0\n global_store_b32 v1, v1, s[0:1]\n s_endpgm"
    f = fault("gfx1100", body, Launch(buffers(out=np.zeros(1, np.uint32))))
    assert f.kind == "memory"
    assert "read-only" in f.message


def test_an_unknown_instruction_stops_with_text_address_and_encoding() -> None:
    body = "s_nop 0\n image_load v[0:3], v[4:5], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D\n s_endpgm"
    f = fault("gfx1100", body, Launch([]))
    assert f.kind == "unimplemented"
    assert "image_load" in f.message
    assert f.instruction is not None
    assert f"{f.instruction.pc:#x}" in f.message
    assert f"{f.instruction.words[0]:08x}" in f.message


def test_it_is_no_fault_when_the_unknown_instruction_is_not_reached() -> None:
    body = (
        "s_branch over\n image_load v[0:3], v[4:5], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D\n over:\n s_endpgm"
    )
    assert execute("gfx1100", body, Launch([])).instructions == 2


def test_an_endless_loop_ends_at_the_limit() -> None:
    f = fault("gfx1100", "again: s_branch again\n s_endpgm", Launch([]), max_instructions=10_000)
    assert f.kind == "instruction_limit"
    assert "10000" in f.message


def test_running_off_the_end_of_the_code_is_a_fault() -> None:
    assert fault("gfx1100", "s_nop 0", Launch([])).kind == "wild_jump"


def test_a_jump_to_nowhere_is_a_fault() -> None:
    f = fault("gfx1100", "s_mov_b64 s[4:5], 64\n s_setpc_b64 s[4:5]", Launch([]))
    assert f.kind == "wild_jump"


def test_a_register_beyond_the_descriptor_is_a_fault() -> None:
    f = fault("gfx1100", "v_mov_b32 v80, 0\n s_endpgm", Launch([]), kernel={"vgprs": 8})
    assert f.kind == "illegal_register"
    assert "v80" in f.message


def test_a_workgroup_outside_the_grid_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        execute("gfx1100", "s_endpgm", Launch([]), workgroups=[(1, 0, 0)])


def test_the_denormal_mode_of_the_descriptor_counts() -> None:
    body = """
      s_load_b64 s[4:5], s[0:1], 0x0
      s_denorm_mode {mode}
      v_mov_b32 v1, 0
      v_mul_f32 v2, 0.5, v3
      v_mov_b32 v3, 0x00400000
      v_add_f32 v2, v3, v3
      s_waitcnt lgkmcnt(0)
      global_store_b32 v1, v2, s[4:5]
      s_endpgm
    """
    for mode, want in ((0, 0), (3, 0x00800000)):
        launch = Launch(buffers(out=np.zeros(1, np.uint32)), workgroup=(1, 1, 1))
        out = np.frombuffer(execute("gfx1100", body.format(mode=mode), launch).outputs["out"], np.uint32)
        assert out[0] == want


def test_directed_rounding() -> None:
    """1 + 2^-30 in each rounding mode."""
    body = """
      s_load_b64 s[4:5], s[0:1], 0x0
      s_round_mode {mode}
      v_mov_b32 v1, 0
      v_mov_b32 v3, 0x30800000
      v_add_f32 v2, 1.0, v3
      s_waitcnt lgkmcnt(0)
      global_store_b32 v1, v2, s[4:5]
      s_endpgm
    """
    for mode, want in ((0, 0x3F800000), (1, 0x3F800001), (2, 0x3F800000), (3, 0x3F800000)):
        launch = Launch(buffers(out=np.zeros(1, np.uint32)), workgroup=(1, 1, 1))
        out = np.frombuffer(execute("gfx1100", body.format(mode=mode), launch).outputs["out"], np.uint32)
        assert out[0] == want, mode
