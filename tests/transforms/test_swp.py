"""swp-global-prefetch: what it finds, what it claims, and that the rotated loop computes the same."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from isaprof.attribution import analyse
from isaprof.attribution.model import Analysis
from isaprof.backends.simulator import Simulator
from isaprof.capture.model import Capture
from isaprof.launch import find
from isaprof.launch.expr import parse
from isaprof.launch.file import Constraint
from isaprof.transforms import equality
from isaprof.transforms.catalogue.swp_global_prefetch import TRANSFORM, Rewritten
from isaprof.transforms.context import Context
from isaprof.transforms.model import Finding
from isaprof.transforms.prefetch_obligations import obligations
from isaprof.transforms.rotate import NotRotatable, load_groups, rotate
from tests.transforms.kernels import context

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
POSITIVE = ("transforms/swp/load_use", "gemm_cdna3/gemm_cdna3", "gemm_rdna35/gemm_rdna35")


def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("samples_build_swp", SAMPLES / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sample(name: str) -> Context:
    source, arch = builder().OBJECTS[f"{name}.co"]
    return Context.of(builder().build((SAMPLES / source).read_text(), arch), path=str(SAMPLES / f"{name}.co"))


def captured(c: Context, data: bytes | None = None, shape: str | None = None) -> Analysis:
    """Analysis of a simulated run of the sample (or of other ``data`` with its launch file)."""
    co = Context.of(data, c.kernel.name) if data else c
    launch = find(c.kernel, c.co, c.co.path).resolve(shape)
    raw = Simulator(co.co, co.data, co.kernel, launch).capture()
    return analyse(Capture(raw.meta, raw.tables, raw.code_objects))


def the_only(findings: object) -> Finding:
    (finding,) = findings  # type: ignore[misc]
    assert isinstance(finding, Finding)
    return finding


@pytest.mark.parametrize("name", POSITIVE)
def test_found_without_a_capture(name: str) -> None:
    f = the_only(TRANSFORM.detect(sample(name)))
    assert f.edit is None, "advice only"
    assert [o.id for o in f.obligations if not o.met] == []
    assert (f.estimate.upper, f.estimate.expected) == (None, None)
    assert any("s_cbranch_scc0 .Lisaprof_skip" in line for line in f.rewritten)


@pytest.mark.parametrize("name", POSITIVE)
def test_the_rotated_loop_computes_the_same(name: str) -> None:
    c = sample(name)
    (group,) = load_groups(c)
    after = Rewritten.of(c, rotate(c, group)).context
    assert after is not None
    file = find(c.kernel, c.co, c.co.path)
    shape = ",".join("64" if a != "K" else "192" for a in file.axes)
    todo = equality.trials(file, [shape], count=1, seeds=1)
    assert len(todo) == 2
    assert len(equality.prove(c, after, {}, file, todo)) == 2


def test_the_estimate_is_near_what_the_rotation_saves() -> None:
    c = sample("transforms/swp/load_use")
    analysis = captured(c)
    with_cycles = Context.of(c.data, analysis=analysis, path=c.co.path)
    f = the_only(TRANSFORM.detect(with_cycles))
    (group,) = load_groups(c)
    after = Rewritten.of(c, rotate(c, group)).context
    assert after is not None
    saved = analysis.total_cycles - captured(c, after.data).total_cycles
    e = f.estimate
    assert e.expected is not None
    assert e.upper is not None
    assert saved > 0
    assert 0.7 * saved <= e.expected <= min(1.3 * saved, e.upper)
    assert e.provenance == "modelled"
    assert "stall cycles" in " ".join(f.evidence)


def test_a_pipelined_loop_has_nothing_to_prefetch() -> None:
    c = sample("transforms/swp/pipelined")
    assert TRANSFORM.detect(c) == []
    assert TRANSFORM.detect(Context.of(c.data, analysis=captured(c), path=c.co.path)) == []
    assert TRANSFORM.detect(sample("transforms/waitcnt_relax/needed")) == []


LOOP = """
	s_mov_b32 s8, 4
