"""The same state and instructions through both executors; results compared bit by bit."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from isaprof.isa.decode import decode_lines, listing_of
from isaprof.isa.model import Listing
from isaprof.isa.objdump import CodeRange
from isaprof.sim import archdata
from isaprof.sim.executor import Program
from isaprof.sim.fast import build
from isaprof.sim.fast.decode import Decoder
from isaprof.sim.fast.records import FALLBACK, GroupRecord, MemoryRecord
from isaprof.sim.fast.wave import FastWave
from isaprof.sim.faults import SimulatedFault
from isaprof.sim.lower.context import Context
from isaprof.sim.memory import LDS, Memory
from isaprof.sim.state import Wave, Workgroup

#: floats that matter: zeros, denormals, infinities, quiet and signalling NaNs, ties
SPECIAL = np.array(
    [
        0,
        0x80000000,
        1,
        0x80000001,
        0x007FFFFF,
        0x00800000,
        0x3F800000,
        0xBF800000,
        0x7F800000,
        0xFF800000,
        0x7FC00001,
        0xFFC12345,
        0x7F800001,
        0xFF812345,
        0x7F7FFFFF,
        0x33800000,
        0x3F800001,
        0x477FF000,
        0x387FE000,
        0x3C003C00,
        0x7C007C00,
        0xFC01FE00,
        0x00010001,
        0x03FF0400,
        0x7BFF7BFF,
        0x4F000000,
        0xCF000001,
    ],
    np.uint32,
)


def listing_from_texts(arch: str, texts: list[str]) -> Listing:
    rows = [(4 * i, (0,), t) for i, t in enumerate([*texts, "s_endpgm"])]
    code = decode_lines(arch, rows)
    return Listing(arch, code, {}, {i.pc: i.index for i in code})


def listing_from_words(arch: str, words: list[int]) -> Listing:
    return listing_of(arch, [CodeRange(0, b"".join(w.to_bytes(4, "little") for w in words))])


def initial(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Random bits, small integers, ordinary floats and special values, mixed by register."""
    bits = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
    floats = rng.standard_normal(shape).astype(np.float32).view(np.uint32)
    small = rng.integers(0, 64, shape, dtype=np.uint32)
    special = SPECIAL[rng.integers(0, len(SPECIAL), shape)]
    kind = rng.integers(0, 5, (*shape[:1], *([1] * (len(shape) - 1))))
    return np.choose(
        np.broadcast_to(kind, shape), [bits, floats, small, special, np.where(bits & 1, special, floats)]
    )


class Side:
    """One executor with its own wave, memory and LDS."""

    def __init__(self, wave: Wave, seed: int, mode: int, exec_mask: int | None, arch: str) -> None:
        rng = np.random.default_rng(seed)
        w = self.wave = wave
        w.facts_fnuz = archdata.facts(arch).fp8_fnuz
        w.v[:] = initial(rng, w.v.shape)
        for i, x in enumerate(initial(rng, (32,)).tolist()):
            w.s[i] = x
        self.memory = Memory()
        segment = self.memory.add("a", rng.integers(0, 256, 8192, dtype=np.uint8))
        self.memory.add("code", rng.integers(0, 256, 512, dtype=np.uint8), writable=False)
        self.memory.freeze()
        low, high = segment.base & 0xFFFFFFFF, segment.base >> 32
        # s[20:23] a raw buffer of 4096 bytes, s[24:27] one of 64-byte records, s[28:29] and s[30:31]
        # addresses, v[60:61] addresses, v62 and v63 offsets
        w.s[20:24] = [low, high, 4096, 3 << 28]
        w.s[24:28] = [low, high | 64 << 16, 40, 0]
        w.s[28:32] = [low + 64, high, low, high]
        offsets = rng.integers(0, 500, w.lanes, dtype=np.uint32) * 8
        if seed % 3 == 0:
            offsets = offsets + rng.integers(0, 4, w.lanes, dtype=np.uint32)
        if seed % 5 == 0:
            offsets = np.where(rng.integers(0, 3, w.lanes) == 0, np.uint32(640), offsets)
        if w.agpr_base >= 64:
            w.v[60], w.v[61] = low + offsets, high
            w.v[62], w.v[63] = offsets, rng.integers(0, 48, w.lanes, dtype=np.uint32)
        w.s[106], w.s[107] = 0x5A5A0FF0, 0xFFFF0000
        w.s[124] = 64
        self.lds = LDS(4096)
        self.lds.bytes[:] = rng.integers(0, 256, self.lds.bytes.size, dtype=np.uint8)
        w.memory, w.lds = self.memory, self.lds
        w.wg = Workgroup((0, 0, 0), [w], self.lds)
        w.scratch = np.zeros((w.lanes, 256), np.uint8)
        w.set_mode(mode)
        if exec_mask is not None:
            w.set_exec(exec_mask & (1 << w.lanes) - 1)


def context(arch: str, lanes: int, listing: Listing, vgprs: int, agprs: int) -> Context:
    return Context(arch, archdata.facts(arch), lanes, vgprs, agprs, listing, 0, 256)


def run_reference(side: Side, ctx: Context, limit: int) -> SimulatedFault | None:
    program, w = Program(ctx), side.wave
    try:
        with np.errstate(all="ignore"):
            while limit > 0 and not w.done:
                if w.barrier:
                    if w.wg is None or w.wg.phase <= w.phase:
                        break
                    w.phase += 1
                    w.barrier = False
                n, _ = program.run(w, limit)
                limit -= n
    except SimulatedFault as e:
        return e
    return None


