"""Reference of attention: softmax(scale q k^T) v, batched or with sequences one after the other."""

from __future__ import annotations

import numpy as np

from isaprof.launch.references import Array, Case, ReferenceError_, reference


@reference("attention")
def attention(case: Case) -> dict[str, Array]:
    """O[b, s, h, :] of Q[b, s, h, d], K and V[b, s', h', d]; heads h share h' = h // (heads / kv heads).

    Parameters: q, k, v, out, scale, causal (1: query i of sq sees keys up to
    i + sk - sq, the bottom right corner), lse (an output [b, h, s] with the
    natural logarithm of the softmax's denominator). With q_starts and k_starts
    (inputs, batch + 1 entries) the tensors are [tokens, h, d] and hold the
    batch's sequences one after the other; lse is [h, tokens].
    """
    q, k, v = (case.operand(key, key.upper()).astype(np.float64) for key in ("q", "k", "v"))
    scale, causal = case.number("scale", 1.0), bool(case.number("causal", 0))
    out, lse = case.out("O"), case.parameters.get("lse")
    result = np.zeros(case.outputs[out])
    sums = np.zeros(case.outputs[str(lse)]) if lse in case.outputs else None
    starts = [case.optional(name) for name in ("q_starts", "k_starts")]
    if (starts[0] is None) != (starts[1] is None):
        raise ReferenceError_("q_starts and k_starts go together")
    if starts[0] is None or starts[1] is None:
        for b in range(q.shape[0]):
            result[b], logs = _one(q[b], k[b], v[b], scale, causal)
            if sums is not None:
                sums[b] = logs
    else:
        for b in range(len(starts[0]) - 1):
            rows = slice(int(starts[0][b]), int(starts[0][b + 1]))
            keys = slice(int(starts[1][b]), int(starts[1][b + 1]))
            result[rows], logs = _one(q[rows], k[keys], v[keys], scale, causal)
            if sums is not None:
                sums[:, rows] = logs
    return {out: result} if sums is None else {out: result, str(lse): sums}


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
