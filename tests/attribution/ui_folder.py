"""A ``ui_output`` folder, as rocprofv3 writes it, from a few lines of code and hand-made waves.

Layout of the public sources (see tests/backends/own_recordings.py); no code object, so that
everything is known from the texts of ``code.json`` alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from isaprof.isa.decode import decode_lines
from isaprof.isa.model import CATEGORY_CODES
from tests.attribution.build import Wave

BASE, BYTES = 0x1000, 8
_NUMBER = {str(category): number for number, category in CATEGORY_CODES.items()}


def back_to(line: int, at: int) -> int:
    """Operand of a branch at line ``at`` to ``line``, 8 bytes a line, as the disassembler prints it."""
    return (2 * (line - at) - 1) & 0xFFFF


def write(parent: Path, arch: str, program: Sequence[str], waves: Sequence[Wave]) -> Path:
    """The folder. Waves of one SIMD need slots of their own."""
    out = parent / "ui_output_agent_7_dispatch_1"
    out.mkdir(parents=True)
    ins = decode_lines(arch, [(BASE + BYTES * i, (), text) for i, text in enumerate(program)])
    sums = [[0, 0, 0, 0] for _ in program]
    tree: dict[str, dict[str, dict[str, dict[str, list[object]]]]] = {}
    occupancy: dict[str, list[list[int]]] = {}
    for wave in waves:
        end = max(t + d for _, t, _, d, _ in wave.rows) if wave.end is None else wave.end
        rows, before = [], wave.begin
        for line, time, stall, duration, category in wave.rows:
            assert line is not None
            rows.append([time, _NUMBER[category or str(ins[line].category)], stall, duration, line + 1])
            for k, v in enumerate((1, duration, stall, max(0, time - before))):
                sums[line][k] += v
            before = max(before, time + duration)
        name = f"se{wave.se}_sm{wave.simd}_sl{wave.slot}_wv0.json"
        body = {"cu": wave.cu, "simd": wave.simd, "slot": wave.slot, "id": 0, "begin": wave.begin, "end": end,
                "instructions": rows, "timeline": [[2, end - wave.begin]], "waitcnt": []}  # fmt: skip
        whole = {"name": f"SE{wave.se}", "duration": end - wave.begin, "num_insts": len(rows),
                 "num_stitched": len(rows), "wave": body}  # fmt: skip
        (out / name).write_text(json.dumps(whole))
        simds = tree.setdefault(str(wave.se), {}).setdefault(str(wave.simd), {})
        simds[str(wave.slot)] = {"0": [name, wave.begin, end]}
        for time, start in ((wave.begin, 1), (end, 0)):
            occupancy.setdefault(str(wave.se), []).append([time, wave.cu, wave.simd, wave.slot, start, 1])
    code = [["; kernel", 0, 0, "", 1, BASE, 0, 0, 0, 0]]
    code += [[text, 0, n + 1, "", 1, BASE + BYTES * n, *sums[n]] for n, text in enumerate(program)]
    header = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
    files = {
        "code.json": {"code": code, "header": header, "version": "3.0.0"},
        "occupancy.json": {**{se: sorted(r) for se, r in occupancy.items()},
                           "dispatches": {"1": f"1 / {BASE:#x}"}, "version": "3.0.0"},
        "filenames.json": {"wave_filenames": tree, "gfxip": 9, "gfxv": "vega", "counter_names": None,
                           "global_begin_time": 0, "version": "3.0.0"},
    }  # fmt: skip
    for name, content in files.items():
        (out / name).write_text(json.dumps(content))
    return out
