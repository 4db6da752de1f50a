"""The semantics agree with the ISA conformance vectors."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from .isa_vectors import FILES, Bench, decoded, records

#: records that are not followed, each with its reason
EXCEPTIONS = {
    "rdna3-01488": "ds_bpermute, one active lane: the record writes inactive lanes, the ISA only active ones",
    "rdna3-00074": "DPP control row_bcast on gfx11: removed in gfx10, LLVM does not decode it",
}


def outcomes(data_dir: Path, name: str, step: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    bench, counts, bad = Bench(), Counter[tuple[str, str]](), []
    for r, ins in decoded(list(records(data_dir, name))[::step]):
        o = bench.run(r, ins)
        counts[r["check"], o.status] += 1
        if o.status != "agree" and r["check"] != "pcode" and r["id"] not in EXCEPTIONS:
            bad.append(f"{r['id']} {ins.text}: {o.status} {o.detail}")
    return counts, bad


@pytest.mark.parametrize("name", FILES)
def test_sample_of_the_vectors_agrees(data_dir: Path, name: str) -> None:
    counts, bad = outcomes(data_dir, name, 7)
    assert not bad
    assert sum(n for (check, _), n in counts.items() if check != "pcode") > 50


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_all_trusted_vectors_agree(data_dir: Path, name: str) -> None:
    """numpy, hwtest and pcode+numpy records: every one, but for the listed exceptions."""
    counts, bad = outcomes(data_dir, name, 1)
    assert not bad
    # the untrusted ones come from one emulator; most agree all the same
    agree = counts["pcode", "agree"]
    total = sum(n for (check, _), n in counts.items() if check == "pcode")
    assert agree > 0.85 * total
    assert counts["pcode", "fault"] == 0
