"""The protocol behind which simulator, recorded traces and rocprofv3 stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd

    from isaprof.capture.model import CodeObjectRef, Warning_
    from isaprof.capture.tables import RowGroups

#: called as progress(done, total, what); backends call it at least once a second
Progress = Callable[[int, int, str], None]


def no_progress(done: int, total: int, what: str) -> None:
    """The progress callback that does nothing."""


@dataclass(slots=True)
class RawCapture:
    """What a backend returns: everything :func:`isaprof.capture.save` needs."""

    meta: dict[str, Any]
    tables: dict[str, pd.DataFrame]
    code_objects: tuple[CodeObjectRef, ...] = ()
    warnings: list[Warning_] = field(default_factory=list)
    #: tables that are too large to hold; made piece by piece while the capture is written
    groups: dict[str, RowGroups] = field(default_factory=dict)


class Backend(Protocol):
    """Produces one capture; ``name`` is the word after ``--backend``."""

    name: str

    def capture(self, progress: Progress = no_progress) -> RawCapture:
        """Run or read. Raises a subclass of IsaprofError."""
        ...
