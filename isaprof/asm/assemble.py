"""From the text of :mod:`isaprof.asm.disasm` (or a hand-written source) to a code object."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from isaprof.errors import BadInput
from isaprof.isa import llvm

_FACT = re.compile(r"^\s*[;#/]+\s*isaprof\.(mcpu|mattr)\s*[:=]\s*(\S*)\s*$", re.M)
_TARGET = re.compile(r'^\s*\.amdgcn_target\s+"([^"]+)"', re.M)


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """What the source says about its target."""

    mcpu: str
    mattr: str
    target_id: str | None


def build_facts(source: str, path: str | PathLike[str] | None = None) -> BuildFacts:
    """Target of an assembly source: ``; isaprof.mcpu: gfx942`` comments, else ``.amdgcn_target``.

    Raises BadInput when the source names no target.
    """
    facts = dict(_FACT.findall(source))
    target = _TARGET.search(source)
    target_id = target[1].rsplit("--", 1)[-1] if target else None
    mcpu = facts.get("mcpu") or (target_id.split(":")[0] if target_id else None)
    if not mcpu:
        raise BadInput(
            "names no target",
            path=path,
            hint='begin the file with: .amdgcn_target "amdgcn-amd-amdhsa--gfx942" (your GPU)',
            kind="no_target",
        )
    features = [] if target_id is None else target_id.split(":")[1:]
    attrs = [facts.get("mattr", llvm.default_mattr(mcpu))]
    attrs += [f"{f[-1]}{f[:-1]}" for f in features if f[-1:] in "+-" and len(f) > 1]
    return BuildFacts(mcpu, ",".join(a for a in attrs if a), target_id)


def assemble_text(source: str, path: str | PathLike[str] | None = None) -> bytes:
    """Assemble and link ``source`` for the target written in it; ELF bytes of the code object.

    ``path`` is the name used in messages. Raises BadInput whose message holds
    the assembler's lines, each with the line number in the user's file, and
    EnvironmentProblem where no LLVM knows the target.
    """
    facts = build_facts(source, path)
    tools = llvm.find_tools(facts.mcpu)
    linker = tools.linker()
    name = Path(path).name if path is not None else "input.s"
    with tempfile.TemporaryDirectory(prefix="isaprof-") as d:
        src, obj, out = Path(d) / name, Path(d) / "k.o", Path(d) / "k.co"
        src.write_text(source)
        argv: list[str | Path] = [
            tools.mc,
            f"--triple={llvm.TRIPLE}",
            f"--mcpu={facts.mcpu}",
            "--filetype=obj",
        ]
        if facts.mattr:
            argv.append(f"--mattr={facts.mattr}")
        done = llvm.run_tool([*argv, "-o", obj, src])
        if done.returncode != 0 or not obj.exists():
            text = done.stderr.replace(str(src), str(path) if path is not None else name)
            raise BadInput(f"does not assemble:\n{text.strip()[:8000]}", path=path, kind="assembler")
        done = llvm.run_tool([linker, "-shared", "--no-undefined", "-o", out, obj])
        if done.returncode != 0 or not out.exists():
            raise BadInput(f"does not link:\n{done.stderr.strip()[:8000]}", path=path, kind="linker")
        return out.read_bytes()


def assemble_file(path: str | PathLike[str]) -> bytes:
    """Code object made from the source file ``path``; errors as for :func:`assemble_text`."""
    try:
        source = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as e:
        raise BadInput(f"cannot read: {e}", path=path, kind="unreadable") from None
    return assemble_text(source, path)
