"""Tiny kernels of ours, one for each rule of the sanitizer, and a twin of each that is right."""

from __future__ import annotations

from typing import Any

import numpy as np

from isaprof.check.model import Report
from isaprof.check.run import check
from tests.sim.kernels import Buffer, Launch, assemble

#: in at s[4:5], out at s[6:7], byte offset of the thread in v1
START = """
 s_load_dwordx4 s[4:7], s[0:1], 0x0
 v_lshlrev_b32_e32 v1, 2, v0
 s_waitcnt lgkmcnt(0)
"""
LOAD = """
 global_load_dword v2, v1, s[4:5]
 s_waitcnt vmcnt(0)
"""
END = """
 global_store_dword v1, v2, s[6:7]
 s_endpgm
"""
#: the thread's element of the input through LDS; the other wave's half is read after the barrier
TO_LDS = """
 ds_write_b32 v1, v2
"""
#: a descriptor of the input in s[8:11] with num_records in s10
DESCRIPTOR = """
 s_mov_b32 s8, s4
 s_mov_b32 s9, s5
 s_mov_b32 s11, 0x20000
"""


def launch(n: int = 64, *, threads: int = 64, grid: int = 1, inputs: int | None = None) -> Launch:
    """``n`` output dwords, as many inputs unless told otherwise."""
    data = np.arange(1, (inputs or n) + 1, dtype=np.float32)
    return Launch(
        [
            Buffer("in", "input", data.view(np.uint8)),
            Buffer("out", "output", np.zeros(4 * n, np.uint8)),
        ],
        grid=(grid, 1, 1),
        workgroup=(threads, 1, 1),
    )


def sanitize(
    body: str,
    arch: str = "gfx942",
    *,
    run: Launch | None = None,
    lds: int = 0,
    agprs: bool = False,
    **more: Any,
) -> Report:
    """Check a kernel body; the fast executor is not needed for these."""
    co, listing = assemble(arch, body, lds=lds, vgprs=72 if agprs else 64)
    return check(
        co, co.kernel(None), listing, run or launch(), executor="reference",
        **{"orders": 0, **more},
    )  # fmt: skip
