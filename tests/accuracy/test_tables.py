"""Calibration tables on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof import arch
from isaprof.accuracy.tables import overlay, read_table, read_tables, to_toml
from isaprof.arch.table import Fact
from isaprof.errors import BadInput, UsageError
from isaprof.sim.timing.calibration import Constants, get

NUMBERS = [
    k for k in ("smem_cold", "global_cold", "wave_start_cold", "endpgm_idle", "l2_latency")
    if k in Constants(arch.get("gfx1100"))
]  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(st.sampled_from(NUMBERS), st.integers(0, 1 << 31), min_size=1),
    st.text(st.characters(codec="utf-8"), max_size=30),
)
def test_what_is_written_is_read_back(tmp_path_factory, values: dict[str, int], source: str) -> None:
    facts = {k: Fact(v, "cycles", source, "M") for k, v in values.items()}
    path = tmp_path_factory.getbasetemp() / "round-trip.toml"
    path.write_text(to_toml("gfx1100", "mine-1", facts, [source]), encoding="utf-8")
    name, table = read_table(path)
    assert (name, table.id) == ("gfx1100", "mine-1")
    for key, value in values.items():
        assert table.facts[key].value == value
        assert (
            table.facts[key].source.split() == "".join(c if c.isprintable() else " " for c in source).split()
        )
    untouched = set(get("gfx1100").facts) - set(values)
    assert all(table.facts[k] == get("gfx1100").facts[k] for k in untouched)


GOOD = 'schema = "isaprof-calibration"\nschema_version = 1\narch = "gfx1100"\nid = "x"\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("\x00", "no TOML"),
        ("a = 1", "no calibration table"),
        (GOOD, "at least one"),
        (GOOD.replace("gfx1100", "gfx9999") + "[facts.smem_cold]\nvalue = 1", "gfx9999"),
        (GOOD + "[facts.nonsense]\nvalue = 1", "no such figure"),
        (GOOD + "[facts.simd_order]\nvalue = 1", "no such figure"),
        (GOOD + "[facts.smem_cold]\nvalue = -1", "a whole number like"),
        (GOOD + "[facts.smem_cold]\nvalue = 1.5", "a whole number like"),
        (GOOD + "[facts.smem_cold]\nvalue = true", "a whole number like"),
        (GOOD + "[facts.smem_cold]\nvalue = inf", "a whole number like"),
        (GOOD + '[facts.smem_cold]\nvalue = "1"', "a whole number like"),
        (GOOD + "[facts.smem_cold]\nvalue = 1\nmore = 2", "expected value, unit"),
        (GOOD + '[facts.smem_cold]\nvalue = 1\nconfidence = "Z"', "one of M"),
    ],
)
def test_what_is_no_table_says_why(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "t.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=why):
        read_table(path)


def test_two_tables_of_one_architecture(tmp_path: Path) -> None:
    path = tmp_path / "t.toml"
    path.write_text(to_toml("gfx1100", "x", {"smem_cold": Fact(1, "cycles", "s", "M")}))
    with pytest.raises(UsageError, match="a second calibration"):
        read_tables([path, path])


def test_a_table_reaches_the_model() -> None:
    table = overlay("gfx1100", {"smem_cold": Fact(7, "cycles", "s", "M")}, "seven")
    constants = Constants(arch.get("gfx1100"), table)
    assert constants["smem_cold"] == 7
    assert constants.calibration.id == "seven"
