"""Timing model of one CU or WGP: replays executed paths into the records of a hardware trace."""

from __future__ import annotations

from isaprof.sim.timing.calibration import Calibration
from isaprof.sim.timing.dispatch import Place, Resources
from isaprof.sim.timing.model import MODEL_VERSION, TimingResult, simulate

__all__ = ["MODEL_VERSION", "Calibration", "Place", "Resources", "TimingResult", "simulate"]
