"""One register file for VGPRs and AGPRs: a VGPR number beyond ACCUM_OFFSET is an AGPR's register."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from isaprof.isa.model import RegClass, RegSpan
from isaprof.sim.lower.operands import row_of


def test_vgprs_beyond_the_accumulation_offset_are_the_agprs_rows() -> None:
    ctx: Any = SimpleNamespace(vgprs=160, agprs=96)
    assert row_of(ctx, RegSpan(RegClass.VGPR, 161, 1)) == row_of(ctx, RegSpan(RegClass.AGPR, 1, 1)) == 161
    assert row_of(ctx, RegSpan(RegClass.VGPR, 254, 2)) == 254
    with pytest.raises(Exception, match="v256 is beyond the 256 VGPRs"):
        row_of(ctx, RegSpan(RegClass.VGPR, 255, 2))
    with pytest.raises(Exception, match="a96 is beyond the 96 AGPRs"):
        row_of(ctx, RegSpan(RegClass.AGPR, 96, 1))
