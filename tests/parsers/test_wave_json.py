"""Wave files read in pieces hold what the JSON parser finds in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.errors import BadInput
from isaprof.parsers import wave_json
from isaprof.parsers.wave_json import open_wave

LOOSE = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
INTEGERS = st.integers(-(2**63) + 2, 2**63 - 2)


BYTES = [b"", b"[", b"]", b",", b'"', b"-", b"e", b".", b"\n", b"\\", b"9" * 30, b"null", b"true"]


def write(path: Path, wave: dict[str, Any], *, spaces: bool = False) -> Path:
    separators = (", ", ": ") if spaces else (",", ":")
    path.write_text(json.dumps({"name": "SE0", "wave": wave}, separators=separators))
    return path


def read(path: Path, small: int = 0) -> tuple[list[list[int]], list[list[int]]]:
    wave = open_wave(path, kind="bad_ui_output", hint="h", small=small)
    return tuple(
        [r for piece in rows() for r in piece.tolist()] for rows in (wave.instructions, wave.timeline)
    )  # type: ignore[return-value]


@LOOSE
@given(
    rows=st.lists(st.tuples(*[INTEGERS] * 5), max_size=60),
    states=st.lists(st.tuples(INTEGERS, INTEGERS), max_size=60),
    wider=st.booleans(),
    spaces=st.booleans(),
    piece=st.sampled_from([1 << 21, 256, 131]),
)
def test_pieces_equal_the_whole(
    rows: list[tuple[int, ...]],
    states: list[tuple[int, ...]],
    wider: bool,
    spaces: bool,
    piece: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wave_json, "PIECE", piece)
    given_rows = [[*r, 7] if wider else list(r) for r in rows]
    wave = {
        "begin": 1,
        "instructions": given_rows or None,
        "note": 'a text with "instructions":[ inside',
        "simd": 2,
        "timeline": [list(s) for s in states],
        "waitcnt": [[1, [[2, 0], [3, 0]]]] * len(rows),
    }
    path = write(tmp_path / "w.json", wave, spaces=spaces)
    expected = [list(r) for r in rows], [list(s) for s in states]
    assert read(path) == expected
    assert read(path, 1 << 20) == expected
    top = open_wave(path, kind="bad_ui_output", hint="h", small=0).top.value["wave"]
    assert (top["begin"], top["simd"], top["note"]) == (1, 2, wave["note"])


@LOOSE
@given(data=st.data())
def test_mutated_bytes(data: st.DataObject, tmp_path: Path) -> None:
    """Bytes changed, cut or put in: what the JSON parser makes of it, or a message; never anything else."""
    rows = [[100 + 4 * i, 6, 0, 4, i % 9] for i in range(40)]
    path = write(tmp_path / "w.json", {"begin": 1, "instructions": rows, "timeline": [[2, 8]] * 30})
    body = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(body) - 1))
        new = data.draw(st.sampled_from(BYTES))
        body[at : at + data.draw(st.integers(0, 4))] = new
    path.write_bytes(body)

    def outcome(small: int) -> Any:
        try:
            return read(path, small)
        except BadInput as e:
            assert e.kind == "bad_ui_output"  # noqa: PT017
            return None

    streamed, whole = outcome(0), outcome(1 << 20)
    if streamed is not None and whole is not None:
        assert streamed == whole


@pytest.mark.parametrize(
    "rows",
    ["[1,2,3,4]", "[1,2,3,4,5],[1]", "[1,2,3,4,5],,[1,2,3,4,5]", "[1,2,3,4,5.5]", "[1,2,3,4,--5]",
     "[1,2,3,4,5-6]", "[1,2,3,,5]", f"[{10**30},2,3,4,5]", '["1",2,3,4,5]', "[1,2,3,4,true]",
     "[[1],2,3,4,5]", "1,2", "{}"],
)  # fmt: skip
def test_what_is_no_row_is_said(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "w.json"
    filler = ",".join(["[1,2,3,4,5]"] * 20)
    path.write_text('{"wave":{"instructions":[' + filler + "," + rows + "]}}")
    with pytest.raises(BadInput, match=r"wave\.instructions|not valid JSON"):
        read(path)


def test_little_memory(tmp_path: Path) -> None:
    """A file of 20 MB is never in memory as a whole (the whole suite for 1 GB: docs/formats.md)."""
    import tracemalloc

    path = tmp_path / "w.json"
    block = ",".join(["[107704,2,0,4,1]"] * 10_000)
    with path.open("w") as f:
        f.write('{"wave":{"instructions":[' + ",".join([block] * 120) + '],"timeline":[]}}')
    tracemalloc.start()
    wave = open_wave(path, kind="k", hint="h")
    n = sum(int(np.count_nonzero(p[:, 0] == 107704)) for p in wave.instructions())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n == 1_200_000
    assert wave.large
    assert peak < 40e6
