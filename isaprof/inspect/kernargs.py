"""The kernarg table: every argument, where it lands, and whether the kernel has any use for it.

*used*: the value, or something computed from it, reaches a memory operation, a
branch, or another instruction with an effect. *loaded*: it is read but reaches
none. *dead*: no instruction reads it. Where the kernarg pointer goes where it
cannot be followed, *dead* is not provable.
"""

from __future__ import annotations

from dataclasses import dataclass

from isaprof.codeobj.elf import Kernel
from isaprof.inspect.entry import register_name
from isaprof.inspect.flow import Flow
from isaprof.inspect.values import Node, reachable
from isaprof.isa.model import Instruction, Pipe, RegClass

USED, LOADED, DEAD, UNKNOWN = "used", "loaded, unused", "dead", "not provable"


@dataclass(frozen=True, slots=True)
class Landing:
    """One read of (part of) an argument. ``pc`` None: preloaded before the wave starts."""

    pc: int | None
    registers: str


@dataclass(frozen=True, slots=True)
class Argument:
    """One row of the table; ``name``/``kind`` are the metadata's (None: bytes it does not describe)."""

    offset: int
    size: int
    name: str | None
    kind: str | None
    value_type: str | None
    state: str
    landings: tuple[Landing, ...]
    used_at: tuple[int, ...]  #: addresses of the first instructions with an effect that it reaches


@dataclass(frozen=True, slots=True)
class KernargTable:
    """``notes`` say what keeps a row from being provable; ``read_bytes`` is one past the last byte read."""

    segment_size: int
    read_bytes: int
    arguments: tuple[Argument, ...]
    notes: tuple[str, ...]


def argument_names(kernel: Kernel) -> dict[int, str]:
    """Dword offset -> name of the argument there (``A``, ``A.hi`` for the upper dword of 8 bytes)."""
    out: dict[int, str] = {}
    for a in kernel.args:
        stem = a.name or (a.value_kind if a.hidden else f"arg{a.offset:#x}")
        if stem == "pad":
            stem = f"pad{a.offset:#x}"
        for i, at in enumerate(range(a.offset, a.offset + max(a.size, 1), 4)):
            suffix = "" if i == 0 else ".hi" if a.size == 8 else f".{i}"
            out.setdefault(at - at % 4, stem + suffix)
    return out


def kernarg_table(flow: Flow, kernel: Kernel) -> KernargTable:
    """The table of ``kernel``, padding that nothing reads left out."""
    used = _used(flow)
    by_dword: dict[int, list[Landing]] = {}
    pcs = {i.index: i.pc for i in flow.cfg.lines}
    unknown = []
    top = 0
    for load in flow.loads:
        if load.offset is None:
            unknown.append(f"a read of the segment at an unknown offset: {pcs[load.index]:#x}")
            continue
        top = max(top, load.offset + load.size)
        for i, code in enumerate(load.registers):
            pc = None if load.index < 0 else pcs[load.index]
            by_dword.setdefault((load.offset + 4 * i) & ~3, []).append(Landing(pc, register_name(code)))
    unknown += _escapes(flow)
    unknown += [f"control flow through a register: {i.pc:#x}" for i in flow.cfg.indirect[:1]]
    unknown += [f"a word that LLVM cannot decode is reached: {i.pc:#x}" for i in undecoded(flow)[:1]]
    rows = []
    described: set[int] = set()
    for a in kernel.args:
        dwords = range(a.offset - a.offset % 4, a.offset + max(a.size, 1), 4)
        described |= set(dwords)
        row = _row(a.offset, a.size, dwords, by_dword, used, bool(unknown))
        if a.name == "pad" and row.state == DEAD:
            continue
        rows.append(
            Argument(
                a.offset, a.size, a.name, a.value_kind, a.value_type, row.state, row.landings, row.used_at
            )
        )
    for at in sorted(set(by_dword) - described):
        rows.append(_row(at, 4, range(at, at + 4, 4), by_dword, used, bool(unknown)))
    rows.sort(key=lambda r: r.offset)
    return KernargTable(kernel.kernarg_size, top, tuple(rows), tuple(dict.fromkeys(unknown)))


