"""Source lines of code lines: the capture's own, else the line tables of the code objects it keeps."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isaprof.capture.model import Capture, CodeObjectRef


def source_lines(capture: Capture) -> list[str | None]:
    """``file:line`` of each code line, None where nothing says it.

    Line tables are read with pyelftools; an object that has none, or that does
    not parse, gives nothing.
    """
    table = capture.code
    named = [
        None if missing else str(t)
        for t, missing in zip(table["source"], table["source"].isna(), strict=True)
    ]
    if any(named):
        return named
    by_object = {ref.id: _line_table(ref) for ref in capture.code_objects}
    if not any(by_object.values()):
        return named
    return [
        by_object.get(o, {}).get(pc)
        for o, pc in zip(table["codeobj"].tolist(), table["pc"].tolist(), strict=True)
    ]


def _line_table(ref: CodeObjectRef) -> dict[int, str]:
    """Address -> ``file:line`` for every instruction address a line-table sequence covers."""
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.elf.elffile import ELFFile

    rows: list[tuple[int, str | None]] = []
    try:
        elf = ELFFile(io.BytesIO(ref.data))
        if not elf.has_dwarf_info():
            return {}
        dwarf = elf.get_dwarf_info()
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            for entry in program.get_entries() if program is not None else ():
                state = entry.state
                if state is None:
                    continue
                name = None if state.end_sequence or not state.line else _file_name(program, state.file)
                rows.append((int(state.address), None if name is None else f"{name}:{state.line}"))
    except (ELFError, DWARFError, KeyError, IndexError, ValueError, OSError, AssertionError, AttributeError):
        return {}  # an object from anyone; without a table there is just nothing to say
    return _spread(rows, elf)


def _file_name(program: object, number: int) -> str:
    """Name of a file of the line program; DWARF 5 counts from 0, earlier versions from 1."""
    header = program.header  # type: ignore[attr-defined]
    files = header["file_entry"]
    entry = files[number if header["version"] >= 5 else number - 1]
    return bytes(entry.name).decode("utf-8", "replace")


def _spread(rows: list[tuple[int, str | None]], elf: object) -> dict[int, str]:
    """Every instruction address between two rows of a table belongs to the first of them."""
    text = elf.get_section_by_name(".text")  # type: ignore[attr-defined]
    if text is None or not rows:
        return {}
    low, high = int(text["sh_addr"]), int(text["sh_addr"]) + int(text["sh_size"])
    ordered = sorted(rows, key=lambda r: r[0])
    out: dict[int, str] = {}
    for (address, name), (until, _) in zip(ordered, [*ordered[1:], (high, None)], strict=True):
        if name is None:
            continue
        for pc in range(max(address, low), min(until, high), 4):  # instructions are multiples of 4 bytes
            out[pc] = name
    return out
