"""The hand-written MXFP4 GEMM of gfx950 (public aiter objects): block scales, pre-shuffled operands."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from isaprof.codeobj.elf import CodeObject
from isaprof.isa.decode import disassemble
from isaprof.sim.functional import run
from isaprof.sim.semantics.formats import decode_table, e8m0_to_f32

from .kernels import Buffer, Launch


def up(x: int, m: int) -> int:
    return -(-x // m) * m


def rows_to(x: np.ndarray, m: int) -> np.ndarray:
    return np.pad(x, ((0, up(len(x), m) - len(x)), (0, 0)))


def shuffle_b(b: np.ndarray) -> np.ndarray:
    """dst[(((n0 * Kp/32 + k0) * 2 + k1) * 16 + n1) * 16 + k2] = src[n, k]."""
    n, kp = b.shape
    return b.reshape(n // 16, 16, kp // 32, 2, 16).transpose(0, 2, 3, 1, 4).reshape(-1)


def shuffle_scales(s: np.ndarray) -> tuple[np.ndarray, int]:
    """Row 32*d0 + 16*d1 + d2, column 8*d3 + 4*d4 + d5 goes to order d0, d3, d5, d2, d4, d1."""
    sm, sn = up(s.shape[0], 256), up(s.shape[1], 8)
    p = np.full((sm, sn), 0x7F, np.uint8)
    p[: s.shape[0], : s.shape[1]] = s
    return p.reshape(sm // 32, 2, 16, sn // 8, 2, 4).transpose(0, 3, 5, 2, 4, 1).reshape(-1), sn


class F4Launch(Launch):
    dims: tuple[int, int, int, int]

    def kernarg(self, addresses: Mapping[str, int]) -> bytes:
        m, n, k, sn = self.dims
        block = bytearray(384)
        pointers = {0x0: "D", 0x20: "A", 0x30: "B", 0x110: "SA", 0x120: "SB"}
        for offset, name in pointers.items():
            block[offset : offset + 8] = struct.pack("<Q", addresses[name])
        words = {0x80: n, 0xA0: k, 0xC0: k, 0xE0: m, 0xF0: n, 0x100: k, 0x130: sn, 0x150: sn}
        for offset, value in words.items():
            block[offset : offset + 4] = struct.pack("<I", value)
        block[0x40:0x44] = struct.pack("<f", 1.0)
        return bytes(block)


@pytest.mark.parametrize(
    ("tile", "shape"),
    [((32, 128), (32, 128, 512)), ((32, 128), (17, 256, 512)),
     ((256, 256), (256, 256, 512))],
)  # fmt: skip
def test_f4gemm_matches_the_dequantised_product(
    data_dir: Path, tile: tuple[int, int], shape: tuple[int, int, int]
) -> None:
    m, n, k = shape
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 16, (rows, k), dtype=np.uint8) for rows in (m, n))
    sa, sb = (rng.integers(124, 131, (rows, k // 32), dtype=np.uint8) for rows in (m, n))
    pa, pb = (rows_to(x[:, 0::2] | x[:, 1::2] << 4, 256) for x in (a, b))
    (ssa, sn), (ssb, _) = shuffle_scales(sa), shuffle_scales(sb)
    operands = [
        Buffer("D", "output", np.zeros(up(m, 32) * n * 2, np.uint8)),
        Buffer("A", "input", pa.reshape(-1)),
        Buffer("B", "input", shuffle_b(pb)),
        Buffer("SA", "input", ssa),
        Buffer("SB", "input", ssb),
    ]
    launch = F4Launch(
        operands, grid=(up(n, tile[1]) // tile[1], up(m, tile[0]) // tile[0], 1), workgroup=(256, 1, 1)
    )
    launch.dims = (m, n, k, sn)
    name = f"f4gemm_bf16_per1x32Fp4_BpreShuffle_{tile[0]}x{tile[1]}.co"
    data = (data_dir / "co" / "gfx950" / "f4gemm" / name).read_bytes()
    co = CodeObject.from_bytes(data)
    result = run(co, co.kernel(None), disassemble(data), launch)
    codes = np.frombuffer(result.outputs["D"], np.uint16).astype(np.uint32)
    d = (codes << 16).view(np.float32).reshape(-1, n)[:m]
    values = decode_table("fp4").astype(np.float64)
    left, right = (
        values[x] * np.repeat(e8m0_to_f32(s.astype(np.uint32)).astype(np.float64), 32, axis=1)
        for x, s in ((a, sa), (b, sb))
    )
    want = left @ right.T
    assert np.abs(d - want).max() <= 0.004 * np.abs(want).max()
    np.testing.assert_allclose(d, want, rtol=2.0**-8, atol=2e-4 * np.abs(want).max())
