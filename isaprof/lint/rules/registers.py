"""Registers beyond what the kernel descriptor grants."""

from __future__ import annotations

from collections.abc import Iterator

from isaprof.isa.model import RegClass, RegSpan
from isaprof.lint.context import Context
from isaprof.lint.kinds import LANES, names
from isaprof.lint.model import Finding, NoRule, Rule, Severity, no_rule

_SOURCE = "LLVM AMDGPU user guide, kernel descriptor (COMPUTE_PGM_RSRC1, RSRC3)"


def _limits(ctx: Context) -> dict[RegClass, tuple[int, str]]:
    """Register class -> (how many may be named, where that is said)."""
    d = ctx.kernel.descriptor
    vgprs = f"the descriptor grants {d.vgpr_count} VGPRs"
    if d.accum_offset is not None:
        vgprs += f", AGPRs from {d.accum_offset} on (accum_offset)"
    most: int = ctx.table["max_sgpr"]
    return {
        RegClass.VGPR: (d.arch_vgpr_count, vgprs),
        RegClass.AGPR: (d.agpr_count, vgprs),
        RegClass.SGPR: (min(d.sgpr_count, most), f"the descriptor grants {d.sgpr_count} SGPRs"),
    }


def _check(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    limits = _limits(ctx)
    mode = ctx.register_mode
    if ctx.kernel.descriptor.dynamic_vgpr:
        yield no_rule("dynamic_vgpr", "dynamic VGPRs: the grant changes at run time")
        limits.pop(RegClass.VGPR)
    for ins in ctx.lines:
        seen: set[RegSpan] = set()
        for span in (*ins.reads, *ins.writes):
            limit = limits.get(span.cls)
            if limit is None or span in seen or span.index + span.count <= limit[0]:
                continue
            if mode is not None and span.cls in LANES:
                continue
            seen.add(span)
            last = span.index + span.count - 1
            yield rule.at(
                ins, f"{names(span)} needs {last + 1} {_NAMES[span.cls]}, {limit[0]} can be named: {limit[1]}"
            )


_NAMES = {RegClass.VGPR: "VGPRs", RegClass.AGPR: "AGPRs", RegClass.SGPR: "SGPRs"}

RULES = (
    Rule(
        "register-grant", Severity.ERROR, "register beyond the descriptor's grant",
        "the register belongs to another wave, or does not exist: reads give 0, writes are lost or hit others",
        _SOURCE, _check,
    ),
)  # fmt: skip
