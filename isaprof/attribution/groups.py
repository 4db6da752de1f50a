"""Groupings of an Analysis that views show as tables of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isaprof.attribution.model import Cause
from isaprof.errors import BadInput, UsageError

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.attribution.model import Analysis


def by_culprit(analysis: Analysis) -> pd.DataFrame:
    """Wait cycles by the line to blame, largest first; launch is left out, nobody waits there for a line.

    Columns: culprit (-1: nobody is named), text ("" for -1), cause (the
    largest of its causes), cycles (all waits charged to it), share (of all
    wave cycles, 0..1), victims (number of lines that waited), victim (the
    line that waited longest), and where the analysis has its detail exposed,
    hidden, covered and unknown (cycles, which sum to cycles).
    """
    import pandas as pd

    from isaprof.attribution.exposure import SPLIT

    blame = analysis.culprits
    text = analysis.lines["text"].tolist()
    blame = blame[~blame["cause"].astype(str).isin((Cause.LAUNCH, Cause.ISSUE))]
    ordered = blame.assign(cause=blame["cause"].astype(str)).sort_values(
        ["culprit", "cycles"], ascending=[True, False], kind="stable"
    )
    groups = ordered.groupby("culprit", sort=False)
    out = pd.DataFrame(
        {
            "cause": groups["cause"].first(),
            "cycles": groups["cycles"].sum(),
            "victims": groups["victim"].nunique(),
            "victim": groups["victim"].first(),
        }
    ).reset_index()
    out["text"] = [text[c] if c >= 0 else "" for c in out["culprit"].tolist()]
    out["share"] = out["cycles"] / max(analysis.total_cycles, 1)
    columns = ["culprit", "text", "cause", "cycles", "share", "victims", "victim"]
    if analysis.detail is not None:
        split = analysis.detail.by("culprit")
        split = split[~split["cause"].isin((str(Cause.LAUNCH), str(Cause.ISSUE)))]
        names = list(SPLIT)
        sums = split.groupby("culprit")[names].sum()
        out[names] = sums.reindex(out["culprit"], fill_value=0).to_numpy()
        columns += names
    return out[columns].sort_values("cycles", ascending=False, kind="stable", ignore_index=True)


def explained_waits(analysis: Analysis) -> tuple[int, int]:
    """(cycles with a named culprit, all cycles) of stalls on a wait counter.

    The figure of merit of the attribution: of the time spent in waits for
    loads, stores, LDS, SMEM, exports and asynchronous copies, how much names
    the instruction that is to blame.
    """
    waits = analysis.culprits[analysis.culprits["cause"].astype(str).str.startswith("wait: ")]
    named = waits.loc[waits["culprit"] >= 0, "cycles"].sum()
    return int(named), int(waits["cycles"].sum())


def by_wave(analysis: Analysis) -> pd.DataFrame:
    """Analysis.waves, and where the analysis has its detail exposed, hidden, ... of each wave."""
    from isaprof.attribution.exposure import SPLIT

    if analysis.detail is None:
        return analysis.waves
    names = ["wave", *SPLIT]
    return analysis.waves.merge(analysis.detail.by("wave")[names], on="wave", how="left")


#: what an Analysis can be listed by, and the words for it; the roll-ups of its detail among them
LISTINGS: dict[str, str] = {
    "line": "instruction", "source": "source line", "culprit": "instruction to blame", "cause": "cause",
    "category": "category", "kind": "kind of instruction", "block": "basic block", "loop": "loop",
    "gap": "idle stretch of the matrix pipe", "kernel": "kernel", "bank": "LDS bank conflicts",
    "vgpr-bank": "VGPR bank conflicts", "se": "shader engine", "cu": "CU or WGP", "simd": "SIMD",
    "wave": "wave", "time": "time", "in-flight": "change of the waves in flight",
}  # fmt: skip


def sums_only(analysis: Analysis) -> bool:
    """Whether the capture has sums of each instruction and neither waves nor records."""
    return analysis.detail is None and not len(analysis.waves) and bool(analysis.lines["hits"].any())


def listing(analysis: Analysis, by: str, wave: int | None = None) -> pd.DataFrame:
    """The table for ``by`` (a key of :data:`LISTINGS`); by "time" of all waves or over the life of ``wave``.

    Raises BadInput where the capture has only sums of each instruction and
    ``by`` needs records, and UsageError for a wave without records.
    """
    if wave is not None and analysis.detail is not None:
        return _life(analysis, wave)
    if by == "line" and analysis.detail is None:
        return analysis.lines
    if sums_only(analysis) or (analysis.detail is None and by not in ("cause", "culprit", "wave")):
        raise BadInput(
            f"this capture has no instruction records, so nothing is known by {LISTINGS[by]}",
            kind="no_records",
        )
    if by == "cause":
        return analysis.causes
    if by == "culprit":
        return by_culprit(analysis)
    if analysis.detail is None or by == "wave":
        return by_wave(analysis)
    return analysis.detail.by(by)


def _life(analysis: Analysis, wave: int) -> pd.DataFrame:
    assert analysis.detail is not None
    try:
        return analysis.detail.life(wave)
    except KeyError:
        known = sorted(analysis.waves["wave"].tolist())
        some = ", ".join(str(w) for w in known[:8]) + (", ..." if len(known) > 8 else "")
        raise UsageError(
            f"wave {wave} has no instruction records" + (f"; traced are {some}" if known else ""),
            kind="no_such_wave",
            hint="isaprof show CAPTURE --by wave   lists the traced waves",
        ) from None
