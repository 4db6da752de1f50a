"""How the model books its records, against public hardware traces.

How far its gaps and sums agree is in tests/accuracy/test_hardware.py.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.sim.timing import hardware

CASES = [
    ("gfx1100", "gemm"), ("gfx1100", "sync"), ("gfx1200", "gemm"), ("gfx1200", "sync"),
    ("gfx1200", "handwritten"), ("gfx950", "gemm"),
]  # fmt: skip


def test_handwritten_loop_takes_187_cycles(data_dir: Path) -> None:
    """Start of an iteration to its branch, one wave alone on the SIMD: 187 cycles in hardware."""
    (recording,) = hardware.load(data_dir, "gfx1200", "handwritten")
    alone = recording.waves[1]
    recording.waves = [alone]
    (records,) = recording.replay()
    jumps = [n for n, r in enumerate(records) if r[4] in ("JUMP", "NEXT")]
    lengths = [
        records[b][1] + records[b][2] - (records[a + 1][1] + records[a + 1][2])
        for a, b in itertools.pairwise(jumps)
    ]
    assert len(lengths) == 7
    assert np.median(lengths) == pytest.approx(187, rel=0.05)


def test_records_are_booked_as_the_hardware_books_them(data_dir: Path) -> None:
    """Duration beyond the stall (execution cycles) and categories agree for every record."""
    for arch, example in CASES:
        for recording in hardware.load(data_dir, arch, example):
            for wave, model in zip(recording.waves, recording.replay(), strict=True):
                assert [r[4] for r in model][:-1] == [_category(r[2], arch) for r in wave["insts"]][:-1]
                if arch == "gfx950":
                    continue  # stamps slip by a slot of 4 there
                for (line, _, stall, duration, category), hw in zip(model[:-1], wave["insts"], strict=False):
                    text = recording.listing.instructions[line].base
                    if "barrier" in text:
                        continue
                    assert duration - stall == hw[3] - hw[4], (arch, example, text, category)


def _category(name: str, arch: str) -> str:
    name = {"MSG": "MESSAGE"}.get(name, name)
    return "VMEM" if name == "FLAT" else name


def test_states_follow_the_records(data_dir: Path) -> None:
    """The first wait of a wave shows as one WAIT interval of its length, after IDLE and EXEC."""
    (recording, *_) = hardware.load(data_dir, "gfx1200", "sync")
    names = [s for s, _ in recording.waves[0]["states"]]
    assert names[:3] == ["IDLE", "EXEC", "WAIT"]
    states = recording.tables()["states"]
    mine = states[states.wave == 0]
    assert list(mine.state[:3]) == ["IDLE", "EXEC", "WAIT"]
    waves = recording.tables()["waves"].iloc[0]
    assert mine.duration.sum() == waves.end - waves.begin
