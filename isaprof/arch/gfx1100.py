"""gfx1100: Radeon RX 7900 series, Radeon PRO W7900 (Navi 31, RDNA3)."""

from __future__ import annotations

from isaprof.arch import sources as src
from isaprof.arch.rdna3 import FAMILY
from isaprof.arch.table import Fact, build, facts

_DEVICE: dict[str, Fact] = {
    **facts("", src.PRODUCT, cu_count=96, memory_bandwidth_gb_s=960),
    **facts("MHz", src.PRODUCT, "C", clock_mhz=2500),
    **facts("bytes", src.PRODUCT, l2_bytes=6 << 20, mall_bytes=96 << 20),
}

TABLE = build("gfx1100", "gfx11", "Radeon RX 7900 series, Radeon PRO W7900 (Navi 31, RDNA3)", FAMILY, _DEVICE)
