"""waitcnt-relax: waits that guard more than a register of the same path."""

from __future__ import annotations

import pytest

from isaprof.asm import assemble_text
from isaprof.isa.model import Instruction
from isaprof.transforms.catalogue.waitcnt_relax import TRANSFORM
from isaprof.transforms.context import Context
from tests.transforms.kernels import HEAD, TAIL, context

#: what the first wait guards: (architecture, code)
NEEDED = {
    "a wait before a flag on one path only": (
        "gfx942",
        """
	global_store_dword v[20:21], v1, off
	s_cmp_eq_u32 s4, 0
	s_cbranch_scc1 L1
	s_waitcnt vmcnt(0)
L1:
	global_store_dword v[22:23], v2, off sc1
	s_endpgm
""",
    ),
    "a use that is unsafe on the other path already": (
        "gfx942",
        """
	global_load_dword v1, v[20:21], off
	s_cmp_eq_u32 s4, 0
	s_cbranch_scc1 L1
	s_waitcnt vmcnt(0)
L1:
	v_mov_b32 v2, v1
	s_endpgm
""",
    ),
    "acquire, gfx942": (
        "gfx942",
        """
	global_load_dword v1, v[20:21], off sc1
	s_waitcnt vmcnt(0)
	buffer_inv sc1
	global_load_dword v2, v[22:23], off
	s_waitcnt vmcnt(0)
	v_add_u32 v1, v1, v2
	s_endpgm
""",
    ),
    "acquire, gfx1151": (
        "gfx1151",
        """
	global_load_b32 v1, v[20:21], off glc
	s_waitcnt vmcnt(0)
	buffer_gl0_inv
	global_load_b32 v2, v[22:23], off
	s_waitcnt vmcnt(0)
	v_add_nc_u32 v1, v1, v2
	s_endpgm
""",
    ),
    "acquire, gfx1201": (
        "gfx1201",
        """
	global_load_b32 v1, v[20:21], off scope:SCOPE_DEV
	s_wait_loadcnt 0x0
	global_inv scope:SCOPE_DEV
	global_load_b32 v2, v[22:23], off
	s_wait_loadcnt 0x0
	v_add_nc_u32 v1, v1, v2
	s_endpgm
""",
    ),
    "flag then data, both coherent": (
        "gfx942",
        """
	global_load_dword v1, v[20:21], off sc1
	s_waitcnt vmcnt(0)
	global_load_dword v2, v[22:23], off sc1
	s_waitcnt vmcnt(0)
	v_add_u32 v1, v1, v2
	s_endpgm
""",
    ),
    "own flag out, then the other's in": (
        "gfx942",
        """
	global_store_dword v[20:21], v1, off sc1
	s_waitcnt vmcnt(0)
	global_load_dword v2, v[22:23], off sc1
	s_waitcnt vmcnt(0)
	v_add_u32 v1, v1, v2
	s_endpgm
""",
    ),
    "release of what was read": (
        "gfx942",
        """
	global_load_dword v1, v[20:21], off
	s_waitcnt vmcnt(0)
	global_store_dword v[22:23], v2, off sc1
	s_waitcnt vmcnt(0)
	v_add_u32 v1, v1, v2
	s_endpgm
""",
    ),
    "invalidation may not count, gfx942": (
        "gfx942",
        """
	global_load_dword v1, v[20:21], off
	buffer_inv sc1
	s_waitcnt vmcnt(0)
	v_add_u32 v1, v1, v2
	s_endpgm
""",
    ),
    "invalidation may not count, gfx1151": (
        "gfx1151",
        """
	global_load_b32 v1, v[20:21], off
	buffer_gl0_inv
	s_waitcnt vmcnt(0)
	v_add_nc_u32 v1, v1, v2
	s_endpgm
""",
    ),
    "invalidation overtakes loads, gfx1201": (
        "gfx1201",
        """
	global_load_b32 v1, v[20:21], off
	global_inv scope:SCOPE_DEV
	s_wait_loadcnt 0x0
	v_add_nc_u32 v1, v1, v2
	s_endpgm
""",
    ),
    "write-back before a flag, gfx942": (
        "gfx942",
        """
	global_store_dword v[20:21], v1, off
	s_waitcnt vmcnt(0)
	buffer_wbl2 sc1
	s_waitcnt vmcnt(0)
	global_store_dword v[22:23], v2, off sc1
	s_endpgm
""",
    ),
    "write-back before a flag, gfx1201": (
        "gfx1201",
        """
	global_store_b32 v[20:21], v1, off
	s_wait_storecnt 0x0
	global_wb scope:SCOPE_SYS
	s_wait_storecnt 0x0
	global_store_b32 v[22:23], v2, off scope:SCOPE_SYS
	s_endpgm
""",
    ),
    "export sources overwritten, gfx1151": (
        "gfx1151",
        """
	exp mrt0 v1, v2, v3, v4 done
	s_waitcnt expcnt(0)
	v_mov_b32 v1, 0
	s_endpgm
""",
    ),
    "export sources overwritten, gfx1201": (
        "gfx1201",
        """
	export mrt0 v1, v2, v3, v4 done
	s_wait_expcnt 0x0
	v_mov_b32 v1, 0
	s_endpgm
""",
    ),
    "signal of a split barrier is where others may go on": (
        "gfx1201",
        """
	global_load_b32 v1, v[20:21], off
	s_wait_loadcnt 0x0
	s_barrier_signal -1
	s_wait_loadcnt 0x0
	s_barrier_wait 0xffff
	global_store_b32 v[20:21], v3, off
	v_mov_b32 v2, v1
	s_endpgm
""",
    ),
    "LDS-DMA, then an LDS write": (
        "gfx942",
        """
	s_mov_b32 m0, 0
	global_load_lds_dword v[20:21], off
	s_waitcnt vmcnt(0)
	ds_write_b32 v1, v2
	s_endpgm
""",
    ),
    "LDS write, then a FLAT load": (
        "gfx942",
        """
	ds_write_b32 v1, v2
	s_waitcnt lgkmcnt(0)
	flat_load_dword v3, v[20:21]
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_mov_b32 v8, v3
	s_endpgm
""",
    ),
    "LDS read, then a FLAT store": (
        "gfx942",
        """
	ds_read_b32 v1, v2
	s_waitcnt lgkmcnt(0)
	flat_store_dword v[20:21], v3
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_mov_b32 v8, v1
	s_endpgm
""",
    ),
    "store released by a flag in LDS": (
        "gfx1151",
        """
	global_store_b32 v[20:21], v1, off
	s_waitcnt_vscnt null, 0x0
	ds_store_b32 v2, v3
	s_endpgm
""",
    ),
    "register number in M0": (
        "gfx1151",
        """
	global_load_b32 v1, v[20:21], off
	s_waitcnt vmcnt(0)
	s_mov_b32 m0, 1
	v_movrels_b32 v5, v0
	s_waitcnt vmcnt(0)
	s_endpgm
""",
    ),
    "data among the code": (
        "gfx942",
        """
	global_load_dword v1, v[20:21], off
	s_waitcnt vmcnt(0)
	.long 0xffffffff
	s_endpgm
""",
    ),
    "release by an atomic": (
        "gfx942",
        """
	global_load_dword v1, v[20:21], off
	s_waitcnt vmcnt(0)
	global_atomic_add v[22:23], v3, off
	s_waitcnt vmcnt(0)
	v_mov_b32 v3, v1
	s_endpgm
""",
    ),
    "sampler and other loads into one register": (
        "gfx1151",
        """
	image_msaa_load v[1:4], v[5:7], s[0:7] dmask:0x1 dim:SQ_RSRC_IMG_2D_MSAA
	s_waitcnt vmcnt(0)
	image_load v[1:4], v[5:6], s[0:7] dmask:0xf dim:SQ_RSRC_IMG_2D unorm
	s_waitcnt vmcnt(0)
	v_mov_b32 v20, v1
	s_endpgm
""",
    ),
    "registers given back": (
        "gfx1151",
        """
	global_load_b32 v1, v[20:21], off
	s_waitcnt vmcnt(0)
	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
	s_endpgm
""",
    ),
    "release where stores have no scope": (
        "gfx1151",
        """
	global_load_b32 v1, v[20:21], off
	s_waitcnt vmcnt(0)
	s_waitcnt_vscnt null, 0x0
	global_store_b32 v[22:23], v3, off
	s_waitcnt vmcnt(0)
	v_mov_b32 v3, v1
	s_endpgm
""",
    ),
}


