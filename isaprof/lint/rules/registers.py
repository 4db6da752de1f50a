"""Registers beyond what the kernel descriptor grants."""

from __future__ import annotations

from collections.abc import Iterator

from isaprof.isa.model import RegClass
from isaprof.lint.context import Context
from isaprof.lint.kinds import LANES, names
from isaprof.lint.model import Finding, NoRule, Rule, Severity, no_rule

_SOURCE = "LLVM AMDGPU user guide, kernel descriptor (COMPUTE_PGM_RSRC1, RSRC3)"


def _check(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    d = ctx.kernel.descriptor
    named_agprs = _agprs(ctx)
    vgprs = d.arch_vgpr_count
    if d.accum_offset is not None and not any(a + d.accum_offset >= vgprs for a in named_agprs):
        vgprs = d.vgpr_count
    limits = {
        RegClass.VGPR: (vgprs, f"the descriptor grants {d.vgpr_count} VGPRs"),
        RegClass.AGPR: (d.agpr_count, f"the descriptor grants {d.vgpr_count} VGPRs"),
        RegClass.SGPR: (
            min(d.sgpr_count, ctx.table["max_sgpr"]),
            f"the descriptor grants {d.sgpr_count} SGPRs",
        ),
    }
    if d.accum_offset is not None:
        for cls in LANES:
            limits[cls] = (limits[cls][0], f"{limits[cls][1]}, AGPRs from {d.accum_offset} on (accum_offset)")
    if d.dynamic_vgpr:
        yield no_rule("dynamic_vgpr", "dynamic VGPRs: the grant changes at run time")
        limits.pop(RegClass.VGPR)
    yield from _beyond(ctx, rule, limits)


def _agprs(ctx: Context) -> set[int]:
    spans = {s for i in ctx.lines for s in (*i.reads, *i.writes) if s.cls is RegClass.AGPR}
    return {s.index + n for s in spans for n in range(s.count)}


def _beyond(ctx: Context, rule: Rule, limits: dict[RegClass, tuple[int, str]]) -> Iterator[Finding | NoRule]:
    for ins in ctx.lines:
        for span in dict.fromkeys((*ins.reads, *ins.writes)):
            limit = limits.get(span.cls)
            if limit is None or span.index + span.count <= limit[0]:
                continue
            if ctx.register_mode is not None and span.cls in LANES:
                continue
            need = span.index + span.count
            yield rule.at(
                ins, f"{names(span)} needs {need} {_NAMES[span.cls]}, {limit[0]} can be named: {limit[1]}"
            )


def _alias(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    """VGPRs at or above accum_offset are the AGPRs under another name; harmless where none is named."""
    d = ctx.kernel.descriptor
    if d.accum_offset is None or ctx.register_mode is not None or d.vgpr_count <= d.accum_offset:
        return
    if _agprs(ctx):
        return
    for ins in ctx.lines:
        for span in dict.fromkeys((*ins.reads, *ins.writes)):
            end = span.index + span.count
            if span.cls is RegClass.VGPR and d.accum_offset < end <= d.vgpr_count:
                yield rule.at(
                    ins,
                    f"{names(span)} lies above accum_offset {d.accum_offset}: the register is also "
                    f"a{max(0, span.index - d.accum_offset)}, which this kernel does not name",
                )
                break


_NAMES = {RegClass.VGPR: "VGPRs", RegClass.AGPR: "AGPRs", RegClass.SGPR: "SGPRs"}

RULES = (
    Rule(
        "register-grant",
        Severity.ERROR,
        "register beyond the descriptor's grant",
        "the register belongs to another wave, to the AGPRs of this one, or does not exist: reads give 0, "
        "writes are lost or hit others",
        _SOURCE,
        _check,
    ),
    Rule(
        "vgpr-above-accum-offset",
        Severity.WARNING,
        "VGPR named above accum_offset",
        "accum_offset says where the AGPRs begin in the unified file; a compiler puts it behind the last "
        "VGPR",
        _SOURCE,
        _alias,
        once=True,
    ),
)
