"""Real headless Chromium over its debugging pipe, for the tests of the HTML report."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

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
    "--remote-debugging-pipe",
)


class Chrome:
    """A browser with one page at a time; speaks the DevTools protocol over fds 3 and 4."""

    def __init__(self, binary: str, profile: Path) -> None:
        to_child, self._out = os.pipe()
        self._in, from_child = os.pipe()
        read_end, write_end = (fcntl.fcntl(fd, fcntl.F_DUPFD, 32) for fd in (to_child, from_child))

        def wire() -> None:
            os.dup2(read_end, 3)
            os.dup2(write_end, 4)

        self.process = subprocess.Popen(
            [binary, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=wire,
            pass_fds=(3, 4),
        )
        for fd in (to_child, from_child, read_end, write_end):
            os.close(fd)
        self._buffer = b""
        self._next = 0
        self.events: list[dict[str, Any]] = []
        self._session = ""

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            chunk = os.read(self._in, 1 << 16)
            if not chunk:
                raise RuntimeError("chromium closed its debugging pipe")
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method: str, *, session: bool = True, **params: Any) -> dict[str, Any]:
        """One command; events that arrive meanwhile are kept."""
        self._next += 1
        body: dict[str, Any] = {"id": self._next, "method": method, "params": params}
        if session and self._session:
            body["sessionId"] = self._session
        os.write(self._out, json.dumps(body).encode() + b"\0")
        while True:
            message = self._read()
            if message.get("id") == self._next:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def open(self, path: Path, *, width: int = 1400, height: int = 900, script: bool = True) -> None:
        """Load ``path`` in a new page and wait for its load event."""
        target = self.call("Target.createTarget", session=False, url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", session=False, targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **screen)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._read())

    def js(self, expression: str) -> Any:
        """Value of a JavaScript expression; an exception fails the test."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def key(self, key: str) -> None:
        """Press one key."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def settle(self) -> None:
        """Two frames later."""
        self.js("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(0))))")

    @property
    def requests(self) -> list[str]:
        """URLs asked for since :meth:`open`, the page itself and data: left out."""
        urls = [
            e["params"]["request"]["url"]
            for e in self.events
            if e.get("method") == "Network.requestWillBeSent" and e.get("sessionId") == self._session
        ]
        return [u for u in urls[1:] if not u.startswith("data:")]

    @property
    def complaints(self) -> list[str]:
        """Console messages, log entries (CSP violations too) and uncaught exceptions."""
        kinds = {"Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"}
        return [json.dumps(e["params"])[:600] for e in self.events if e.get("method") in kinds]

    def close(self) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            self.call("Browser.close", session=False)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._in)
        os.close(self._out)


@pytest.fixture(scope="session")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A browser for the session; skipped by name where there is none."""
    binary = os.environ.get("ISAPROF_CHROMIUM") or shutil.which("chromium")
    if not binary:
        pytest.skip("chromium absent: install Debian's chromium or set ISAPROF_CHROMIUM")
    browser = Chrome(binary, tmp_path_factory.mktemp("chrome"))
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def synthetic() -> ModuleType:
    """The builder of synthetic analyses (tests/synthetic_analysis.py)."""
    return load_synthetic()


def load_synthetic() -> ModuleType:
    """Import the builder once, whatever the import mode of the run."""
    from importlib.util import module_from_spec, spec_from_file_location

    name = "isaprof_tests_synthetic"
    if name not in sys.modules:
        path = Path(__file__).resolve().parent.parent / "synthetic_analysis.py"
        spec = spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Renders an analysis into a file and returns its path."""
    from isaprof.views.html import render

    folder = tmp_path_factory.mktemp("pages")

    def write(*args: Any, **kwargs: Any) -> Path:
        path = folder / f"page{len(list(folder.iterdir()))}.html"
        path.write_text(render(*args, **kwargs), encoding="utf-8")
        return path

    return write
