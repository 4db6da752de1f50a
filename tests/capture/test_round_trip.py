"""Any values the schema allows come back exactly as they were written."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.capture import TABLES, save
from tests.synthetic_capture import META

CELLS: dict[str, st.SearchStrategy[Any]] = {
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "string": st.text(max_size=6),
    "category": st.sampled_from(["VALU", "SALU", "", "a b"]),
    "binary": st.binary(max_size=6),
    "float64": st.floats(allow_nan=False),
}


@st.composite
def captures(draw: st.DrawFn) -> dict[str, pd.DataFrame]:
    """Frames of every table with 0 to 4 rows, keys and times in order."""
    rows = {name: draw(st.integers(0, 4)) for name in TABLES}
    frames = {}
    for name, columns in TABLES.items():
        n = rows[name]
        data: dict[str, Any] = {}
        for c in columns:
            cell = st.none() | CELLS[c.type] if c.nullable else CELLS[c.type]
            if c.name in ("wave", "line"):
                target = {"wave": "waves", "line": "code"}[c.name]
                if name == target:
                    cells = list(range(n))
                elif rows[target] == 0 and not c.nullable:
                    n = rows[name] = 0
                    data = {k: v[:0] for k, v in data.items()}
                    cells = []
                else:
                    key = st.integers(0, rows[target] - 1) if rows[target] else st.none()
                    cells = draw(st.lists(key, min_size=n, max_size=n))
            else:
                cells = draw(st.lists(cell, min_size=n, max_size=n))
            data[c.name] = pd.Series(cells, dtype=object)
        frames[name] = pd.DataFrame(data)
    waves, insts, states = frames["waves"], frames["insts"], frames["states"]
    for column in ("hits", "latency", "stall", "idle"):
        frames["totals"][column] = [max(0, v) for v in frames["totals"][column]]
    waves["end"] = [max(a, b) for a, b in zip(waves["begin"], waves["end"], strict=True)]
    insts["stall"] = [abs(v) if v > -(2**63) else 0 for v in insts["stall"]]
    insts["duration"] = [max(a, b) for a, b in zip(insts["stall"], insts["duration"], strict=True)]
    states["duration"] = [max(0, v) for v in states["duration"]]
    return frames


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=captures())
def test_what_is_written_is_read(frames: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "a", ignore_errors=True)
    capture = save(tmp_path / "a", META, frames)
    for name, frame in frames.items():
        stored = capture.table(name)
        assert len(stored) == len(frame)
        for column in frame:
            expected = [None if pd.isna(v) else v for v in frame[column]]
            assert [None if pd.isna(v) else v for v in stored[column]] == expected, (name, column)


@pytest.mark.slow
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=captures())
def test_many_captures(frames: dict[str, pd.DataFrame], tmp_path: Path) -> None:
    test_what_is_written_is_read.hypothesis.inner_test(frames, tmp_path)
