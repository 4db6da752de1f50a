"""Machine code for fuzzing: real encodings with flipped bits, between random words."""

from __future__ import annotations

import numpy as np

_MEMORY9 = [
    (0xDC508000, 0x01000000),
    (0xDC708000, 0x00000100),
    (0xE0541000, 0x80050000),
    (0xE07C1000, 0x80050000),
    (0xD8EC0000, 0x04000000),
    (0xD89A0000, 0x00000400),
    (0xD3CD8000, 0x04120900),
    (0xD3AD0000, 0x04120900),
    (0xC00A0000, 0x00000000),
    (0xBF820002,),
    (0xBF850001,),
    (0xBE801D00,),
    (0xBE841E04,),
    (0xBF8A0000,),
    (0xD86CFFFC, 0x01000000),
    (0xDD000000, 0x01000100),
    (0xE0000000, 0x80050000),
    (0xDC400000, 0x01000000),
    (0xD3C30900, 0x04521104),  # v_smfmac
    (0xD3C28A00, 0x840A0300),  # v_mfma with blgp
    (0xD9C60040, 0x02000003),  # ds_read_b64_tr
    (0xD9C20010, 0x02000003),
    (0xBF110120,),  # s_set_gpr_idx_on
    (0xBF9C0000,),
    (0xBF108014,),  # s_setvskip
    (0xD23D2001, 0x04120702),  # v_cvt_scalef32
    (0xC0620105, 0x00000010),  # scalar store, atomic
    (0xC22E0005, 0x00000000),
]
_MEMORY11 = [
    (0xDC520000, 0x017C0000),
    (0xDC6A0000, 0x007C0100),
    (0xE0500000, 0x80050000),
    (0xD8D80000, 0x01000000),
    (0xD8340000, 0x00000100),
    (0xF4080000, 0xF8000000),
    (0xBFA00002,),
    (0xBFA20001,),
    (0xBE804800,),
    (0xBFBD0000,),
    (0xCC40C000, 0x1C0A0900),
    (0xC8C60100, 0x02020304),
    (0xDCD60000, 0x01000100),
    (0xD7600000, 0x00010100),
    (0xCC504800, 0x1C521908),  # v_swmmac (gfx12)
]


def words(arch: str, rng: np.random.Generator) -> list[int]:
    """Up to 40 instructions; about half of them with one bit flipped."""
    pool = _MEMORY9 if arch.startswith("gfx9") else _MEMORY11
    out: list[int] = []
    for _ in range(int(rng.integers(3, 40))):
        kind = rng.integers(0, 4)
        if kind == 0:
            out.append(int(rng.integers(0, 1 << 32)))
        elif kind == 1:  # VOP2 on low registers
            out.append(int(rng.integers(1, 60)) << 25 | int(rng.integers(0, 1 << 25)) & 0x1F83F13F | 0x100)
        else:
            word = [int(w) for w in pool[int(rng.integers(0, len(pool)))]]
            for _ in range(int(rng.integers(0, 3))):
                word[int(rng.integers(0, len(word)))] ^= 1 << int(rng.integers(0, 32))
            out += word
    return out
