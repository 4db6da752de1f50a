"""Starting a tool without shell, temporary files or threads, and within limits.

What a tool reads and writes lies in memory files: the tool never waits for
isaprof to take its output, and isaprof can work on until it needs the result
(:func:`start`, :meth:`Running.wait`). Memory, output and time are bounded: one
``.fill`` or nested ``.rept`` of a source makes an assembler ask for any amount.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence
from typing import NamedTuple

from isaprof.errors import EnvironmentProblem

TIMEOUT_S = 60.0
#: address space of one tool, bytes; on small machines half of the memory
MEMORY_LIMIT = 2 << 30
#: bytes a tool may write
OUTPUT_LIMIT = 1 << 30
_OUT_OF_MEMORY = ("out of memory", "bad_alloc", "llocation failed", "annot allocate memory")


class Completed(NamedTuple):
    """Result of one tool run. ``returncode`` is the negative signal number where one ended it."""

    returncode: int
    output: bytes
    stderr: str

    @property
    def stdout(self) -> str:
        """``output`` as text."""
        return self.output.decode("utf-8", "replace")


class Running:
    """A tool that was started; :meth:`wait` has to be called once (``kill`` otherwise)."""

    def __init__(self, name: str, pid: int, files: tuple[int, ...]) -> None:
        self.name = name
        self._pid = pid
        self._files = files
        self._begun = time.monotonic()

    def wait(self, timeout: float = TIMEOUT_S) -> Completed:
        """The result. EnvironmentProblem when it took longer, or more memory or room than allowed."""
        try:
            ended = self._ended(timeout)
        except BaseException:  # Ctrl-C above all
            self.kill()
            raise
        if not ended:
            self.kill()
            raise EnvironmentProblem(f"{self.name} did not end within {timeout:g} s", kind="tool_timeout")
        _, status, used = os.wait4(self._pid, 0)
        code = os.waitstatus_to_exitcode(status)
        try:
            output, said = (os.pread(f, os.fstat(f).st_size, 0) for f in self._files[-2:])
        finally:
            self._close()
        done = Completed(code, output, said.decode("utf-8", "replace"))
        if code != 0:
            self._why(done, used.ru_maxrss << 10)
        return done

    def _why(self, done: Completed, peak: int) -> None:
        """Raise where a limit ended the tool. What LLVM says then differs; at times it only crashes."""
        code, said = done.returncode, done.stderr
        if code == -_signal("SIGXFSZ") or "File too large" in said:
            raise EnvironmentProblem(
                f"{self.name} wrote more than {OUTPUT_LIMIT >> 20} MiB and was stopped", kind="tool_output"
            )
        room = _memory_limit()
        if any(words in said for words in _OUT_OF_MEMORY) or (code < 0 and 2 * peak > room):
            raise EnvironmentProblem(
                f"{self.name} needed more than {room >> 20} MiB of memory and was stopped",
                kind="tool_memory",
            )

    def restart(self) -> None:
        """Count its time from now."""
        self._begun = time.monotonic()

    def close_input(self) -> None:
        """Let go of the end of a pipe that the tool reads: else nobody notices when the tool is gone."""
        os.close(self._files[0])
        self._files = self._files[-2:]

    def kill(self) -> None:
        """Stop it and forget its output."""
        os.kill(self._pid, _signal("SIGKILL"))
        os.waitpid(self._pid, 0)
        self._close()

    def _ended(self, timeout: float) -> bool:
        left = self._begun + timeout - time.monotonic()
        try:
            handle = os.pidfd_open(self._pid)
        except (AttributeError, OSError):  # not Linux, or one before 5.3
            while os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
                if time.monotonic() > self._begun + timeout:
                    return False
                time.sleep(0.002)
            return True
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            return bool(poll.poll(max(0.0, left) * 1e3))
        finally:
            os.close(handle)

    def _close(self) -> None:
        for f in self._files:
            os.close(f)


def start(argv: Sequence[str | os.PathLike[str]], stdin: bytes = b"") -> Running:
    """Start a tool given by its path; it reads ``stdin``. EnvironmentProblem where it cannot be started."""
    args = [os.fspath(a) for a in argv]
    if (ready := _ready.pop(tuple(args), None)) is not None:
        return ready.give(stdin)
    source = _scratch()
    try:
        _write(source, stdin)
    except BaseException as e:
        os.close(source)
        if isinstance(e, OSError):
            raise EnvironmentProblem(f"cannot run {args[0]}: {e.strerror or e}") from None
        raise
    return _spawn(args, source)


def _spawn(args: list[str], stdin: int) -> Running:
    """The tool with ``stdin`` (a file that is closed with the rest) and memory files for what it writes."""
    files = [stdin]
    try:
        for _ in range(2):
            files.append(_scratch())
        move = [(os.POSIX_SPAWN_DUP2, f, n) for n, f in enumerate(files)]
        pid = os.posix_spawn(args[0], args, os.environ, file_actions=move)
    except BaseException as e:
        for f in files:
            os.close(f)
        if isinstance(e, (OSError, ValueError)):
            why = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
            raise EnvironmentProblem(f"cannot run {args[0]}: {why}") from None
        raise
    _limit(pid)
    return Running(args[0], pid, (files[0], files[1], files[2]))


class _Ready(NamedTuple):
    """A tool that waits for its input: LLVM's tools take 10 ms to load, whatever they then do."""

    running: Running
    input: int

    def give(self, stdin: bytes) -> Running:
        view = memoryview(stdin)
        try:
            while view:
                view = view[os.write(self.input, view) :]
        except BrokenPipeError:
            pass  # it ended; its exit code and message say why
        finally:
            os.close(self.input)
        self.running.restart()
        return self.running


