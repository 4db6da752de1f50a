"""Writes step0.s to step5.s: one W4A16 GEMM for gfx1151, each step with one technique more.

    python samples/w4a16_ladder/generate.py [--check]

Each technique is a flag of :class:`Step`, so that two neighbouring sources differ by it and by nothing else.
The sources are committed: they are what one reads and edits. ``--check`` only compares (exit 1: they differ).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from w4a16_footer import SYMBOL, footer  # noqa: E402


@dataclass(frozen=True)
class Step:
    """What one source has."""

    number: int
    title: str
    magic: bool  #: nibbles become bf16 by OR, the scale by one dot product, halves are written in place
    prefetch: bool  #: the next K step's loads are issued while this one computes
    exact: bool  #: descriptors end where the matrices end; the loads need no guards
    banks: bool  #: B's fragments start in a VGPR bank of their own
    soffset: bool  #: the K offset of the loads is an SGPR

    @property
    def b(self) -> int:
        """First register of B's fragments."""
        return 50 if self.banks else 51

    @property
    def vgprs(self) -> int:
        return 120 if self.prefetch else 115


TITLES = (
    "the baseline",
    "nibbles to bf16 by magic constants (dequant-magic-constant, opsel-pack-no-perm)",
    "pipelined global loads (swp-global-prefetch)",
    "exact buffer descriptors (exact-buffer-descriptor)",
    "WMMA operands in different VGPR banks (wmma-bank-split)",
    "K offsets in SGPRs (scalar-load-offset)",
)
STEPS = tuple(Step(n, TITLES[n], *(n >= i for i in range(1, 6))) for n in range(6))


def q(first: int, n: int = 4) -> str:
    """A register range: q(51) is v[51:54]."""
    return f"v[{first}:{first + n - 1}]"


def columns(lines: Iterable[str]) -> str:
    """Instructions indented by a tab, comments behind them in one column; labels and comments as they are."""
    out = []
    for line in delayed(lines):
        if line.startswith(("//", ".L")) or line.endswith(":") or not line:
            out.append(line)
            continue
        code, _, comment = line.partition(" // ")
        out.append(f"\t{code:<64}// {comment}" if comment else f"\t{code}")
    return "\n".join(out) + "\n"


def registers(operands: str) -> set[int]:
    """The VGPRs that operands name."""
    out = {int(r) for r in re.findall(r"\bv(\d+)\b", operands)}
    for first, last in re.findall(r"\bv\[(\d+):(\d+)\]", operands):
        out |= set(range(int(first), int(last) + 1))
    return out


def delayed(lines: Iterable[str]) -> Iterator[str]:
    """``lines``, with an s_delay_alu where a VALU instruction reads the result of the one before."""
    before, written = "", set[int]()
    for line in lines:
        name, _, operands = line.partition(" // ")[0].partition(" ")
        if name.startswith("v_"):
            to, _, sources = operands.partition(",")
            if written & registers(sources) and not name.startswith("v_wmma"):
                kind = "TRANS32_DEP_1" if before.startswith("v_rcp") else "VALU_DEP_1"
                yield f"s_delay_alu instid0({kind})"
            before, written = name, set() if name.startswith(("v_cmp", "v_wmma")) else registers(to)
        elif line and not line.startswith("//"):
            written = set()
        yield line


