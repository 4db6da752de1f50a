"""A :class:`~isaprof.lint.model.Report` as JSON (documented in docs/lint.md)."""

from __future__ import annotations

from typing import Any

from isaprof.lint.model import Finding, Report, Severity, Site, Unjudged


def _hex(pc: int | None) -> str | None:
    return None if pc is None else f"{pc:#x}"


def _site(s: Site) -> dict[str, Any]:
    return {"role": s.role, "line": s.line, "row": s.row, "pc": _hex(s.pc), "text": s.text}


def _finding(f: Finding) -> dict[str, Any]:
    return {
        "rule": f.rule,
        "severity": f.severity.value,
        "kernel": f.kernel,
        "line": f.line,
        "row": f.row,
        "pc": _hex(f.pc),
        "text": f.text,
        "message": f.message,
        "why": f.why,
        "source": f.source,
        "required": f.required,
        "present": f.present,
        "unit": None if f.unit is None else f.unit.value,
        "path": [_site(s) for s in f.path],
        "also": [_site(s) for s in f.also],
    }


def _unjudged(u: Unjudged) -> dict[str, Any]:
    return {
        "topic": u.topic,
        "message": u.message,
        "kernel": u.kernel,
        "count": u.count,
        "first": {"line": u.line, "row": u.first.row, "pc": _hex(u.first.pc), "text": u.first.text},
    }


def report_dict(report: Report) -> dict[str, Any]:
    """The object that ``isaprof lint --json`` prints."""
    return {
        "schema_version": 1,
        "path": report.path,
        "target": report.target,
        "from_source": report.from_source,
        "against": report.against,
        "kernels": list(report.kernels),
        "instructions": report.instructions,
        "errors": report.count(Severity.ERROR),
        "warnings": report.count(Severity.WARNING),
        "findings": [_finding(f) for f in report.findings],
        "no_rule": [_unjudged(u) for u in report.unjudged],
        "rules": list(report.rules),
    }
