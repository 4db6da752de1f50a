"""A table that comes in pieces is stored as the same table whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from isaprof.capture import save
from isaprof.capture.stream import Streamed
from isaprof.errors import BadInput
from tests.synthetic_capture import META, make_tables


def many(n: int) -> pd.DataFrame:
    category = pd.Categorical(["VALU" if i % 3 else "SALU" for i in range(n)])
    return pd.DataFrame(
        {"wave": 0, "seq": range(n), "line": pd.array([i % 2 or None for i in range(n)], dtype="Int32"),
         "time": range(n), "stall": 1, "duration": 4, "category": category}
    )  # fmt: skip


def _others() -> dict[str, pd.DataFrame]:
    return {name: frame for name, frame in make_tables().items() if name != "insts"}


def test_pieces_equal_the_whole(tmp_path: Path) -> None:
    whole = many(10)

    def pieces() -> Iterator[pd.DataFrame]:
        yield from (whole[:3], whole[3:4], whole[4:])

    a = save(tmp_path / "a", META, {**make_tables(), "insts": whole})
    b = save(tmp_path / "b", META, _others(), groups={"insts": Streamed(10, pieces)})
    assert b.meta["tables"]["insts"]["rows"] == 10
    pd.testing.assert_frame_equal(a.insts, b.insts)


@pytest.mark.parametrize(("column", "value"), [("wave", 9), ("stall", -1), ("line", 7)])
def test_each_piece_is_checked(tmp_path: Path, column: str, value: int) -> None:
    bad = many(4).assign(**{column: value})
    table = Streamed(8, lambda: iter((many(4), bad)))
    with pytest.raises(BadInput, match="table insts"):
        save(tmp_path / "a", META, _others(), groups={"insts": table})
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_count_is_a_mistake_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="announced"):
        save(tmp_path / "a", META, _others(), groups={"insts": Streamed(5, lambda: iter((many(4),)))})
    assert list(tmp_path.iterdir()) == []
