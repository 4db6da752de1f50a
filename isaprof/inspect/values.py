"""Symbolic register values: a graph of 32-bit operations down to what a wave starts with.

A node never guesses: an operation without a rule is kept as ``opaque`` with all
that it read, so that *what does this depend on* is always answered, and *what
is it* only where every step on the way has a rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

MASK = 0xFFFFFFFF
COMMUTATIVE = frozenset(
    {"add", "mul", "and", "or", "xor", "mulhi_u", "mulhi_i", "min_u", "max_u", "min_i", "max_i"}
)

#: leaves: what a wave starts with, and constants
LEAVES = frozenset({"const", "kernarg", "leaf", "initial"})


class Node:
    """One value. ``value`` is the constant, the kernarg offset, the leaf's name, or a detail of the op."""

    __slots__ = ("args", "line", "op", "value", "varies")

    def __init__(
        self, op: str, args: tuple[Node, ...], value: object = None, *, varies: bool = False, line: int = -1
    ) -> None:
        self.op = op
        self.args = args
        self.value = value
        self.varies = varies  #: may differ between the work-items of a wave
        self.line = line  #: listing index of the instruction that made it (opaque, phi: block)

    def __repr__(self) -> str:
        return (
            f"{self.op}{'' if self.value is None else f':{self.value}'}({', '.join(a.op for a in self.args)})"
        )


def signed(value: int) -> int:
    """A 32-bit pattern as a signed number."""
    value &= MASK
    return value - (1 << 32) if value >> 31 else value


class Graph:
    """Makes nodes: equal pure operations are one node, constants are folded."""

    def __init__(self) -> None:
        self._pure: dict[tuple[object, ...], Node] = {}

    def const(self, value: int) -> Node:
        return self._intern("const", (), value & MASK)

    def leaf(self, kind: str, value: object, *, varies: bool = False) -> Node:
        """``kernarg`` (value: byte offset of the dword), ``initial`` (register), ``leaf`` (name)."""
        return self._intern(kind, (), value, varies)

    def opaque(self, what: str, args: Iterable[Node], line: int, *, varies: bool) -> Node:
        """The result of one instruction that has no rule."""
        return Node("opaque", tuple(args), what, varies=varies, line=line)

    def part(self, node: Node, i: int) -> Node:
        """Result dword ``i`` of an instruction without a rule (or of a lane mask)."""
        return Node("part", (node,), i, varies=node.varies, line=node.line)

    def phi(self, block: int, register: int, *, varies: bool) -> Node:
        """The value of a register where paths meet; its arguments are set when they are known."""
        return Node("phi", (), register, varies=varies, line=block)

    def op(self, op: str, *args: Node, value: object = None) -> Node:
        """A pure operation, simplified."""
        if op in COMMUTATIVE and args[0].op == "const" and args[1].op != "const":
            args = (args[1], args[0], *args[2:])
        if all(a.op == "const" for a in args) and (folded := fold(op, [_int(a) for a in args])) is not None:
            return self.const(folded)
        simple = self._simplify(op, args)
        return simple if simple is not None else self._intern(op, args, value, any(a.varies for a in args))

    def _intern(self, op: str, args: tuple[Node, ...], value: object, varies: bool = False) -> Node:
        key = (op, value, *map(id, args))
        node = self._pure.get(key)
        if node is None:
            node = self._pure[key] = Node(op, args, value, varies=varies)
        return node

    def _simplify(self, op: str, args: tuple[Node, ...]) -> Node | None:
        if op == "select":
            if args[1] is args[2]:
                return args[1]
            return (args[1] if _int(args[0]) else args[2]) if args[0].op == "const" else None
        if op == "first":
            return args[0] if not args[0].varies else None
        if op in ("carry", "borrow") and args[1].op == "const" and _int(args[1]) == 0 and _is_zero(args[2]):
            return self.const(0)
        if len(args) != 2:
            return None
        a, b = args
        if b.op == "const":
            return self._with_constant(op, a, _int(b))
        if op == "or" and (a.op == "and" and b in a.args):
            return b
        if op == "or" and (b.op == "and" and a in b.args):
            return a
        if op == "or":  # (p ^ q) | p with p inside q is q: how compilers restore EXEC after an else
            for x, y in ((a, b), (b, a)):
                if x.op == "xor" and y.op == "and" and y in x.args:
                    whole = x.args[1] if x.args[0] is y else x.args[0]
                    if whole in y.args:
                        return whole
        if op in ("and", "or", "min_u", "max_u", "min_i", "max_i") and a is b:
            return a
        if op in ("sub", "xor") and a is b:
            return self.const(0)
        return None

    def _with_constant(self, op: str, a: Node, c: int) -> Node | None:
        if c == 0 and op in ("add", "sub", "or", "xor", "shl", "shr", "sar"):
            return a
        if (c == 0 and op in ("and", "mul", "mulhi_u")) or (c == MASK and op == "or"):
            return self.const(0 if c == 0 else MASK)
        if (c == 1 and op == "mul") or (c == MASK and op == "and"):
            return a
        if op == "sub":
            return self.op("add", a, self.const(-c))
        inner = a.args[1] if len(a.args) == 2 and a.args[1].op == "const" else None
        if inner is not None and a.op == op and op in ("add", "and", "or", "xor", "mul"):
            folded = fold(op, [_int(inner), c])
            assert folded is not None
            return self.op(op, a.args[0], self.const(folded))
        # user-space addresses have 48 bits: the upper half of a pointer's high dword is 0
        if op == "and" and c & 0xFFFF == 0xFFFF and a.op == "leaf" and str(a.value).endswith("_ptr.hi"):
            return a
        return None


