"""gfx9-CDNA (gfx90a, gfx942, gfx950): 16-bit words, type in the low nibble, 4-cycle clock."""

from __future__ import annotations

from isaprof.parsers.sqtt.model import Act, Cat, Generation, Op, StitchRules, packet

_WHERE = {"sh": (5, 5), "cu": (6, 9), "wave": (10, 13), "simd": (14, 15)}
_STEP = (4, 4)

PACKETS = (
    packet("MISC", "0000", 16, (4, 11), sh=12, misc=(13, 15)),
    packet("TIMESTAMP", "0001", 64, _STEP, value=(16, 61)),
    packet("REG", "0010", 64, _STEP, pipe=(5, 6), me=(7, 8), disable=15, regaddr=(16, 31), regdata=(32, 63)),
    packet("WAVE_START", "0011", 32, _STEP, **_WHERE, pipe=(16, 17), me=(18, 19), count=(22, 28)),
    packet("WAVE_ALLOC", "0100", 16, _STEP, **_WHERE),
    packet("REG_CS", "0101", 48, _STEP, pipe=(5, 6), me=(7, 8), regaddr=(9, 15), regdata=(16, 47)),
    packet("WAVE_END", "0110", 16, _STEP, **_WHERE),
    packet("EVENT", "0111", 16, _STEP, data=(5, 15)),
    packet("EVENT_CS", "1000", 16, _STEP, data=(5, 15)),
    packet("EVENT_GFX1", "1001", 16, _STEP, data=(5, 15)),
    packet("INST", "1010", 16, _STEP, wave=(5, 8), simd=(9, 10), op=(11, 15)),
    packet("NEW_PC", "1011", 64, _STEP, wave=(5, 8), simd=(9, 10), err=15, pc=(16, 63)),
    packet("SHADER_DATA", "1100", 48, _STEP, **_WHERE, data=(16, 47)),
    packet("ISSUE", "1101", 32, _STEP, simd=(5, 6), states=(8, 27)),
    packet(
        "PERF",
        "1110",
        64,
        _STEP,
        sh=5,
        cu=(6, 9),
        bank=(10, 11),
        c0=(12, 24),
        c1=(25, 37),
        c2=(38, 50),
        c3=(51, 63),
    ),
    packet("REG_CS_PRIV", "1111", 48, _STEP, pipe=(5, 6), me=(7, 8), regaddr=(9, 15), regdata=(16, 47)),
)

#: ISSUE states
STALL, INST, IMMED = 1, 2, 3

#: cycles of the phase correction by category (5 scalar, 2 vector, 1 LDS and sequencer, 0 vector memory)
PHASE = {
    Cat.SMEM: 5,
    Cat.SALU: 5,
    Cat.VALU: 2,
    Cat.LDS: 1,
    Cat.JUMP: 1,
    Cat.NEXT: 1,
    Cat.MESSAGE: 1,
    Cat.VMEM: 0,
    Cat.FLAT: 0,
}
#: the operation whose phase is 0 though its category is SALU
PC_OP = 7

OPS = {
    0: Op(Cat.SMEM),
    1: Op(Cat.SALU),
    2: Op(Cat.VMEM),
    3: Op(Cat.VMEM),
    4: Op(Cat.FLAT),
    5: Op(Cat.VALU),
    6: Op(Cat.LDS),
    PC_OP: Op(Cat.SALU, act=Act.JUMP_PC),
    12: Op(Cat.JUMP),
    13: Op(Cat.NEXT),
    14: Op(Cat.FLAT),
    15: Op(Cat.MESSAGE),
    16: Op(Cat.SMEM),
    17: Op(Cat.SALU),
    18: Op(Cat.VALU),
    # replays (XNACK): the category is that of the instruction replayed
    19: Op(Cat.SMEM, act=Act.REPLAY),
    20: Op(Cat.SMEM, act=Act.REPLAY),
    21: Op(Cat.VMEM, act=Act.REPLAY),
    22: Op(Cat.VMEM, act=Act.REPLAY),
    23: Op(Cat.FLAT, act=Act.REPLAY),
    24: Op(Cat.FLAT, act=Act.REPLAY),
    28: Op(Cat.VALU),
    29: Op(Cat.CONTEXT),
}

#: MISC types; 0 only carries time
MISC_TIME_RESET, MISC_PACKET_LOST, MISC_STALL_BEGIN, MISC_STALL_END, MISC_SAVE_CONTEXT = 1, 2, 4, 5, 6

GENERATION = Generation(
    name="gfx9",
    version=0,
    unit_bits=16,
    packets=PACKETS,
    ops=OPS,
    time_unit=4,
    max_slot=9,
    stitch=StitchRules(
        barrier_pair=("s_barrier",),
        scaled_matrix=("v_mfma_scale_",),
        swap=True,
        early_immediates=False,
        endpgm_traced=True,
    ),
)
