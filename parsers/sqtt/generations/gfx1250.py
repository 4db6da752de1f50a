"""gfx1250: byte stream with its own entries over the gfx12 table (read from the reference decoder;
no public capture exists to check it against)."""

from __future__ import annotations

from isaprof.parsers.sqtt.generations import gfx11, gfx12
from isaprof.parsers.sqtt.model import Act, Cat, Generation, Op, Scale, StitchRules, overlay, packet

_LDS = {"wgp0": (10, 13), "split0": (14, 16), "wgp1": (17, 20), "split1": (21, 23)}

PACKETS = overlay(
    gfx12.PACKETS,
    packet("VALU_INST", "011", 8, None, tp=3, wavetm=(4, 7)),
    packet("INST", "0010", 24, (4, 5), tp=6, wave=(7, 11), op=(12, 20)),
    packet("NOP", "0000", 8),
    packet("IMM_ONE", "1101", 16, (7, 9), wave=(10, 14)),
    packet("TIME", "1110", 8, (4, 7), 1),
    packet("WAVE_END", "1000001", 24, (7, 9), sa=10, simd=(11, 12), wgp=(13, 16), wave=(17, 21)),
    packet(
        "MISC", "1010001", 24, (7, 9), flags=(10, 16), cluster_first=17, cluster_last=18, cluster=(19, 22)
    ),
    packet("MEDIUM_TIME", "10100110", 16, (8, 15)),
    packet("LDS_CONFIG", "00100110", 24, (8, 9), **_LDS),
    round_to=8,
)

MISC_FLAGS = (
    "spm_sample",
    "gc_rinse",
    "save_context",
    "stall_begin",
    "stall_end",
    "didt_stall_begin",
    "didt_stall_end",
)

#: wavetm -> (index into the list of recent waves, time delta)
PREDICTION = {
    **{t: (t // 4, t % 4 + 1) for t in range(12)},
    12: (3, 1),
    13: (3, 2),
    14: (4, 1),
    15: (4, 2),
}

OPS = {
    **gfx11.COMMON_OPS,
    **gfx11.MEMORY_OPS,
    **gfx12.NEW_OPS,
    10: Op(Cat.VALU, 1),
    11: Op(Cat.VALU, 4, scale=Scale.TRANS2),
    12: Op(Cat.VALU, 1),
    13: Op(Cat.VALU, 2),
    14: Op(Cat.VALU, 4),
    15: Op(Cat.VALU, 16),
    16: Op(Cat.VALU, 32),
    17: Op(Cat.VALU, 8),
    18: Op(Cat.VALU, 1),
    19: Op(Cat.IMMED, act=Act.BARRIER),
    26: Op(Cat.FLAT, 1),
    27: Op(Cat.FLAT, 2),
    79: Op(Cat.NONE, act=Act.REPLAY),
    107: Op(Cat.FLAT, 1, Act.IGNORE),
    157: Op(Cat.VMEM),
    158: Op(Cat.VMEM),
    159: Op(Cat.VMEM, 1),
    160: Op(Cat.VMEM, 2),
    161: Op(Cat.VMEM, 2),
    162: Op(Cat.VMEM, 3),
    163: Op(Cat.VMEM, 5),
    169: Op(Cat.VALU),
    170: Op(Cat.VMEM),
    171: Op(Cat.VMEM),
    172: Op(Cat.VMEM, 1, Act.IGNORE),
    173: Op(Cat.LDS),
    174: Op(Cat.MESSAGE),
    175: Op(Cat.VALU, 16),
    176: Op(Cat.VALU, 32),
    177: Op(Cat.VALU, 16),
    178: Op(Cat.VALU, 8),
    179: Op(Cat.VALU, 16),
    180: Op(Cat.VALU, 1),
    181: Op(Cat.VALU, 4),
    182: Op(Cat.VALU, 2),
    183: Op(Cat.NONE, act=Act.EARLY),
}

GENERATION = Generation(
    name="gfx1250",
    version=5,
    unit_bits=8,
    packets=PACKETS,
    ops=OPS,
    extended=("WAVE_START_EXT",),
    wave_prediction=PREDICTION,
    prediction_ops=(10, 11, 12, 13, 14),
    thread_bias=95,
    max_threads=32,
    context_codes=gfx11.CONTEXT_CODES,
    stitch=StitchRules(two_cycle_move=("v_mov_b64",), optional_wait=("s_barrier_wait",)),
)
