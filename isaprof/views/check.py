"""What the sanitizer found, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isaprof.check.model import RULES, Severity
from isaprof.views.palette import clean

if TYPE_CHECKING:
    from isaprof.check.model import Finding, Place, Report

#: lanes that are written out
_LANES = 8


def to_dict(report: Report) -> dict[str, Any]:
    """The object that ``check --json`` prints (docs/check.md)."""
    return {
        "schema_version": 1,
        "path": report.path,
        "kernel": report.kernel,
        "arch": report.arch,
        "shape": dict(report.shape),
        "workgroups": {"run": report.workgroups, "total": report.total},
        "instructions": report.instructions,
        "complete": report.complete,
        "verified": report.verified,
        "verdict": report.verdict,
        "orders": report.orders,
        "errors": report.count(Severity.ERROR),
        "warnings": report.count(Severity.WARNING),
        "rules": dict(RULES),
        "findings": [_finding(f) for f in report.findings],
        "notes": list(report.notes),
    }


def _finding(f: Finding) -> dict[str, Any]:
    return {
        "rule": f.rule,
        "severity": f.severity.value,
        "count": f.count,
        "line": None if f.place is None else f.place.row,
        "pc": None if f.place is None else hex(f.place.pc),
        "text": None if f.place is None else f.place.text,
        "workgroup": None if f.workgroup is None else list(f.workgroup),
        "wave": f.wave,
        "lanes": list(f.lanes),
        "message": f.message,
        "values": f.values,
        "other": _place(f.other),
        "missing": f.missing,
        "source": f.source,
    }


def _place(p: Place | None) -> dict[str, Any] | None:
    return None if p is None else {"line": p.row, "pc": hex(p.pc), "text": p.text}


def render(report: Report) -> None:
    """Print the findings, errors first, and a last line that counts them."""
    for f in report.findings:
        where = "the whole run" if f.place is None else f"line {f.place.row} {f.place}"
        print(clean(f"{f.severity.value} {f.rule} x{f.count}: {where}"))
        if f.workgroup is not None:
            print(f"  first: workgroup {','.join(map(str, f.workgroup))}, wave {f.wave}{_lanes(f.lanes)}")
        print(clean(f"  {f.message}"))
        if f.source:
            print(clean(f"  rule from: {f.source}"))
        print()
    for note in report.notes:
        print(clean(f"note: {note}"))
    if report.verified is not None:
        word = "verified" if report.verified else "NOT VERIFIED"
        print(clean(f"output {word}: {report.verdict}"))
    ran = f"{report.workgroups} of {report.total} workgroups, {report.instructions} wave-instructions"
    orders = f"{report.orders} other orders of waves" if report.complete else "ended by a fault"
    print(
        clean(
            f"{report.path}: {report.kernel}, {report.arch}: {report.count(Severity.ERROR)} errors, "
            f"{report.count(Severity.WARNING)} warnings ({ran}, {orders})"
        )
    )


def _lanes(lanes: tuple[int, ...]) -> str:
    if not lanes:
        return ""
    shown = ", ".join(map(str, lanes[:_LANES])) + (", ..." if len(lanes) > _LANES else "")
    return f", lane{'s' if len(lanes) > 1 else ''} {shown}"
