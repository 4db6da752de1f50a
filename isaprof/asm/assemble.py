"""From the text of :mod:`isaprof.asm.disasm` (or a hand-written source) to a code object.

Two LLVM runs: ``llvm-mc`` and ``ld.lld``. What LLVM's assembler cannot say,
the text says in comments, and :mod:`isaprof.asm.facts` carries it out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from os import PathLike
from typing import NamedTuple

from isaprof.asm import facts
from isaprof.asm.characters import unknown_characters
from isaprof.asm.facts import BuildFacts, build_facts
from isaprof.errors import BadInput, EnvironmentProblem
from isaprof.files import read_bytes
from isaprof.isa import llvm
from isaprof.isa.process import Completed, Running, prepare

__all__ = [
    "AssemblyErrors",
    "BuildFacts",
    "assemble_file",
    "assemble_text",
    "build_facts",
    "link",
    "to_object",
]

_ERROR_LINE = re.compile(r"^[^\n]*?:(\d+):\d+: (?:fatal )?error: ([^\n]*)", re.M)


class AssemblyErrors(NamedTuple):
    """Why a source does not assemble: the tool's text, and the line numbers it names."""

    text: str
    lines: dict[int, str]  #: 1-based line of the source -> first message about it


def to_object(
    source: str,
    name: str = "input.s",
    meanwhile: Callable[[], object] | None = None,
    *,
    will_link: bool = False,
) -> bytes | AssemblyErrors:
    """The relocatable object of ``source``, its facts carried out; or what is wrong with the source.

    ``meanwhile`` is called while the assembler runs; with ``will_link`` the linker
    loads then too, and the caller ends with :func:`isaprof.isa.process.forget`. BadInput where the source
    needs more memory, output or time than an assembler may take.
    """
    want = build_facts(source, name)
    if unknown := unknown_characters(source):
        said = {n: f"{what} can stand only in a comment or a string" for n, _, what in unknown}
        text = "\n".join(f"{name}:{n}:{column}: error: {said[n]}" for n, column, _ in unknown)
        return AssemblyErrors(text, said)
    running = llvm.start_mc(llvm.find_tools(want.mcpu), facts.expand_bits(source), want.mcpu, want.mattr)
    if will_link:
        prepare(llvm.lld_words(llvm.find_tools(want.mcpu), *want.link_options))
    if meanwhile is not None:
        meanwhile()
    done = _wait(running, name)
    if done.returncode != 0 or not done.output:
        found: dict[int, str] = {}
        for line, message in _ERROR_LINE.findall(done.stderr):
            found.setdefault(int(line), message)
        return AssemblyErrors(done.stderr.replace("<stdin>", name).strip(), found)
    return facts.finish_object(done.output, want)


def link(obj: bytes, want: BuildFacts, path: str | PathLike[str] | None = None) -> bytes:
    """The code object that ``ld.lld`` makes of a relocatable object; BadInput where it does not link."""
    done = _wait(llvm.start_lld(llvm.find_tools(want.mcpu), obj, *want.link_options), path)
    if done.returncode != 0 or not done.output:
        raise BadInput(f"does not link:\n{done.stderr.strip()[:8000]}", path=path, kind="linker")
    return facts.finish_linked(done.output, want)


def _wait(running: Running, path: str | PathLike[str] | None) -> Completed:
    try:
        return running.wait()
    except EnvironmentProblem as e:
        if e.kind not in ("tool_memory", "tool_output", "tool_timeout"):
            raise
        hint = "look for a large .fill, .space, .org or .rept; a .macro or .include that contains itself"
        raise BadInput(e.message, path=path, hint=hint, kind=e.kind) from None


def assemble_text(source: str, path: str | PathLike[str] | None = None) -> bytes:
    """Assemble and link ``source`` for the target written in it; ELF bytes of the code object.

    ``path`` is the name used in messages. Raises BadInput whose message holds
    the assembler's lines, each with the line number in the user's file, and
    EnvironmentProblem where no LLVM knows the target.
    """
    want = build_facts(source, path)
    made = to_object(source, str(path) if path is not None else "input.s")
    if isinstance(made, AssemblyErrors):
        raise BadInput(f"does not assemble:\n{made.text[:8000]}", path=path, kind="assembler")
    return link(made, want, path)


def assemble_file(path: str | PathLike[str]) -> bytes:
    """Code object made from the source file ``path``; errors as for :func:`assemble_text`."""
    return assemble_text(read_text(path), path)


def read_text(path: str | PathLike[str]) -> str:
    """The source in a file, without byte order mark, lines ended by LF; BadInput where it is no text."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as e:
        binary = e.object.startswith(b"\x7fELF")
        what = "a code object" if binary else f"no UTF-8 text (byte {e.object[e.start]:#04x})"
        raise BadInput(
            f"{what}; assembly text is needed",
            path=path,
            offset=None if binary else e.start,
            kind="not_text",
            hint=f"isaprof disasm {path} -o KERNEL.s" if binary else None,
        ) from None
