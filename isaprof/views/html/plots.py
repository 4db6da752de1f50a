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
from isaprof.views.palette import cause_look, clean

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
        "legend": {"orientation": "h"},
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
