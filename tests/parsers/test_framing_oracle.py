"""Packets of every real trace against tinygrad's decoder (expected.json)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from isaprof.parsers.sqtt.frame import decode
from tests.parsers.oracles import oracle

#: tinygrad's packet names -> ours
NAMES = {
    "ALUEXEC": "ALU_EXEC", "EVENT": "EVENT", "IMMEDIATE": "IMM_ONE", "IMMEDIATE_MASK": "IMMEDIATE",
    "INST": "INST", "LAYOUT_HEADER": "HEADER", "NOP": "NOP", "PERF": "SHADER_DATA_SHORT", "REG": "REG",
    "SNAPSHOT": "REG_INIT", "TS_DELTA_OR_MARK": "TIMESTAMP", "TS_DELTA_SHORT": "TIME",
    "TS_WAVE_STATE": "MISC", "UTILCTR": "UTIL_COUNTER", "VALUINST": "VALU_INST", "VMEMEXEC": "VMEM_EXEC",
    "WAVEEND": "WAVE_END", "WAVERDY": "WAVE_READY", "WAVESTART": "WAVE_START", "WAVEALLOC": "WAVE_ALLOC",
    "EVENT_BIG": "EVENT_SYNC",
}  # fmt: skip
CDNA = {
    "INST": "INST", "ISSUE": "ISSUE", "MISC": "MISC", "REG": "REG", "REG_CS": "REG_CS",
    "REG_CS_PRIV": "REG_CS_PRIV", "TIMESTAMP": "TIMESTAMP", "WAVEEND": "WAVE_END",
    "WAVESTART": "WAVE_START", "EVENT": "EVENT",
}  # fmt: skip


def our_name(name: str) -> str:
    if name.startswith("CDNA_"):
        return CDNA[name.removeprefix("CDNA_")]
    return NAMES[name.removesuffix("_RDNA4")]


def test_packet_counts_and_last_time(example: Path) -> None:
    """With tinygrad's cut (packets that start in the last 60 bits, gfx9: three words) all counts are equal;
    what lies beyond the cut carries only time."""
    for trace in oracle(example, "expected.json")["traces"]:
        data = (example / trace["file"]).read_bytes()
        s = decode(data)
        gfx9 = s.generation.name == "gfx9"
        cut = len(data) * 8 - (48 if gfx9 else 60)
        inside = s.bit < cut
        kinds = np.array([p.kind for p in s.generation.packets])
        assert (s.type >= 0).all()
        got = Counter(kinds[s.type[inside]].tolist())
        want: Counter[str] = Counter()
        for name, n in trace["packets"].items():
            want[our_name(name)] += n
        if gfx9:
            want.pop("HEADER", None)  # tinygrad counts the software header as a packet
        assert got == want, trace["file"]
        tail = Counter(kinds[s.type[~inside]].tolist())
        assert set(tail) <= {"TIME", "TIMESTAMP", "NOP", "MISC"}, trace["file"]
        if gfx9:
            assert tail == {"MISC": 3}
        else:
            assert int(s.time[inside][-1]) == trace["last_time"], trace["file"]


def test_times_never_decrease(example: Path) -> None:
    for path in sorted(example.glob("*.sqtt")):
        s = decode(path.read_bytes())
        if s.generation.time_unit == 1:
            assert (np.diff(s.time) >= 0).all()
        else:
            assert (s.time % 4 == 0).all()
