"""Writes the three MXFP4 GEMMs of this directory: what they share is here once.

    python samples/mxfp4_gfx950/generate.py [--check]

The sources are committed: they are what one reads and edits. ``--check`` only compares (exit 1: they differ).
"""

# ruff: noqa: E501  the assembly keeps its own line length

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

sys.path.insert(0, str(HERE))

from mxfp4_parts import BEGIN, DESCRIPTORS, FOOTER, HEADER, QUANT, REGISTERS, STORE  # noqa: E402

# ------------------------------------------------------------------- one wave, no LDS

REGISTERS_ONLY = (
    """\
	.set C, 8				// accumulators: 8-11 columns 0-15, 12-15 columns 16-31
	.set T, 16
"""
    + QUANT
    + """
mxfp4_registers:
"""
    + BEGIN
    + """
	// Lane l loads row l % 16 of A, values 32 (l / 16) to + 31 of each 128, and its 16 bytes of B's fragments.
	v_and_b32_e32 v4, 15, v0
	v_lshrrev_b32_e32 v5, 4, v0
	s_lshl_b32 s3, s3, 4			// first row of C
"""
    + DESCRIPTORS
    + """
	v_add_u32_e32 v1, s3, v4
	v_mul_lo_u32 v1, v1, s38
	v_lshl_add_u32 v1, v5, 6, v1
	s_mul_i32 s42, s2, s14			// 32 columns: 16 K bytes of B, K bytes of scales
	s_lshl_b32 s43, s42, 4
	v_lshlrev_b32_e32 v2, 4, v0
	v_add_u32_e32 v2, s43, v2
	s_lshl_b32 s43, s14, 3			// 16 columns of B
	v_add_u32_e32 v3, s43, v2
	v_lshlrev_b32_e32 v6, 2, v0
	v_add_u32_e32 v6, s42, v6

.Lk_step:
	LOAD_A 20, 0
	buffer_load_dwordx4 v[52:55], v2, s[20:23], s35 offen
	buffer_load_dwordx4 v[56:59], v3, s[20:23], s35 offen
	buffer_load_dword v7, v6, s[24:27], s36 offen
	LOAD_A 36, 256
	buffer_load_dwordx4 v[60:63], v2, s[20:23], s35 offen offset:1024
	buffer_load_dwordx4 v[64:67], v3, s[20:23], s35 offen offset:1024
	s_add_u32 s34, s34, 512
	s_add_u32 s35, s35, 2048
	s_add_u32 s36, s36, 256
	s_sub_u32 s37, s37, 1

	s_waitcnt vmcnt(9)
	QUANT 68, 76, 20
	s_nop 0				// from a VALU result to an MFMA: two wait states
	s_waitcnt vmcnt(6)
	MMA 0, 0, 68, 76, 52, 7
	MMA 1, 0, 68, 76, 56, 7
	s_waitcnt vmcnt(2)
	QUANT 72, 77, 36
	s_nop 0
	s_waitcnt vmcnt(0)
	MMA 0, 1, 72, 77, 60, 7
	MMA 1, 1, 72, 77, 64, 7
	s_cmp_lg_u32 s37, 0
	s_cbranch_scc1 .Lk_step

	s_lshl_b32 s2, s2, 5			// first column of C
	v_lshlrev_b32_e32 v5, 2, v5
	v_add_u32_e32 v5, s3, v5
	v_add_u32_e32 v4, s2, v4
"""
    + STORE.format(row=5, column=4)
)

# ------------------------------------------------------------------- four waves, one tile of 32 x 64

FOUR_WAVES = """\
	// Wave w quantises rows 16 (w / 2) and half w % 2 of each K step of 256; it computes rows 16 (w / 2) and
	// columns 32 (w % 2). Lane l is row l % 16, values 32 (l / 16) to + 31 of its half.
	v_and_b32_e32 v2, 63, v0		// lane
	v_lshrrev_b32_e32 v3, 6, v0		// wave
	v_and_b32_e32 v4, 15, v0
	v_bfe_u32 v5, v0, 4, 2			// lane / 16
	v_lshrrev_b32_e32 v6, 1, v3		// wave / 2
	v_and_b32_e32 v7, 1, v3			// wave % 2
	s_lshl_b32 s3, s3, 5			// first row of C
"""

A_ADDRESS = """\
	v_lshl_add_u32 v1, v6, 4, v4
	v_add_u32_e32 v1, s3, v1
	v_mul_lo_u32 v1, v1, s38
	v_lshl_add_u32 v1, v5, 6, v1
	v_lshl_add_u32 v1, v7, 8, v1
"""

