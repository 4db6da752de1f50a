"""A progress bar on stderr: on a terminal only, gone when the work is done.

Where a kernel's workgroups will take minutes, one line says so and how to
execute fewer, on a terminal or not: a shape that is too large looks like a
program that hangs.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: seconds of executing workgroups after which the rest is estimated, and the rest that is worth a line
PATIENCE_S = 15.0
LONG_S = 60.0


class Bar:
    """``with Bar() as bar: backend.capture(bar.update)``; off a terminal only what takes long is said."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._begun: dict[str, tuple[float, int]] = {}
        self._said = False

    def __enter__(self) -> Bar:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                TaskProgressColumn(),
                TimeElapsedColumn(),
            )
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def update(self, done: int, total: int, what: str) -> None:
        """The :data:`isaprof.backends.protocol.Progress` callback; a new ``what`` is a new bar."""
        if not self._said and what.endswith("workgroups"):
            self._estimate(done, total, what)
        if self._progress is None:
            return
        if what not in self._tasks:
            for task in self._tasks.values():
                self._progress.update(task, visible=False)
            self._tasks[what] = self._progress.add_task(what, total=total or None)
        self._progress.update(self._tasks[what], completed=done, total=total or None)

    def _estimate(self, done: int, total: int, what: str) -> None:
        now = time.monotonic()
        since, first = self._begun.setdefault(what, (now, done))
        if now - since < PATIENCE_S or done <= first:
            return
        left = (now - since) / (done - first) * (total - done)
        self._said = True  # the speed will not change much: asked once
        if left > LONG_S:
            note = f"isaprof: note: {done:,} of {total:,} workgroups in {now - since:.0f} s, "
            note += f"about {left / 60:,.0f} min to go; --workgroups N executes fewer"
            if self._progress is not None:
                self._progress.console.print(note, highlight=False)
            else:
                print(note, file=sys.stderr, flush=True)
