"""A simulated capture replayed on its own places is itself; virtual edits do what they say."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import isaprof
from isaprof import arch as arch_tables
from isaprof import cli
from isaprof.accuracy import edits
from isaprof.accuracy.recording import Path as WavePath
from isaprof.accuracy.recording import Recording, read, walk
from isaprof.accuracy.replay import Addresses, _in_turn, as_capture, replay
from isaprof.accuracy.validate import measured, prepare, validate
from isaprof.accuracy.whatif import whatif
from isaprof.capture import Capture
from isaprof.errors import BadInput, UsageError
from isaprof.sim.trace import WaveTrace
from tests.attribution.build import Wave, capture
from tests.sim.timing.programs import listing

COLUMNS = ["wave", "line", "time", "stall", "duration"]


def _prepare(name: str, shape: str, samples_dir: Path, out: Path) -> tuple[Recording, Addresses]:
    with pytest.raises(SystemExit) as e:
        cli.main(["run", str(samples_dir / name / f"{name}.co"), "--shape", shape, "-o", str(out)])
    assert not e.value.code
    recording, addresses, notes = prepare(isaprof.open(out))
    assert notes == ()
    return recording, addresses


@pytest.fixture(scope="module")
def relax(tmp_path_factory: pytest.TempPathFactory, samples_dir: Path) -> tuple[Recording, Addresses]:
    """The sample whose waits are too strong."""
    return _prepare("waitcnt_relax", "1024", samples_dir, tmp_path_factory.mktemp("replay") / "k.isaprof")


@pytest.fixture(scope="module")
def gemm(tmp_path_factory: pytest.TempPathFactory, samples_dir: Path) -> tuple[Recording, Addresses]:
    """A kernel with LDS, barriers and matrix instructions."""
    return _prepare("gemm_rdna35", "64,64,128", samples_dir, tmp_path_factory.mktemp("replay") / "k.isaprof")


@pytest.fixture(params=["relax", "gemm"])
def prepared(request: pytest.FixtureRequest) -> tuple[Recording, Addresses]:
    """Each of them."""
    found: tuple[Recording, Addresses] = request.getfixturevalue(request.param)
    return found


def test_a_replay_of_the_model_is_the_model(prepared: tuple[Recording, Addresses]) -> None:
    recording, addresses = prepared
    again = replay(recording, addresses)
    assert again.matched == len(again.waves) > 0
    ours = as_capture(recording, again)
    theirs = recording.capture.insts.sort_values(["wave", "seq"])
    mine = ours.insts.sort_values(["wave", "seq"])
    assert mine[COLUMNS].to_numpy().tolist() == theirs[COLUMNS].to_numpy().tolist()
    assert ours.provenance.value == "modelled"


@pytest.mark.parametrize("simd", [-5, 4, 2**31 - 1])
def test_a_wave_on_a_simd_that_is_not_there_is_refused(relax: tuple[Recording, Addresses], simd: int) -> None:
    """The compiled model has an array of SIMDs: it crashed, or never ended."""
    capture = relax[0].capture
    waves = capture.waves.assign(simd=simd)
    tables = {"code": capture.code, "insts": capture.insts, "waves": waves}
    with pytest.raises(BadInput, match=f"on SIMD {simd}; a unit of gfx942 has 4"):
        read(Capture(capture.meta, tables, capture.code_objects))


def test_a_model_cannot_judge_itself(prepared: tuple[Recording, Addresses]) -> None:
    with pytest.raises(BadInput, match="only a hardware trace can judge"):
        measured(prepared[0].capture)
    with pytest.raises(BadInput, match="only a hardware trace can judge"):
        validate(prepared[0].capture)


def line_of(recording: Recording, start: str) -> int:
    walked = {n for u in recording.units for g in u.groups for w in g if w.path for n in w.path.lines}
    return next(n for n in sorted(walked) if recording.listing.instructions[n].text.startswith(start))


def one_path(recording: Recording) -> WavePath:
    return next(w.path for u in recording.units for g in u.groups for w in g if w.path)


class TestEdits:
    """On the sample whose waits are too strong."""

    def test_a_weaker_wait_gains_what_the_sample_is_about(self, relax) -> None:
        recording, addresses = relax
        line = line_of(recording, "s_waitcnt vmcnt(0)")
        answer = whatif(recording, addresses, edits.wait(recording, line, {"": 2}), "w")
        assert answer.wave_cycles[0] == answer.recorded_cycles
        assert answer.change < -0.1 * answer.wave_cycles[0]
        assert answer.low <= answer.change <= answer.high < 0
        same = whatif(recording, addresses, edits.wait(recording, line, {"vmcnt": 0}), "w")
        assert same.change == same.low == same.high == 0

    def test_a_dropped_instruction_leaves_every_path(self, relax) -> None:
        recording, addresses = relax
        line = line_of(recording, "v_add_u32_e32 v2")
        edit = edits.drop(recording, line)
        old = one_path(recording)
        assert edit.path is not None
        new = edit.path(old).path
        assert list(new.lines) == [n for n in old.lines if n != line]
        assert [new.lines[s] for s in sorted(new.taken)] == [old.lines[s] for s in sorted(old.taken)]
        before, after = replay(recording, addresses), replay(recording, addresses, edit=edit)
        assert len(after.records) == len(before.records) - old.lines.count(line)

    @pytest.mark.parametrize("direction", ["up", "down"])
    def test_a_moved_instruction_keeps_its_visits(self, relax, direction: str) -> None:
        recording, _ = relax
        store, add = line_of(recording, "global_store_dword"), line_of(recording, "v_add_u32_e32 v2")
        line, before = (add, store) if direction == "up" else (store, add + 1)
        edit = edits.move(recording, line, before)
        old = one_path(recording)
        assert edit.path is not None
        new = edit.path(old).path
        assert sorted(new.lines) == sorted(old.lines)
        at = [s for s, n in enumerate(new.lines) if n == line]
        assert len(at) == old.lines.count(line)
        assert all(new.lines[s + 1] == before for s in at)

    def test_what_cannot_be_edited_says_why(self, relax) -> None:
        recording, _ = relax
        branch = line_of(recording, "s_cbranch_scc1")
        add = line_of(recording, "v_add_f32")
        with pytest.raises(UsageError, match="decides the path"):
            edits.drop(recording, branch)
        with pytest.raises(UsageError, match="lies between"):
            edits.move(recording, add, branch + 2)
        with pytest.raises(UsageError, match="a branch comes in"):
            edits.move(recording, add, line_of(recording, "s_load"))
        with pytest.raises(UsageError, match="is no wait"):
            edits.wait(recording, add, {"": 1})
        with pytest.raises(UsageError, match="waits on vmcnt, not on lgkmcnt"):
            edits.wait(recording, line_of(recording, "s_waitcnt vmcnt(0)"), {"lgkmcnt": 1})
        with pytest.raises(UsageError, match="counts to 63"):
            edits.wait(recording, line_of(recording, "s_waitcnt vmcnt(0)"), {"vmcnt": 64})
        with pytest.raises(UsageError, match="is no LDS access"):
            edits.no_conflict(recording, (add,))
        with pytest.raises(UsageError, match="does not exist"):
            edits.drop(recording, 1 << 20)


def test_paths_close_over_what_makes_no_record(prepared: tuple[Recording, Addresses]) -> None:
    recording, _ = prepared
    path = one_path(recording)
    lines = [path.lines[s] for s in path.recorded]
    taken = {path.lines[s] for s in path.taken}
    jumps = ["JUMP" if s in path.taken else "VALU" for s in path.recorded]
    assert taken
    assert walk(recording.listing, lines, jumps) == path
    with pytest.raises(ValueError, match="without a record"):
        walk(recording.listing, [lines[0], lines[3]], ["VALU", "VALU"])


def test_paths_follow_calls_and_jumps_by_register() -> None:
    code = listing(
        "gfx942", "s_swappc_b64 s[4:5], s[6:7]", "s_nop 0", "s_call_b64 s[4:5], 1", "s_endpgm",
        "v_mov_b32_e32 v0, v1", "s_setpc_b64 s[4:5]",
    )  # fmt: skip
    lines = [0, 4, 5, 1, 2, 4, 5, 3]
    kinds = ["SALU", "VALU", "SALU", "IMMED", "SALU", "VALU", "SALU", "MESSAGE"]
    path = walk(code, lines, kinds)
    assert path.lines == tuple(lines)
    assert path.taken == {0, 2, 4, 6}


@pytest.mark.parametrize(("workgroups", "step"), [(5000, 256), (4865, 256), (4864, 243), (12, 1)])
def test_a_unit_runs_every_so_many_workgroups_as_far_as_the_grid_goes(workgroups: int, step: int) -> None:
    """20 workgroups ran on a unit: the last is the 4,865th where the dispatcher goes round 256 units."""
    unit = SimpleNamespace(groups=range(20))
    recording = SimpleNamespace(table=arch_tables.get("gfx950"), units=[unit])
    launch = SimpleNamespace(workgroups=workgroups, grid=(workgroups, 1, 1))
    found = _in_turn(recording, launch, 256)  # type: ignore[arg-type]
    assert found == [(i * step, 0, 0) for i in range(min(20, workgroups))]


def test_the_workgroup_that_a_unit_ran_gives_its_addresses() -> None:
    """Not just any that walked the same path, where it did, too."""
    lines = np.array([1, 2, 3], np.int32)
    traces = [WaveTrace((n, 0, 0), 0, 64, lines) for n in (0, 4, 8, 12)]
    pool = {(0, lines.tobytes()): [traces[0], traces[2], traces[3]]}
    known = Addresses(pool, {}, None, tuple(t.workgroup for t in traces))
    assert [known.like(0, lines.tobytes(), n) for n in (0, 2, 3)] == [traces[0], traces[2], traces[3]]
    assert known.like(0, lines.tobytes(), 1) is traces[2]  # that one walked another path
    assert known.like(0, lines[:2].tobytes(), 3) is None
    assert known.like(0, lines[:2].tobytes(), 3, cut=True) is traces[3]


@pytest.mark.parametrize("arch", ["gfx1250", "gfx90a"])
def test_what_the_model_has_no_constants_for_is_refused(arch: str) -> None:
    with pytest.raises(BadInput, match=f"no timing constants for {arch}"):
        read(capture(arch, ["s_nop 0", "s_endpgm"], [Wave().add(0).add(1)]))


def test_without_conflicts_a_conflicting_kernel_is_faster(prepared: tuple[Recording, Addresses]) -> None:
    recording, addresses = prepared
    conflicts = recording.capture.memory
    assert conflicts is not None
    more = (conflicts["passes"] > conflicts["min_passes"]).fillna(False).any()
    if not more:
        edit = edits.no_conflict(recording, ())
        assert whatif(recording, addresses, edit, "none").change <= 0
        return
    answer = whatif(recording, addresses, edits.no_conflict(recording, ()), "no conflicts")
    assert answer.change < 0


def test_a_launch_file_of_the_same_name_is_not_taken(
    relax: tuple[Recording, Addresses], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, samples_dir: Path
) -> None:
    """A capture names its launch file; another one of that name would give wrong addresses."""
    capture = relax[0].capture
    name = "waitcnt_relax.launch.toml"
    launch = {**capture.meta["launch"], "launch_file": name}
    monkeypatch.setitem(capture.meta, "launch", launch)
    monkeypatch.chdir(tmp_path)
    own = (samples_dir / "waitcnt_relax" / name).read_text()
    Path(name).write_text(own)
    assert prepare(capture)[2] == ()
    Path(name).write_text(own.replace('"C"', '"D"'))
    _, addresses, notes = prepare(capture)
    assert "not the launch file that the capture was made with" in notes[0]
    assert not addresses.by_path
