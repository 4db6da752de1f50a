"""Exact values of addresses: a symbolic value for every work-item of a workgroup.

What depends only on constants and on the work-item's own id is computed, for
all work-items at once. Where paths meet, or a condition is not known, a value
has alternatives; a loop that makes more than :data:`LIMIT` of them is *not
provable* (None), and so is all that depends on arguments or memory.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from isaprof.inspect.values import Node, reachable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.int64]
    Values = tuple[Vector, ...]

#: alternatives that a value may have
LIMIT = 24
_MASK = 0xFFFFFFFF


class Evaluator:
    """Values for a workgroup of ``shape`` work-items (x, y, z) in waves of ``wave`` lanes."""

    def __init__(self, shape: tuple[int, int, int], wave: int) -> None:
        self.shape, self.wave = shape, wave
        n = np.arange(prod(shape), dtype=np.int64)
        lane = n % wave
        self.size = len(n)
        self._leaves: dict[str, Vector] = {
            "tid.x": n % shape[0],
            "tid.y": n // shape[0] % shape[1],
            "tid.z": n // (shape[0] * shape[1]),
            "lane.lo": np.minimum(lane, 32),
            "lane.hi": np.maximum(lane - 32, 0),
        }
        self._first = n - lane
        self._known: dict[int, Values | None] = {}
        self._keep: list[Node] = []  # ids must stay unique
        self._blocked: dict[int, bool] = {}

    def values(self, node: Node) -> Values | None:
        """All vectors (one int64 of 32 bits a work-item) that ``node`` can be; None: not provable."""
        if self._is_blocked(node):
            return None
        if id(node) not in self._known:
            phis = [n for n in reachable([node]) if n.op == "phi" and id(n) not in self._known]
            if len(phis) > 64:
                self._known[id(node)] = None
            elif phis:
                self._fixpoint(phis)
            self._compute(node, {})
        return self._known[id(node)]

    # -- which values can be known at all ----------------------------------------------------
    def _is_blocked(self, node: Node) -> bool:
        """Whether something is needed that only a launch knows (the condition of a select is not)."""
        done = self._blocked
        stack = [node]
        while stack:
            n = stack[-1]
            if id(n) in done:
                stack.pop()
                continue
            needs = n.args[1:] if n.op == "select" else () if n.op == "phi" else n.args
            if n.op in ("opaque", "kernarg", "initial", "lanes") or (
                n.op == "leaf" and n.value not in self._leaves
            ):
                done[id(n)] = True
            elif waiting := [a for a in needs if id(a) not in done]:
                stack.extend(waiting)
                continue
            else:
                done[id(n)] = any(done[id(a)] for a in needs)
            self._keep.append(n)
            stack.pop()
        if not done[id(node)]:
            # a phi is blocked by its own arguments
            for n in reachable([node]):
                if n.op == "phi" and any(self._plainly_blocked(a) for a in n.args):
                    done[id(node)] = True
                    break
        return done[id(node)]

    def _plainly_blocked(self, node: Node) -> bool:
        return node.op in ("opaque", "kernarg", "initial", "lanes", "part") or (
            node.op == "leaf" and node.value not in self._leaves
        )

    # -- computing ---------------------------------------------------------------------------
    def _fixpoint(self, phis: list[Node]) -> None:
        """All alternatives of phis that depend on each other."""
        current: dict[int, Values | None] = {id(p): () for p in phis}
        for _ in range(LIMIT + 2):
            changed = False
            scratch: dict[int, Values | None] = dict(current)
            for p in phis:
                sets = [self._compute(a, scratch, keep=False) for a in p.args]
                merged = None if any(s is None for s in sets) else _unique([v for s in sets if s for v in s])
                if merged is not None and len(merged) > LIMIT:
                    merged = None
                if not _same(merged, current[id(p)]):
                    changed = True
                    current[id(p)] = merged
            if not changed:
                break
        else:
            current = dict.fromkeys(current)
        self._known.update(current)
        self._keep += phis

    def _compute(self, node: Node, scratch: dict[int, Values | None], *, keep: bool = True) -> Values | None:
        """Post-order over the graph with an explicit stack; phis must be known already."""
        stack = [node]
        known = self._known if keep else scratch
        while stack:
            n = stack[-1]
            if id(n) in known or (not keep and id(n) in self._known):
                stack.pop()
                continue
            if n.op != "phi" and not self._plainly_blocked(n):
                waiting = [a for a in n.args if id(a) not in known and id(a) not in self._known]
                if waiting:
                    stack.extend(waiting)
                    continue
            known[id(n)] = self._one(n, known)
            self._keep.append(n)
            stack.pop()
        return known[id(node)] if id(node) in known else self._known[id(node)]

    def _one(self, n: Node, known: dict[int, Values | None]) -> Values | None:
        if n.op == "const":
            assert isinstance(n.value, int)
            return (np.full(self.size, n.value, dtype=np.int64),)
        if n.op == "leaf":
            vector = self._leaves.get(str(n.value))
            return None if vector is None else (vector,)
        if n.op == "phi" or self._plainly_blocked(n):
            return None
        args = [known[id(a)] if id(a) in known else self._known[id(a)] for a in n.args]
        if n.op == "select" and args[0] is None and args[1] is not None and args[2] is not None:
            return _limited([*args[1], *args[2]])
        if n.op == "first":
            return None if args[0] is None else _limited([v[self._first] for v in args[0]])
        rule = _RULES.get(n.op)
        if rule is None:
            return None
        sets = [a for a in args if a is not None]
        if len(sets) != len(args) or prod(len(s) for s in sets) > 4 * LIMIT:
            return None
        return _limited([rule(*combination) for combination in product(*sets)])


def _limited(vectors: list[Vector]) -> Values | None:
    out = _unique(vectors)
    return out if len(out) <= LIMIT else None


def _unique(vectors: list[Vector]) -> Values:
    return tuple({v.tobytes(): v for v in vectors}.values())


def _same(a: Values | None, b: Values | None) -> bool:
    if a is None or b is None:
        return a is b
    return {v.tobytes() for v in a} == {v.tobytes() for v in b}


def _signed(a: Vector) -> Vector:
    out: Vector = (a ^ 0x80000000) - 0x80000000
    return out


def _choose(c: Vector, a: Vector, b: Vector) -> Vector:
    out = b.copy()
    np.copyto(out, a, where=c != 0)
    return out


def _extend(bits: int) -> Callable[..., Vector]:
    sign = 1 << (bits - 1)
    return lambda a: (((a & ((1 << bits) - 1)) ^ sign) - sign) & _MASK


#: the same operations as :func:`isaprof.inspect.values.fold`, on vectors of 32-bit patterns
_RULES: dict[str, Callable[..., Vector]] = {
    "add": lambda a, b: (a + b) & _MASK,
    "sub": lambda a, b: (a - b) & _MASK,
    "mul": lambda a, b: ((a * (b & 0xFFFF)) + ((a * (b >> 16) & 0xFFFF) << 16)) & _MASK,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: (a << (b & 31)) & _MASK,
    "shr": lambda a, b: a >> (b & 31),
    "sar": lambda a, b: (_signed(a) >> (b & 31)) & _MASK,
    "min_u": np.minimum,
    "max_u": np.maximum,
    "min_i": lambda a, b: np.minimum(_signed(a), _signed(b)) & _MASK,
    "max_i": lambda a, b: np.maximum(_signed(a), _signed(b)) & _MASK,
    "sext8": _extend(8),
    "sext16": _extend(16),
    "sext24": _extend(24),
    "select": lambda c, a, b: _choose(c, a, b),
    "cmp_eq": lambda a, b: (a == b).astype(np.int64),
    "cmp_lg": lambda a, b: (a != b).astype(np.int64),
    "cmp_lt_u": lambda a, b: (a < b).astype(np.int64),
    "cmp_le_u": lambda a, b: (a <= b).astype(np.int64),
    "cmp_gt_u": lambda a, b: (a > b).astype(np.int64),
    "cmp_ge_u": lambda a, b: (a >= b).astype(np.int64),
    "cmp_lt_i": lambda a, b: (_signed(a) < _signed(b)).astype(np.int64),
    "cmp_le_i": lambda a, b: (_signed(a) <= _signed(b)).astype(np.int64),
    "cmp_gt_i": lambda a, b: (_signed(a) > _signed(b)).astype(np.int64),
    "cmp_ge_i": lambda a, b: (_signed(a) >= _signed(b)).astype(np.int64),
}