loop:
	global_load_dword v10, v1, s[4:5]
	s_waitcnt vmcnt(0)
	v_add_f32 v11, v11, v10
	v_add_u32 v1, 4, v1
	v_mul_f32 v12, v12, v12
	v_mul_f32 v12, v12, v12
	s_sub_u32 s8, s8, 1
	s_cmp_lg_u32 s8, 0
	s_cbranch_scc1 loop
	global_store_dword v2, v11, s[6:7]
	s_endpgm
"""


def unmet(body: str, arch: str = "gfx942") -> list[str]:
    c = context(body, arch)
    out = []
    for group in load_groups(c):
        r = Rewritten.of(c, rotate(c, group))
        out += [o.id for o in obligations(c, r.rotation, r.context, r.problem) if not o.met]
    return out


def test_the_plain_loop() -> None:
    f = the_only(TRANSFORM.detect(context(LOOP)))
    assert unmet(LOOP) == []
    text = [line.strip() for line in f.rewritten]
    assert text[:2] == ["global_load_dword v10, v1, s[4:5]", "loop:"]
    assert text.index("global_load_dword v10, v1, s[4:5]", 2) > text.index("v_add_u32_e32 v1, 4, v1")


def test_an_address_that_was_loaded() -> None:
    """A list of pointers cannot be followed ahead of time."""
    body = LOOP.replace("	v_add_u32 v1, 4, v1\n", "	v_mov_b32 v1, v10\n")
    assert load_groups(context(body)) != []
    moved = body.replace("loop:\n", "loop:\n	ds_read_b32 v1, v3\n	s_waitcnt lgkmcnt(0)\n")
    assert TRANSFORM.detect(context(moved)) == []


def test_a_store_in_the_loop_may_alias() -> None:
    body = LOOP.replace("	s_cmp", "	global_store_dword v2, v11, s[6:7]\n	s_cmp")
    assert unmet(body) == ["P5"]
    # in front of the loads' new place it is not overtaken
    body = LOOP.replace("	v_add_u32 v1", "	global_store_dword v2, v11, s[6:7]\n	v_add_u32 v1")
    assert unmet(body) == []
    # but a barrier may order it with other waves' stores
    assert unmet(body.replace("	s_cmp", "	s_barrier\n	s_cmp")) == ["P5"]


def test_the_last_iteration_without_a_guard() -> None:
    """The loop's condition is a vector compare: it is not known early, nothing bounds a global address."""
    body = LOOP.replace(
        "	s_cmp_lg_u32 s8, 0\n	s_cbranch_scc1 loop",
        "	v_cmp_gt_f32 vcc, v12, v11\n	s_cbranch_vccnz loop",
    )
    assert unmet(body) == ["tail"]
    bounded = "	s_mov_b32 s14, 0x100\n" + body.replace(
        "global_load_dword v10, v1, s[4:5]", "buffer_load_dword v10, v1, s[12:15], 0 offen"
    )
    assert unmet(bounded) == []
    assert unmet(bounded.replace("0x100", "-1")) == ["tail"]
    assert unmet(bounded.replace("s_mov_b32 s14, 0x100", "s_mul_i32 s14, s2, s3")) == ["tail"]


def test_registers_read_after_a_loop_without_a_guard() -> None:
    body = LOOP.replace(
        "	s_cmp_lg_u32 s8, 0\n	s_cbranch_scc1 loop",
        "	v_cmp_gt_f32 vcc, v12, v11\n	s_cbranch_vccnz loop",
    )
    assert unmet(body.replace("v2, v11, s[6:7]", "v2, v10, s[6:7]")) == ["P1", "tail"]


def test_exec_that_changes_in_the_loop() -> None:
    body = LOOP.replace("	s_sub_u32", "	s_mov_b64 exec, s[10:11]\n	s_sub_u32")
    assert TRANSFORM.detect(context(body)) == []