def header(s: Step) -> str:
    loads = (
        f"v46-49, v115-118, v119, v{82 if s.banks else 50} A's two loads, W's, the scale: one K step ahead"
        if s.prefetch
        else "v51-54, v55-58, v59, v60 A's two loads, W's, the scale (B's fragments come later)"
    )
    return f"""\
; step: {s.title}
// w4a16_ladder/step{s.number}.s (written by generate.py)
//
// C[M,N] = A[M,K] @ dequant(W)[N,K]^T for RDNA3.5 (gfx1151), wave32. A and C are bf16, W holds eight 4-bit
// codes n in an int32, and dequant is (n - 8) * scale[n, k / group_size], the scale bf16.
// Element j of eight is at bit 4 (j / 2) + 16 (j % 2) of its int32.
//
//   workgroup   256 threads = 8 waves, 128 x 64 of C; waves 4 (M) x 2 (N)
//   wave        32 x 32 of C = 2 x 2 WMMA tiles of 16 x 16
//   K step      32; the 8 KB of LDS hold A's 128 x 32 tile, then B's 64 x 32
//   grid        x = ceil(M / 128), y = ceil(N / 64)
//
// LDS is dynamic (8192 bytes). Rows have 64 bytes; 16-byte chunk c of row r lies at chunk c ^ (r / 2 % 4), so
// that eight lanes' 16 bytes fall in eight different groups of four banks.
//
// kernarg   0 A   8 W   16 scales   24 packed scales (unused)   32 C   40 M   44 N   48 K   52 K/8
//           56 W's row in int32   60 groups of a row   64 group size   72, 80 unused
//
// s0:1 kernarg   s2, s3 workgroup x, y   s4:7 and s36:37 pointers, then free
// s8:11 descriptor of the scales   s12:15 A   s16:19 W   s20:23 C
// s24 M   s25 N   s26 K   s27 K/8   s28 W's row   s29 groups   s30 group size
// s31 k of the next load   s32 2^32 / group size   s33 the scale's group   s38:45 scratch
// s35, s46 nibble masks   s48, s49, s50 lanes whose row of A, of A + 64, of W exists
// v0 thread   v1-32 accumulators, tile (i,j) at 1 + 16 i + 8 j
// v33, v34 offsets of this thread's rows of A   v35 of W   v36 of the scale   v37 LDS write address
// v38-41 LDS read addresses of A's four chunks   v42-45 of B's
// v{s.b}-{s.b + 31} fragments of B, v83-114 of A: (tile t, half h of K) at 16 h + 8 t
// {loads}
"""


