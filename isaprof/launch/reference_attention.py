"""Reference of attention: softmax(scale q k^T) v, sequences of a batch one after the other."""

from __future__ import annotations

import numpy as np

from isaprof.launch.references import Array, Case, ReferenceError_, reference


@reference("attention")
def attention(case: Case) -> dict[str, Array]:
    """O[t, h, :] of Q[t, h, d], K and V[t', h', d]; heads h share h' = h // (heads / kv heads).

    The sequences of the batch lie one after the other; q_starts and k_starts
    (inputs, batch + 1 entries) say where. Parameters: q, k, v, out, q_starts,
    k_starts, scale, scale_q, scale_k, scale_v (inputs of one element each),
    causal (1: query i of sq sees keys up to i + sk - sq, the bottom right
    corner), lse (an output [heads, tokens], or [batch * heads, sequence], with
    the natural logarithm of the softmax's denominator).
    """
    q, k, v = (case.operand(key, key.upper()) for key in ("q", "k", "v"))
    factors = [case.optional(f"scale_{key}") for key in ("q", "k", "v")]
    q, k, v = (x * (1.0 if f is None else f.reshape(-1)[0]) for x, f in zip((q, k, v), factors, strict=True))
    starts = case.operand("q_starts", "QStarts"), case.operand("k_starts", "KStarts")
    if len(starts[0]) != len(starts[1]) or q.ndim != 3 or k.ndim != 3 or q.shape[1] % k.shape[1]:
        raise ReferenceError_(
            f"attention of {q.shape} and {k.shape}, {len(starts[0])} and {len(starts[1])} starts"
        )
    scale, causal = case.number("scale", 1.0), bool(case.number("causal", 0))
    out = np.zeros((*q.shape[:2], v.shape[2]))
    logs = np.zeros((q.shape[1], q.shape[0]))
    batch = len(starts[0]) - 1
    for b in range(batch):
        rows, keys = (slice(int(s[b]), int(s[b + 1])) for s in starts)
        out[rows], logs[:, rows] = _one(q[rows], k[keys], v[keys], scale, causal)
    result = {str(case.parameters.get("out", "O")): out}
    lse = str(case.parameters.get("lse"))
    if lse in case.outputs:
        shape = case.outputs[lse]
        if shape != logs.shape:  # the heads of each sequence together
            logs = logs.reshape(len(logs), batch, -1).swapaxes(0, 1).reshape(shape)
        result[lse] = logs
    return result


def _one(q: Array, k: Array, v: Array, scale: float, causal: bool) -> tuple[Array, Array]:
    """Output [s, h, dv] and log of the denominators [h, s] of one sequence."""
    heads, group = q.shape[1], q.shape[1] // k.shape[1]
    out = np.zeros((q.shape[0], heads, v.shape[2]))
    logs = np.zeros((heads, q.shape[0]))
    hidden = None
    if causal:
        rows, columns = np.arange(len(q))[:, None], np.arange(len(k))[None, :]
        hidden = columns > rows + len(k) - len(q)
    for h in range(heads):
        s = scale * (q[:, h] @ k[:, h // group].T)
        if hidden is not None:
            s[hidden] = -np.inf
        top = s.max(axis=1, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)  # a query that sees no key: zeros
        e = np.exp(s - top)
        total = e.sum(axis=1, keepdims=True)
        out[:, h] = (e @ v[:, h // group]) / np.where(total > 0, total, 1.0)
        logs[h] = (top + np.log(total))[:, 0]
    return out, logs
