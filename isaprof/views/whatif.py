"""The answer of ``isaprof whatif`` as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isaprof.accuracy.whatif import WhatIf


def text(w: WhatIf) -> str:
    """A few lines for the terminal."""
    before, after = w.wave_cycles
    begun, ended = w.span
    out = [
        f"{w.edit}",
        f"  wave cycles  {before:,} -> {after:,}  ({_signed(w.change, before)}; interval "
        f"{_signed(w.low, before)} to {_signed(w.high, before)})  modelled",
        f"  span         {begun:,} -> {ended:,}  ({_signed(ended - begun, begun)})  modelled",
        f"  {w.waves} waves, {w.addresses} with executed addresses; the capture's own cycles: "
        f"{w.recorded_cycles:,} {w.provenance}; calibration {w.calibration}",
        "  interval: " + "; ".join(f"{name} {change:+,}" for name, change in w.variants),
        "  whether the edit is legal is not judged here: isaprof lint, isaprof apply",
    ]
    return "\n".join([*out, *(f"  note: {n}" for n in w.notes)])


def _signed(change: int, of: int) -> str:
    return f"{change:+,} cycles, {change / of * 100:+.1f} %" if of else f"{change:+,} cycles"


def to_dict(w: WhatIf) -> dict[str, Any]:
    """JSON-able."""
    return {
        "schema_version": 1,
        "edit": w.edit,
        "provenance": "modelled",
        "wave_cycles": {"before": w.wave_cycles[0], "after": w.wave_cycles[1], "change": w.change},
        "interval": {"low": w.low, "high": w.high},
        "variants": [{"name": n, "change": c} for n, c in w.variants],
        "span": {"before": w.span[0], "after": w.span[1]},
        "calibration": w.calibration,
        "waves": w.waves,
        "waves_with_addresses": w.addresses,
        "capture": {"wave_cycles": w.recorded_cycles, "provenance": w.provenance},
        "notes": list(w.notes),
    }
