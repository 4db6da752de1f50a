"""gfx950 (MI350X, MI355X)."""

from __future__ import annotations

from isaprof.arch.decoding import CDNA_UNIFIED, GFX9
from isaprof.arch.table import build

TABLE = build("gfx950", "gfx9", "MI350X, MI355X", GFX9, CDNA_UNIFIED)
