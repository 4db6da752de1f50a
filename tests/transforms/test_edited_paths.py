"""Recorded paths through edited code: what was put in, taken away and moved, and what is refused."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from isaprof.accuracy.edited import CARRIED, Edited, NotCarried, edit_of, walk
from isaprof.accuracy.recording import Path as WavePath
from isaprof.accuracy.replay import EditedPath, replay
from isaprof.accuracy.validate import prepare
from isaprof.backends.simulator import Simulator
from isaprof.capture import save
from isaprof.launch import LaunchFile
from isaprof.launch.match import bind
from isaprof.transforms.context import Context
from isaprof.transforms.model import Change, Edit, Product
from isaprof.transforms.retime import edited_object
from isaprof.transforms.source import Source
from tests.transforms.kernels import HEAD, TAIL, assemble

BODY = """
	s_mov_b32 s8, 3
loop:
	global_load_dword v0, v[20:21], off
	v_add_f32 v2, v2, v3
	v_add_f32 v4, v4, v5
	s_waitcnt vmcnt(0)
	s_sub_u32 s8, s8, 1
	s_cmp_lg_u32 s8, 0
	s_cbranch_scc1 loop
	s_endpgm
"""
LOAD, ADD, WAIT, SUB, BRANCH, END = 1, 2, 4, 5, 7, 8
ITERATIONS = 3


@pytest.fixture(scope="module")
def before() -> Source:
    return Source.of_object(assemble(BODY))


def recorded() -> WavePath:
    lines = [0]
    taken = []
    for n in range(ITERATIONS):
        lines += range(LOAD, BRANCH + 1)
        if n + 1 < ITERATIONS:
            taken.append(len(lines) - 1)
    lines.append(END)
    return WavePath(tuple(lines), tuple(range(len(lines))), frozenset(taken))


def edited(before: Source, edit: Edit) -> Edited:
    context = Context.of(before.data)
    return edited_object(context, Product(Source.of(before.apply(edit)).data, edit))


def walked(before: Source, edit: Edit) -> tuple[list[str], EditedPath]:
    new = edited(before, edit)
    found = walk(new, before.listing, recorded())
    return [new.listing.instructions[n].text for n in found.path.lines], found


def test_nothing_changed_is_the_recorded_path(before: Source) -> None:
    _, found = walked(before, Edit(()))
    old = recorded()
    assert found.path == old
    assert found.origin == tuple(range(len(old.lines)))


def test_instructions_put_in_taken_away_and_moved(before: Source) -> None:
    load = before.listing.instructions[LOAD].text
    changes = (
        Change(LOAD, ()),
        Change(ADD, after=(load, "s_setprio 1")),
        Change(WAIT, ("s_waitcnt vmcnt(1)",)),
    )
    texts, found = walked(before, Edit(changes, carries={load: (LOAD,)}))
    loop = [t.split()[0] for t in texts[1:9]]
    assert loop == [
        "v_add_f32_e32", "global_load_dword", "s_setprio", "v_add_f32_e32", "s_waitcnt", "s_sub_u32",
        "s_cmp_lg_u32", "s_cbranch_scc1",
    ]  # fmt: skip
    assert len(texts) == 1 + ITERATIONS * 8 + 1
    assert len(found.path.taken) == ITERATIONS - 1
    old = recorded().lines
    loads = [o for t, o in zip(texts, found.origin, strict=True) if t == load]
    assert loads == [n for n, line in enumerate(old) if line == LOAD]  # each its own access
    assert [o for t, o in zip(texts, found.origin, strict=True) if "setprio" in t] == [None] * ITERATIONS
    waits = [o for t, o in zip(texts, found.origin, strict=True) if "waitcnt" in t]
    assert waits == [n for n, line in enumerate(old) if line == WAIT]


def test_a_rotated_load_is_one_iteration_early_and_its_guard_knows_the_end(before: Source) -> None:
    load = before.listing.instructions[LOAD].text
    guard = "s_cbranch_scc0 skip"
    changes = (
        Change(0, after=(load,)),
        Change(LOAD, ()),
        Change(BRANCH, before=(guard, load, "skip:")),
    )
    texts, found = walked(before, Edit(changes, {load: (LOAD,)}, {guard: (BRANCH, True)}))
    loads = [o for t, o in zip(texts, found.origin, strict=True) if t == load]
    assert loads == [n for n, line in enumerate(recorded().lines) if line == LOAD]
    assert texts[1] == load  # before the loop
    assert sum(t.startswith("s_cbranch_scc0") for t in texts) == ITERATIONS
    # without a guard the load is executed once more, and reads what it read last
    unguarded = (Change(0, after=(load,)), Change(LOAD, ()), Change(BRANCH, before=(load,)))
    texts, found = walked(before, Edit(unguarded, {load: (LOAD,)}))
    more = [o for t, o in zip(texts, found.origin, strict=True) if t == load]
    assert more == [*loads, loads[-1]]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ((Change(SUB, before=("s_cbranch_vccz skip", "skip:")),), "nothing recorded decides s_cbranch_vccz"),
        ((Change(SUB, before=("s_endpgm",)),), "less often than it was recorded"),
        ((Change(SUB, before=("s_branch skip",)), Change(BRANCH, before=("skip:",))), "nothing recorded"),
    ],
)
def test_what_the_recording_does_not_decide(before: Source, changes: tuple[Change, ...], why: str) -> None:
    with pytest.raises(NotCarried, match=why):
        walked(before, Edit(changes))


#: one workgroup at a time: more than half of the LDS
STREAM = """
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_lshlrev_b32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[4:5]
	s_waitcnt vmcnt(0)
	v_add_u32 v1, v1, v1
	s_sleep 100
	s_endpgm
