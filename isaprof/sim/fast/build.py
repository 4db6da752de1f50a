"""Compile the C sources once per machine, keep the library, load it.

As the trace decoder's compiled part: at first use, with a word on stderr, kept
on disk under a key of everything that decides the result (sources, compiler,
flags, processor). Needs a C compiler and the C library's headers, no Python
headers. Without a compiler the NumPy reference does all the work.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from isaprof.sim.fast import records

#: the functional executor's sources and the timing model's
SOURCES = (Path(__file__).with_name("src"), Path(__file__).parent.parent / "timing" / "src")
FLAGS = (
    "-std=gnu11", "-O3", "-fPIC", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off",
    "-fno-math-errno", "-fno-trapping-math",
)  # fmt: skip
#: directory of compiled libraries instead of the user's cache
CACHE = "ISAPROF_CACHE_DIR"
#: seconds of silence before the wait is explained
_PATIENCE = 0.8
_HINT = "install one, for example: apt-get install gcc libc6-dev"

_lock = threading.Lock()
_library: ctypes.CDLL | None = None
_failure: str | None = None


class Unavailable(Exception):
    """The fast executor cannot be used here; the message says why and what to do."""


def load() -> ctypes.CDLL:
    """The library, compiled now if need be. Raises Unavailable."""
    global _library, _failure
    with _lock:
        if _library is not None:
            return _library
        if _failure is not None:
            raise Unavailable(_failure)
        try:
            _library = _load()
        except Unavailable as e:
            _failure = str(e)
            raise
        return _library


def compiler() -> list[str]:
    """Command of the C compiler: $CC, the system's, ROCm's or LLVM's clang, the ziglang package's."""
    chosen = os.environ.get("CC")
    if chosen:
        return chosen.split()
    for name in ("cc", "gcc", "clang", *(f"clang-{n}" for n in range(24, 13, -1))):
        path = shutil.which(name)
        if path:
            return [path]
    for path in ("/opt/rocm/llvm/bin/clang", *(f"/usr/lib/llvm-{n}/bin/clang" for n in range(24, 13, -1))):
        if os.access(path, os.X_OK):
            return [path]
    try:
        import importlib.util

        if importlib.util.find_spec("ziglang"):
            return [sys.executable, "-m", "ziglang", "cc"]
    except (ImportError, ValueError):
        pass
    raise Unavailable(f"there is no C compiler; {_HINT}")


def _processor() -> str:
    """What -march=native depends on."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    wanted = ("model name", "flags", "Features", "CPU part")
    return "\n".join(sorted({line for line in text.splitlines() if line.startswith(wanted)}))


def _sources(pattern: str) -> list[Path]:
    return sorted(path for folder in SOURCES for path in folder.glob(pattern))


def _key(command: list[str]) -> str:
    digest = hashlib.sha256()
    for path in _sources("*.[ch]"):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    try:
        version = subprocess.run([*command, "--version"], capture_output=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Unavailable(f"the C compiler {' '.join(command)} does not run: {e}; {_HINT}") from None
    for part in (version, " ".join([*command, *FLAGS]).encode(), platform.machine().encode(),
                 _processor().encode()):  # fmt: skip
        digest.update(part + b"\0")
    return digest.hexdigest()[:24]


def _places() -> Iterator[Path]:
    """Directories to keep the library in, best first."""
    given = os.environ.get(CACHE)
    if given:
        yield Path(given)
        return
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    yield Path(base) / "isaprof"
    yield Path(tempfile.gettempdir()) / f"isaprof-{os.getuid()}"


def _mine(folder: Path) -> bool:
    """Whether ``folder`` exists, belongs to this user and nobody else may write to it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.stat()
    except OSError:
        return False
    return state.st_uid == os.getuid() and not state.st_mode & 0o022 and os.access(folder, os.W_OK)


def _load() -> ctypes.CDLL:
    command = compiler()
    name = f"sim-{_key(command)}.so"
    folders = [f for f in _places() if _mine(f)]
    for folder in folders:
        if (folder / name).is_file():
            try:
                return _open(folder / name)
            except (OSError, Unavailable):
                (folder / name).unlink(missing_ok=True)
    if not folders:
        raise Unavailable(f"no folder to keep the compiled executor in: set {CACHE}")
    return _open(_compile(command, folders[0] / name))


def _compile(command: list[str], target: Path) -> Path:
    """Compile all sources side by side and link them to ``target`` (atomically)."""
    begin = time.monotonic()
    timer = threading.Timer(
        _PATIENCE, _say, ["compiling the simulator's fast executor for this machine (once; some seconds) ..."]
    )
    timer.daemon = True
    timer.start()
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="build-") as d:
            native = ["-mcpu=native" if platform.machine() in ("aarch64", "arm64") else "-march=native"]
            jobs = []
            for source in _sources("*.c"):
                out = os.path.join(d, source.stem + ".o")
                line = [*command, *FLAGS, *native, "-c", str(source), "-o", out]
                jobs.append((out, _start(line)))
            # all of them are waited for, so that none is left behind when one fails
            errors = [text for _, job in jobs if (text := _finish(job))]
            if errors:
                raise Unavailable(f"the C compiler {' '.join(command)} failed: {errors[0]}; {_HINT}")
            linked = os.path.join(d, "out.so")
            text = _finish(_start([*command, "-shared", "-o", linked, *(out for out, _ in jobs), "-lm"]))
            if text:
                raise Unavailable(f"the C compiler {' '.join(command)} cannot link: {text}; {_HINT}")
            os.replace(linked, target)
    except OSError as e:
        raise Unavailable(f"cannot compile the fast executor: {e}") from None
    finally:
        timer.cancel()
    if time.monotonic() - begin > _PATIENCE:
        _say(f"compiled in {time.monotonic() - begin:.1f} s, kept in {target.parent}")
    return target


def _start(line: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace",
    )  # fmt: skip


def _finish(job: subprocess.Popen[str]) -> str:
    """Wait; the first line of what went wrong, "" when nothing did."""
    try:
        output, _ = job.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        job.kill()
        job.communicate()
        return "it does not end"
    lines = [x for x in output.splitlines() if "error" in x] or output.splitlines() or ["no message"]
    return "" if job.returncode == 0 else lines[0][:300]


def _open(path: Path) -> ctypes.CDLL:
    lib = ctypes.CDLL(str(path))
    lib.isa_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    lib.isa_run.restype = ctypes.c_int
    for find in (lib.isa_find_kernel, lib.isa_find_scalar):
        find.argtypes, find.restype = [ctypes.c_char_p], ctypes.c_int
    got = (ctypes.c_int64 * 12)()
    lib.isa_sizes(got)
    if list(got) != records.sizes():
        raise Unavailable(f"the records of {path} are laid out differently: {list(got)}, {records.sizes()}")
    return lib


def _say(text: str) -> None:
    print(f"isaprof: {text}", file=sys.stderr, flush=True)
