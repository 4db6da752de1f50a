"""Finding LLVM's AMDGPU tools and running them.

Search order: ``$ISAPROF_LLVM`` (a ``bin`` directory), ``/opt/rocm/llvm/bin``,
``llvm-objdump-NN`` on PATH and ``/usr/lib/llvm-NN/bin`` (newest first), then
the unversioned ``llvm-objdump`` on PATH. A version that does not list the
wanted processor is refused: LLVM 14, for one, warns about an unknown
``--mcpu`` and then disassembles something else or aborts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from isaprof.errors import BadInput, EnvironmentProblem
from isaprof.isa.tool_facts import remembered

TRIPLE = "amdgcn-amd-amdhsa"
INSTALL_HINT = "apt-get install llvm-22 lld-22"
ROCM_BIN = Path("/opt/rocm/llvm/bin")
DEBIAN_ROOT = Path("/usr/lib")
TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Tools:
    """One LLVM installation: its tools as absolute paths (``lld`` and ``readelf`` may be absent)."""

    objdump: Path
    mc: Path
    lld: Path | None
    readelf: Path | None
    version: tuple[int, ...]

    def linker(self) -> Path:
        """``ld.lld`` of this installation; EnvironmentProblem when it is not installed."""
        if self.lld is None:
            raise EnvironmentProblem(
                f"ld.lld is missing beside {self.objdump}", hint=INSTALL_HINT, kind="no_lld"
            )
        return self.lld


@dataclass(frozen=True, slots=True)
class Completed:
    """Result of one tool run (text, not bytes)."""

    returncode: int
    stdout: str
    stderr: str


def run_tool(
    argv: Sequence[str | Path], *, stdin: str | None = None, timeout: float = TIMEOUT_S
) -> Completed:
    """Run one LLVM tool with a time limit and no shell.

    Raises EnvironmentProblem when the tool cannot be started or does not end
    within ``timeout`` seconds. A non-zero exit is for the caller to judge.
    """
    args = [str(a) for a in argv]
    try:
        p = subprocess.run(
            args,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentProblem(f"{args[0]} did not end within {timeout:g} s", kind="tool_timeout") from None
    except OSError as e:
        raise EnvironmentProblem(f"cannot run {args[0]}: {e.strerror or e}", hint=INSTALL_HINT) from None
    return Completed(p.returncode, p.stdout, p.stderr)


def find_tools(arch: str | None = None) -> Tools:
    """The first LLVM of the search order that knows processor ``arch`` (any, when None).

    Raises EnvironmentProblem, with the install command as hint, when there is
    none; the message says what was found and refused.
    """
    return _find_tools(arch, os.environ.get("ISAPROF_LLVM"), os.environ.get("PATH", ""))


@lru_cache(maxsize=64)
def _find_tools(arch: str | None, forced: str | None, path: str) -> Tools:
    refused: list[str] = []
    for objdump, why in _candidates(forced, path):
        tools = _tools_at(objdump)
        if tools is None:
            refused.append(f"{objdump} ({why}: no usable llvm-objdump/llvm-mc pair)")
        elif arch is None or arch in processors(str(tools.mc)):
            return tools
        else:
            refused.append(
                f"LLVM {'.'.join(map(str, tools.version))} at {objdump.parent} does not know {arch}"
            )
        if forced:  # an explicit choice is never silently replaced by another version
            break
    wanted = f" that knows {arch}" if arch else ""
    detail = "; ".join(refused) or "no llvm-objdump found"
    if forced:
        detail = f"$ISAPROF_LLVM={forced}: {detail}"
        hint = f"unset ISAPROF_LLVM, or set it to the directory of llvm-objdump   ({INSTALL_HINT})"
    else:
        hint = INSTALL_HINT
    raise EnvironmentProblem(f"no LLVM{wanted}: {detail}", hint=hint, kind="no_llvm")


def _candidates(forced: str | None, path: str) -> Iterator[tuple[Path, str]]:
    """llvm-objdump paths in search order, each once, with where it comes from."""
    if forced:
        yield Path(forced) / "llvm-objdump", "ISAPROF_LLVM"
        return
    seen: set[Path] = set()
    found: list[tuple[int, int, Path]] = []
    for rank, directory in enumerate(filter(None, path.split(os.pathsep))):
        for p in _glob(Path(directory), "llvm-objdump-*"):
            if m := re.fullmatch(r"llvm-objdump-(\d+)", p.name):
                found.append((-int(m[1]), rank, p))
    for p in _glob(DEBIAN_ROOT, "llvm-*/bin/llvm-objdump"):
        if m := re.fullmatch(r"llvm-(\d+)", p.parent.parent.name):
            found.append((-int(m[1]), 1 << 20, p))
    plain = shutil.which("llvm-objdump", path=path)
    order: list[tuple[Path, str]] = [(ROCM_BIN / "llvm-objdump", "ROCm")] if ROCM_BIN.is_dir() else []
    order += [(p, "versioned") for _, _, p in sorted(found)]
    order += [(Path(plain), "PATH")] if plain else []
    for p, why in order:
        real = p.resolve()
        if real not in seen and p.exists():
            seen.add(real)
            yield p, why


def _glob(directory: Path, pattern: str) -> list[Path]:
    try:
        return sorted(directory.glob(pattern))
    except OSError:
        return []


@lru_cache(maxsize=64)
def _tools_at(objdump: Path) -> Tools | None:
    """The tools that belong to ``objdump`` (same directory, same version suffix)."""
    suffix = objdump.name.removeprefix("llvm-objdump")
    version = _version(objdump)
    mc = _sibling(objdump, f"llvm-mc{suffix}")
    if version is None or mc is None:
        return None
    return Tools(
        objdump,
        mc,
        _sibling(objdump, f"ld.lld{suffix}"),
        _sibling(objdump, f"llvm-readelf{suffix}"),
        version,
    )


def _sibling(tool: Path, name: str) -> Path | None:
    """``name`` beside ``tool`` or beside the file that ``tool`` links to."""
    plain = re.sub(r"-\d+$", "", name)
    for p in (tool.parent / name, tool.resolve().parent / plain):
        if p.exists() and os.access(p, os.X_OK):
            return p
    return None


def _version(tool: Path) -> tuple[int, ...] | None:
    said = remembered(tool, "version", lambda: _ask_version(tool))
    return None if said is None else tuple(said)


def _ask_version(tool: Path) -> tuple[int, ...] | None:
    try:
        text = run_tool([tool, "--version"], timeout=20).stdout
    except EnvironmentProblem:
        return None
    m = re.search(r"LLVM version (\d+(?:\.\d+)*)", text)
    return tuple(int(x) for x in m[1].split(".")) if m else None


@lru_cache(maxsize=64)
def processors(mc: str) -> frozenset[str]:
    """AMDGPU processors that this ``llvm-mc`` lists (about 20 ms, cached in the process)."""
    return frozenset(remembered(Path(mc), "processors", lambda: _ask_processors(mc)) or ())


def _ask_processors(mc: str) -> list[str]:
    out = run_tool([mc, f"--triple={TRIPLE}", "--mcpu=help"], stdin="", timeout=20)
    cpus = (out.stdout + out.stderr).split("Available features", 1)[0]
    return sorted(set(re.findall(r"^\s+(gfx[0-9a-z-]+)\s+-\s", cpus, re.M)))


def assemble(source: str, arch: str, *, mattr: str | None = None, tools: Tools | None = None) -> bytes:
    """Assemble AMDGCN ``source`` for ``arch`` into a relocatable object (ELF bytes).

    ``mattr`` None means the project's default for the architecture (see
    :func:`default_mattr`). Raises BadInput with the assembler's own messages.
    """
    t = tools or find_tools(arch)
    attr = default_mattr(arch) if mattr is None else mattr
    argv: list[str | Path] = [t.mc, f"--triple={TRIPLE}", f"--mcpu={arch}", "--filetype=obj"]
    if attr:
        argv.append(f"--mattr={attr}")
    with tempfile.TemporaryDirectory(prefix="isaprof-") as d:
        out = Path(d) / "out.o"
        r = run_tool([*argv, "-o", out], stdin=source)
        if r.returncode != 0 or not out.exists():
            raise BadInput(f"llvm-mc: {r.stderr.strip()[:4000]}", kind="assembler")
        return out.read_bytes()


def link(objects: Sequence[bytes], *, tools: Tools | None = None) -> bytes:
    """Link relocatable objects into one code object (``ld.lld -shared``)."""
    lld = (tools or find_tools()).linker()
    with tempfile.TemporaryDirectory(prefix="isaprof-") as d:
        names = []
        for i, data in enumerate(objects):
            p = Path(d) / f"{i}.o"
            p.write_bytes(data)
            names.append(p)
        out = Path(d) / "out.co"
        r = run_tool([lld, "-shared", "--no-undefined", "-o", out, *names])
        if r.returncode != 0 or not out.exists():
            raise BadInput(f"ld.lld: {r.stderr.strip()[:4000]}", kind="linker")
        return out.read_bytes()


def default_mattr(arch: str) -> str:
    """Target features passed to LLVM for ``arch``: true16 names on gfx11 and later.

    LLVM 22 defaults to the old 16-bit register names on gfx12 and then prints
    ``v_mov_b16`` as ``.long`` and drops register halves in VOP3 forms; with
    ``+real-true16`` everything of gfx11 and gfx12 decodes, old objects too.
    """
    from isaprof import arch as tables

    return "+real-true16" if tables.has_true16(arch) else ""
