"""``isaprof run`` and ``launch-template`` from the command line to the capture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import isaprof
from isaprof.accuracy.tables import to_toml
from isaprof.arch.table import Fact
from isaprof.cli import main
from isaprof.isa.llvm import assemble, link

SHAPE = ["--shape", "32,32,32"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*args: str | Path) -> int:
    """Exit code of ``isaprof run ARGS``."""
    return verb("run", *args)


def verb(*args: str | Path) -> int:
    with pytest.raises(SystemExit) as e:
        main([str(a) for a in args])
    return int(e.value.code or 0)


def captures(directory: Path = Path(".")) -> list[Path]:
    return sorted(p for p in directory.iterdir() if "isaprof" in p.name)


@pytest.fixture(params=["gfx1100", "gfx950"])
def gemm(request: pytest.FixtureRequest, data_dir: Path) -> Path:
    return data_dir / "sqtt" / request.param / "gemm_run0" / "kernel.co"


def test_json_of_a_verified_run(gemm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(gemm, *SHAPE, "--json") == 0
    captured = capsys.readouterr()
    body = json.loads(captured.out)
    assert captured.err == "", "nothing but the result off a terminal"
    arch = gemm.parent.parent.name
    expected = {
        "schema_version": 1,
        "provenance": "modelled",
        "arch": arch,
        "kernel": "r_32_32_16_2",
        "shape": {"M": 32, "N": 32, "K": 32},
        "verified": True,
    }
    assert {k: body[k] for k in expected} == expected
    assert body["capture"] == f"r_32_32_16_2-{arch}-1.isaprof"
    assert 0 < body["max_abs_err"] < 1e-4
    assert body["max_rel_err"] < 1e-3
    assert body["cosine"] > 0.999999
    assert body["cycles"] > 0
    assert sum(body["shares"].values()) == pytest.approx(1.0)
    assert body["verification"]["checked"] == body["verification"]["total"] == 1024


def test_capture_holds_the_run(gemm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(gemm, *SHAPE, "-o", "x.isaprof") == 0
    out = capsys.readouterr().out
    assert out.strip().splitlines()[-1] == "x.isaprof"
    assert "modelled" in out
    capture = isaprof.open("x.isaprof")
    meta = capture.meta
    assert meta["backend"] == "simulator"
    assert meta["verification"]["verified"] is True
    assert meta["launch"]["grid"] == [32, 32, 1]
    assert meta["model"]["name"]
    coverage = meta["coverage"]
    assert coverage["waves_total"] == 1024
    assert coverage["waves_modelled"] == len(capture.waves) > 1
    assert f"waves {len(capture.waves)} of 1024" in coverage["text"]
    assert coverage["text"] in out
    assert capture.code_objects[0].data == gemm.read_bytes()
    lines = capture.code["text"].tolist()
    executed = capture.insts["line"].dropna().astype(int)
    assert executed.max() < len(lines)
    assert "s_endpgm" in lines[int(capture.insts.groupby("wave").tail(1)["line"].iloc[0])]
    assert not any(t.startswith("s_code_end") for t in lines)


def test_nothing_is_overwritten(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plus = data_dir / "sqtt/gfx1100/plus_run0/kernel.co"
    assert run(plus, "-o", "x.isaprof") == 0
    assert run(plus, "-o", "x.isaprof") == 2
    assert "--force" in capsys.readouterr().err
    assert run(plus, "-o", "x.isaprof", "--force") == 0
    Path("mine.txt").write_text("mine")
    assert run(plus, "-o", "mine.txt", "--force") == 2
    assert Path("mine.txt").read_text() == "mine"
    assert run(plus) == 0
    assert run(plus) == 0
    assert [p.name for p in captures()] == ["E_3-gfx1100-1.isaprof", "E_3-gfx1100-2.isaprof", "x.isaprof"]


def test_wrong_output_still_gives_table_and_capture_and_exits_5(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from isaprof.launch.match import builtins

    plus = data_dir / "sqtt/gfx1100/plus_run0/kernel.co"
    assert any(f.origin == "builtin:tinygrad_plus_3" for f in builtins())
    from importlib import resources

    text = (resources.files("isaprof.launch") / "builtin/tinygrad_plus_3.launch.toml").read_text()
    Path("sub.toml").write_text(text.replace('op = "add"', 'op = "sub"'))
    assert run(plus, "--launch", "sub.toml", "-o", "x.isaprof") == 5
    captured = capsys.readouterr()
    assert "global_load_b32" in captured.out
    assert "NOT VERIFIED" in captured.out
    assert captured.out.strip().splitlines()[-1] == "x.isaprof"
    assert "verification failed" in captured.err
    capture = isaprof.open("x.isaprof")
    assert capture.meta["verification"]["verified"] is False
    assert "not_verified" in [w.kind for w in capture.warnings]
    assert run(plus, "--launch", "sub.toml", "--no-verify", "--json") == 0
    assert json.loads(capsys.readouterr().out)["verified"] is None


@pytest.mark.parametrize(("selection", "n"), [("4", 4), ("31,31,0", 1)])
def test_sampled_workgroups_check_only_their_outputs(
    data_dir: Path, capsys: pytest.CaptureFixture[str], selection: str, n: int
) -> None:
    gemm = data_dir / "sqtt/gfx950/gemm_run0/kernel.co"
    assert run(gemm, *SHAPE, "--workgroups", selection, "--json") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["verified"] is True
    assert (body["verification"]["checked"], body["verification"]["total"]) == (n, 1024)
    assert "sampled" in [w["kind"] for w in body["warnings"]]


def test_seed_changes_the_data(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gemm = data_dir / "sqtt/gfx950/gemm_run0/kernel.co"
    errors = []
    for seed in ("1", "1", "2"):
        assert run(gemm, *SHAPE, "--workgroups", "16", "--seed", seed, "--json") == 0
        errors.append(json.loads(capsys.readouterr().out)["max_rel_err"])
    assert errors[0] == errors[1] != errors[2]


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["--shape", "32,32"], 2, "3 axes"),
        (["--shape", "32,32,0"], 2, "axis K"),
        (["--shape", "64,32,32"], 2, "fixed in the code"),
        (["--shape", "M=32,N=32,Q=32"], 2, "'Q'"),
        ([*SHAPE, "--workgroups", "99,0,0"], 2, "32 x 32"),
        ([*SHAPE, "--kernel", "nope"], 3, "nope"),
        ([*SHAPE, "--launch", "absent.toml"], 3, "absent.toml"),
        ([*SHAPE, "--plugin", "absent.py"], 3, "absent.py"),
        ([*SHAPE, "--max-instructions", "0"], 2, "max-instructions"),
        ([*SHAPE, "--backend", "nope"], 2, "nope"),
    ],
)
def test_bad_arguments_write_nothing(
    data_dir: Path, capsys: pytest.CaptureFixture[str], args: list[str], code: int, says: str
) -> None:
    assert run(data_dir / "sqtt/gfx950/gemm_run0/kernel.co", *args) == code
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""
    assert captures() == []


def test_bad_files_have_one_clear_message(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = (data_dir / "sqtt/gfx950/gemm_run0/kernel.co").read_bytes()
    for name, data in {"empty": b"", "text": b"hello", "cut": good[: len(good) // 2]}.items():
        Path(name).write_bytes(data)
        assert run(name, *SHAPE) == 3
        assert name in capsys.readouterr().err
    assert run("absent.co", *SHAPE, "--json") == 3
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"]["kind"]
    assert captures() == []


def test_several_kernels_need_a_choice(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(data_dir / "co/gfx1200/hip-quant/lfm.co", "--shape", "1") == 2
    assert "--kernel" in capsys.readouterr().err


def test_a_calibration_times_the_run(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table that `isaprof calibrate` writes; the kernel's first scalar load pays it."""
    kernel = data_dir / "sqtt/gfx1100/gemm_run0/kernel.co"
    table = Path("slow.toml")
    table.write_text(to_toml("gfx1100", "slow", {"smem_cold": Fact(9000, "cycles", "a test", "D")}))
    seen = {}
    for more in ((), ("--calibration", table)):
        assert run(kernel, *SHAPE, "--workgroups", "1", "--json", *more) == 0
        body = json.loads(capsys.readouterr().out)
        seen[isaprof.open(body["capture"]).meta["model"]["calibration"]] = body["cycles"]
    (built_in, plain), (given, slow) = seen.items()
    assert built_in.startswith("gfx1100-builtin")
    assert given == "slow"
    assert slow > plain + 5000
    table.write_text(to_toml("gfx950", "other", {"smem_cold": Fact(1, "cycles", "a test", "D")}))
    assert run(kernel, *SHAPE, "--calibration", table) == 2
    assert "the calibration is for gfx950, the kernel for gfx1100" in capsys.readouterr().err


