"""What this machine has for the simulator and for hardware runs.

Every probe is read-only, bounded in time and never raises: what is absent is
a :class:`Finding` with the step that would provide it. Search orders follow
AMD's documentation of rocprofv3, of the trace decoder's Python package and of
``rocm-bindings-hip``.
"""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from isaprof.errors import EnvironmentProblem

#: the parts of isaprof a finding can be needed by
SIMULATOR = "simulator"
HARDWARE = "rocprofv3"

_DECODER = "librocprof-trace-decoder.so"
_HIP = "libamdhip64.so"
_MIN_PYTHON = (3, 11)

Environ = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked for.

    ``fix`` is the exact step that provides it, None where nothing is missing.
    """

    name: str
    needed_by: str  #: :data:`SIMULATOR` or :data:`HARDWARE`
    ok: bool
    detail: str
    fix: str | None = None


def probe(environ: Environ = os.environ) -> tuple[Finding, ...]:
    """Everything ``isaprof doctor`` lists, in its order."""
    return (python(), llvm(), *hardware(environ))


def hardware(environ: Environ = os.environ, *, root: Path = Path("/")) -> tuple[Finding, ...]:
    """What a run on a GPU needs. ``root`` is the file system's root (tests)."""
    return (
        rocprofv3(environ, root=root),
        decoder(environ, root=root),
        hip_library(environ, root=root),
        hip_bindings(),
        gpu(root=root),
    )


def require_hardware(findings: tuple[Finding, ...] | None = None) -> None:
    """Raise EnvironmentProblem naming all that a hardware run lacks."""
    missing = [f for f in (hardware() if findings is None else findings) if not f.ok]
    if missing:
        raise EnvironmentProblem(
            "a hardware run needs: " + "; ".join(f"{f.name} ({f.detail})" for f in missing),
            hint="isaprof doctor --backend rocprofv3   lists what to install; --dry-run needs nothing",
            kind="hardware_missing",
        )


# -- the simulator's needs -------------------------------------------------------
def python() -> Finding:
    version = platform.python_version()
    ok = sys.version_info[:2] >= _MIN_PYTHON
    fix = None if ok else "apt-get install -y python3.11 python3.11-venv"
    return Finding("Python", SIMULATOR, ok, f"{version}, {sys.executable}", fix)


def llvm() -> Finding:
    """LLVM's AMDGPU tools, and which of the known architectures they know."""
    from isaprof import arch
    from isaprof.isa.llvm import find_tools

    try:
        tools = find_tools()
    except EnvironmentProblem as e:
        return Finding("LLVM AMDGPU tools", SIMULATOR, False, e.message, e.hint)
    unknown: list[str] = []
    fix = None
    for name in arch.known():
        try:
            find_tools(name)
        except EnvironmentProblem as e:
            unknown.append(name)
            fix = e.hint
    version = ".".join(map(str, tools.version))
    known = "knows every architecture isaprof does" if not unknown else f"does not know {', '.join(unknown)}"
    # without an architecture whose timing is modelled nothing can be profiled
    ok = any("issue_model" in arch.get(name).facts for name in arch.known() if name not in unknown)
    return Finding("LLVM AMDGPU tools", SIMULATOR, ok, f"{version}, {tools.objdump}, {known}", fix)


# -- what a GPU run needs ---------------------------------------------------------
def rocm_roots(environ: Environ, root: Path) -> list[Path]:
    """ROCm prefixes in search order: $ROCM_PATH, $ROCM_HOME, /opt/rocm."""
    named = [Path(environ[k]) for k in ("ROCM_PATH", "ROCM_HOME") if environ.get(k)]
    return [*named, root / "opt/rocm"]


def find_rocprofv3(environ: Environ = os.environ, *, root: Path = Path("/")) -> str | None:
    """Path of rocprofv3: PATH first, then the ROCm prefixes."""
    found = shutil.which("rocprofv3", path=environ.get("PATH", os.defpath))
    if found:
        return found
    for prefix in rocm_roots(environ, root):
        if os.access(prefix / "bin/rocprofv3", os.X_OK):
            return str(prefix / "bin/rocprofv3")
    return None


def rocprofv3(environ: Environ, *, root: Path = Path("/")) -> Finding:
    name = "rocprofv3"
    path = find_rocprofv3(environ, root=root)
    fix = "apt-get install -y rocprofiler-sdk   (from AMD's ROCm package repository, ROCm 7.0 or newer)"
    if path is None:
        return Finding(name, HARDWARE, False, "not on PATH, nor in ROCM_PATH, ROCM_HOME, /opt/rocm", fix)
    version = re.search(r"version\s*:?\s*([\w.]+)", _output([path, "--version"]))
    detail = f"{version[1] if version else 'version unknown'}, {path}"
    if not rocprofv3_has_att(path):
        return Finding(name, HARDWARE, False, f"{detail}, does not know --att", fix)
    return Finding(name, HARDWARE, True, f"{detail}, supports --att")


def rocprofv3_has_att(path: str) -> bool:
    """Whether this rocprofv3 can record thread traces (ROCm 7.0 and newer)."""
    return "--att" in _output([path, "--help"])


