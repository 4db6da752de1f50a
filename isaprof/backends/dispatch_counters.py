"""Which counters of whole dispatches belong to a recording's dispatch.

Counters and trace are often of two runs of one program (``rocprofv3 --pmc``
and ``rocprofv3 --att``): the dispatch number and the kernel have to agree, or
the kernel alone where its counters are of one dispatch only. Nothing is
averaged or guessed: what is not clear is left out with a warning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Any

from isaprof.capture.model import Warning_
from isaprof.parsers.pmc import Counted

#: CSV tables round to so many digits, the other formats do not
_SAME = 1e-6
_MOST = 5


def choose_counters(
    counted: Sequence[Counted], number: int, kernels: Collection[str]
) -> tuple[dict[str, Any] | None, list[Warning_]]:
    """``dispatch_counters`` of capture.json for dispatch ``number`` of a kernel, known by the names
    ``kernels``; None where there are none. The warnings say what was left out."""
    if not counted:
        return None, []
    names = {k.removesuffix(".kd") for k in kernels if k != "unknown"}
    mine = [c for c in counted if c.dispatch == number and _fits(c.kernel, names)]
    if not mine:
        mine = [c for c in counted if c.kernel is not None and c.kernel.removesuffix(".kd") in names]
        runs = sorted({c.dispatch for c in mine})
        if len(runs) != 1:
            return None, [_unmatched(counted, number, names, runs)]
    values: dict[str, int | float] = {}
    warnings: list[Warning_] = []
    for name in dict.fromkeys(c.name for c in mine):
        found = [c for c in mine if c.name == name]
        first = found[0]
        other = next((c for c in found if not math.isclose(c.value, first.value, rel_tol=_SAME)), None)
        if other is not None:
            message = (
                f"{name} is {first.value:.12g} in {first.where} and {other.value:.12g} in {other.where}: "
                "left out; keep the counters of one run beside the trace"
            )
            warnings.append(Warning_("counters_differ", message))
            continue
        exact = max((c.value for c in found), key=lambda v: len(repr(v)))
        values[name] = int(exact) if exact.is_integer() and exact < 1 << 53 else exact
    if not values:
        return None, warnings
    files = list(dict.fromkeys(c.where.split(" line ")[0] for c in mine))
    return {"values": values, "dispatch": mine[0].dispatch, "files": files}, warnings


def _fits(kernel: str | None, names: Collection[str]) -> bool:
    """Whether a kernel's name can be one of ``names``: tools demangle and shorten them as they like."""
    if kernel is None or not names:
        return True
    return any(_alike(kernel.removesuffix(".kd"), n) for n in names)


def _alike(a: str, b: str) -> bool:
    if a == b:
        return True
    for x, y in ((a, b), (b, a)):
        base = _base(y)
        if x.startswith("_Z") and base and f"{len(base)}{base}" in x:
            return True
    return bool(_base(a)) and _base(a) == _base(b)


def _base(name: str) -> str:
    """``foo`` of ``void ns::foo<16u>(float*)``."""
    head = re.split(r"[<(]", name.replace("(anonymous namespace)", ""), maxsplit=1)[0]
    return re.split(r"[\s:]+", head.strip())[-1]


def _unmatched(counted: Sequence[Counted], number: int, names: Collection[str], runs: list[int]) -> Warning_:
    files = ", ".join(list(dict.fromkeys(c.where.split(" line ")[0] for c in counted))[:_MOST])
    kernel = next(iter(sorted(names)), "the kernel")
    if runs:
        listed = ", ".join(map(str, runs[:_MOST])) + (", ..." if len(runs) > _MOST else "")
        what = f"has {kernel} as dispatches {listed}, none of them is dispatch {number}"
    else:
        what = f"has no row of dispatch {number} with {kernel}"
    return Warning_("counters_unmatched", f"{files} {what}: no counters of the whole dispatch")


__all__ = ["choose_counters"]
