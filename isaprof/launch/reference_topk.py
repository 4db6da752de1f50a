"""Reference of the mixture-of-experts router: softmax, then the k most likely experts."""

from __future__ import annotations

import numpy as np

from isaprof.launch.references import Array, Case, ReferenceError_, reference


@reference("topk_softmax")
def topk_softmax(case: Case) -> dict[str, Array]:
    """weights[t, j] and indices[t, j] of the j-th most likely expert of token t; ties by lower index.

    Parameters: gating (input [tokens, experts]), weights and indices (outputs
    [tokens, k]), renormalize (number or scalar argument: 1 divides by the sum
    of the k weights).
    """
    gating = case.operand("gating", "A").astype(np.float64)
    weights, indices = str(case.parameters.get("weights", "W")), str(case.parameters.get("indices", "T"))
    if weights not in case.outputs or indices not in case.outputs:
        raise ReferenceError_(f"{weights!r} and {indices!r} must be outputs")
    k = case.outputs[weights][-1]
    e = np.exp(gating - gating.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    order = np.argsort(-gating, axis=-1, kind="stable")[:, :k]
    chosen = np.take_along_axis(p, order, axis=-1)
    if case.number("renormalize", 0):
        chosen = chosen / chosen.sum(axis=-1, keepdims=True)
    return {weights: chosen, indices: order.astype(np.int64)}
