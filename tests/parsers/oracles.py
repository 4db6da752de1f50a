"""Oracles beside the real traces, and whole-folder decoding: used by tests only."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from isaprof.backends.sqtt import LoadedCode
from isaprof.codeobj.elf import CodeObject
from isaprof.errors import BadInput
from isaprof.parsers.sqtt.codemap import CodeMap, Region
from isaprof.parsers.sqtt.engine import decode_engine
from isaprof.parsers.sqtt.records import EngineTrace, Wave
from isaprof.parsers.sqtt.stitch import stitch

#: every recorded example, as <arch>/<example>
EXAMPLES = [
    f"{arch}/{name}_run0"
    for arch, names in {
        "gfx1100": ("empty", "gemm", "plus", "sync"),
        "gfx1200": ("empty", "gemm", "handwritten", "plus", "sync"),
        "gfx950": ("empty", "gemm", "plus"),
    }.items()
    for name in names
]


#: expected_timing.json's category names -> ours
CATEGORY = {"MSG": "MESSAGE"}


def oracle(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text())


@lru_cache(maxsize=32)
def code_of(folder: Path) -> CodeMap:
    """Code of all programs of a folder at their load addresses."""
    meta = oracle(folder, "meta.json")
    regions = []
    for p in meta["programs"]:
        data = (folder / p["file"]).read_bytes()
        try:
            co = CodeObject.from_bytes(data)
        except BadInput:
            co = CodeObject.from_bytes(data, arch=meta["arch"])
        loaded = LoadedCode(p["index"], data, co, p["name"], p["load_base"])
        regions.append(Region(p["index"], p["load_base"], loaded.listing.instructions))
    first = next(iter(sorted(folder.glob("*.sqtt"))))
    rules = decode_engine(first.read_bytes()).header.generation.stitch
    return CodeMap.build(regions, rules)


def stitched(folder: Path, file: str) -> tuple[EngineTrace, list[Wave], CodeMap]:
    """One buffer decoded and matched to the code; its waves with records."""
    trace = decode_engine((folder / file).read_bytes())
    code = code_of(folder)
    waves = [w for w in trace.waves if len(w.records)]
    for w in waves:
        w.stitched = stitch(
            w, code, trace.header.generation.stitch, exclude_barrier_wait=trace.header.exclude_barrier_wait
        )
    return trace, waves, code


def rows(w: Wave, code: CodeMap) -> list[list[Any]]:
    """[pc, time, category, duration, stall] of a wave, as expected_timing.json has them."""
    r = w.records
    return [
        [
            None if r.lines[i] is None else code.instructions[r.lines[i]].pc,
            r.time[i],
            r.category[i].name,
            r.duration[i],
            r.stall[i],
        ]
        for i in range(len(r))
    ]


__all__ = ["CATEGORY", "EXAMPLES", "code_of", "oracle", "rows", "stitched"]
