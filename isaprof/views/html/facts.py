"""The facts of ``capture.json`` that a reader of a report asks for.

Sections are shown in a fixed order with nested keys joined by dots; what the
capture does not say is not shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isaprof.views.palette import clean

#: section of capture.json -> heading; a capture may lack any of them
SECTIONS: tuple[tuple[str, str], ...] = (
    ("launch", "Launch"),
    ("verification", "Verification"),
    ("coverage", "Coverage"),
    ("dispatch", "Dispatch"),
    ("model", "Timing model"),
    ("decoder", "Decoder"),
    ("device", "Device"),
    ("source", "Source"),
    ("tool", "Written by"),
)

#: facts a section may show before it is cut (said so), and characters of one value
MOST_FACTS = 40
LONGEST_VALUE = 200


def facts(meta: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """(heading, [(key, value), ...]) for each section present, as clean text."""
    out = []
    for key, heading in SECTIONS:
        value = meta.get(key)
        if value in (None, "", [], {}):
            continue
        pairs = list(_flat("", value))
        if len(pairs) > MOST_FACTS:
            pairs = [*pairs[:MOST_FACTS], ("…", f"{len(pairs) - MOST_FACTS} more in capture.json")]
        out.append((heading, pairs))
    return out


def _flat(prefix: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        return [pair for k, v in value.items() for pair in _flat(f"{prefix}.{k}" if prefix else str(k), v)]
    if isinstance(value, Sequence) and not isinstance(value, str):
        if value and all(isinstance(v, Mapping) for v in value):
            return [_entry(prefix, i, v) for i, v in enumerate(value)]
        if any(isinstance(v, (Mapping, list, tuple)) for v in value):
            return [pair for i, v in enumerate(value) for pair in _flat(f"{prefix}.{i}".lstrip("."), v)]
        return [(clean(prefix), _short(" × ".join(_plain(v) for v in value)))]
    return [(clean(prefix or "value"), _short(_plain(value)))]


def _entry(prefix: str, index: int, item: Mapping[str, Any]) -> tuple[str, str]:
    """One object of a list on one line, under its name where it has one."""
    name = item.get("name", index)
    rest = [(k, v) for k, v in item.items() if k != "name"]
    words = [f"{k} {', '.join(t for _, t in _flat('', v))}" for k, v in rest]
    return clean(f"{prefix} {name}".strip()), _short(", ".join(words))


def _plain(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def _short(text: str) -> str:
    text = clean(text)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
