"""Traces that the model made itself: what goes through SQTT comes back, and a replay of it is exact.

Whatever ``validate`` finds here is an error of decoder, mapping of waves or replay, not of the model.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import isaprof
from isaprof import cli
from isaprof.accuracy.validate import measured, prepare, validate
from isaprof.attribution import analyse
from isaprof.capture.model import Capture
from isaprof.errors import BadInput
from tests.accuracy.encoded import START, encode, folder

#: sample, object in it, shape
FAST = [("gemm_cdna3", "gemm_cdna3", "64,64,64"), ("gemm_rdna4", "gemm_rdna4", "64,64,64")]
SLOW = [
    ("gemm_cdna3", "gemm_cdna3.gfx950", "128,192,64"),
    ("gemm_rdna35", "gemm_rdna35", "128,192,64"),
    ("waitcnt_relax", "waitcnt_relax", "1024"),
    ("w4a16_ladder", "step0", "16,256,256"),
    ("w4a16_ladder", "step5", "16,256,256"),
    ("mxfp4_gfx950", "mxfp4_registers", "64,64,256"),
    ("mxfp4_gfx950", "mxfp4_pipelined", "64,64,256"),
]
Made = tuple[Capture, Path, str]


def modelled(name: tuple[str, str, str], samples_dir: Path, out: Path) -> Made:
    """(capture of the simulator, launch file, shape)."""
    directory, kernel, shape = name
    launch = next((samples_dir / directory).glob(f"{kernel.split('.')[0]}.launch.toml"), None)
    launch = launch or next((samples_dir / directory).glob("*.launch.toml"))
    path = samples_dir / directory / f"{kernel}.co"
    with pytest.raises(SystemExit) as e:
        cli.main(["run", str(path), "--shape", shape, "--launch", str(launch), "-o", str(out / "m.isaprof")])
    assert not e.value.code
    return isaprof.open(out / "m.isaprof"), launch, shape


def imported(out: Path, data: bytes, *captures: Capture) -> Capture:
    path = folder(out / "trace", data, *captures)
    with pytest.raises(SystemExit) as e:
        cli.main(["import", str(path), "-o", str(out / "i.isaprof")])
    assert not e.value.code
    return isaprof.open(out / "i.isaprof")


def rows(capture: Capture, wave: int, start: int = 0) -> list[tuple[int, ...]]:
    """(address, time, stall) of a wave's records, s_endpgm left out: RDNA does not record when it began."""
    pc = capture.code.set_index("line")["pc"]
    mine = capture.insts[capture.insts["wave"] == wave].sort_values("seq")
    columns = (mine["line"].map(pc), mine["time"] - start, mine["stall"])
    return list(zip(*(c.astype("int64").tolist() for c in columns), strict=True))[:-1]


def exact(made: Made, out: Path) -> None:
    capture, launch, shape = made
    back = imported(out, encode(capture), capture)
    assert back.warnings == ()
    by_place = {(w.simd, w.slot, w.begin - START): w for w in back.waves.itertuples()}
    seen = 0
    for w in capture.waves.itertuples():
        found = by_place[w.simd, w.slot, w.begin]
        assert found.end - START == w.end
        if found.traced:
            theirs, ours = rows(back, found.wave, START), rows(capture, w.wave)
            assert [r[0] for r in theirs] == [r[0] for r in ours]
            off = [abs(a[1] + a[2] - b[1] - b[2]) for a, b in zip(theirs, ours, strict=True)]
            # as AMD's decoder does, ours guesses in which slot the scales of a matrix instruction were loaded
            assert max(off) <= (4 if capture.code["text"].str.contains("_scale_").any() else 0)
            seen += 1
    assert seen > 0
    found_agreement = validate(back, launch=launch, shape=shape)
    assert found_agreement.waves == found_agreement.addresses == seen
    assert found_agreement.durations == (0.0, 0.0)
    assert all(abs(p.modelled - p.measured) <= 8 * p.count for p in found_agreement.parts)
    assert found_agreement.gaps.within == found_agreement.gaps.count > 0
    a = analyse(back)
    assert a.causes.set_index("cause")["share"].get("unexplained", 0.0) < 0.01