def find_decoder(environ: Environ = os.environ, *, root: Path = Path("/")) -> Path | str | None:
    """AMD's trace decoder library: a path, or a bare name the loader resolves.

    Order of AMD's own Python package: $ROCPROF_TRACE_DECODER_LIB,
    LD_LIBRARY_PATH, ROCM_HOME, ROCM_PATH, the ``rocm_sdk`` package's roots,
    /opt/rocm, the loader; with rocprofv3's own $ROCPROF_ATT_LIBRARY_PATH
    before LD_LIBRARY_PATH, as rocprofv3 has it.
    """
    explicit = environ.get("ROCPROF_TRACE_DECODER_LIB")
    if explicit and Path(explicit).is_file():
        return Path(explicit)
    directories = [Path(d) for d in environ.get("ROCPROF_ATT_LIBRARY_PATH", "").split(":") if d]
    directories += [Path(d) for d in environ.get("LD_LIBRARY_PATH", "").split(":") if d]
    directories += [Path(environ[k]) / "lib" for k in ("ROCM_HOME", "ROCM_PATH") if environ.get(k)]
    directories += [r / "lib" for r in _rocm_sdk_roots()]
    directories.append(root / "opt/rocm/lib")
    return _library(_DECODER, directories)


def decoder(environ: Environ, *, root: Path = Path("/")) -> Finding:
    name = "trace decoder library"
    found = find_decoder(environ, root=root)
    if found is None:
        return Finding(
            name,
            HARDWARE,
            False,
            f"no {_DECODER} (rocprofv3 --att stops without it)",
            "install the release of ROCm/rocprof-trace-decoder for this system, or set "
            "ROCPROF_ATT_LIBRARY_PATH to the directory that holds the library",
        )
    return Finding(name, HARDWARE, True, str(found))


def hip_library(environ: Environ, *, root: Path = Path("/")) -> Finding:
    """HIP's runtime, in the search order of ``rocm-bindings-hip``."""
    directories = [r / "lib" for r in _rocm_sdk_roots()]
    directories += [r / "lib" for r in rocm_roots(environ, root)]
    directories += [Path(d) for d in environ.get("LD_LIBRARY_PATH", "").split(":") if d]
    found = _library(_HIP, directories)
    if found is None:
        fix = "apt-get install -y hip-runtime-amd   (from AMD's ROCm package repository)"
        return Finding("HIP runtime", HARDWARE, False, f"no {_HIP}", fix)
    return Finding("HIP runtime", HARDWARE, True, str(found))


def hip_bindings() -> Finding:
    name = "HIP bindings for Python"
    try:
        present = importlib.util.find_spec("rocm.bindings.hip") is not None
    except (ImportError, ValueError):
        present = False
    if not present:
        fix = f"{sys.executable} -m pip install rocm-bindings-hip"
        return Finding(name, HARDWARE, False, "package rocm-bindings-hip is not installed", fix)
    return Finding(name, HARDWARE, True, "rocm.bindings.hip")


def gpu(*, root: Path = Path("/")) -> Finding:
    """GPUs by the kernel driver's topology; /dev/kfd must be writable to launch."""
    targets = list(gpu_targets(root))
    device = root / "dev/kfd"
    if not device.exists():
        fix = "run on a machine with an AMD GPU and the amdgpu kernel driver"
        return Finding("GPU", HARDWARE, False, "no /dev/kfd", fix)
    listed = ", ".join(targets) or "no GPU node in the driver's topology"
    if not os.access(device, os.R_OK | os.W_OK):
        fix = "usermod -a -G render,video $USER   (then log in again)"
        return Finding("GPU", HARDWARE, False, f"{listed}; /dev/kfd may not be opened", fix)
    return Finding("GPU", HARDWARE, bool(targets), listed, None if targets else "rocminfo   shows why")


def gpu_targets(root: Path = Path("/")) -> Iterator[str]:
    """gfx targets of the GPUs: ``gfx_target_version`` is major*10000 + minor*100 + stepping."""
    nodes = root / "sys/class/kfd/kfd/topology/nodes"
    for node in sorted(nodes.glob("*/properties"), key=lambda p: p.parent.name.zfill(6)):
        try:
            match = re.search(r"^gfx_target_version (\d+)$", node.read_text(), re.MULTILINE)
        except OSError:
            continue
        if match and (version := int(match[1])):
            yield f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _library(name: str, directories: list[Path]) -> Path | str | None:
    """First ``name`` or ``name.<version>`` in the directories, else by the loader."""
    for directory in directories:
        hits = sorted(directory.glob(name + "*")) if directory.is_dir() else []
        if hits:
            return hits[0]
    return ctypes.util.find_library(name.removeprefix("lib").removesuffix(".so"))


def _rocm_sdk_roots() -> list[Path]:
    """Package directories of the pip-installed ROCm SDK, if any."""
    try:
        spec = importlib.util.find_spec("_rocm_sdk_core")
    except (ImportError, ValueError):
        return []
    return [Path(p) for p in (spec.submodule_search_locations or ())] if spec else []


def _output(command: list[str], run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run) -> str:
    """stdout and stderr of a tool's --help or --version; "" where it fails."""
    try:
        done = run(command, capture_output=True, text=True, errors="replace", timeout=20, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout + done.stderr
