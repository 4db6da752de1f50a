"""Which line of an assembly source each instruction comes from.

The source is assembled once more with line tables (``llvm-mc -g``); macros map
every instruction they expand to onto the line that LLVM reports.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from os import PathLike

from isaprof.asm.assemble import build_facts
from isaprof.errors import BadInput
from isaprof.isa import llvm


def source_lines(source: str, path: str | PathLike[str] | None = None) -> Mapping[int, int]:
    """Offset in ``.text`` (bytes) -> 1-based line number of ``source``.

    Raises BadInput when the source does not assemble.
    """
    from elftools.elf.elffile import ELFFile

    facts = build_facts(source, path)
    tools = llvm.find_tools(facts.mcpu)
    done = llvm.start_mc(tools, source, facts.mcpu, facts.mattr, "-g").wait()
    if done.returncode != 0 or not done.output:
        raise BadInput(
            f"does not assemble with line tables:\n{done.stderr.strip()[:4000]}", path=path, kind="assembler"
        )
    elf = ELFFile(io.BytesIO(llvm.link([done.output], tools=tools)))
    out: dict[int, int] = {}
    if not elf.has_dwarf_info():
        return out
    text = elf.get_section_by_name(".text")
    if text is None:
        return out
    base = text["sh_addr"]
    dwarf = elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        for entry in program.get_entries() if program is not None else ():
            state = entry.state
            if state is not None and not state.end_sequence:
                out.setdefault(state.address - base, state.line)
    return out
