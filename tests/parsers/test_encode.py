"""decode(encode(x)) == x for packet streams and for waves, in every generation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.parsers.sqtt.engine import decode_engine
from isaprof.parsers.sqtt.frame import PacketStream, decode
from isaprof.parsers.sqtt.generations import GENERATIONS
from isaprof.parsers.sqtt.model import Cat, Generation, Packet
from tests.parsers.encoder import Encoder

ALL = sorted(GENERATIONS)
#: kinds whose time is special or that change how the rest is read
SPECIAL = {"TIME", "MEDIUM_TIME", "TIMESTAMP", "HEADER", "NOP", "MISC", "WAVE_START_EXT"}


def free_fields(p: Packet) -> dict[str, int]:
    """Field widths that are not part of the pattern."""
    return {n: hi - lo + 1 for n, (lo, hi) in p.fields.items()}


@st.composite
def packets(draw: st.DrawFn, g: Generation) -> list[tuple[int, str, dict[str, int]]]:
    """(time, kind, fields) with non-decreasing times, long gaps included."""
    e = Encoder(g)
    kinds = sorted({p.kind for p in g.packets} - SPECIAL)
    if g.wave_prediction:
        kinds.remove("VALU_INST")  # its time is part of a field: see test_predicted_waves
    t = 0
    out = []
    gaps = st.one_of(st.integers(0, 9), st.integers(0, 300), st.integers(0, 1 << 20))
    for _ in range(draw(st.integers(0, 40))):
        kind = draw(st.sampled_from(kinds))
        t += draw(gaps) * g.time_unit
        fields = {n: draw(st.integers(0, (1 << w) - 1)) for n, w in free_fields(e.layout(kind)).items()}
        out.append((t, kind, fields))
    return out


def read_back(s: PacketStream, kinds: set[str]) -> list[tuple[int, str, dict[str, int]]]:
    out = []
    for i in range(len(s)):
        p = s.generation.packets[s.type[i]]
        if p.kind in kinds:
            row = np.array([i])
            out.append((int(s.time[i]), p.kind, {n: int(s.field(n, row)[0]) for n in p.fields}))
    return out


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_packets_survive(name: str, data: st.DataObject) -> None:
    g = GENERATIONS[name]
    wanted = data.draw(packets(g))
    e = Encoder.start(name)
    for time, kind, fields in wanted:
        e.at(time, kind, **fields)
    s = decode(e.data())
    assert read_back(s, {k for _, k, _ in wanted}) == wanted
    assert s.counts().get("UNKNOWN", 0) == 0


@pytest.mark.parametrize("name", ["gfx10", "gfx11", "gfx12"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_rdna_waves_survive(name: str, data: st.DataObject) -> None:
    """Waves of VALU, SALU, LDS and waits with stalls: records come back as written."""
    e = Encoder.start(name, simd=2, unit=3)
    slots = data.draw(st.lists(st.integers(0, 15), min_size=1, max_size=4, unique=True))
    steps: list[tuple[int, int, str, dict[str, int]]] = []
    wanted: dict[int, list[tuple[Cat, int, int, int]]] = {}
    for n, slot in enumerate(slots):
        begin = t = data.draw(st.integers(0, 50)) + 100
        start = {"simd": 2, "wgp": 3, "wave": slot, "me": 1, "count": 95 + 32}
        steps.append((begin, n, "WAVE_START", start))
        rows: list[tuple[Cat, int, int, int]] = []
        for _ in range(data.draw(st.integers(1, 12))):
            t += data.draw(st.one_of(st.integers(2, 9), st.integers(2, 4000)))
            what = data.draw(st.sampled_from(("valu", "salu", "lds", "wait")))
            stall = 0
            if what != "wait" and data.draw(st.booleans()):
                steps.append((t, n, "WAVE_READY", {"mask": 1 << slot}))
                stall = data.draw(st.integers(1, 200))
                t += stall
            if what == "valu":
                steps.append((t, n, "VALU_INST", {"wave": slot}))
                rows.append((Cat.VALU, t - stall, 1 + stall, stall))
            elif what == "salu":
                steps.append((t, n, "INST", {"wave": slot, "op": 0}))
                rows.append((Cat.SALU, t - stall, 1 + stall, stall))
            elif what == "lds":
                steps.append((t, n, "INST", {"wave": slot, "op": 43}))
                cycles = 2
                rows.append((Cat.LDS, t - stall, cycles + stall, stall))
            else:
                steps.append((t, n, "IMM_ONE", {"wave": slot}))
                first = min(t, rows[-1][1] + rows[-1][2]) if rows else t
                rows.append((Cat.IMMED, first, t - first + 1, t - first))
        end = max(t, rows[-1][1] + rows[-1][2]) + data.draw(st.integers(0, 400)) + 4
        steps.append((end, n, "WAVE_END", {"simd": 2, "wgp": 3, "wave": slot}))
        last = rows[-1][1] + rows[-1][2]
        rows.append((Cat.MESSAGE, last, end - last, 0))
        wanted[slot] = rows
    for t, _, kind, fields in sorted(steps, key=lambda s: (s[0], s[1])):
        e.at(t, kind, **fields)
    trace = decode_engine(e.data())
    assert trace.lost == trace.unknown == 0
    got = {}
    for w in trace.waves:
        r = w.records
        got[w.slot] = list(zip(r.category, r.time, r.duration, r.stall, strict=True))
        assert (w.cu, w.simd, w.threads, w.target, w.end_seen) == (3, 2, 32, True, True)
        assert w.timeline.cycles == (w.end or 0) - w.begin
    assert got == wanted


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_gfx9_waves_survive(data: st.DataObject) -> None:
    """One wave: issue and INST packets pair in order; the stall begins at the STALL packet."""
    e = Encoder.start("gfx9", unit=2)
    simd, slot = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 9))
    where = {"cu": 2, "simd": simd, "wave": slot}
    t = 400
    e.at(t, "WAVE_START", **where, count=64)
    issued = []
    end = t + 4
    for _ in range(data.draw(st.integers(1, 12))):
        t = end + 4 * data.draw(st.integers(8, 50))
        stall = 4 * data.draw(st.integers(0, 20))
        if stall:
            e.at(t, "ISSUE", simd=simd, states=1 << 2 * slot)
        e.at(t + stall, "ISSUE", simd=simd, states=2 << 2 * slot)
        # memory packets have phase 0: the INST packet of a lone wave follows its issue
        e.at(t + stall, "INST", wave=slot, simd=simd, op=2)
        issued.append((Cat.VMEM, t, 4 + stall, stall))
        end = t + stall + 4
    e.at(end + 100, "WAVE_END", **where)
    (wave,) = decode_engine(e.data()).waves
    r = wave.records
    assert list(zip(r.category, r.time, r.duration, r.stall, strict=True)) == issued
    assert (wave.begin, wave.end, wave.threads) == (400, end + 100, 64)


def test_gfx9_time_reset_anchors_at_the_reset() -> None:
    """Packets between a TIME_RESET and its TIMESTAMP already have the corrected time."""
    e = Encoder.start("gfx9")
    e.packet("MISC", 255, misc=1)  # t = 1020
    e.packet("TIMESTAMP", 0, value=1 << 40)  # first one sets the base: t = 1016
    e.packet("MISC", 10, misc=0)  # + 40
    e.packet("MISC", 255, misc=1)
    e.packet("EVENT", 1, data=1)
    e.packet("TIMESTAMP", 0, value=(1 << 40) + 50_000)
    e.packet("MISC", 1, misc=0)
    s = decode(e.data())
    kinds = [s.generation.packets[t].kind for t in s.type]
    base = (1 << 40) - 1020 + 4
    corrected = ((1 << 40) + 50_000 - base) & ~3
    assert s.time[0] == 1016
    assert s.time[kinds.index("MISC", 2)] == 1056
    assert s.time[kinds.index("EVENT")] == corrected + 4
    assert s.time[6] == corrected + 8


def test_gfx12_extension_bytes_are_skipped() -> None:
    """After WAVE_START_EXT every byte with bit 0 set is an extension, also after NOPs."""
    e = Encoder.start("gfx12")
    e.at(1, "WAVE_START_EXT", simd=0, wgp=0, wave=1, count=127)
    e.extension(0xFE)
    e.packet("NOP")
    e.extension(0x00)
    e.at(3, "WAVE_READY", mask=2)
    e.at(4, "VALU_INST", wave=1)
    counts = decode(e.data()).counts()
    assert (counts["WAVE_START_EXT"], counts["WAVE_READY"], counts["VALU_INST"]) == (1, 1, 1)
    assert set(counts) == {"HEADER", "WAVE_START_EXT", "NOP", "WAVE_READY", "VALU_INST"} | (
        {"TIME"} & set(counts)
    )


def test_new_pc_of_72_bits() -> None:
    """gfx12 NEW_PC is longer than a 64-bit window; nothing of the address is lost."""
    e = Encoder.start("gfx12")
    address = 0x7FFF_1234_5678
    e.at(5, "INST", wave=3, op=5)
    e.at(6, "NEW_PC", wave=3, pc=address >> 2)
    (wave,) = decode_engine(e.data()).waves
    assert wave.records.pcs == {0: None, 1: address}


def test_predicted_waves() -> None:
    """gfx1250 VALU_INST names its wave by its place in the list of recent ones."""
    e = Encoder.start("gfx1250")
    for slot in (5, 9):
        e.at(e.now + 1, "WAVE_START", wave=slot, count=127)
    for slot in (5, 9):
        e.at(e.now + 1, "INST", wave=slot, op=12)
    for wavetm in (4, 0, 4):  # second of the list, first, second again
        e.packet("VALU_INST", wavetm=wavetm)
    trace = decode_engine(e.data())
    assert [len(w.records) for w in sorted(trace.waves, key=lambda w: w.slot)] == [3, 2]


@pytest.mark.parametrize("name", ["gfx11", "gfx12"])
def test_lost_packets_are_counted(name: str) -> None:
    e = Encoder.start(name)
    e.packet("TIMESTAMP", rt=0, pl=1, value=1000)
    e.packet("TIMESTAMP", rt=1, pl=0, value=77)
    trace = decode_engine(e.data())
    assert trace.lost == 1
    assert [(x.time, x.kind, x.value) for x in trace.events] == [
        (1000, "data_lost", 1000),
        (1000, "realtime", 77),
    ]


def test_userdata_names_code_objects_and_realtime() -> None:
    """The code-object table and realtime records that ROCm writes into gfx9 traces."""
    e = Encoder.start("gfx9")

    def userdata(register: int, *values: int) -> None:
        for v in values:
            e.packet("REG", regaddr=register, regdata=v)

    userdata(0xC342, 0x434F5200, 524801)
    userdata(0xC342, 0x204, 0x1000, 0x304, 0x7F, 0x104, 0x3000, 0x404, 0, 0x4, 7 << 2 | 2)
    userdata(0xC343, 5, 100, 2, 90)
    userdata(0xC343, 7, 80)
    userdata(0xC342, 6 | 100 << 12)
    trace = decode_engine(e.data())
    (o,) = trace.objects
    assert (o.id, o.address, o.size, o.from_start) == (7, 0x7F_0000_1000, 0x3000, True)
    assert [x.value for x in trace.events if x.kind == "realtime"] == [3 << 32 | 90, 4 << 32 | 80]
    assert trace.realtime_hz == 100_000


@pytest.mark.parametrize("name", ["gfx10", "gfx11"])
def test_tables_are_prefix_free(name: str) -> None:
    """No first byte has two meanings."""
    for code in range(256):
        assert sum(p.matches(code) for p in GENERATIONS[name].packets) <= 1, hex(code)


def test_gfx12_keeps_what_only_old_patterns_cover() -> None:
    g = GENERATIONS["gfx12"]
    table = [(g.packets[i].kind, g.packets[i].bits) if i >= 0 else None for i in g.table()]
    assert [c for c in range(256) if table[c] == ("SHADER_DATA", 52)] == [0x26, 0xA6]
    assert [c for c in range(256) if table[c] == ("SHADER_DATA_SHORT", 28)] == [0x36, 0x76, 0xB6, 0xF6]
    assert [c for c in range(256) if table[c] is None] == sorted({0x41, 0xC1} | set(range(7, 256, 16)))
