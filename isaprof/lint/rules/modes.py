"""What is said and not judged: modes that change which register a number names, hazards without rules."""

from __future__ import annotations

from collections.abc import Iterator

from isaprof.lint.context import Context
from isaprof.lint.model import Finding, NoRule, Rule, Severity, no_rule

#: generations whose instruction hazards are in no table here
_NO_HAZARDS = ("gfx10", "gfx1250")


def _check(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    if ctx.generation in _NO_HAZARDS:
        yield no_rule("hazards", f"no rules for the hazards of {ctx.co.arch} that need nops or s_wait_alu")
    for ins in ctx.lines:
        if ins.index in ctx.listing.unknown_vgprs:
            yield no_rule("vgpr_msb", "paths disagree on s_set_vgpr_msb: the VGPR meant is not known", ins)
        elif ins.base.startswith("s_set_gpr_idx") and ins.base != "s_set_gpr_idx_off":
            yield no_rule("gpr_index", "VGPR indexing mode: which VGPR a number names is not followed", ins)
        elif ins.base == ".long":
            yield no_rule("undecoded", "a word that LLVM does not decode is executed", ins)


RULES = (Rule("register-modes", Severity.WARNING, "register numbers that depend on a mode", "", "", _check),)
