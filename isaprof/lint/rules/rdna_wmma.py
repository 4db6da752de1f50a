"""WMMA results that go straight into the next WMMA (gfx11, gfx12)."""

from __future__ import annotations

from collections.abc import Iterator

from isaprof.isa.model import Instruction, RegSpan
from isaprof.lint.context import Context
from isaprof.lint.distance import sites
from isaprof.lint.hazard_facts import LLVM
from isaprof.lint.kinds import destination, is_valu, is_wmma, names, source_span, touches
from isaprof.lint.model import Finding, Kind, NoRule, Rule, Severity, no_rule
from isaprof.lint.search import look_back

_ISA = "AMD ISA guides RDNA3 and RDNA4, WMMA data hazards"


def _check(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    matrix = [i for i in ctx.lines if is_wmma(i)]
    if not matrix:
        return
    if ctx.generation not in ("gfx11", "gfx12"):
        for ins in matrix:
            yield no_rule("matrix_hazard", f"no table of matrix hazards for {ctx.co.arch}", ins)
        return
    for g in ctx.graphs:
        for p, ins in enumerate(g.lines):
            if not is_wmma(ins):
                continue
            operands = [0, 1] + [2] * (ctx.generation == "gfx12" and ins.base.startswith("v_swmmac"))
            sources = tuple(s for n in operands if (s := source_span(ins, n)) is not None)

            def step(state: int, i: Instruction, spans: tuple[RegSpan, ...] = sources) -> int | bool:
                if not is_valu(i):
                    return state
                d = destination(i)
                return is_wmma(i) and d is not None and touches(spans, d)

            for found in look_back(g, p, 0, step):
                d = destination(found.ins)
                yield rule.at(
                    ins,
                    f"reads {names(d) if d else ''} as A or B, the result of {found.ins.pc:#x} "
                    f"{found.ins.text}: one VALU instruction or v_nop is needed between, none is there",
                    path=sites(found),
                    required=1,
                    present=0,
                    unit=Kind.VALU,
                )
                break


RULES = (
    Rule(
        "wmma-source",
        Severity.ERROR,
        "WMMA reads the result of the WMMA before it as A or B",
        "the matrix unit does not interlock A and B (nor SWMMAC's index) against the result before",
        f"{LLVM}; {_ISA}",
        _check,
    ),
)
