"""Source lines of code lines: the capture's own, else the line tables of the code objects it keeps."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

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
    """Address -> ``file:line`` for every instruction address that a sequence of a line table covers."""
    from elftools.common.exceptions import DWARFError, ELFError
    from elftools.elf.elffile import ELFFile

    out: dict[int, tuple[str, str, int]] = {}
    try:
        elf = ELFFile(io.BytesIO(ref.data))
        text = elf.get_section_by_name(".text")
        if text is None or not elf.has_dwarf_info():
            return {}
        code = range(int(text["sh_addr"]), int(text["sh_addr"]) + int(text["sh_size"]))
        dwarf = elf.get_dwarf_info()
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            if program is not None:
                _spread(program, code, out)
    except (ELFError, DWARFError, KeyError, IndexError, ValueError, OSError, AssertionError, AttributeError):
        return {}  # an object from anyone; without a table there is just nothing to say
    return _named(out)


def _spread(program: Any, code: range, out: dict[int, tuple[str, str, int]]) -> None:
    """Every instruction address from one row of a sequence to the next belongs to the first of them."""
    before: tuple[int, tuple[str, str, int] | None] | None = None
    dead = False
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        address = int(state.address)
        if before is None:
            dead = address not in code  # of a function that the linker dropped
        elif before[1] is not None and not dead:
            for pc in range(before[0], min(address, code.stop), 4):  # instructions are multiples of 4 bytes
                out[pc] = before[1]
        known = state.line and not state.end_sequence  # line 0: made by the compiler
        before = address, (*_file(program, state.file), int(state.line)) if known else None
        if state.end_sequence:
            before = None


def _file(program: Any, number: int) -> tuple[str, str]:
    """(directory, name) of a file of the line program; DWARF 5 counts from 0, earlier versions from 1."""
    header = program.header
    five = header["version"] >= 5
    entry = header["file_entry"][number if five else number - 1]
    folders = header["include_directory"]
    at = int(entry.dir_index) - (0 if five else 1)
    folder = bytes(folders[at]).decode("utf-8", "replace") if 0 <= at < len(folders) else ""
    return folder, bytes(entry.name).decode("utf-8", "replace")


def _named(rows: dict[int, tuple[str, str, int]]) -> dict[int, str]:
    """``file:line``, with the directory where files of one name lie in several."""
    folders: dict[str, set[str]] = {}
    for folder, name, _ in set(rows.values()):
        folders.setdefault(name, set()).add(folder)
    plain = {name for name, where in folders.items() if len(where) == 1}
    return {
        pc: f"{name if name in plain or not folder else f'{folder}/{name}'}:{line}"
        for pc, (folder, name, line) in rows.items()
    }
