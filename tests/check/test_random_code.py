"""Random machine code under the sanitizer ends in a report or a named fault."""

from __future__ import annotations

import numpy as np
import pytest

from isaprof.errors import IsaprofError
from isaprof.sim.faults import SimulatedFault
from tests.check.kernels import launch, sanitize
from tests.sim.fast.random_code import words


def fuzz(arch: str, seeds: range) -> int:
    """Checks random kernels; returns how many gave a report."""
    reports = 0
    lanes = 64 if arch.startswith("gfx9") else 32
    for seed in seeds:
        body = "".join(f" .long {w:#x}\n" for w in words(arch, np.random.default_rng(seed)))
        try:
            r = sanitize(
                f" s_load_b128 s[4:7], s[0:1], 0x0\n{body} s_endpgm\n".replace(
                    "b128", "dwordx4" if arch.startswith("gfx9") else "b128"
                ),
                arch, run=launch(threads=2 * lanes), lds=512, max_instructions=400, orders=1,
            )  # fmt: skip
        except SimulatedFault as e:
            assert e.kind in ("unimplemented", "instruction_limit", "wild_jump"), e  # noqa: PT017
            continue
        except IsaprofError:  # LLVM's disassembler gave up
            continue
        reports += 1
        assert all(f.message and f.count > 0 for f in r.findings)
    return reports


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["gfx950", "gfx942", "gfx1100", "gfx1200"])
def test_random_machine_code(arch: str) -> None:
    assert fuzz(arch, range(60)) > 5
