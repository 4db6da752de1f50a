"""The HTML report: one self-contained file, nothing loaded when it is opened."""

from isaprof.views.html.render import render

__all__ = ["render"]
