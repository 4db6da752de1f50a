"""Counters of the whole dispatch (``rocprofv3 --pmc``), in words.

They count all waves on all units of one run of the kernel, which need not be
the run of the trace: they stand beside the cycles of the traced waves and are
never added to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LABEL = "counters, whole dispatch"
#: cycles lost to LDS bank conflicts and cycles the LDS was active, by generation
#: (rocprofiler-compute documentation, "Bank Conflict Rate"; rocprofiler-sdk, counter_defs.yaml)
_CONFLICT = ("SQ_LDS_BANK_CONFLICT", "SQC_LDS_BANK_CONFLICT")
_ACTIVE = ("SQ_LDS_IDX_ACTIVE", "SQC_LDS_IDX_ACTIVE")


def counters(meta: Mapping[str, Any]) -> dict[str, Any] | None:
    """``label``, ``values`` (name: number), ``dispatch`` and ``files`` of a capture's counters, or None."""
    found = meta.get("dispatch_counters")
    if not isinstance(found, Mapping) or not found.get("values"):
        return None
    return {
        "label": LABEL, "values": dict(found["values"]), "dispatch": found.get("dispatch"),
        "files": list(found.get("files") or ()),
    }  # fmt: skip


def sentence(meta: Mapping[str, Any], part: str = "") -> str:
    """Label, names and values, "" where there are none; ``part``: only names that hold it."""
    found = counters(meta)
    values = {n: v for n, v in found["values"].items() if part in n} if found else {}
    if not found or not values:
        return ""
    own = (meta.get("dispatch") or {}).get("id")
    other = found["dispatch"]
    run = f" (dispatch {other} of another run)" if other is not None and other != own else ""
    listed = ", ".join(f"{name} {_figure(value)}" for name, value in values.items())
    files = f" ({', '.join(found['files'])})" if found["files"] else ""
    return f"{LABEL}{run}: {listed}{files}"


def conflicts(meta: Mapping[str, Any]) -> str:
    """The LDS conflict cycles of the dispatch and their share of the active ones; "" where not counted."""
    found = counters(meta)
    values = found["values"] if found else {}
    lost = next((values[n] for n in _CONFLICT if n in values), None)
    if lost is None:
        return ""
    active = next((values[n] for n in _ACTIVE if n in values), 0)
    share = f", {100 * lost / active:.1f} % of the cycles the LDS was active" if active else ""
    return f"{LABEL}: {_figure(lost)} conflict cycles{share}"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"
