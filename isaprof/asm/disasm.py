"""A code object as reassemblable text that a human can edit.

The text carries all that is needed to rebuild the object: target, code-object
version, code with labels, descriptors, metadata, symbols, other data. Nothing
of the original file is needed afterwards. Where LLVM's text of an instruction
would not assemble to the very same bytes, the words stand as ``.long`` with
the instruction as a comment; how many is reported.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from isaprof.asm import encode_check
from isaprof.asm.descriptor_text import descriptor_lines
from isaprof.asm.layout import FullSection, FullSymbol, read_layout
from isaprof.asm.metadata_text import to_yaml
from isaprof.codeobj.descriptor import SIZE as DESCRIPTOR_SIZE
from isaprof.codeobj.elf import CodeObject
from isaprof.errors import BadInput
from isaprof.isa import llvm
from isaprof.isa.decode import disassemble
from isaprof.isa.model import Instruction, Listing

_BARE_NAME = re.compile(r"[A-Za-z_.$][A-Za-z0-9_.$@]*")
#: runs of this many equal padding words become one .fill line
_RUN = 4


@dataclass(frozen=True, slots=True)
class Disassembly:
    """The text and what was done to make it exact."""

    text: str
    kernels: tuple[str, ...]
    instructions: int
    kept_as_words: int  #: instructions written as ``.long`` because their text would not reproduce the bytes


def disassemble_object(
    data: bytes, *, path: str | PathLike[str] | None = None, arch: str | None = None
) -> Disassembly:
    """Reassemblable text of the code object ``data``.

    Raises BadInput for files that are no code object, and for kinds whose text
    cannot carry them yet (code object v2/v3, dynamic relocations, minimal ELF).
    """
    co = CodeObject.from_bytes(data, path=path, arch=arch)
    where = None if path is None else str(path)
    if co.minimal or co.code_object_version not in (4, 5, 6):
        what = "a minimal ELF" if co.minimal else f"code object version {co.code_object_version}"
        raise BadInput(f"{what} cannot be rewritten as assembly yet", path=where, kind="unsupported")
    layout = read_layout(data, where)
    if layout.relocations:
        raise BadInput(
            f"{layout.relocations} dynamic relocations cannot be rewritten yet",
            path=where,
            kind="unsupported",
        )
    listing = disassemble(data, path=path, arch=arch)
    words = encode_check.words_to_keep(listing)
    out = _header(co)
    out += _absolute_symbols(layout.symbols)
    labels = _labels(listing, layout.symbols)
    for section in layout.sections:
        here = [s for s in layout.symbols if s.section == section.name]
        if section.executable:
            out += _text_section(section, here, listing, labels, words)
        else:
            out += _data_section(section, here, {k.symbol: k.name for k in co.kernels}, labels, co)
    if co.metadata:  # the assembler refuses an empty one
        out += ["", "\t.amdgpu_metadata", to_yaml(co.metadata).rstrip("\n"), "\t.end_amdgpu_metadata"]
    out.append("")
    return Disassembly(
        "\n".join(out), tuple(k.name for k in co.kernels), len(listing.instructions), len(words)
    )


def _header(co: CodeObject) -> list[str]:
    mattr = llvm.default_mattr(co.arch)
    return [
        f"; isaprof.mcpu: {co.arch}",
        f"; isaprof.mattr: {mattr}",
        "; Edit freely; `isaprof asm FILE.s -o FILE.co` builds it again.",
        f'\t.amdgcn_target "amdgcn-amd-amdhsa--{co.target_id}"',
        f"\t.amdhsa_code_object_version {co.code_object_version}",
    ]


def quote(name: str) -> str:
    """A symbol name as the assembler takes it."""
    if _BARE_NAME.fullmatch(name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _absolute_symbols(symbols: Sequence[FullSymbol]) -> list[str]:
    return [f"\t.set {quote(s.name)}, {s.value}" for s in symbols if s.section is None]


def _labels(listing: Listing, symbols: Sequence[FullSymbol]) -> dict[int, str]:
    """Address -> label to write branches with: the object's own, else one made from the address."""
    own: dict[int, str] = {}
    for s in symbols:
        if s.section is not None and s.value not in own and listing.at(s.value) is not None:
            own[s.value] = s.name
    targets = {i.target for i in listing.instructions if i.target is not None and i.target in listing.by_pc}
    made = {t: f".L_{t:x}" for t in sorted(targets) if t not in own}
    return {**own, **made}


def _declare(s: FullSymbol) -> list[str]:
    name = quote(s.name)
    out = []
    if s.bind == "GLOBAL":
        out.append(f"\t.globl\t{name}")
    elif s.bind == "WEAK":
        out.append(f"\t.weak\t{name}")
    if s.visibility != "DEFAULT":
        out.append(f"\t.{s.visibility.lower()}\t{name}")
    if s.type in ("FUNC", "OBJECT"):
        out.append(f"\t.type\t{name},@{'function' if s.type == 'FUNC' else 'object'}")
    return out


