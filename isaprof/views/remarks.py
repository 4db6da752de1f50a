"""Sentences about a capture that every interactive view shows in the same words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from isaprof.views.palette import clean, percent

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis

#: from this share of the wave cycles on, *unexplained* is a remark of its own
UNEXPLAINED: Final = 0.01

NO_WAVES: Final = (
    "No wave of this capture was traced, so there are no cycles to show. "
    "On hardware: trace a compute unit the kernel really used (isaprof doctor DIR names them)."
)


def coverage(meta: Mapping[str, Any]) -> str:
    """How much of the launch the cycles are for: "modelled on one CU: waves 4 of 1024"."""
    found = meta.get("coverage")
    text = found.get("text") if isinstance(found, Mapping) else None
    return clean(text) if isinstance(text, str) else ""


def remarks(analysis: Analysis) -> list[str]:
    """Coverage, warnings of the capture, a large unexplained share, then notes of the analysis."""
    about = coverage(analysis.meta)
    out = [about] if about else []
    for w in analysis.meta.get("warnings", ()):
        amount, unit, engine = w.get("amount"), w.get("unit") or "", w.get("se")
        text = f"{w.get('kind', 'warning')}: {w.get('message', '')}"
        if amount is not None:
            text += f" ({amount} {unit}".rstrip() + ")"
        if engine is not None:
            text += f", shader engine {engine}"
        out.append(clean(text))
    if analysis.unexplained_share > UNEXPLAINED:
        out.append(f"unexplained: {percent(analysis.unexplained_share)} of the wave cycles")
    return [*out, *(clean(n) for n in analysis.notes)]


def verdict(meta: Mapping[str, Any]) -> tuple[bool | None, str]:
    """Whether the output was right, and in a few words how that is known.

    None with "" where the capture says nothing (a recorded trace has no output).
    """
    found = meta.get("verification")
    if not isinstance(found, Mapping):
        return None, ""
    verified = found.get("verified")
    if verified is None:
        return None, clean(str(found.get("message") or "not verified"))
    errors = [
        f"{name} {found[key]:.3g}"
        for key, name in (("max_abs_err", "max abs error"), ("max_rel_err", "rel"), ("cosine", "cosine"))
        if isinstance(found.get(key), (int, float))
    ]
    return bool(verified), ", ".join(["output verified" if verified else "OUTPUT WRONG", *errors])
