"""The C executor built with the address and undefined-behaviour sanitizers, fed random programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from isaprof.sim.fast import build

from .test_random_code import CODE

#: what the executor relies on by its flags (-fwrapv, -fno-strict-aliasing) is no finding
FLAGS = (
    "-std=gnu11", "-O1", "-g", "-fPIC", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off",
    "-fsanitize=address,undefined", "-fno-sanitize=alignment,shift,float-cast-overflow",
    "-fno-sanitize-recover=all", "-shared",
)  # fmt: skip

LOAD = """
from pathlib import Path
from isaprof.sim.fast import build
build._library = build._open(Path({path!r}))
"""


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """(library, environment) or a skip where the compiler has no sanitizers."""
    command = build.compiler()
    target = tmp_path_factory.mktemp("asan") / "sim.so"
    sources = [str(p) for folder in build.SOURCES for p in sorted(folder.glob("*.c"))]
    done = subprocess.run(
        [*command, *FLAGS, "-o", str(target), *sources, "-lm"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"no sanitizers here: {done.stderr.splitlines()[-1:]}")
    found = [
        subprocess.run(
            [*command, f"-print-file-name={n}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for n in ("libasan.so", "libubsan.so")
    ]
    if not all(os.path.isabs(f) for f in found):
        pytest.skip("no shared sanitizer runtimes")
    return target, {
        **os.environ, "LD_PRELOAD": ":".join(found),
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:detect_stack_use_after_return=0",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["gfx950", "gfx942", "gfx1100", "gfx1200"])
def test_random_programs_under_sanitizers(sanitized: tuple[Path, dict[str, str]], arch: str) -> None:
    path, env = sanitized
    # LLVM's tools are processes of their own and run without the preloaded runtimes
    code = "import os\nos.environ.pop('LD_PRELOAD', None)\n" + LOAD.format(path=str(path)) + CODE
    done = subprocess.run(
        [sys.executable, "-c", code, arch, "150"], cwd=Path(__file__).parents[3], env=env,
        capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.endswith("done\n")
    assert "runtime error" not in done.stderr
