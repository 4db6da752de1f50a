"""waitcnt-relax: what it may relax, and what it must not."""

from __future__ import annotations

import pytest

from isaprof.transforms.catalogue.waitcnt_relax import TRANSFORM
from tests.transforms.kernels import context


def relaxed(body: str, arch: str = "gfx942") -> list[str]:
    return [f.title for f in TRANSFORM.detect(context(body, arch))]


NEEDLESS = """
	global_load_dwordx4 v[0:3], v[20:21], off
	global_load_dwordx4 v[4:7], v[22:23], off
	global_load_dwordx4 v[8:11], v[24:25], off
	s_waitcnt vmcnt(0)
	v_add_f32 v0, v0, v4
	s_waitcnt vmcnt(0)
	v_add_f32 v0, v0, v8
	s_endpgm
"""


def test_waits_only_for_what_is_read() -> None:
    (finding,) = TRANSFORM.detect(context(NEEDLESS))
    assert finding.title == "s_waitcnt vmcnt(0) can be s_waitcnt vmcnt(1)"
    assert finding.safe
    proof = "\n".join(s for o in finding.obligations for s in o.steps)
    assert "v[8:11]" in proof
    assert "vmcnt(2) would not do" in proof
    assert "v_add_f32" in proof
    assert finding.estimate.upper is None, "no capture: no cycles may be claimed"


@pytest.mark.parametrize(
    ("arch", "wait", "load", "new"),
    [
        ("gfx1151", "s_waitcnt vmcnt(0)", "global_load_b32", "s_waitcnt vmcnt(1)"),
        ("gfx1201", "s_wait_loadcnt 0x0", "global_load_b32", "s_wait_loadcnt 0x1"),
        ("gfx950", "s_waitcnt vmcnt(0) lgkmcnt(0)", "global_load_dword", "s_waitcnt vmcnt(1) lgkmcnt(0)"),
    ],
)
def test_every_generation_in_its_own_syntax(arch: str, wait: str, load: str, new: str) -> None:
    body = f"""
	{load} v0, v[20:21], off
	{load} v1, v[22:23], off
	{wait}
	v_mov_b32 v2, v0
	{wait}
	v_mov_b32 v3, v1
	s_endpgm
"""
    assert [f.rewritten for f in TRANSFORM.detect(context(body, arch))] == [(new,)]


PIPELINED = """
	global_load_dword v0, v[20:21], off
	global_load_dword v1, v[22:23], off
	s_waitcnt vmcnt(0)
loop:
	v_add_f32 v4, v4, v0
	v_add_f32 v5, v5, v1
	global_load_dword v0, v[20:21], off
	global_load_dword v1, v[22:23], off
	s_sub_u32 s0, s0, 1
	s_waitcnt vmcnt(0)
	s_cmp_lg_u32 s0, 0
	s_cbranch_scc1 loop
	s_endpgm
"""


def test_pipelined_loop_that_the_textual_edit_breaks() -> None:
    """vmcnt(0) -> vmcnt(2) at the loop's end lets the next iteration read loads in flight."""
    assert relaxed(PIPELINED) == []


def test_loop_carried_slack_is_found() -> None:
    """The same loop with one more load that nothing reads until after the loop."""
    body = PIPELINED.replace(
        "	s_sub_u32 s0, s0, 1", "	global_load_dword v9, v[26:27], off\n	s_sub_u32 s0, s0, 1"
    )
    body = body.replace("	s_endpgm", "	s_waitcnt vmcnt(0)\n	v_mov_b32 v10, v9\n	s_endpgm")
    assert relaxed(body) == ["s_waitcnt vmcnt(0) can be s_waitcnt vmcnt(1)"]


def test_smem_shares_the_counter() -> None:
    """lgkmcnt with scalar loads in flight: they return in any order, only 0 proves anything."""
    body = """
	ds_read_b32 v0, v10
	ds_read_b32 v1, v11
	s_load_dword s4, s[0:1], 0x0
	s_waitcnt lgkmcnt(0)
	v_mov_b32 v2, v0
	s_waitcnt lgkmcnt(0)
	v_add_f32 v3, s4, v1
	s_endpgm
"""
    assert relaxed(body) == []
    assert relaxed(body.replace("	s_load_dword s4, s[0:1], 0x0\n", "")) != []


