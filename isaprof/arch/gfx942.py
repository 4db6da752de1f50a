"""gfx942 (MI300X, MI300A, MI325X)."""

from __future__ import annotations

from isaprof.arch.decoding import CDNA_UNIFIED, GFX9
from isaprof.arch.table import build

TABLE = build("gfx942", "gfx9", "MI300X, MI300A, MI325X", GFX9, CDNA_UNIFIED)
