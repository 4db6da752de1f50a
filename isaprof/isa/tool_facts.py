"""What an LLVM tool said about itself, kept between runs: two processes fewer each time.

The answers belong to one file: path, size and modification time. They lie in
``$XDG_CACHE_HOME/isaprof/tools.json`` (``~/.cache``); where that cannot be
read or written, the tool is simply asked. ``ISAPROF_NO_CACHE`` turns it off.
"""

from __future__ import annotations

import json
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
    known = facts.get(key)
    answer = known.get(question) if isinstance(known, dict) else None
    if isinstance(answer, list) and answer and all(isinstance(x, (int, str)) for x in answer):
        return answer
    said = ask()
    if said:
        entry = known if isinstance(known, dict) else {}
        _write(place, {**facts, key: {**entry, question: list(said)}})
    return said


def _key(tool: Path) -> str | None:
    try:
        real = tool.resolve()
        s = real.stat()
    except OSError:
        return None
    return f"{real}:{s.st_size}:{s.st_mtime_ns}"


def _place() -> Path | None:
    if os.environ.get("ISAPROF_NO_CACHE"):
        return None
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "isaprof" / "tools.json"
    try:
        return Path.home() / ".cache" / "isaprof" / "tools.json"
    except RuntimeError:
        return None


def _read(place: Path) -> dict[str, Any]:
    try:
        if place.stat().st_size > _LIMIT:
            return {}
        facts = json.loads(place.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _write(place: Path, facts: dict[str, Any]) -> None:
    """Replace the file as a whole; the newest 32 tools are kept."""
    text = json.dumps(dict(list(facts.items())[-32:]))
    temporary = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text)
        os.replace(temporary, place)
    except OSError:
        try:
            temporary.unlink(missing_ok=True)
        except OSError:
            return
