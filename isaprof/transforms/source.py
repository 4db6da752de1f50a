"""The assembly source behind a code object, and edits of single instructions in it.

An edit touches exactly the source lines of the instructions that it changes;
every other byte of the file stays. Which line an instruction comes from is
LLVM's own line table (:mod:`isaprof.asm.source_map`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from isaprof.asm import assemble_text, disassemble_object
from isaprof.asm.source_map import source_lines
from isaprof.codeobj.elf import CodeObject
from isaprof.errors import AnswerNo, BadInput
from isaprof.isa.decode import disassemble
from isaprof.isa.model import Instruction, Listing
from isaprof.transforms.model import Change, Edit

#: leading blank and labels, the instruction, blank and comment up to the end of the line
_STATEMENT = re.compile(r'^(\s*(?:(?:[\w.$@]+|"[^"]*"):\s*)*)(.*?)(\s*(?:(?://|;|#|/\*).*)?)$', re.S)


@dataclass(frozen=True)
class Source:
    """An assembly text, the object it assembles to, and which line each instruction is from."""

    text: str = field(repr=False)
    data: bytes = field(repr=False)  #: the code object that ``text`` assembles to
    listing: Listing = field(repr=False)
    #: listing index -> 1-based source line; absent for data
    line_of: Mapping[int, int] = field(repr=False)
    path: str | None = None

    @classmethod
    def of(cls, text: str, path: str | None = None) -> Source:
        """Assemble ``text``; BadInput with the assembler's message where it does not."""
        data = assemble_text(text, path)
        co = CodeObject.from_bytes(data, path=path)
        base = next((s.address for s in co.text if s.name == ".text"), None)
        listing = disassemble(data, path=path)
        offsets = source_lines(text, path) if base is not None else {}
        lines = {
            listing.by_pc[base + offset]: line
            for offset, line in offsets.items()
            if base is not None and base + offset in listing.by_pc
        }
        return cls(text, data, listing, lines, path)

    @classmethod
    def of_object(cls, data: bytes, path: str | None = None) -> Source:
        """The disassembly of a code object; BadInput where it does not assemble to the same code."""
        source = cls.of(disassemble_object(data, path=path).text, path)
        if _code(source.data) != _code(data):
            raise BadInput("its disassembly does not give the same code again", path=path, kind="round_trip")
        return source

    @classmethod
    def load(cls, path: str | Path, data: bytes) -> Source:
        """From the content ``data`` of a file: a code object (ELF), else assembly text."""
        if data.startswith(b"\x7fELF"):
            return cls.of_object(data, str(path))
        try:
            return cls.of(data.decode(), str(path))
        except UnicodeDecodeError:
            raise BadInput("neither a code object nor assembly text", path=path, kind="not_text") from None

    def apply(self, edit: Edit) -> str:
        """The text with ``edit`` made; AnswerNo where a line cannot be edited alone."""
        lines = self.text.split("\n")  # as LLVM counts them
        for change in sorted(edit.changes, key=lambda c: c.index, reverse=True):
            number = self._own_line(change.index)
            lines[number - 1 : number] = _changed(lines[number - 1], change)
        return "\n".join(lines)

    def statement(self, index: int) -> str:
        """The instruction as its source line has it: without labels and comment."""
        return _split(self.text.split("\n")[self._own_line(index) - 1])[1]

    def _own_line(self, index: int) -> int:
        """Line number of an instruction that has its line to itself."""
        ins = self.listing.instructions[index]
        number = self.line_of.get(index)
        if number is None:
            raise AnswerNo(f"no source line is known for {_where(ins)}", path=self.path, kind="no_line")
        sharing = [i for i, n in self.line_of.items() if n == number]
        if len(sharing) > 1:
            raise AnswerNo(
                f"line {number} makes {len(sharing)} instructions (macro or repetition): "
                f"{_where(ins)} cannot be edited alone",
                path=self.path,
                kind="several_instructions",
                hint="isaprof disasm writes a source in which every instruction has its line",
            )
        line = self.text.split("\n")[number - 1]
        word = _split(line)[1].split(None, 1)[:1]
        if not word or not _same_mnemonic(word[0], ins):
            raise AnswerNo(
                f"line {number} is not the instruction {_where(ins)} itself (a macro?): {line.strip()}",
                path=self.path,
                kind="macro",
                hint="isaprof disasm writes a source in which every instruction has its line",
            )
        return number


def is_binary(data: bytes) -> bool:
    """Whether the content of a file is binary (a code object, or a file that holds some), not text."""
    return b"\0" in data[:4096]


def _split(line: str) -> tuple[str, str, str]:
    """Labels with blank, instruction, comment with blank."""
    m = _STATEMENT.match(line)
    assert m is not None  # every part may be empty
    return m[1], m[2], m[3]


def _changed(line: str, change: Change) -> list[str]:
    """The source line, and what comes above and below it, after ``change``."""
    head, _, comment = _split(line)
    indent, end = (head, "\r" if line.endswith("\r") else "") if not head.strip() else ("\t", "")
    if change.before and head.strip():
        raise AnswerNo(f"a label stands on the line of {line.strip()!r}", kind="label_on_line")
    out = [_line(t, indent, end) for t in change.before]
    if change.lines is None:
        out.append(line)
    elif change.lines:
        out.append(head + change.lines[0] + comment)
        out += [_line(t, indent, end) for t in change.lines[1:]]
    elif head.strip():
        out.append(head.rstrip() + end)
    return out + [_line(t, indent, end) for t in change.after]


def _line(text: str, indent: str, end: str) -> str:
    return (text if text.endswith(":") else indent + text) + end


def _same_mnemonic(word: str, ins: Instruction) -> bool:
    word = word.lower()
    return word in (ins.mnemonic, ins.base) or re.sub(r"_(e32|e64|dpp|sdwa|e64_dpp)$", "", word) == ins.base


def _where(ins: Instruction) -> str:
    return f"{ins.pc:#x} {ins.text}"


def _code(data: bytes) -> list[tuple[str, int, bytes]]:
    return [(s.name, s.address, s.data) for s in CodeObject.from_bytes(data).text]