COLUMNS = """\
	s_lshl_b32 s2, s2, 6			// first column of C
	v_lshl_add_u32 v4, v7, 5, v4
	v_add_u32_e32 v4, s2, v4
	v_lshlrev_b32_e32 v5, 2, v5
	v_lshl_add_u32 v5, v6, 4, v5
	v_add_u32_e32 v5, s3, v5
"""

PIPELINED = (
    """\
	.set C, 16				// accumulators: 16-19 columns 0-15, 20-23 columns 16-31
	.set T, 24
	.set LDS_B, 4*1024			// after A's four fragments: B's eight
	.set LDS_S, LDS_B+8*1024		// A's scales, a byte a thread
	.set BUFFER, LDS_S+256

"""
    + QUANT
    + """
// The loads of one K step: v[r:r+15] A, v[r+16:r+23] B, v[r+24] B's scales. After the last step the offsets stop:
// it is loaded again, and not used.
.macro LOADS r
	LOAD_A \\r, 0
	buffer_load_dwordx4 v[\\r+16:\\r+19], v8, s[20:23], s35 offen
	buffer_load_dwordx4 v[\\r+20:\\r+23], v8, s[20:23], s35 offen offset:1024
	buffer_load_dword v[\\r+24], v9, s[24:27], s36 offen
	s_sub_u32 s44, s44, 1
	s_cmp_gt_i32 s44, 0
	s_cselect_b32 s45, 512, 0
	s_cselect_b32 s46, 2048, 0
	s_cselect_b32 s47, 256, 0
	s_add_u32 s34, s34, s45
	s_add_u32 s35, s35, s46
	s_add_u32 s36, s36, s47
.endm

// A K step's loads into LDS buffer p: B as it is, A quantised; B's scales stay in v[14+p].
.macro PUT p, r
	ds_write_b128 v10, v[\\r+16:\\r+19] offset:\\p*BUFFER+LDS_B
	ds_write_b128 v10, v[\\r+20:\\r+23] offset:\\p*BUFFER+LDS_B+4096
	v_mov_b32_e32 v[14+\\p], v[\\r+24]
	QUANT 84, 88, \\r
	ds_write_b128 v10, v[84:87] offset:\\p*BUFFER
	ds_write_b8 v0, v88 offset:\\p*BUFFER+LDS_S
	s_waitcnt lgkmcnt(0)
	s_barrier
.endm

// The K step in LDS buffer p: fragments of A v92-99 (scales v90, v91), of B v100-115
.macro COMPUTE p
	ds_read_b128 v[92:95], v11 offset:\\p*BUFFER
	ds_read_u8 v90, v12 offset:\\p*BUFFER+LDS_S
	ds_read_b128 v[100:103], v13 offset:\\p*BUFFER+LDS_B
	ds_read_b128 v[104:107], v13 offset:\\p*BUFFER+LDS_B+1024
	ds_read_b128 v[96:99], v11 offset:\\p*BUFFER+1024
	ds_read_u8 v91, v12 offset:\\p*BUFFER+LDS_S+64
	ds_read_b128 v[108:111], v13 offset:\\p*BUFFER+LDS_B+4096
	ds_read_b128 v[112:115], v13 offset:\\p*BUFFER+LDS_B+5120
	s_waitcnt lgkmcnt(5)
	MMA 0, 0, 92, 90, 100, 14+\\p
	s_waitcnt lgkmcnt(4)
	MMA 1, 0, 92, 90, 104, 14+\\p
	s_waitcnt lgkmcnt(1)
	MMA 0, 1, 96, 91, 108, 14+\\p
	s_waitcnt lgkmcnt(0)
	MMA 1, 1, 96, 91, 112, 14+\\p
	s_sub_u32 s37, s37, 1
	s_cmp_eq_u32 s37, 0
.endm

mxfp4_pipelined:
"""
    + BEGIN
    + FOUR_WAVES
    + DESCRIPTORS
    + A_ADDRESS
    + """
	// Wave w loads column group w of B (16 columns): both halves, 16 bytes a lane.
	s_mul_i32 s42, s2, s14
	s_lshl_b32 s42, s42, 5			// 64 columns: 32 K bytes of B
	s_lshl_b32 s43, s14, 3			// 16 columns: 8 K
	v_mul_lo_u32 v8, v3, s43
	v_lshl_add_u32 v8, v2, 4, v8
	v_add_u32_e32 v8, s42, v8
	s_lshl_b32 s43, s2, 1			// 32 columns: K bytes of scales
	v_add_u32_e32 v9, s43, v7
	v_mul_lo_u32 v9, v9, s14
	v_lshl_add_u32 v9, v2, 2, v9
	// LDS: where the thread writes, and where the wave's fragments of A, their scales, and of B begin
	v_lshlrev_b32_e32 v10, 4, v0
	v_lshlrev_b32_e32 v13, 4, v2
	v_lshl_add_u32 v11, v6, 11, v13
	v_lshl_add_u32 v12, v6, 7, v2
	v_lshl_add_u32 v13, v7, 11, v13

	s_mov_b32 s44, s37			// K steps not loaded yet
	LOADS 32
	LOADS 58
	s_waitcnt vmcnt(7)
	PUT 0, 32

	// Two K steps: while one is multiplied, the next is quantised, and the one after it loaded.
.Lk_step:
	LOADS 32
	COMPUTE 0
	s_cbranch_scc1 .Ldone
	s_waitcnt vmcnt(7)
	PUT 1, 58
	LOADS 58
	COMPUTE 1
	s_cbranch_scc1 .Ldone
	s_waitcnt vmcnt(7)
	PUT 0, 32
	s_branch .Lk_step

.Ldone:
"""
    + COLUMNS
    + STORE.format(row=5, column=4)
)

