"""A section of data as text: descriptors field by field, addresses by name, the rest as numbers."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from isaprof.asm.descriptor_text import descriptor_lines
from isaprof.asm.layout import FullSection
from isaprof.asm.names import Names, declare
from isaprof.asm.text_section import Writer
from isaprof.codeobj.descriptor import SIZE as DESCRIPTOR_SIZE
from isaprof.codeobj.tables import Relocation
from isaprof.errors import BadInput

R_ABS64, R_ABS32, R_RELATIVE64 = 3, 6, 13
#: LLVM, ELFRelocs/AMDGPU.def
_NAMES = {
    1: "R_AMDGPU_ABS32_LO", 2: "R_AMDGPU_ABS32_HI", 3: "R_AMDGPU_ABS64", 4: "R_AMDGPU_REL32",
    5: "R_AMDGPU_REL64", 6: "R_AMDGPU_ABS32", 7: "R_AMDGPU_GOTPCREL", 8: "R_AMDGPU_GOTPCREL32_LO",
    9: "R_AMDGPU_GOTPCREL32_HI", 10: "R_AMDGPU_REL32_LO", 11: "R_AMDGPU_REL32_HI",
    13: "R_AMDGPU_RELATIVE64", 14: "R_AMDGPU_REL16",
}  # fmt: skip
_WIDTH = {R_ABS64: 8, R_ABS32: 4, R_RELATIVE64: 8}


def relocations_in(section: FullSection, relocations: tuple[Relocation, ...]) -> dict[int, Relocation]:
    """Address -> relocation; BadInput for kinds that no data directive makes."""
    out = {}
    for r in relocations:
        if section.address <= r.offset < section.end:
            if r.type not in _WIDTH or r.offset + _WIDTH[r.type] > section.end or section.executable:
                name = _NAMES.get(r.type, f"of type {r.type}")
                why = "only R_AMDGPU_ABS64, ABS32 and RELATIVE64 in data can be written as text"
                if section.executable:
                    why = "the loader would change code, which text cannot say"
                raise BadInput(
                    f"the dynamic relocation {name} at {r.offset:#x} in {section.name}"
                    f"{f' against {r.symbol}' if r.symbol else ''}: {why}",
                    kind="unsupported",
                    hint="link it without unresolved symbols: ld.lld -shared --no-undefined",
                )
            out[r.offset] = r
    return out


def reserve_labels(names: Names, relocations: Mapping[int, Relocation]) -> None:
    """Make the labels that the section's addresses will name."""
    for r in relocations.values():
        if r.type == R_RELATIVE64:
            names.label(r.addend)


def write_data(
    out: Writer,
    section: FullSection,
    names: Names,
    descriptors: Mapping[int, str],
    relocations: Mapping[int, Relocation],
) -> None:
    """Append the section. ``descriptors``: address -> expression for the entry's distance."""
    flags = "aw" if section.writable else "a"
    out.add(
        "",
        f'\t.section\t{section.name},"{flags}",@{section.kind}',
        f"\t.p2align\t{section.align.bit_length() - 1}",
    )
    symbols, made = names.at[section.name], names.made[section.name]
    inside = {a for a in (*symbols, *made, *descriptors, *relocations) if section.address <= a < section.end}
    at = section.address
    for cut in sorted(inside):
        _gap(out, section, at, cut)
        at = max(at, cut)
        _labels(out, names, section, cut)
        if at > cut:
            raise BadInput(f"symbol or address at {cut:#x} lies inside other data", kind="unsupported")
        if cut in descriptors and cut + DESCRIPTOR_SIZE <= section.end and not section.nobits:
            free = not any(cut < a < cut + DESCRIPTOR_SIZE for a in inside)
            if free and cut not in relocations:
                start = cut - section.address
                out.add(*descriptor_lines(section.data[start : start + DESCRIPTOR_SIZE], descriptors[cut]))
                at = cut + DESCRIPTOR_SIZE
        elif cut in relocations:
            r = relocations[cut]
            out.add(f"\t{'.long' if r.type == R_ABS32 else '.quad'}\t{_address(names, r)}")
            at = cut + _WIDTH[r.type]
    _gap(out, section, at, section.end)
    _labels(out, names, section, section.end)
    for address, here in symbols.items():
        for s in here:
            if not section.address <= address <= section.end:
                name = names.written(s)
                out.add(*declare(s, name), f"\t.set {name}, .+{address - section.end:d}")
            if s.size:
                out.add(f"\t.size\t{names.written(s)}, {s.size}")


def _labels(out: Writer, names: Names, section: FullSection, address: int) -> None:
    for s in names.at[section.name].get(address, ()):
        out.add(*declare(s, names.written(s)), f"{names.written(s)}:")
    out.add(*(f"{label}:" for label in names.labels_at(section.name, address)))


def _address(names: Names, r: Relocation) -> str:
    if r.type == R_RELATIVE64:
        label = names.label(r.addend)
        if label is None:
            raise BadInput(f"address {r.addend:#x} at {r.offset:#x} is in no section", kind="unsupported")
        return label
    if not r.symbol:
        raise BadInput(f"the relocation at {r.offset:#x} names no symbol", kind="unsupported")
    return names.of(r.symbol) + (f"{r.addend:+d}" if r.addend else "")


def _gap(out: Writer, section: FullSection, start: int, end: int) -> None:
    """Bytes from ``start`` to ``end`` as numbers; zeros as one line."""
    if end <= start:
        return
    if section.nobits:
        out.add(f"\t.zero\t{end - start}")
        return
    data = section.data[start - section.address : end - section.address]
    if not any(data):
        out.add(f"\t.zero\t{len(data)}")
        return
    for i in range(0, len(data), 32):
        part = data[i : i + 32]
        if len(part) % 4 == 0:
            out.add("\t.long\t" + ", ".join(f"{w:#010x}" for w in struct.unpack(f"<{len(part) // 4}I", part)))
        else:
            out.add("\t.byte\t" + ",".join(str(b) for b in part))
