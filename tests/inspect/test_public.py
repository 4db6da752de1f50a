"""Passports of public objects against analyses of them that were made by hand."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from isaprof.asm.find import recorded_arch
from isaprof.codeobj.elf import CodeObject
from isaprof.inspect.census import count_mnemonics
from isaprof.inspect.model import Passport
from isaprof.inspect.occupancy import Occupancy
from isaprof.inspect.passport import inspect_object
from isaprof.isa.decode import disassemble
from isaprof.isa.model import Instruction

F4 = "co/gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_256x256.co"


@lru_cache(maxsize=4)
def opened(path: Path) -> tuple[tuple[Passport, ...], tuple[Instruction, ...]]:
    data = path.read_bytes()
    arch = recorded_arch(path)
    co = CodeObject.from_bytes(data, arch=arch)
    listing = disassemble(data, arch=arch)
    return inspect_object(co, listing), listing.instructions


def only(path: Path) -> Passport:
    (p,) = opened(path)[0]
    return p


def test_f4gemm_arguments(data_dir: Path) -> None:
    """Offsets that the kernel uses, loads without use (C, beta), and never reads."""
    by_state: dict[str, set[int]] = {}
    for a in only(data_dir / F4).kernargs.arguments:
        by_state.setdefault(a.state, set()).add(a.offset)
    assert by_state == {
        "used": {
            0x00,
            0x20,
            0x30,
            0x40,
            0x80,
            0xA0,
            0xC0,
            0xE0,
            0xF0,
            0x100,
            0x110,
            0x120,
            0x130,
            0x150,
            0x170,
        },
        "loaded, unused": {0x10, 0x50},
        "dead": {0x60, 0x70, 0x90, 0xB0, 0xD0, 0x140, 0x160},
    }
    assert only(data_dir / F4).kernargs.read_bytes == 0x174
    assert set(only(data_dir / F4).inputs) == {"tid.x", "wg.x", "wg.y", "wg.z"}


def test_f4gemm_lds(data_dir: Path) -> None:
    """ScaleA 2 x 2 KB from 0, two A buffers 0x8400 apart from 0x1000: 71680 bytes with the last padding."""
    p = only(data_dir / F4)
    assert (p.lds_static, p.lds.unproven, len(p.lds.accesses)) == (163840, 0, 240)
    assert p.lds.highest == 71680 - 0x20
    starts = [a for a, _, _, _ in p.lds.regions]
    assert starts[:5] == [0, 0x400, 0x800, 0xC00, 0x1000]
    assert 0x9400 in starts


def test_f4gemm_loops(data_dir: Path) -> None:
    """Two copies of the K loop, each with two steps in a pass."""
    p = only(data_dir / F4)
    k_loops = [x for x in p.loops if x.census.get("matrix")]
    assert len(k_loops) == 2
    lines = {i.index: i for i in opened(data_dir / F4)[1]}
    for loop in k_loops:
        assert (loop.counter, loop.start, loop.step, loop.steps) == ("s50", "0", "0x100", 2)
        assert "Kdim" in loop.trips
        assert loop.trips.endswith("/ 0x100))")
        assert len(loop.exits) == 2
        assert loop.census["matrix"] == 2 * 128
        assert loop.census["vmem_load"] + loop.census["lds_dma"] == 2 * 20
        assert (loop.census["wait"], loop.census["barrier"]) == (2 * 2, 2 * 2)
        reads = count_mnemonics([lines[i] for i in loop.indices], "lds_read")
        # 16 for each of the two groups of A fragments: 4 x 40 + 20 before the loop = 180 in all
        assert reads == {"ds_read_b128": 2 * 32, "ds_read_b32": 2 * 8}
    tiles = next(x for x in p.loops if not x.census.get("matrix"))
    assert "Mdim" in tiles.trips
    assert "wg.y" in tiles.trips


def test_f4gemm_resources_and_techniques(data_dir: Path) -> None:
    p = only(data_dir / F4)
    vgpr, agpr, _ = p.registers
    assert (vgpr.granted, vgpr.highest, agpr.granted, agpr.live) == (256, 251, 256, 256)
    assert isinstance(p.occupancy, Occupancy)
    assert (p.occupancy.waves_per_simd, p.occupancy.limiters) == (1, ("vgpr", "lds"))
    assert {b.pointer for b in p.buffers} == {"A", "B", "D", "ScaleA", "ScaleB"}
    assert {b.word3 for b in p.buffers} == {0x20000}
    found = {t.id for t in p.techniques}
    assert found == {
        "agpr-accumulators", "buffer-descriptors", "direct-operands", "double-buffering", "lds-dma",
        "lds-layout",         "matrix-memory-interleaving", "software-pipelining", "split-k",
    }  # fmt: skip
    statements = " ".join(t.statement for t in p.techniques)
    assert "rows of 0x420 bytes of which 0x20 are never written" in statements
    assert "wg.z" in statements
    assert all(pc in p.texts for t in p.techniques for pc in t.lines)


#: object, then: vgpr lds kernarg | insn mma valu acc scalar dsrd dswr vld dma vst atom wait vm0 bar prio perm
#: permlane policy pk, as counted by hand for the public kernels
CENSUS = [
    (F4, 512, 163840, 384, 3379, 512, 1069, 768, 580, 180, 0, 110, 60, 32, 128, 12, 2, 10, 0, 0, 128, 0, 0),
    ("co/gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_32x128.co",
     512, 163840, 384, 827, 64, 111, 48, 471, 50, 0, 79, 24, 4, 0, 12, 1, 9, 0, 0, 8, 0, 0),
    ("co/gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_BpreShuffle_96x640.co",
     512, 163840, 384, 2559, 480, 561, 720, 533, 70, 0, 135, 20, 60, 0, 36, 1, 9, 0, 0, 120, 0, 0),
    ("co/gfx950/bf16gemm/bf16gemm_fp32bf16_tn_32x64_bshuffle_splitk.co",
     512, 65536, 336, 1133, 96, 297, 0, 535, 76, 8, 89, 60, 4, 28, 28, 6, 21, 0, 12, 0, 0, 0),
    ("co/gfx950/fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_128x128.co",
     512, 65536, 256, 2271, 384, 724, 0, 697, 144, 16, 258, 144, 16, 32, 12, 2, 10, 0, 64, 0, 0, 192),
    # 22 v_nop are counted as nops here, as vector ALU there
    ("co/gfx950/fmha_v3_fwd/fwd_hd128_bf16.co",
     256, 163840, 512, 2597, 176, 1684 - 22, 0, 390 + 22, 304, 0, 34, 34, 9, 0, 22, 2, 20, 2, 0, 43, 0, 152),
    ("co/gfx942/single/all_reduce.co",
     512, 65536, 224, 763, 0, 248, 0, 499 - 16, 0, 0, 8, 0, 8, 16, 14, 3, 1, 0, 4, 0, 32, 0),
]  # fmt: skip


@pytest.mark.parametrize("row", CENSUS, ids=[Path(r[0]).stem for r in CENSUS])
def test_census(data_dir: Path, row: tuple[str, int]) -> None:
    p = only(data_dir / row[0])
    c, a = p.code.census, p.code.attributes
    scalar = ("salu", "smem", "wait", "barrier", "nop", "branch", "hint", "end", "message")
    prio = sum(t.count for t in p.techniques if t.id == "setprio")
    policy = a.get("cache_policy", 0)
    found = (
        p.descriptor["vgpr_count"], p.lds_static, p.kernargs.segment_size, p.code.instructions,
        c.get("matrix", 0), c.get("valu", 0), c.get("acc_move", 0), sum(c.get(x, 0) for x in scalar),
        c.get("lds_read", 0), c.get("lds_write", 0), c.get("vmem_load", 0) + c.get("lds_dma", 0),
        c.get("lds_dma", 0), c.get("vmem_store", 0),
        c.get("vmem_atomic", 0) + c.get("smem_atomic", 0), c.get("wait", 0),
        a.get("drain", 0), c.get("barrier", 0), prio, a.get("perm", 0), a.get("permlane", 0), policy,
        a.get("packed", 0),
    )  # fmt: skip
    assert found == row[1:]
    assert sum(c.values()) == p.code.instructions


def test_topksoftmax(data_dir: Path) -> None:
    """24 VGPRs, no LDS; DPP reductions; arguments as the host driver lays them out."""
    p = only(data_dir / "co/gfx950/topksoftmax/topksoftmax_4x128x4.co")
    assert {a.offset for a in p.kernargs.arguments if a.state == "used"} <= {
        0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70
    }  # fmt: skip
    assert p.registers[0].granted == 24
    assert not p.lds.accesses
    assert "lane-reductions" in {t.id for t in p.techniques}
    assert {b.bound for b in p.buffers} == {"computed"}


def test_i8gemm(data_dir: Path) -> None:
    """Three LDS stages, rows padded by 16 bytes, one matrix loop."""
    p = only(data_dir / "co/gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_80x128.co")
    assert p.lds.unproven == 0
    assert len([x for x in p.loops if x.census.get("matrix")]) == 1
    assert {b.bound for b in p.buffers} == {"computed"}
    assert {"lds-dma", "direct-operands", "software-pipelining"} <= {t.id for t in p.techniques}


def test_fmha(data_dir: Path) -> None:
    p = only(data_dir / "co/gfx950/fmha_v3_fwd/fwd_hd128_bf16.co")
    assert p.lds.unproven == 0
    assert {"setprio", "transposed-reads", "lds-dma", "lane-reductions"} <= {t.id for t in p.techniques}


def test_minimal_object(data_dir: Path) -> None:
    p = only(data_dir / "sqtt/gfx1200/handwritten_run0/kernel.co")
    assert p.arch == "gfx1200"
    assert p.code_object_version is None
    assert len(p.loops) == 1
    assert any("minimal object" in x for x in p.limits)


@pytest.mark.slow
def test_every_shared_object(data_dir: Path) -> None:
    """Every object gives passports whose parts fit each other."""
    paths = [*data_dir.glob("co/**/*.co"), *data_dir.glob("sqtt/**/*.co"), *data_dir.glob("att/**/*.out")]
    assert len(paths) >= 58
    for path in paths:
        for p in opened(path)[0]:
            assert sum(p.code.census.values()) == p.code.instructions, path
            for r in p.registers:
                assert r.live <= r.distinct <= r.highest, (path, r)
            assert all(x.highest >= x.distinct for x in p.registers)
            proven = [a for a in p.lds.accesses if a.high is not None]
            assert len(proven) + p.lds.unproven == len(p.lds.accesses), path
            assert all(pc in p.texts for t in p.techniques for pc in t.lines), path
            reached = {b.number for b in p.blocks}
            assert all(s in reached for b in p.blocks for s in b.successors), path