PREQUANTISED = (
    """\
	.set C, 16				// accumulators: 16-19 columns 0-15, 20-23 columns 16-31
	.set T, 24

"""
    + QUANT
    + """
// A's next K step, 64 bytes a lane: v[r:r+15]; after the last step it is loaded again, and not used.
.macro NEXT_A r
	LOAD_A \\r, 0
	s_sub_u32 s44, s44, 1
	s_cmp_gt_i32 s44, 0
	s_cselect_b32 s45, 512, 0
	s_add_u32 s34, s34, s45
.endm

// A's K step into LDS. SCC: it was the last.
.macro PUT_A r
	QUANT 64, 68, \\r
	ds_write_b128 v10, v[64:67]
	ds_write_b8 v14, v68
	v_add_u32_e32 v10, 0x1000, v10
	v_add_u32_e32 v14, 0x100, v14
	s_sub_u32 s38, s38, 1
	s_cmp_eq_u32 s38, 0
.endm

// The next K step of B and its scales: v[r:r+15] (column group 0, halves 0 and 1, then group 1), v[r+16]
.macro NEXT_B r
	buffer_load_dwordx4 v[\\r:\\r+3], v8, s[20:23], s35 offen
	buffer_load_dwordx4 v[\\r+4:\\r+7], v8, s[20:23], s35 offen offset:1024
	buffer_load_dwordx4 v[\\r+8:\\r+11], v9, s[20:23], s35 offen
	buffer_load_dwordx4 v[\\r+12:\\r+15], v9, s[20:23], s35 offen offset:1024
	buffer_load_dword v[\\r+16], v13, s[24:27], s36 offen
	s_sub_u32 s44, s44, 1
	s_cmp_gt_i32 s44, 0
	s_cselect_b32 s46, 2048, 0
	s_cselect_b32 s47, 256, 0
	s_add_u32 s35, s35, s46
	s_add_u32 s36, s36, s47
.endm

// A K step: A's fragments from LDS, B's in v[r:r+16], whose loads are all but the 5 latest. SCC: it was the last.
.macro COMPUTE r
	ds_read_b128 v[108:111], v11
	ds_read_u8 v69, v12
	ds_read_b128 v[112:115], v11 offset:1024
	ds_read_u8 v70, v12 offset:64
	v_add_u32_e32 v11, 0x1000, v11
	v_add_u32_e32 v12, 0x100, v12
	s_waitcnt vmcnt(5) lgkmcnt(2)
	MMA 0, 0, 108, 69, \\r, \\r+16
	MMA 1, 0, 108, 69, \\r+8, \\r+16
	s_waitcnt lgkmcnt(0)
	MMA 0, 1, 112, 70, \\r+4, \\r+16
	MMA 1, 1, 112, 70, \\r+12, \\r+16
	s_sub_u32 s37, s37, 1
	s_cmp_eq_u32 s37, 0
.endm

mxfp4_prequantised:
"""
    + BEGIN
    + FOUR_WAVES
    + DESCRIPTORS
    + A_ADDRESS
    + """
	// B: the wave's two column groups, 16 bytes a lane
	s_mul_i32 s42, s2, s14
	s_lshl_b32 s42, s42, 5			// 64 columns: 32 K bytes of B
	s_lshl_b32 s43, s14, 4			// 32 columns: 16 K
	v_mul_lo_u32 v8, v7, s43
	v_lshl_add_u32 v8, v2, 4, v8
	v_add_u32_e32 v8, s42, v8
	s_lshl_b32 s43, s14, 3
	v_add_u32_e32 v9, s43, v8
	s_lshl_b32 s43, s2, 1			// 32 columns: K bytes of scales
	v_add_u32_e32 v13, s43, v7
	v_mul_lo_u32 v13, v13, s14
	v_lshl_add_u32 v13, v2, 2, v13
	// LDS: four fragments of A for each K step (16 K bytes), then their scales (K bytes)
	v_lshlrev_b32_e32 v10, 4, v0
	v_lshlrev_b32_e32 v11, 4, v2
	v_lshl_add_u32 v11, v6, 11, v11
	s_lshl_b32 s43, s14, 4
	v_add_u32_e32 v14, s43, v0
	v_lshl_add_u32 v12, v6, 7, v2
	v_add_u32_e32 v12, s43, v12

	// All of A's 32 rows, once
	s_mov_b32 s38, s37
	s_mov_b32 s44, s37
	NEXT_A 32
.Lquantise:
	NEXT_A 48
	s_waitcnt vmcnt(4)
	PUT_A 32
	s_cbranch_scc1 .Lquantised
	NEXT_A 32
	s_waitcnt vmcnt(4)
	PUT_A 48
	s_cbranch_scc0 .Lquantise
.Lquantised:
	s_mov_b32 s44, s37
	NEXT_B 72
	s_waitcnt lgkmcnt(0)
	s_barrier				// the only one: from here on A is read only

.Lk_step:
	NEXT_B 90
	COMPUTE 72
	s_cbranch_scc1 .Ldone
	NEXT_B 72
	COMPUTE 90
	s_cbranch_scc0 .Lk_step

.Ldone:
"""
    + COLUMNS
    + STORE.format(row=5, column=4)
)