def _first_wait(c: Context) -> Instruction:
    return next(i for i in c.listing.instructions if i.waits)


@pytest.mark.parametrize("name", NEEDED)
def test_a_needed_wait_is_kept(name: str) -> None:
    arch, body = NEEDED[name]
    c = context(body, arch)
    assert _first_wait(c).index not in {f.index for f in TRANSFORM.detect(c)}


@pytest.mark.parametrize(
    ("name", "remove"),
    [
        ("acquire, gfx942", "	buffer_inv sc1\n"),
        ("LDS-DMA, then an LDS write", "	ds_write_b32 v1, v2\n"),
        ("LDS write, then a FLAT load", "	flat_load_dword v3, v[20:21]\n"),
        ("store released by a flag in LDS", "	ds_store_b32 v2, v3\n"),
        ("signal of a split barrier is where others may go on", "	s_barrier_signal -1\n"),
        ("data among the code", "	.long 0xffffffff\n"),
        ("registers given back", "	s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n"),
    ],
)
def test_it_is_that_instruction_which_needs_the_wait(name: str, remove: str) -> None:
    arch, body = NEEDED[name]
    assert remove in body
    c = context(body.replace(remove, "").replace(" sc1", ""), arch)
    assert _first_wait(c).index in {f.index for f in TRANSFORM.detect(c)}


