"""From machine code to :class:`~isaprof.isa.model.Listing`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from os import PathLike
from types import MappingProxyType

from isaprof import arch as tables
from isaprof.isa.classify import categorise
from isaprof.isa.effects import Effects, effects_of
from isaprof.isa.model import Category, Instruction, Listing, Operand, OperandKind, Pipe
from isaprof.isa.objdump import CodeRange, disassemble_ranges
from isaprof.isa.text import ParsedText, parse_text


def disassemble(data: bytes, *, arch: str | None = None, path: str | PathLike[str] | None = None) -> Listing:
    """Decode all text of the ELF code object ``data``.

    ``arch`` is needed only for minimal objects that do not say for what they
    were made; a contradiction with the ELF header is an error. Raises BadInput
    (not a code object, see :class:`isaprof.codeobj.elf.CodeObject`) and
    EnvironmentProblem (no LLVM that knows the target).
    """
    from isaprof.codeobj.elf import CodeObject

    co = CodeObject.from_bytes(data, path=path, arch=arch)
    return listing_of(co.arch, [CodeRange(r.address, r.data) for r in co.text], co.labels)


def listing_of(arch: str, ranges: Sequence[CodeRange], labels: dict[int, str] | None = None) -> Listing:
    """Listing of raw code ``ranges`` (address, bytes) for ``arch``."""
    names = dict(sorted((labels or {}).items()))
    rows = disassemble_ranges(ranges, arch, names)
    instructions = decode_lines(arch, rows)
    by_pc = {i.pc: i.index for i in instructions}
    return Listing(arch, instructions, MappingProxyType(names), MappingProxyType(by_pc))


def decode_lines(
    arch: str, lines: Iterable[tuple[int, Sequence[int], str]], *, first_index: int = 0
) -> tuple[Instruction, ...]:
    """Instructions from (pc, words, text) rows; ``words`` may be empty (then ``size`` is 0).

    ``text`` is LLVM's syntax for ``arch``; comments (``//``, ``;``) and
    surrounding blanks are dropped.
    """
    family = tables.generation(arch)
    return tuple(
        _instruction(arch, family, first_index + n, pc, tuple(words), text)
        for n, (pc, words, text) in enumerate(lines)
    )


def _instruction(
    arch: str, family: str, index: int, pc: int, words: tuple[int, ...], text: str
) -> Instruction:
    if "//" in text:
        text = text.split("//", 1)[0]
    text = text.split(";", 1)[0].strip() if ";" in text else text.strip()
    parsed, category, traced, pipe, fx = _template(arch, text)
    size = 4 * len(words)
    operands, target = parsed.operands, None
    if pipe is Pipe.BRANCH and operands and (t := _target(parsed, pc)) is not None:
        target = t
        last = operands[-1]
        operands = (*operands[:-1], Operand(last.text, OperandKind.TARGET, value=target))
    return Instruction(
        index, pc, size, words, text, parsed.mnemonic, parsed.base, parsed.enc,
        operands, parsed.modifiers,
        None if parsed.dual is None else _dual(arch, family, index, pc, parsed.dual),
        category, traced, pipe, fx.reads, fx.writes, fx.mem, fx.counters, fx.waits, target,
    )  # fmt: skip


@lru_cache(maxsize=65536)
def _template(arch: str, text: str) -> tuple[ParsedText, Category, bool, Pipe, Effects]:
    parsed = parse_text(text)
    category, traced, pipe = categorise(parsed.base)
    return parsed, category, traced, pipe, effects_of(arch, parsed, category, pipe)


def _dual(arch: str, family: str, index: int, pc: int, parsed: ParsedText) -> Instruction:
    """The Y half of a VOPD pair: same place, no words of its own."""
    category, traced, pipe = categorise(parsed.base)
    fx = effects_of(arch, parsed, category, pipe)
    text = " ".join((parsed.mnemonic, ", ".join(o.text for o in parsed.operands))).strip()
    return Instruction(
        index, pc, 0, (), text, parsed.mnemonic, parsed.base, parsed.enc, parsed.operands, parsed.modifiers,
        None, category, traced, pipe, fx.reads, fx.writes,
    )  # fmt: skip


def _target(parsed: ParsedText, pc: int) -> int | None:
    """Destination of a direct branch: pc + 4 + 4 * simm16 (displacement is the last operand)."""
    last = parsed.operands[-1]
    if last.kind is not OperandKind.INT or not isinstance(last.value, int):
        return None
    if not ("branch" in parsed.base or parsed.base.startswith(("s_call", "s_subvector_loop"))):
        return None
    simm16 = last.value & 0xFFFF
    return pc + 4 + 4 * (simm16 - 0x10000 if simm16 & 0x8000 else simm16)