"""
LAUNCH = """
schema_version = 1
[kernel]
symbol = "k"
kernarg_size = 8
[shape]
axes = ["N"]
default = [912]
[launch]
grid = ["N"]
workgroup = [64]
[[operand]]
name = "C"
role = "output"
dtype = "i32"
shape = [64]
[[argument]]
offset = 0
name = "C"
pointer = "C"
"""


def test_waves_of_a_simulated_capture_are_dispatched_again(tmp_path: Path) -> None:
    """An edit that ends the first wave early lets the next ones begin early, as a run would."""
    extra = """.amdhsa_accum_offset 64
		.amdhsa_group_segment_fixed_size 40960
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_kernarg_size 8"""
    before = Source.of((HEAD + STREAM + TAIL).format(arch="gfx942", extra=extra))
    co = Context.of(before.data)
    launch = bind(LaunchFile.parse(LAUNCH, "test"), co.kernel).resolve(None)
    raw = Simulator(co.co, before.data, co.kernel, launch, verify=False).capture()
    meta = {**raw.meta, "warnings": [asdict(w) for w in raw.warnings]}
    capture = save(tmp_path / "a.isaprof", meta, raw.tables, raw.code_objects)
    assert len(capture.waves) == 3
    recording, addresses, _ = prepare(capture)
    assert (
        not addresses.by_path
    )  # the launch file is nowhere: addresses are assumed, which is all the same here

    sleep = next(i.index for i in before.listing.instructions if i.base == "s_sleep")
    edit = Edit((Change(sleep, ()),))
    change, how = edit_of(edited(before, edit), recording, addresses)
    assert how == CARRIED
    old, new = (replay(recording, addresses, edit=e).waves.sort_values("begin") for e in (None, change))
    shorter = [int((w["end"] - w["begin"]).iloc[0]) for w in (old, new)]
    assert shorter[1] < shorter[0] - 1000
    moved = [int(w["begin"].iloc[-1] - w["begin"].iloc[0]) for w in (old, new)]
    assert moved[1] == pytest.approx(moved[0] - 2 * (shorter[0] - shorter[1]), abs=200)
