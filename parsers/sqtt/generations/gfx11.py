"""gfx11 (RDNA3, RDNA3.5) and gfx10, whose packet patterns are the same: 4-bit units, 1-cycle clock."""

from __future__ import annotations

from isaprof.parsers.sqtt.model import Act, Cat, Generation, Op, Scale, StitchRules, overlay, packet

_REG = {"pipe": (7, 8), "me": (9, 10), "rdp": (11, 11), "context": (12, 14), "cs": (15, 15)}
_SHADER = {"sa": (8, 8), "simd": (9, 10), "wgp": (11, 13), "exec": (14, 14), "wave": (15, 19)}
_START = {"sa": (7, 7), "simd": (8, 9), "wgp": (10, 12), "wave": (13, 17), "queue": (18, 20)}

PACKETS = (
    packet("INST", "010", 20, (4, 6), w64h=7, wave=(8, 12), op=(13, 19)),
    packet("VALU_INST", "011", 12, (3, 5), w64h=6, wave=(7, 11)),
    packet("NOP", "0000", 4),
    packet("IMM_ONE", "1101", 12, (4, 6), wave=(7, 11)),
    packet("ALU_EXEC", "1110", 8, (4, 5), src=(6, 7)),
    packet("VMEM_EXEC", "1111", 8, (4, 5), src=(6, 7)),
    packet("TIME", "1000", 8, (4, 7), 4),
    packet("REG", "1001", 64, (4, 6), **_REG, regaddr=(16, 31), regdata=(32, 63)),
    packet("IMMEDIATE", "00100", 24, (5, 7), mask=(8, 23)),
    packet("WAVE_ALLOC", "00101", 20, (5, 7)),
    packet("SHADER_DATA", "00110", 52, (5, 7), **_SHADER, data=(20, 51)),
    packet("WAVE_START", "01100", 32, (5, 6), **_START, pipe=(21, 22), me=23, dispatcher=24, count=(25, 31)),
    packet("WAVE_READY", "10100", 24, (5, 7), mask=(8, 23)),
    packet("WAVE_END", "10101", 20, (5, 7), sa=8, simd=(9, 10), wgp=(11, 13), wave=(15, 19)),
    packet("SHADER_DATA_SHORT", "10110", 28, (5, 7), **_SHADER, data=(20, 27)),
    packet("WAVE_START_EXT", "11100", 48, (5, 6), **_START, pipe=(21, 22), me=23, count=(25, 31)),
    packet("TIMESTAMP", "0000001", 48, None, pl=8, rt=9, value=(12, 47)),
    packet("HEADER", "0010001", 64),
    packet("NEW_PC", "0100001", 64, (8, 10), wave=(11, 15), pc=(16, 61), err=62),
    packet("UTIL_COUNTER", "0110001", 48, (7, 8), id=(9, 10)),
    packet("MISC", "1010001", 24, (7, 15), flags=(16, 23)),
    packet(
        "REG_INIT",
        "1110001",
        64,
        (7, 9),
        pipe=(14, 15),
        me=(16, 17),
        type=(18, 19),
        data=(20, 43),
        context=(44, 46),
    ),
    packet("EVENT", "01100001", 24, (8, 10), data=(11, 23)),
    packet("EVENT_SYNC", "11100001", 32, (8, 10), data=(11, 31)),
)

#: MISC flag bits, lowest first, as Capture event kinds (None: meaning not settled)
MISC_FLAGS = (
    "spm_sample",
    "gc_rinse",
    None,
    "save_context",
    "stall_begin",
    "stall_end",
    "didt_stall_begin",
    "didt_stall_end",
)


def _many(category: Cat, codes: range, first: int = 1, act: Act = Act.RECORD) -> dict[int, Op]:
    return {c: Op(category, first + i, act) for i, c in enumerate(codes)}


#: codes 0..9 mean the same from gfx10 on
COMMON_OPS = {
    0: Op(Cat.SALU),
    1: Op(Cat.SMEM),
    2: Op(Cat.SMEM),
    3: Op(Cat.JUMP),
    4: Op(Cat.NEXT),
    5: Op(Cat.SALU, act=Act.JUMP_PC),
    6: Op(Cat.CONTEXT, act=Act.TRAP),
    7: Op(Cat.SALU),
    8: Op(Cat.CONTEXT),
    9: Op(Cat.MESSAGE),
}

