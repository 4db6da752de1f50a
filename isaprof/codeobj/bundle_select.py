"""Choosing one code object of many by target and kernel. What is not exact is said."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isaprof.codeobj.bundle_target import Fit, TargetId
from isaprof.errors import BadInput, EnvironmentProblem, UsageError

if TYPE_CHECKING:
    from isaprof.codeobj.source import Item, Source

_LISTED = 40  #: objects named in a message


def wanted_target(text: str) -> TargetId:
    """The target id the user gave; UsageError when it is none."""
    target = TargetId.parse(text)
    if target is None:
        raise UsageError(
            f"{text!r} is no target", hint="--target gfx1151, gfx90a:xnack-, gfx11-generic", kind="bad_target"
        )
    return target


def fitting(source: Source, target: str | None, kernel: str | None) -> tuple[list[Item], str | None, str]:
    """(objects of the best fit, full name of the kernel, sentence on how it was completed or "").

    Raises BadInput, listing what is there, where nothing fits; UsageError where
    the name given is part of several kernels' names.
    """
    objects = source.objects
    if not objects:
        what = sorted({"host code" if i.host else i.peek.payload for i in source.items if i.size})
        raise BadInput(
            "no code object for AMD GPUs in this " + source.container
            + (f"; it holds {', '.join(what)}" if what else ""),
            path=source.path, kind="no_gpu_code",
        )  # fmt: skip
    fits: dict[Fit, list[Item]] = {}
    wanted = None if target is None else wanted_target(target)
    for item in objects:
        have = None if item.target is None else TargetId.parse(item.target)
        fit = Fit.EXACT if wanted is None else None if have is None else wanted.fit(have)
        if fit is not None:
            fits.setdefault(fit, []).append(item)
    if not fits:
        raise BadInput(
            f"nothing for {wanted} in this {source.container}; it is for {_targets(objects)}:\n"
            + listing(objects),
            path=source.path, kind="no_such_target",
        )  # fmt: skip
    name, how = None, None
    if kernel is not None:
        names = list(dict.fromkeys(n for f in sorted(fits) for i in fits[f] for n in i.kernels))
        name, how = full_name(names, kernel)
        fitted = [i for items in fits.values() for i in items]
        fits = {f: kept for f, items in fits.items() if (kept := [i for i in items if name in i.kernels])}
        if not fits:
            some = ", ".join(_clean(n) for n in names[:8]) + (", ..." if len(names) > 8 else "")
            raise BadInput(
                f"no kernel {kernel!r}{f' for {wanted}' if wanted else ''}; there are {len(names)}: {some}",
                path=source.path, kind="unknown_kernel",
                hint=f"isaprof extract {source.path} --target {fitted[0].target} --list   names them",
            )  # fmt: skip
    return fits[min(fits)], name, how or ""


def choose(
    source: Source, target: str | None, kernel: str | None
) -> tuple[Item, str | None, tuple[str, ...]]:
    """(the object, full name of the kernel, sentences for the user); errors as ``load_object``."""
    items, name, how = fitting(source, target, kernel)
    notes = list(source.notes) + ([how] if how else [])
    if len(items) > 1:
        digests = {(i.size, hashlib.sha256(i.data()).digest()) for i in items} if _same_size(items) else ()
        if len(digests) != 1:
            raise ambiguous(source, items, target, kernel)
        notes.append(f"{len(items)} identical copies of the object: the first is taken")
    item = items[0]
    notes += stated(item, target)
    return item, name, tuple(notes)


def stated(item: Item, target: str | None) -> list[str]:
    """What has to be said about taking ``item`` for ``target``."""
    notes = []
    have = None if item.target is None else TargetId.parse(item.target)
    if target is not None and have is not None:
        wanted = wanted_target(target)
        fit = wanted.fit(have)
        if fit is Fit.GENERIC:
            notes.append(f"no object for {wanted}: {item.id} is taken, whose code runs on it")
        elif fit is Fit.FEATURES:
            notes.append(f"no object for exactly {wanted}: the one for {have} is taken")
    by_elf = None if item.peek.target is None else TargetId.parse(item.peek.target)
    if have is not None and by_elf is not None and have.processor != by_elf.processor:
        notes.append(f"the container says {have}, the object's own header {by_elf}")
    return notes


def ambiguous(source: Source, items: Sequence[Item], target: str | None, kernel: str | None) -> UsageError:
    """The error for several objects that fit, with the list and the option that tells them apart."""
    asked = "".join(f" {o} {v}" for o, v in (("--target", target), ("--kernel", kernel)) if v)
    if len({i.target for i in items}) > 1:
        hint = f"give --target, one of {_targets(items)}"
    elif kernel is None and len({i.kernels for i in items}) > 1:
        one = asked or f" --target {items[0].target}"
        hint = f"give --kernel NAME; isaprof extract {source.path}{one} --list names them"
    else:
        hint = f"isaprof extract {source.path}{asked} -o DIR/   writes all of them; pass one"
    return UsageError(
        f"{len(items)} code objects fit{' ' + asked.strip() if asked else ''}, choose one:\n{listing(items)}",
        path=source.path, hint=hint, kind="ambiguous",
    )  # fmt: skip


def listing(items: Sequence[Item]) -> str:
    """Target, size and kernels of each, a line each."""
    rows = []
    for i in items[:_LISTED]:
        where = "" if i.bundle is None else f"  bundle {i.bundle}"
        n = len(i.kernels)
        first = f": {_clean(i.kernels[0])}{', ...' if n > 1 else ''}" if n else ""
        rows.append(
            f"  {i.target or '?':<24} {i.size:>10,} bytes  {n} kernel{'s' * (n != 1)}{first}{where}"
            + (f"  {i.path}" if i.bundle is None else "")
        )
    if len(items) > _LISTED:
        rows.append(f"  ... and {len(items) - _LISTED} more")
    return "\n".join(rows)


def full_name(names: Sequence[str], wanted: str) -> tuple[str | None, str | None]:
    """(the kernel of ``names`` that ``wanted`` means, how it was completed); (None, None): there is none.

    The full name counts first (with or without ``.kd``), then the demangled
    one, then a part of either that only one kernel has. Raises UsageError where
    several kernels have it.
    """
    for name in names:
        if wanted in (name, name + ".kd"):
            return name, None
    if not wanted:
        return None, None
    readable = demangle(names)
    hits = [n for n in names if readable[n] == wanted]
    hits = hits or [n for n in names if wanted in n or wanted in readable[n]]
    if len(hits) > 1:
        some = "\n".join(
            f"  {_clean(n)}  {_clean(readable[n]) * (readable[n] != n)}".rstrip() for n in hits[:20]
        )
        raise UsageError(
            f"{wanted!r} is part of {len(hits)} kernels' names:\n{some}" + "\n  ..." * (len(hits) > 20),
            hint="give --kernel with the full name", kind="ambiguous",
        )  # fmt: skip
    if not hits:
        return None, None
    shown = _clean(readable[hits[0]])
    return hits[0], f"--kernel {wanted}: {_clean(hits[0])}" + (
        f", which is {shown}" if shown != hits[0] else ""
    )


def demangle(names: Sequence[str]) -> dict[str, str]:
    """Name -> C++ name by LLVM's llvm-cxxfilt; the name itself where it is none or the tool is missing."""
    from isaprof.isa.llvm import find_tools, run_tool

    plain = {n: n for n in names}
    mangled = [n for n in names if n.startswith("_Z") and n.isascii() and n.isprintable()]
    if not mangled:
        return plain
    try:
        objdump = find_tools().objdump
        tool = objdump.with_name(objdump.name.replace("objdump", "cxxfilt"))
        if not tool.exists():
            return plain
        done = run_tool([tool], stdin="\n".join(mangled) + "\n")
    except EnvironmentProblem:
        return plain
    lines = done.stdout.splitlines()
    if done.returncode == 0 and len(lines) == len(mangled):
        plain.update(zip(mangled, lines, strict=True))
    return plain


def _targets(items: Sequence[Item]) -> str:
    return ", ".join(sorted({i.target or "?" for i in items}))


def _same_size(items: Sequence[Item]) -> bool:
    return len({i.size for i in items}) == 1


def _clean(text: str) -> str:
    """Names come from files: nothing of them may steer a terminal."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)[:300]
