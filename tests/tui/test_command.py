"""``isaprof tui`` on a real capture, in a real terminal and off one."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

RUN = "import sys; from isaprof.cli.tui import command; from pathlib import Path; command(Path(sys.argv[1]))"


@pytest.fixture(scope="module")
def capture(data_dir, tmp_path_factory) -> Path:
    """The capture of a hardware trace."""
    from isaprof.backends.recorded import open_recording
    from isaprof.capture import save

    raw = open_recording(data_dir / "sqtt" / "gfx1100" / "gemm_run0").read(0)
    meta = {**raw.meta, "warnings": [asdict(w) for w in raw.warnings]}
    path = tmp_path_factory.mktemp("captures") / "gemm.isaprof"
    save(path, meta, raw.tables, raw.code_objects)
    return path


def test_off_a_terminal_it_names_the_other_command(tmp_path):
    """Nothing is read, nothing drawn: a usage error with the command that prints."""
    from isaprof.cli.tui import command
    from isaprof.errors import ExitCode, UsageError

    with pytest.raises(UsageError) as e:
        command(tmp_path / "x.isaprof")
    assert e.value.hint == f"isaprof show {tmp_path / 'x.isaprof'}"
    assert e.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize("colour", [{}, {"NO_COLOR": "1"}])
def test_in_a_terminal(capture, colour):
    """It draws the kernel and its label, and q ends it with 0."""
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **colour}
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, str(capture)], stdin=slave, stdout=slave, stderr=slave, env=env
    )
    os.close(slave)
    seen = b""
    deadline = time.monotonic() + 60
    asked = False
    while process.poll() is None and time.monotonic() < deadline:
        if select.select([master], [], [], 0.1)[0]:
            try:
                seen += os.read(master, 1 << 16)
            except OSError:
                break
        if not asked and b"MEASURED" in seen and b"r_32_32_16_2" in seen:
            os.write(master, b"q")
            asked = True
    if process.poll() is None and not asked:
        process.kill()
    assert asked, seen[-2000:]
    assert process.wait(timeout=30) == 0
    os.close(master)


def test_details_have_the_encoding(capture):
    """The machine code of the cursor line stands in the details."""
    import asyncio

    import isaprof
    from isaprof.cli.tui import _with_encoding
    from isaprof.tui.app import StallApp

    opened = isaprof.open(capture)
    app = StallApp(_with_encoding(opened))
    data = opened.code["encoding"][0]
    words = " ".join(f"{int.from_bytes(data[i : i + 4], 'little'):08X}" for i in range(0, len(data), 4))

    async def main() -> None:
        async with app.run_test(size=(140, 40)) as pilot:
            await pilot.press("home")
            assert f"encoding {words}" in str(app.query_one("#detail-text").visual)

    asyncio.run(main())


@pytest.mark.slow
def test_panels_of_a_real_trace(capture):
    """What the panels show of a hardware trace is what its analysis says, and says that it is measured."""
    import asyncio

    import isaprof
    from isaprof.attribution import analyse
    from isaprof.tui.app import StallApp

    a = analyse(isaprof.open(capture))
    assert a.detail is not None
    skeleton = str(a.detail.loops["skeleton"][0])
    evidence = str(a.detail.conflicts["evidence"][0])

    async def main() -> None:
        app = StallApp(a)
        async with app.run_test(size=(200, 60)) as pilot:
            for key, selector, text in (("l", "#about-text", skeleton), ("x", "#note", evidence)):
                await pilot.press(key)
                assert text in str(app.screen.query_one(selector).visual)
                assert "(measured)" in str(app.screen.query_one(".grid-panel").border_title)
                await pilot.press("escape")

    asyncio.run(main())
