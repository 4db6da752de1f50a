"""References of matrix products with scales, bias and alpha."""

from __future__ import annotations

import numpy as np

from isaprof.launch.references import Array, Case, ReferenceError_, reference


@reference("scaled_matmul_nt")
def scaled_matmul_nt(case: Case) -> dict[str, Array]:
    """C[M, N] = alpha * (A * scale_a)[M, K] @ (B * scale_b)[N, K] transposed + bias.

    A scale has one entry for each block of its operand: [M], [M, K/32], [M/128,
    K/128] and so on; every axis of the operand is a multiple of the scale's, or
    the last block is cut short. A scale stored the other way round is named in
    ``transposed``. ``bias`` is [N] or [M, N]. Products and sums in float64.
    """
    flipped = case.parameters.get("transposed", [])
    sides = []
    for key in ("a", "b"):
        x = case.operand(key, key.upper())
        scale = case.optional(f"scale_{key}")
        if scale is not None:
            if case.parameters[f"scale_{key}"] in flipped:
                scale = scale.T
            x = x.astype(np.float64) * _expand(scale, x.shape)
        sides.append(x.astype(np.float64))
    a, b = sides
    if a.shape[-1] != b.shape[-1]:
        raise ReferenceError_(f"matmul of {a.shape} and {b.shape} transposed: the inner sizes differ")
    out = case.number("alpha", 1.0) * (a @ b.T)
    bias = case.optional("bias")
    return {case.out("C"): out if bias is None else out + bias}


def _expand(scale: Array, shape: tuple[int, ...]) -> Array:
    """The scale of every element; an axis the scale lacks has one block."""
    scale = scale.reshape(scale.shape + (1,) * (len(shape) - scale.ndim))
    for axis, size in enumerate(shape):
        blocks = int(scale.shape[axis])
        block = -(-size // blocks)
        # blocks of a power of two: 200 columns in 2 blocks are 128 and 72
        block = 1 << (block - 1).bit_length() if block > 1 and size % blocks else block
        scale = np.repeat(scale, block, axis=axis)
        scale = np.take(scale, np.arange(size), axis=axis)
    return scale
