"""Modes that change which register a number names: said, not judged."""

from __future__ import annotations

from collections.abc import Iterator

from isaprof.lint.context import Context
from isaprof.lint.model import Finding, NoRule, Rule, Severity, no_rule


def _check(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    for ins in ctx.lines:
        if ins.base == "s_set_vgpr_msb":
            yield no_rule("vgpr_msb", "s_set_vgpr_msb: which VGPR a number names is not followed", ins)
        elif ins.base.startswith("s_set_gpr_idx") and ins.base != "s_set_gpr_idx_off":
            yield no_rule("gpr_index", "VGPR indexing mode: which VGPR a number names is not followed", ins)
        elif ins.base == ".long":
            yield no_rule("undecoded", "a word that LLVM does not decode is executed", ins)


RULES = (Rule("register-modes", Severity.WARNING, "register numbers that depend on a mode", "", "", _check),)
