"""Our sample kernels: nothing to find in them, everything in them without one of their waits or barriers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isaprof.ab.races import new_races, races
from isaprof.ab.source import Source
from isaprof.asm import assemble_text
from isaprof.check.model import Report, Severity
from isaprof.check.run import check
from isaprof.codeobj.elf import CodeObject
from isaprof.isa.decode import disassemble
from isaprof.launch.match import find

SHAPES = {"gemm_cdna3": ("gfx942", "64,64,128"), "gemm_rdna35": ("gfx1151", "64,64,128")}
_WAIT = re.compile(r"\s*(s_waitcnt|s_barrier)\b")


def source(samples: Path, name: str, without: int | None = None) -> Source:
    """The sample, or one made of its source with line ``without`` (from 1) replaced by a nop."""
    path = samples / name / f"{name}.s"
    lines = path.read_text().splitlines()
    if without is not None:
        lines[without - 1] = "\ts_nop 0"
    arch = SHAPES[name][0]
    data = assemble_text(f'.amdgcn_target "amdgcn-amd-amdhsa--{arch}"\n' + "\n".join(lines) + "\n", str(path))
    co = CodeObject.from_bytes(data)
    kernel = co.kernel(None)
    return Source("A", str(path), data, co, kernel, find(kernel, co, str(path.with_suffix(".co"))))


def lines_of(samples: Path, name: str) -> list[int]:
    """Numbers of the lines that wait."""
    text = (samples / name / f"{name}.s").read_text().splitlines()
    return [n for n, line in enumerate(text, 1) if _WAIT.match(line)]


def report(s: Source, name: str, orders: int = 0) -> Report:
    launch = s.file.resolve(SHAPES[name][1])
    return check(s.co, s.kernel, disassemble(s.data), launch, orders=orders)


@pytest.mark.parametrize("name", SHAPES)
def test_nothing_is_wrong_with_the_samples(samples_dir: Path, name: str) -> None:
    r = report(source(samples_dir, name), name, orders=2)
    assert r.verified
    assert r.findings == ()
    assert (r.workgroups, r.total, r.orders) == (1, 1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_every_wait_and_barrier_of_the_samples_is_missed(samples_dir: Path, name: str) -> None:
    for n in lines_of(samples_dir, name):
        r = report(source(samples_dir, name, n), name)
        rules = {f.rule for f in r.findings if f.severity is Severity.ERROR}
        assert rules & {"wait-missing", "lds-race"}, (name, n)
        assert rules <= {"wait-missing", "lds-race"}


def test_a_lost_barrier_that_no_output_shows_is_a_race_in_a_comparison(samples_dir: Path) -> None:
    name = "gemm_cdna3"
    text = (samples_dir / name / f"{name}.s").read_text().splitlines()
    last = max(n for n, line in enumerate(text, 1) if line.strip().startswith("s_barrier"))
    one, two = source(samples_dir, name), source(samples_dir, name, last)
    launch = one.file.resolve(SHAPES[name][1])
    r = report(two, name)
    assert r.verified  # the simulator's order happens to be right
    a, b = races(one, launch), races(two, launch)
    assert a == ()
    (sentence,) = new_races(a, b)
    assert "s_barrier" in sentence
    assert new_races(b, b) == ()
