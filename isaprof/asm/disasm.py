"""A code object as reassemblable text that a human can edit.

The text carries all that is needed to rebuild the object: target, code-object
version, code with labels, descriptors, metadata, symbols, other data. Nothing
of the original file is needed afterwards. Where LLVM's text of an instruction
assembles to other bytes that mean the same, the wanted bits stand in a comment
(:mod:`isaprof.asm.facts`); where it does not assemble to the same instruction,
the words stand as ``.long`` with the instruction as a comment. Both are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

from isaprof.asm import notes_text
from isaprof.asm.code import Code
from isaprof.asm.data_section import relocations_in, reserve_labels, write_data
from isaprof.asm.layout import Layout, function_starts, read_layout
from isaprof.asm.names import Names, absolute_and_undefined, quote
from isaprof.asm.text_section import Writer, symbolic, write_text
from isaprof.codeobj.elf import CodeObject
from isaprof.errors import BadInput
from isaprof.isa.process import forget

if TYPE_CHECKING:
    from isaprof.asm.start import Started

__all__ = ["Disassembly", "Draft", "disassemble_object", "quote"]


class Disassembly(NamedTuple):
    """The text and what was done to make it exact."""

    text: str
    kernels: tuple[str, ...]
    instructions: int
    kept_as_words: int  #: instructions written as ``.long`` because their text would not reproduce them
    with_bits: int = 0  #: instructions whose text needs a comment with the bits LLVM encodes otherwise
    rebuilt: bytes = b""  #: the code object made from ``text`` (and nothing else) to prove it exact


class Choices(NamedTuple):
    """How the text is written; settled by trying (:mod:`isaprof.asm.exact`)."""

    keep: Mapping[int, str]  #: row -> whole line instead of the row's text
    raw_metadata: bool = False
    fixed_gaps: bool = False
    e_flags: bool = False  #: the flags must be said, LLVM would write others
    target_features: bool = True
    addresses: bool = False  #: the places of the sections must be said


class Draft(NamedTuple):
    """All that the text is written from."""

    co: CodeObject
    layout: Layout
    code: Code

    def write(self, how: Choices) -> Writer:
        """The text with these choices."""
        co, layout, code = self.co, self.layout, self.code
        names = Names(layout, co.path)
        out = Writer()
        out.add(*self._header(how), *absolute_and_undefined(names, layout.symbols))
        relocations = {s.name: relocations_in(s, layout.relocations) for s in layout.sections}
        for found in relocations.values():
            reserve_labels(names, found)
        texts = symbolic(code, names)
        entries = self._descriptors(names)
        bounds = function_starts(co, layout)
        aligned = frozenset(a for a in bounds if a % 256 == 0)
        for section in layout.sections:
            if section.executable:
                write_text(
                    out, section, code, texts, names, how.keep, aligned, bounds, fixed=how.fixed_gaps
                )  # fmt: skip
            else:
                write_data(out, section, names, entries, relocations[section.name])
        yaml = bool(co.metadata) and not how.raw_metadata
        out.add(*notes_text.raw_notes(layout.notes, with_metadata=not yaml))
        if yaml:
            out.add(*notes_text.metadata_lines(co.metadata))
        out.add("")
        return out

    def _header(self, how: Choices) -> list[str]:
        co, layout = self.co, self.layout
        version = co.code_object_version if co.code_object_version in (4, 5, 6) else 5
        out = [f"; isaprof.mcpu: {co.arch}", f"; isaprof.mattr: {self.code.mattr}"]
        links = ["strip"] * layout.stripped + ["undefined"] * any(s.undefined for s in layout.symbols)
        if layout.minimal:
            out.append("; isaprof.container: minimal")
        elif links:
            out.append(f"; isaprof.link: {' '.join(links)}")
        if not layout.minimal and co.code_object_version != version:
            out.append(f"; isaprof.abi_version: {layout.abi_version}")
        if how.addresses:
            places = (f"{s.name}={s.address:#x}" for s in layout.sections if not s.nobits)
            out.append(f"; isaprof.addresses: {' '.join(places)}")
        if how.e_flags:
            out.append(f"; isaprof.e_flags: {layout.e_flags:#x}")
        target = co.target_id if how.target_features else co.arch
        return [
            *out,
            "; Edit freely; `isaprof asm FILE.s -o FILE.co` builds it again.",
            f'\t.amdgcn_target "amdgcn-amd-amdhsa--{target}"',
            f"\t.amdhsa_code_object_version {version}",
        ]

    def _descriptors(self, names: Names) -> dict[int, str]:
        """Descriptor address -> expression for the distance of its code."""
        out: dict[int, str] = {}
        by_name = {s.name: s for s in self.layout.symbols if s.section is not None}
        for kernel in self.co.kernels:
            d = kernel.descriptor
            if self.layout.minimal:
                section = names.layout.section_at(kernel.entry)
                if section is not None:
                    names.made[section.name].setdefault(kernel.entry, []).append("kernel")
                out[d.address] = f"{d.entry_offset}"
                continue
            own, code = by_name.get(kernel.symbol), by_name.get(kernel.symbol.removesuffix(".kd"))
            if own is None or own.value != d.address:
                continue
            here = names.written(own) if not own.preemptible else names.label(own.value)
            there = names.label(kernel.entry)
            if code is not None and code.value == kernel.entry and not code.preemptible:
                there = names.written(code)
            if here is not None and there is not None:
                out[d.address] = f"{there}-{here}"
        return out


def disassemble_object(
    data: bytes, *, path: str | PathLike[str] | None = None, arch: str | None = None
) -> Disassembly:
    """Reassemblable text of the code object ``data``; ``arch`` only for minimal ELF files, which name none.

    Raises BadInput for files that are no code object, and for what no text can
    carry: dynamic relocations of unusual types, symbol names that are not UTF-8.
    """
    from isaprof.asm.start import Started

    started = Started(data, path, arch)
    return finish(started, read_layout(started.image, path), path)


def finish(
    started: Started,
    layout: Layout,
    path: str | PathLike[str] | None,
    meanwhile: Callable[[], object] | None = None,
) -> Disassembly:
    """The text for an object whose code is being read; errors as :func:`disassemble_object`."""
    from isaprof.asm.exact import settle

    co = started.co
    try:
        settled = settle(Draft(co, layout, started.code()), meanwhile)
    except BadInput as e:
        if e.path is None and path is not None:
            raise BadInput(e.message, path=path, hint=e.hint, offset=e.offset, kind=e.kind) from None
        raise
    finally:
        forget()
    return settled._replace(kernels=tuple(k.name for k in co.kernels))
