"""References of matrix products whose kernel unpacks or quantises an operand itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isaprof.launch.references import Array, Case, ReferenceError_, reference

#: bit of element j of eight 4-bit codes in an int32 (ROCm/vllm, W4A16 for gfx11)
_W4_SHIFTS = np.array([0, 16, 4, 20, 8, 24, 12, 28], dtype=np.int64)


@reference("w4a16_matmul_nt")
def w4a16_matmul_nt(case: Case) -> dict[str, Array]:
    """C[M, N] = A[M, K] @ W[N, K] transposed, W = (code - 8) * scale.

    ``w``: [N, K/8], eight codes each, element j at bit 4 (j / 2) + 16 (j % 2);
    ``scales``: [N, K/group]. The weights are not rounded: a kernel's bf16 weights
    are half an ulp off.
    """
    a, w, scales = case.operand("a", "A"), case.operand("w", "W"), case.operand("scales", "scales")
    codes = (w[:, :, None] >> _W4_SHIFTS & 15).reshape(w.shape[0], -1)
    if a.shape[1] != codes.shape[1] or codes.shape[1] % scales.shape[1]:
        raise ReferenceError_(f"A {a.shape}, codes {codes.shape}, scales {scales.shape} do not fit")
    weights = (codes - 8) * np.repeat(scales, codes.shape[1] // scales.shape[1], axis=1)
    return {case.out("C"): a @ weights.T}


@reference("mxfp4_matmul_nt")
def mxfp4_matmul_nt(case: Case) -> dict[str, Array]:
    """C[M, N] = mxfp4(A)[M, K] @ (B * scale_b)[N, K] transposed: the kernel quantises A.

    ``b`` is [N, K] fp4, ``scale_b`` its [N, K/32] scales.
    """
    a, b = quantise_mxfp4(case.operand("a", "A")), case.operand("b", "B")
    scale = case.operand("scale_b", "ScaleB")
    if a.shape[1] != b.shape[1] or b.shape[1] != 32 * scale.shape[1]:
        raise ReferenceError_(f"A {a.shape}, B {b.shape}, scales {scale.shape} do not fit")
    return {case.out("C"): a @ (b * np.repeat(scale, 32, axis=1)).T}


def quantise_mxfp4(x: Array) -> NDArray[np.float64]:
    """The values that ``x`` [..., K] has after MXFP4 quantisation in blocks of 32, float64.

    The scale is 2^(e - 2), e the exponent of the block's largest magnitude, one more
    from a mantissa of 1.75 on, so that no element reaches 7; elements are rounded to
    nearest even (ROCm/aiter, dynamic_mxfp4_quant).
    """
    blocks = np.asarray(x, np.float32).reshape(*x.shape[:-1], -1, 32)
    amax = np.abs(blocks).max(axis=-1, keepdims=True)
    bits = (amax.view(np.uint32) + np.uint32(0x200000)) & np.uint32(0xFF800000)
    exponent = np.clip((bits >> np.uint32(23)).astype(np.int64) - 127 - 2, -127, 127)
    scale = np.exp2(exponent.astype(np.float64))
    scaled = np.minimum(np.abs(blocks.astype(np.float64)) / scale, 6.0)
    # steps of fp4 e2m1: 0.5 below 2, 1 below 4, 2 above; np.round is to nearest even
    step = np.where(scaled < 2, 0.5, np.where(scaled < 4, 1.0, 2.0))
    out = np.copysign(np.minimum(np.round(scaled / step) * step, 6.0), blocks) * scale
    return np.asarray(out.reshape(x.shape), np.float64)
