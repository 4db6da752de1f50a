"""Loops: nesting, counters, and how often the body runs where that is a simple expression.

A counter is a scalar register that every pass through the loop changes by the
same amount, and that an exit compares with something the loop does not change.
Wrap-around is not considered.
"""

from __future__ import annotations

from dataclasses import dataclass

from isaprof.analysis.cfg import Loop
from isaprof.inspect import census
from isaprof.inspect.flow import Flow
from isaprof.inspect.render import Names
from isaprof.inspect.values import Node, constant, reachable, resolve, signed
from isaprof.isa.model import Instruction

_NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "lg", "lg": "eq"}
_SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "lg": "lg"}


@dataclass(frozen=True, slots=True)
class Exit:
    """A branch out of the loop. ``stays``: the condition under which the loop goes on, as text."""

    pc: int
    text: str
    stays: str | None


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """One loop. ``steps`` is how many counted steps one pass through the body makes (unrolling)."""

    number: int
    head: int  #: address of its first instruction
    depth: int
    parent: int | None
    blocks: int
    instructions: int
    indices: tuple[int, ...]  #: listing indices, in address order
    exits: tuple[Exit, ...]
    counter: str | None  #: register
    start: str | None
    step: str | None  #: per counted step
    bound: str | None  #: with its relation, ``< K``
    steps: int  #: counted steps in one pass through the body
    trips: str  #: counted steps in all, or why that is not simple
    census: dict[str, int]
    attributes: dict[str, int]
    matrix: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Test:
    phi: Node
    added: Node  #: the phi plus this is compared
    relation: str
    bound: Node
    exit: Exit


def find_loops(flow: Flow, names: Names) -> tuple[LoopFacts, ...]:
    """All natural loops, outermost first."""
    cfg = flow.cfg
    out = []
    for number, loop in enumerate(cfg.loops):
        lines = [
            i for b in sorted(loop.blocks) for i in cfg.lines[cfg.blocks[b].first : cfg.blocks[b].last + 1]
        ]
        exits, tests = _exits(flow, loop, names)
        counted = _counter(flow, loop, tests, names, len(exits))
        head = cfg.lines[cfg.blocks[loop.header].first].pc
        parents = [i for i, other in enumerate(cfg.loops) if other is not loop and loop.blocks < other.blocks]
        parent = max(parents, key=lambda i: cfg.loops[i].depth, default=None)
        out.append(
            LoopFacts(
                number,
                head,
                loop.depth,
                parent,
                len(loop.blocks),
                len(lines),
                tuple(i.index for i in lines),
                exits,
                *counted,
                census.count(lines),
                census.count_attributes(lines),
                census.count_mnemonics(lines, "matrix"),
            )
        )
    return tuple(out)


def _exits(flow: Flow, loop: Loop, names: Names) -> tuple[tuple[Exit, ...], list[_Test]]:
    cfg = flow.cfg
    exits, tests = [], []
    for b in sorted(loop.blocks):
        block = cfg.blocks[b]
        if all(s in loop.blocks for s in block.succ):
            continue
        branch = cfg.lines[block.last]
        condition = _condition(flow, branch, loop)
        stays = None
        if condition is not None:
            a, relation, c = condition
            stays = f"{names.text(a, 8)} {_symbol(relation)} {names.text(c, 16)}"
        found = Exit(branch.pc, branch.text, stays)
        exits.append(found)
        if condition is not None and (test := _test(flow, loop, condition, found)) is not None:
            tests.append(test)
    return tuple(exits), tests


def _condition(flow: Flow, branch: Instruction, loop: Loop) -> tuple[Node, str, Node] | None:
    """(a, relation, b) under which the loop goes on, for a branch on SCC."""
    if not branch.base.startswith("s_cbranch_scc"):
        return None
    values = list(flow.inputs[branch.index].values())
    if len(values) != 1 or not values[0].op.startswith("cmp_"):
        return None
    relation = values[0].op.split("_")[1]
    cfg = flow.cfg
    target = next((b.index for b in cfg.blocks if cfg.lines[b.first].pc == branch.target), None)
    taken_stays = target in loop.blocks
    if branch.base.endswith("scc1") != taken_stays:
        relation = _NEGATED[relation]
    return values[0].args[0], relation, values[0].args[1]


def _test(flow: Flow, loop: Loop, condition: tuple[Node, str, Node], found: Exit) -> _Test | None:
    a, relation, b = condition
    zero = flow.graph.const(0)
    for x, r, y in ((a, relation, b), (b, _SWAPPED[relation], a)):
        if not _invariant(y, loop):
            continue
        node, added = resolve(x), zero
        for _ in range(64):
            if node.op == "phi" and node.line == loop.header:
                return _Test(node, added, r, y, found)
            if node.op not in ("add", "sub") or not _invariant(node.args[1], loop):
                break
            added = flow.graph.op(node.op, added, node.args[1])
            node = resolve(node.args[0])
    return None


