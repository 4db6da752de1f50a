"""Finding LLVM's AMDGPU tools and running them.

Search order: ``$ISAPROF_LLVM`` (a ``bin`` directory or what it lies in), ``/opt/rocm/llvm/bin``,
``llvm-objdump-NN`` on PATH and ``/usr/lib/llvm-NN/bin`` (newest first), then
the unversioned ``llvm-objdump`` on PATH. A version that does not list the
wanted processor is refused: LLVM 14, for one, warns about an unknown
``--mcpu`` and then disassembles something else or aborts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from isaprof.errors import BadInput, EnvironmentProblem
from isaprof.isa.process import TIMEOUT_S, Completed, Running, start
from isaprof.isa.tool_facts import remembered

TRIPLE = "amdgcn-amd-amdhsa"
INSTALL_HINT = "apt-get install llvm-22 lld-22"
ROCM_BIN = Path("/opt/rocm/llvm/bin")
DEBIAN_ROOT = Path("/usr/lib")


class Tools(NamedTuple):
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


def run_tool(
    argv: Sequence[str | Path], *, stdin: str | bytes = b"", timeout: float = TIMEOUT_S
) -> Completed:
    """Run one LLVM tool, without a shell and within the limits of :mod:`isaprof.isa.process`.

    Raises EnvironmentProblem when the tool cannot be started, or needs more
    than ``timeout`` seconds, or more memory or output than it may. A non-zero
    exit is for the caller to judge.
    """
    return launch(argv, stdin).wait(timeout)


def launch(argv: Sequence[str | Path], stdin: str | bytes = b"") -> Running:
    """Start one LLVM tool; other work can be done until ``wait()``."""
    try:
        return start(argv, stdin if isinstance(stdin, bytes) else stdin.encode("utf-8", "surrogateescape"))
    except EnvironmentProblem as e:
        raise EnvironmentProblem(e.message, hint=INSTALL_HINT) from None


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
        place = Path(forced)
        inside = place / "bin" / "llvm-objdump"
        here = place / "llvm-objdump"
        yield inside if inside.exists() and not here.exists() else here, "ISAPROF_LLVM"
        return
    seen: set[Path] = set()
    found: list[tuple[int, int, Path]] = []
    for rank, directory in enumerate(filter(None, path.split(os.pathsep))):
        for name in _names(directory):
            if m := re.fullmatch(r"llvm-objdump-(\d+)", name):
                found.append((-int(m[1]), rank, Path(directory, name)))
    for name in _names(DEBIAN_ROOT):
        if m := re.fullmatch(r"llvm-(\d+)", name):
            found.append((-int(m[1]), 1 << 20, DEBIAN_ROOT / name / "bin" / "llvm-objdump"))
    plain = next(
        (f for d in path.split(os.pathsep) if d and os.access(f := f"{d}/llvm-objdump", os.X_OK)), None
    )
    order: list[tuple[Path, str]] = [(ROCM_BIN / "llvm-objdump", "ROCm")] if ROCM_BIN.is_dir() else []
    order += [(p, "versioned") for _, _, p in sorted(found)]
    order += [(Path(plain), "PATH")] if plain else []
    for p, why in order:
        real = p.resolve()
        if real not in seen and p.exists():
            seen.add(real)
            yield p, why


def _names(directory: str | Path) -> list[str]:
    """Files called llvm-... in a directory (a glob over /usr/bin takes milliseconds)."""
    try:
        return sorted(n for n in os.listdir(directory) if n.startswith("llvm-"))
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
    return _made("llvm-mc", start_mc(t, source, arch, attr).wait(), "assembler")


def link(objects: Sequence[bytes], *, tools: Tools | None = None) -> bytes:
    """Link one relocatable object (in a list, as linkers take them) into a code object."""
    (obj,) = objects
    running = start_lld(tools or find_tools(), obj, "-shared", "--no-undefined")
    return _made("ld.lld", running.wait(), "linker")


def _made(tool: str, done: Completed, kind: str) -> bytes:
    if done.returncode != 0 or not done.output:
        raise BadInput(f"{tool}: {done.stderr.strip()[:4000]}", kind=kind)
    return done.output


def start_mc(tools: Tools, source: str, arch: str, mattr: str, *options: str) -> Running:
    """Start llvm-mc on ``source``; the relocatable object is its output."""
    return launch(mc_words(tools, arch, mattr, *options), source)


def mc_words(tools: Tools, arch: str, mattr: str, *options: str) -> list[str | Path]:
    """The command of :func:`start_mc`."""
    argv: list[str | Path] = [tools.mc, f"--triple={TRIPLE}", f"--mcpu={arch}", "--filetype=obj"]
    if mattr:
        argv.append(f"--mattr={mattr}")
    return [*argv, *options, "-o", "-", "-"]


def mc_features(mattr: str, target_id: str | None) -> str:
    """What llvm-mc is told of the target beside its name: ``mattr``, and the settings of the target id."""
    features = [] if target_id is None else target_id.split(":")[1:]
    attrs = [mattr, *(f"{f[-1]}{f[:-1]}" for f in features if f[-1:] in "+-" and len(f) > 1)]
    return ",".join(a for a in attrs if a)


def start_lld(tools: Tools, obj: bytes, *options: str) -> Running:
    """Start ld.lld on one relocatable object; the linked file is its output."""
    return launch(lld_words(tools, *options), obj)


def lld_words(tools: Tools, *options: str) -> list[str | Path]:
    """The command of :func:`start_lld`. One small input: threads cost more than they save."""
    return [tools.linker(), "--threads=1", *options, "-o", "-", "/dev/stdin"]


def default_mattr(arch: str) -> str:
    """Target features passed to LLVM for ``arch``: true16 names on gfx11 and later.

    LLVM 22 defaults to the old 16-bit register names on gfx12 and then prints
    ``v_mov_b16`` as ``.long`` and drops register halves in VOP3 forms; with
    ``+real-true16`` everything of gfx11 and gfx12 decodes, old objects too.
    """
    from isaprof import arch as tables

    return "+real-true16" if tables.has_true16(arch) else ""