def test_sums_of_floats_are_no_flags() -> None:
    body = """
	global_load_dword v1, v[20:21], off
	s_waitcnt vmcnt(0)
	global_atomic_add_f32 v[22:23], v3, off
	s_waitcnt vmcnt(0)
	v_mov_b32 v3, v1
	s_endpgm
"""
    c = context(body)
    assert _first_wait(c).index in {f.index for f in TRANSFORM.detect(c)}


def test_the_field_that_waits_for_nothing_stays_so() -> None:
    """0x3f00 leaves loadcnt alone; 0x1 would drain it."""
    body = """
	global_load_b32 v9, v[20:21], off
	ds_load_b32 v1, v20
	ds_load_b32 v2, v20
	s_wait_loadcnt_dscnt 0x3f00
	v_mov_b32 v3, v1
	s_wait_loadcnt_dscnt 0x0
	v_mov_b32 v3, v2
	v_mov_b32 v3, v9
	s_endpgm
"""
    (finding,) = TRANSFORM.detect(context(body, "gfx1201"))
    assert finding.rewritten == ("s_wait_loadcnt_dscnt 0x3f01",)


def test_code_that_another_kernel_runs_too() -> None:
    """In ``k`` the wait is needless; ``other`` jumps to it with a load that it uses behind it."""
    body = """
	global_load_dword v0, v[20:21], off
	global_load_dword v1, v[20:21], off
{common}	s_waitcnt vmcnt(0)
	v_mov_b32 v2, v0
	s_waitcnt vmcnt(0)
	v_mov_b32 v2, v1
	s_endpgm
	.p2align 8
	.globl other
	.type other,@function
other:
	global_load_dword v0, v[20:21], off
	s_branch {to}
own:
	s_waitcnt vmcnt(0)
	v_mov_b32 v2, v0
	s_endpgm
"""
    second = TAIL[TAIL.index("	.amdhsa_kernel") :].replace("amdhsa_kernel k", "amdhsa_kernel other")

    def found(to: str) -> list[str]:
        text = HEAD + body.format(common="common:\n", to=to) + TAIL + second
        data = assemble_text(text.format(arch="gfx942", extra=".amdhsa_accum_offset 64"))
        return [f.title for f in TRANSFORM.detect(Context.of(data, "k"))]

    assert found("own") == ["s_waitcnt vmcnt(0) can be s_waitcnt vmcnt(1)"]
    assert found("common") == []
