"""gfx1200: Radeon RX 9060 series (Navi 44, RDNA4)."""

from __future__ import annotations

from isaprof.arch import sources as src
from isaprof.arch.rdna4 import FAMILY
from isaprof.arch.table import Fact, build, facts

_DEVICE: dict[str, Fact] = {
    **facts("", src.PRODUCT, cu_count=32, memory_bandwidth_gb_s=320),
    **facts("MHz", src.PRODUCT, "C", clock_mhz=3000),
    **facts("bytes", src.PRODUCT, l2_bytes=4 << 20, mall_bytes=32 << 20),
}

TABLE = build("gfx1200", "gfx12", "Radeon RX 9060 series (Navi 44, RDNA4)", FAMILY, _DEVICE)