def _invariant(node: Node, loop: Loop) -> bool:
    """Whether nothing that the loop itself makes is in the value."""
    for n in reachable([node]):
        if n.op == "phi" and n.line in loop.blocks and resolve(n) is n:
            return False
        if n.op == "opaque":
            return False
    return True


def _counter(
    flow: Flow, loop: Loop, tests: list[_Test], names: Names, exits: int
) -> tuple[str | None, str | None, str | None, str | None, int, str]:
    if not tests:
        return None, None, None, None, 1, "not simple: no exit compares a counter with something invariant"
    phi, relation, bound = tests[0].phi, tests[0].relation, tests[0].bound
    mine = [t for t in tests if t.phi is phi and t.relation == relation and t.bound is bound]
    step, start = _recurrence(flow, loop, phi)
    register = names.text(phi).split("@")[0]
    limit = f"{_symbol(relation)} {names.text(bound)}"
    if step is None or start is None:
        return register, None, None, limit, 1, f"not simple: {register} does not change by one amount"
    whole = constant(step)
    steps = len(mine)
    each = step
    if whole is not None:
        amounts = sorted(abs(signed(c)) for t in mine if (c := constant(t.added)) is not None)
        total = abs(signed(whole))
        if steps > 1 and (total % steps or amounts != [total // steps * (i + 1) for i in range(steps)]):
            return register, names.text(start), names.text(step), limit, 1, "not simple: uneven exits"
        each = flow.graph.const(signed(whole) // steps)
    elif steps > 1:
        return register, names.text(start), names.text(step), limit, 1, "not simple: several exits"
    tested_first = mine[0].added is flow.graph.const(0)
    if len(mine) == 1 and not tested_first and mine[0].added is not step:
        trips = "not simple: the exit compares another value than the counter"
    else:
        trips = _trips(names, start, each, relation, bound, at_least=0 if tested_first else 1)
    if exits > len(mine) and not trips.startswith("not"):
        trips = f"at most {trips} ({exits - len(mine)} other exits)"
    return register, names.text(start), _signed_text(names, each), limit, steps, trips


def _recurrence(flow: Flow, loop: Loop, phi: Node) -> tuple[Node | None, Node | None]:
    """(step, start) of ``phi = start, phi + step, ...``; None where it is none."""
    starts, steps = [], []
    for a in phi.args:
        node, added = resolve(a), flow.graph.const(0)
        for _ in range(64):
            if node is phi or node.op not in ("add", "sub") or not _invariant(node.args[1], loop):
                break
            added = flow.graph.op(node.op, added, node.args[1])
            node = resolve(node.args[0])
        if node is phi:
            steps.append(added)
        else:
            starts.append(a)
    if len(starts) != 1 or not steps or any(s is not steps[0] for s in steps):
        return None, None
    return steps[0], starts[0]


def _trips(names: Names, start: Node, step: Node, relation: str, bound: Node, *, at_least: int) -> str:
    c = constant(step)
    if c == 0:
        return "not simple: the step is 0"
    down = (c is not None and signed(c) < 0) or step.op == "sub"
    a, b = (start, bound) if down else (bound, start)
    if relation not in (("gt", "ge", "lg") if down else ("lt", "le", "lg")):
        return "not simple: the relation does not fit the direction"
    x, y = constant(a), constant(b)
    size = abs(signed(c)) if c is not None else None
    if x is not None and y is not None and size is not None:
        distance = signed(x) - signed(y)
        n = distance // size + 1 if relation in ("le", "ge") else -(-distance // size)
        return str(max(n, at_least))
    far = f"{names.text(a)} - {names.text(b)}" if y != 0 else names.text(a)
    if size is not None:
        by = hex(size) if size > 9 else str(size)
    else:
        by = names.text(step.args[1] if step.op == "sub" and constant(step.args[0]) == 0 else step)
    if relation in ("le", "ge"):
        inner = f"floor(({far}) / {by}) + 1"
    elif relation == "lg":
        return f"({far}) / {by}"
    else:
        inner = far if size == 1 else f"ceil(({far}) / {by})"
    return f"max({at_least}, {inner})"


def _signed_text(names: Names, node: Node) -> str:
    c = constant(node)
    if c is None:
        return names.text(node)
    v = signed(c)
    return str(v) if abs(v) < 10 else hex(v)


def _symbol(relation: str) -> str:
    return {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "lg": "!="}[relation]
