"""How the meaning of an instruction is declared: once, as data.

A :class:`Semantics` row names an *operation*, the types of its operands and
the NumPy function that computes it on whole lane vectors. The lowering fetches
operands by type and stores results by type, so that operand modifiers, DPP,
SDWA, clamp and the lane mask are done in one place for all operations. Another
executor implements the same operation names over the same types.

Types: ``u32 i32 f32 u16 i16 f16 bf16 u64 i64 f64`` lane vectors; ``mask`` a
lane mask (bool per lane; as source an SGPR pair or VCC, as result one bit per
lane, 0 for inactive lanes); ``f16x2 bf16x2 i16x2 u16x2`` a pair (low, high) of
lane vectors out of one register, op_sel and neg applied; ``mix`` an f32 or one
half as f32, as v_fma_mix chooses by op_sel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Fn = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Semantics:
    """One row of the table. ``op`` is the operation's name, unique per behaviour."""

    op: str
    dst: tuple[str, ...]
    src: tuple[str, ...]
    fn: Fn = field(compare=False)
    source: str  #: where the rule is written
    mode: bool = False  #: fn's first argument is the FloatMode
    accumulate: bool = False  #: the last source is the destination register itself (fmac)
    implicit_vcc: bool = False  #: the last source is VCC, which the text does not name
    packed: bool = False  #: fn works on both halves at once: vectors of 2 * lanes elements
    packed32: bool = False  #: the same for register pairs of f32 (v_pk_fma_f32)
    exec_dst: bool = False  #: v_cmpx: the mask goes to EXEC
    keeps_high16: bool | None = None  #: 16-bit result: upper half kept (None: by generation)
    sat: tuple[int, int] | None = None  #: clamp saturates: fn then gets int64 vectors
    carry: bool = False  #: add or subtract with carry out: clamp saturates on a carry
    truth_table: bool = False  #: fn takes the truth table of v_bitop3 as its last argument
    scc: bool = False  #: (scalar) fn returns (value, scc)
    reads_scc: bool = False  #: (scalar) fn's last argument is SCC
    raw: bool = False  #: bits are passed on: no denormal flush, omod or float clamp (moves, selections)


def parse_signature(signature: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """``"u32 u32 -> u32 mask"`` -> (sources, destinations)."""
    left, _, right = signature.partition("->")
    return tuple(left.split()), tuple(right.split())


def table(source: str, rows: Iterable[tuple[Any, ...]]) -> Mapping[str, Semantics]:
    """Rows ``(mnemonics, operation, signature, fn[, flags])`` as mnemonic -> Semantics."""
    out: dict[str, Semantics] = {}
    for names, op, signature, fn, *rest in rows:
        src, dst = parse_signature(signature)
        row = Semantics(op, dst, src, fn, source, **(rest[0] if rest else {}))
        for name in names.split():
            if name in out:
                raise ValueError(f"{name} is declared twice")
            out[name] = row
    return out
