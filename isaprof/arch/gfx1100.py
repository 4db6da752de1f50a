"""gfx1100 (Radeon RX 7900)."""

from __future__ import annotations

from isaprof.arch.decoding import GFX11
from isaprof.arch.table import build

TABLE = build("gfx1100", "gfx11", "Radeon RX 7900", GFX11)
