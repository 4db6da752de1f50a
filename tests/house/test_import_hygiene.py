"""``import isaprof`` and ``isaprof --help`` load no heavy library."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("pandas", "pyarrow", "numpy", "numba", "plotly", "textual", "elftools", "jinja2")

PROBE = """
import json, sys
{statement}
print(json.dumps(sorted(m for m in {heavy!r} if m in sys.modules)))
"""

HELP = """
import contextlib, io
from isaprof.cli import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main({arguments!r})
"""


def loaded(statement: str) -> list[str]:
    code = PROBE.format(statement=statement, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    result: list[str] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_import_isaprof() -> None:
    assert loaded("import isaprof") == []


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["doctor", "--help"]])
def test_help(arguments: list[str]) -> None:
    assert loaded(HELP.format(arguments=arguments)) == []


def test_the_probe_sees_a_heavy_import() -> None:
    assert loaded("import numpy") == ["numpy"]
