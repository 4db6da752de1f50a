"""Reading helpers for launch files: every complaint names file and key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isaprof.errors import BadInput
from isaprof.launch.expr import Expr, ExprError, parse


@dataclass(frozen=True, slots=True)
class Table:
    """One TOML table with typed access; unknown keys are refused by :meth:`done`."""

    data: Mapping[str, Any]
    where: str  #: "[[operand]] 2", for messages
    path: str | None
    seen: set[str]

    @classmethod
    def of(cls, data: object, where: str, path: str | None) -> Table:
        if not isinstance(data, Mapping):
            raise BadInput(f"{where} must be a table", path=path, kind="bad_launch_file")
        return cls(data, where, path, set())

    def fail(self, message: str) -> BadInput:
        return BadInput(f"{self.where}: {message}", path=self.path, kind="bad_launch_file")

    def has(self, key: str) -> bool:
        return key in self.data

    def get(self, key: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        """Value of ``key``, checked to be a ``kind`` (bool is no int)."""
        self.seen.add(key)
        if key not in self.data:
            if default is ...:
                raise self.fail(f"{key} is missing")
            return default
        value = self.data[key]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            names = " or ".join(k.__name__ for k in kinds)
            raise self.fail(f"{key} must be {names}, not {value!r}")
        return value

    def text(self, key: str, default: Any = ...) -> str:
        return str(self.get(key, str, default))

    def texts(self, key: str, default: Any = ...) -> tuple[str, ...]:
        """One text or a list of texts."""
        value = self.get(key, (str, list), default)
        items = [value] if isinstance(value, str) else list(value)
        if not all(isinstance(i, str) for i in items):
            raise self.fail(f"{key} must be a text or a list of texts")
        return tuple(items)

    def expr(self, key: str, default: Any = ...) -> Expr:
        return self.to_expr(key, self.get(key, (int, str), default))

    def exprs(self, key: str, default: Any = ...) -> tuple[Expr, ...]:
        return tuple(self.to_expr(key, v) for v in self.get(key, list, default))

    def to_expr(self, key: str, value: Any) -> Expr:
        try:
            return parse(value)
        except ExprError as e:
            raise self.fail(f"{key} = {value!r}: {e}") from None

    def tables(self, key: str) -> list[Table]:
        items = self.get(key, list, [])
        return [Table.of(t, f"[[{key}]] {i + 1}", self.path) for i, t in enumerate(items)]

    def table(self, key: str, default: Any = ...) -> Table:
        return Table.of(self.get(key, dict, default), f"[{key}]", self.path)

    def done(self) -> None:
        """Refuse keys nobody asked for: a misspelt key must not be ignored."""
        extra = sorted(set(self.data) - self.seen)
        if extra:
            raise self.fail(f"unknown key {', '.join(extra)} (known: {', '.join(sorted(self.seen))})")