def begin(s: Step) -> list[str]:
    """Arguments, addresses, descriptors, accumulators."""
    out = [
        "// arguments",
        "s_load_b128 s[4:7], s[0:1], 0x0 // A, W",
        "s_load_b64 s[8:9], s[0:1], 0x10 // scales",
        "s_load_b64 s[36:37], s[0:1], 0x20 // C",
        "s_load_b128 s[24:27], s[0:1], 0x28 // M, N, K, K/8",
        "s_load_b64 s[28:29], s[0:1], 0x38 // W's row, groups",
        "s_load_b32 s30, s[0:1], 0x40 // group size",
        "",
        "// This thread stages 16 bytes of A's row thread / 4 and of the row 64 below, and one int32 (eight",
        "// codes) of W's row thread / 4.",
        "v_lshlrev_b32_e32 v37, 4, v0",
        "v_lshlrev_b32_e32 v61, 1, v0",
        "v_and_b32_e32 v61, 48, v61",
        "v_xor_b32_e32 v37, v37, v61 // (row 64 + chunk 16) ^ swizzle",
        "",
        "// Lane % 16 is the fragment's row: 32 (wave / 2) + lane % 16 of A, 32 (wave % 2) + lane % 16 of B.",
        "v_and_b32_e32 v62, 15, v0",
        "v_lshrrev_b32_e32 v63, 6, v0",
        "v_bfe_u32 v64, v0, 5, 1",
        "v_lshl_or_b32 v63, v63, 5, v62",
        "v_lshl_or_b32 v64, v64, 5, v62",
        "v_bfe_u32 v62, v0, 1, 2 // row / 2 % 4: the same for both",
        "v_lshlrev_b32_e32 v62, 4, v62",
        "v_lshl_or_b32 v38, v63, 6, v62",
        "v_lshl_or_b32 v42, v64, 6, v62",
    ]
    for c in (1, 2, 3):
        out.append(f"v_xor_b32_e32 v{38 + c}, {16 * c}, v38")
        out.append(f"v_xor_b32_e32 v{42 + c}, {16 * c}, v42")
    out += [
        "",
        "s_lshl_b32 s2, s2, 7 // first row of C",
        "s_lshl_b32 s3, s3, 6 // first column",
        "v_lshrrev_b32_e32 v61, 2, v0",
        "v_and_b32_e32 v62, 3, v0",
        "v_add_nc_u32_e32 v63, s2, v61 // row of A",
        "v_add_nc_u32_e32 v64, 64, v63",
        "v_add_nc_u32_e32 v65, s3, v61 // row of W",
        "s_waitcnt lgkmcnt(0)",
    ]
    if not s.exact:
        out += [
            "v_cmp_gt_i32_e64 s48, s24, v63",
            "v_cmp_gt_i32_e64 s49, s24, v64",
            "v_cmp_gt_i32_e64 s50, s25, v65",
        ]
    out += [
        "s_lshl_b32 s38, s26, 1 // bytes of a row of A",
        "s_lshl_b32 s39, s28, 2 // of W",
        "s_lshl_b32 s40, s29, 1 // of the scales",
        "v_mul_lo_u32 v33, v63, s38",
        "v_mul_lo_u32 v34, v64, s38",
        "v_mul_lo_u32 v35, v65, s39",
        "v_mul_lo_u32 v36, v65, s40",
        "v_lshl_add_u32 v33, v62, 4, v33",
        "v_lshl_add_u32 v34, v62, 4, v34",
        "v_lshl_add_u32 v35, v62, 2, v35",
        "",
        "// raw buffers"
        + ("" if not s.exact else ", each as long as its matrix: a row that does not exist reads zeros"),
        "s_mov_b32 s12, s4",
        "s_and_b32 s13, s5, 0xffff",
        "s_mul_i32 s14, s24, s38" if s.exact else "s_mov_b32 s14, 0x7ffffffe",
        "s_mov_b32 s15, 0x31027000",
        "s_mov_b32 s16, s6",
        "s_and_b32 s17, s7, 0xffff",
        "s_mul_i32 s18, s25, s39" if s.exact else "s_mov_b32 s18, 0x7ffffffe",
        "s_mov_b32 s19, 0x31027000",
        "s_and_b32 s9, s9, 0xffff",
        "s_mul_i32 s10, s25, s40" if s.exact else "s_mov_b32 s10, 0x7ffffffe",
        "s_mov_b32 s11, 0x31027000",
        "s_mov_b32 s20, s36",
        "s_and_b32 s21, s37, 0xffff",
        "s_mov_b32 s22, 0x7ffffffe",
        "s_mov_b32 s23, 0x31027000",
        "",
        "// 2^32 / group size, a little less, for the division in the loop",
        "v_cvt_f32_u32_e32 v61, s30",
        "v_rcp_iflag_f32_e32 v61, v61",
        "v_mul_f32_e32 v61, 0x4f7ffffe, v61",
        "v_cvt_u32_f32_e32 v61, v61",
        "v_readfirstlane_b32 s32, v61",
    ]
    if s.magic:
        out += ["s_mov_b32 s35, 15", "s_mov_b32 s46, 0xf0000"]
    out += ["s_mov_b32 s31, 0", ""]
    out += [f"v_mov_b32_e32 v{r}, 0" for r in range(1, 33)]
    return out


def group() -> list[str]:
    """s33 = s31 / s30, for any signs."""
    return [
        "// the scale's group: k / group size",
        "s_abs_i32 s38, s31",
        "s_abs_i32 s39, s30",
        "s_mul_hi_u32 s33, s38, s32",
        "s_mul_i32 s40, s33, s39",
        "s_sub_i32 s40, s38, s40",
        "s_add_i32 s41, s33, 1",
        "s_sub_i32 s42, s40, s39",
        "s_cmp_ge_u32 s40, s39",
        "s_cselect_b32 s33, s41, s33",
        "s_cselect_b32 s40, s42, s40",
        "s_add_i32 s41, s33, 1",
        "s_cmp_ge_u32 s40, s39",
        "s_cselect_b32 s33, s41, s33",
        "s_xor_b32 s43, s31, s30",
        "s_ashr_i32 s43, s43, 31",
        "s_xor_b32 s33, s33, s43",
        "s_sub_i32 s33, s33, s43",
    ]