def test_dry_run_runs_nothing(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gemm = data_dir / "sqtt/gfx950/gemm_run0/kernel.co"
    assert run(gemm, *SHAPE, "--dry-run", "--json") == 0
    assert json.loads(capsys.readouterr().out)["launch"]["grid"] == [32, 32, 1]
    assert run(gemm, *SHAPE, "--dry-run", "--backend", "rocprofv3", "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert "--att" in plan["command"]
    assert plan["spec"]["grid"] == [32, 32, 1]
    assert run(gemm, *SHAPE, "--dry-run", "--backend", "rocprofv3") == 0
    assert "rocprofv3 --att" in capsys.readouterr().out.splitlines()[-1]
    assert captures() == []


def test_interrupt_leaves_nothing(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from isaprof.sim import functional

    def stop(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(functional, "run", stop)
    assert run(data_dir / "sqtt/gfx950/gemm_run0/kernel.co", *SHAPE) == 130
    assert "interrupted" in capsys.readouterr().err
    assert captures() == []


FAULTS = {
    "wild": ("s_load_dwordx2 s[2:3], s[0:1], 0x0\n s_waitcnt lgkmcnt(0)\n v_mov_b32 v1, 0x7000000\n"
             " v_mov_b32 v2, 1.0\n global_store_dword v1, v2, s[2:3]\n s_endpgm", "global_store_dword"),
    "endless": ("a: s_branch a", "instruction"),
    "unknown": (".long 0xffffffff\n s_endpgm", "0x"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_kernel_faults_exit_4_and_name_the_instruction(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    body, says = FAULTS[name]
    Path("k.co").write_bytes(tiny(body))
    Path("k.launch.toml").write_text(TINY_LAUNCH)
    assert run("k.co", "--max-instructions", "10000") == 4
    assert says in capsys.readouterr().err
    assert [p for p in captures() if p.is_dir()] == []


def tiny(body: str) -> bytes:
    """A gfx942 kernel ``k`` with one pointer argument and a one-wave workgroup."""
    source = f"""
    .text
    .globl k
    .p2align 8
    .type k,@function
k: {body}
.Lend: .size k, .Lend-k
    .rodata
    .p2align 6
    .amdhsa_kernel k
    .amdhsa_kernarg_size 8
    .amdhsa_user_sgpr_count 2
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 16
    .amdhsa_accum_offset 8
    .end_amdhsa_kernel
    .amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - {{.name: k, .symbol: k.kd, .kernarg_segment_size: 8, .kernarg_segment_align: 8, .wavefront_size: 64,
     .group_segment_fixed_size: 0, .private_segment_fixed_size: 0, .sgpr_count: 16, .vgpr_count: 8,
     .max_flat_workgroup_size: 64,
     .args: [{{.offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}]}}
...
    .end_amdgpu_metadata
"""
    return link([assemble(source, "gfx942")])


def test_an_output_never_written_is_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("k.co").write_bytes(tiny("s_endpgm"))
    Path("k.launch.toml").write_text(TINY_LAUNCH + '[reference]\nfunction = "successor"\n')
    assert run("k.co", "--json") == 5
    verdict = json.loads(capsys.readouterr().out)["verification"]
    assert (verdict["verified"], verdict["unwritten"]) == (False, 64)


def test_all_lists_every_instruction(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plus = data_dir / "sqtt/gfx950/plus_run0/kernel.co"
    assert run(plus, "--hottest", "0", "--all") == 0
    out = capsys.readouterr().out
    for text in isaprof.open(captures()[0]).code["text"]:
        assert text in out


TINY_LAUNCH = """
schema_version = 1
[kernel]
symbol = "k"
kernarg_size = 8
kernarg = [[0, 8, "global_buffer"]]
[shape]
axes = []
[launch]
grid = [1]
workgroup = [64]
[[operand]]
name = "C"
role = "output"
dtype = "f32"
shape = [64]
[[argument]]
offset = 0
name = "C"
pointer = "C"
"""


def test_launch_template_writes_and_never_overwrites(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = data_dir / "sqtt/gfx950/gemm_run0/kernel.co"
    assert verb("launch-template", path) == 0
    text = capsys.readouterr().out
    assert 'symbol = "r_32_32_16_2"' in text
    assert verb("launch-template", path, "-o", "t.toml") == 0
    assert Path("t.toml").read_text() == text
    Path("t.toml").write_text("mine")
    assert verb("launch-template", path, "-o", "t.toml") == 2
    assert Path("t.toml").read_text() == "mine"
    assert verb("launch-template", "absent.co") == 3


def test_template_is_what_the_missing_launch_file_message_says(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = data_dir / "co/gfx1100/rocprofiler/smallkernel.co"
    assert run(path, "--shape", "1") == 3
    hint = next(x for x in capsys.readouterr().err.splitlines() if "launch-template" in x)
    command = hint.split("isaprof ", 1)[1].split("   ")[0].split()
    assert verb(*command, "-o", "k.launch.toml") == 0
    assert "schema_version = 1" in Path("k.launch.toml").read_text()
