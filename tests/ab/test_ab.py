"""Two arms: outputs, poison, cycles, the sum of the lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isaprof.ab import run
from isaprof.ab.model import Change, Result
from isaprof.ab.poison import examine, repoisoned
from isaprof.ab.source import Source, load_a, load_b, refuse_same_text
from isaprof.errors import BadInput, KernelFault, UsageError
from isaprof.launch.file import LaunchFile
from tests.ab import kernels as k

SHAPE = "N=256"


def arms(tmp: Path, a: str = k.BODY, b: str = k.SLOW, **options: str) -> tuple[Source, Source]:
    (tmp / "a.launch.toml").write_text(k.launch(**options))
    one = load_a(tmp / "a.co", k.build(a))
    return one, load_b(one, tmp / "b.co", k.build(b))


def compare(tmp: Path, a: str = k.BODY, b: str = k.SLOW, *, seeds: int = 2, **options: str) -> Result:
    one, two = arms(tmp, a, b, **options)
    numbers = run.seed_list(one, seeds)
    runs = [run.execute(s, SHAPE, numbers) for s in (one, two)]
    paths = run.capture_paths((one, two), tmp)
    saved = [run.save(r, p) for r, p in zip(runs, paths, strict=True)]
    return run.put_together(*map(run.side, runs, saved))


def test_a_slower_kernel_with_the_same_output(tmp_path: Path) -> None:
    r = compare(tmp_path)
    assert r.correct
    assert (r.a.verified, r.b.verified) == (True, True)
    assert [(d.seed, d.equal, d.compared, d.total, d.bitwise) for d in r.outputs] == [
        (1, 256, 256, 256, True), (2, 256, 256, 256, True)
    ]  # fmt: skip
    assert r.outputs[0].max_abs == 0
    assert r.outputs[0].cosine == pytest.approx(1)
    assert r.span.difference >= 3 * 16
    assert r.comparison.counts["inserted"] == 3
    assert r.a.samples[0].provenance == "modelled"


def test_the_deltas_of_all_rows_sum_to_the_change_of_wave_cycles(tmp_path: Path) -> None:
    r = compare(tmp_path)
    total = int(r.comparison.rows["delta"].sum())
    assert total == r.wave_cycles.difference == r.b.samples[0].wave_cycles - r.a.samples[0].wave_cycles
    assert r.lines_delta + r.residual_delta == total
    assert r.per_wave.b == r.b.samples[0].wave_cycles / r.b.samples[0].waves


def test_different_seeds_give_different_data_but_the_same_in_both_arms(tmp_path: Path) -> None:
    one, two = arms(tmp_path)
    runs = [run.execute(s, SHAPE, (5, 6)) for s in (one, two)]
    for x, y in zip(runs[0].seeds, runs[1].seeds, strict=True):
        assert x.outputs == y.outputs
    assert runs[0].seeds[0].outputs != runs[0].seeds[1].outputs


def test_a_wrong_b_is_found_against_the_reference_and_against_a(tmp_path: Path) -> None:
    r = compare(tmp_path, b=k.WRONG)
    assert not r.correct
    assert r.a.verified is True
    assert r.b.verified is False
    assert r.problem.startswith("B is wrong")
    d = r.outputs[0]
    assert d.beyond == 256
    assert d.equal == 0
    assert not d.within
    assert "A " in d.worst


def test_a_missing_wait_is_found_though_the_outputs_are_equal(tmp_path: Path) -> None:
    r = compare(tmp_path, b=k.EARLY)
    assert r.agree
    assert r.b.verified is True
    assert not r.correct
    assert "lacks a wait" in r.problem
    assert "v_add_f32_e32 v4, v2, v3 reads a result of" in r.in_flight[0]
    assert compare(tmp_path, a=k.EARLY, b=k.BODY).correct


def test_without_a_reference_b_is_still_compared_with_a(tmp_path: Path) -> None:
    r = compare(tmp_path, b=k.WRONG, reference="")
    assert r.a.verified is None
    assert not r.correct
    assert "beyond the tolerance" in r.problem
    assert any("not verified" in n for n in r.notes)


@pytest.mark.parametrize("reference", ["", "add"])
def test_elements_never_written_are_found_with_and_without_a_reference(
    tmp_path: Path, reference: str
) -> None:
    r = compare(tmp_path, b=k.PARTIAL, reference=reference)
    assert r.b.verified is False
    assert [c.unwritten for c in r.b.checks] == [4, 4]
    assert [c.unwritten for c in r.a.checks] == [0, 0]
    assert "4 elements never written" in r.problem


def test_an_output_that_depends_on_what_memory_held_is_found(tmp_path: Path) -> None:
    r = compare(tmp_path, b=k.STALE, reference="", rtol="1e-3")
    assert r.b.verified is False
    assert r.b.checks[0].unstable > 0
    assert "depend on what memory held" in r.problem


def test_the_second_poison_differs_in_every_byte_and_is_finite() -> None:
    file = LaunchFile.parse(k.launch(), "test")
    launch = file.resolve(SHAPE)
    other = repoisoned(launch)
    c, d = launch.operand("C"), other.operand("C")
    assert (c.data != d.data).all()
    assert np.isnan(c.values()).all()
    assert np.isfinite(d.values()).all()
    assert (launch.operand("A").data == other.operand("A").data).all(), "inputs stay"
    outputs = [{"C": x.data.tobytes()} for x in (c, d)]
    assert examine(launch, outputs[0], outputs[1]) == (256, 0)
    assert examine(launch, outputs[0], outputs[0]) == (0, 0), "the same both times: written"


def test_padding_is_poisoned_twice() -> None:
    text = k.launch().replace('shape = ["N"]\nfill', 'shape = ["N"]\nextra = 8\nfill')
    launch = LaunchFile.parse(text, "test").resolve(SHAPE)
    a, b = launch.operand("A"), repoisoned(launch).operand("A")
    assert (a.data[: 4 * 256] == b.data[: 4 * 256]).all()
    assert (a.data[4 * 256 :] != b.data[4 * 256 :]).all()


def test_only_the_workgroups_that_ran_are_compared(tmp_path: Path) -> None:
    one, two = arms(tmp_path)
    runs = [run.execute(s, SHAPE, (1,), workgroups="2") for s in (one, two)]
    saved = [run.save(r, p) for r, p in zip(runs, run.capture_paths((one, two), tmp_path), strict=True)]
    r = run.put_together(*map(run.side, runs, saved))
    assert r.correct
    assert r.workgroups == (2, 4)
    assert (r.outputs[0].compared, r.outputs[0].total) == (128, 256)


def test_kernels_that_write_nothing_do_not_agree(tmp_path: Path) -> None:
    empty = k.BODY.replace(k.STORE, "")
    one, two = arms(tmp_path, empty, empty.replace("v_add_f32", "v_sub_f32"), reference="")
    runs = [run.execute(s, SHAPE, (1,), workgroups="2") for s in (one, two)]
    saved = [run.save(r, p) for r, p in zip(runs, run.capture_paths((one, two), tmp_path), strict=True)]
    r = run.put_together(*map(run.side, runs, saved))
    assert not r.correct
    assert "nothing could be compared" in r.problem


def test_a_fault_names_the_object(tmp_path: Path) -> None:
    one, two = arms(tmp_path, b=k.WILD)
    run.execute(one, SHAPE, (1,))
    with pytest.raises(KernelFault, match=r"b\.co.*global_store_dword"):
        run.execute(two, SHAPE, (1,))


def test_the_same_instructions_are_refused_with_their_hash(tmp_path: Path) -> None:
    one, two = arms(tmp_path, b=k.BODY)
    with pytest.raises(UsageError, match=one.text_sha256):
        refuse_same_text(one, two)
    one, two = arms(tmp_path)
    refuse_same_text(one, two)


def test_arms_that_do_not_belong_together(tmp_path: Path) -> None:
    one, _ = arms(tmp_path)
    with pytest.raises(BadInput, match=r"gfx950.*gfx942"):
        load_b(one, "b.co", k.build(arch="gfx950"))
    with pytest.raises(BadInput, match="kernarg layout") as e:
        load_b(one, "b.co", k.build(args=4))
    assert "--launch-b" in str(e.value.hint)
    with pytest.raises(BadInput, match="nope"):
        load_b(one, "b.co", k.build(), kernel="nope")


def test_a_renamed_kernel_and_a_pinned_launch_file_still_launch_b(tmp_path: Path) -> None:
    from isaprof.launch.match import code_sha256

    one, _ = arms(tmp_path)
    pin = f'kernarg_size = 24\ncode_sha256 = ["{code_sha256(one.kernel, one.co)}"]'
    (tmp_path / "a.launch.toml").write_text(k.launch().replace("kernarg_size = 24", pin))
    one = load_a(tmp_path / "a.co", k.build())
    two = load_b(one, "b.co", k.build(k.SLOW, name="other"))
    assert run.execute(two, SHAPE, (1,)).seeds[0].check.ok


def test_another_launch_file_for_another_argument_order(tmp_path: Path) -> None:
    one, _ = arms(tmp_path)
    swapped = k.BODY.replace("s[4:5]", "s[X]").replace("s[8:9]\n s_endpgm", "s[4:5]\n s_endpgm")
    swapped = swapped.replace("s[X]", "s[8:9]")
    (tmp_path / "b.toml").write_text(k.launch(order="CBA"))
    two = load_b(one, "b.co", k.build(swapped), launch=tmp_path / "b.toml")
    run.check_launches(one, two, SHAPE)
    runs = [run.execute(s, SHAPE, (1,)) for s in (one, two)]
    assert runs[0].seeds[0].outputs == runs[1].seeds[0].outputs
    (tmp_path / "b.toml").write_text(k.launch().replace('name = "C"', 'name = "D"').replace('"C"', '"D"'))
    other = load_b(one, "b.co", k.build(k.SLOW), launch=tmp_path / "b.toml")
    with pytest.raises(BadInput, match="different outputs"):
        run.check_launches(one, other, SHAPE)


def test_captures_with_missing_data_are_refused(tmp_path: Path) -> None:
    one, two = arms(tmp_path)
    runs = [run.execute(s, SHAPE, (1,)) for s in (one, two)]
    saved = [run.save(r, p) for r, p in zip(runs, run.capture_paths((one, two), tmp_path), strict=True)]
    sides = list(map(run.side, runs, saved))
    sides[1].analysis.meta["warnings"] = [{"kind": "data_lost", "message": "12 packets lost"}]
    with pytest.raises(BadInput, match="12 packets lost"):
        run.put_together(*sides)
    assert run.put_together(*sides, allow_lossy=True).correct


def test_change() -> None:
    c = Change(200, 150)
    assert (c.difference, c.ratio, c.percent) == (-50, 0.75, -25)
    assert Change(0, 5).ratio is None
