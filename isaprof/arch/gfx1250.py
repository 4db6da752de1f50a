"""gfx1250 (MI450)."""

from __future__ import annotations

from isaprof.arch.decoding import GFX1250
from isaprof.arch.table import build

TABLE = build("gfx1250", "gfx1250", "MI450", GFX1250)
