"""Read-modify-write operations of LDS, global, flat and buffer atomics.

``fn(old, data)`` (``fn(old, data, compare)`` for compare-and-swap) on vectors
of the element type; old values are what a returning atomic gives back.
Source: RDNA3, RDNA4 and CDNA3 ISA, Instructions: DS, FLAT, MUBUF.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from isaprof.sim.mode import FloatMode
from isaprof.sim.semantics import floats as fl
from isaprof.sim.semantics.formats import bf16_to_f32, f32_to_bf16

#: a lane vector, or a NumPy scalar for a source that is the same in all lanes
Vec = Any
_IEEE = FloatMode(ieee=True)


@dataclass(frozen=True, slots=True)
class Atomic:
    """``dtype`` is the element; ``sources`` data operands of element size (2: data and compare or mask)."""

    op: str
    dtype: Any
    fn: Callable[..., Vec]
    sources: int = 1


def _inc(old: Vec, data: Vec) -> Vec:
    return np.where(old >= data, old.dtype.type(0), old + old.dtype.type(1))


def _dec(old: Vec, data: Vec) -> Vec:
    return np.where((old == 0) | (old > data), data, old - old.dtype.type(1))


def _sub_clamp(old: Vec, data: Vec) -> Vec:
    return np.where(old < data, old.dtype.type(0), old - data)


def _cond_sub(old: Vec, data: Vec) -> Vec:
    return np.where(old < data, old, old - data)


def _pk_add_f16(old: Vec, data: Vec) -> Vec:
    a, b = old.view(np.float16), data.view(np.float16)
    # the first NaN is the result, whatever NumPy's loops would choose
    r = np.where(np.isnan(a), fl.quiet(a), np.where(np.isnan(b), fl.quiet(b), a + b))
    return r.view(np.uint32)


def _pk_add_bf16(old: Vec, data: Vec) -> Vec:
    s = bf16_to_f32(old.view(np.uint16)) + bf16_to_f32(data.view(np.uint16))
    return f32_to_bf16(s).view(np.uint32)


def _build() -> dict[str, Atomic]:
    out: dict[str, Atomic] = {}

    def put(names: str, op: str, dtype: Any, fn: Callable[..., Vec], sources: int = 1) -> None:
        for n in names.split():
            out[n] = Atomic(op, dtype, fn, sources)

    for bits, u, i, f in ((32, np.uint32, np.int32, np.float32), (64, np.uint64, np.int64, np.float64)):
        x2 = "_x2" if bits == 64 else ""
        put(f"add_u{bits} add{x2}", f"add_u{bits}", u, lambda o, d: o + d)
        put(f"sub_u{bits} sub{x2}", f"sub_u{bits}", u, lambda o, d: o - d)
        put(f"rsub_u{bits}", f"rsub_u{bits}", u, lambda o, d: d - o)
        put(f"inc_u{bits} inc{x2}", f"inc_u{bits}", u, _inc)
        put(f"dec_u{bits} dec{x2}", f"dec_u{bits}", u, _dec)
        put(f"min_i{bits} smin{x2}", f"min_i{bits}", i, np.minimum)
        put(f"max_i{bits} smax{x2}", f"max_i{bits}", i, np.maximum)
        put(f"min_u{bits} umin{x2}", f"min_u{bits}", u, np.minimum)
        put(f"max_u{bits} umax{x2}", f"max_u{bits}", u, np.maximum)
        put(f"and_b{bits} and{x2}", f"and_b{bits}", u, lambda o, d: o & d)
        put(f"or_b{bits} or{x2}", f"or_b{bits}", u, lambda o, d: o | d)
        put(f"xor_b{bits} xor{x2}", f"xor_b{bits}", u, lambda o, d: o ^ d)
        put(f"swap_b{bits} swap{x2} wrxchg_b{bits} storexchg_b{bits}", f"swap_b{bits}", u, lambda o, d: d)
        put(f"cmpswap_b{bits} cmpswap{x2} cmpst_b{bits} cmpstore_b{bits}", f"cmpswap_b{bits}", u,
            lambda o, d, c: np.where(o == c, d, o), 2)  # fmt: skip
        put(
            f"cmpst_f{bits} cmpstore_f{bits}",
            f"cmpswap_f{bits}",
            f,
            lambda o, d, c: np.where(o == c, d, o),
            2,
        )
        put(f"mskor_b{bits}", f"mskor_b{bits}", u, lambda o, d, m: o & ~m | d, 2)
        put(f"add_f{bits}", f"add_f{bits}", f, lambda o, d: o + d)
        put(f"min_f{bits} fmin{x2} min_num_f{bits}", f"min_f{bits}", f, lambda o, d: fl.minimum(_IEEE, o, d))
        put(f"max_f{bits} fmax{x2} max_num_f{bits}", f"max_f{bits}", f, lambda o, d: fl.maximum(_IEEE, o, d))
    put("csub_u32 csub sub_clamp_u32", "sub_clamp_u32", np.uint32, _sub_clamp)
    put("cond_sub_u32", "cond_sub_u32", np.uint32, _cond_sub)
    put("pk_add_f16", "pk_add_f16", np.uint32, _pk_add_f16)
    put("pk_add_bf16", "pk_add_bf16", np.uint32, _pk_add_bf16)
    return out


#: name without prefix (ds_, global_atomic_, ...) and without _rtn -> operation
TABLE = _build()


def apply(
    atomic: Atomic,
    load: Callable[[Vec, int], Vec],
    store: Callable[[Vec, Vec, int], None],
    addresses: Vec,
    data: list[Vec],
) -> Vec:
    """Perform the atomic on each address in lane order; returns the old values as dwords [k, n].

    ``data``: dword arrays [k, n], k = 1 or 2 by element size. Lanes with equal
    addresses are done one after the other.
    """
    nbytes = np.dtype(atomic.dtype).itemsize
    elements = [from_dwords(d, atomic.dtype) for d in data]
    _, inverse, counts = np.unique(addresses, return_inverse=True, return_counts=True)
    if counts.max() == 1:
        old = from_dwords(load(addresses, nbytes), atomic.dtype)
        store(addresses, to_dwords(atomic.fn(old, *elements)), nbytes)
        return to_dwords(old)
    olds = np.zeros(addresses.shape, atomic.dtype)
    for lanes in _rounds(inverse):
        old = from_dwords(load(addresses[lanes], nbytes), atomic.dtype)
        store(addresses[lanes], to_dwords(atomic.fn(old, *(e[lanes] for e in elements))), nbytes)
        olds[lanes] = old
    return to_dwords(olds)


def _rounds(group: Vec) -> list[Vec]:
    """Lane sets in which each group occurs once: first occurrences, second occurrences, ..."""
    seen: dict[int, int] = {}
    rounds: list[list[int]] = []
    for lane, g in enumerate(group.tolist()):
        k = seen.get(g, 0)
        seen[g] = k + 1
        if k == len(rounds):
            rounds.append([])
        rounds[k].append(lane)
    return [np.array(r) for r in rounds]


def from_dwords(d: Vec, dtype: Any) -> Vec:
    """Dwords [k, n] as n elements of 4 or 8 bytes."""
    if np.dtype(dtype).itemsize == 4:
        return d[0].view(dtype)
    return (d[0].astype(np.uint64) | d[1].astype(np.uint64) << np.uint64(32)).view(dtype)


def to_dwords(x: Vec) -> Vec:
    """n elements of 4 or 8 bytes as dwords [k, n]."""
    if x.dtype.itemsize == 4:
        return np.ascontiguousarray(x).view(np.uint32)[None]
    u = np.ascontiguousarray(x).view(np.uint64)
    return np.stack([u.astype(np.uint32), (u >> np.uint64(32)).astype(np.uint32)])
