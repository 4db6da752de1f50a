"""Integers made floating point by putting them into the mantissa of a constant."""

from collections.abc import Iterator

from isaprof.inspect.technique import Detector, KernelFacts
from isaprof.inspect.values import constant
from isaprof.isa.model import Instruction

#: constant that is ORed on -> what it makes of a small integer n
_MAGIC = {
    0x43004300: "bf16 128 + n, two at a time", 0x4300: "bf16 128 + n", 0x43000000: "bf16 128 + n, upper half",
    0x64006400: "f16 1024 + n, two at a time", 0x6400: "f16 1024 + n", 0x4B000000: "f32 2^23 + n",
    0x54005400: "f16 64 + n/16, two at a time",
}  # fmt: skip
_OPS = ("v_and_or_b32", "v_or_b32", "v_or3_b32", "v_lshl_or_b32", "v_perm_b32", "v_bfi_b32")


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    groups: dict[int, list[Instruction]] = {}
    for i in k.lines:
        if i.base in _OPS:
            for o in i.operands[1:]:
                words = k.flow.words(i, o)
                if len(words) == 1 and (c := constant(words[0])) in _MAGIC:
                    groups.setdefault(c or 0, []).append(i)
    for c, shown in groups.items():
        yield f"{len(shown)} times {c:#x} is joined to integer bits: {_MAGIC[c]}", shown


DETECTOR = Detector("magic-dequant", "Magic-constant dequantisation", _find)
