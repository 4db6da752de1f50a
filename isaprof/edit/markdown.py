"""ladder.md: the table people read. Only the part between the markers is isaprof's."""

from __future__ import annotations

from collections.abc import Sequence

from isaprof.edit.model import Against, Settings, Step

BEGIN = "<!-- ladder: written by isaprof edit; your own notes go outside of this part -->"
END = "<!-- end of the ladder -->"
_EDITS = (("inserted", "+"), ("deleted", "-"), ("changed", "~"), ("moved", "»"))


def update(old: str, settings: Settings, steps: Sequence[Step]) -> str:
    """``old`` with its table replaced, everything else kept; a new page where there is none."""
    table = "\n".join([BEGIN, "", *_rows(steps), "", END])
    begin, end = old.find(BEGIN), old.find(END)
    if 0 <= begin < end:
        return old[:begin] + table + old[end + len(END) :]
    return (old.rstrip("\n") + "\n\n" if old.strip() else _head(settings)) + table + "\n"


def _head(s: Settings) -> str:
    shape = ", ".join(f"{k}={v}" for k, v in s.shape.items()) or "no axes"
    return (
        f"# Ladder of {_cell(s.kernel)} ({s.arch})\n\n"
        f"{_cell(s.object)}, {shape}; seeds {', '.join(map(str, s.seeds))}; "
        f"workgroups {_cell(s.workgroups)}. Cycles are the span of the modelled unit.\n\n"
    )


def _rows(steps: Sequence[Step]) -> list[str]:
    head = ("step", "from", "what", "edit", "verified", "cosine", "cycles", "vs previous", "vs original")
    rows = [head, ("---:", "---:", "---", "---", "---", "---:", "---:", "---:", "---:")]
    for s in steps:
        label = "" if s.provenance is None else f" {s.provenance}"
        rows.append(
            (
                f"{s.step:02d}",
                "" if s.base is None else f"{s.base:02d}",
                _cell(s.description or ""),
                edits(s.vs_previous),
                _cell(s.status.value),
                "" if s.cosine is None else f"{s.cosine:.7f}",
                "" if s.cycles is None else f"{s.cycles:,}{label}",
                change(s.vs_previous),
                change(s.vs_original),
            )
        )
    return ["| " + " | ".join(r) + " |" for r in rows]


def edits(against: Against | None) -> str:
    """``+1 -2 ~3``: instructions inserted, deleted, changed, moved."""
    if against is None:
        return ""
    return " ".join(f"{sign}{against.lines[k]}" for k, sign in _EDITS if against.lines.get(k)) or "none"


def change(against: Against | None) -> str:
    """``-12.34 % (-1,234)``: of the cycles; negative is faster."""
    if against is None:
        return ""
    if not against.difference:
        return "0"
    percent = "" if against.percent is None else f"{against.percent:+.2f} % "
    return f"{percent}({against.difference:+,.0f})"


def _cell(text: str) -> str:
    """Text that cannot leave its cell or become markup."""
    for c in ("\\", "|", "`", "<", "[", "*", "_"):
        text = text.replace(c, "\\" + c)
    return " ".join(text.split())
