"""What an LLVM tool said about itself, kept between runs: two processes fewer each time.

The answers belong to one file: path, size and modification time. They lie in
``$XDG_CACHE_HOME/isaprof/tools.txt`` (``~/.cache``); where that cannot be
read or written, the tool is simply asked. ``ISAPROF_NO_CACHE`` turns it off.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_LIMIT = 1 << 20


def remembered(tool: Path, question: str, ask: Callable[[], Sequence[Any] | None]) -> Sequence[Any] | None:
    """The kept answer to ``question`` (a list of numbers or words), else what ``ask()`` says now."""
    key = _key(tool)
    place = _place()
    if key is None or place is None:
        return ask()
    facts = _read(place)
    known = facts.get((key, question))
    if known:
        return known
    said = ask()
    if said:
        _write(place, {**facts, (key, question): list(said)})
    return said


def _key(tool: Path) -> str | None:
    try:
        real = tool.resolve()
        s = real.stat()
    except OSError:
        return None
    key = f"{real}:{s.st_size}:{s.st_mtime_ns}"
    return key if key.isprintable() else None


def _place() -> Path | None:
    if os.environ.get("ISAPROF_NO_CACHE"):
        return None
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "isaprof" / "tools.txt"
    try:
        return Path.home() / ".cache" / "isaprof" / "tools.txt"
    except RuntimeError:
        return None


def _read(place: Path) -> dict[tuple[str, str], list[int | str]]:
    """(tool, question) -> answer. Lines of three fields; no JSON, whose module takes longer than the file."""
    try:
        if place.stat().st_size > _LIMIT:
            return {}
        lines = place.read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return {}
    facts: dict[tuple[str, str], list[int | str]] = {}
    for line in lines:
        fields = line.split("\t")
        if len(fields) == 3:
            answer = fields[2].split()
            facts[fields[0], fields[1]] = [int(w) if w.isdecimal() and len(w) < 9 else w for w in answer]
    return facts


def _write(place: Path, facts: dict[tuple[str, str], list[int | str]]) -> None:
    """Replace the file as a whole; the newest 64 answers are kept."""
    text = "".join(f"{tool}\t{q}\t{' '.join(map(str, a))}\n" for (tool, q), a in list(facts.items())[-64:])
    temporary = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, "utf-8")
        os.replace(temporary, place)
    except OSError:
        try:
            temporary.unlink(missing_ok=True)
        except OSError:
            return
