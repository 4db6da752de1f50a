"""Exposure, loops, banks, time and units: what the keys show is what the analysis says."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from textual.content import Content

from isaprof.attribution import Analysis, analyse
from isaprof.compare.align import compare
from isaprof.tui.app import StallApp
from isaprof.tui.gridsource import GridSource
from isaprof.tui.heatmap import HeatmapSource
from isaprof.tui.keybar import KEYS, fitting
from isaprof.tui.panels import GridPanel
from isaprof.tui.strips import cause_strip, columns, exposure_strip
from isaprof.views.exposure import Split, cells
from isaprof.views.grids import Cell, Grid
from isaprof.views.listing import listing
from tests.attribution.build import Wave, capture
from tests.synthetic_loops import OTHER, PROGRAM, looped

from .test_app import drive, panel, screen, text_of

KEYS_OF_PANELS = ("l", "x", "t", "u")


def shown(app: StallApp) -> str:
    """The table and the texts of the panel that is open."""
    top = app.screen
    assert isinstance(top, GridPanel)
    lines = [top.view.render_line(y).text for y in range(top.view.size.height)]
    frame = str(top.query_one(".grid-panel").border_title)
    parts = [text_of(app, f"#{name}") for name in ("tabs", "note", "about-text")]
    return "\n".join([frame, *lines, *parts])


def test_nothing_is_computed_before_it_is_asked_for() -> None:
    a = looped()

    async def steps(app, pilot):
        await pilot.press("n", "down", "d", "d")
        assert not {"split", "lines", "_loops", "conflicts"} & set(vars(a.detail))
        await pilot.press("l")
        assert "_loops" in vars(a.detail)
        assert "conflicts" not in vars(a.detail)

    drive(StallApp(a), steps)


class TestExposure:
    """The strip beside the listing, and heat by exposed cycles."""

    def test_strip_and_details_are_those_of_the_analysis(self) -> None:
        a = looped()
        line = a.detail.lines.set_index("line").loc[2]

        async def steps(app, pilot):
            before = screen(app)
            await pilot.press("n", "e")
            assert app.view.ref == 2
            row = next(x for x in screen(app) if x.startswith("❯"))
            assert f" {line['exposed']:,} " in row
            assert "█" in row
            assert ("░" in row) == bool(line["hidden"])
            assert "split" in screen(app)[0]
            names = "  ".join(f"{n} {line[n]:,}" for n in a.detail.classes)
            assert f"of the wait {names}" in panel(app)
            await pilot.press("e", "home")
            assert screen(app)[0] == before[0]

        drive(StallApp(a), steps, (100, 40))

    def test_heat_and_ranking_by_exposed(self) -> None:
        a = looped()
        ranked = a.detail.most_exposed["line"].tolist()

        async def steps(app, pilot):
            await pilot.press("E", "n")
            assert app.view.ref == ranked[0]
            assert screen(app)[0].split()[0] == "exposed"[:4]
            await pilot.press("s")
            assert app.view._refs[: len(ranked)] == ranked
            await pilot.press("E", "n")
            assert app.view.ref == a.lines.set_index("rank")["line"][1]

        drive(StallApp(a), steps)

    def test_a_class_more_needs_no_change_here(self, synthetic) -> None:
        source = HeatmapSource(listing(synthetic.build(20)))
        names = ("exposed", "covered by a busy matrix pipe", "hidden", "unknown", "new")
        source.split = Split(names, {3: (40, 30, 20, 5, 5)}, {3: 1.0}, (3,))
        text = "".join(s.text for s in source.fixed(3, 80))
        assert " 40 ███▒▒░·▒" in text
        assert len({s.style.color.name for s in exposure_strip(names, (1, 1, 1, 1, 1), 5)}) == 5


class TestLoops:
    """Loops of one capture, and of two under each other."""

    def test_facts_and_the_jump(self) -> None:
        a = looped()
        loop = a.detail.loops.set_index("loop").loc[0]

        async def steps(app, pilot):
            await pilot.press("l", "down")
            text = shown(app)
            assert "loops (measured)" in text
            assert loop["skeleton"] == "R1 w M1"
            assert f"\n{loop['skeleton']}\n" in text
            assert f"{loop['t_iter_median']:,.0f}" in text
            assert f"exposed {loop['exposed']:,}" in text
            assert "LDS cover        needed" in text
            await pilot.press("enter")
            await pilot.pause()
            assert app.view.ref == loop["first_line"]
            await pilot.press("b")
            assert app.view.ref == 0

        drive(StallApp(a), steps, (110, 40))

    def test_two_skeletons_stand_under_each_other(self) -> None:
        c = compare(looped(), looped(OTHER, 16))

        async def steps(app, pilot):
            await pilot.press("l", "down")
            lines = shown(app).split("\n")
            at = next(i for i, x in enumerate(lines) if x.startswith("A R1"))
            assert lines[at : at + 3] == ["A R1 w M1 ", "B R2 w M1 ", "  ~"]
            assert "A 56  B 36  -20" in shown(app)
            await pilot.press("tab")
            assert " B: loops " in text_of(app, "#tabs")
            assert app.active == 0
            await pilot.press("tab", "down", "enter")
            await pilot.pause()
            assert app.pane.lines(app.view.ref)[1] == 1

        drive(StallApp(c.a, c), steps, (110, 40))

    def test_exposed_waits_of_two(self) -> None:
        c = compare(looped(), looped(OTHER, 16))

        async def steps(app, pilot):
            await pilot.press("e")
            exposed = [int(x.detail.by("category")["exposed"].sum()) / 2 for x in (c.a, c.b)]
            row = shown(app).split("\n")[2]
            assert row.split()[1:4] == [f"{x:,.1f}" for x in exposed] + [f"{exposed[1] - exposed[0]:+g}"]

        drive(StallApp(c.a, c), steps, (110, 40))


def test_banks_say_where_addresses_are_from_and_jump() -> None:
    a = looped()
    first = a.detail.conflicts.iloc[0]
    assert first["degree"] == 2

    async def steps(app, pilot):
        await pilot.press("x")
        text = shown(app)
        assert f"conflicts: {first['evidence']}" in text
        assert f"degree 2  extra {first['extra']}" in text
        assert first["text"] in text
        await pilot.press("tab")
        assert "no conflict of VGPR banks" in shown(app)
        await pilot.press("shift+tab", "enter")
        await pilot.pause()
        assert app.view.ref == first["line"]

    drive(StallApp(a), steps, (110, 40))


def test_counters_of_the_dispatch_stand_above_the_banks() -> None:
    a = looped()
    a.meta["dispatch_counters"] = {"values": {"SQ_LDS_BANK_CONFLICT": 5, "SQ_WAVES": 2}, "files": ["x.csv"]}

    async def steps(app, pilot):
        await pilot.press("x")
        assert "\ncounters, whole dispatch: SQ_LDS_BANK_CONFLICT 5 (x.csv)" in shown(app)
        assert app.screen.query_one("#note").size.height >= 2

    drive(StallApp(a), steps, (110, 40))


def test_cycles_inside_a_barrier_are_told_at_their_line() -> None:
    waves = [Wave().add(0, issue=1).add(1, issue=100), Wave(slot=1).add(0, issue=1).add(1, issue=100)]
    a = analyse(capture("gfx1100", ("s_mov_b32 s1, s2", "s_barrier"), waves))

    async def steps(app, pilot):
        await pilot.press("n", "d")
        assert app.view.ref == 1
        assert "held while it issues: 198 cycles  barrier" in panel(app)

    drive(StallApp(a), steps)


def test_time_and_the_life_of_a_wave() -> None:
    a = looped()
    series, life = a.detail.by("time"), a.detail.life(1)

    async def steps(app, pilot):
        await pilot.press("t")
        assert f"{series['in_flight'][0]:.1f}" in shown(app)
        assert "waves in flight ▄▅█" in shown(app)
        await pilot.press("escape", "u", "tab", "tab", "tab", "down", "enter")
        await pilot.pause()
        assert "life of wave 1" in shown(app)
        assert f"{life['begin'][0]} to {life['end'][0]}" in shown(app)
        await pilot.press("t")
        assert len(app.screen_stack) == 1

    drive(StallApp(a), steps, (110, 40))


@pytest.mark.parametrize("size", [(40, 10), pytest.param((200, 60), marks=pytest.mark.slow)])
def test_every_panel_at_every_size(size) -> None:
    async def steps(app, pilot):
        for key in KEYS_OF_PANELS:
            await pilot.press(key)
            top = app.screen
            top.view.action_edge(1)
            top.view.action_sideways(8)
            for y in range(top.view.size.height):
                assert top.view.render_line(y).cell_length == top.view.size.width
            await pilot.press(key)
            assert len(app.screen_stack) == 1, key

    drive(StallApp(looped()), steps, size)


def without_waves() -> Analysis:
    return analyse(capture("gfx950", PROGRAM, []))


def without_loops() -> Analysis:
    return analyse(capture("gfx1151", ("s_nop 0", "s_endpgm"), [Wave().straight((0, 1))]))


@pytest.mark.parametrize("make", [pytest.param(without_waves, marks=pytest.mark.slow), without_loops])
def test_captures_without_loops_banks_or_waves(make) -> None:
    async def steps(app, pilot):
        await pilot.press("e", "E", "n")
        assert app.is_running
        for key in KEYS_OF_PANELS:
            await pilot.press(key)
            for _ in app.screen.sections:
                app.screen.view.action_move(1)
                app.screen.action_section(1)
            await pilot.press("escape")
        assert len(app.screen_stack) == 1

    drive(StallApp(make()), steps)


def test_sums_only_are_said_to_be_so(synthetic) -> None:
    a, b = synthetic.variant(30)
    c = synthetic.comparison(a, b)

    async def steps(app, pilot):
        for key in ("l", "t"):
            await pilot.press(key)
            assert "records" in shown(app)
            await pilot.press("escape")
        await pilot.press("e", "escape", "E", "tab", "e", "E")
        assert "split" not in screen(app)[0]

    drive(StallApp(a, c), steps, (120, 30))


def test_control_characters_of_a_capture_do_not_reach_the_terminal() -> None:
    a = looped()
    hostile = "v_nop \x1b[2J<script>[bold]"
    for frame in (a.detail.conflicts, a.lines):
        frame["text"] = hostile
    a = dataclasses.replace(a, kernel="k\x1b[31m[red]")

    async def steps(app, pilot):
        for key in ("l", "x"):
            await pilot.press(key)
            assert "\x1b" not in shown(app)
            if key == "x":
                assert "[2J<script>[bold]" in shown(app)
            await pilot.press("escape")

    drive(StallApp(a), steps, (110, 40))


class TestDrawing:
    """Cells of strips, columns of grids, keys of the foot."""

    @pytest.mark.parametrize(("parts", "width"), [((1, 999), 8), ((0, 0), 8), ((3, 3, 3), 8), ((5,), 3)])
    def test_cells_fill_the_width_and_lose_nobody(self, parts, width) -> None:
        out = cells(parts, width)
        assert sum(out) == (width if sum(parts) else 0)
        assert all((n > 0) == (p > 0) for n, p in zip(out, parts, strict=True))

    def test_neighbours_of_a_strip_differ_without_colour(self) -> None:
        texts = [s.text[0] for s in cause_strip([("issue", 5), ("barrier", 5), ("drain", 5)], 12)]
        assert all(x != y for x, y in itertools.pairwise(texts))
        assert columns([0, 1, 8]) == " ▁█"

    def test_a_wide_grid_scrolls_with_its_heading(self) -> None:
        names = tuple((f"column{i}", "n") for i in range(12))
        source = GridSource(Grid("", names, (tuple(Cell(str(i)) for i in range(12)),), (-1,)))
        assert [s.text.strip() for s in source.heading(60, "program", False)] == ["", "column0"]
        assert "column11" in source.scrolled_heading(60)[-2].text
        assert source.text_width == sum(len(name) + 1 for name, _ in names[1:])
        assert len(source.heading(200, "program", False)) == 13

    @pytest.mark.parametrize("width", [40, 80, 200])
    def test_help_and_quit_are_always_at_the_foot(self, width) -> None:
        names = [k.name for k in fitting(width, KEYS)]
        assert {"Help", "Quit"} <= set(names)
        assert (len(names) == len(KEYS)) == (width == 200)
        assert len(Content(" ".join(f"{k.key} {k.name}" for k in fitting(width, KEYS)))) <= width
