"""gfx1151 (Strix Halo)."""

from __future__ import annotations

from isaprof.arch.decoding import GFX11
from isaprof.arch.table import build

TABLE = build("gfx1151", "gfx11", "Strix Halo", GFX11)
