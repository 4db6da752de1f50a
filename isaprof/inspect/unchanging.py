"""Registers that loops and branches write only with the value they have already."""

from __future__ import annotations

from collections.abc import Mapping

from isaprof.inspect.values import LEAVES, Graph, Node


def unchanging(graph: Graph, phis_of: Mapping[int, list[Node]]) -> frozenset[tuple[int, int]]:
    """(block, register) of scalar phis that provably keep the value the register had before.

    Assumed of all phis of a register together, then checked for each of their
    arguments: a proof by induction over the paths.
    """
    of_register: dict[int, list[Node]] = {}
    for phis in phis_of.values():
        for phi in phis:
            if not phi.varies and len(phi.args) > 0:
                of_register.setdefault(int(str(phi.value)), []).append(phi)
    out = set()
    for code, phis in of_register.items():
        starts = {id(a): a for p in phis for a in p.args if a.op in LEAVES}
        mine = {id(p) for p in phis}
        start = next(iter(starts.values()), None)
        if (
            len(starts) == 1
            and start is not None
            and all(_with(graph, a, mine, start) is start for p in phis for a in p.args)
        ):
            out |= {(p.line, code) for p in phis}
        else:
            out |= {(p.line, code) for p in _same_value(phis)}
    return frozenset(out)


def _same_value(phis: list[Node]) -> list[Node]:
    """Phis that only pass on one value among themselves, whatever it is."""
    value: dict[int, Node] = {}
    for _ in phis:
        before = len(value)
        for phi in phis:
            if id(phi) in value:
                continue
            seen, todo = {id(phi)}, [phi]
            outside: dict[int, Node] = {}
            while todo and len(outside) < 2:
                for a in todo.pop().args:
                    known = value.get(id(a), a)
                    if id(known) in seen:
                        continue
                    seen.add(id(known))
                    if known.op == "phi" and known.value == phi.value:
                        todo.append(known)
                    else:
                        outside[id(known)] = known
            if len(outside) == 1:
                value[id(phi)] = next(iter(outside.values()))
        if len(value) == before:
            break
    return [p for p in phis if id(p) in value]


def _with(g: Graph, node: Node, phis: set[int], value: Node, depth: int = 4) -> Node | None:
    """``node`` with ``phis`` replaced by ``value``; None where it is not a small pure expression of them."""
    if id(node) in phis:
        return value
    if node.op in LEAVES:
        return node
    if depth == 0 or node.op in ("opaque", "part", "phi", "lanes"):
        return None
    args = [_with(g, a, phis, value, depth - 1) for a in node.args]
    known = [a for a in args if a is not None]
    return g.op(node.op, *known, value=node.value) if len(known) == len(args) else None
