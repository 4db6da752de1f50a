"""Live registers at every instruction, lanes considered.

A register is live where some path reads it before it is written. A vector write
under a narrowed EXEC leaves the other lanes as they were: it ends the life of
the register only for readers whose EXEC is provably inside its own. Registers
that nothing has written yet are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

from isaprof.inspect.entry import A, S, V
from isaprof.inspect.flow import Flow, is_full, within
from isaprof.inspect.values import Node
from isaprof.isa.model import Instruction
from isaprof.isa.rules import NO_EXEC


@dataclass(frozen=True, slots=True)
class Pressure:
    """Live registers: parallel tuples over the reachable instructions, in address order."""

    indices: tuple[int, ...]  #: listing indices
    vgpr: tuple[int, ...]
    agpr: tuple[int, ...]
    sgpr: tuple[int, ...]

    def peak(self, of: str) -> tuple[int, int]:
        """(largest count, listing index where it is first reached) of ``vgpr``, ``agpr`` or ``sgpr``."""
        counts: tuple[int, ...] = getattr(self, of)
        most = max(counts, default=0)
        return most, self.indices[counts.index(most)] if counts else -1


class _Masks:
    """Bit sets of registers: one integer for SGPRs, one for VGPRs and AGPRs together."""

    def __init__(self) -> None:
        self.scalar: dict[int, int] = {}
        self.vector: dict[int, int] = {}

    def of(self, codes: list[int]) -> tuple[int, int]:
        s = v = 0
        for c in codes:
            if S <= c < S + 4096:
                s |= 1 << (c - S)
            elif V <= c < V + 4096:
                v |= 1 << (c - V)
            elif A <= c < A + 4096:
                v |= 1 << (c - A + 4096)
        return s, v


_Live = dict[int, int]  # reader's EXEC (0: any lane) -> live vector registers


def pressure(flow: Flow) -> Pressure:
    """Live registers before and at each instruction of ``flow``."""
    return _Solver(flow).solve()


class _Solver:
    def __init__(self, flow: Flow) -> None:
        self.flow, self.cfg = flow, flow.cfg
        masks = _Masks()
        self.reads = {index: masks.of(codes[0]) for index, codes in flow.codes.items()}
        self.writes = {index: masks.of(codes[1]) for index, codes in flow.codes.items()}
        self.entry = masks.of(list(flow.entry))
        self.execs: dict[int, tuple[Node, ...]] = {}
        self.inside: dict[tuple[int, int], bool] = {}
        self.key = {i.index: self._key(i) for i in self.cfg.lines}

    def _key(self, ins: Instruction) -> int:
        """0 where all lanes count; else a number for EXEC at ``ins``."""
        execs = self.flow.exec_at.get(ins.index, ())
        if NO_EXEC.fullmatch(ins.base) or ins.enc.endswith("dpp") or all(map(is_full, execs)):
            return 0
        self.execs[id(execs[0])] = execs
        return id(execs[0])

    def _within(self, inner: int, outer: int) -> bool:
        if outer == 0:
            return True
        if inner == 0:
            return False
        if (inner, outer) not in self.inside:
            pairs = zip(self.execs[inner], self.execs[outer], strict=True)
            self.inside[inner, outer] = all(within(a, b) for a, b in pairs)
        return self.inside[inner, outer]

    def _back(self, ins: Instruction, scalar: int, vector: _Live) -> int:
        """State before ``ins`` from the state after it; ``vector`` is changed in place."""
        ws, wv = self.writes[ins.index]
        rs, rv = self.reads[ins.index]
        key = self.key[ins.index]
        if wv:
            # DPP forms write under EXEC although they read other lanes
            under = key if not ins.enc.endswith("dpp") else self._exec_key(ins)
            for k, live in vector.items():
                if live & wv and self._within(k, under):
                    vector[k] = live & ~wv
        if rv:
            vector[key] = vector.get(key, 0) | rv
        return scalar & ~ws | rs

    def _exec_key(self, ins: Instruction) -> int:
        execs = self.flow.exec_at[ins.index]
        if all(map(is_full, execs)):
            return 0
        self.execs[id(execs[0])] = execs
        return id(execs[0])

    def solve(self) -> Pressure:
        blocks = self.cfg.blocks
        scalar_in = [0] * len(blocks)
        vector_in: list[_Live] = [{} for _ in blocks]
        todo = [b.index for b in reversed(blocks)]
        queued = set(todo)
        while todo:
            b = todo.pop(0)
            queued.discard(b)
            s, v = self._out(b, scalar_in, vector_in)
            for p in range(blocks[b].last, blocks[b].first - 1, -1):
                s = self._back(self.cfg.lines[p], s, v)
            v = {k: m for k, m in v.items() if m}
            if s != scalar_in[b] or v != vector_in[b]:
                scalar_in[b], vector_in[b] = s, v
                for p in blocks[b].pred:
                    if p not in queued:
                        queued.add(p)
                        todo.append(p)
        defined = self._defined()
        counts: dict[int, tuple[int, int, int]] = {}
        for block in blocks:
            s, v = self._out(block.index, scalar_in, vector_in)
            for p in range(block.last, block.first - 1, -1):
                ins = self.cfg.lines[p]
                ws, wv = self.writes[ins.index]
                ds, dv = defined[ins.index]
                after = _count((s & (ds | ws)) | ws, _all(v) & (dv | wv) | wv)
                s = self._back(ins, s, v)
                before = _count(s & ds, _all(v) & dv)
                counts[ins.index] = tuple(map(max, after, before))  # type: ignore[assignment]
        order = [i.index for i in self.cfg.lines]
        columns = [tuple(counts[i][k] for i in order) for k in range(3)]
        return Pressure(tuple(order), columns[0], columns[1], columns[2])

    def _out(self, b: int, scalar_in: list[int], vector_in: list[_Live]) -> tuple[int, _Live]:
        s = 0
        v: _Live = {}
        for n in self.cfg.blocks[b].succ:
            s |= scalar_in[n]
            for k, m in vector_in[n].items():
                v[k] = v.get(k, 0) | m
        return s, v

    def _defined(self) -> dict[int, tuple[int, int]]:
        """Registers that some path has written before each instruction."""
        blocks = self.cfg.blocks
        start = [(0, 0)] * len(blocks)
        head = next((b.index for b in blocks if self.cfg.idom[b.index] == b.index), 0)
        if blocks:
            start[head] = self.entry
        out: dict[int, tuple[int, int]] = {}
        todo = [head] if blocks else []
        seen = set(todo)
        while todo:
            b = todo.pop(0)
            s, v = start[b]
            for p in range(blocks[b].first, blocks[b].last + 1):
                index = self.cfg.lines[p].index
                out[index] = (s, v)
                s |= self.writes[index][0]
                v |= self.writes[index][1]
            for n in blocks[b].succ:
                merged = (start[n][0] | s, start[n][1] | v)
                if merged != start[n] or n not in seen:
                    seen.add(n)
                    start[n] = merged
                    todo.append(n)
        return {i.index: out.get(i.index, (0, 0)) for i in self.cfg.lines}


def _all(vector: _Live) -> int:
    out = 0
    for m in vector.values():
        out |= m
    return out


def _count(scalar: int, vector: int) -> tuple[int, int, int]:
    low = vector & ((1 << 4096) - 1)
    return low.bit_count(), (vector >> 4096).bit_count(), scalar.bit_count()
