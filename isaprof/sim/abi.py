"""Registers a wave starts with, from the kernel descriptor.

Source: LLVM's AMDGPU user guide, "Initial Kernel Execution State" and "Kernel
Descriptor"; HSA Runtime specification for the dispatch packet.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from isaprof.codeobj.descriptor import KernelDescriptor
from isaprof.sim.archdata import SimFacts
from isaprof.sim.faults import SimulatedFault
from isaprof.sim.state import TTMP, Wave

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LaunchState:
    """Addresses and sizes common to all waves of a launch."""

    grid: Dim3  #: workgroups
    workgroup: Dim3  #: threads
    kernarg: bytes
    kernarg_address: int
    dispatch_packet_address: int
    private_bytes: int  #: scratch per lane


def dispatch_packet(grid: Dim3, workgroup: Dim3, private: int, lds: int, kernarg_address: int) -> bytes:
    """The 64-byte HSA kernel dispatch packet, for kernels that read it through dispatch_ptr."""
    threads = [g * w for g, w in zip(grid, workgroup, strict=True)]
    return struct.pack(
        "<HHHHHHIIIIIQQQQ", 2, 3, *workgroup, 0, *threads, private, lds, 0, kernarg_address, 0, 0
    )  # fmt: skip


def initial_mode(d: KernelDescriptor) -> int:
    """MODE register at wave start."""
    return d.float_mode | d.dx10_clamp << 8 | d.ieee_mode << 9 | d.fp16_overflow << 23


def user_sgprs(d: KernelDescriptor, facts: SimFacts, launch: LaunchState) -> list[int]:
    """Values of s0, s1, ... up to USER_SGPR_COUNT."""
    values: dict[str, list[int]] = {
        "dispatch_ptr": _pair(launch.dispatch_packet_address),
        "queue_ptr": [0, 0],
        "kernarg_segment_ptr": _pair(launch.kernarg_address),
        "dispatch_id": [0, 0],
        "flat_scratch_init": [0, 0],
        "private_segment_size": [launch.private_bytes],
        "private_segment_buffer": [0, 0, 0, 0],
    }
    out: list[int] = []
    for group in d.user_sgprs:
        if group.name == "kernarg_preload":
            start = 4 * d.kernarg_preload_offset
            raw = launch.kernarg[start : start + 4 * group.count].ljust(4 * group.count, b"\0")
            out += struct.unpack(f"<{group.count}I", raw)
            continue
        if group.name == "private_segment_buffer" and launch.private_bytes and not facts.architected_scratch:
            raise SimulatedFault(
                "scratch through a private segment buffer (before gfx940) is not implemented",
                kind="unimplemented",
            )
        out += values[group.name]
    count = max(d.user_sgpr_count, len(out))
    return out + [0] * (count - len(out))


def _pair(address: int) -> list[int]:
    return [address & 0xFFFFFFFF, address >> 32]


def start_wave(
    w: Wave, d: KernelDescriptor, facts: SimFacts, launch: LaunchState, users: list[int], wg: Dim3, index: int
) -> None:
    """Set the registers of wave ``index`` of workgroup ``wg``."""
    w.s[: len(users)] = users
    at = len(users)
    ids = wg
    if facts.id_source == "ttmp":
        w.s[TTMP + 9] = ids[0]
        w.s[TTMP + 7] = (ids[1] & 0xFFFF) | ids[2] << 16
    else:
        for value, enabled in zip(ids, d.workgroup_id_enabled, strict=True):
            if enabled:
                w.s[at] = value
                at += 1
        if d.workgroup_info:
            at += 1
    _workitem_ids(w, d, facts, launch.workgroup, index)
    w.workgroup, w.id_in_wg = wg, index
    w.set_mode(initial_mode(d))


def _workitem_ids(w: Wave, d: KernelDescriptor, facts: SimFacts, workgroup: Dim3, index: int) -> None:
    """Work-item ids of the lanes (x fastest) and the initial EXEC."""
    nx, ny, nz = workgroup
    total = nx * ny * nz
    t = np.arange(w.lanes, dtype=np.uint32) + np.uint32(index * w.lanes)
    w.threads = max(0, min(w.lanes, total - index * w.lanes))
    w.set_exec((1 << w.threads) - 1)
    ids = [t % nx, t // nx % ny, t // (nx * ny)]
    dims = d.workitem_id_dims
    if facts.packed_workitem_id:
        packed = ids[0].copy()
        for k in range(1, dims):
            packed |= ids[k].astype(np.uint32) << np.uint32(10 * k)
        w.v[0] = packed
    else:
        for k in range(min(dims, w.agpr_base)):
            w.v[k] = ids[k]
    w.v[:3, w.threads :] = 0
