"""An edited object against the one it was made from: what the launching side relies on."""

from __future__ import annotations

from collections.abc import Iterator

from isaprof.codeobj.elf import Kernel
from isaprof.codeobj.metadata import KernelArg
from isaprof.lint.context import Context
from isaprof.lint.model import Finding, NoRule, Rule, Severity

_SOURCE = "LLVM AMDGPU user guide, code object metadata and kernarg segment"


def _target(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    if ctx.original is not None and ctx.first and ctx.original.target_id != ctx.co.target_id:
        yield rule.about(f"target {ctx.co.target_id}, the original has {ctx.original.target_id}")


def _symbols(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    if ctx.original is None or not ctx.first:
        return
    mine = {k.symbol: k.name for k in ctx.co.kernels}
    for kernel in ctx.original.kernels:
        if kernel.symbol not in mine:
            yield rule.about(f"the original's kernel {kernel.name} (symbol {kernel.symbol}) is gone")
        elif mine[kernel.symbol] != kernel.name:
            yield rule.about(f"kernel {kernel.name} is called {mine[kernel.symbol]} now")


def _arg(a: KernelArg) -> str:
    return f"offset {a.offset}, {a.size} bytes, {a.value_kind}{f' {a.name}' if a.name else ''}"


def _differences(mine: Kernel, theirs: Kernel) -> Iterator[str]:
    if mine.kernarg_size != theirs.kernarg_size:
        yield f"kernarg segment of {mine.kernarg_size} bytes, the original has {theirs.kernarg_size}"
    have, had = mine.descriptor, theirs.descriptor
    if (have.kernarg_preload_length, have.kernarg_preload_offset) != (
        had.kernarg_preload_length,
        had.kernarg_preload_offset,
    ):
        yield (
            f"preloads {have.kernarg_preload_length} dwords of kernarg from dword "
            f"{have.kernarg_preload_offset}, the original {had.kernarg_preload_length} from "
            f"{had.kernarg_preload_offset}"
        )
    for n in range(max(len(mine.args), len(theirs.args))):
        a = mine.args[n] if n < len(mine.args) else None
        b = theirs.args[n] if n < len(theirs.args) else None
        key = None if a is None else (a.offset, a.size, a.value_kind)
        other = None if b is None else (b.offset, b.size, b.value_kind)
        if key != other:
            yield (f"argument {n}: {_arg(a) if a else 'none'}; the original has {_arg(b) if b else 'none'}")


def _kernarg(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    if ctx.original is None:
        return
    theirs = next((k for k in ctx.original.kernels if k.symbol == ctx.kernel.symbol), None)
    if theirs is None:
        return
    for text in _differences(ctx.kernel, theirs):
        yield rule.about(text)


RULES = (
    Rule(
        "against-target",
        Severity.ERROR,
        "target changed",
        "the loader refuses it, or the code runs elsewhere",
        _SOURCE,
        _target,
    ),
    Rule(
        "against-symbol",
        Severity.ERROR,
        "kernel symbol changed",
        "the host looks the kernel up by this name",
        _SOURCE,
        _symbols,
    ),
    Rule(
        "against-kernarg",
        Severity.ERROR,
        "kernarg layout changed",
        "the host fills the segment as the original says",
        _SOURCE,
        _kernarg,
    ),
)
