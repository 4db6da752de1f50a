"""gfx90a (MI210, MI250)."""

from __future__ import annotations

from isaprof.arch.decoding import CDNA_UNIFIED, GFX9
from isaprof.arch.table import build

TABLE = build("gfx90a", "gfx9", "MI210, MI250", GFX9, CDNA_UNIFIED)
