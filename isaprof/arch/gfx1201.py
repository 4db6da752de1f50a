"""gfx1201 (Radeon RX 9070)."""

from __future__ import annotations

from isaprof.arch.decoding import GFX12
from isaprof.arch.table import build

TABLE = build("gfx1201", "gfx12", "Radeon RX 9070", GFX12)
