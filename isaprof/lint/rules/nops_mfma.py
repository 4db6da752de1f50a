"""Wait states around matrix instructions of CDNA2 to CDNA4 (gfx90a, gfx942, gfx950)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from isaprof.isa.model import Instruction, RegClass, RegSpan
from isaprof.lint.context import Context
from isaprof.lint.distance import Need, report, shortfalls, worst_first
from isaprof.lint.hazard_facts import DGEMM, GFX90A, GFX940, GFX950, LLVM_MFMA
from isaprof.lint.kinds import (
    LANES,
    destination,
    explicit_reads,
    is_dgemm,
    is_dot,
    is_memory,
    is_mfma,
    is_valu,
    names,
    of_class,
    passes,
    source_span,
    writes,
)
from isaprof.lint.model import Finding, NoRule, Rule, Severity, no_rule
from isaprof.lint.search import nearby

_EXEC = RegSpan(RegClass.EXEC, 0, 2)
_PACKED = re.compile(r"v_pk_(fma|mul|add)_f32")
_FARTHEST = 20  #: no rule asks for more wait states


def is_xdl(ins: Instruction, arch: str) -> bool:
    """Matrix instructions of the XDL kind: all but f64, and on gfx942 and later all but f32 inputs."""
    if not is_mfma(ins) or is_dgemm(ins):
        return False
    return arch not in GFX940 or not ins.base.endswith("_f32")


def _plain_valu(ins: Instruction) -> bool:
    return is_valu(ins) and not is_mfma(ins)


def src_c_states(arch: str, producer: Instruction, consumer: Instruction, n: int, full: bool) -> int:
    """Wait states between a matrix instruction of ``n`` passes and one that reads its D as C."""
    if full:
        if "f64_4x4x4" in producer.base and "f64_4x4x4" in consumer.base:
            return 4
        return 2 if arch in GFX940 and n == 2 else 0
    if is_dgemm(producer):
        if arch not in GFX940 and not is_dgemm(consumer):
            return 0
        big = "16x16" in producer.base
        return 0 if is_xdl(consumer, arch) else DGEMM[arch].src_c[big]
    later = arch in GFX950
    if arch in GFX940:
        if not is_xdl(producer, arch):
            return 0 if is_xdl(consumer, arch) else n
        if is_xdl(consumer, arch):
            return n + 1 + later
        return n + 1 + (later and n != 2)
    return {2: 2, 8: 8, 16: 16}.get(n, n) + is_dgemm(consumer)


def result_states(arch: str, producer: Instruction, n: int, use: str) -> int:
    """Wait states between a matrix instruction of ``n`` passes and another use of its D.

    ``use``: ``src_ab``, ``valu_read``, ``memory`` or ``valu_write``.
    """
    if is_dgemm(producer):
        pair: tuple[int, int] = getattr(DGEMM[arch], use)
        return pair["16x16" in producer.base]
    if arch in GFX940 and not is_xdl(producer, arch):
        return n + 2
    return n + 3 + (arch in GFX950 and n != 2)


def _needs(ctx: Context, ins: Instruction, table_passes: dict[int, int]) -> Iterator[Need]:
    """What ``ins`` needs behind the matrix instructions ``table_passes`` (row -> passes) and others."""
    arch = ctx.co.arch
    reads = of_class(explicit_reads(ins), LANES)
    if is_mfma(ins):
        src_c = source_span(ins, 2)
        yield Need(
            _EXEC, 4, lambda i: _plain_valu(i) and writes(i, _EXEC), "depends on EXEC, written by VALU"
        )
        for span in dict.fromkeys(reads):
            yield Need(
                span,
                2,
                lambda i, s=span: _plain_valu(i) and not is_dot(i) and writes(i, s),  # type: ignore[misc]
                f"matrix instruction reads {names(span)}, written by VALU",
            )
            yield from _after_mfma(ctx, ins, span, "src_c" if span == src_c else "src_ab", table_passes)
            if span == src_c and span in (source_span(ins, 0), source_span(ins, 1)):
                yield from _after_mfma(ctx, ins, span, "src_ab", table_passes)
        return
    use = "memory" if is_memory(ins) else "valu_read"
    for span in dict.fromkeys(reads):
        yield from _after_mfma(ctx, ins, span, use, table_passes)
    if arch in GFX90A and arch not in GFX940 and is_memory(ins):
        yield from _gfx90a_dgemm_between(reads)
    if ins.base in ("v_fma_f64", "v_fmac_f64"):
        yield Need(None, 2, is_dgemm, "f64 FMA follows f64 matrix instruction")
    for span in dict.fromkeys(of_class(ins.writes, LANES)):  # loads as well as VALU
        yield from _after_mfma(ctx, ins, span, "valu_write", table_passes)
        yield from _after_mfma(ctx, ins, span, "src_c_war", table_passes)


def _gfx90a_dgemm_between(reads: tuple[RegSpan, ...]) -> Iterator[Need]:
    """gfx90a: an f64 matrix instruction between a VALU write and a memory instruction that reads it."""
    for span in reads:
        yield Need(
            span,
            2,
            lambda i, s=span: _plain_valu(i) and writes(i, s),  # type: ignore[misc]
            f"with an f64 matrix instruction between, memory instruction reads {names(span)}, written by",
            only=lambda found: any(is_dgemm(i) for i in found.between),
        )


def _after_mfma(
    ctx: Context, ins: Instruction, span: RegSpan, use: str, table_passes: dict[int, int]
) -> Iterator[Need]:
    """Needs of a use of ``span``, one for each number of wait states that producers ask for."""
    arch = ctx.co.arch
    by_states: dict[int, list[int]] = {}
    for row, n in table_passes.items():
        producer = ctx.ins(row)
        if use == "src_c_war":
            c = source_span(producer, 2)
            if not is_xdl(producer, arch) or c is None or not c.overlaps(span):
                continue
            states = {2: 1, 4: 3, 8: 7}.get(n, 15)
        else:
            d = destination(producer)
            if d is None or not d.overlaps(span):
                continue
            if use == "src_c":
                states = src_c_states(arch, producer, ins, n, full=d == span)
            else:
                states = result_states(arch, producer, n, use)
        if states:
            by_states.setdefault(states, []).append(row)
    phrase = {
        "src_c": "matrix instruction reads {} as C, the result of",
        "src_ab": "matrix instruction reads {}, the result of",
        "valu_read": "VALU reads {}, the result of",
        "memory": "memory instruction reads {}, the result of",
        "valu_write": "overwrites {}, the result of",
        "src_c_war": "overwrites {}, read as C by",
    }[use]
    for states, rows in by_states.items():
        wanted = frozenset(rows)
        yield Need(
            span,
            states,
            lambda i, w=wanted: i.index in w,  # type: ignore[misc]
            phrase.format(names(span)),
        )


def _check(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    matrix = [i for i in ctx.lines if is_mfma(i)]
    if not matrix:
        return
    if ctx.co.arch not in GFX90A:
        if rule.severity is Severity.WARNING:
            return
        for ins in matrix:
            yield no_rule("matrix_hazard", f"no table of matrix hazards for {ctx.co.arch}", ins)
        return
    known: dict[int, int] = {}
    for ins in matrix:
        n = passes(ins, ctx.table)
        if n is None and rule.severity is Severity.ERROR:
            yield no_rule("matrix_passes", f"passes of {ins.base} are not known on {ctx.co.arch}", ins)
        elif n is not None:
            known[ins.index] = n
    for g in ctx.graphs:
        for p, ins in enumerate(g.lines):
            if not is_valu(ins) and not is_memory(ins):
                continue
            packed = _PACKED.fullmatch(ins.base) is not None
            if packed is not (rule.severity is Severity.WARNING):
                continue
            near = nearby(g, p, _FARTHEST)
            at_hand = {i.index: known[i.index] for i in near if i.index in known}
            if not at_hand and not is_mfma(ins):
                continue
            short = worst_first(shortfalls(g, p, _needs(ctx, ins, at_hand), ctx.table))
            if short is not None:
                yield report(rule, ins, short)


RULES = (
    Rule(
        "mfma-wait-states",
        Severity.ERROR,
        "too few wait states around a matrix instruction",
        "nothing interlocks this use of a matrix instruction's registers: it may see an old value",
        LLVM_MFMA,
        _check,
    ),
    Rule(
        "mfma-packed-f32",
        Severity.WARNING,
        "packed f32 VALU instruction right behind a matrix instruction whose result it uses",
        "LLVM pads this with s_nop; the hardware holds packed f32 instructions back until the matrix "
        "instruction is nearly done (hardware traces of gfx950: 4 x (passes + 3) cycles), and AMD's own "
        "kernels leave the padding out",
        f"{LLVM_MFMA}; hardware traces",
        _check,
        once=True,
    ),
)
