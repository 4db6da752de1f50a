"""gfx1201: Radeon RX 9070 series (Navi 48, RDNA4)."""

from __future__ import annotations

from isaprof.arch import sources as src
from isaprof.arch.rdna4 import FAMILY
from isaprof.arch.table import Fact, build, facts

_DEVICE: dict[str, Fact] = {
    **facts("", src.PRODUCT, cu_count=64, memory_bandwidth_gb_s=640),
    **facts("MHz", src.PRODUCT, "C", clock_mhz=3000),
    **facts("bytes", src.PRODUCT, l2_bytes=8 << 20, mall_bytes=64 << 20),
}

TABLE = build("gfx1201", "gfx12", "Radeon RX 9070 series (Navi 48, RDNA4)", FAMILY, _DEVICE)
