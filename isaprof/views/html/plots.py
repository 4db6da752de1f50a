"""Interactive plotly charts, only for reports that ask for them.

The figures are plain dictionaries; plotly itself is needed for its JavaScript
bundle alone. Plotly reads a few HTML tags in texts, so texts are escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from isaprof.views.html.payload import script_json
from isaprof.views.loops import loops
from isaprof.views.palette import cause_look, clean
from isaprof.views.series import life, over_time

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis
    from isaprof.views.listing import Listing

#: lines in the chart of hottest lines
HOTTEST = 40


def plots(captures: Sequence[tuple[str, Analysis, Listing]], source: str) -> dict[str, Any]:
    """Figures as JSON and where the bundle comes from.

    ``captures``: (tag, analysis, listing), one or two. ``source``: "embed" or "cdn".
    """
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs, get_plotlyjs_version

    bundle = get_plotlyjs().replace("\r", "")
    figures = [_causes(captures), *(_profile(*c) for c in captures), *(_hottest(*c) for c in captures)]
    figures += [f for f in (_iterations(captures), _in_flight(captures)) if f["data"]]
    figures += [f for c in captures for f in _life(*c)]
    out: dict[str, Any] = {"figures": figures, "json": Markup(script_json(figures)), "url": None}
    if source == "cdn":
        out["url"] = f"https://cdn.plot.ly/plotly-{get_plotlyjs_version()}.min.js"
        digest = hashlib.sha256(get_plotlyjs().encode()).digest()
        out["integrity"] = f"sha256-{base64.b64encode(digest).decode()}"
    else:
        out["bundle"] = Markup(bundle)
    return out


def _layout(title: str, **more: Any) -> dict[str, Any]:
    return {
        "title": {"text": escape(title)},
        "margin": {"l": 60, "r": 20, "t": 50, "b": 50},
        "legend": {"orientation": "h", "y": -0.25},
        **more,
    }


def _causes(captures: Sequence[tuple[str, Analysis, Listing]]) -> dict[str, Any]:
    data = []
    for tag, analysis, _ in captures:
        names = [clean(str(c)) for c in analysis.causes["cause"]]
        data.append(
            {
                "type": "bar",
                "name": f"{tag} {analysis.provenance}".strip(),
                "x": [escape(n) for n in names],
                "y": [int(n) for n in analysis.causes["cycles"]],
                "marker": {"color": [cause_look(n).colour for n in names]} if len(captures) == 1 else {},
            }
        )
    label = "wave cycles by cause, " + " and ".join(dict.fromkeys(a.provenance for _, a, _ in captures))
    layout = _layout(label, barmode="group", yaxis={"title": {"text": "wave cycles"}})
    return {"label": label, "data": data, "layout": layout}


def _profile(tag: str, analysis: Analysis, listing: Listing) -> dict[str, Any]:
    label = f"{tag} lost cycles by line in program order, {analysis.provenance}".strip()
    rows = listing.rows
    trace = {
        "type": "bar",
        "x": [r.line for r in rows if r.lost],
        "y": [r.lost for r in rows if r.lost],
        "text": [escape(r.text) for r in rows if r.lost],
        "textposition": "none",
        "marker": {"color": [cause_look(r.cause).colour for r in rows if r.lost], "line": {"width": 0}},
    }
    layout = _layout(label, xaxis={"title": {"text": "line"}}, yaxis={"title": {"text": "cycles"}}, bargap=0)
    return {"label": label, "data": [trace], "layout": layout}


def _hottest(tag: str, analysis: Analysis, listing: Listing) -> dict[str, Any]:
    label = f"{tag} hottest lines, {analysis.provenance} cycles".strip()
    rows = [listing.rows[i] for i in listing.hottest[:HOTTEST]]
    data = [
        {
            "type": "bar",
            "name": part,
            "x": [f"#{r.rank} line {r.line}" for r in rows],
            "y": [getattr(r, part) for r in rows],
            "text": [escape(r.text) for r in rows],
            "textposition": "none",
        }
        for part in ("stall", "idle")
    ]
    return {"label": label, "data": data, "layout": _layout(label, barmode="stack")}


def _kinds(captures: Sequence[tuple[str, Analysis, Listing]]) -> str:
    return " and ".join(dict.fromkeys(a.provenance for _, a, _ in captures))


def _iterations(captures: Sequence[tuple[str, Analysis, Listing]]) -> dict[str, Any]:
    """Distribution of the cycles of an iteration of every loop, captures over each other."""
    data = []
    for tag, analysis, _ in captures:
        for loop in loops(analysis):
            if not loop.steps:
                continue
            data.append(
                {
                    "type": "bar",
                    "name": f"{tag} {loop.title.lower()}".strip(),
                    "x": [(begin + end - 1) / 2 for begin, end, _ in loop.steps],
                    "y": [count for _, _, count in loop.steps],
                    "width": [end - begin for begin, end, _ in loop.steps],
                    "opacity": 0.7,
                }
            )
    label = f"cycles of an iteration, {_kinds(captures)}"
    axes = {"xaxis": {"title": {"text": "cycles/iteration"}}, "yaxis": {"title": {"text": "iterations"}}}
    return {"label": label, "data": data, "layout": _layout(label, barmode="overlay", **axes)}


def _in_flight(captures: Sequence[tuple[str, Analysis, Listing]]) -> dict[str, Any]:
    """Mean waves in flight of each shader engine over time."""
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "line": {"shape": "hv"},
            "name": f"{tag} SE {se}".strip(),
            "x": [s.begin for s in steps] + [steps[-1].end],
            "y": [round(s.in_flight, 3) for s in steps] + [0],
        }
        for tag, analysis, _ in captures
        for se, steps in over_time(analysis).items()
    ]
    label = f"waves in flight, {_kinds(captures)}"
    axes = {"xaxis": {"title": {"text": "cycle of the engine"}}, "yaxis": {"title": {"text": "waves"}}}
    return {"label": label, "data": data, "layout": _layout(label, **axes)}


def _life(tag: str, analysis: Analysis, listing: Listing) -> list[dict[str, Any]]:
    """What the longest traced wave did over its life, cycles by cause; nothing where there is none."""
    waves = analysis.waves
    if analysis.detail is None or not len(waves):
        return []
    wave = int(waves.sort_values(["cycles", "wave"], ascending=[False, True]).iloc[0]["wave"])
    steps = life(analysis, wave)
    names = list(dict.fromkeys(cause for s in steps for cause, _ in s.causes))
    data = [
        {
            "type": "bar",
            "name": escape(clean(name)),
            "x": [s.begin for s in steps],
            "y": [dict(s.causes).get(name, 0) for s in steps],
            "marker": {"color": cause_look(name).colour, "line": {"width": 0}},
        }
        for name in names
    ]
    label = f"{tag} life of the longest traced wave ({wave}), {analysis.provenance} cycles".strip()
    axes = {"xaxis": {"title": {"text": "cycle of the engine"}}, "yaxis": {"title": {"text": "cycles"}}}
    return [{"label": label, "data": data, "layout": _layout(label, barmode="stack", bargap=0, **axes)}]
