"""The semantics agree with the ISA conformance vectors; what does not has a reason on the list."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from .isa_vectors import FILES, Bench, decoded, records
from .vector_reasons import CLASSES, EXCEPTIONS, reason

Counts = Counter[tuple[str, str]]


def outcomes(data_dir: Path, name: str, step: int) -> tuple[Counts, list[str], Counter[str]]:
    """(records by trust level and outcome, disagreements without a reason, reasons used)."""
    bench, counts, bad, used = Bench(), Counts(), [], Counter[str]()
    for r, ins in decoded(list(records(data_dir, name))[::step]):
        o = bench.run(r, ins)
        counts[r["check"], o.status] += 1
        if o.status == "agree":
            continue
        why = reason(ins.base, ins.text, o.status) if r["check"] == "pcode" else EXCEPTIONS.get(r["id"])
        if why is None or o.status == "fault":
            bad.append(f"{r['id']} {ins.text}: {o.status} {o.detail}")
        else:
            used[why] += 1
    return counts, bad, used


@pytest.mark.parametrize("name", FILES)
def test_sample_of_the_vectors_agrees(data_dir: Path, name: str) -> None:
    counts, bad, _ = outcomes(data_dir, name, 7)
    assert not bad
    assert sum(n for (check, _), n in counts.items() if check != "pcode") > 50


@pytest.mark.slow
def test_every_disagreement_has_a_reason(data_dir: Path) -> None:
    """numpy, hwtest and pcode+numpy records agree but for the listed ids, pcode records but for the listed
    classes, all of which are needed."""
    counts, used = Counts(), Counter[str]()
    for name in FILES:
        found, bad, why = outcomes(data_dir, name, 1)
        assert not bad
        counts += found
        used += why
    assert used.keys() == {name for name, _, _ in CLASSES} | set(EXCEPTIONS.values())
    # the untrusted ones come from one emulator; most agree all the same
    agree = counts["pcode", "agree"]
    assert agree > 0.89 * sum(n for (check, _), n in counts.items() if check == "pcode")


def test_a_reason_is_found_by_pattern_only() -> None:
    assert reason("v_add_f32", "v_add_f32_e32 v0, v1, v2", "differ") is None
    assert reason("v_add_u32", "v_add_u32_dpp v0, v1, v2 row_shr:1", "differ") == "dpp"
