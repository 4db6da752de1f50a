"""Loads that transpose between lanes while they read."""

import re
from collections import Counter
from collections.abc import Iterator

from isaprof.inspect.technique import Detector, KernelFacts
from isaprof.isa.model import Instruction

_TRANSPOSED = re.compile(r"(ds|global)_(read|load)_(\w+_)?tr\d*(_\w+)?|ds_load_tr\w+|global_load_tr\w*")


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    shown = [i for i in k.lines if _TRANSPOSED.fullmatch(i.base)]
    if shown:
        names = ", ".join(f"{n} {m}" for m, n in Counter(i.base for i in shown).most_common())
        yield f"{names}", shown


DETECTOR = Detector("transposed-reads", "Transposed reads", _find)