#: memory codes shared by gfx11, gfx12 and gfx1250
MEMORY_OPS = {
    28: Op(Cat.FLAT, 2),
    **_many(Cat.FLAT, range(29, 33), 3),
    33: Op(Cat.VMEM, 1),
    34: Op(Cat.VMEM, 2),
    **_many(Cat.VMEM, range(35, 41)),
    41: Op(Cat.LDS, 1),
    **_many(Cat.LDS, range(42, 47)),
    **_many(Cat.VMEM, range(47, 49)),
    **_many(Cat.VMEM, range(49, 55)),
    **_many(Cat.VMEM, range(55, 67)),
    **_many(Cat.VMEM, range(68, 72)),
    **_many(Cat.VMEM, range(72, 79), 2),
    **_many(Cat.LDS, range(80, 85), 1, Act.OTHER_SIMD),
    **_many(Cat.FLAT, range(85, 90), 2, Act.OTHER_SIMD),
    103: Op(Cat.BVH, 8),
    104: Op(Cat.BVH, 9),
    105: Op(Cat.BVH, 11),
    106: Op(Cat.BVH, 12),
    110: Op(Cat.LDS, 1),
    111: Op(Cat.LDS, 1),
    114: Op(Cat.SALU),
    115: Op(Cat.VALU, 1),
    116: Op(Cat.VALU, 2),
    117: Op(Cat.CONTEXT, act=Act.RETURN),
}

OPS = {
    **COMMON_OPS,
    **MEMORY_OPS,
    10: Op(Cat.VALU, 1, scale=Scale.DPRATE),
    11: Op(Cat.VALU, 4),
    12: Op(Cat.VALU, 1),
    13: Op(Cat.VALU, 2),
    14: Op(Cat.VALU, 4),
    15: Op(Cat.VALU, 1, scale=Scale.DPRATE),
    16: Op(Cat.VALU, 1),
    17: Op(Cat.VALU, 1),
    18: Op(Cat.VALU, 1),
    19: Op(Cat.IMMED, act=Act.BARRIER_EXTENDED),
    **_many(Cat.VMEM, range(90, 102), 1, Act.OTHER_SIMD),
    112: Op(Cat.SALU),
    113: Op(Cat.SALU),
    118: Op(Cat.LDS, 6),
    119: Op(Cat.LDS, 6, Act.OTHER_SIMD),
}

#: context-switch codes of WAVE_START.count, 66 + i (save: 0,1,4,5; restore: 2,3,6,7,8,9)
CONTEXT_CODES = tuple(range(66, 76))

GENERATION = Generation(
    name="gfx11",
    version=3,
    unit_bits=4,
    packets=PACKETS,
    ops=OPS,
    ready_offset=-1,
    thread_bias=95,
    max_threads=32,
    context_codes=CONTEXT_CODES,
    stitch=StitchRules(),
)

#: gfx10 (R): 64-bit UTIL_COUNTER and TIMESTAMP (type 1 = advance, 2 = realtime), older memory codes,
#: VALU codes 12..17 multiplied by the double-precision rate
GFX10_PACKETS = overlay(
    PACKETS,
    packet("UTIL_COUNTER", "0110001", 64, (7, 8), id=(9, 10)),
    packet("TIMESTAMP", "0000001", 64, None, type=(14, 15), value=(16, 63)),
)
GFX10_OPS = {
    **COMMON_OPS,
    10: Op(Cat.VALU, 1, scale=Scale.DPRATE),
    11: Op(Cat.VALU, 4),
    **{12 + i: Op(Cat.VALU, c, scale=Scale.DPRATE) for i, c in enumerate((1, 2, 4, 1, 1, 1))},
    18: Op(Cat.VALU, 1),
    19: Op(Cat.IMMED, act=Act.BARRIER),
    30: Op(Cat.FLAT, 1),
    **_many(Cat.FLAT, range(31, 35), 2),
    35: Op(Cat.VMEM, 1),
    **_many(Cat.VMEM, range(36, 41)),
    41: Op(Cat.LDS, 1),
    **_many(Cat.LDS, range(42, 47)),
    **_many(Cat.VMEM, range(47, 49)),
    **_many(Cat.VMEM, range(49, 55)),
    114: Op(Cat.SALU),
    115: Op(Cat.VALU, 1),
    116: Op(Cat.VALU, 2),
    117: Op(Cat.CONTEXT, act=Act.RETURN),
}
GFX10 = Generation(
    name="gfx10",
    version=1,
    unit_bits=4,
    packets=GFX10_PACKETS,
    ops=GFX10_OPS,
    advances=("type", 1),
    thread_bias=95,
    max_threads=64,
    context_codes=CONTEXT_CODES,
)
