"""Traces of the model's own making: a modelled capture's records as the SQTT packets that a GPU would write.

What comes back out of ``isaprof import`` must be the capture in all that a trace carries, and what
``isaprof validate`` finds between the two is an error of the replay, not of the model.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isaprof import arch as tables
from isaprof.parsers.sqtt.generations import GENERATIONS
from isaprof.parsers.sqtt.model import Act, Cat, Generation, Scale
from tests.parsers.encoder import Encoder
from tests.parsers.programs import BASE, PHASE, Sent

if TYPE_CHECKING:
    from isaprof.capture.model import Capture

#: the trace's clock when the model's stands at 0
START = 4096
UNIT = 2


@dataclass
class _Wave:
    simd: int
    slot: int
    begin: int
    end: int
    threads: int
    traced: bool
    rows: list[tuple[int, int, int, int, str]] = field(
        default_factory=list
    )  # line, time, stall, duration, category


def _codes(generation: Generation, rate: int) -> dict[Cat, list[tuple[int, int]]]:
    """Category -> (cycles, operation code), of operations that only make a record."""
    out: dict[Cat, list[tuple[int, int]]] = defaultdict(list)
    for code, op in generation.ops.items():
        if op.act is Act.RECORD:
            out[op.category].append((op.cycles * (rate if op.scale is Scale.DPRATE else 1), code))
    return {c: sorted(x) for c, x in out.items()}


class _Writer:
    def __init__(self, capture: Capture, simd: int, exclude: bool) -> None:
        self.exclude = exclude
        self.capture = capture
        self.name = tables.generation(capture.arch)
        self.generation = GENERATIONS[self.name]
        self.gfx9 = self.name == "gfx9"
        self.simd = simd
        # gfx11: how many cycles a double takes is said in the header, as 1 + its logarithm
        self.rate = 5 if self.name == "gfx11" else 0
        self.codes = _codes(self.generation, 1 << self.rate >> 1 or 1)
        code = capture.code
        self.base = dict(
            zip(code["line"], code["mnemonic"].str.replace(r"_e(32|64)$", "", regex=True), strict=True)
        )
        self.pc = dict(zip(code["line"], code["pc"], strict=True))
        self.sent: list[Sent] = []

    def waves(self, later: int = 0) -> list[_Wave]:
        start = START + later
        out = {}
        for w in self.capture.waves.itertuples():
            traced = self.gfx9 or w.simd == self.simd
            out[w.wave] = _Wave(w.simd, w.slot, w.begin + start, w.end + start, w.threads, traced)
        rows = self.capture.insts.sort_values(["wave", "seq"])
        for r in rows.itertuples():
            if out[r.wave].traced:
                row = (int(r.line), r.time + start, r.stall, r.duration, str(r.category))
                out[r.wave].rows.append(row)
        return list(out.values())

    def send(self, time: int, order: int, kind: str, **fields: int) -> None:
        self.sent.append(Sent(int(time), order, kind, {k: int(v) for k, v in fields.items()}))

    def code(self, category: str, cycles: int) -> int:
        found = self.codes[Cat[category]]
        return min(found, key=lambda x: (abs(x[0] - cycles), x[1]))[1]

    def wave(self, w: _Wave) -> None:
        place = {"simd": w.simd, "wave": w.slot, "cu" if self.gfx9 else "wgp": UNIT}
        bias = self.generation.thread_bias
        count = min(max(w.threads or 1, 1), self.generation.max_threads) + bias
        self.send(w.begin, 10, "WAVE_START", **place, me=1, count=count)
        if w.traced:
            (self.gfx9_rows if self.gfx9 else self.rdna_rows)(w)
        self.send(w.end, 9, "WAVE_END", **place)

    def jump(self, w: _Wave, n: int) -> int | None:
        """Where an indirect jump goes, by the next record's line."""
        if not self.base[w.rows[n][0]].startswith(
            ("s_setpc", "s_swappc", "s_call", "s_set_pc", "s_swap_pc", "s_rfe")
        ):
            return None
        return (BASE + int(self.pc[w.rows[n + 1][0]])) >> 2 if n + 1 < len(w.rows) else None

    def rdna_rows(self, w: _Wave) -> None:
        for n, (line, time, stall, duration, category) in enumerate(w.rows):
            base = self.base[line]
            if base.startswith("s_endpgm"):
                continue
            t = time + stall
            if category == "IMMED" or base == "s_barrier":
                if base == "s_barrier_wait" and self.exclude:
                    continue
                if base == "s_barrier_wait":
                    self.send(time + duration - 1, 0, "INST", wave=w.slot, op=19)
                elif base == "s_barrier":
                    self.send(t, 0, "INST", wave=w.slot, op=19)
                else:
                    self.send(t, 0, "IMMEDIATE", mask=1 << w.slot)
                continue
            if stall:
                self.send(time, 0, "WAVE_READY", mask=1 << w.slot)
            to = self.jump(w, n)
            if category == "VALU" and duration - stall == 1:
                self.send(t, 0, "VALU_INST", wave=w.slot)
            else:
                op = 5 if to is not None else self.code(category, duration - stall)
                self.send(t, 0, "INST", wave=w.slot, op=op)
            if to is not None:
                self.send(t, 5, "NEW_PC", wave=w.slot, pc=to)

    def gfx9_rows(self, w: _Wave) -> None:
        told = w.begin
        for n, (line, time, stall, duration, category) in enumerate(w.rows):
            base = self.base[line]
            if category == "IMMED" and base not in ("s_barrier", "s_endpgm"):
                self.state(w, time + duration - 4, 3)
                continue
            ends = base == "s_endpgm"
            barrier = base == "s_barrier"
            if stall and not barrier and not ends:
                self.state(w, time, 1)
            t = w.end - 8 if ends else time if barrier else time + stall
            if ends:
                t = time + duration - 4
            cycles = duration - stall
            if "_scale_" in base:  # the issue behind that of the scales' load
                t, cycles = t + 4, cycles - 4
            if ends or barrier:
                category, cycles = "MESSAGE", 4
            self.state(w, t, 2)
            to = self.jump(w, n)
            op = 7 if to is not None else self.code(category, 4)
            late = 4 * ((w.simd + (0 if op == 7 else PHASE[category])) // 4)
            told = max(told, t + late + max(cycles - 4, 0))
            self.send(told, 2 if told == t else 0, "INST", simd=w.simd, wave=w.slot, op=op)
            if barrier:
                self.state(w, max(time + duration - 4, told), 3)
            if to is not None:
                self.send(told, 5, "NEW_PC", simd=w.simd, wave=w.slot, pc=to)

    def state(self, w: _Wave, t: int, what: int) -> None:
        self.send(t, 1, "ISSUE", simd=w.simd, states=what << 2 * w.slot)


def _merged(sent: Sequence[Sent]) -> list[Sent]:
    out: list[Sent] = []
    for s in sorted(sent, key=lambda s: (s.time, s.order, s.kind, s.fields.get("simd", 0))):
        last = out[-1] if out else None
        name = {"WAVE_READY": "mask", "IMMEDIATE": "mask", "ISSUE": "states"}.get(s.kind)
        if (
            last is not None
            and name
            and (last.time, last.kind) == (s.time, s.kind)
            and last.fields.get("simd") == s.fields.get("simd")
            and not last.fields[name] & s.fields[name]
        ):
            last.fields[name] |= s.fields[name]
        else:
            out.append(Sent(s.time, s.order, s.kind, dict(s.fields)))
    return out


#: how far apart the objects of several kernels are loaded
APART = 1 << 24
#: cycles between the last wave of a kernel and the first of the next
PAUSE = 400


def encode(
    *captures: Capture,
    simd: int = 0,
    first: int | None = None,
    last: int | None = None,
    lose: tuple[int, int] | None = None,
    exclude: bool | None = None,
) -> bytes:
    """The buffer of the one engine, in which ``captures`` (of one architecture) ran one after the other.

    ``first``/``last``: cycles of the model outside of which nothing is seen.
    ``lose``: numbers of the first and the last packet that are lost.
    """
    name = tables.generation(captures[0].arch)
    exclude = name == "gfx12" if exclude is None else exclude
    writers = [_Writer(c, simd, exclude) for c in captures]
    flags = exclude << 59 | writers[0].rate << 28
    e = Encoder.start(name, simd=simd, unit=UNIT, flags=flags)
    if name == "gfx9":
        e.first_reset(12345)
    later = 0
    for number, writer in enumerate(writers):
        for w in writer.waves(later):
            writer.wave(w)
        _entry(e, writer, BASE + number * APART)
        for n, p in enumerate(_merged(writer.sent)):
            if (first is not None and p.time < first + START) or (last is not None and p.time > last + START):
                continue
            if lose and lose[0] <= n <= lose[1]:
                if n == lose[0]:
                    e.loss(e.now + (p.time - e.now) // 8 * 4)
                continue
            _packet(e, p)
        later += int(writer.capture.waves["end"].max()) + PAUSE
        later += -later % 4
    return e.data()


def _entry(e: Encoder, writer: _Writer, base: int) -> None:
    """The writes of the kernel's address: behind the code that preloads arguments, where there is some."""
    line = int(writer.capture.insts.sort_values(["wave", "seq"])["line"].iloc[0])
    address = base + int(writer.pc[line]) >> 8
    for register, value in ((0xC, address & 0xFFFF_FFFF), (0xD, address >> 32)):
        if writer.gfx9:
            e.packet("REG_CS", me=0, regaddr=register, regdata=value)
        else:
            e.packet("REG", me=1, cs=1, regaddr=register, regdata=value)


def _packet(e: Encoder, p: Sent) -> None:
    if p.kind == "VALU_INST":
        e.valu(p.time, p.fields["wave"])
    elif p.kind == "IMMEDIATE" and p.fields["mask"].bit_count() == 1:
        e.at(p.time, "IMM_ONE", wave=p.fields["mask"].bit_length() - 1)
    else:
        e.at(p.time, p.kind, **p.fields)


def folder(out: Path, data: bytes, *captures: Capture) -> Path:
    """A trace folder (docs/trace-folder.md) of one engine; the launch is that of the first capture."""
    out.mkdir(parents=True)
    programs = []
    for n, c in enumerate(captures):
        (out / f"kernel{n}.co").write_bytes(c.code_objects[0].data)
        programs.append(
            {"file": f"kernel{n}.co", "name": c.kernel, "load_base": BASE + n * APART, "index": n}
        )
    (out / "se0.sqtt").write_bytes(data)
    launch: Mapping[str, Any] = captures[0].meta.get("launch") or {}
    meta = {
        "arch": captures[0].arch,
        "programs": programs,
        "launches": [
            {
                "program": 0,
                "grid_workgroups": launch.get("grid"),
                "workgroup_size": launch.get("workgroup"),
            }
        ],
        "traces": [{"file": "se0.sqtt", "se": 0, "bytes": len(data)}],
    }
    (out / "meta.json").write_text(json.dumps(meta))
    return out
