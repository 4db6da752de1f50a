"""From machine code to :class:`~isaprof.isa.model.Listing`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from os import PathLike

from isaprof import arch as tables
from isaprof.isa.classify import categorise
from isaprof.isa.effects import Effects, effects_of
from isaprof.isa.model import Category, Instruction, Listing, Operand, OperandKind, Pipe
from isaprof.isa.objdump import CodeRange, disassemble_ranges
from isaprof.isa.text import ParsedText, parse_text
from isaprof.isa.vgpr_msb import resolve


def disassemble(data: bytes, *, arch: str | None = None, path: str | PathLike[str] | None = None) -> Listing:
    """Decode all text of the ELF code object ``data``.

    ``arch`` is needed only for minimal objects that do not say for what they
    were made; a contradiction with the ELF header is an error. Raises BadInput
    (not a code object, see :class:`isaprof.codeobj.elf.CodeObject`) and
    EnvironmentProblem (no LLVM that knows the target).
    """
    from isaprof.codeobj.elf import CodeObject

    co = CodeObject.from_bytes(data, path=path, arch=arch)
    ranges = [CodeRange(s.address, s.data) for s in co.text]
    starts = {k.start for k in co.kernels}
    sizes = [(k.entry, k.size, k.wave_size) for k in co.kernels]
    return listing_of(co.arch, ranges, co.labels, sizes, starts)


def listing_of(
    arch: str,
    ranges: Sequence[CodeRange],
    labels: Mapping[int, str] | None = None,
    kernels: Sequence[tuple[int, int, int]] = (),
    starts: Iterable[int] = (),
) -> Listing:
    """Listing of raw code ``ranges`` (address, bytes) for ``arch``.

    ``kernels`` are (entry, size, wave size): on RDNA the wave size decides how
    many SGPRs a lane mask has (``vcc_lo`` or ``vcc``), and the code itself does
    not tell. Code outside the kernels is read with the size most of them have.
    ``starts``: where waves start besides the entries (kernarg preload).
    """
    names = dict(sorted((labels or {}).items()))
    default: int = tables.family_table(arch)["wave_sizes"][0]
    sizes = [w for _, _, w in kernels]
    usual = max(set(sizes), key=sizes.count) if sizes else default
    rows = {w: disassemble_ranges(ranges, arch, names, wave_size=w) for w in {usual, *sizes}}
    entries = {*starts, *(entry for entry, _, _ in kernels)}
    usual_rows, unknown = resolve(rows.pop(usual), arch, entries, names)
    instructions = decode_lines(arch, usual_rows, wave_size=usual)
    for wave_size, other in rows.items():
        spans = [(entry, entry + size) for entry, size, w in kernels if w == wave_size]
        instructions = _replace(instructions, decode_lines(arch, other, wave_size=wave_size), spans)
    by_pc = {i.pc: i.index for i in instructions}
    return Listing(arch, instructions, names, by_pc, unknown)


def _replace(
    base: tuple[Instruction, ...], other: tuple[Instruction, ...], spans: Sequence[tuple[int, int]]
) -> tuple[Instruction, ...]:
    """``base`` with the instructions of ``other`` inside ``spans`` (the same words, read otherwise)."""
    at = {i.pc: i for i in other if any(a <= i.pc < b for a, b in spans)}
    return tuple(
        replace(at[i.pc], index=i.index) if i.pc in at and at[i.pc].words == i.words else i for i in base
    )


def decode_lines(
    arch: str,
    lines: Iterable[tuple[int, Sequence[int], str]],
    *,
    first_index: int = 0,
    wave_size: int | None = None,
) -> tuple[Instruction, ...]:
    """Instructions from (pc, words, text) rows; ``words`` may be empty (then ``size`` is 0).

    ``text`` is LLVM's syntax for ``arch``; comments (``//``, ``;``) and
    surrounding blanks are dropped. ``wave_size`` (default: the architecture's
    first) gives implicit EXEC and VCC their width.
    """
    table = tables.family_table(arch)
    lanes: int = wave_size or table["wave_sizes"][0]
    return tuple(
        _instruction(table.name, lanes, first_index + n, pc, tuple(words), text)
        for n, (pc, words, text) in enumerate(lines)
    )


def _instruction(
    table_name: str, wave_size: int, index: int, pc: int, words: tuple[int, ...], text: str
) -> Instruction:
    if "//" in text:
        text = text.split("//", 1)[0]
    text = text.split(";", 1)[0].strip() if ";" in text else text.strip()
    parsed, category, traced, pipe, fx = _template(table_name, wave_size, text)
    size = 4 * len(words)
    operands, target = parsed.operands, None
    if pipe is Pipe.BRANCH and operands and (t := _target(parsed, pc)) is not None:
        target = t
        last = operands[-1]
        operands = (*operands[:-1], Operand(last.text, OperandKind.TARGET, value=target))
    return Instruction(
        index, pc, size, words, text, parsed.mnemonic, parsed.base, parsed.enc,
        operands, parsed.modifiers,
        None if parsed.dual is None else _dual(table_name, wave_size, index, pc, parsed.dual),
        category, traced, pipe, fx.reads, fx.writes, fx.mem, fx.counters, fx.waits, target,
    )  # fmt: skip


@lru_cache(maxsize=65536)
def _template(table_name: str, wave_size: int, text: str) -> tuple[ParsedText, Category, bool, Pipe, Effects]:
    """All that does not depend on the address."""
    parsed = parse_text(text)
    category, traced, pipe = categorise(parsed.base)
    fx = effects_of(tables.family_table(table_name), parsed, category, pipe, wave_size)
    return parsed, category, traced, pipe, fx


def _dual(table_name: str, wave_size: int, index: int, pc: int, parsed: ParsedText) -> Instruction:
    """The Y half of a VOPD pair: same place, no words of its own."""
    category, traced, pipe = categorise(parsed.base)
    fx = effects_of(tables.family_table(table_name), parsed, category, pipe, wave_size)
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