def undecoded(flow: Flow) -> list[Instruction]:
    """Reachable words that LLVM cannot decode: they may do anything."""
    return [i for i in flow.cfg.lines if i.base.startswith(".")]


def _row(
    offset: int,
    size: int,
    dwords: range,
    by_dword: dict[int, list[Landing]],
    used: dict[int, list[int]],
    open_: bool,
) -> Argument:
    landings = _merged([x for d in dwords for x in by_dword.get(d, [])])
    hits = sorted({pc for d in dwords for pc in used.get(d, [])})
    state = USED if hits else LOADED if landings else UNKNOWN if open_ else DEAD
    return Argument(offset, size, None, None, None, state, landings, tuple(hits[:4]))


def _merged(landings: list[Landing]) -> tuple[Landing, ...]:
    """Landings of one instruction as one: ``s4, s5``."""
    out: dict[int | None, list[str]] = {}
    for x in landings:
        out.setdefault(x.pc, []).append(x.registers)
    return tuple(Landing(pc, ", ".join(dict.fromkeys(r))) for pc, r in out.items())


def _used(flow: Flow) -> dict[int, list[int]]:
    """Kernarg dword -> addresses of some instructions with an effect that it reaches."""
    own = {x.index for x in flow.loads if x.offset is not None}
    out: dict[int, list[int]] = {}
    seen: set[int] = set()
    for ins in flow.cfg.lines:
        if not _effective(ins) or ins.index in own:
            continue
        todo = [n for n in flow.inputs[ins.index].values() if id(n) not in seen]
        while todo:
            n = todo.pop()
            if id(n) in seen:
                continue
            if n.op != "kernarg":
                seen.add(id(n))
                todo += n.args
            else:
                places = out.setdefault(int(str(n.value)), [])
                if len(places) < 4 and ins.pc not in places:
                    places.append(ins.pc)
    return out


def _effective(ins: Instruction) -> bool:
    """Whether the instruction does something besides writing registers."""
    if ins.mem is not None or ins.pipe in (Pipe.BRANCH, Pipe.EXPORT, Pipe.INTERNAL):
        return True
    data = (
        RegClass.SGPR,
        RegClass.VGPR,
        RegClass.AGPR,
        RegClass.VCC,
        RegClass.EXEC,
        RegClass.M0,
        RegClass.SCC,
    )
    return not ins.writes or any(w.cls not in data for w in ins.writes)


def _escapes(flow: Flow) -> list[str]:
    """Memory operations that are handed the kernarg pointer in a way that is not followed."""
    own = {x.index for x in flow.loads}
    out = []
    for ins in flow.cfg.lines:
        if ins.mem is None or ins.index in own:
            continue
        if any(_is_pointer(n) for n in flow.inputs[ins.index].values()):
            out.append(f"the kernarg pointer is used by {ins.pc:#x} {ins.text}")
    return out[:4]


def _is_pointer(node: Node) -> bool:
    """The low dword of the kernarg pointer, or that plus something."""
    for _ in range(16):
        if node.op == "leaf":
            return node.value == "kernarg_ptr.lo"
        if node.op not in ("add", "phi") or not node.args:
            return False
        node = node.args[0]
    return False


def system_inputs(flow: Flow) -> dict[str, tuple[int, ...]]:
    """What a wave is given besides arguments (``wg.x``, ``tid.y``, ``dispatch_ptr``, ...) and has a use for.

    Name -> addresses of the first instructions that read it.
    """
    useful = {
        id(n)
        for n in reachable(n for i in flow.cfg.lines if _effective(i) for n in flow.inputs[i.index].values())
        if n.op == "leaf"
    }
    out: dict[str, list[int]] = {}
    for ins in flow.cfg.lines:
        for n in flow.inputs[ins.index].values():
            for leaf in (
                [n]
                if n.op == "leaf"
                else [a for a in n.args if a.op == "leaf"]
                if n.op in ("or", "shl")
                else []
            ):
                name = str(leaf.value).removesuffix(".lo").removesuffix(".hi")
                if id(leaf) in useful and not name.startswith(("exec", "lane", "kernarg_ptr")):
                    places = out.setdefault(name, [])
                    if len(places) < 4 and ins.pc not in places:
                        places.append(ins.pc)
    return {k: tuple(v) for k, v in sorted(out.items())}
