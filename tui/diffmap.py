"""Two captures side by side: columns of a comparison for a LineView."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from isaprof.views.diff import MARKS, Diff, DiffRow, Side, signed
from isaprof.views.palette import bar, cause_look, compact, grouped

_DIM = Style(dim=True)
_BOLD = Style(bold=True)
_SLOWER = Style(color="#e0665c", bold=True)
_FASTER = Style(color="#4cb782", bold=True)
_STATUS: dict[str, Style] = {
    "inserted": Style(color="#4cb782"),
    "deleted": Style(color="#e0665c"),
    "changed": Style(color="#e8b23c"),
    "moved": Style(color="#7fb8f0"),
}

#: from this width on both texts stand side by side
WIDE = 116


def _delta_style(row: DiffRow) -> Style | None:
    return None if not row.delta_per_wave else _SLOWER if row.delta_per_wave > 0 else _FASTER


def _size(value: float) -> str:
    """Cycles per wave in at most six characters."""
    return compact(round(value)) if abs(value) >= 1000 else f"{value:.1f}"


def _delta(row: DiffRow) -> str:
    if not row.delta_per_wave:
        return ""
    return ("+" if row.delta_per_wave > 0 else "") + _size(row.delta_per_wave)


class DiffSource:
    """Rows of one :class:`Diff`; ▲ is slower in B, ▼ faster."""

    sorts: Sequence[str] = ("program", "change", "slower", "faster", "A cycles", "B cycles")

    def __init__(self, diff: Diff) -> None:
        self.diff = diff
        self.text_width = max((cell_len(r.text) for r in diff.rows), default=0)

    def order(self, sort: str, reverse: bool) -> list[int]:
        rows = self.diff.rows
        if sort == "program":
            return list(range(len(rows)))
        keys: dict[str, Callable[[DiffRow], float]] = {
            "change": lambda r: abs(r.delta_per_wave),
            "slower": lambda r: r.delta_per_wave,
            "faster": lambda r: -r.delta_per_wave,
            "A cycles": lambda r: r.a.per_wave,
            "B cycles": lambda r: r.b.per_wave,
        }
        key = keys[sort]
        return sorted(range(len(rows)), key=lambda i: (key(rows[i]) if reverse else -key(rows[i]), i))

    def heading(self, width: int, sort: str, reverse: bool) -> list[Segment]:
        mark = "" if sort == "program" else ("▴" if reverse else "▾")
        a = f"A/wave{mark if sort == 'A cycles' else ''}"
        b = f"B/wave{mark if sort == 'B cycles' else ''}"
        d = f"Δ/wave{mark if sort in ('change', 'slower', 'faster') else ''}"
        titles = f" {'':6} {'A':>5} {'B':>5} {a:>7} {b:>7} {d:>7}   "
        if width >= WIDE:
            half = self._half(width)
            return [Segment(titles), Segment("A instruction".ljust(half) + "   B instruction")]
        return [Segment(titles), Segment("instruction")]

    def scrolled_heading(self, width: int) -> list[Segment]:
        return []

    def fixed(self, ref: int, width: int) -> list[Segment]:
        row = self.diff.rows[ref]
        style = _delta_style(row)
        arrow = "▲" if row.delta_per_wave > 0 else "▼" if row.delta_per_wave < 0 else " "
        return [
            Segment(arrow + bar(abs(row.heat), 5), style),
            Segment(f" {_line(row.a)} {_line(row.b)}", _DIM),
            Segment(f" {_per_wave(row.a):>7} {_per_wave(row.b):>7}"),
            Segment(f" {_delta(row):>7}", style),
            Segment(f" {MARKS.get(row.status, '?')} ", _STATUS.get(row.status)),
        ]

    def text(self, ref: int, width: int) -> list[Segment]:
        row = self.diff.rows[ref]
        style = _STATUS.get(row.status) or (_DIM if row.status == "residual" else None)
        if width < WIDE:
            return [Segment(row.text, style)]
        half = self._half(width)
        left = set_cell_size(row.a.text, half)
        return [Segment(left, style), Segment(" │ ", _DIM), Segment(row.b.text, style)]

    def plain(self, ref: int) -> str:
        return self.diff.rows[ref].text

    @staticmethod
    def _half(width: int) -> int:
        return max(24, (width - 45 - 3) // 2)


def _line(side: Side) -> str:
    return f"{side.line if side.line >= 0 else '':>5}"


def _per_wave(side: Side) -> str:
    return _size(side.per_wave) if side.cycles else ""


def diff_details(diff: Diff, ref: int, width: int = 80) -> Text:
    """Both sides of one row with every figure, and the change."""
    row = diff.rows[ref]
    out = Text(overflow="fold")
    out.append(row.status, _STATUS.get(row.status, _BOLD) + _BOLD)
    out.append(f"  #{row.rank} change\n" if row.rank else "  no change\n", _DIM)
    out.append("change per wave ", _DIM)
    out.append(f"{signed(row.delta_per_wave)} cycles", _delta_style(row) or _BOLD)
    out.append("  all waves ", _DIM)
    out.append(f"{signed(row.delta)}\n")
    for tag, side in (("A", row.a), ("B", row.b)):
        if not side.text:
            out.append(f"{tag} ", _BOLD)
            out.append("no such line\n", _DIM)
            continue
        out.append(f"{tag} ", _BOLD)
        out.append(f"line {side.line}  " if side.line >= 0 else "")
        out.append(f"{side.text}\n", _BOLD)
        for name in ("hits", "latency", "stall", "idle", "cycles"):
            out.append(f"{name} ", _DIM)
            out.append(f"{grouped(getattr(side, name))}  ")
        if side.cause:
            out.append(side.cause, Style(color=cause_look(side.cause).colour))
        out.append("\n")
    out.rstrip()
    return out
