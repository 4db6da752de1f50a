"""Opening a capture as the verbs that show one do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isaprof.capture.model import Capture


def opened(path: Path, *, addresses: bool, launch: Path | None = None, shape: str | None = None) -> Capture:
    """The capture; with ``addresses``, ``launch`` or ``shape`` its kernel is executed for LDS addresses."""
    from isaprof.capture import open as open_capture

    capture = open_capture(path)
    if not addresses and launch is None and shape is None:
        return capture
    from isaprof.accuracy.addresses import with_addresses

    return with_addresses(capture, launch=launch, shape=shape)
