"""Reading JSON written by others: every value is checked before it is used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from isaprof.errors import BadInput
from isaprof.files import content

T = TypeVar("T", bound="str | bool | list[Any] | dict[str, Any]")

#: times, addresses and counts must fit the int64 columns of a capture
INT_MIN, INT_MAX = -(1 << 63), (1 << 63) - 1
_NAMES = {str: "a string", bool: "true or false", list: "a list", dict: "an object"}


def load_json(path: Path, *, kind: str = "bad_json", hint: str | None = None) -> Any:
    """The parsed content of ``path``. BadInput where it is unreadable or no JSON."""
    try:
        return json.loads(content(path))
    except OSError as e:
        raise BadInput(f"cannot read: {e.strerror or e}", path=path, kind=kind, hint=hint) from None
    except RecursionError:
        raise BadInput("not valid JSON: nested too deeply", path=path, kind=kind, hint=hint) from None
    except (ValueError, MemoryError) as e:
        reason = str(e).splitlines()[0] if str(e) else type(e).__name__
        raise BadInput(f"not valid JSON: {reason}", path=path, kind=kind, hint=hint) from None


class Fields:
    """Checked access to the keys of one JSON object; errors name file and key."""

    def __init__(self, value: Any, path: Path, where: str, *, kind: str, hint: str | None = None) -> None:
        self.path, self.where, self.kind, self.hint = path, where, kind, hint
        if not isinstance(value, dict):
            raise self.bad(f"{where or 'the file'} must be an object, not {_describe(value)}")
        self.value: dict[str, Any] = value

    def bad(self, message: str) -> BadInput:
        return BadInput(message, path=self.path, kind=self.kind, hint=self.hint)

    def _name(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def need(self, key: str, type_: type[T]) -> T:
        """The value of a required key."""
        value = self.optional(key, type_)
        if value is None:
            raise self.bad(f"{self._name(key)} is missing (expected {_NAMES[type_]})")
        return value

    def optional(self, key: str, type_: type[T]) -> T | None:
        """The value of a key, None where it is absent or null."""
        value = self.value.get(key)
        if value is None:
            return None
        if not isinstance(value, type_):
            raise self.bad(f"{self._name(key)} must be {_NAMES[type_]}, not {_describe(value)}")
        return value

    def integer(self, key: str, *, low: int = INT_MIN, high: int = INT_MAX) -> int | None:
        """An integer within ``low``..``high``, None where it is absent or null."""
        value = self.value.get(key)
        return None if value is None else self.check_int(value, self._name(key), low, high)

    def need_integer(self, key: str, *, low: int = INT_MIN, high: int = INT_MAX) -> int:
        value = self.integer(key, low=low, high=high)
        if value is None:
            raise self.bad(f"{self._name(key)} is missing (expected an integer)")
        return value

    def check_int(self, value: Any, name: str, low: int = INT_MIN, high: int = INT_MAX) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.bad(f"{name} must be an integer, not {_describe(value)}")
        if not low <= value <= high:
            raise self.bad(f"{name} = {_short(value)} is outside {low}..{high}")
        return value

    def objects(self, key: str) -> list[Fields]:
        """The objects of a required list."""
        items = self.need(key, list)
        return [
            Fields(v, self.path, f"{self._name(key)}[{i}]", kind=self.kind, hint=self.hint)
            for i, v in enumerate(items)
        ]

    def triple(self, key: str) -> tuple[int, int, int] | None:
        """Three positive integers (x, y, z), None where the key is absent or null."""
        items = self.optional(key, list)
        if items is None:
            return None
        if len(items) != 3:
            raise self.bad(f"{self._name(key)} must be a list of three integers")
        x, y, z = (self.check_int(v, f"{self._name(key)}[{i}]", 1, 1 << 32) for i, v in enumerate(items))
        return x, y, z

    def file(self, key: str) -> Path:
        """A file beside this one, named by a required key: a relative name that stays in the folder."""
        return inside(self.path, self.need(key, str), self.bad)


def inside(index: Path, name: str, bad: Any) -> Path:
    """``name`` beside the file ``index``; refuses names that leave its folder."""
    part = Path(name)
    if not name or "\0" in name or part.is_absolute() or ".." in part.parts:
        raise bad(f"file name {name[:100]!r} leaves the folder")
    return index.parent / part


def _short(value: int) -> str:
    return str(value) if abs(value) < 1 << 128 else f"a number of {value.bit_length()} bits"


def _describe(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int):
        return _short(value)
    return _NAMES.get(type(value), f"a {type(value).__name__}")