class FastProgram:
    """The fast executor behind the interface of isaprof.sim.executor.Program, for one wave at a time."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.library = build.load()
        self.decoder = Decoder(ctx, self.library, 0)
        self.prog = self.decoder.program()
        self.reference = Program(ctx)
        self.fallbacks = 0

    def run(self, w: Wave, limit: int) -> None:
        """Up to ``limit`` instructions, or until the wave ends. Raises SimulatedFault."""
        assert isinstance(w, FastWave)
        m = w.memory
        starts, ends = (np.array([getattr(s, n) for s in m.segments], np.uint64) for n in ("base", "end"))
        writable = np.array([s.writable for s in m.segments], np.uint8)
        memory = MemoryRecord(
            m.bytes.ctypes.data,
            m.base,
            len(m.segments),
            starts.ctypes.data,
            ends.ctypes.data,
            writable.ctypes.data,
        )
        w.record.memory = ctypes.addressof(memory)
        w.start()
        executed = ctypes.c_int64(0)
        counts = np.zeros(len(self.ctx.listing.instructions) + 1, np.int64)
        pointer = (ctypes.c_void_p * 1)(ctypes.addressof(w.record))
        g = GroupRecord(
            waves=ctypes.addressof(pointer),
            n=1,
            live=1,
            slice=1 << 40,
            budget=1 << 40,
            quantum=limit,
            limit=limit,
            executed=ctypes.addressof(executed),
            counts=counts.ctypes.data,
        )
        steps = self.reference.steps
        while self.library.isa_run(ctypes.addressof(g), ctypes.addressof(self.prog)) == FALLBACK:
            w.from_record()
            self.fallbacks += 1
            try:
                if w.pc >= len(steps):
                    raise IndexError
                signal = (steps[w.pc] or self.reference._lower(w.pc))(w)
            except SimulatedFault:
                raise
            except Exception as e:
                raise self.reference._fault(w, e) from e
            w.to_record()
            g.left -= 1
            self.library.isa_count(ctypes.byref(executed), 1)
            if signal is not None:
                self.library.isa_signal(ctypes.byref(g), int(signal == 1))
        w.lds.outside += w.record.lds_outside
        w.from_record()


def run_fast(side: Side, ctx: Context, limit: int) -> tuple[SimulatedFault | None, int]:
    """(fault, instructions left to the reference)."""
    program = FastProgram(ctx)
    try:
        with np.errstate(all="ignore"):
            program.run(side.wave, limit)
    except SimulatedFault as e:
        return e, program.fallbacks
    return None, program.fallbacks


def nan_tolerant(got: Any, want: Any, how: str) -> Any:
    """Equal, or both NaN as ``how`` (f32, f16) reads the bits.

    Which NaN comes out where two went in is up to NumPy's loops for f16 and to
    BLAS for matrices, and differs between processors.
    """
    same = got == want
    if how == "f32":
        same |= np.isnan(got.view(np.float32)) & np.isnan(want.view(np.float32))
    elif how == "f16":
        a, b = got.view(np.float16), want.view(np.float16)
        same |= (
            ((a == b) | (np.isnan(a) & np.isnan(b)) | (got.view(np.uint16) == want.view(np.uint16)))
            .reshape(*got.shape, 2)
            .all(axis=-1)
        )
    return same


def difference(reference: Side, fast: Side, how: str = "exact") -> str | None:
    """What differs between the two sides, None when nothing does."""
    a, b = reference.wave, fast.wave
    for name in ("scc", "mode"):
        if getattr(a, name) != getattr(b, name):
            return f"{name}: {getattr(b, name):#x}, reference {getattr(a, name):#x}"
    slots = [i for i in range(128) if a.s[i] != b.s[i]]
    if slots:
        i = slots[0]
        return f"scalar {i}: {b.s[i]:#x}, reference {a.s[i]:#x}"
    same = nan_tolerant(b.v, a.v, how)
    if not same.all():
        row, lane = (int(x) for x in np.argwhere(~same)[0])
        return f"v{row} lane {lane}: {b.v[row, lane]:#x}, reference {a.v[row, lane]:#x}"
    if not np.array_equal(reference.lds.bytes, fast.lds.bytes):
        return "LDS"
    if reference.lds.outside != fast.lds.outside:
        return f"LDS outside: {fast.lds.outside}, reference {reference.lds.outside}"
    if not np.array_equal(reference.memory.bytes, fast.memory.bytes):
        return "memory"
    if not np.array_equal(a.scratch, b.scratch):  # type: ignore[arg-type]
        return "scratch"
    return None


def compare(
    arch: str,
    listing: Listing,
    seed: int,
    *,
    mode: int = 0xF0,
    exec_mask: int | None = None,
    limit: int = 1000,
    lanes: int | None = None,
    vgprs: int = 64,
    agprs: int = 32,
    how: str = "exact",
) -> tuple[str | None, int]:
    """(difference or None, instructions that the fast executor left to the reference)."""
    n = lanes or (64 if arch.startswith("gfx9") else 32)
    ctx = context(arch, n, listing, vgprs, agprs)
    reference = Side(Wave(n, vgprs + agprs, vgprs), seed, mode, exec_mask, arch)
    fast = Side(FastWave(n, vgprs + agprs, vgprs), seed, mode, exec_mask, arch)
    want = run_reference(reference, ctx, limit)
    got, fallbacks = run_fast(fast, ctx, limit)
    if (want is None) != (got is None) or (want is not None and got is not None and str(want) != str(got)):
        return f"fault {got}, reference {want}", fallbacks
    return difference(reference, fast, how), fallbacks
