"""A kernel's passport as text for the terminal and as a Markdown page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from isaprof.views.passport_parts import (
    arguments,
    blocks,
    buffers,
    census,
    descriptor,
    heading,
    lds,
    loops,
    occupancy,
    pressure,
    registers,
    sync,
    techniques,
)

if TYPE_CHECKING:
    from isaprof.inspect.model import Passport

#: a section: title, then paragraphs (str) and tables (header, rows)
Part = str | tuple[tuple[str, ...], list[tuple[str, ...]]]


def sections(p: Passport) -> Iterator[tuple[str, list[Part]]]:
    """(title, content) of each section, in the order of the page."""
    yield "Kernel", heading(p)
    yield "Arguments", arguments(p)
    yield "Registers and occupancy", [*registers(p), *occupancy(p)]
    yield "LDS", lds(p)
    yield "Loops", loops(p)
    yield "Instructions", census(p)
    yield "Buffer descriptors", buffers(p)
    yield "Barriers and waits", sync(p)
    yield "Techniques present", techniques(p)
    yield "Live registers", pressure(p)
    yield "Control flow", blocks(p)
    yield "Descriptor fields", descriptor(p)
    if p.limits:
        yield "What this passport cannot see", [f"- {x}" for x in p.limits]


def text(p: Passport, *, full: bool = False) -> str:
    """For the terminal; ``full`` adds the basic blocks and the descriptor's fields."""
    out = [f"{p.kernel}  {p.target_id}", ""]
    for title, parts in sections(p):
        if title in ("Control flow", "Descriptor fields") and not full:
            continue
        out += [title, "-" * len(title)]
        for part in parts:
            out += [part] if isinstance(part, str) else _columns(*part)
        out.append("")
    return "\n".join(out).rstrip() + "\n"


def markdown(p: Passport) -> str:
    """One page, GitHub-flavoured."""
    out = [f"# {_escape(p.kernel)}", ""]
    for title, parts in sections(p):
        out += [f"## {title}", ""]
        for part in parts:
            if isinstance(part, str):
                out += [_escape(part), *([] if part.startswith("- ") else [""])]
            else:
                header, rows = part
                out += ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
                out += ["| " + " | ".join(_escape(c) for c in row) + " |" for row in rows]
                out.append("")
        if out[-1]:
            out.append("")
    return "\n".join(out).rstrip() + "\n"


def _escape(cell: str) -> str:
    """Names come from the object: nothing in them may become markup."""
    for c in "\\`*_|<>[]#":
        cell = cell.replace(c, "\\" + c)
    return "".join(c if c.isprintable() else "\ufffd" for c in cell)


def _columns(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    clean = [
        header,
        *(tuple("".join(c if c.isprintable() else "\ufffd" for c in x) for x in r) for r in rows),
    ]
    widths = [min(48, max(len(r[i]) for r in clean)) for i in range(len(header))]
    return ["  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in clean]
