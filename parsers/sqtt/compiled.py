"""Whether and how the compiled decoder is used, and what a user is told about it.

numba and its first compile cost seconds, so they are loaded for large buffers
only; everything works without them, more slowly, with the same result
(:mod:`isaprof.parsers.sqtt.frame` is the reference).
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

#: bytes from which loading the compiled decoder pays
WORTH_IT = 1 << 20
#: bytes of a whole trace from which the compiled wave builder pays
BUILDER_WORTH_IT = 4 << 20
#: seconds of silence before the wait is explained
_PATIENCE = 2.0
#: set to "reference" or "compiled" to choose for buffers of every size
CHOICE = "ISAPROF_SQTT_DECODER"

_lock = threading.Lock()
_loaded: ModuleType | None = None
_refused = False
_builder_refused = False


def builds(size: int) -> bool:
    """Whether the waves of a trace of ``size`` bytes (all engines) go through the compiled builder."""
    choice = os.environ.get(CHOICE, "")
    wanted = choice == "compiled" or (choice != "reference" and size >= BUILDER_WORTH_IT)
    return wanted and kernels(max(size, WORTH_IT)) is not None and _builder()


def _builder() -> bool:
    """Load the wave builder; stderr says so where it has to be compiled (see :func:`kernels`)."""
    global _builder_refused
    if _builder_refused:
        return False
    with _lock, _explained("wave builder", 20) as done:
        try:
            from isaprof.parsers.sqtt import stream

            stream.prepare()
            done(stream.cache_path())
        except Exception as e:
            _builder_refused = True
            _say(f"building waves without numba, about 10 times slower: {type(e).__name__}: {str(e)[:200]}")
    return not _builder_refused


def kernels(size: int) -> ModuleType | None:
    """The module of compiled functions for a buffer of ``size`` bytes; None: use the reference.

    The first call in a process loads them; where that takes longer than a
    moment (the first time on a machine: compiling), stderr says so.
    """
    choice = os.environ.get(CHOICE, "")
    if choice == "reference" or _refused or (size < WORTH_IT and choice != "compiled"):
        return None
    with _lock:
        return _loaded or _load()


def _say(text: str) -> None:
    print(f"isaprof: {text}", file=sys.stderr, flush=True)


@contextmanager
def _explained(what: str, seconds: int) -> Iterator[Callable[[str | None], None]]:
    """Says on stderr what takes long where it does; the function given is told where the result is kept."""
    begin = time.monotonic()
    said = threading.Event()

    def explain() -> None:
        said.set()
        _say(f"compiling the {what} for this machine (once; about {seconds} seconds) ...")

    def done(place: str | None) -> None:
        if said.is_set():
            kept = (
                f"kept in {place}"
                if place
                else "no folder for numba's cache can be written to: set NUMBA_CACHE_DIR"
            )
            _say(f"compiled in {time.monotonic() - begin:.1f} s, {kept}")

    timer = threading.Timer(_PATIENCE, explain)
    timer.daemon = True
    timer.start()
    try:
        yield done
    finally:
        timer.cancel()


def _load() -> ModuleType | None:
    global _loaded, _refused
    with _explained("trace decoder", 10) as done:
        try:
            from isaprof.parsers.sqtt import kernel

            _compile()
            _loaded = kernel
            done(kernel.cache_path())
        except Exception as e:  # numba refuses a NumPy or Python newer than itself in several ways
            _refused = True
            _say(f"decoding without numba, about 100 times slower: {type(e).__name__}: {str(e)[:200]}")
    return _loaded


def _compile() -> None:
    """Compile what decoding needs, or load it from the cache: a call of every function, on nothing."""
    import numpy as np

    from isaprof.parsers.sqtt import kernel, prediction

    data = np.zeros(2 * kernel.SLACK, np.uint8)
    data.flags.writeable = False
    tables = (
        np.ones(256, np.uint8), np.zeros(1 << 16, np.uint32), np.zeros(256, np.uint64),
        np.zeros(256, np.uint8),
    )  # fmt: skip
    rule, state = np.zeros(kernel.RULES, np.uint64), np.zeros(kernel.STATE, np.int64)
    time, kind, small, op = (
        np.zeros(0, np.int64),
        np.zeros(0, np.int8),
        np.zeros(0, np.uint8),
        np.zeros(0, np.uint16),
    )
    scratch = np.empty(kernel.SCRATCH, np.uint64)
    shared = data, 0, 0, tables, rule, data, 0, state, scratch
    kernel.decode(*shared, time, kind, small, small, op, None, None)
    kernel.decode(*shared, time, np.zeros(0, np.int16), None, None, None, time, np.zeros(0, np.uint64))
    prediction.predict(kind, small, op, small, np.zeros(16, np.int64), small, np.zeros(6, np.int64))
