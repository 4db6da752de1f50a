"""How causes, heat and numbers look: shared by the terminal and the HTML view.

Colours are chosen by family (waits for memory warm, busy pipes blue,
dependencies violet, control grey) so that a chart can be read at a glance;
every place that uses them also shows the cause's name, because colour alone
is no label. Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class CauseLook:
    """Short name (at most 10 characters) and fill colour of a cause."""

    short: str
    colour: str


#: by the value of isaprof.attribution.model.Cause, in the order of that enum
CAUSE_LOOKS: Final[dict[str, CauseLook]] = {
    "issue": CauseLook("issue", "#4c9a6a"),
    "wait: global load": CauseLook("load", "#d64545"),
    "wait: store": CauseLook("store", "#b5523b"),
    "wait: LDS": CauseLook("LDS", "#e8843c"),
    "wait: SMEM": CauseLook("SMEM", "#d9a441"),
    "wait: export/GDS": CauseLook("export", "#a9743a"),
    "wait: async/tensor": CauseLook("async", "#c0604f"),
    "LDS bank conflict": CauseLook("LDS bank", "#c2408f"),
    "VGPR bank conflict": CauseLook("VGPR bank", "#d66fb0"),
    "VALU dependency": CauseLook("VALU dep", "#8c6bd1"),
    "SALU dependency": CauseLook("SALU dep", "#a58fdb"),
    "matrix dependency": CauseLook("matrix dep", "#6d4bb0"),
    "matrix pipe busy": CauseLook("matrix", "#2f6fc4"),
    "VALU pipe busy": CauseLook("VALU", "#4a90d9"),
    "LDS pipe busy": CauseLook("LDS pipe", "#5aa9c9"),
    "VMEM pipe busy": CauseLook("VMEM pipe", "#3b7f9e"),
    "SMEM pipe busy": CauseLook("SMEM pipe", "#7fb7cf"),
    "SALU pipe busy": CauseLook("SALU", "#88a8d8"),
    "s_nop/s_sleep": CauseLook("nop/sleep", "#9aa35a"),
    "barrier": CauseLook("barrier", "#23939a"),
    "instruction fetch": CauseLook("fetch", "#7d8c3a"),
    "branch": CauseLook("branch", "#b3a53f"),
    "lost arbitration": CauseLook("arbitr.", "#6f7f8f"),
    "trap/context switch": CauseLook("trap", "#555f6b"),
    "launch": CauseLook("launch", "#a9b2bb"),
    "drain": CauseLook("drain", "#8b949d"),
    "unexplained": CauseLook("unexplain.", "#e0529c"),
}

#: classes of a wait by how exposed it is: name -> (glyph, fill colour); other classes look like _OTHER
EXPOSURE_LOOKS: Final[dict[str, tuple[str, str]]] = {
    "exposed": ("█", "#e0562c"),
    "covered": ("▒", "#2f6fc4"),
    "hidden": ("░", "#4c9a6a"),
    "unknown": ("·", "#8b949d"),
}
#: what the classes mean, for headers and help
EXPOSURE_TEXT: Final[dict[str, str]] = {
    "exposed": "waits while nothing else is done on the SIMD",
    "hidden": "waits while another wave of the SIMD issues or keeps its vector pipe busy",
    "covered": "waits while only the matrix pipe of the SIMD is busy",
    "unknown": "waits of which the trace cannot tell",
}
_OTHER: Final = ("▒", "#7b6fc4")

#: eight steps of the heat scale, cool to hot; length of the bar says the same without colour
HEAT_COLOURS: Final[tuple[str, ...]] = (
    "#3f6ea8", "#4f8fb0", "#6aa67a", "#a9a84a", "#d6a33a", "#e0832f", "#de5a2c", "#d92f2f",
)  # fmt: skip

#: what the two labels mean, for headers and reports
PROVENANCE_TEXT: Final[dict[str, str]] = {
    "measured": "Cycles come from a thread trace recorded on real hardware.",
    "modelled": "Cycles come from isaprof's simulator: a prediction by its timing model, not a measurement.",
}

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def cause_look(cause: str) -> CauseLook:
    """The look of ``cause``; a cause this version does not know keeps its name."""
    return CAUSE_LOOKS.get(cause) or CauseLook(cause[:10], "#808080")


def exposure_look(name: str) -> tuple[str, str]:
    """Glyph and colour of a class of waits; one this version does not know gets its own."""
    return EXPOSURE_LOOKS.get(name) or next(
        (look for known, look in EXPOSURE_LOOKS.items() if name.startswith(known)), _OTHER
    )


def heat_colour(heat: float) -> str:
    """Colour for a heat of 0..1."""
    last = len(HEAT_COLOURS) - 1
    return HEAT_COLOURS[min(last, max(0, int(heat * (last + 1))))]


def bar(fraction: float, width: int) -> str:
    """A bar of ``width`` cells for 0..1; anything above zero shows at least one eighth."""
    eighths = min(width * 8, round(max(0.0, fraction) * width * 8))
    if fraction > 0 and eighths == 0:
        eighths = 1
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def compact(value: int) -> str:
    """A count in at most five characters: 987, 12.3k, 4.56M (a minus sign is extra)."""
    size = abs(value)
    sign = "-" if value < 0 else ""
    if size < 10_000:
        return f"{sign}{size}"
    for limit, unit in ((1e6, "k"), (1e9, "M"), (1e12, "G"), (1e15, "T")):
        if size < limit * 0.9995:
            scaled = size / (limit / 1000)
            return f"{sign}{scaled:.{2 if scaled < 9.995 else 1 if scaled < 99.95 else 0}f}{unit}"
    return f"{sign}{size:.0e}".replace("e+", "e")


def grouped(value: int) -> str:
    """A count with thin groups of three: 12,345."""
    return f"{value:,}"


def percent(share: float) -> str:
    """A share of 0..1 in at most five characters: 12.3%, <0.1%, empty for zero."""
    if share == 0:
        return ""
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{100 * share:.1f}%" if share < 0.9995 else "100%"


def percentage(share: float) -> str:
    """A share of 0..1 with one decimal, never rounded to nothing: 12.3 %, <0.1 %."""
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{100 * share:.1f}%"


def clean(text: str) -> str:
    """``text`` without control and bidi characters: captures may come from others."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c in "\t\n\r" else "�" for c in text)
