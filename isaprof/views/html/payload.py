"""The listing as compact JSON for the page's script.

One object of columns rather than one object a row, cause names as indices and
addresses as differences: 12 000 instructions with everything the page shows
about them stay near one megabyte.
"""

from __future__ import annotations

import json
from collections.abc import Container
from itertools import pairwise
from typing import Any

from isaprof.views.listing import Listing, Row
from isaprof.views.palette import CAUSE_LOOKS, cause_look


def listing_payload(listing: Listing, known: Container[int] = ()) -> dict[str, Any]:
    """Columns of ``listing``; see report.js for the reader.

    ``pc`` is the first address followed by differences; ``label`` maps lines to
    texts; ``source`` is flat: line, number in ``sources``, where it changes;
    ``lost`` is flat: line, cycles, where they are not stall + idle;
    ``share`` is in 1/10000. ``why`` is flat: line, cause, cycles, for lines with
    more than one cause (one cause is ``cause`` with all of the wait); ``blame``
    is flat: victim, distance back to the culprit, cause, cycles. A text that
    occurred before is the number of its first line; that of a line in ``known``
    is -1: the aligned line of the other capture has the same.
    """
    rows = listing.rows
    names = _cause_names(listing)
    index = {name: i for i, name in enumerate(names)}
    pcs = [r.pc for r in rows]
    sources = sorted({r.source for r in rows})
    return {
        "causes": [[n, cause_look(n).colour] for n in names],
        "pc": pcs[:1] + [b - a for a, b in pairwise(pcs)],
        "text": _texts(rows, known),
        "label": {str(r.line): r.label for r in rows if r.label},
        "sources": sources,
        "source": _changes(rows, sources),
        "hits": [r.hits for r in rows],
        "latency": [r.latency for r in rows],
        "stall": [r.stall for r in rows],
        "idle": [r.idle for r in rows],
        "issue": [r.issue for r in rows],
        "lost": [x for r in rows if r.lost != r.wait for x in (r.line, r.lost)],
        "held": [x for r in rows if r.held for x in (r.line, r.held)],
        "cause": [index.get(r.cause, -1) for r in rows],
        "share": [round(r.share * 10000) for r in rows],
        "rank": [r.rank for r in rows],
        "why": [
            x
            for line, pairs in sorted(listing.causes.items())
            if pairs != ((rows[line].cause, rows[line].wait),)
            for c, n in pairs
            for x in (line, index[c], n)
        ],
        "blame": [
            x
            for victim, blames in sorted(listing.culprits.items())
            for b in blames
            for x in (victim, victim - b.line, index[b.cause], b.cycles)
        ],
    }


def script_json(data: object) -> str:
    """JSON (sorted keys, compact) that cannot end or open an HTML element or comment."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _cause_names(listing: Listing) -> list[str]:
    """Every cause that occurs, in the order of the enum, unknown ones last."""
    used = {r.cause for r in listing.rows if r.cause}
    used |= {c for pairs in listing.causes.values() for c, _ in pairs}
    used |= {b.cause for blames in listing.culprits.values() for b in blames}
    order = {name: i for i, name in enumerate(CAUSE_LOOKS)}
    return sorted(used, key=lambda c: (order.get(c, len(order)), c))


def _texts(rows: tuple[Row, ...], known: Container[int]) -> list[str | int]:
    first: dict[str, int] = {}
    out: list[str | int] = []
    for r in rows:
        if r.line in known:
            out.append(-1)
        elif r.text in first:
            out.append(first[r.text])
        else:
            first[r.text] = r.line
            out.append(r.text)
    return out


def _changes(rows: tuple[Row, ...], sources: list[str]) -> list[int]:
    """line, number of its source position: where it differs from the line before."""
    number = {s: i for i, s in enumerate(sources)}
    out: list[int] = []
    before = None
    for r in rows:
        if r.source != before:
            out += (r.line, number[r.source])
            before = r.source
    return out
