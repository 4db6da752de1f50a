"""Where branches and the end of the code lead."""

from __future__ import annotations

from collections.abc import Iterator

from isaprof.analysis.cfg import ends_wave, is_indirect
from isaprof.lint.context import Context
from isaprof.lint.model import Finding, NoRule, Rule, Severity

_SOURCE = "AMD ISA guides, S_BRANCH: target = PC + 4 + 4 * simm16"
_PADDING = ("s_nop", "s_code_end", "s_endpgm", ".long")


def _targets(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    for ins in ctx.lines:
        if ins.target is None or ins.target in ctx.listing.by_pc:
            continue
        section = next((s for s in ctx.co.text if ins.target in s), None)
        if section is None:
            yield rule.at(ins, f"branch to {ins.target:#x}, outside the code of this object")
        else:
            row = next(i for i in ctx.listing.instructions if i.pc < ins.target < i.end)
            yield rule.at(ins, f"branch to {ins.target:#x}, into the middle of {row.pc:#x} {row.text}")


def _end(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    for ins in ctx.lines:
        stops = ends_wave(ins) or is_indirect(ins) or ins.base in ("s_branch", "s_setpc_b64")
        if not stops and ins.end not in ctx.listing.by_pc:
            yield rule.at(ins, "execution goes on behind this instruction, where the code ends")


def _dead(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    if ctx.indirect:
        return
    runs: list[list[int]] = []
    for ins in ctx.extent:
        if ins.index in ctx.reachable or (ins.pc in ctx.listing.labels and ins.pc != ctx.kernel.entry):
            runs.append([])
        elif runs:
            runs[-1].append(ins.index)
    for run in runs:
        while run and ctx.ins(run[0]).base in _PADDING:
            run.pop(0)
        while run and ctx.ins(run[-1]).base in _PADDING:
            run.pop()
        if run:
            first, last = ctx.ins(run[0]), ctx.ins(run[-1])
            count = f"{len(run)} instructions up to {last.pc:#x}" if len(run) > 1 else "this instruction"
            yield rule.at(first, f"no path reaches {count}")


RULES = (
    Rule(
        "branch-target",
        Severity.ERROR,
        "branch to no instruction",
        "the wave runs what is no code of the kernel",
        _SOURCE,
        _targets,
    ),
    Rule(
        "code-end",
        Severity.ERROR,
        "execution runs past the end of the code",
        "the wave runs what follows in memory",
        _SOURCE,
        _end,
    ),
    Rule(
        "dead-code",
        Severity.WARNING,
        "code that no path reaches",
        "it is never executed",
        "control-flow graph",
        _dead,
    ),
)
