"""Wait states behind v_dot* on CDNA2 to CDNA4."""

from __future__ import annotations

from collections.abc import Iterator

from isaprof.isa.model import Instruction, RegSpan
from isaprof.lint.context import Context
from isaprof.lint.distance import Need, report, shortfalls, worst_first
from isaprof.lint.hazard_facts import GFX90A, LLVM_ISA
from isaprof.lint.kinds import (
    LANES,
    explicit_reads,
    is_dot,
    is_memory,
    is_mfma,
    is_valu,
    names,
    of_class,
    source_span,
    writes,
)
from isaprof.lint.model import Finding, NoRule, Rule, Severity


def _needs(ins: Instruction) -> Iterator[Need]:
    first_two = (source_span(ins, 0), source_span(ins, 1))
    for span in dict.fromkeys(of_class(explicit_reads(ins), LANES)):

        def read(i: Instruction, s: RegSpan = span, ab: bool = span in first_two) -> bool:
            # the same opcode may accumulate on its own result
            return is_dot(i) and writes(i, s) and (i.base != ins.base or ab)

        yield Need(span, 3, read, f"reads {names(span)}, the result of")
    for span in dict.fromkeys(of_class(ins.writes, LANES)):

        def write(i: Instruction, s: RegSpan = span) -> bool:
            return is_dot(i) and writes(i, s) and i.base != ins.base

        yield Need(span, 3, write, f"writes {names(span)}, the result of")


def _check(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    if ctx.co.arch not in GFX90A or not any(is_dot(i) for i in ctx.lines):
        return
    for g in ctx.graphs:
        for p, ins in enumerate(g.lines):
            if is_mfma(ins) or not (is_valu(ins) or is_memory(ins)):
                continue
            short = worst_first(shortfalls(g, p, _needs(ins), ctx.table))
            if short is not None:
                yield report(rule, ins, short)


RULES = (
    Rule(
        "dot-wait-states",
        Severity.ERROR,
        "too few wait states behind a dot-product instruction",
        "the result of v_dot* is not forwarded to another instruction, nor to A or B of the same one",
        LLVM_ISA,
        _check,
    ),
)
