"""The ladder: its settings and its steps, as they are written to ladder.json (docs/edit.md)."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from isaprof.errors import BadInput

SCHEMA_NAME = "isaprof-ladder"
SCHEMA_VERSION = 1
_DESCRIPTION = re.compile(r"^[ \t]*(?:;|//|#)+[ \t]*step:[ \t]*(.*?)[ \t]*$")


class Status(StrEnum):
    """How far a step came."""

    OPEN = "open"  #: being edited, or left before it was evaluated
    NOT_ASSEMBLED = "does not assemble"
    REJECTED = "rejected"  #: assembled, but no kernel to compare (name, kernarg layout, target)
    FAULT = "fault"  #: assembled; the simulated kernel did something illegal
    WRONG = "wrong"  #: ran; output wrong, or not that of the original
    UNVERIFIED = "no reference"  #: ran and agrees with the original; there is no reference
    VERIFIED = "verified"

    @property
    def assembled(self) -> bool:
        return self not in (Status.OPEN, Status.NOT_ASSEMBLED)

    @property
    def ran(self) -> bool:
        return self in (Status.WRONG, Status.UNVERIFIED, Status.VERIFIED)


@dataclass(frozen=True, slots=True)
class Against:
    """A step against another one; cycles are spans, edited lines are counted by status."""

    step: int
    difference: float  #: cycles, negative is faster
    ratio: float | None
    percent: float | None
    agree: bool  #: outputs within the tolerance of each other
    bitwise: bool  #: all compared elements equal in bits
    lines: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One attempt. Figures are None where it did not come so far."""

    step: int
    base: int | None  #: the step it was made from
    status: Status
    description: str | None = None
    message: str = ""
    sha256: str | None = None
    text_sha256: str | None = None
    verified: bool | None = None
    cosine: float | None = None
    max_rel_err: float | None = None
    provenance: str | None = None
    cycles: int | None = None  #: span of the modelled unit
    wave_cycles: int | None = None
    waves: int | None = None
    vs_previous: Against | None = None
    vs_original: Against | None = None
    date: str = ""
    #: per seed: seed, unwritten, unstable, verification (isaprof.launch.verify)
    checks: tuple[dict[str, Any], ...] = ()

    @property
    def name(self) -> str:
        return step_name(self.step)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Settings:
    """What all steps of a ladder share, so that their figures can be compared."""

    object: str  #: path as given
    sha256: str  #: of the original code object
    kernel: str
    arch: str
    launch_file: str
    launch_sha256: str | None  #: None for a built-in launch file
    shape: dict[str, int]
    seeds: tuple[int, ...]
    workgroups: str

    @property
    def shape_text(self) -> str | None:
        """As ``--shape`` takes it."""
        return ",".join(f"{k}={v}" for k, v in self.shape.items()) or None


def step_name(number: int) -> str:
    """``step-07``: what the files of a step are called."""
    return f"step-{number:02d}"


def description(text: str) -> str | None:
    """What the first comment line ``; step: ...`` says; None where there is none or it is empty."""
    for line in text.splitlines():
        found = _DESCRIPTION.match(line)
        if found:
            return "".join(c if c.isprintable() else " " for c in found[1])[:200].strip() or None
    return None


def without_description(text: str) -> str:
    """``text`` without its description lines and trailing blanks: what decides whether it was edited."""
    lines = (x.rstrip() for x in text.splitlines() if not _DESCRIPTION.match(x))
    return "\n".join(lines).strip("\n")


def with_description(text: str, words: str) -> str:
    """``text`` whose first line is the description ``words``, older ones removed."""
    lines = [x for x in text.splitlines(keepends=True) if not _DESCRIPTION.match(x.rstrip("\r\n"))]
    return f"; step: {words}".rstrip() + "\n" + "".join(lines)


# -- reading back --------------------------------------------------------------
def read(data: object, path: Path) -> tuple[Settings, list[Step]]:
    """Settings and steps of a ladder.json. Raises BadInput where it is not one, or is damaged."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA_NAME:
        raise _bad(path, f'not a ladder: expected "schema": "{SCHEMA_NAME}"')
    if data.get("schema_version") != SCHEMA_VERSION:
        raise _bad(path, f"schema version {data.get('schema_version')}; this isaprof reads {SCHEMA_VERSION}")
    try:
        settings = _make(Settings, {**data["settings"], "seeds": tuple(data["settings"]["seeds"])})
        if not settings.seeds or not all(type(s) is int for s in settings.seeds):
            raise ValueError("seeds are integers")
        dict(settings.shape)
        steps = [_step(s) for s in data["steps"]]
    except (KeyError, TypeError, ValueError, AttributeError) as e:
        raise _bad(path, f"damaged ({type(e).__name__}: {e})") from None
    if [s.step for s in steps] != sorted({s.step for s in steps}) or not steps or steps[0].step != 0:
        raise _bad(path, "damaged: the steps are not numbered from 0 upwards")
    return settings, steps


def _step(data: dict[str, Any]) -> Step:
    made = dict(data)
    made["status"] = Status(made["status"])
    for key in ("vs_previous", "vs_original"):
        if made.get(key) is not None:
            made[key] = _make(Against, made[key])
    made["checks"] = tuple(dict(c) for c in made.get("checks", ()))
    step: Step = _make(Step, made)
    if type(step.step) is not int or not (step.base is None or type(step.base) is int):
        raise ValueError("step numbers are integers")
    return step


def _make(kind: Any, data: dict[str, Any]) -> Any:
    """An instance from a JSON object; keys of newer versions are ignored."""
    known = {f.name for f in fields(kind)}
    return kind(**{k: v for k, v in data.items() if k in known})


def _bad(path: Path, message: str) -> BadInput:
    return BadInput(
        message, path=path, kind="bad_ladder", hint="start another ladder with -o DIR; this one is left alone"
    )
