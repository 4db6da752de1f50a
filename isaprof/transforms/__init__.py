"""Documented rewrites of AMDGCN code: one file a transform, found by discovery.

A transform detects where it applies, lists the obligations under which it is
safe and whether they are met here, makes the edit, and estimates the gain.
"""

from isaprof.transforms.context import Context
from isaprof.transforms.model import Change, Edit, Estimate, Finding, Obligation, Transform
from isaprof.transforms.registry import discover

__all__ = ["Change", "Context", "Edit", "Estimate", "Finding", "Obligation", "Transform", "discover"]
