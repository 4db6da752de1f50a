"""Puts one or two analyses into a single self-contained page.

The page's Content-Security-Policy names the hashes of its own style and
scripts and forbids every request, so that a text from somebody else's capture
can neither run nor load anything even if an escape were missing.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from isaprof import __version__
from isaprof.views.exposure import Split, split
from isaprof.views.html.charts import stacked, timeline
from isaprof.views.html.details import details, pair_details, split_payload
from isaprof.views.html.difference import diff_payload, difference, same_text
from isaprof.views.html.facts import facts
from isaprof.views.html.payload import listing_payload, script_json
from isaprof.views.listing import Listing, listing
from isaprof.views.palette import (
    EXPOSURE_TEXT,
    HEAT_COLOURS,
    PROVENANCE_TEXT,
    cause_look,
    clean,
    grouped,
    heat_colour,
    percent,
)
from isaprof.views.remarks import remarks, verdict

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

    from isaprof.attribution.model import Analysis
    from isaprof.compare.model import Comparison

#: rows of the table that needs no script
HOTTEST = 20


@cache
def asset(name: str) -> str:
    """Text of a file beside this module."""
    return resources.files(__package__ or "isaprof.views.html").joinpath(name).read_text(encoding="utf-8")


def environment() -> jinja2.Environment:
    """Templates beside this module; everything put into them is escaped."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(analysis: Analysis, comparison: Comparison | None = None, plotly: str | None = None) -> str:
    """The page as text; the same input gives the same bytes.

    ``comparison``: with a second capture (``analysis`` is its first). ``plotly``:
    None, "embed" (its bundle goes into the page) or "cdn" (the page loads it).
    """
    from markupsafe import Markup

    analyses = [analysis] if comparison is None else [comparison.a, comparison.b]
    section = None if comparison is None else difference(comparison)
    captures = [_capture(a, i, len(analyses)) for i, a in enumerate(analyses)]
    known = [frozenset[int](), frozenset[int]() if section is None else same_text(section["rows"])]
    css, js = asset("style.css"), asset("report.js")
    data = {
        "captures": [
            {"anchor": c["anchor"], **listing_payload(c["listing"], k), "split": split_payload(c["split"])}
            for c, k in zip(captures, known, strict=False)
        ],
        "heat": HEAT_COLOURS,
        "diff": None if section is None else diff_payload(section["rows"]),
    }
    charts: dict[str, Any] | None = None
    if plotly is not None:
        from isaprof.views.html.plots import plots

        several = len(analyses) > 1
        tags = [c["tag"] if several else "" for c in captures]
        rows = [c["listing"] for c in captures]
        charts = plots(list(zip(tags, analyses, rows, strict=True)), plotly)
    kernels = list(dict.fromkeys(c["kernel"] for c in captures))
    provenances = list(dict.fromkeys(c["provenance"] for c in captures))
    heading = " and ".join(kernels)
    page = environment().get_template("page.html")
    return page.render(
        title=f"{heading} · {' against '.join(provenances)} · isaprof",
        heading=heading,
        version=__version__,
        csp=_policy(css, js, charts),
        css=Markup(css),
        js=Markup(js),
        data=Markup(script_json(data)),
        captures=captures,
        mixed=len(provenances) > 1,
        diff=section,
        pair=None if comparison is None else pair_details(comparison),
        terms=EXPOSURE_TEXT.items(),
        split=any(c["split"] is not None for c in captures),
        plotly=charts,
    )


def _capture(analysis: Analysis, index: int, of: int) -> dict[str, Any]:
    """What the template shows of one capture."""
    rows, found = listing(analysis), split(analysis)
    a = analysis
    cards = [
        ("traced waves", grouped(len(a.waves))),
        ("instructions issued", grouped(a.instructions)),
        ("wave cycles", grouped(a.total_cycles)),
        ("span, cycles", grouped(a.span_cycles)),
        ("unexplained", percent(a.unexplained_share) or "0%"),
    ]
    if a.overlap_cycles:
        cards.append(("overlapping record cycles", grouped(a.overlap_cycles)))
    return {
        "index": index,
        "tag": "AB"[index],
        "anchor": "L" if of == 1 else "AB"[index],
        "provenance": a.provenance,
        "meaning": PROVENANCE_TEXT.get(a.provenance, ""),
        "arch": clean(a.arch),
        "kernel": clean(a.kernel),
        "empty": not len(a.waves),
        "cards": cards,
        "verdict": verdict(a.meta),
        "total": grouped(a.total_cycles),
        "pieces": stacked(a),
        "caveats": remarks(a),
        "hottest": _hottest(rows, found),
        "timeline": timeline(a),
        "facts": facts(a.meta),
        "details": details(a, index),
        "split": found,
        "listing": rows,
    }


def _hottest(rows: Listing, found: Split | None) -> list[dict[str, Any]]:
    out = []
    for line in rows.hottest[:HOTTEST]:
        r = rows.rows[line]
        out.append(
            {
                "rank": r.rank,
                "line": r.line,
                "text": r.text,
                "source": r.source,
                "cause": r.cause,
                "colour": cause_look(r.cause).colour,
                "hits": grouped(r.hits),
                "stall": grouped(r.stall),
                "idle": grouped(r.idle),
                "lost": grouped(r.lost),
                "exposed": "" if found is None else grouped(found.first(line)),
                "share": percent(r.share),
                "heat": round(100 * r.heat, 2),
                "heat_colour": heat_colour(r.heat),
                "culprit": r.culprit,
                "culprit_text": rows.rows[r.culprit].text if r.culprit >= 0 else "",
            }
        )
    return out


def _policy(css: str, js: str, charts: dict[str, Any] | None) -> Markup:
    """The Content-Security-Policy: our own style and scripts by hash, no request."""
    from markupsafe import Markup

    scripts = [_hash(js)]
    styles = _hash(css)
    if charts is not None:
        # plotly writes style elements and attributes of its own
        styles = "'unsafe-inline'"
        scripts.append(charts["url"] or _hash(charts["bundle"]))
    more = "; img-src data: blob:" if charts is not None else "; img-src data:"
    return Markup(
        f"default-src 'none'; style-src {styles}; script-src {' '.join(scripts)}{more}"
        "; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
