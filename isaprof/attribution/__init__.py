"""Attribution: which cycle of which wave was lost to what, and who is to blame."""

from isaprof.attribution.analyse import analyse
from isaprof.attribution.model import CAUSES, Analysis, Cause

__all__ = ["CAUSES", "Analysis", "Cause", "analyse"]