def load_registers(s: Step) -> tuple[int, int, int, int]:
    """First registers of A's row, of the row 64 below, of W, and of the scale."""
    return (115, 46, 119, 82 if s.banks else 50) if s.prefetch else (51, 55, 59, 60)


def loads(s: Step) -> list[str]:
    """The four loads of K step s31, and its increment."""
    a0, a1, w, scale = load_registers(s)
    out = group()
    if s.soffset:
        out += [
            "// K step s31: byte offsets in A, in W, in the scales",
            "s_lshl_b32 s44, s31, 1",
            "s_lshr_b32 s45, s31, 1",
            "s_lshl_b32 s33, s33, 1",
            f"buffer_load_b32 v{w}, v35, s[16:19], s45 offen",
            f"buffer_load_b128 {q(a0)}, v33, s[12:15], s44 offen",
            f"buffer_load_b128 {q(a1)}, v34, s[12:15], s44 offen",
            f"buffer_load_u16 v{scale}, v36, s[8:11], s33 offen",
        ]
    else:
        out += ["v_lshl_add_u32 v64, s33, 1, v36"]
        if s.exact:
            address = ("v35", "v33", "v34", "v64")
        else:
            out += [
                "// a lane outside the matrix loads from an offset that no buffer has",
                "v_and_b32_e32 v61, 3, v0",
                "v_lshl_add_u32 v61, v61, 3, s31",
                "v_cmp_gt_i32_e64 s41, s26, v61",
                "s_and_b32 s38, s41, s48",
                "s_and_b32 s39, s41, s49",
                "s_and_b32 s40, s41, s50",
                "v_cndmask_b32_e64 v61, 0x80000000, v35, s40",
                "v_cndmask_b32_e64 v62, 0x80000000, v33, s38",
                "v_cndmask_b32_e64 v63, 0x80000000, v34, s39",
                "v_cndmask_b32_e64 v64, 0x80000000, v64, s40",
            ]
            address = ("v61", "v62", "v63", "v64")
        out += [
            f"buffer_load_b32 v{w}, {address[0]}, s[16:19], 0 offen",
            f"buffer_load_b128 {q(a0)}, {address[1]}, s[12:15], 0 offen",
            f"buffer_load_b128 {q(a1)}, {address[2]}, s[12:15], 0 offen",
            f"buffer_load_u16 v{scale}, {address[3]}, s[8:11], 0 offen",
            "v_add_nc_u32_e32 v35, 16, v35",
            "v_add_nc_u32_e32 v33, 64, v33",
            "v_add_nc_u32_e32 v34, 64, v34",
        ]
    return out


