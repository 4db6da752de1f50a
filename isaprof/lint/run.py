"""Runs the rules over all kernels of an object or a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike

from isaprof.asm.assemble import AssemblyErrors, build_facts, link, to_object
from isaprof.asm.source_map import source_lines
from isaprof.codeobj.elf import CodeObject, Kernel
from isaprof.errors import BadInput
from isaprof.isa.decode import disassemble
from isaprof.isa.model import Listing
from isaprof.lint.context import Context
from isaprof.lint.model import Finding, NoRule, Report, Severity, Site, Unjudged
from isaprof.lint.registry import discover

_RANK = {Severity.ERROR: 0, Severity.WARNING: 1}


def lint_object(
    data: bytes,
    *,
    path: str | PathLike[str] | None = None,
    arch: str | None = None,
    kernel: str | None = None,
    original: CodeObject | None = None,
) -> Report:
    """Lint the code object ``data``: all kernels, or the one called ``kernel``.

    ``original`` is what it was made from (kernarg layout, symbols and target
    must be the same). Raises BadInput for what is no code object.
    """
    co = CodeObject.from_bytes(data, path=path, arch=arch)
    return _lint(co, disassemble(data, path=path, arch=arch), kernel, str(path or "object"), original)


def lint_source(
    source: str,
    *,
    path: str | PathLike[str] | None = None,
    kernel: str | None = None,
    original: CodeObject | None = None,
) -> Report:
    """Assemble ``source`` and lint it; findings carry its line numbers.

    What the assembler refuses (a branch out of range, an operand that does not
    fit) comes back as errors of the rule ``assembles``. Raises BadInput where
    the source names no target or its object does not link.
    """
    name = str(path or "input.s")
    want = build_facts(source, path)
    made = to_object(source, name)
    if isinstance(made, AssemblyErrors):
        found = tuple(
            Finding(
                "assembles", Severity.ERROR, message, "the assembler refuses the line", "LLVM's assembler",
                line=line, text=_line(source, line),
            )
            for line, message in sorted(made.lines.items())
        )  # fmt: skip
        if not found:
            raise BadInput(f"does not assemble:\n{made.text[:8000]}", path=path, kind="assembler")
        return Report(name, want.target_id or want.mcpu, (), 0, found, (), ("assembles",), True)
    data = link(made, want, path)
    arch = want.mcpu if want.minimal else None
    co = CodeObject.from_bytes(data, path=path, arch=arch)
    listing = disassemble(data, path=path, arch=arch)
    base = next((s.address for s in co.text if s.name == ".text"), co.text[0].address if co.text else 0)
    rows = {
        listing.by_pc[base + offset]: line
        for offset, line in source_lines(source, path).items()
        if base + offset in listing.by_pc
    }
    return _lint(co, listing, kernel, name, original, source, rows)


def _line(source: str, number: int) -> str:
    lines = source.splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _lint(
    co: CodeObject,
    listing: Listing,
    kernel: str | None,
    path: str,
    original: CodeObject | None,
    source: str | None = None,
    line_of: Mapping[int, int] | None = None,
) -> Report:
    chosen: Iterable[Kernel] = co.kernels if kernel is None and co.kernels else (co.kernel(kernel),)
    findings: list[Finding] = []
    unjudged: list[Unjudged] = []
    rules = discover()
    lines = line_of or {}
    kernels = tuple(chosen)
    for n, k in enumerate(kernels):
        context = Context(co, listing, k, source, lines, original, first=n == 0)
        seen: dict[tuple[str, str], list[NoRule]] = {}
        for rule in rules.values():
            found: list[Finding] = []
            for said in rule.check(context, rule):
                if isinstance(said, NoRule):
                    seen.setdefault((said.topic, said.message), []).append(said)
                else:
                    found.append(_place(said, k.name, lines))
            findings += _joined(found) if rule.once else found
        unjudged += [
            Unjudged(topic, message, len(all_), k.name, all_[0], _line_at(lines, all_[0].row))
            for (topic, message), all_ in seen.items()
        ]
    findings.sort(key=lambda f: (_RANK[f.severity], f.pc if f.pc is not None else -1, f.rule))
    return Report(
        path,
        co.target_id,
        tuple(k.name for k in kernels),
        len(listing.instructions),
        tuple(dict.fromkeys(findings)),
        tuple(unjudged),
        tuple(rules),
        source is not None,
        None if original is None else original.path,
    )


def _line_at(lines: Mapping[int, int], row: int | None) -> int | None:
    return None if row is None else lines.get(row)


def _joined(found: list[Finding]) -> list[Finding]:
    """All findings of one rule in one kernel as one, at the first place."""
    if len(found) < 2:
        return found
    also = tuple(
        Site(f.row, f.pc, f.text, "also", f.line)
        for f in found[1:]
        if f.row is not None and f.pc is not None and f.text is not None
    )
    return [replace(found[0], also=also)]


def _place(f: Finding, kernel: str, lines: Mapping[int, int]) -> Finding:
    """The finding with kernel and source lines filled in."""

    def site(s: Site) -> Site:
        return replace(s, line=_line_at(lines, s.row))

    line = f.line if f.line is not None else _line_at(lines, f.row)
    return replace(f, kernel=kernel, line=line, path=tuple(map(site, f.path)))
