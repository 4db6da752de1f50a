"""Estimates by timing the edit: they are what ``isaprof ab`` then shows, or say why they are only a bound."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from isaprof import cli
from isaprof.asm import assemble_file
from isaprof.codeobj.elf import CodeObject
from isaprof.transforms.apply import rewrite
from isaprof.transforms.model import Change, Edit, Estimate, Finding, Method
from isaprof.transforms.registry import find
from isaprof.transforms.retime import Timing
from isaprof.transforms.source import Source
from isaprof.transforms.subject import Subject
from isaprof.transforms.suggest import suggest

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
ROTATED = "transforms/swp/load_use"


def run(*args: object) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main([str(a) for a in args])
    assert not stop.value.code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("retime")


def captured(name: str, folder: Path) -> Subject:
    """A simulated capture of a sample."""
    source = SAMPLES / name
    co, out = folder / f"{source.name}.co", folder / f"{source.name}.isaprof"
    if not out.exists():
        co.write_bytes(assemble_file(source.with_suffix(".s")))
        launch = folder / f"{source.name}.launch.toml"
        launch.write_text(source.with_suffix(".launch.toml").read_text())
        run("run", co, "-o", out)
    return Subject.open(out)


@pytest.fixture(scope="module")
def subject(folder: Path) -> Subject:
    """Of the sample whose loop is rotated: loads are moved, copied and guarded."""
    return captured(ROTATED, folder)


def timing(subject: Subject) -> Timing:
    assert subject.capture is not None
    return Timing(subject.capture)


@pytest.mark.parametrize(
    "name", ["waitcnt_relax/waitcnt_relax", pytest.param(ROTATED, marks=pytest.mark.slow)]
)
def test_the_interval_contains_what_ab_shows(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subject = captured(name, folder)
    finding = suggest(subject.context, timing(subject)).findings[0]
    e = finding.estimate
    assert e.method is Method.RETIMED
    assert e.span is not None
    after = folder / "after.co"
    if finding.product is not None:
        after.write_bytes(finding.product.data)
    else:
        assert finding.edit is not None
        disassembled = Source.of_object(subject.context.data)
        after.write_bytes(Source.of(disassembled.apply(finding.edit)).data)
    capsys.readouterr()
    before = folder / f"{subject.path.stem}.co"
    run("ab", before, after, "--seeds", 1, "--json", "-o", folder / f"ab-{subject.path.stem}")
    cycles = json.loads(capsys.readouterr().out)["cycles"]
    assert (e.expected, e.span[1]) == (-cycles["wave_cycles"]["difference"], -cycles["span"]["difference"])
    assert e.low is not None
    assert e.high is not None
    assert 0 < e.low < -cycles["wave_cycles"]["difference"] < e.high
    assert e.span[2] < -cycles["span"]["difference"] < e.span[3]
    assert e.saved == -cycles["span"]["difference"] / cycles["span"]["a"]


@pytest.fixture(scope="module")
def finding(subject: Subject) -> Finding:
    """Its finding, not re-timed."""
    return suggest(subject.context).findings[0]


def test_carried_paths_time_like_executed_ones(subject: Subject, finding: Finding) -> None:
    both = timing(subject)
    a = both.estimate(subject.context, finding)
    both.execute = False
    b = both.estimate(subject.context, finding)
    assert "the edited object executed" in a.basis
    assert "paths carried over" in b.basis
    assert (a.expected, a.low, a.high, a.span) == (b.expected, b.low, b.high, b.span)


def test_recorded_addresses_do_not_stand_in_for_others(subject: Subject, finding: Finding) -> None:
    """Another offset is another address: only executing the edited object knows what it costs."""
    code = subject.context.listing.instructions
    ins = next(i for i in code if i.base.startswith("ds_read") and "offset" in i.text)
    change = Change(ins.index, (ins.text.split(" offset")[0],))
    other = replace(finding, product=None, edit=Edit((change,)))
    asked = timing(subject)
    assert asked.estimate(subject.context, other).method is Method.RETIMED
    asked.execute = False
    bound = asked.estimate(subject.context, other)
    assert bound.method is Method.BOUND
    assert f"{ins.text} is replaced" in bound.why


def test_edits_that_are_made_together_are_timed_together(folder: Path) -> None:
    """Both bring more than the first, and less than the sum of what each brings alone."""
    relax = captured("waitcnt_relax/waitcnt_relax", folder)
    source = Source.of_object(relax.context.data)
    made = rewrite(
        source,
        find("waitcnt-relax"),
        analysis=relax.context.analysis,
        timing=timing(relax),
        note=lambda a: None,
    )
    assert made.estimate is not None
    assert made.estimate.expected is not None
    first, second = (a.finding.estimate.expected for a in made.applied)
    assert second is None  # a finding of code that no capture is of
    alone = [f.estimate.expected or 0 for f in suggest(relax.context, timing(relax)).findings]
    assert first in alone
    assert max(alone) < made.estimate.expected < sum(alone)


class TestBounds:
    """What cannot be timed keeps its bound, with the reason."""

    def why(self, subject: Subject, finding: Finding, timing: Timing) -> str:
        new = timing.estimate(subject.context, finding)
        assert new == replace(finding.estimate, why=new.why)
        assert new.method is Method.BOUND
        assert new.span is None
        return new.why

    def test_beyond_the_budget(self, subject: Subject, finding: Finding) -> None:
        few = timing(subject)
        few.budget = 10
        assert "modelled instructions, 10 are left" in self.why(subject, finding, few)
        assert few.budget == 10
        assert few.prepared is None  # nothing was executed for it
        some = timing(subject)
        assert some.prepare() is not None
        some.budget = 10
        assert "modelled instructions, 10 are left" in self.why(subject, finding, some)

    def test_another_object(self, subject: Subject, finding: Finding) -> None:
        one = timing(subject)
        prepared = one.prepare()
        assert prepared is not None
        data = assemble_file(SAMPLES / "transforms/swp/pipelined.s")
        prepared.retimer.recording = replace(
            prepared.retimer.recording, data=data, co=CodeObject.from_bytes(data)
        )
        assert self.why(subject, finding, one) == "the waves of the capture ran another code object"


def test_without_a_capture_nothing_is_claimed(subject: Subject, finding: Finding) -> None:
    unknown = Estimate(None, None, None, None, "no capture")
    asked = timing(subject)
    assert asked.estimate(subject.context, replace(finding, estimate=unknown)) == unknown
    assert asked.prepared is None


@pytest.mark.slow
def test_every_sample() -> None:
    """Every finding on every sample: ab's result is in the interval (exit 1 where one is not)."""
    script = SAMPLES / "estimates.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert "outside its interval" not in done.stdout, done.stdout
    assert not done.stderr
    assert "swp-global-prefetch" in done.stdout
