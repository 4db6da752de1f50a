"""Reductions across lanes by DPP or permlane instead of through LDS."""

import re
from collections.abc import Iterator

from isaprof.inspect.technique import Detector, KernelFacts
from isaprof.inspect.values import resolve
from isaprof.isa.model import Instruction

_REDUCES = re.compile(r"v_(add|max|min|mul|or|and|xor|maximum|minimum)(_num|_nc|_co|3)?_\w+")


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    dpp = [i for i in k.lines if i.enc.endswith("dpp") and _REDUCES.fullmatch(i.base)]
    moved = [i for i in k.lines if _combines(i, k, "v_mov_b32") and i not in dpp]
    if dpp:
        yield f"{len(dpp)} DPP arithmetic instructions combine values of different lanes", dpp
    if moved:
        yield (
            f"{len(moved)} instructions combine a value with its copy from another lane (v_mov_b32 DPP)",
            moved,
        )
    swaps = [i for i in k.lines if _combines(i, k, "v_permlane")]
    if swaps:
        yield f"{len(swaps)} instructions combine what v_permlane brought from another lane", swaps


def _combines(ins: Instruction, k: KernelFacts, by: str) -> bool:
    """Whether a source of the operation is an exchanged value (``by``), the other not a constant."""
    if not _REDUCES.fullmatch(ins.base) or len(ins.operands) < 3:
        return False
    found = 0
    for o in ins.operands[1:3]:
        for w in k.flow.words(ins, o)[:1]:
            n = resolve(w)
            while n.op == "lanes":
                n = resolve(n.args[0])
            found += n.op == "part" and str(n.args[0].value).startswith(by)
    return found > 0


DETECTOR = Detector("lane-reductions", "DPP or permlane reductions", _find)
