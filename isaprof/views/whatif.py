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
        f"  span         {begun:,} -> {ended:,}  ({_signed(ended - begun, begun)}; interval "
        f"{_signed(w.span_low, begun)} to {_signed(w.span_high, begun)})  modelled",
        f"  {w.waves} waves, {w.addresses} with executed addresses; the capture's own cycles: "
        f"{w.recorded_cycles:,} {w.provenance}; calibration {w.calibration}",
        "  interval: " + "; ".join(f"{name} {change:+,}" for name, change in w.variants),
        *_applied(w),
        *_lines(w),
        "  launch, cold first accesses and drain are the same on both sides and cancel, unless a line above "
        "says otherwise",
        "  whether the edit is legal is not judged here: isaprof lint, isaprof apply",
    ]
    return "\n".join([*out, *(f"  note: {n}" for n in w.notes)])


def _applied(w: WhatIf) -> list[str]:
    """A measured capture: what the modelled change makes of the measured cycles."""
    if not w.measured:
        return []
    cycles = w.recorded_cycles
    return [
        f"    and {w.own_error:,} cycles either way: what the replay is off by on this capture where the "
        "edit matters",
        f"  applied to the {cycles:,} measured wave cycles: {cycles + w.change:,} "
        f"({cycles + w.low:,} to {cycles + w.high:,}), measured before, modelled change; waves begin as "
        "recorded",
    ]


def _lines(w: WhatIf) -> list[str]:
    if not w.lines:
        return ["  no instruction issues at another time"]
    what = (
        f"    {c:+,} cycles  {'' if line is None else f'line {line}, '}{text}" for line, text, c in w.lines
    )
    return ["  where (cycles up to the issue of each line, summed over waves):", *what]


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
        "span": {"before": w.span[0], "after": w.span[1], "low": w.span_low, "high": w.span_high},
        "own_error": w.own_error,
        "lines": [{"line": n, "text": t, "change": c} for n, t, c in w.lines],
        "calibration": w.calibration,
        "waves": w.waves,
        "waves_with_addresses": w.addresses,
        "capture": {"wave_cycles": w.recorded_cycles, "span": w.recorded_span, "provenance": w.provenance},
        "notes": list(w.notes),
    }