def _int(node: Node) -> int:
    assert isinstance(node.value, int)
    return node.value


def _is_zero(node: Node) -> bool:
    return node.op == "const" and node.value == 0


def constant(node: Node) -> int | None:
    """The unsigned 32-bit value, where the node is a constant."""
    return _int(node) if node.op == "const" else None


def fold(op: str, v: list[int]) -> int | None:
    """The operation on constants (32-bit patterns); None where there is no rule."""
    a = v[0] if v else 0
    b = v[1] if len(v) > 1 else 0
    c = v[2] if len(v) > 2 else 0
    sa, sb = signed(a), signed(b)
    match op:
        case "add":
            return a + b & MASK
        case "sub":
            return a - b & MASK
        case "mul":
            return a * b & MASK
        case "mulhi_u":
            return a * b >> 32
        case "mulhi_i":
            return sa * sb >> 32 & MASK
        case "and":
            return a & b
        case "or":
            return a | b
        case "xor":
            return a ^ b
        case "shl":
            return a << (b & 31) & MASK
        case "shr":
            return a >> (b & 31)
        case "sar":
            return sa >> (b & 31) & MASK
        case "min_u":
            return min(a, b)
        case "max_u":
            return max(a, b)
        case "min_i":
            return min(sa, sb) & MASK
        case "max_i":
            return max(sa, sb) & MASK
        case "carry":
            return int(a + b + c > MASK)
        case "borrow":
            return int(a - b - c < 0)
        case "sext8":
            return signed((a & 0xFF ^ 0x80) - 0x80) & MASK
        case "sext16":
            return signed((a & 0xFFFF ^ 0x8000) - 0x8000) & MASK
        case "sext24":
            return signed((a & 0xFFFFFF ^ 0x800000) - 0x800000) & MASK
        case "select":
            return b if a else c
        case "cmp_eq":
            return int(a == b)
        case "cmp_lg":
            return int(a != b)
        case "cmp_lt_u":
            return int(a < b)
        case "cmp_le_u":
            return int(a <= b)
        case "cmp_gt_u":
            return int(a > b)
        case "cmp_ge_u":
            return int(a >= b)
        case "cmp_lt_i":
            return int(sa < sb)
        case "cmp_le_i":
            return int(sa <= sb)
        case "cmp_gt_i":
            return int(sa > sb)
        case "cmp_ge_i":
            return int(sa >= sb)
    return None


def reachable(roots: Iterable[Node]) -> Iterator[Node]:
    """Every node that ``roots`` depend on, once each, in no particular order."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        n = stack.pop()
        if id(n) in seen:
            continue
        seen.add(id(n))
        yield n
        stack.extend(n.args)


def resolve(node: Node) -> Node:
    """``node`` without phis that have only one possible value besides themselves."""
    for _ in range(64):
        if node.op != "phi":
            return node
        others = {id(a): a for a in node.args if a is not node}
        if len(others) != 1:
            return node
        node = next(iter(others.values()))
    return node
