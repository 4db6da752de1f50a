"""The terminal application driven by keys, at the sizes people have."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from isaprof.tui.app import StallApp
from isaprof.tui.details import Details
from isaprof.tui.lineview import CACHED_STRIPS

Drive = Callable[[StallApp, Pilot[None]], Awaitable[None]]


def drive(app: StallApp, steps: Drive, size: tuple[int, int] = (80, 24)) -> None:
    async def main() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await steps(app, pilot)

    asyncio.run(main())


def screen(app: StallApp) -> list[str]:
    """The listing as it stands on the screen, one text a line."""
    return [app.view.render_line(y).text for y in range(app.view.size.height)]


def panel(app: StallApp) -> str:
    return str(app.query_one("#detail-text").visual)


def text_of(app: StallApp, selector: str) -> str:
    return str(app.screen.query_one(selector).visual)


def test_sigterm_ends_it_like_a_key_would(synthetic):
    app = StallApp(synthetic.build(60))

    async def steps(app: StallApp, pilot: Pilot[None]) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        for _ in range(100):
            await pilot.pause(0.01)
            if app.return_code is not None:
                return

    drive(app, steps)
    assert app.return_code == 128 + signal.SIGTERM


def test_ctrl_c_ends_it(synthetic):
    async def steps(app, pilot):
        await pilot.press("slash", "a", "ctrl+c")
        await pilot.pause()

    app = StallApp(synthetic.build(60))
    drive(app, steps)
    assert app.return_code == 130


class TestMoving:
    """Keys that go through the listing."""

    def test_hottest_in_rank_order(self, synthetic):
        a = synthetic.build(60)
        rank = a.lines.set_index("rank")["line"]

        async def steps(app, pilot):
            seen = []
            for key in ("n", "n", "n", "N", "right_square_bracket"):
                await pilot.press(key)
                seen.append(app.view.ref)
            assert seen == [rank[1], rank[2], rank[3], rank[2], rank[3]]

        drive(StallApp(a), steps)

    def test_culprit_and_back(self, synthetic):
        a = synthetic.build(60)
        top = a.lines.set_index("rank").loc[1]

        async def steps(app, pilot):
            await pilot.press("n", "c")
            assert app.view.ref == top["culprit"]
            await pilot.press("b")
            assert app.view.ref == top["line"]

        drive(StallApp(a), steps)

    def test_cursor_skips_labels_and_stays_visible(self, synthetic):
        async def steps(app, pilot):
            for key in ("end", "up", "home", "down", "pagedown", "pagedown", "pageup", "k", "j", "G", "g"):
                await pilot.press(key)
                assert app.view.ref >= 0
                assert any(line.startswith("❯") for line in screen(app)), key
            assert app.view.ref == 0
            await pilot.press("end")
            assert app.view.ref == 59

        drive(StallApp(synthetic.build(60)), steps)

    def test_click_selects(self, synthetic):
        async def steps(app, pilot):
            await pilot.click(app.view, offset=(20, 4))
            assert screen(app)[4].startswith("❯")

        drive(StallApp(synthetic.build(60)), steps)


class TestSorting:
    """Orders go round with s, and S turns one round."""

    @pytest.mark.parametrize(("presses", "column"), [(1, "wait"), (2, "stall"), (3, "latency"), (5, "hits")])
    def test_orders(self, synthetic, presses, column):
        a = synthetic.build(60)
        ordered = a.lines.sort_values([column, "line"], ascending=[False, True])["line"].tolist()

        async def steps(app, pilot):
            await pilot.press(*["s"] * presses)
            assert app.view.ref == ordered[0]
            assert app.view._refs == ordered
            assert a.lines["text"][ordered[0]][:20] in screen(app)[1]
            await pilot.press("S")
            values = a.lines[column]
            assert [values[i] for i in app.view._refs] == sorted(values)
            await pilot.press(*["s"] * (6 - presses))
            assert [r for r in app.view._refs if r >= 0] == list(range(60))
            assert any(line.startswith("❯") for line in screen(app))

        drive(StallApp(a), steps)


class TestSearching:
    """Search while typing."""

    def test_incremental_then_next_and_previous(self, synthetic):
        a = synthetic.build(60)
        found = a.lines[a.lines["text"].str.contains("s_barrier")]["line"].tolist()

        async def steps(app, pilot):
            await pilot.press("slash", *"S_BARR")
            assert app.view.ref == found[0]
            await pilot.press("enter", "m")
            assert app.view.ref == found[1]
            await pilot.press("M", "M")
            assert app.view.ref == found[-1]
            assert app.focused is app.view

        drive(StallApp(a), steps)

    def test_escape_returns(self, synthetic):
        async def steps(app, pilot):
            await pilot.press("down", "down", "slash", *"endpgm")
            assert app.view.ref == 59
            await pilot.press("escape")
            assert app.view.ref == 2
            assert not app.view.query_text

        drive(StallApp(synthetic.build(60)), steps)

    def test_keys_are_text_in_the_box(self, synthetic):
        async def steps(app, pilot):
            await pilot.press("slash", *"nqs")
            assert app.is_running
            assert app.query_one("#search").value == "nqs"

        drive(StallApp(synthetic.build(20)), steps)


class TestPanels:
    """Details, causes, help, warnings."""

    def test_details_show_the_analysis(self, synthetic):
        a = synthetic.build(60)
        top = a.lines.set_index("rank").loc[1]

        async def steps(app, pilot):
            await pilot.press("n")
            text = panel(app)
            for name in ("hits", "latency", "stall", "idle"):
                assert f"{name} {top[name]:,}" in text
            for row in a.line_causes.query(f"line == {top['line']}").itertuples():
                assert f"{row.cause}  {row.cycles:,} cycles" in text
            assert f"1 line {top['culprit']}" in text
            await pilot.press("d")
            assert app.query_one(Details).has_class("-hidden")

        drive(StallApp(a), steps, (120, 40))

    def test_cause_overview_goes_to_its_line(self, synthetic):
        a = synthetic.build(60)
        causes = a.causes["cause"].tolist()
        third = causes.index("wait: LDS")
        of = a.line_causes.query("cause == 'wait: LDS'").sort_values("cycles").iloc[-1]["line"]

        async def steps(app, pilot):
            await pilot.press("o", *["down"] * third, "enter")
            await pilot.pause()
            assert app.view.ref == of

        drive(StallApp(a), steps)

    def test_help_names_every_key_of_the_footer(self, synthetic):
        from isaprof.tui.dialogs import KEYS

        named = " ".join(keys for keys, _ in KEYS)
        for binding in StallApp.BINDINGS:
            key = binding.key_display or binding.key
            assert key.split("/")[0] in named or key in ("escape",) or "bracket" in key or key.isdigit(), key

        async def steps(app, pilot):
            await pilot.press("question_mark")
            assert len(app.screen_stack) == 2
            await pilot.press("escape")
            assert len(app.screen_stack) == 1
            await pilot.press("q")
            await pilot.pause()
            assert not app.is_running

        drive(StallApp(synthetic.build(20)), steps)

    @pytest.mark.parametrize("provenance", ["measured", "modelled"])
    def test_header_says_which_kind(self, synthetic, provenance):
        async def steps(app, pilot):
            head = text_of(app, "#headline")
            assert provenance.upper() in head
            assert "demo_gemm" in head
            assert "gfx950" in head
            assert "4 of 64 workgroups" in head

        drive(StallApp(synthetic.build(20, provenance=provenance)), steps)

    def test_empty_capture_says_so(self, synthetic):
        async def steps(app, pilot):
            assert "No wave of this capture was traced" in text_of(app, "#notice")
            await pilot.press("n", "c", "s", "o", "escape", "w", "escape")
            assert app.is_running

        drive(StallApp(synthetic.empty()), steps)

    def test_control_characters_do_not_reach_the_terminal(self, synthetic):
        import dataclasses

        a = synthetic.build(20)
        lines = a.lines.copy()
        lines["text"] = "v_nop \x1b[2J\x1b]0;x\x07 [bold]"
        a = dataclasses.replace(a, lines=lines, kernel="k\x1b[31m[red]", notes=("\x1b[0m[/]",))

        async def steps(app, pilot):
            await pilot.press("n")
            shown = "\n".join(screen(app)) + panel(app) + text_of(app, "#headline")
            assert "\x1b" not in shown
            assert "\x07" not in shown
            assert "[bold]" in shown
            assert "[red]" in shown

        drive(StallApp(a), steps)


class TestScrolling:
    """12 000 lines: strips are made for what is seen, nothing else."""

    def test_strips_follow_the_screen_not_the_listing(self, synthetic):
        async def steps(app, pilot):
            view = app.view
            height = view.size.height
            assert view.rendered <= 2 * height
            before = view.rendered
            for _ in range(10):
                await pilot.press("pagedown")
            await pilot.pause()
            assert view.rendered - before <= 10 * (height + 2)
            await pilot.press("end")
            await pilot.pause()
            assert view.rendered - before <= 11 * (height + 2)
            before = view.rendered
            await pilot.press("up", "down")
            await pilot.pause()
            assert view.rendered - before <= 8
            assert len(app.query("*")) < 30

        drive(StallApp(synthetic.build(12000, 2, iterations=1)), steps)

    def test_kept_strips_are_bounded(self, synthetic):
        async def steps(app, pilot):
            view = app.view
            for y in range(0, 12000, 45):
                view.scroll_to(y=y, animate=False, force=True, immediate=True)
                for row in range(view.size.height):
                    view.render_line(row)
            assert len(view._strips) <= CACHED_STRIPS
            assert view.rendered > len(view._strips)

        drive(StallApp(synthetic.build(12000, 2, iterations=1)), steps)

    @pytest.mark.parametrize("size", [(80, 24), (40, 10), (100, 30), (132, 43), (240, 60)])
    def test_every_size_draws_full_lines(self, synthetic, size):
        async def steps(app, pilot):
            for y in range(app.view.size.height):
                assert app.view.render_line(y).cell_length == app.view.size.width
            await pilot.press("right", "right")
            assert "❯" in "\n".join(screen(app))

        drive(StallApp(synthetic.build(60)), steps, size)


class TestCompare:
    """Two captures."""

    def test_tab_goes_round_and_keeps_the_instruction(self, synthetic):
        a, b = synthetic.variant(60)
        c = synthetic.comparison(a, b)
        inserted = c.rows.index[c.rows["status"] == "inserted"][0]
        after = c.rows.iloc[inserted + 1]

        async def steps(app, pilot):
            app.view.show_ref(int(inserted) + 1)
            await pilot.press("tab")
            assert (app.active, app.view.ref) == (1, after["line_a"])
            await pilot.press("tab")
            assert (app.active, app.view.ref) == (2, after["line_b"])
            await pilot.press("tab")
            assert (app.active, app.view.ref) == (0, inserted + 1)

        drive(StallApp(a, c), steps)

    def test_rows_deltas_and_total(self, synthetic):
        a, b = synthetic.variant(60)
        c = synthetic.comparison(a, b)
        top = c.rows.set_index("rank").loc[1]

        async def steps(app, pilot):
            await pilot.press("n")
            line = next(x for x in screen(app) if x.startswith("❯"))
            assert f"{top['delta_per_wave']:+.1f}" in line
            assert f"{top['text_a']} → {top['text_b']}" in line
            assert "~" in line
            head = text_of(app, "#headline")
            assert f"{c.delta_per_wave:+,.1f} cycles per wave" in head
            assert f"{c.delta_cycles:+,}" in head
            assert "(modelled)" in head

        drive(StallApp(a, c), steps, (110, 30))

    def test_mixing_is_loud(self, synthetic):
        a, b = synthetic.variant(30, provenances=("measured", "modelled"))

        async def steps(app, pilot):
            assert "One capture is measured, the other modelled" in text_of(app, "#notice")
            head = text_of(app, "#headline")
            assert "MEASURED" in head
            assert "MODELLED" in head

        drive(StallApp(a, synthetic.comparison(a, b)), steps)

    def test_tab_is_off_with_one_capture(self, synthetic):
        async def steps(app, pilot):
            await pilot.press("tab")
            assert app.active == 0
            assert app.focused is app.view

        drive(StallApp(synthetic.build(20)), steps)
