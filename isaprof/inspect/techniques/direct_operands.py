"""Matrix operands that come from memory without passing LDS or the VALU."""

from collections.abc import Iterator

from isaprof.inspect.technique import Detector, KernelFacts, source_line
from isaprof.inspect.values import Node, resolve
from isaprof.isa.model import Instruction, Space

_MEMORY = (Space.GLOBAL, Space.BUFFER, Space.FLAT)


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    shown: dict[int, Instruction] = {}
    fed = []
    for m in k.matrix():
        direct = False
        for o in m.operands[1:3]:
            words = k.flow.words(m, o)
            sources = {s for w in words for s in _sources(w)}
            if None in sources or not sources:
                continue
            loads = [k.instruction(s) for s in sources if s is not None]
            if all(i.mem is not None and i.mem.load and i.mem.space in _MEMORY for i in loads):
                shown |= {i.index: i for i in loads}
                direct = True
        if direct:
            fed.append(m)
    if fed:
        total = len(k.matrix())
        yield (
            f"{len(fed)} of {total} matrix instructions read an operand that {len(shown)} loads bring "
            "from memory straight to its registers",
            [shown[i] for i in sorted(shown)],
        )


def _sources(node: Node) -> set[int | None]:
    """Memory operations whose result the value can be; None among them: something else."""
    out: set[int | None] = set()
    seen: set[int] = set()
    todo = [resolve(node)]
    while todo and len(out) < 16:
        n = todo.pop()
        if id(n) in seen:
            continue
        seen.add(id(n))
        if n.op == "phi":
            todo += [resolve(a) for a in n.args]
        else:
            out.add(source_line(n))
    return out


DETECTOR = Detector("direct-operands", "Operands straight to the matrix unit", _find)