def test_an_sgpr_from_the_valu_just_before() -> None:
    """gfx9 wants wait states between v_readfirstlane and the load that reads it; gfx11 does not."""
    body = LOOP.replace("	v_add_u32 v1, 4, v1\n", "	v_readfirstlane_b32 s5, v14\n")
    assert "P3" in unmet(body)
    rdna = body.replace("global_load_dword ", "global_load_b32 ").replace(
        "global_store_dword", "global_store_b32"
    )
    assert "P3" not in unmet(rdna, "gfx1151")


def test_a_wait_that_hardly_stalls_is_not_reported() -> None:
    """With more waves than one the stall may be hidden; below 15 % of the loop it is no finding."""
    c = sample("transforms/swp/load_use")
    analysis = captured(c)
    seg = analysis.segments
    wait = the_only(TRANSFORM.detect(Context.of(c.data, analysis=analysis)))
    line = int(analysis.lines.loc[analysis.lines["pc"] == wait.pc, "line"].iloc[0])
    seg.loc[(seg["line"] == line) & (seg["part"] == "stall"), "cycles"] = 4
    lines = analysis.lines
    lines.loc[lines["line"] == line, ["stall", "wait"]] = 64
    assert TRANSFORM.detect(Context.of(c.data, analysis=analysis)) == []


LATE_USE = (
    LOOP.replace("	s_sub_u32 s8, s8, 1\n", "")
    .replace("loop:\n", "loop:\n	s_sub_u32 s8, s8, 1\n")
    .replace("	s_cmp_lg", "	v_mul_f32 v12, v12, v12\n	v_add_f32 v12, v12, v10\n	s_cmp_lg")
)


def test_new_registers_where_the_old_ones_are_used_late() -> None:
    """The last use is at the loop's end: only other registers let the loads go up."""
    f = the_only(TRANSFORM.detect(context(LATE_USE)))
    assert [o.id for o in f.obligations if not o.met] == []
    text = [line.strip() for line in f.rewritten]
    assert text[0] == "global_load_dword v0, v1, s[4:5]", "v0 is the first register that nothing names"
    first_use = text.index("v_add_f32_e32 v11, v11, v10")
    assert text[first_use - 1] == "v_mov_b32_e32 v10, v0"
    assert (
        first_use
        < text.index("global_load_dword v0, v1, s[4:5]", 1)
        < text.index("v_add_f32_e32 v12, v12, v10")
    )
    steps = " ".join(s for o in f.obligations for s in o.steps)
    assert "loaded into v0 instead" in steps
    assert "1 new registers of those granted" in steps


def test_no_registers_are_free() -> None:
    names = "".join(f"	v_mov_b32 v{n}, 0\n" for n in range(64))
    c = context(names + LATE_USE)
    (group,) = load_groups(c)
    with pytest.raises(NotRotatable, match="free"):
        rotate(c, group, rename=True)
    assert not rotate(c, group).renamed


def test_shapes_and_seeds_to_compare_on() -> None:
    """Random shapes obey the launch file; where it allows one only, more seeds are tried."""
    c = sample("transforms/swp/load_use")
    file = find(c.kernel, c.co, c.co.path)
    todo = equality.trials(file)
    assert todo[0].shape == "M=32,N=32,K=1024"
    assert len({t.shape for t in todo}) == 1 + equality.SHAPES
    assert len(set(todo)) == len(todo) == equality.SEEDS * (1 + equality.SHAPES)
    for t in todo:
        assert file.resolve(t.shape).shape["K"] % 64 == 0
    only = replace(
        file, constraints=(*file.constraints, Constraint(parse("M == 32 and N == 32 and K == 1024"), ""))
    )
    assert {t.shape for t in equality.trials(only)} == {"M=32,N=32,K=1024"}
    assert len(set(equality.trials(only))) == len(todo)
