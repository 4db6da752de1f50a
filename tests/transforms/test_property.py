"""For random programs: an edit that is accepted changes no result, however late loads return."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from isaprof.errors import AnswerNo
from isaprof.launch import LaunchFile
from isaprof.launch.match import bind
from isaprof.transforms import discover, equality
from isaprof.transforms.apply import prove_equal, rewrite
from isaprof.transforms.catalogue.swp_global_prefetch import Rewritten
from isaprof.transforms.context import Context
from isaprof.transforms.prefetch_obligations import obligations
from isaprof.transforms.rotate import NotRotatable, load_groups, rotate
from isaprof.transforms.source import Source
from tests.transforms import late_loads
from tests.transforms.kernels import HEAD, TAIL

SLOTS = 8
REGS = tuple(f"v{i}" for i in range(10, 16))
LAUNCH = f"""
schema_version = 1
[kernel]
symbol = "k"
kernarg_size = 16
[shape]
axes = ["N"]
default = [1]
[launch]
grid = ["N"]
workgroup = [64]
[[operand]]
name = "A"
role = "input"
dtype = "i32"
shape = [{SLOTS}, 64]
fill = {{ rule = "integers", low = 0, high = 1000 }}
[[operand]]
name = "C"
role = "output"
dtype = "i32"
shape = [{SLOTS}, 64]
[[argument]]
offset = 0
name = "A"
pointer = "A"
[[argument]]
offset = 8
name = "C"
pointer = "C"
[[constraint]]
require = "N == 1"
message = "one workgroup"
"""
EXTRA = """.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_kernarg_size 16
		.amdhsa_accum_offset 64"""
PROLOGUE = """
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
"""

load = st.builds(
    "	global_load_dword {}, v1, s[4:5] offset:{}".format,
    st.sampled_from(REGS),
    st.integers(0, SLOTS - 1).map(lambda i: 256 * i),
)
add = st.builds("	v_add_u32_e32 {}, {}, {}".format, *[st.sampled_from(REGS)] * 3)
store = st.builds(
    "	global_store_dword v1, {}, s[6:7] offset:{}".format,
    st.sampled_from(REGS),
    st.integers(0, SLOTS - 1).map(lambda i: 256 * i),
)
wait = st.just("	s_waitcnt vmcnt(0)")
INPUTS = st.lists(st.integers(1, 1 << 20), min_size=SLOTS, max_size=SLOTS)


@st.composite
def runs(draw: st.DrawFn) -> list[str]:
    """Loads, then a wait, then something with the registers: every use is waited for."""
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        lines += draw(st.lists(load, max_size=4))
        lines.append(draw(wait))
        lines += draw(st.lists(st.one_of(add, store), min_size=1, max_size=3))
    return lines


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Straight code, perhaps a loop, straight code; registers are set before anything reads them."""
    lines = [f"	v_mov_b32_e32 {r}, {i + 1}" for i, r in enumerate(REGS)]
    lines += draw(runs())
    if draw(st.booleans()):
        # loads that are in flight when the loop begins or goes round
        lines += [*draw(st.lists(load, max_size=2)), f"	s_mov_b32 s8, {draw(st.integers(1, 3))}"]
        lines += ["	s_waitcnt vmcnt(0)"] if draw(st.booleans()) else []
        tail = draw(st.lists(load, max_size=2))
        lines += [
            "loop:",
            *([] if draw(st.booleans()) else ["	s_waitcnt vmcnt(0)"]),
            *draw(runs()),
            *tail,
            *(["	s_waitcnt vmcnt(0)"] if draw(st.booleans()) else []),
            "	s_sub_u32 s8, s8, 1",
            "	s_cmp_lg_u32 s8, 0",
            "	s_cbranch_scc1 loop",
        ]
        lines.append("	s_waitcnt vmcnt(0)")
    lines += [f"	global_store_dword v1, {r}, s[6:7] offset:{256 * i}" for i, r in enumerate(REGS)]
    return "\n".join([*lines, "	s_endpgm", ""])


def source(body: str) -> Source:
    return Source.of((HEAD + PROLOGUE + body + TAIL).format(arch="gfx942", extra=EXTRA))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs(), INPUTS)
