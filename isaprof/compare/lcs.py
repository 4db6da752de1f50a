"""Longest common subsequence of two lists of texts: unique anchors, then Myers' O(ND) algorithm.

E. W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), in the
linear-space form; anchors as in patience diff: texts that occur once in each.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

#: where a shortest path would need more edits from either end than this, the path that got furthest is taken
_MAX_EDITS = 800


def align(a: Sequence[str], b: Sequence[str], *, anchors: bool = True) -> list[tuple[int, int]]:
    """Pairs (i, j), strictly increasing in both, with ``a[i] == b[j]``; as many as can be had.

    Between the ``anchors`` (without them: as a whole) it is a longest common
    subsequence, except where two blocks have little in common.
    """
    names: dict[str, int] = {}
    x = [names.setdefault(t, len(names)) for t in a]
    y = [names.setdefault(t, len(names)) for t in b]
    pairs: list[tuple[int, int]] = []
    todo = [(0, len(x), 0, len(y), anchors)]
    while todo:
        i, i2, j, j2, may_anchor = todo.pop()
        while i < i2 and j < j2 and x[i] == y[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        while i < i2 and j < j2 and x[i2 - 1] == y[j2 - 1]:
            i2, j2 = i2 - 1, j2 - 1
            pairs.append((i2, j2))
        if i == i2 or j == j2:
            continue
        found = _anchors(x, y, i, i2, j, j2) if may_anchor else []
        if found:
            for p, q in [*found, (i2, j2)]:
                todo.append((i, p, j, q, True))
                if p < i2:
                    pairs.append((p, q))
                i, j = p + 1, q + 1
            continue
        p, q = _middle(x, y, i, i2, j, j2)
        if (p, q) in ((i, j), (i2, j2)):
            continue
        todo.append((i, p, j, q, False))
        todo.append((p, i2, q, j2, False))
    pairs.sort()
    return pairs


def _anchors(x: list[int], y: list[int], i: int, i2: int, j: int, j2: int) -> list[tuple[int, int]]:
    """The longest increasing run of texts that occur exactly once in either range."""
    once_x = {t for t, n in Counter(x[i:i2]).items() if n == 1}
    once_y = {t for t, n in Counter(y[j:j2]).items() if n == 1}
    both = once_x & once_y
    if not both:
        return []
    where = {y[q]: q for q in range(j, j2) if y[q] in both}
    candidates = [(p, where[x[p]]) for p in range(i, i2) if x[p] in both]
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for n, (_, q) in enumerate(candidates):
        k = bisect_left(tails, q)
        previous.append(ends[k - 1] if k else -1)
        if k == len(tails):
            tails.append(q)
            ends.append(n)
        else:
            tails[k], ends[k] = q, n
    out = []
    n = ends[-1]
    while n >= 0:
        out.append(candidates[n])
        n = previous[n]
    return out[::-1]


def _middle(x: list[int], y: list[int], i: int, i2: int, j: int, j2: int) -> tuple[int, int]:
    """A point on a shortest edit path, near its middle.

    Forward paths from (i, j) and backward paths from (i2, j2) advance in turn
    until two of them meet; after _MAX_EDITS the end of the best forward path serves.
    """
    n, m = i2 - i, j2 - j
    delta, odd = n - m, (n - m) & 1
    limit = min((n + m + 1) // 2, _MAX_EDITS)
    size = 2 * limit + 3
    forward, backward = [0] * size, [0] * size
    for d in range(limit + 1):
        for k in range(-d, d + 1, 2):
            u = (
                forward[k + 1]
                if k == -d or (k != d and forward[k - 1] < forward[k + 1])
                else forward[k - 1] + 1
            )
            v = u - k
            while u < n and v < m and v >= 0 and x[i + u] == y[j + v]:
                u, v = u + 1, v + 1
            forward[k] = u
            other = delta - k
            if odd and -(d - 1) <= other <= d - 1 and u + backward[other] >= n:
                return _inside(i, j, u, v, n, m)
        for k in range(-d, d + 1, 2):
            u = (backward[k + 1] if k == -d or (k != d and backward[k - 1] < backward[k + 1])
                 else backward[k - 1] + 1)  # fmt: skip
            v = u - k
            while u < n and v < m and v >= 0 and x[i2 - 1 - u] == y[j2 - 1 - v]:
                u, v = u + 1, v + 1
            backward[k] = u
            other = delta - k
            if not odd and -d <= other <= d and u + forward[other] >= n:
                return _inside(i, j, n - u, m - v, n, m)
    best = max(range(-limit, limit + 1, 2), key=lambda k: 2 * min(forward[k], n) - k)
    return _inside(i, j, forward[best], forward[best] - best, n, m)


def _inside(i: int, j: int, u: int, v: int, n: int, m: int) -> tuple[int, int]:
    return i + min(max(u, 0), n), j + min(max(v, 0), m)
