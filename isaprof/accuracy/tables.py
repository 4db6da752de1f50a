"""Calibration tables on disk: TOML with a value, unit, source and confidence for each constant.

A table overrides constants of the built-in one and can do nothing else: names
that the model does not know, and values of another type, are refused.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from isaprof.arch.table import Fact
from isaprof.errors import BadInput, UsageError
from isaprof.files import read_bytes
from isaprof.sim.timing.calibration import Calibration, Constants, get

SCHEMA_NAME = "isaprof-calibration"
SCHEMA_VERSION = 1
_CONFIDENCE = frozenset("MABCD")
_ID = re.compile(r"[\w.+-]{1,80}")
#: largest constant a table may give (cycles, bytes): far beyond any device, far below what breaks the clock
MAX_VALUE = 1 << 32


def read_tables(paths: Sequence[Path]) -> dict[str, Calibration]:
    """Tables by architecture, over the built-in ones. UsageError for two of one architecture."""
    out: dict[str, Calibration] = {}
    for path in paths:
        arch, table = read_table(path)
        if arch in out:
            raise UsageError(f"a second calibration for {arch}", path=path, kind="two_tables")
        out[arch] = table
    return out


def for_arch(tables: Mapping[str, Calibration], arch: str, *, what: str = "capture") -> Calibration | None:
    """The table for ``arch``, None where none was given; UsageError where all are for other architectures.

    ``what`` is timed with it, in the words of the message.
    """
    if tables and arch not in tables:
        raise UsageError(
            f"the calibration is for {', '.join(sorted(tables))}, the {what} for {arch}",
            kind="other_architecture",
            hint=f"isaprof calibrate TRACE... -o TABLE.toml   with traces of {arch}",
        )
    return tables.get(arch)


def read_table(path: Path) -> tuple[str, Calibration]:
    """(architecture, table). Raises BadInput for anything that is no calibration table."""
    try:
        data = tomllib.loads(read_bytes(path).decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as e:
        raise _bad(path, f"is no TOML: {e}") from None
    if data.get("schema") != SCHEMA_NAME or data.get("schema_version") != SCHEMA_VERSION:
        raise _bad(
            path, f'is no calibration table: expected schema = "{SCHEMA_NAME}", version {SCHEMA_VERSION}'
        )
    arch, name, given = data.get("arch"), data.get("id"), data.get("facts")
    if not isinstance(arch, str) or not isinstance(name, str) or not _ID.fullmatch(name):
        raise _bad(path, "needs arch and id (letters, digits, . + - _)")
    if not isinstance(given, dict) or not given:
        raise _bad(path, "needs at least one [facts.NAME]")
    from isaprof import arch as arch_tables

    built_in = Constants(arch_tables.get(arch))
    facts = {key: _fact(path, built_in, key, entry) for key, entry in given.items()}
    return arch, overlay(arch, facts, name)


def overlay(arch: str, facts: Mapping[str, Fact], name: str) -> Calibration:
    """The built-in calibration of ``arch`` with ``facts`` over it."""
    return Calibration(name, {**get(arch).facts, **facts})


def _fact(path: Path, built_in: Constants, key: str, entry: Any) -> Fact:
    known = built_in.fact(key)
    if known is None or type(known.value) not in (int, float):
        raise _bad(path, f"facts.{key}: the model has no such figure")
    if not isinstance(entry, dict) or set(entry) - {"value", "unit", "source", "confidence"}:
        raise _bad(path, f"facts.{key}: expected value, unit, source and confidence")
    value: Any = entry.get("value")
    kind = "whole number" if type(known.value) is int else "number"
    if type(value) not in (int, type(known.value)) or not 0 <= value <= MAX_VALUE:
        raise _bad(path, f"facts.{key}: expected a {kind} like {known.value}, from 0 to {MAX_VALUE}")
    texts = [entry.get("unit", known.unit), entry.get("source", ""), entry.get("confidence", "D")]
    if not all(isinstance(t, str) for t in texts) or texts[2] not in _CONFIDENCE:
        raise _bad(path, f"facts.{key}: unit and source are text, confidence is one of M, A, B, C, D")
    return Fact(value, *texts)


def _bad(path: Path, why: str) -> BadInput:
    return BadInput(
        why, path=path, kind="bad_calibration", hint="isaprof calibrate TRACE... -o TABLE.toml   writes one"
    )


def to_toml(arch: str, name: str, facts: Mapping[str, Fact], remarks: Sequence[str] = ()) -> str:
    """A table as text that :func:`read_table` reads back."""
    out = [f"# {_one_line(r)}" for r in remarks]
    out += [
        f'schema = "{SCHEMA_NAME}"', f"schema_version = {SCHEMA_VERSION}", f"arch = {_quoted(arch)}",
        f"id = {_quoted(name)}",
    ]  # fmt: skip
    for key, fact in facts.items():
        out += [
            "", f"[facts.{key}]", f"value = {fact.value}", f"unit = {_quoted(fact.unit)}",
            f"source = {_quoted(fact.source)}", f"confidence = {_quoted(fact.confidence)}",
        ]  # fmt: skip
    return "\n".join(out) + "\n"


def _one_line(text: str) -> str:
    """``text`` without line ends and other control characters, which TOML does not take."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _quoted(text: str) -> str:
    """A TOML basic string."""
    inner = _one_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inner}"'