def test_an_accepted_edit_changes_no_result(body: str, inputs: list[int]) -> None:
    before = source(body)
    for transform in discover().values():
        try:
            result = rewrite(before, transform)
        except AnswerNo as e:
            event(f"{transform.id}: {e.kind}")
            continue
        event(f"{transform.id}: accepted")
        file = bind(LaunchFile.parse(LAUNCH, "test"), Context.of(before.data).kernel)
        assert prove_equal(result, file)
        # a program that uses results in flight already has no one result: it must not be judged
        if not Context.of(before.data).waits.conflicts():
            late = [late_loads.run(s.listing, inputs, SLOTS) for s in (before, result.after)]
            assert late[0] == late[1]


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs(), INPUTS)
def test_many_accepted_edits(body: str, inputs: list[int]) -> None:
    test_an_accepted_edit_changes_no_result.hypothesis.inner_test(body, inputs)


@st.composite
def loops(draw: st.DrawFn) -> str:
    """A loop that adds up what it loads at a moving address, in many orders."""
    regs = draw(st.lists(st.sampled_from(REGS[:3]), min_size=1, max_size=3, unique=True))
    step = "	v_add_u32_e32 v1, 0x100, v1"
    loads = [f"	global_load_dword {r}, v1, s[4:5] offset:{draw(st.sampled_from([0, 256]))}" for r in regs]
    uses = [f"	v_add_u32_e32 {a}, {a}, {r}" for a, r in zip(REGS[3:], regs, strict=False)]
    rest = draw(
        st.lists(st.sampled_from(["	s_nop 1", "	v_add_u32_e32 v13, v13, v13", *uses]), max_size=4)
    )
    count = ["	s_sub_u32 s8, s8, 1"]
    where = draw(st.sampled_from(["top", "behind loads", "end"]))
    counted = draw(st.sampled_from(["top", "end"]))
    body = [
        *(count if counted == "top" else []),
        *([step] if where == "top" else []),
        *loads,
        *([step] if where == "behind loads" else []),
        "	s_waitcnt vmcnt(0)",
        *uses,
        *rest,
        *([step] if where == "end" else []),
        *(count if counted == "end" else []),
        "	s_cmp_lg_u32 s8, 0",
        "	s_cbranch_scc1 loop",
    ]
    lines = [f"	v_mov_b32_e32 {r}, {i + 1}" for i, r in enumerate(REGS)]
    lines += ["	v_mov_b32_e32 v2, v1", f"	s_mov_b32 s8, {draw(st.integers(1, 4))}", "loop:", *body]
    kept = draw(st.lists(st.sampled_from(REGS), min_size=3, unique=True))
    lines += [f"	global_store_dword v2, {r}, s[6:7] offset:{256 * i}" for i, r in enumerate(kept)]
    return "\n".join([*lines, "	s_endpgm", ""])


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(loops(), st.booleans(), INPUTS)
def test_a_rotated_loop_changes_no_result(body: str, rename: bool, inputs: list[int]) -> None:
    before = source(body)
    context = Context.of(before.data)
    for group in load_groups(context):
        try:
            rewritten = Rewritten.of(context, rotate(context, group, rename=rename))
        except NotRotatable:
            event("not rotatable")
            continue
        after = rewritten.context
        assert after is not None, rewritten.problem
        found = obligations(context, rewritten.rotation, after, "")
        event(", ".join(o.id for o in found if not o.met) or "all met")
        if all(o.met for o in found):
            late = [late_loads.run(c.listing, inputs, SLOTS) for c in (context, after)]
            assert late[0] == late[1]
            file = bind(LaunchFile.parse(LAUNCH, "test"), context.kernel)
            index: dict[int, int] = {}
            assert equality.prove(context, after, index, file, [equality.Trial("N=1", 1)])


def test_the_oracle_sees_a_wait_that_is_too_weak() -> None:
    """Otherwise the test above could not fail."""
    body = """
	s_mov_b32 s8, 2
	global_load_dword v10, v1, s[4:5]
	s_waitcnt vmcnt(0)
loop:
	v_add_u32_e32 v11, v11, v10
	global_load_dword v10, v1, s[4:5] offset:256
	s_sub_u32 s8, s8, 1
	s_waitcnt vmcnt(0)
	s_cmp_lg_u32 s8, 0
	s_cbranch_scc1 loop
	global_store_dword v1, v11, s[6:7]
	s_endpgm
"""
    inputs = list(range(100, 100 + SLOTS))
    right = late_loads.run(source(body).listing, inputs, SLOTS)
    assert right[0] == 100 + 101
    weak = body.replace(
        "	s_sub_u32 s8, s8, 1\n	s_waitcnt vmcnt(0)", "	s_sub_u32 s8, s8, 1\n	s_waitcnt vmcnt(1)"
    )
    assert late_loads.run(source(weak).listing, inputs, SLOTS) != right
