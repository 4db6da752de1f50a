"""The records shared with the C code: ctypes mirrors of src/isa.h, field by field."""

from __future__ import annotations

import ctypes as c
from typing import Any

MAX_LANES, SLOTS = 64, 128

# signals of isa_run
END, BARRIER, YIELD, FALLBACK, QUANTUM, DRAIN, DEADLOCK, LIMIT, SLICE = range(1, 10)

#: source kinds, preparation, float types, destination kinds
SRC = {n: i for i, n in enumerate(("none", "row", "const", "slot", "slot64", "mask", "scc", "vccz", "execz"))}
T = {n: i for i, n in enumerate(("32", "16", "64", "mask", "halves", "pair32", "bits", "widen"))}
F = {n: i for i, n in enumerate(("none", "f32", "f16", "f64", "bf16"))}
D = {n: i for i, n in enumerate(("none", "32", "64", "lo", "lo_clear", "hi", "mask", "pair32", "sdwa"))}
_HANDLERS = (
    "fallback nop end barrier barrier_signal barrier_wait sleep branch salu saveexec time smem getpc mode "
    "fast1 fast2 fast3 valu dual readlane readfirst writelane mbcnt permswap permlane16 swap bpermute "
    "swizzle mem matrix"
)
H = {n: i for i, n in enumerate(_HANDLERS.split())}
ACCESS = {n: i for i, n in enumerate(("load", "store", "atomic", "dma"))}
ELEMENT = {
    "f32": 0, "f16": 1, "bf16": 2, "i8": 3, "u8": 4, "i4": 5, "u4": 6, "fp8": 7, "bf8": 7, "fp8_fnuz": 7,
    "bf8_fnuz": 7, "fp6": 8, "bf6": 8, "fp4": 9,
}  # fmt: skip
RESULT = {"f32": 0, "i32": 1, "f16": 2, "bf16": 3}
#: operation of isaprof.sim.semantics.atomic -> number in memory.c
_ATOMICS = (
    "add_u sub_u rsub_u inc_u dec_u min_i max_i min_u max_u and_b or_b xor_b swap_b cmpswap_b add_f32 "
    "pk_add_f16 pk_add_bf16 min_f32 max_f32 add_f64"
)
ATOMIC = {
    n: i
    for i, name in enumerate(_ATOMICS.split())
    for n in ((name,) if i > 13 else (name + "32", name + "64"))
}

_u8, _u16, _u32, _u64, _i8, _i32, _i64 = (
    c.c_uint8, c.c_uint16, c.c_uint32, c.c_uint64, c.c_int8, c.c_int32, c.c_int64
)  # fmt: skip


def _fields(text: str) -> list[tuple[str, Any]]:
    """``"u8 a b; i32 c"`` as ctypes fields; ``name[n]`` is an array, ``*name`` a pointer."""
    types: dict[str, Any] = {
        "u8": _u8, "u16": _u16, "u32": _u32, "u64": _u64, "i8": _i8, "i32": _i32, "i64": _i64,
        "float": c.c_float, "double": c.c_double,
    }  # fmt: skip
    out: list[tuple[str, Any]] = []
    for group in filter(None, (g.strip() for g in text.split(";"))):
        kind, *names = group.split()
        for name in names:
            if name.startswith("*"):
                out.append((name[1:], c.c_void_p))
            elif name.endswith("]"):
                base, _, size = name[:-1].partition("[")
                out.append((base, types[kind] * int(size)))
            else:
                out.append((name, types[kind]))
    return out


class Src(c.Structure):
    _fields_ = _fields("u8 kind type half mods low width sext flush; i32 at; u32 and_ xor_; u8 sign pad[3]")


class Dst(c.Structure):
    _fields_ = _fields("u8 kind low width unused; i32 at")


class Dpp(c.Structure):
    _fields_ = _fields("u64 valid enabled; u32 zero_invalid fetch_inactive; u8 source[64]")


class Op(c.Structure):
    _fields_ = [
        *_fields("u16 h; u8 nsrc n2; i32 kernel"),
        ("src", Src * 4),
        ("dst", Dst),
        ("dst2", Dst),
        *_fields(
            "u8 fdst clamp uses_mode writes_exec temp bits flags pad; float omod; i32 dpp dual extra target; "
            "u32 imm pad2; u64 imm64"
        ),
    ]


class Mem(c.Structure):
    _fields_ = _fields(
        "u8 space access nbytes is_signed; i8 half; u8 pieces returns sources wide offen idxen gfx9; "
        "i32 addr data data2 dst saddr saddr_bits rsrc soffset atomic use_m0; "
        "u32 so_const transpose; i64 imm imm2"
    )


class Mat(c.Structure):
    _fields_ = _fields(
        "u8 a_kind b_kind result scaled c_is_const c_abs c_neg clamp packed16 high a_shift b_shift a_neg[2] "
        "b_neg[2]; i32 blocks m k d_elements a_row a_regs b_row b_regs c_row d_row d_regs a_scale "
        "b_scale sparse; double c_const; u64 *a_table *b_table *a_index *b_index *d_index *e8m0"
    )


class MemoryRecord(c.Structure):
    _fields_ = _fields("u8 *bytes; u64 base; i64 segments; u8 *starts *ends *writable")


class WaveRecord(c.Structure):
    _fields_ = _fields(
        "u32 *v; i64 lanes pc clock step done barrier phase hit; u64 mask_of fnuz; u8 *scratch; "
        "i64 scratch_stride; u8 *lds; i64 lds_size lds_outside; u8 *memory *lines *line_flags; "
        "i64 traced nlines lines_cap; u8 *events; i64 nevents events_cap; u8 *addresses *event_lanes; "
        "i64 naddresses addresses_cap; u32 scc mode s[128] mask[64]"
    )


class Prog(c.Structure):
    _fields_ = _fields("u8 *ops; i64 n; u8 *consts *dpps *mems *mats; u64 load_bias")


class GroupRecord(c.Structure):
    _fields_ = _fields(
        "u8 *waves; i64 n live signalled phase cur in_turn left budget slice progressed quantum limit; "
        "u8 *executed *counts; i64 unreported"
    )


def sizes() -> list[int]:
    """What isa_sizes() of a library with the same layouts returns."""
    records = (Src, Dst, Dpp, Op, Mem, Mat, MemoryRecord, WaveRecord, Prog, GroupRecord)
    return [*(c.sizeof(r) for r in records), WaveRecord.s.offset, Op.imm64.offset]
