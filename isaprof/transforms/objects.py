"""What may differ between the object before an edit and the object after it: the edit, nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from isaprof.codeobj.descriptor import SIZE as DESCRIPTOR_SIZE
from isaprof.codeobj.elf import CodeObject
from isaprof.isa.decode import disassemble
from isaprof.isa.model import Instruction, Listing
from isaprof.transforms.model import Edit

#: what assemblers fill the end of a text section with
_PADDING = frozenset({"s_code_end", "s_nop"})


class Differs(Exception):
    """The objects differ in more than the edit; the message says where first."""


@dataclass(frozen=True)
class Correspondence:
    """Proof that two objects differ by an edit only; all keys and values are listing indices."""

    index: dict[int, int]  #: instructions that were kept: before -> after
    stands: dict[int, int]  #: all: those that were replaced -> the first of what replaces them
    steps: tuple[str, ...]


@dataclass
class Layout:
    """Which instruction of an edited listing is which of the one before; listing indices."""

    index: dict[int, int]  #: kept: before -> after
    stands: dict[int, int]  #: all: before -> after, or the first of what replaces it
    entry: dict[int, int]  #: all: before -> the first of what was put above it, else as ``stands``
    placed: list[tuple[int, int, str]]  #: put in: index, listing index before of its change, text
    steps: list[str]  #: the changes as text


def correspond(before: bytes, after: bytes, edit: Edit) -> Correspondence:
    """Compare instruction by instruction, then labels, branches, descriptors, metadata and data.

    Raises Differs where anything but the instructions that ``edit`` names is
    not the same.
    """
    old, new = CodeObject.from_bytes(before), CodeObject.from_bytes(after)
    a, b = disassemble(before), disassemble(after)
    layout = laid_out(a, b, edit)
    index, stands, changed = layout.index, layout.stands, layout.steps
    address = {
        a.instructions[i].pc: b.instructions[j].pc for i, j in stands.items() if j < len(b.instructions)
    }
    for i, j in index.items():
        _same(a.instructions[i], b.instructions[j], address)
    moved = {address.get(at, at): name for at, name in old.labels.items()}
    if moved != {at: n for at, n in new.labels.items() if n in old.labels.values()}:
        raise Differs("labels are at other instructions")
    steps = [*changed, f"{len(index)} other instructions: same encoding, same order"]
    branches = sum(a.instructions[i].target is not None for i in index)
    steps.append(
        f"{branches} branches: same destinations; {len(old.labels)} labels: at the same instructions"
    )
    steps.append(_descriptors(old, new, address))
    if old.metadata != new.metadata or old.target_id != new.target_id or old.e_flags != new.e_flags:
        raise Differs("metadata or target differ")
    if _data(old) != _data(new):
        raise Differs("data beside code and descriptors differ")
    steps.append("metadata, target and data sections: equal")
    return Correspondence(index, stands, tuple(steps))


def laid_out(a: Listing, b: Listing, edit: Edit) -> Layout:
    """Where the instructions of ``a`` are in ``b``. Raises Differs where ``b`` is not ``a`` with ``edit``."""
    changes = {c.index: c for c in edit.changes}
    out = Layout({}, {}, {}, [], [])
    at = 0
    for ins in a.instructions:
        change = changes.get(ins.index)
        out.entry[ins.index] = at
        if change is None:
            out.index[ins.index] = out.stands[ins.index] = at
            at += 1
            continue
        at = _expect(out, b, at, ins.index, change.before, told=True)
        out.stands[ins.index] = at
        if change.lines is None:
            out.index[ins.index] = at
            at += 1
        else:
            out.steps.append(f"{ins.pc:#x} {ins.text}  ->  {'; '.join(change.lines) or '(deleted)'}")
            at = _expect(out, b, at, ins.index, change.lines, told=False)
        at = _expect(out, b, at, ins.index, change.after, told=True)
    n = len(b.instructions)
    if at != n:  # code that grew or shrank moves the padding behind it
        out.index = {i: j for i, j in out.index.items() if j < n}
        rest = [*b.instructions[at:], *(i for i in a.instructions if i.index not in out.index)]
        if any(i.base not in _PADDING and i.index not in changes for i in rest):
            raise Differs(f"{n} instructions, {at} expected")
    return out


def _expect(out: Layout, b: Listing, at: int, index: int, lines: Sequence[str], *, told: bool) -> int:
    """The instructions ``lines`` stand at ``at``; returns the position behind them."""
    for line in lines:
        if line.endswith(":"):
            continue
        got = b.instructions[at].text if at < len(b.instructions) else "the end"
        if _plain(got) != _plain(line) and (at >= len(b.instructions) or b.instructions[at].target is None):
            raise Differs(f"{line} became {got}")
        out.placed.append((at, index, line))
        if told:
            out.steps.append(f"inserted: {line}")
        at += 1
    return at


def same_text(a: str, b: str) -> bool:
    """Whether two texts are one instruction, encoding suffixes and blanks aside."""
    return _plain(a) == _plain(b)


def _plain(text: str) -> str:
    return re.sub(r"_e(32|64)\b", "", re.sub(r"\s+", " ", text.strip().lower()))


def _same(x: Instruction, y: Instruction, address: dict[int, int]) -> None:
    if x.target is not None and y.target is not None:
        if x.mnemonic == y.mnemonic and address.get(x.target, x.target) == y.target:
            return
        raise Differs(f"{x.pc:#x} {x.text}: another destination, {y.text}")
    if x.words != y.words:
        raise Differs(f"{x.pc:#x} {x.text} became {y.pc:#x} {y.text}")


def _descriptors(old: CodeObject, new: CodeObject, address: dict[int, int]) -> str:
    if [k.symbol for k in old.kernels] != [k.symbol for k in new.kernels]:
        raise Differs("the kernels are not the same")
    for x, y in zip(old.kernels, new.kernels, strict=True):
        if address.get(x.entry) != y.entry:
            raise Differs(f"kernel {x.name} begins at another instruction")
        raw = [
            co.read(k.descriptor.address, DESCRIPTOR_SIZE) for co, k in ((old, x), (new, y))
        ]  # bytes 16..23: entry, relative to the descriptor's own address
        if raw[0][:16] + raw[0][24:] != raw[1][:16] + raw[1][24:]:
            raise Differs(f"the descriptor of {x.name} differs")
    return f"{len(old.kernels)} kernel descriptor(s): equal, entries at the same instructions"


def _data(co: CodeObject) -> list[tuple[str, bytes]]:
    """Sections without code, the descriptors' entry offsets masked (checked above)."""
    out = []
    for s in co.sections:
        if s.executable or s.name in _MADE_BY_LINKER:
            continue
        data = bytearray(s.data)
        for k in co.kernels:
            at = k.descriptor.address - s.address + 16
            if 0 <= at <= len(data) - 8:
                data[at : at + 8] = bytes(8)
        out.append((s.name, bytes(data)))
    return out


#: hold addresses and hashes of what is compared above
_MADE_BY_LINKER = frozenset({
    ".note", ".dynsym", ".gnu.hash", ".hash", ".dynstr", ".dynamic", ".relro_padding", ".eh_frame",
    ".comment", ".symtab", ".strtab", ".shstrtab",
})  # fmt: skip
