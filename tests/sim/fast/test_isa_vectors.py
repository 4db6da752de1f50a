"""The ISA conformance vectors through the fast executor: the reference's verdicts, record by record."""

from __future__ import annotations

from pathlib import Path

import pytest

from isaprof.sim.fast.wave import FastWave
from tests.sim import isa_vectors

from .differential import FastProgram


class FastBench(isa_vectors.Bench):
    def __init__(self) -> None:
        super().__init__()
        self.waves = {n: FastWave(n, 512, 256) for n in (32, 64)}


def disagreements(
    data_dir: Path, name: str, step: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[str], int, int]:
    """(records judged differently, records executed without the reference, all records)."""
    rows = list(isa_vectors.records(data_dir, name))[::step]
    bench = isa_vectors.Bench()
    verdicts = {r["id"]: bench.run(r, ins).status for r, ins in isa_vectors.decoded(rows)}
    made: list[FastProgram] = []

    def program(ctx: object) -> FastProgram:
        made.append(FastProgram(ctx))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(isa_vectors, "Program", program)
    fast, bad = FastBench(), []
    for r, ins in isa_vectors.decoded(rows):
        o = fast.run(r, ins)
        if o.status != verdicts[r["id"]]:
            bad.append(f"{r['id']} {ins.text}: {o.status} {o.detail}, reference {verdicts[r['id']]}")
    return bad, sum(not p.fallbacks for p in made), len(rows)


@pytest.mark.parametrize("name", isa_vectors.FILES)
def test_sample_of_the_vectors(data_dir: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, alone, total = disagreements(data_dir, name, 7, monkeypatch)
    assert not bad
    assert alone > 0.6 * total


@pytest.mark.slow
@pytest.mark.parametrize("name", isa_vectors.FILES)
def test_all_vectors(data_dir: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, _, _ = disagreements(data_dir, name, 1, monkeypatch)
    assert not bad
