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
    """Print the findings, errors first, warnings of one kind together, and a last line that counts them."""
    for group in _groups(report):
        _print(group)
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


def _groups(report: Report) -> list[list[Finding]]:
    """Errors one by one; warnings of one rule about one operand or register as one."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for n, f in enumerate(report.findings):
        key: tuple[object, ...] = (n,)
        if f.severity is Severity.WARNING:
            key = (f.rule, f.values.get("operand"), f.values.get("register"))
        groups.setdefault(key, []).append(f)
    return list(groups.values())


def _print(group: list[Finding]) -> None:
    f = group[0]
    where = "the whole run" if f.place is None else f"line {f.place.row} {f.place}"
    print(clean(f"{f.severity.value} {f.rule} x{sum(g.count for g in group)}: {where}"))
    if f.workgroup is not None:
        print(f"  first: workgroup {','.join(map(str, f.workgroup))}, wave {f.wave}{_lanes(f.lanes)}")
    print(clean(f"  {f.message}"))
    if len(group) > 1:
        print("  also at " + ", ".join(f"{g.place.pc:#x}" for g in group[1:] if g.place is not None))
    if len(pairs := f.values.get("pairs", ())) > 1:
        shown = ", ".join(" and ".join(p) for p in pairs[1:_LANES])
        print(f"  also {shown}" + (f" and {len(pairs) - _LANES} more pairs" if len(pairs) > _LANES else ""))
    if f.source:
        print(clean(f"  rule from: {f.source}"))
    print()


def _lanes(lanes: tuple[int, ...]) -> str:
    if not lanes:
        return ""
    shown = ", ".join(map(str, lanes[:_LANES])) + (", ..." if len(lanes) > _LANES else "")
    return f", lane{'s' if len(lanes) > 1 else ''} {shown}"
