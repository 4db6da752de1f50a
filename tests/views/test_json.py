"""The JSON object: documented keys, plain values, shares that add up."""

from __future__ import annotations

import json

import pytest

from isaprof.views.json import __doc__ as documentation
from isaprof.views.json import to_dict
from tests import synthetic_analysis as synthetic


@pytest.mark.parametrize(
    ("by", "key"), [("line", "lines"), ("culprit", "culprits"), ("cause", "causes"), ("wave", "by_wave")]
)
def test_keys_are_documented_and_values_plain(by: str, key: str) -> None:
    a = synthetic.build(40, 3)
    body = json.loads(json.dumps(to_dict(a, by=by), allow_nan=False))
    assert body["schema_version"] == 1
    assert body[key]
    for name in body:
        assert f"``{name}``" in (documentation or "")


def test_shares_sum_to_one_and_lines_carry_their_causes() -> None:
    a = synthetic.build(40, 3)
    body = to_dict(a, all_lines=True)
    assert sum(body["shares"].values()) == pytest.approx(1.0)
    assert [r["line"] for r in body["lines"]] == list(range(40))
    assert all(sum(r["causes"].values()) == r["wait"] for r in body["lines"])
    assert all(r["culprit"] is None or r["culprit"] >= 0 for r in body["lines"])


def test_hottest_lines_come_first() -> None:
    body = to_dict(synthetic.build(40, 3), hottest=4)
    assert [r["rank"] for r in body["lines"]] == [1, 2, 3, 4]


def test_without_waits_there_is_no_share_of_named_waits() -> None:
    assert to_dict(synthetic.empty())["waits_with_culprit"] is None
