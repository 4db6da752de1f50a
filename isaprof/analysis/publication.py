"""Where others can notice that a memory operation of a wave is still in flight.

Barriers, messages and flags in memory are how waves (and the host) tell each
other that data may be read or overwritten. Which operations have to be complete
there is what a wait in front of them is for, though no register says so.

Source: the code sequences of the memory model in LLVM's AMDGPU user guide
(release: all earlier loads and stores are complete before the flag is written;
acquire: the flag is there before caches are invalidated and data is loaded),
and the ISA documents on LDS (operations of one wave on it are in order, but
FLAT and LDS-DMA go another way).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from isaprof.analysis.cfg import Cfg
from isaprof.isa.model import Instruction, Pipe, Space

Matters = Callable[[Instruction], bool]

#: instructions without a memory access behind which others look at memory, or that end the use of registers
_LOOK = ("s_sendmsg", "s_dcache", "s_gl1_inv")
_WRITES_ONLY = ("s_icache", "s_trap")
#: vector memory instructions without an access that are no cache maintenance either
_NO_MAINTENANCE = re.compile(r"\w*prefetch\w*|buffer_nop")
#: arithmetic that is accumulated, not handed over: not what a lock or a flag is made of
_ACCUMULATE = re.compile(
    r"\w*_(pk_)?(add|min|max|min_num|max_num|fmin|fmax)_(num_)?(bf16|f16|f32|f64)(_e32)?"
)
#: cache control that makes an access visible beyond the wave's own cache
_SCOPE_FLAGS = ("glc", "dlc", "sc0", "sc1")


def matters_at(cfg: Cfg, position: int) -> Matters | None:
    """Which outstanding operations others could notice at ``cfg.lines[position]``; None: none.

    - barriers: writes and LDS operations (reads too: another wave may
      overwrite what is still to be read); plain loads only where a store to
      memory can follow before the next barrier;
    - messages, invalidation of vector and scalar caches, write-back: everything;
      instruction cache, traps: writes;
    - stores: writes (a store may be the flag that releases them), and loads too
      where the store is of a scope wider than the wave, or stands behind a wait
      for all stores as a release does; atomics: everything, for a sum of floats
      writes only;
    - loads of a wider scope: writes and loads of a wider scope before them;
    - scalar loads: writes, which reach that cache only when they are complete;
    - LDS: LDS-DMA of the wave itself, which is not ordered with it; for LDS
      writes (a flag in LDS) writes to memory, for LDS atomics loads as well;
    - FLAT and LDS-DMA: LDS operations, for the same reason.
    """
    ins = cfg.lines[position]
    if is_barrier(ins):
        return _memory if _store_follows(cfg, position) else _writes_or_lds
    if ins.base.startswith(_WRITES_ONLY):
        return _writes
    if ins.mem is None:
        maintenance = ins.pipe is Pipe.VMEM and not _NO_MAINTENANCE.fullmatch(ins.base)
        return _memory if maintenance or ins.base.startswith(_LOOK) else None
    if ins.mem.lds_dma:
        return _writes_or_lds
    if ins.mem.space is Space.LDS:
        if ins.mem.atomic:
            return _beside_lds
        return _writes_beside_lds if ins.mem.store else _lds_dma
    if ins.mem.atomic:
        accumulates = not ins.mem.load and _ACCUMULATE.fullmatch(ins.base) and not _scoped(ins)
        return _writes_or_lds if accumulates else _memory
    if ins.mem.store:
        if _scoped(ins) or _behind_store_wait(cfg, position):
            return _memory
        return _writes_or_lds if ins.mem.space is Space.FLAT else _writes
    if _scoped(ins):
        return _writes_or_scoped
    if ins.mem.space is Space.SCALAR or ins.mem.space is Space.FLAT:
        return _writes
    return None


def is_barrier(ins: Instruction) -> bool:
    """Barriers, both halves of split ones, and global wave sync."""
    return ins.base.startswith(("s_barrier", "ds_gws"))


def _store_follows(cfg: Cfg, position: int) -> bool:
    """Whether a store or atomic outside LDS can follow before the next barrier.

    Behind the signal of a split barrier that is: before the second wait, since
    another wave may be as far as that once this one has signalled.
    """
    split = cfg.lines[position].base.startswith("s_barrier_signal")
    todo = [(p, int(split)) for p in _next(cfg, position)]
    seen: set[tuple[int, int]] = set()
    while todo:
        p, left = todo.pop()
        if (p, left) in seen:
            continue
        seen.add((p, left))
        ins = cfg.lines[p]
        if ins.mem is not None and ins.mem.space is not Space.LDS and (ins.mem.store or ins.mem.atomic):
            return True
        if is_barrier(ins) and not ins.base.startswith("s_barrier_signal"):
            if not left:
                continue
            left -= 1
        todo += [(q, left) for q in _next(cfg, p)]
    return False


def _next(cfg: Cfg, position: int) -> list[int]:
    block = cfg.blocks[cfg.block_of[position]]
    return [position + 1] if position < block.last else [cfg.blocks[s].first for s in block.succ]


def _scoped(ins: Instruction) -> bool:
    """Whether an access is of a scope wider than the wave, by its cache control."""
    m = ins.modifiers
    scope = m.get("scope")
    if ins.mem is not None and ins.mem.atomic:  # there sc0 and glc ask for the old value
        return m.get("sc1") is True or scope not in (None, "SCOPE_CU", 0)
    return any(m.get(f) is True for f in _SCOPE_FLAGS) or scope not in (None, "SCOPE_CU", 0)


def _behind_store_wait(cfg: Cfg, position: int) -> bool:
    """Whether a store directly follows a wait for all stores: a release, on targets without scope bits."""
    first = cfg.blocks[cfg.block_of[position]].first
    for p in range(position - 1, first - 1, -1):
        ins = cfg.lines[p]
        if ("vscnt", 0) in ins.waits:
            return True
        if ins.mem is not None:
            return False
    return False


def _memory(op: Instruction) -> bool:
    return op.mem is not None


def _writes(op: Instruction) -> bool:
    return op.mem is not None and (op.mem.store or op.mem.atomic or op.mem.lds_dma)


def _lds(op: Instruction) -> bool:
    return op.mem is not None and op.mem.space is Space.LDS


def _writes_or_lds(op: Instruction) -> bool:
    return _writes(op) or _lds(op)


def _writes_or_scoped(op: Instruction) -> bool:
    return _writes(op) or (_memory(op) and _scoped(op))


def _beside_lds(op: Instruction) -> bool:
    return _memory(op) and not _lds(op)


def _writes_beside_lds(op: Instruction) -> bool:
    return _writes(op) and not _lds(op)


def _lds_dma(op: Instruction) -> bool:
    return op.mem is not None and op.mem.lds_dma
