"""Padded or XOR-swizzled LDS addresses."""

from collections.abc import Iterator

from isaprof.inspect.lds import address_node
from isaprof.inspect.technique import Detector, KernelFacts
from isaprof.inspect.values import Node, constant, reachable
from isaprof.isa.model import Instruction


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    padded: dict[int, list[Instruction]] = {}
    swizzled = []
    for a in k.lds.accesses:
        if a.high is None:  # an address that is not known in full shows no layout
            continue
        ins = k.instruction(a.index)
        node = address_node(ins, k.flow)
        nodes = [] if node is None else list(reachable([node]))
        for stride in {s for n in nodes if (s := _stride(n)) is not None}:
            padded.setdefault(stride, []).append(ins)
        if any(_swizzle(n) for n in nodes):
            swizzled.append(ins)
    for stride, shown in sorted(padded.items()):
        row = 1 << stride.bit_length() - 1
        yield f"row stride {stride:#x} = {row:#x} + {stride - row:#x} padding", shown
    if swizzled:
        yield "addresses are XORed with bits of the work-item id", swizzled


def _stride(n: Node) -> int | None:
    """A multiplier that is a power of two and up to an eighth more, in whole banks."""
    if n.op != "mul" or (c := constant(n.args[1])) is None or c < 36 or c % 4:
        return None
    row = 1 << c.bit_length() - 1
    return c if 0 < c - row <= row // 8 else None


def _swizzle(n: Node) -> bool:
    return (
        n.op == "xor"
        and all(a.varies or a.op == "const" for a in n.args)
        and n.args[0].varies
        and (constant(n.args[1]) not in (0xFFFFFFFF,))
        and (n.args[1].varies or 0 < (constant(n.args[1]) or 0) < 0x1000)
    )


DETECTOR = Detector("lds-layout", "LDS padding or XOR swizzle", _find)
