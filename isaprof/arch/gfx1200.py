"""gfx1200 (Radeon RX 9060)."""

from __future__ import annotations

from isaprof.arch.decoding import GFX12
from isaprof.arch.table import build

TABLE = build("gfx1200", "gfx12", "Radeon RX 9060", GFX12)
