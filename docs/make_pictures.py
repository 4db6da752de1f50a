"""Makes the README's pictures from a run of a sample kernel of ours.

    python docs/make_pictures.py [CAPTURE.isaprof]

Writes docs/img/tui.svg (the terminal view), docs/img/loops.svg (its panel of
loops) and docs/img/report.png (the top of the HTML report, by headless
Chromium). Without a capture the sample GEMM is run on the simulator first. Run
it again when either view has changed.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "img"
SAMPLE = ROOT / "samples" / "gemm_rdna35" / "gemm_rdna35.co"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)


def isaprof(*args: str) -> None:
    """Run the command line of this checkout; its output goes to the terminal."""
    subprocess.run([sys.executable, "-m", "isaprof", *args], check=True)


async def terminal(capture: Path, *keys: str) -> str:
    """The terminal view after ``keys``, as SVG."""
    import isaprof as api
    from isaprof.tui.app import StallApp

    app = StallApp(api.analyse(api.open(capture)))
    async with app.run_test(size=(118, 32)) as pilot:
        await pilot.press(*keys)
        app.clear_notifications()
        await pilot.pause()
        svg = app.export_screenshot(title=f"isaprof tui {capture.name}")
    # a picture must not load fonts from elsewhere; the viewer's monospace font does
    return re.sub(r"@font-face\s*\{[^}]*\}", "", svg)


def browser(page: Path, picture: Path, profile: Path) -> None:
    """The top of the page as PNG."""
    binary = os.environ.get("ISAPROF_CHROMIUM") or shutil.which("chromium")
    if not binary:
        sys.exit("chromium is missing: install Debian's chromium or set ISAPROF_CHROMIUM")
    command = [binary, *FLAGS, f"--user-data-dir={profile}", "--window-size=1280,1500"]
    command += [f"--screenshot={picture}", page.as_uri()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main(argv: list[str]) -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        if argv:
            capture = Path(argv[0])
        else:
            capture = work / f"{SAMPLE.stem}.isaprof"
            isaprof("run", str(SAMPLE), "-o", str(capture))
        for picture, keys in (("tui.svg", ("n", "e")), ("loops.svg", ("l", "down"))):
            (IMAGES / picture).write_text(asyncio.run(terminal(capture, *keys)), encoding="utf-8")
        isaprof("report", str(capture), "-o", str(work / "report.html"))
        browser(work / "report.html", IMAGES / "report.png", work / "profile")
    for picture in ("tui.svg", "loops.svg", "report.png"):
        print(IMAGES / picture)


if __name__ == "__main__":
    main(sys.argv[1:])