@pytest.mark.parametrize("name", FAST, ids=lambda n: n[1])
def test_a_trace_of_the_model_is_the_model(
    name: tuple[str, str, str], samples_dir: Path, tmp_path: Path
) -> None:
    made = modelled(name, samples_dir, tmp_path)
    exact(made, tmp_path)
    cut_at_its_end(made, tmp_path / "cut")
    cut_at_its_begin(made, tmp_path / "late")


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW, ids=lambda n: n[1])
def test_more_traces_of_the_model_are_the_model(
    name: tuple[str, str, str], samples_dir: Path, tmp_path: Path
) -> None:
    made = modelled(name, samples_dir, tmp_path)
    exact(made, tmp_path)
    cut_at_its_end(made, tmp_path / "cut")
    cut_at_its_begin(made, tmp_path / "late")


@pytest.mark.slow
def test_waves_of_many_workgroups_one_after_the_other(data_dir: Path, tmp_path: Path) -> None:
    """Paths depend on the data: only with the addresses of the very workgroups is the replay exact."""
    path = data_dir / "co/gfx950/topksoftmax/topksoftmax_4x128x4.co"
    with pytest.raises(SystemExit) as e:
        cli.main(["run", str(path), "--shape", "20000", "--no-verify", "-o", str(tmp_path / "m.isaprof")])
    assert not e.value.code
    capture = isaprof.open(tmp_path / "m.isaprof")
    back = imported(tmp_path, encode(capture), capture)
    found = validate(back, shape=",".join(f"{a}={n}" for a, n in capture.meta["launch"]["shape"].items()))
    assert found.waves == found.addresses == len(capture.waves)
    assert found.durations == (0.0, 0.0)
    assert found.gaps.within == found.gaps.count


@pytest.mark.slow
def test_waves_with_holes_do_not_count_in_the_shares_of_the_others(samples_dir: Path, tmp_path: Path) -> None:
    """What they issued explains waits in the trace, but nothing in the replay, which cannot know it."""
    capture, launch, shape = modelled(SLOW[3], samples_dir, tmp_path)
    back = imported(tmp_path, encode(capture, lose=(300, 340)), capture)
    found = validate(back, launch=launch, shape=shape)
    assert 0 < found.waves < back.waves["traced"].sum()
    assert found.cause_points < 1


@pytest.mark.slow
def test_waves_of_another_kernel_are_no_company(samples_dir: Path, tmp_path: Path) -> None:
    names = (FAST[0], SLOW[2])
    for n in (0, 1):
        (tmp_path / str(n)).mkdir()
    gemm, relax = (modelled(name, samples_dir, tmp_path / str(n)) for n, name in enumerate(names))
    back = imported(tmp_path, encode(relax[0], gemm[0]), relax[0], gemm[0])
    assert back.warnings == ()
    assert back.kernel == gemm[0].kernel  # the most waves are its
    assert len(back.meta["kernels"]) == 2
    a = analyse(back)
    assert a.segments["cycles"].sum() == (back.waves["end"] - back.waves["begin"]).sum()
    # the geometry in meta.json is the other's; the very same waves come back all the same
    recording, _, notes = prepare(back)
    assert len(recording.units) == 1
    assert {w.wave for u in recording.units for g in u.groups for w in g} < set(back.waves["wave"])
    assert "1 waves of other kernels are left out" in (*recording.notes, *notes)


def cut_at_its_end(made: Made, out: Path) -> None:
    """Waves are replayed and compared as far as the trace holds them."""
    capture, launch, shape = made
    begin, end = int(capture.waves["begin"].max()), int(capture.waves["end"].min())
    back = imported(out, encode(capture, last=begin + (end - begin) * 2 // 3), capture)
    assert {w.kind for w in back.warnings} >= {"wave_incomplete"}
    assert not back.waves["complete"].any()
    recording, _, _ = prepare(measured(back), launch=launch, shape=shape)
    assert recording.cut == {w.wave for u in recording.units for g in u.groups for w in g if w.path}
    found = validate(back, launch=launch, shape=shape)
    assert found.waves == found.addresses == len(recording.cut) > 0
    assert found.durations == (0.0, 0.0)
    assert found.gaps.within == found.gaps.count > 0
    assert "drain" not in {p.component.value for p in found.parts}
    assert f"{found.waves} waves are compared up to where the trace ends" in found.notes
    a = analyse(back)
    traced = back.waves[back.waves["traced"]]
    assert a.segments["cycles"].sum() == (traced["end"] - traced["begin"]).sum()


def cut_at_its_begin(made: Made, out: Path) -> None:
    """Where the begin of all waves is missing, nobody knows where in the code they were; that is said."""
    capture, launch, shape = made
    begin = int(capture.waves["begin"].max())
    back = imported(out, encode(capture, first=begin + 100), capture)
    assert back.insts["line"].isna().all()
    with pytest.raises(BadInput, match="have no place in the code"):
        validate(back, launch=launch, shape=shape)
