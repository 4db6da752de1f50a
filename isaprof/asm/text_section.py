"""An executable section as text: instructions, labels, sizes, alignment, padding."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from isaprof.asm.code import Code, padding
from isaprof.asm.layout import FullSection, FullSymbol
from isaprof.asm.names import Names, declare
from isaprof.isa.objdump import Row


class Writer:
    """Lines of a text, remembering which line is which row of the code."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.row_of: dict[int, int] = {}  #: 1-based line -> row

    def add(self, *lines: str) -> None:
        self.lines += lines

    def row(self, n: int, line: str) -> None:
        self.lines.append(line)
        self.row_of[len(self.lines)] = n

    def replace(self, keep: Mapping[int, str]) -> None:
        """Write other lines for some rows; everything else stays as it is."""
        for line, n in self.row_of.items():
            if n in keep:
                self.lines[line - 1] = keep[n]


def symbolic(code: Code, names: Names) -> dict[int, str]:
    """Row -> its text with a label instead of the number; makes the labels it needs.

    Branches, calls, and literals added to the PC (see :class:`~isaprof.asm.code.Reference`).
    """
    out: dict[int, str] = {}
    sections = [s for s in names.layout.sections if s.executable]
    for n, target in code.branches.items():
        pc, _, text = code.rows[n]
        here = next((s for s in sections if s.address <= pc < s.end), None)
        label = None if here is None else names.label(target, here)
        if label is not None:
            out[n] = f"{text.rpartition(' ')[0]} {label}"
    got_start, got_end = names.layout.got
    for n, ref in code.references.items():
        if got_start <= ref.target < got_end:
            slot = next((r for r in names.layout.relocations if r.offset == ref.target and r.symbol), None)
            if slot is not None:
                distance = code.rows[n][0] + 4 - ref.base  # from the PC read to the literal
                out[n] = f"{ref.head}{names.of(slot.symbol)}@gotpcrel32@lo+{distance}"
            continue
        target_label = names.label(ref.target)
        base = names.label(ref.base, prefix=".Lpc_")
        if target_label is not None and base is not None:
            out[n] = f"{ref.head}{target_label}-{base}"
    return out


def write_text(
    out: Writer,
    section: FullSection,
    code: Code,
    texts: Mapping[int, str],
    names: Names,
    keep: Mapping[int, str],
    aligned: frozenset[int],
    bounds: frozenset[int],
    *,
    fixed: bool,
) -> None:
    """Append the section. ``keep``: row -> whole line to write instead of the row's text.

    ``aligned``: addresses that stay multiples of 256 (kernel entries). ``bounds``: where
    functions begin. ``fixed``
    writes every gap as so many words instead of as alignment.
    """
    name = section.name
    out.add("", "\t.text" if name == ".text" else f'\t.section\t{name},"ax",@progbits')
    out.add(f"\t.p2align\t{section.align.bit_length() - 1}")
    first = bisect_left(code.rows, (section.address,))
    here = code.rows[first : bisect_left(code.rows, (section.end,))]
    places = {pc for pc, _, _ in here} | {section.end}
    starts = names.at[name]
    ends: dict[int, list[FullSymbol]] = {}
    for symbols in starts.values():
        for s in symbols:
            if s.size and s.value in places and s.value + s.size in places:
                ends.setdefault(s.value + s.size, []).append(s)
    stops = {*starts, *names.made[name]}
    runs = padding(here, stops, ends, {*bounds, section.end})
    # an alignment directive would raise the alignment of the whole section
    aligned = aligned if section.align >= 256 and not fixed else frozenset()
    fixed = fixed or section.align < 64
    marked = {*stops, *ends, *aligned}
    k = 0
    while k < len(here):
        pc, words, text = here[k]
        if pc in marked:
            _place(out, pc, names, name, starts, ends, pc in aligned)
        if k in runs:
            run = runs[k]
            out.add(*_padding(words[0], text, run, pc + 4 * run, aligned, fixed=fixed))
            k += run
            continue
        out.row(first + k, keep.get(first + k) or "\t" + texts.get(first + k, text))
        k += 1
    tail = section.data[4 * (len(section.data) // 4) :]
    if tail:
        out.add("\t.byte\t" + ",".join(str(b) for b in tail))
    _place(out, section.end, names, name, starts, ends, False)
    _elsewhere(out, section, names, places)


def _place(
    out: Writer,
    pc: int,
    names: Names,
    section: str,
    starts: Mapping[int, Sequence[FullSymbol]],
    ends: Mapping[int, Sequence[FullSymbol]],
    aligned: bool,
) -> None:
    """What stands before the instruction at ``pc``."""
    for s in ends.get(pc, ()):
        out.add(f"\t.size\t{names.written(s)}, .-{names.written(s)}")
    if aligned:
        out.add("", "\t.p2align\t8")
    here = starts.get(pc, ())
    for s in here:
        out.add(*declare(s, names.written(s)))
    for s in here:
        out.add(f"{names.written(s)}:")
    out.add(*(f"{label}:" for label in names.labels_at(section, pc)))


def _elsewhere(out: Writer, section: FullSection, names: Names, places: set[int]) -> None:
    """Symbols and labels inside an instruction or outside the section, by their distance; odd sizes."""
    for address, symbols in names.at[section.name].items():
        for s in symbols:
            name = names.written(s)
            if address not in places:
                out.add(*declare(s, name), f"\t.set {name}, {_from_start(out, section, address, names)}")
            if s.size and (address not in places or address + s.size not in places):
                out.add(f"\t.size\t{name}, {s.size}")
    for address, labels in names.made[section.name].items():
        if address not in places:
            out.add(*(f"\t.set {x}, {_from_start(out, section, address, names)}" for x in labels))


def _from_start(out: Writer, section: FullSection, address: int, names: Names) -> str:
    """``address`` as a distance from the end of the section."""
    label = f".Lend_{section.address:x}"
    if f"{label}:" not in out.lines[-400:]:
        out.add(f"{label}:")
    return f"{label}{address - section.end:+d}"


def _padding(word: int, text: str, run: int, end: int, aligned: frozenset[int], *, fixed: bool) -> list[str]:
    """Padding words, as alignment where that is what they are, so that it shrinks when code grows."""
    note = f"\t; {run} x {text}"
    if end in aligned and run < 64:
        return [f"\t.p2alignl\t8, {word:#x}{note}"]
    if not fixed and (end - 48 * 4) % 64 == 0 and 0 <= run - 48 < 16 and word:
        # the compiler's end-of-code padding: up to the next 64 bytes, then 48 words
        return [f"\t.p2alignl\t6, {word:#x}{note}", f"\t.fill\t48, 4, {word:#x}"]
    return [f"\t.fill\t{run}, 4, {word:#x}{note}"]


def word_line(row: Row) -> str:
    """The instruction as data, with its text as a comment."""
    return "\t.long\t" + ", ".join(f"{w:#010x}" for w in row[1]) + f"\t; {row[2]}"
