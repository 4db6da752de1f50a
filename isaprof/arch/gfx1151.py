"""gfx1151: Strix Halo (RDNA3.5)."""

from __future__ import annotations

from isaprof.arch import sources as src
from isaprof.arch.rdna3 import FAMILY
from isaprof.arch.table import Fact, build, facts

_DEVICE: dict[str, Fact] = {
    **facts("", src.PRODUCT, cu_count=40, memory_bandwidth_gb_s=256),
    **facts("MHz", src.PRODUCT, "C", clock_mhz=2900),
    **facts("bytes", src.PRODUCT, l2_bytes=2 << 20, mall_bytes=32 << 20),
}

TABLE = build("gfx1151", "gfx11", "Strix Halo (RDNA3.5)", FAMILY, _DEVICE)
