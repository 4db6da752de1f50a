"""Legality of a kernel's code before it is launched: one module a rule (or a small group)."""

from isaprof.lint.model import Finding, Kind, NoRule, Report, Rule, Severity
from isaprof.lint.registry import discover
from isaprof.lint.run import lint_object, lint_source

__all__ = [
    "Finding",
    "Kind",
    "NoRule",
    "Report",
    "Rule",
    "Severity",
    "discover",
    "lint_object",
    "lint_source",
]
