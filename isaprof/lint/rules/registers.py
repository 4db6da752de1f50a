"""Registers beyond what the kernel descriptor grants."""

from __future__ import annotations

from collections.abc import Iterator

from isaprof.analysis.liveness import registers
from isaprof.isa.model import RegClass
from isaprof.lint.accum_alias import clobbered
from isaprof.lint.context import Context
from isaprof.lint.kinds import LANES, names
from isaprof.lint.model import Finding, NoRule, Rule, Severity, no_rule

_SOURCE = "LLVM AMDGPU user guide, kernel descriptor (COMPUTE_PGM_RSRC1, RSRC3)"


def _check(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    d = ctx.kernel.descriptor
    limits = {
        RegClass.VGPR: (d.vgpr_count, f"the descriptor grants {d.vgpr_count} VGPRs"),
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
    if d.accum_offset is not None and ctx.register_mode is None:
        for found in clobbered(ctx.graphs, d.accum_offset):
            name, twin = (f"{cls.value}{n}" for cls, n in (found.written, found.lost))
            yield rule.at(
                found.ins,
                f"{name} is also {twin} (accum_offset {d.accum_offset}): this write replaces a value written "
                f"under that name, and 0x{found.reader.pc:x} {found.reader.text} reads it",
            )


def _beyond(ctx: Context, rule: Rule, limits: dict[RegClass, tuple[int, str]]) -> Iterator[Finding | NoRule]:
    for ins in ctx.lines:
        for span in dict.fromkeys((*ins.reads, *ins.writes)):
            limit = limits.get(span.cls)
            if limit is None or span.index + span.count <= limit[0]:
                continue
            # an index (s_set_gpr_idx_on) is only ever added: a number beyond the grant stays beyond it
            if ins.index in ctx.listing.unknown_vgprs and span.cls in LANES:
                continue
            need = span.index + span.count
            yield rule.at(
                ins, f"{names(span)} needs {need} {_NAMES[span.cls]}, {limit[0]} can be named: {limit[1]}"
            )


def _alias(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    """VGPRs at or above accum_offset are the AGPRs under another name; errors are :func:`_check`'s."""
    d = ctx.kernel.descriptor
    if d.accum_offset is None or ctx.register_mode is not None or d.vgpr_count <= d.accum_offset:
        return
    agprs = {
        n for cls, n in registers(s for i in ctx.lines for s in (*i.reads, *i.writes)) if cls is RegClass.AGPR
    }
    for ins in ctx.lines:
        for span in dict.fromkeys((*ins.reads, *ins.writes)):
            end = span.index + span.count
            if span.cls is RegClass.VGPR and d.accum_offset < end <= d.vgpr_count:
                first = max(0, span.index - d.accum_offset)
                twins = range(first, end - d.accum_offset)
                shared = next((n for n in twins if n in agprs), None)
                yield rule.at(
                    ins,
                    f"{names(span)} lies above accum_offset {d.accum_offset}: the register is also "
                    + (
                        f"a{first}, which this kernel does not name"
                        if shared is None
                        else f"a{shared}, which this kernel names"
                    ),
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
