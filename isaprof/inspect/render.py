"""Symbolic values as text, in the kernel's own names."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from isaprof.inspect.entry import register_name
from isaprof.inspect.values import Node, resolve, signed

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^",
    "shl": "<<", "shr": ">>", "sar": ">>",
    "cmp_eq": "==", "cmp_lg": "!=", "cmp_lt_u": "<", "cmp_lt_i": "<", "cmp_le_u": "<=", "cmp_le_i": "<=",
    "cmp_gt_u": ">", "cmp_gt_i": ">", "cmp_ge_u": ">=", "cmp_ge_i": ">=",
}  # fmt: skip


class Names:
    """Renders nodes; ``arguments`` maps the offset of each kernarg dword to its name."""

    def __init__(
        self,
        arguments: Mapping[int, str],
        pcs: Mapping[int, int],
        heads: Mapping[int, int],
        loop_heads: Collection[int] = (),
    ) -> None:
        self.loop_heads = frozenset(loop_heads)  #: blocks at which a loop begins
        self._open: list[Node] = []
        self.arguments = arguments
        self.pcs = pcs  #: listing index -> address
        self.heads = heads  #: block -> address of its first instruction

    def text(self, node: Node, size: int = 40) -> str:
        """``node`` as an expression of at most about ``size`` operations; the rest is ``...``."""
        return self._text(resolve(node), [size])

    def _text(self, n: Node, budget: list[int]) -> str:
        budget[0] -= 1
        if budget[0] < 0:
            return "..."
        if n.op == "const":
            value = signed(int(str(n.value)))
            return str(value) if -1024 < value < 10 else hex(int(str(n.value)))
        if n.op == "kernarg":
            return self.arguments.get(int(str(n.value)), f"kernarg[{int(str(n.value)):#x}]")
        if n.op == "leaf":
            return str(n.value)
        if n.op == "initial":
            return f"{register_name(int(str(n.value)))} at entry"
        if n.op == "phi":
            return self._phi(n, budget)
        if n.op in ("part", "opaque"):
            source = n.args[0] if n.op == "part" else n
            return (
                f"{source.value}@{self.pcs.get(source.line, 0):#x}" if source.line >= 0 else str(source.value)
            )
        if n.op == "mask":
            return self._text(n.args[0], budget)
        if n.op == "first":
            return f"first({self._text(n.args[0], budget)})"
        if n.op == "select":
            c, a, b = (self._text(resolve(x), budget) for x in n.args)
            return f"({c} ? {a} : {b})"
        if n.op in _INFIX and len(n.args) == 2:
            return self._infix(n, budget)
        return f"{n.op}({', '.join(self._text(resolve(a), budget) for a in n.args)})"

    def _infix(self, n: Node, budget: list[int]) -> str:
        a, b = (resolve(x) for x in n.args)
        if n.op == "add" and b.op == "const" and (c := signed(int(str(b.value)))) < 0:
            return f"({self._text(a, budget)} - {-c if -c < 10 else hex(-c)})"
        return f"({self._text(a, budget)} {_INFIX[n.op]} {self._text(b, budget)})"

    def _phi(self, n: Node, budget: list[int]) -> str:
        where = f"{register_name(int(str(n.value)))}@{self.heads.get(n.line, 0):#x}"
        others = list({id(r): r for r in map(resolve, n.args) if r is not n}.values())
        if n in self._open or len(self._open) > 2 or not 0 < len(others) <= 3:
            return where
        self._open.append(n)
        try:
            if n.line in self.loop_heads:
                # the others are what the loop makes of it
                starts = [r for r in others if r.op in ("const", "kernarg", "leaf")]
                return f"{where} (first {self._text(starts[0], budget)})" if len(starts) == 1 else where
            share = max(4, budget[0] // len(others))
            sides = []
            for r in others:
                part = [min(share, budget[0])]
                sides.append(self._text(r, part))
                budget[0] -= share - part[0]
            return f"one of ({' | '.join(sides)})"
        finally:
            self._open.pop()
