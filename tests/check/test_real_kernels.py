"""Public kernels that verify: all that is found in them is true; docs/check.md has the proofs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from isaprof.backends.sampling import select
from isaprof.check.model import Report
from isaprof.check.run import check
from isaprof.codeobj.elf import CodeObject
from isaprof.isa.decode import disassemble
from isaprof.launch.match import find
from tests.sim.kernels import Buffer, Launch


def checked(path: Path, shape: str | None = None, workgroups: str = "all", orders: int = 1) -> Report:
    """Check a public object by its launch file."""
    data = path.read_bytes()
    co = CodeObject.from_bytes(data)
    kernel = co.kernel(None)
    launch = find(kernel, co, str(path)).resolve(shape)
    chosen = select(workgroups, launch.grid).run
    return check(co, kernel, disassemble(data), launch, workgroups=chosen, orders=orders)


def kinds(report: Report) -> Counter[tuple[str, str]]:
    return Counter((f.severity.value, f.rule) for f in report.findings)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx950", "gfx1200"])
def test_gemm_of_three_targets(data_dir: Path, arch: str) -> None:
    rng = np.random.default_rng(7)
    a, b = (rng.standard_normal((32, 32)).astype(np.float32) for _ in "ab")
    operands = [
        Buffer("C", "output", np.zeros(4096, np.uint8)),
        Buffer("A", "input", a.reshape(-1).view(np.uint8)),
        Buffer("B", "input", b.reshape(-1).view(np.uint8)),
    ]
    data = (data_dir / "sqtt" / arch / "gemm_run0" / "kernel.co").read_bytes()
    co = CodeObject.from_bytes(data)
    launch = Launch(operands, grid=(32, 32, 1), workgroup=(16, 1, 1))
    some = [(x, x, 0) for x in range(0, 32, 4)]
    r = check(co, co.kernel(None), disassemble(data), launch, workgroups=some, orders=1)
    assert r.findings == ()
    assert r.workgroups == 8
    assert r.instructions > 400


def test_gemm_prefetch_reads_what_the_other_half_has_not_waited_for(data_dir: Path) -> None:
    folder = data_dir / "att" / "wave_gemm_gfx950" / "host"
    r = checked(folder / "3785403_gfx950_code_object_id_3.out", workgroups="1")
    assert r.verified
    assert kinds(r) == {
        ("error", "lds-race"): 1,
        ("warning", "lds-race"): 1,
        ("warning", "descriptor-hides-overrun"): 3,
    }
    race = r.findings[0]
    assert race.missing == "s_waitcnt vmcnt(4)"  # of the six loads the first two are read
    assert "before the barrier at 0x18b0" in race.message
    assert {tuple(p) for p in race.values["pairs"]} == {("0x17d8", "0x1914"), ("0x1800", "0x191c")}


def test_topksoftmax_has_the_hazards_that_lint_proves(data_dir: Path) -> None:
    r = checked(data_dir / "co" / "gfx950" / "topksoftmax" / "topksoftmax_4x128x4.co", workgroups="1")
    assert kinds(r) == {("error", "hazard"): 9}
    assert {f.values["hazard"] for f in r.findings} == {"valu-sgpr-valu"}
    assert len(r.notes) == 1  # its VGPRs are indexed


_F4 = "co/gfx950/f4gemm/f4gemm_bf16_per1x32Fp4_"
_WARNINGS = {("warning", "descriptor-hides-overrun"), ("warning", "uninitialised-memory")}


def test_f4gemm(data_dir: Path) -> None:
    r = checked(data_dir / f"{_F4}BpreShuffle_32x128.co", "1,128,256")
    assert r.verified
    assert set(kinds(r)) == _WARNINGS
    assert all("no output depends on it" in f.message for f in r.findings if f.rule == "uninitialised-memory")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "shape"),
    [
        (f"{_F4}BpreShuffle_256x256.co", "256,256,512"),
        (f"{_F4}BpreShuffle_256x256.co", "300,512,512"),
        (f"{_F4}BpreShuffle_256x256.co", "256,256,2048,log2_k_split=1"),
        (f"{_F4}noBpreShuffle_256x256.co", "256,256,512"),
        (f"{_F4}BpreShuffle_128x512.co", "128,512,256"),
        (f"{_F4}BpreShuffle_96x640.co", "96,640,256"),
        ("co/gfx950/bf16gemm/bf16gemm_fp32bf16_tn_32x64_bshuffle_splitk.co", None),
        ("co/gfx942/bf16gemm/bf16gemm_fp32bf16_tn_32x64_bshuffle_splitk.co", None),
        ("co/gfx950/fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_128x128.co", None),
        ("co/gfx942/fp8gemm_blockscale/fp8gemm_bf16_blockscale_BpreShuffle_32x128.co", None),
        ("co/gfx950/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_80x128.co", None),
        ("co/gfx942/i8gemm/I8gemm_bf16_perTokenI8_BpreShuffle_80x128.co", None),
    ],
)
def test_no_error_in_hand_written_gemms(data_dir: Path, path: str, shape: str | None) -> None:
    r = checked(data_dir / path, shape, orders=2)
    assert r.verified
    assert set(kinds(r)) <= _WARNINGS, [(f.rule, f.message) for f in r.findings]


@pytest.mark.slow
def test_attention(data_dir: Path) -> None:
    """One overwrites tiles in LDS without a barrier; a wave that runs ahead makes another output of it."""
    folder = data_dir / "co" / "gfx950" / "fmha_v3_fwd"
    r = checked(folder / "fwd_hd128_bf16.co")
    assert r.verified
    assert set(kinds(r)) == {("warning", "descriptor-hides-overrun")}
    r = checked(folder / "fwd_hd192_hd128_bf16_causal_group.co", workgroups="1")
    assert r.verified
    assert {k: n for k, n in kinds(r).items() if k[0] == "error"} == {
        ("error", "lds-race"): 3,
        ("error", "order-dependent"): 1,
    }