def unpack(s: Step) -> list[str]:
    """Of the int32: eight integers in v61-68, or (magic) the three shifted words."""
    w = load_registers(s)[2]
    if s.magic:
        return [
            "// the pairs of codes at bits 0 and 16",
            *(f"v_lshrrev_b32_e32 v{61 + i}, {4 * i}, v{w}" for i in (1, 2, 3)),
        ]
    out = ["// eight codes"]
    shifts = [4 * (j // 2) + 16 * (j % 2) for j in range(8)]
    out += [f"v_lshrrev_b32_e32 v{61 + j}, {shifts[j]}, v{w}" for j in range(1, 8)]
    out += [f"v_and_b32_e32 v{61 + j}, 15, v{61 + j if j else w}" for j in range(8)]
    out += [f"v_add_nc_u32_e32 v{61 + j}, -8, v{61 + j}" for j in range(8)]
    return out


def dequant(s: Step) -> list[str]:
    """Eight bf16 in v51-54."""
    _, _, w, scale = load_registers(s)
    out = ["// times the scale, to bf16", f"v_lshl_or_b32 v77, v{scale}, 16, v{scale} // (scale, scale)"]
    if s.magic:
        words = [w, 62, 63, 64]
        out += ["// 0x4300 | n is 128 + n, 0xc308 is -136"]
        out += [f"v_and_or_b32 v{65 + i}, v{words[i]}, s35, 0xc3084300" for i in range(4)]
        out += [f"v_and_or_b32 v{69 + i}, v{words[i]}, s46, 0x4300c308" for i in range(4)]
        out += [f"v_dot2_bf16_bf16 v{51 + i}, v{65 + i}, v77, 0" for i in range(4)]
        out += [f"v_dot2_bf16_bf16 v{51 + i}, v{69 + i}, v77, 0 op_sel:[0,0,0,1]" for i in range(4)]
        return out
    out += [f"v_cvt_f32_i32_e32 v{61 + j}, v{61 + j}" for j in range(8)]
    out += [f"v_dot2_bf16_bf16 v{69 + j}, v{61 + j}, v77, 0" for j in range(8)]
    out += [f"v_perm_b32 v{51 + i}, v{70 + 2 * i}, v{69 + 2 * i}, 0x5040100" for i in range(4)]
    return out


def matrix(s: Step) -> list[str]:
    """B's fragments and the eight WMMAs: a wait lets each pair start with its fragment."""
    out = ["// B's fragments, and C"]
    for h in (0, 1):
        for j in (0, 1):
            for c in (0, 1):
                at = s.b + 16 * h + 8 * j + 4 * c
                offset = f" offset:{1024 * j}" if j else ""
                out.append(f"ds_load_b128 {q(at)}, v{42 + 2 * h + c}{offset}")
    for h in (0, 1):
        for j in (0, 1):
            out.append(f"s_waitcnt lgkmcnt({6 - 4 * h - 2 * j})")
            for i in (0, 1):
                acc = q(1 + 16 * i + 8 * j, 8)
                a, b = q(83 + 16 * h + 8 * i, 8), q(s.b + 16 * h + 8 * j, 8)
                out.append(f"v_wmma_f32_16x16x16_bf16 {acc}, {a}, {b}, {acc}")
    return out


def loop(s: Step) -> list[str]:
    a0, a1, _, _ = load_registers(s)
    out = []
    if s.prefetch:
        out += ["// the first K step's loads", *loads(s), ""]
    out += [".p2align 6", ".Lk_step:"]
    if not s.prefetch:
        out += [*loads(s), "s_add_i32 s31, s31, 32"]
    out += [
        "s_waitcnt vmcnt(0)",
        "s_barrier // everybody has read the last B",
        f"ds_store_b128 v37, {q(a0)}",
        f"ds_store_b128 v37, {q(a1)} offset:4096",
        *unpack(s),
        "s_waitcnt lgkmcnt(0)",
        "s_barrier // A's tile is complete",
    ]
    for h in (0, 1):
        for i in (0, 1):
            for c in (0, 1):
                offset = f" offset:{1024 * i}" if i else ""
                out.append(f"ds_load_b128 {q(83 + 16 * h + 8 * i + 4 * c)}, v{38 + 2 * h + c}{offset}")
    out += dequant(s)
    if s.prefetch:
        out += ["", "// the next K step's loads; the last iteration's are not used"]
        if s.soffset:  # the range check does not see the SGPR: the last step is loaded again instead
            out += ["s_add_i32 s34, s31, 32", "s_sub_i32 s38, s26, 32", "s_min_i32 s31, s34, s38", *loads(s)]
        else:
            out += ["s_add_i32 s31, s31, 32", *loads(s)]
        out += [""]
    out += [
        "s_waitcnt lgkmcnt(0)",
        "s_barrier // everybody has read A",
        f"ds_store_b128 v37, {q(51)}",
        "s_waitcnt lgkmcnt(0)",
        "s_barrier // B's tile is complete",
        *matrix(s),
        f"s_cmp_lt_i32 s{34 if s.soffset else 31}, s26",
        "s_cbranch_scc1 .Lk_step",
    ]
    return out


def end() -> list[str]:
    """C to bf16, nearest even, NaN kept; a lane outside C stores nowhere."""
    out = [
        "// C: row 128 x + 32 (wave / 2) + 16 i + 2 r + lane / 16,",
        "// column 64 y + 32 (wave % 2) + 16 j + lane % 16",
        "v_and_b32_e32 v62, 15, v0",
        "v_bfe_u32 v63, v0, 4, 1",
        "v_lshrrev_b32_e32 v64, 6, v0",
        "v_bfe_u32 v65, v0, 5, 1",
        "v_lshl_or_b32 v63, v64, 5, v63",
        "v_lshl_or_b32 v62, v65, 5, v62",
        "v_add_nc_u32_e32 v63, s2, v63 // row",
        "v_add_nc_u32_e32 v62, s3, v62 // column",
        "v_add_nc_u32_e32 v64, 16, v62",
        "v_cmp_gt_i32_e64 s48, s25, v62",
        "v_cmp_gt_i32_e64 s49, s25, v64",
        "s_lshl_b32 s38, s25, 1 // bytes of a row",
        "v_mul_lo_u32 v65, v63, s38",
        "v_lshl_add_u32 v65, v62, 1, v65",
        "s_lshl_b32 s38, s38, 1 // of two",
        "s_movk_i32 s39, 0x7fff",
    ]
    for i in (0, 1):
        for r in range(8):
            x, y = 1 + 16 * i + r, 9 + 16 * i + r
            out += [
                f"// rows {16 * i + 2 * r} and {16 * i + 2 * r + 1}",
                "v_cmp_gt_i32_e64 s40, s24, v63",
                "s_and_b32 s41, s40, s48",
                "s_and_b32 s42, s40, s49",
                "v_cndmask_b32_e64 v66, 0x80000000, v65, s41",
                "v_cndmask_b32_e64 v67, 0x80000000, v65, s42",
            ]
            out += [
                f"v_bfe_u32 v68, v{x}, 16, 1",
                f"v_bfe_u32 v69, v{y}, 16, 1",
                f"v_cmp_o_f32_e64 s43, v{x}, v{x}",
                f"v_cmp_o_f32_e64 s44, v{y}, v{y}",
                f"v_add3_u32 v68, v68, v{x}, s39",
                f"v_add3_u32 v69, v69, v{y}, s39",
                "v_lshrrev_b32_e32 v68, 16, v68",
                "v_lshrrev_b32_e32 v69, 16, v69",
                "v_cndmask_b32_e64 v68, 0x7fff, v68, s43",
                "v_cndmask_b32_e64 v69, 0x7fff, v69, s44",
            ]
            out += [
                "buffer_store_b16 v68, v66, s[20:23], 0 offen",
                "buffer_store_b16 v69, v67, s[20:23], 0 offen offset:32",
            ]
            if (i, r) != (1, 7):
                out += ["v_add_nc_u32_e32 v63, 2, v63", "v_add_nc_u32_e32 v65, s38, v65"]
    return [*out, "s_nop 0", "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", "s_endpgm"]


def source(s: Step) -> str:
    """The whole text of one step."""
    head = f"""
	.amdgcn_target "amdgcn-amd-amdhsa--gfx1151"
	.text
	.globl	{SYMBOL}
	.p2align 8
	.type	{SYMBOL},@function

{SYMBOL}:
"""
    return (
        header(s) + head + "\n".join((columns(begin(s)), columns(loop(s)), columns(end()))) + footer(s.vgprs)
    )


def main(argv: list[str]) -> int:
    stale = []
    for s in STEPS:
        path, text = HERE / f"step{s.number}.s", source(s)
        if not path.exists() or path.read_text() != text:
            stale.append(path.name)
            if "--check" not in argv:
                path.write_text(text)
    print(f"{'differ' if '--check' in argv else 'written'}: {', '.join(stale) or 'none'}")
    return int(bool(stale) and "--check" in argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
