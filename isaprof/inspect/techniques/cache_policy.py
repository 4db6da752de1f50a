"""Memory instructions that carry cache-policy bits."""

from collections.abc import Iterator

from isaprof.inspect.census import cache_policy
from isaprof.inspect.technique import Detector, KernelFacts
from isaprof.isa.model import Instruction


def _find(k: KernelFacts) -> Iterator[tuple[str, list[Instruction]]]:
    groups: dict[tuple[str, str], list[Instruction]] = {}
    for i in k.lines:
        if bits := cache_policy(i):
            groups.setdefault((i.base, " ".join(bits)), []).append(i)
    for (base, policy), shown in groups.items():
        yield f"{len(shown)} {base} with {policy}", shown


DETECTOR = Detector("cache-policy", "Cache-policy bits", _find)
