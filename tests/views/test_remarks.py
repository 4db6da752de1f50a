"""The verdict on the output, and what a reader must be told."""

from __future__ import annotations

import pytest

from isaprof.views.html.facts import LONGEST_VALUE, MOST_FACTS, facts
from isaprof.views.remarks import verdict


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        ({}, (None, "")),
        ({"verification": {"verified": None, "message": "--no-verify"}}, (None, "--no-verify")),
        (
            {"verification": {"verified": True, "max_abs_err": 0.00125, "cosine": 1.0}},
            (True, "output verified, max abs error 0.00125, cosine 1"),
        ),
        ({"verification": {"verified": False, "max_abs_err": None}}, (False, "OUTPUT WRONG")),
    ],
)
def test_verdict(meta, expected):
    assert verdict(meta) == expected


def test_facts_are_flat_ordered_and_bounded():
    meta = {
        "tool": {"name": "isaprof"},
        "launch": {
            "grid": [4, 8, 1],
            "shape": {"M": 32},
            "operands": [{"name": "A", "dtype": "bf16", "shape": [32, 16]}],
            "note": "x" * 1000,
        },
        "model": {f"k{i}": i for i in range(100)},
        "tables": {"code": {}},
    }
    out = dict(facts(meta))
    assert list(out) == ["Launch", "Timing model", "Written by"]
    launch = dict(out["Launch"])
    assert launch["grid"] == "4 × 8 × 1"
    assert launch["shape.M"] == "32"
    assert launch["operands A"] == "dtype bf16, shape 32 × 16"
    assert len(launch["note"]) == LONGEST_VALUE
    assert len(out["Timing model"]) == MOST_FACTS + 1
    assert out["Timing model"][-1][1] == "60 more in capture.json"