def test_lds_dma_before_a_barrier() -> None:
    """Another wave reads after the barrier what this wave's LDS-DMA wrote."""
    body = """
	s_mov_b32 m0, 0
	s_nop 0
	buffer_load_dword v0, s[4:7], 0 offen lds
	s_waitcnt vmcnt(0)
	s_barrier
	ds_read_b32 v1, v2
	s_waitcnt lgkmcnt(0)
	global_store_dword v[20:21], v1, off
	s_endpgm
"""
    assert relaxed(body) == []


def test_lds_dma_read_by_the_wave_itself() -> None:
    body = """
	s_mov_b32 m0, 0
	s_nop 0
	buffer_load_dword v0, s[4:7], 0 offen lds
	s_waitcnt vmcnt(0)
	ds_read_b32 v1, v2
	s_waitcnt lgkmcnt(0)
	v_mov_b32 v3, v1
	s_endpgm
"""
    assert relaxed(body) == []


def test_lds_reads_before_a_barrier() -> None:
    """The wait guards LDS reads too: after the barrier another wave overwrites what they read."""
    body = """
	ds_read_b32 v0, v10
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_write_b32 v11, v12
	s_waitcnt lgkmcnt(0)
	v_mov_b32 v2, v0
	s_endpgm
"""
    findings = TRANSFORM.detect(context(body))
    first_wait = next(i for i in context(body).listing.instructions if i.waits)
    assert first_wait.index not in {f.index for f in findings}


def test_a_path_without_the_load() -> None:
    """On the path that skips the second load the first is the youngest: only 0 retires it."""
    body = """
	global_load_dword v0, v[20:21], off
	s_cbranch_scc1 skip
	global_load_dword v1, v[22:23], off
skip:
	s_waitcnt vmcnt(0)
	v_mov_b32 v2, v0
	s_waitcnt vmcnt(0)
	v_mov_b32 v3, v1
	s_endpgm
"""
    assert relaxed(body) == []
    assert relaxed(body.replace("	s_cbranch_scc1 skip\n", "")) != []


def test_store_released_by_a_flag() -> None:
    """The wait between data and flag is what makes the flag mean something."""
    body = """
	global_store_dword v[20:21], v0, off
	s_waitcnt vmcnt(0)
	global_store_dword v[22:23], v1, off
	s_endpgm
"""
    assert relaxed(body) == []


def test_jump_through_a_register_stops_the_proof() -> None:
    assert relaxed(NEEDLESS.replace("	s_endpgm", "	s_setpc_b64 s[30:31]")) == []


def test_final_wait_for_stores() -> None:
    body = """
	global_store_dword v[20:21], v0, off
	s_waitcnt vmcnt(0)
	s_endpgm
"""
    assert relaxed(body) == ["s_waitcnt vmcnt(0) can be s_waitcnt vmcnt(1)"]


@pytest.mark.parametrize(
    "behind",
    ["s_load_dword s4, s[0:1], 0x0", "s_dcache_inv", "s_icache_inv", "s_sendmsg sendmsg(MSG_INTERRUPT)"],
)
def test_a_store_that_another_cache_or_the_host_reads(behind: str) -> None:
    body = f"""
	global_store_dword v[20:21], v0, off
	s_waitcnt vmcnt(0)
	{behind}
	s_waitcnt lgkmcnt(0)
	s_mov_b32 s5, s4
	s_endpgm
"""
    assert not [t for t in relaxed(body) if "vmcnt(0) can" in t]
    assert relaxed(body.replace(behind, "s_nop 0")) != []


def test_lds_read_before_lds_dma() -> None:
    """The DMA may overwrite what is still to be read: the two go different ways to LDS."""
    body = """
	s_mov_b32 m0, 0
	ds_read_b32 v1, v2
	s_waitcnt lgkmcnt(0)
	buffer_load_dword v0, s[4:7], 0 offen lds
	s_waitcnt lgkmcnt(0)
	v_mov_b32 v3, v1
	s_waitcnt vmcnt(0)
	s_endpgm
"""
    first = next(i for i in context(body).listing.instructions if i.waits)
    assert first.index not in {f.index for f in TRANSFORM.detect(context(body))}
