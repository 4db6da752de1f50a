"""Random machine code in a process of its own: it ends in a result or a named fault, never in a crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
import numpy as np
from isaprof.errors import IsaprofError
from tests.sim.fast.differential import compare, listing_from_words
from tests.sim.fast.random_code import words

arch, seeds = sys.argv[1], range(int(sys.argv[2]))
for seed in seeds:
    rng = np.random.default_rng(seed)
    try:
        listing = listing_from_words(arch, words(arch, rng))
    except IsaprofError:
        continue  # LLVM's disassembler gave up
    if not listing.instructions:
        continue
    mode, mask = ((0xF0, 0xC0, 0x3F0)[seed % 3], (None, 0x5555AAAA0FF03333, 0, 1)[seed % 4])
    bad, _ = compare(arch, listing, seed, mode=mode, exec_mask=mask, limit=400)
    if bad and bad.startswith("fault") and "NaN" not in bad:
        print(seed, bad)
print("done")
"""


def fuzz(arch: str, seeds: int) -> None:
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", CODE, arch, str(seeds)],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == "done\n"


ARCHS = ("gfx950", "gfx942", "gfx1100", "gfx1200")


@pytest.mark.parametrize("arch", ARCHS)
def test_random_machine_code(arch: str) -> None:
    fuzz(arch, 12)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ARCHS)
def test_much_random_machine_code(arch: str) -> None:
    fuzz(arch, 300)
