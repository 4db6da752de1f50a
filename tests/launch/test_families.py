"""Hand-written kernel families: every member is found, and the public objects verify at several shapes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from isaprof.cli import main
from isaprof.codeobj.elf import CodeObject
from isaprof.isa.decode import disassemble
from isaprof.launch import LaunchFile, ResolvedLaunch, Verification, find
from isaprof.launch.match import builtins
from isaprof.sim.functional import run

from .kernels import code_object, kernel

F4 = "co/gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_"
BF16 = "bf16gemm/bf16gemm_fp32bf16_tn_32x64_bshuffle_splitk.co"
I8 = "i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_80x128.co"
FP8 = "fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_"
FMHA = "co/gfx950/fmha_v3_fwd/fwd_hd"
WAVE = "att/wave_gemm_gfx950/host/3785403_gfx950_code_object_id_3.out"


def resolved(path: Path, shape: str | None) -> tuple[CodeObject, bytes, ResolvedLaunch]:
    data = path.read_bytes()
    co = CodeObject.from_bytes(data, path=path)
    return co, data, find(co.kernel(None), co, path).resolve(shape)


def verdict(path: Path, shape: str | None) -> Verification:
    co, data, launch = resolved(path, shape)
    return launch.verify(run(co, co.kernel(None), disassemble(data), launch).outputs)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        (f"{F4}BpreShuffle_32x128.co", "17,160,256"),
        (f"{F4}BpreShuffle_256x256.co", "1,256,256"),
        ("co/gfx950/topksoftmax/topksoftmax_4x128x6.co", "7,renormalize=1"),
        ("co/gfx942/topksoftmax/topksoftmax_4x128x4.co", "64"),
    ],
)
def test_a_kernel_of_a_family_verifies(data_dir: Path, name: str, shape: str) -> None:
    v = verdict(data_dir / name, shape)
    assert v.verified, v.message


BF16_SHAPES = [
    "128,256,512", "1,64,64", "50,128,256,split=2,bias=1", "33,64,1024,split=16", "33,128,256,out_bf16=1",
    "33,64,512,bias=1,out_bf16=1,split=2",
]  # fmt: skip
I8_SHAPES = ["128,256,512", "1,128,128,bias=0", "50,128,256,split=2", "300,128,256"]
FP8_SHAPES = ["128,256,512", "1,128,128,bias=0", "40,256,1024,split=4", "300,128,256"]
F4_SHAPES = [
    "256,256,256", "300,512,512", "256,256,2048", "17,256,256", "256,256,1024,log2_k_split=1",
    "300,256,4096,log2_k_split=4,alpha=3",
]  # fmt: skip
CAUSAL_SHAPES = ["1,2,256,256", "3,2,300,333,kv_heads=1", "2,2,200,256,lse=1", "2,1,64,512,shorter=0"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        (f"{F4}BpreShuffle_256x256.co", F4_SHAPES),
        (f"{F4}BpreShuffle_128x512.co", ["1,512,256", "300,512,512,alpha=2", "256,512,1024,log2_k_split=2"]),
        (f"{F4}BpreShuffle_32x128.co", ["300,256,512", "33,192,768"]),
        (f"{F4}BpreShuffle_96x640.co", ["1,640,256", "300,672,512", "100,2048,256"]),
        (f"{F4}noBpreShuffle_256x256.co", ["1,256,256", "300,512,512", "128,256,256,alpha=3"]),
        (f"co/gfx942/{BF16}", BF16_SHAPES),
        (f"co/gfx950/{BF16}", BF16_SHAPES),
        (f"co/gfx942/{I8}", I8_SHAPES),
        (f"co/gfx950/{I8}", I8_SHAPES),
        (f"co/gfx942/{FP8}32x128.co", FP8_SHAPES),
        (f"co/gfx950/{FP8}128x128.co", FP8_SHAPES),
        ("co/gfx950/topksoftmax/topksoftmax_4x128x4.co", ["101", "1,renormalize=1"]),
        (f"{FMHA}128_bf16.co", ["1,2,256,256", "2,2,300,200,kv_heads=1", "1,1,100,100,lse=1", "1,1,1,1"]),
        (f"{FMHA}192_hd128_bf16_causal_group.co", CAUSAL_SHAPES),
        (WAVE, ["256,256,232"]),
    ],
)
def test_public_objects_verify(data_dir: Path, name: str, shapes: list[str]) -> None:
    for shape in shapes:
        v = verdict(data_dir / name, shape)
        assert v.verified, f"{shape}: {v.message}"
        assert v.checked == v.total > 0
        if "f4gemm" in name and "split" not in shape:
            assert (v.max_rel_err or 1) < 0.0040, "one rounding to bf16 is 2^-8"


def test_a_wrong_element_or_none_fails(data_dir: Path) -> None:
    path = data_dir / f"{F4}BpreShuffle_32x128.co"
    co, data, launch = resolved(path, "5,128,256")
    outputs = run(co, co.kernel(None), disassemble(data), launch).outputs
    assert launch.verify(outputs).verified
    wrong = np.frombuffer(outputs["D"], np.uint8).copy()
    wrong[2 * 300 + 1] ^= 0x40
    assert launch.verify({"D": wrong.tobytes()}).verified is False
    untouched = launch.operand("D").data.tobytes()
    assert launch.verify({"D": untouched}).unwritten == 5 * 128


def test_with_a_split_only_finished_tiles_are_judged(data_dir: Path) -> None:
    path = data_dir / f"{F4}BpreShuffle_256x256.co"
    co, data, launch = resolved(path, "16,512,512,log2_k_split=1")
    assert launch.grid == (2, 1, 2)
    wanted = [(0, 0, 0), (1, 0, 0), (0, 0, 1)]
    outputs = run(co, co.kernel(None), disassemble(data), launch, workgroups=wanted).outputs
    v = launch.verify(outputs, wanted)
    assert v.verified, v.message
    assert v.checked == 16 * 256, "the tile whose second half did not run is left out"
    assert "bf16" in v.tolerance


FAMILIES = ["f4gemm", "bf16gemm", "i8gemm", "topksoftmax", "fp8gemm_blockscale", "fmha_v3_fwd"]
COLUMNS = {
    "tile_M": "TM", "tile_N": "TN", "tile_m": "TM", "tile_n": "TN", "tileM": "TM", "tileN": "TN",
    "subm": "ROWS", "num_experts": "EXPERTS", "topk": "TOPK",
    "hdim_q": "DQ", "hdim_v": "dv", "ts_qo": "rows", "mode": "GROUP",
}  # fmt: skip


#: what gfx942 has no shipped kernels of
_GFX950_ONLY = ("f4gemm", "fmha_v3_fwd")


@pytest.mark.parametrize(
    ("arch", "family"),
    [*(("gfx950", f) for f in FAMILIES), *(("gfx942", f) for f in FAMILIES if f not in _GFX950_ONLY)],
)
def test_every_row_of_the_manifests_is_described(data_dir: Path, arch: str, family: str) -> None:
    """Objects nobody has here are found too, with the numbers that their manifest states."""
    manifests = sorted((data_dir / "co" / arch / family).glob("*.csv"))
    assert manifests
    for row in csv.DictReader(manifests[0].read_text().splitlines()):
        file = described(row["knl_name"], f"aiter_{family}", arch)
        env = dict(file.bound)
        for name, e in (*file.options, *file.let):
            env[name] = e({**dict.fromkeys(file.axes, 1536), **env})
        for column, name in COLUMNS.items():
            if column in row:
                assert env[name] == int(row[column]), (row["knl_name"], column)
        shuffled = row.get("bpreshuffle", row.get("bPreshuffle"))
        if shuffled is not None and family in ("f4gemm", "bf16gemm"):
            mine = env["shuffled"] if family == "bf16gemm" else not env["NOSHUFFLE"]
            assert mine == int(shuffled), row["knl_name"]
        if "mask" in row:
            assert env["CAUSAL"] == (row["mask"] != "0")


def described(symbol: str, family: str, arch: str) -> LaunchFile:
    """The built-in file of ``family``, bound to a kernel of this name."""
    file = next(f for f in builtins() if f.origin == f"builtin:{family}")
    k = kernel(symbol, max(file.match.kernarg_size, 512), [])
    bound = find(k, code_object(arch))
    assert bound.origin == file.origin
    return bound


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["256,512,512", "64,512,1024,log2_k_split=1"])
def test_two_tiles_of_a_family_compare(
    data_dir: Path, tmp_path: Path, shape: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A's launch file serves B with B's own tile."""
    objects = [str(data_dir / f"{F4}BpreShuffle_{tile}.co") for tile in ("256x256", "128x512")]
    with pytest.raises(SystemExit) as e:
        main(["ab", *objects, "--shape", shape, "--seeds", "2", "--json", "-o", str(tmp_path)])
    body = json.loads(capsys.readouterr().out)
    assert e.value.code == 0
    assert [body[arm]["verified"] for arm in ("a", "b")] == [True, True]