def _text_section(
    section: FullSection,
    symbols: Sequence[FullSymbol],
    listing: Listing,
    labels: Mapping[int, str],
    keep: Mapping[int, str],
) -> list[str]:
    """Instructions, labels, sizes and alignment of one executable section."""
    flags = "" if section.name == ".text" else ',"ax",@progbits'
    out = ["", f"\t.section\t{section.name}{flags}" if flags else "\t.text"]
    end = section.address + len(section.data)
    starts: dict[int, list[FullSymbol]] = {}
    ends: dict[int, list[FullSymbol]] = {}
    for s in symbols:
        starts.setdefault(s.value, []).append(s)
        if s.size:
            ends.setdefault(s.value + s.size, []).append(s)
    code = [i for i in listing.instructions if section.address <= i.pc < end]
    aligned = {a for a, here in starts.items() if a % 256 == 0 and any(s.type == "FUNC" for s in here)}
    out.append(f"\t.p2align\t{section.align.bit_length() - 1}")
    n = 0
    while n < len(code):
        ins = code[n]
        out += _sizes(ends.get(ins.pc, ()))
        out += _entry(starts.get(ins.pc, ()), ins.pc, ins.pc in aligned, labels)
        run = _padding_run(code, n, starts, ends, labels)
        if run >= _RUN:
            out += _padding(ins, run, ins.pc + run * 4, aligned)
            n += run
            continue
        out.append(keep.get(ins.index) or _line(ins, labels))
        n += 1
    tail = section.data[code[-1].end - section.address :] if code else section.data
    if tail:
        out.append("\t.byte\t" + ",".join(str(b) for b in tail))
    out += _sizes(ends.get(end, ()))
    for s in starts.get(end, ()):
        out += [*_declare(s), f"{quote(s.name)}:"]
    return out


def _entry(here: Sequence[FullSymbol], pc: int, aligned: bool, labels: Mapping[int, str]) -> list[str]:
    out: list[str] = []
    if aligned:
        out += ["", "\t.p2align\t8"]
    for s in here:
        out += _declare(s)
    names = [s.name for s in here]
    if pc in labels and labels[pc] not in names:
        names.append(labels[pc])
    return out + [f"{quote(n)}:" for n in names]


def _sizes(ending: Sequence[FullSymbol]) -> list[str]:
    return [f"\t.size\t{quote(s.name)}, .-{quote(s.name)}" for s in ending]


def _padding_run(
    code: Sequence[Instruction],
    n: int,
    starts: Mapping[int, object],
    ends: Mapping[int, object],
    labels: Mapping[int, str],
) -> int:
    """Length of the run of equal, unreachable one-word instructions that begins at ``n``."""
    first = code[n]
    if len(first.words) != 1 or first.is_branch or n == 0:
        return 0
    if code[n - 1].base not in ("s_endpgm", "s_setpc_b64", "s_branch") and code[n - 1].words != first.words:
        return 0
    if code[n - 1].base not in ("s_endpgm", "s_setpc_b64", "s_branch", "s_code_end", ".long"):
        return 0
    m = n
    while (
        m < len(code)
        and code[m].words == first.words
        and (m == n or (code[m].pc not in starts and code[m].pc not in labels and code[m].pc not in ends))
    ):
        m += 1
    return 0 if first.pc in labels else m - n


def _padding(ins: Instruction, run: int, end: int, aligned: set[int]) -> list[str]:
    """Padding words, as alignment where that is what they are, so that it shrinks when code grows."""
    word = f"{ins.words[0]:#x}"
    note = f"\t; {run} x {ins.text}"
    if end in aligned and run < 64:
        return [f"\t.p2alignl\t8, {word}{note}"]
    if (end - 48 * 4) % 64 == 0 and 0 <= run - 48 < 16:
        # the compiler's end-of-code padding: up to the next 64 bytes, then 48 words
        return [f"\t.p2alignl\t6, {word}{note}", f"\t.fill\t48, 4, {word}"]
    return [f"\t.fill\t{run}, 4, {word}{note}"]


def _line(ins: Instruction, labels: Mapping[int, str]) -> str:
    if ins.target is not None and ins.target in labels:
        head, _, _ = ins.text.rpartition(ins.operands[-1].text)
        return f"\t{head}{quote(labels[ins.target])}"
    return f"\t{ins.text}"


def _data_section(
    section: FullSection,
    symbols: Sequence[FullSymbol],
    kernels: Mapping[str, str],
    labels: Mapping[int, str],
    co: CodeObject,
) -> list[str]:
    """Descriptors field by field, everything else as bytes."""
    kind = "nobits" if section.nobits else "progbits"
    flags = "a" + ("w" if section.writable else "")
    out = [
        "",
        f'\t.section\t{section.name},"{flags}",@{kind}',
        f"\t.p2align\t{section.align.bit_length() - 1}",
    ]
    at = section.address
    end = section.address + section.size
    entries = {k.symbol: labels[k.entry] for k in co.kernels if k.entry in labels}
    cuts = sorted({s.value for s in symbols if section.address <= s.value < end} | {end})
    for cut in cuts:
        out += _bytes(section, at, cut)
        at = cut
        here = [s for s in symbols if s.value == cut and cut < end]
        for s in here:
            out += [*_declare(s), f"{quote(s.name)}:"]
        for s in here:
            if s.name in kernels and s.name in entries and not section.nobits:
                raw = section.data[cut - section.address : cut - section.address + DESCRIPTOR_SIZE]
                if len(raw) == DESCRIPTOR_SIZE:
                    out += descriptor_lines(raw, quote(entries[s.name]), quote(s.name))
                    at = cut + DESCRIPTOR_SIZE
                    break
        out += [f"\t.size\t{quote(s.name)}, {s.size}" for s in here if s.size]
    return out


def _bytes(section: FullSection, start: int, end: int) -> list[str]:
    if end <= start:
        return []
    if section.nobits:
        return [f"\t.zero\t{end - start}"]
    data = section.data[start - section.address : end - section.address]
    if not any(data):
        return [f"\t.zero\t{len(data)}"]
    out = []
    for i in range(0, len(data), 32):
        part = data[i : i + 32]
        if len(part) % 4 == 0:
            values = ", ".join(f"{w:#010x}" for w in struct.unpack(f"<{len(part) // 4}I", part))
            out.append(f"\t.long\t{values}")
        else:
            out.append("\t.byte\t" + ",".join(str(b) for b in part))
    return out
