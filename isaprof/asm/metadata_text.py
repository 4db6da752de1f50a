"""The metadata note as YAML between ``.amdgpu_metadata`` and ``.end_amdgpu_metadata``.

LLVM parses it into the same MessagePack document that it came from. A string
that YAML would read as something else gets the tag ``!str``, as LLVM's own
printer does (MsgPackDocumentYAML.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_.$][A-Za-z0-9_.$\-]*( [A-Za-z0-9_.$\-]+)*")
_OTHER_TYPE = re.compile(
    r"[-+]?(\d[\d_]*|0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+)"
    r"|[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    r"|true|True|TRUE|false|False|FALSE|yes|no|on|off|null|Null|NULL|~|nil"
)


def to_yaml(metadata: Mapping[str, Any]) -> str:
    """YAML document for the metadata map of a code object (keys as they are)."""
    return "---\n" + _map(metadata, 0) + "...\n"


def _map(value: Mapping[Any, Any], depth: int) -> str:
    out = []
    for key, item in value.items():
        out.append("  " * depth + f"{_scalar(key)}:{_rest(item, depth)}")
    return "".join(out)


def _list(value: Sequence[Any], depth: int) -> str:
    out = []
    for item in value:
        if isinstance(item, Mapping) and item:
            body = _map(item, depth + 1)
            out.append("  " * depth + "- " + body[2 * (depth + 1) :])
        elif isinstance(item, list) and item:
            out.append("  " * depth + "-\n" + _list(item, depth + 1))
        else:
            out.append("  " * depth + "- " + _leaf(item) + "\n")
    return "".join(out)


def _rest(item: Any, depth: int) -> str:
    if isinstance(item, Mapping) and item:
        return "\n" + _map(item, depth + 1)
    if isinstance(item, list) and item:
        return "\n" + _list(item, depth + 1)
    return " " + _leaf(item) + "\n"


def _leaf(item: Any) -> str:
    if isinstance(item, Mapping):
        return "{}"
    if isinstance(item, list):
        return "[]"
    return _scalar(item)


def _scalar(value: Any) -> str:
    if value is None:
        return "~"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    text = str(value)
    if _OTHER_TYPE.fullmatch(text):
        return f"!str '{text}'"
    if _PLAIN.fullmatch(text):
        return text
    if any(ord(c) < 32 or ord(c) == 127 for c in text):
        escaped = "".join(c if " " <= c != "\x7f" and c not in '"\\' else f"\\x{ord(c):02x}" for c in text)
        return f'"{escaped}"'
    return "'" + text.replace("'", "''") + "'"
