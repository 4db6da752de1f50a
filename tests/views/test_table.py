"""The stall table: labels, figures at any width, captures from others."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from isaprof.attribution.model import Analysis, Cause
from isaprof.compare.align import compare
from isaprof.views.table import percentage, render, render_comparison, standard_output
from tests import synthetic_analysis as synthetic


def printed(analysis: Analysis, width: int = 100, **kwargs: object) -> str:
    out = io.StringIO()
    render(analysis, console=Console(file=out, width=width, color_system=None), **kwargs)  # type: ignore[arg-type]
    return out.getvalue()


def figures(analysis: Analysis) -> list[str]:
    """Every figure of the hottest lines, as it must appear."""
    hot = analysis.lines[(analysis.lines["rank"] > 0) & (analysis.lines["rank"] <= 5)]
    return [f"{v:,}" for c in ("hits", "latency", "stall", "idle") for v in hot[c].tolist()]


@pytest.mark.parametrize("provenance", ["measured", "modelled"])
def test_every_table_says_measured_or_modelled(provenance: str) -> None:
    assert re.search(rf"gfx950\s+{provenance}", printed(synthetic.build(provenance=provenance)))


@pytest.mark.parametrize("width", [40, 80, 200])
def test_figures_are_whole_at_any_width(width: int) -> None:
    a = synthetic.build(80, 64)
    text = printed(a, width, hottest=5)
    for figure in figures(a):
        assert figure in text
    for cause, cycles in zip(a.causes["cause"], a.causes["cycles"], strict=True):
        assert re.search(rf"{re.escape(cause)}\s+{cycles:,}\s", text)


def test_nothing_is_wider_than_80_columns_on_an_80_column_terminal() -> None:
    text = printed(synthetic.build(80, 64), 80)
    assert max(len(line) for line in text.splitlines()) <= 80


def test_the_instruction_gives_way_and_says_so() -> None:
    long = [("v_mfma_f32_16x16x32_bf16 " + "v[100:103], " * 12, Cause.MATRIX_BUSY, 100, 4)]
    text = printed(synthetic.build(texts=long * 3, n_waves=1), 80)
    assert "…" in text


def test_unexplained_over_one_percent_is_in_the_header() -> None:
    prog = [("v_add_f32 v0, v1, v2", Cause.UNEXPLAINED, 400, 4), ("s_endpgm", None, 0, 4)]
    a = synthetic.build(texts=prog, n_waves=3)
    assert a.unexplained_share > 0.01
    head = printed(a).split("Where the cycles went")[0]
    assert f"unexplained: {percentage(a.unexplained_share)}" in head
    assert "unexplained:" not in printed(synthetic.build()).split("Where the cycles went")[0]


def test_the_culprit_is_named_with_its_text() -> None:
    a = synthetic.build(30, 4)
    hot = a.lines[(a.lines["culprit"] >= 0) & (a.lines["rank"] == 1)]
    text = printed(a, 200, hottest=3)
    for line in hot["culprit"]:
        assert f"by line {line}: {a.lines.loc[line, 'text']}" in text


def test_all_lists_every_instruction_once() -> None:
    a = synthetic.build(40, 2)
    text = printed(a, 160, hottest=0, all_lines=True)
    assert "Hottest lines" not in text
    listed = re.findall(r"^ *(\d+) +1[0-9a-f]{3} ", text, re.MULTILINE)
    assert [int(x) for x in listed] == list(range(40))
    assert "demo_gemm:" in text


@pytest.mark.parametrize(
    ("by", "title"), [("culprit", "By culprit"), ("wave", "By wave"), ("line", "Hottest lines")]
)
def test_by(by: str, title: str) -> None:
    text = printed(synthetic.build(40, 3), by=by)
    assert title in text
    assert "Hottest lines" not in printed(synthetic.build(40, 3), by="cause")


def test_warnings_are_shown_and_control_characters_are_not() -> None:
    prog = [("v_mov\x1b[31m_b32 v0, 1", Cause.FETCH, 30, 4), ("s_endpgm", None, 0, 4)]
    text = printed(synthetic.build(texts=prog, n_waves=2, kernel="[bold]k\x07"))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[bold]k" in text
    assert "warning: 4 of 64 workgroups were simulated" in text


def test_a_capture_without_traced_waves_prints() -> None:
    text = printed(synthetic.empty())
    assert "0 waves traced" in text


def test_a_comparison_shows_totals_causes_and_lines() -> None:
    prog = synthetic.program(30, 5)
    a = synthetic.build(texts=prog, n_waves=4)
    b = synthetic.build(texts=[*prog[:10], ("s_nop 7", Cause.NOP, 60, 4), *prog[10:]], n_waves=2, seed=3)
    c = compare(a, b)
    out = io.StringIO()
    render_comparison(c, console=Console(file=out, width=120, color_system=None))
    text = out.getvalue()
    assert f"{c.per_wave_a:,.1f} -> {c.per_wave_b:,.1f}" in text
    assert "30 same, 1 inserted" in text
    assert "4 and 2 traced waves" in text
    assert "Largest changes" in text


def test_no_colour_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    render(synthetic.build(20, 2))
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(("columns", "width"), [("0", 140), ("x", 140), ("-5", 140), ("", 140), ("97", 97)])
def test_the_width_of_a_pipe(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert standard_output().width == width