_ready: dict[tuple[str, ...], _Ready] = {}


def prepare(argv: Sequence[str | os.PathLike[str]]) -> None:
    """Have a tool load while isaprof works on; :func:`start` with the same words then finds it waiting.

    For a caller that is about to need it, and calls :func:`forget` at the end.
    """
    args = [os.fspath(a) for a in argv]
    if tuple(args) in _ready:
        return
    theirs, ours = os.pipe()
    if theirs <= 2 or ours <= 2:  # isaprof itself was started with a closed standard stream
        os.close(theirs)
        os.close(ours)
        return
    try:
        running = _spawn(args, theirs)
    except EnvironmentProblem:  # the start itself will say what is wrong
        os.close(ours)
        return
    running.close_input()
    _ready[tuple(args)] = _Ready(running, ours)


def forget() -> None:
    """End the tools that were prepared and not needed."""
    while _ready:
        _, ready = _ready.popitem()
        os.close(ready.input)
        ready.running.kill()


def _signal(name: str) -> int:
    import signal  # rarely needed

    return int(getattr(signal, name))


def _scratch() -> int:
    """A file without a name, above the standard ones, that tools started meanwhile do not inherit."""
    if hasattr(os, "memfd_create"):
        f = os.memfd_create("isaprof")
    else:
        import tempfile

        with tempfile.TemporaryFile() as t:
            f = os.dup(t.fileno())
    if f > 2:
        return f
    import fcntl  # isaprof itself was started with a closed standard stream

    high = fcntl.fcntl(f, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(f)
    return high


def _write(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
    os.lseek(file, 0, os.SEEK_SET)


def _memory_limit() -> int:
    try:
        half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (ValueError, OSError):
        return MEMORY_LIMIT
    return min(MEMORY_LIMIT, half)


def _limit(pid: int) -> None:
    """Set from outside right after the start: nothing of isaprof runs between fork and exec."""
    try:
        import resource

        room = _memory_limit()
        resource.prlimit(pid, resource.RLIMIT_AS, (room, room))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (OUTPUT_LIMIT, OUTPUT_LIMIT))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    except (ImportError, AttributeError, OSError, ValueError):
        return  # not Linux, ended already, or a stricter limit holds; the time limit remains
