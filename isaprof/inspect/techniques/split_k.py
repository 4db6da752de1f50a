"""Partial results added together in memory by atomics, or handed over through a lock."""

from collections.abc import Iterator

from isaprof.inspect.technique import Detector, KernelFacts
from isaprof.inspect.values import Node, reachable
from isaprof.isa.model import Instruction, Pipe, Space


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    atomics = [i for i in k.lines if i.mem is not None and i.mem.atomic and i.mem.space is not Space.LDS]
    matrix = {i.index for i in k.matrix()}
    adds = [i for i in atomics if "add" in i.base and not i.writes]
    reduced = [i for i in adds[:1] if _depends(k.flow.inputs[i.index].values(), matrix)]
    ids = _split_ids(k)
    if reduced and ids:
        names = ", ".join(dict.fromkeys(i.base for i in adds))
        yield (
            f"{len(adds)} {names} add matrix results to memory, and how often the matrix loop runs "
            f"depends on {', '.join(ids)}",
            adds,
        )
    elif reduced:
        yield (
            f"{len(adds)} {', '.join(dict.fromkeys(i.base for i in adds))} add matrix results to memory",
            adds,
        )
    locks = [i for i in atomics if i.writes and i.mem is not None and i.mem.bytes == 4]
    deciding = [i for i in locks if _decides(k, i)]
    if deciding:
        yield (
            "what a returning atomic gives back decides a branch or EXEC: a lock or an arrival counter",
            deciding,
        )


def _split_ids(k: KernelFacts) -> list[str]:
    """Workgroup ids that the exits of the matrix loops depend on."""
    found: set[str] = set()
    exits = {e.pc for loop in k.matrix_loops() for e in loop.exits}
    for i in k.lines:
        if i.pc in exits:
            for n in reachable(k.flow.inputs[i.index].values()):
                if n.op == "leaf" and str(n.value).startswith("wg."):
                    found.add(str(n.value))
    return sorted(found)


def _depends(nodes: object, on: set[int]) -> bool:
    todo: list[Node] = list(nodes)  # type: ignore[call-overload]
    return any(n.op == "opaque" and n.line in on for n in reachable(todo))


def _decides(k: KernelFacts, atomic: Instruction) -> bool:
    for i in k.lines:
        if i.pipe is Pipe.BRANCH and i.base.startswith("s_cbranch") and i.index > atomic.index:
            near = reachable(k.flow.inputs[i.index].values())
            if any(n.op == "opaque" and n.line == atomic.index for n in near):
                return True
    return False


DETECTOR = Detector("split-k", "Split-K with atomics or a lock", _find)