TILE = """\
//   workgroup   256 threads = 4 waves, 32 x 64 of C; waves 2 (M) x 2 (N)
//   wave        16 x 32 of C = two MFMA tiles of 16 x 16
//   K step      256 = two MFMAs of 128 for each tile
//   grid        x = N / 64, y = ceil(M / 32)
"""

KERNELS = {
    "mxfp4_registers": (
        "in registers only", REGISTERS_ONLY, 32, 64, 78, 0,
        """\
//   workgroup   64 threads = 1 wave, 16 x 32 of C = two MFMA tiles of 16 x 16
//   K step      256 = two MFMAs of 128 for each tile; a lane loads exactly the fragments that it holds
//   grid        x = N / 32, y = ceil(M / 16)
// Neither LDS nor barrier: every wave quantises its 16 rows of A itself, again for each 32 columns.
""",
    ),
    "mxfp4_pipelined": (
        "pipelined through LDS", PIPELINED, 64, 256, 116, 2 * (12 * 1024 + 256),
        TILE + """\
// Two LDS buffers and two sets of registers: the loads of K step t + 2 are in flight while t is multiplied and
// t + 1 quantised and written; one barrier a step. Each wave quantises a quarter of the step's A for all.
""",
    ),
    "mxfp4_prequantised": (
        "A quantised before the loop", PREQUANTISED, 64, 256, 116, 0,
        TILE + """\
// The workgroup's 32 rows of A are quantised once and stay in LDS (17 K bytes, dynamic). The loop loads B straight
// into registers, one K step ahead, and has no barrier.
""",
    ),
}  # fmt: skip


def source(name: str) -> str:
    """The whole text of one kernel."""
    title, body, n, threads, vgprs, lds, structure = KERNELS[name]
    head = f"""
	.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
	.text
	.globl	{name}
	.p2align 8
	.type	{name},@function

"""
    return (
        HEADER.format(name=name, title=title, n=n, structure=structure)
        + REGISTERS
        + head
        + body
        + FOOTER.format(name=name, lds=lds, vgprs=vgprs, accum=-(-vgprs // 4) * 4, threads=threads)
    )


def main(argv: list[str]) -> int:
    stale = []
    for name in KERNELS:
        path, text = HERE / f"{name}.s", source(name)
        if not path.exists() or path.read_text() != text:
            stale.append(path.name)
            if "--check" not in argv:
                path.write_text(text)
    print(f"{'differ' if '--check' in argv else 'written'}: {', '.join(stale) or 'none'}")
    return int(bool(stale) and "--check" in argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
