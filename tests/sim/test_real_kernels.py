"""Real machine code from traced runs computes what NumPy computes."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from isaprof.codeobj.elf import CodeObject
from isaprof.isa.decode import disassemble
from isaprof.sim.functional import run

from .kernels import Buffer, Launch


def load(path: Path, arch: str | None = None):  # type: ignore[no-untyped-def]
    data = path.read_bytes()
    co = CodeObject.from_bytes(data, arch=arch)
    return co, co.kernel(None), disassemble(data, arch=arch)


def raw(a: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(a).reshape(-1).view(np.uint8)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx950", "gfx1200"])
def test_gemm_of_1024_workgroups(data_dir: Path, arch: str) -> None:
    rng = np.random.default_rng(7)
    a, b = (rng.standard_normal((32, 32)).astype(np.float32) for _ in "ab")
    operands = [
        Buffer("C", "output", raw(np.full((32, 32), np.nan, np.float32))),
        Buffer("A", "input", raw(a)),
        Buffer("B", "input", raw(b)),
    ]
    co, kernel, listing = load(data_dir / "sqtt" / arch / "gemm_run0" / "kernel.co")
    launch = Launch(operands, grid=(32, 32, 1), workgroup=(16, 1, 1))
    result = run(co, kernel, listing, launch, trace=lambda wg: wg == (3, 5, 0))
    c = np.frombuffer(result.outputs["C"], np.float32).reshape(32, 32)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-5)
    assert result.workgroups == 1024
    assert result.instructions == result.per_line_counts.sum()
    (trace,) = result.traces
    (wave,) = trace.waves
    assert trace.workgroup == (3, 5, 0)
    assert wave.threads == 16
    last = listing.instructions[wave.lines[-1]]
    assert last.base == "s_endpgm"
    # the final store: one lane, the right element of C
    stores = [e for e in wave.memory.values() if e.space == "global" and e.store]
    assert [e.lanes.tolist() for e in stores] == [[0]]
    assert stores[0].addresses[0] - result.addresses["C"] == 4 * (5 * 32 + 3)


def test_only_chosen_workgroups_run(data_dir: Path) -> None:
    co, kernel, listing = load(data_dir / "sqtt" / "gfx1100" / "gemm_run0" / "kernel.co")
    ones = np.ones((32, 32), np.float32)
    operands = [
        Buffer("C", "output", raw(0 * ones)),
        Buffer("A", "input", raw(ones)),
        Buffer("B", "input", raw(ones)),
    ]
    launch = Launch(operands, grid=(32, 32, 1), workgroup=(16, 1, 1))
    result = run(co, kernel, listing, launch, workgroups=[(4, 9, 0)])
    c = np.frombuffer(result.outputs["C"], np.float32).reshape(32, 32)
    assert c[9, 4] == 32
    assert np.count_nonzero(c) == 1


@pytest.mark.parametrize("arch", ["gfx1100", "gfx950", "gfx1200"])
def test_plus_adds_three_elements(data_dir: Path, arch: str) -> None:
    x, y = np.array([1.5, -2, 3], np.float32), np.array([0.25, 8, -3], np.float32)
    operands = [Buffer("o", "output", raw(0 * x)), Buffer("x", "input", raw(x)), Buffer("y", "input", raw(y))]
    co, kernel, listing = load(data_dir / "sqtt" / arch / "plus_run0" / "kernel.co")
    result = run(co, kernel, listing, Launch(operands, workgroup=(3, 1, 1)))
    np.testing.assert_array_equal(np.frombuffer(result.outputs["o"], np.float32), x + y)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1200"])
def test_sync_writes_its_index_table(data_dir: Path, arch: str) -> None:
    """The second program of ``sync``: 32 threads store one 128-bit vector each."""
    operands = [Buffer("o", "output", np.zeros(32 * 16, np.uint8))]
    co, kernel, listing = load(data_dir / "sqtt" / arch / "sync_run0" / "kernel1.co")
    result = run(co, kernel, listing, Launch(operands))
    out = np.frombuffer(result.outputs["o"], np.int32).reshape(32, 4)
    # elements 4i+1 .. 4i+3 in columns 0..2 and 4i+4 in column 3, except where the kernel masks it
    base = 4 * np.arange(32)[:, None] + np.array([1, 2, 3])
    np.testing.assert_array_equal(out[:, :3], base)


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1200"])
def test_sync_barrier_kernel_ends(data_dir: Path, arch: str) -> None:
    """The LDS barrier kernel (a minimal ELF): all waves get past the barriers."""
    operands = [Buffer("o", "output", np.zeros(1 << 16, np.uint8))]
    co, kernel, listing = load(data_dir / "sqtt" / arch / "sync_run0" / "kernel0.co", arch)
    result = run(co, kernel, listing, Launch(operands, workgroup=(128, 1, 1)), trace=lambda wg: True)
    assert len(result.traces[0].waves) == 4
    for wave in result.traces[0].waves:
        assert listing.instructions[wave.lines[-1]].base == "s_endpgm"
        assert any("barrier" in listing.instructions[i].base for i in wave.lines)


def test_mfma_gemm_with_kernarg_preload(data_dir: Path) -> None:
    """gemm_prefetch: bf16 MFMA, triple-buffered LDS, 8 waves, buffer loads, kernarg in SGPRs."""
    import ml_dtypes

    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((256, 232)).astype(ml_dtypes.bfloat16) for _ in "ab")
    operands = [
        Buffer("A", "input", raw(a.view(np.uint16))),
        Buffer("B", "input", raw(b.view(np.uint16))),
        Buffer("C", "output", raw(np.full((256, 256), np.nan, np.float32))),
    ]
    folder = data_dir / "att" / "wave_gemm_gfx950" / "host"
    co, kernel, listing = load(folder / "3785403_gfx950_code_object_id_3.out")
    launch = Launch(operands, grid=(4, 8, 1), workgroup=(256, 2, 1))
    result = run(co, kernel, listing, launch, trace=lambda wg: wg == (0, 0, 0))
    c = np.frombuffer(result.outputs["C"], np.float32).reshape(256, 256)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=1e-4, atol=1e-4)
    # waves start behind the 256-byte fall-back that loads the arguments from memory
    first = listing.instructions[result.traces[0].waves[0].lines[0]]
    assert first.pc == kernel.entry + 256
    assert struct.calcsize("<QQQ") <= kernel.kernarg_size
