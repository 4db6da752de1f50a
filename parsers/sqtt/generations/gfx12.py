"""gfx12 (RDNA4): the gfx11 packet table with its own entries laid over it."""

from __future__ import annotations

from isaprof.parsers.sqtt.generations import gfx11
from isaprof.parsers.sqtt.model import Act, Cat, Generation, Op, Scale, StitchRules, overlay, packet

_SHADER = {"sa": (10, 10), "simd": (11, 12), "wgp": (13, 16), "wave": (17, 21)}
_START = {
    "sa": (7, 7),
    "simd": (8, 9),
    "wgp": (10, 13),
    "wave": (15, 19),
    "pipe": (20, 21),
    "me": (22, 22),
    "count": (25, 31),
}
_EXT = {"extlds": (32, 32), "wgid": (33, 37), "last": (38, 38), "dvg": (39, 39)}

PACKETS = overlay(
    gfx11.PACKETS,
    packet("INST", "010", 20, (3, 5), w64h=6, wave=(7, 11), op=(12, 19)),
    packet("WAVE_START", "01100", 32, (5, 6), **_START),
    packet("WAVE_START_EXT", "11100", 40, (5, 6), **_START, **_EXT),
    packet("WAVE_ALLOC", "00101", 24, (5, 7)),
    packet("WAVE_END", "10101", 20, (5, 7), sa=8, simd=(9, 10), wgp=(11, 14), wave=(15, 19)),
    packet("EXEC_POPCOUNT3", "010110", 48, (6, 8)),
    packet("SHADER_DATA", "0000110", 56, (7, 9), **_SHADER, data=(22, 53), sdt=(54, 55)),
    packet("SHADER_DATA_SHORT", "1000110", 32, (7, 9), **_SHADER, data=(22, 29), sdt=(30, 31)),
    packet("EXEC_POPCOUNT1", "1100110", 24, (7, 9)),
    packet("NEW_PC", "0100001", 72, (8, 10), wave=(11, 15), pc=(16, 70), err=71),
    packet("TIMESTAMP", "0000001", 64, None, rt=7, pl=8, tl=9, value=(12, 63)),
)

#: codes shared by gfx12 and gfx1250 beyond those of gfx11
NEW_OPS = {
    119: Op(Cat.LDS, 6, Act.OTHER_SIMD),
    120: Op(Cat.LDS, 10, Act.OTHER_SIMD),
    122: Op(Cat.MESSAGE),
    135: Op(Cat.SALU),
    136: Op(Cat.SALU),
    137: Op(Cat.SALU),
    138: Op(Cat.MESSAGE),
    150: Op(Cat.SMEM),
    151: Op(Cat.SMEM),
    152: Op(Cat.SALU, 3),
    153: Op(Cat.VALU, 1),
    155: Op(Cat.SALU, 2),
    156: Op(Cat.SALU, 5),
    **{c: Op(Cat.VMEM, c - 187, Act.OTHER_SIMD) for c in range(188, 222)},
    **{c: Op(Cat.VMEM, c - 221) for c in range(222, 256)},
}

OPS = {
    **gfx11.COMMON_OPS,
    **gfx11.MEMORY_OPS,
    **NEW_OPS,
    10: Op(Cat.VALU, 1),
    11: Op(Cat.VALU, 4),
    12: Op(Cat.VALU, 1),
    13: Op(Cat.VALU, 2),
    14: Op(Cat.VALU, 4),
    15: Op(Cat.VALU, 16),
    18: Op(Cat.VALU, 1),
    19: Op(Cat.IMMED, act=Act.BARRIER),
    118: Op(Cat.BVH, 6),
    121: Op(Cat.BVH, 10),
    140: Op(Cat.VALU, 8),
    141: Op(Cat.VALU, 16),
    142: Op(Cat.VALU, 32),
    143: Op(Cat.VALU, 64),
    146: Op(Cat.VALU, 1, scale=Scale.DPRATE),
    147: Op(Cat.VALU, 1, scale=Scale.DPRATE_DERATE),
}

GENERATION = Generation(
    name="gfx12",
    version=4,
    unit_bits=4,
    packets=PACKETS,
    ops=OPS,
    extended=("WAVE_START_EXT",),
    thread_bias=95,
    max_threads=32,
    context_codes=gfx11.CONTEXT_CODES,
    stitch=StitchRules(two_cycle_move=("v_mov_b64",), optional_wait=("s_barrier_wait",)),
)
