"""The panel about the line under the cursor."""

from __future__ import annotations

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from isaprof.views.exposure import Split
from isaprof.views.listing import Blame, Listing
from isaprof.views.palette import bar, cause_look, exposure_look, grouped, percent

_DIM = Style(dim=True)
_KEY = Style(bold=True)


class Details(VerticalScroll, can_focus=False):
    """Causes with cycles, culprits, victims, source and encoding of one line."""

    def compose(self) -> ComposeResult:
        yield Static(id="detail-text")

    def show(self, text: Text) -> None:
        self.query_one("#detail-text", Static).update(text)
        self.scroll_home(animate=False)


def line_details(listing: Listing, line: int, width: int = 80, split: Split | None = None) -> Text:
    """What the analysis says about ``line``; culprits are numbered for the keys 1 to 9.

    ``width`` (cells) cuts the other lines' instructions, so that each takes one line;
    ``split``: the classes of the wait, where they are to be named.
    """
    row = listing.rows[line]
    rank = f"  #{row.rank} hottest" if row.rank else ""
    out = Text(no_wrap=False, overflow="fold")
    out.append(f"line {row.line}", _KEY)
    out.append(f"  pc {row.pc:#x}{rank}", _DIM)
    if row.source:
        out.append(f"  {row.source}")
    out.append(f"\n{row.text}\n", _KEY)
    for name in ("hits", "latency", "stall", "idle", "issue", "lost"):
        out.append(f"{name} ", _DIM)
        out.append(f"{grouped(getattr(row, name))}  ")
    out.append("share ", _DIM)
    out.append(f"{percent(row.share) or '0'}\n")
    if not row.hits:
        out.append("no traced wave executed this line\n", _DIM)
    if split is not None and line in split.parts:
        out.append("of the wait ", _DIM)
        for name, n in zip(split.names, split.parts[line], strict=True):
            out.append(f"{name} {grouped(n)}  ", Style(color=exposure_look(name)[1]))
        out.append("\n")
    causes = listing.causes.get(line, ())
    if row.held or (row.cause and row.cause not in dict(causes)):
        # lost while it issues: no wait that the list below could show
        out.append("held while it issues: ", _DIM)
        out.append(f"{grouped(row.held)} cycles  " if row.held else "")
        out.append(row.cause, Style(color=cause_look(row.cause).colour if row.cause else None))
        out.append("\n")
    total = row.wait or 1
    if causes:
        out.append("waits for\n", _DIM)
    for cause, cycles in causes:
        out.append(f" {bar(cycles / total, 6)} ", Style(color=cause_look(cause).colour))
        out.append(f"{cause}  {grouped(cycles)} cycles  {percent(cycles / total)}\n")
    culprits, victims = listing.culprits.get(line, ()), listing.victims.get(line, ())
    _blames(out, listing, culprits, "culprits (keys 1-9 jump)", numbered=True, width=width)
    _blames(out, listing, victims, "lines that wait for this one", numbered=False, width=width)
    if row.encoding:
        out.append("encoding ", _DIM)
        out.append(row.encoding)
    out.rstrip()
    return out


def _blames(
    out: Text, listing: Listing, blames: tuple[Blame, ...], title: str, *, numbered: bool, width: int
) -> None:
    if not blames:
        return
    out.append(f"{title}\n", _DIM)
    for i, blame in enumerate(blames[:9], start=1):
        entry = Text(f" {i} " if numbered else " · ", _KEY)
        entry.append(f"line {blame.line}  {grouped(blame.cycles)} ", _KEY)
        entry.append(blame.cause, Style(color=cause_look(blame.cause).colour))
        entry.append(f"  {listing.rows[blame.line].text}")
        entry.truncate(max(20, width - 1), overflow="ellipsis")
        out.append_text(entry)
        out.append("\n")
    if len(blames) > 9:
        out.append(f" … {len(blames) - 9} more\n", _DIM)
