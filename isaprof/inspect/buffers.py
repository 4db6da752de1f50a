"""Buffer descriptors as the kernel builds them: base, stride, num_records, word 3.

Layout (AMD ISA guides, "Buffer resource descriptor"): word 0 and bits 15:0 of
word 1 are the base, bits 29:16 of word 1 the stride, word 2 num_records.
"""

from __future__ import annotations

from dataclasses import dataclass

from isaprof.inspect.flow import Flow
from isaprof.inspect.render import Names
from isaprof.inspect.values import MASK, Node, constant, resolve
from isaprof.isa.model import Instruction, RegClass, Space

#: limits that let every 32-bit offset through, or all but the last bytes
UNBOUNDED = 0x7FFFFFF0
_MEMORY = ("load", "ds_", "atomic", "call", "swappc")


@dataclass(frozen=True, slots=True)
class BufferDescriptor:
    """One descriptor: the same registers with the same kind of content; ``limits`` are its num_records.

    ``word3`` and ``stride`` are None where they are not provable. ``bound`` is
    "unbounded" (a constant that lets nearly every offset through), "constant",
    "computed" (follows from arguments), "computed, where set" (the same, but some register in it
    is written on some of the paths only: the code has to take care of that) or "not provable".
    """

    registers: str
    base: str
    pointer: str | None  #: the argument that the base is, where only an offset is added
    stride: int | None
    limits: tuple[str, ...]
    bound: str
    word3: int | None
    word3_known: tuple[int, int]  #: (mask of known bits, their values)
    uses: tuple[int, ...]  #: addresses
    kinds: tuple[str, ...]  #: mnemonics


def buffers(flow: Flow, names: Names, pointers: frozenset[int]) -> tuple[BufferDescriptor, ...]:
    """Every descriptor that a buffer instruction uses, in order of first use.

    ``pointers``: offsets of the arguments that are 8 bytes long.
    """
    groups: dict[tuple[object, ...], list[tuple[Instruction, list[Node]]]] = {}
    for ins in flow.cfg.lines:
        quad = _quad(ins)
        if quad is None:
            continue
        words = [resolve(w) for w in flow.words(ins, ins.operands[quad])]
        if len(words) != 4:
            continue
        known3, known1 = known_bits(words[3]), known_bits(words[1])
        root = pointer_root(words[0], pointers)
        key = (ins.operands[quad].text, known3, known1[1] >> 16, root if root is not None else "?")
        groups.setdefault(key, []).append((ins, words))
    return tuple(_describe(uses, names, pointers) for uses in groups.values())


def _quad(ins: Instruction) -> int | None:
    """Position of the descriptor among the operands."""
    if ins.mem is None or not (ins.mem.space is Space.BUFFER or ins.base.startswith("s_buffer_")):
        return None
    scalar = (RegClass.SGPR, RegClass.TTMP)
    for i, o in enumerate(ins.operands):
        if (
            o.reg is not None
            and o.reg.cls in scalar
            and o.reg.count == 4
            and (i > 0 or ins.mem.space is Space.BUFFER)
        ):
            return i
    return None


def _describe(
    uses: list[tuple[Instruction, list[Node]]], names: Names, pointers: frozenset[int]
) -> BufferDescriptor:
    first, words = uses[0]
    quad = _quad(first)
    assert quad is not None
    limits = {id(w[2]): w[2] for _, w in uses}
    root = pointer_root(words[0], pointers)
    mask1, bits1 = known_bits(words[1])
    mask3, bits3 = known_bits(words[3])
    return BufferDescriptor(
        first.operands[quad].text,
        names.text(words[0], 16),
        None if root is None else names.arguments.get(root, f"kernarg[{root:#x}]"),
        bits1 >> 16 & 0x3FFF if mask1 >> 16 & 0x3FFF == 0x3FFF else None,
        tuple(names.text(n, 16) for n in limits.values())[:6],
        _bound(list(limits.values())),
        bits3 if mask3 == MASK else None,
        (mask3, bits3),
        tuple(i.pc for i, _ in uses),
        tuple(dict.fromkeys(i.base for i, _ in uses)),
    )


def _bound(limits: list[Node]) -> str:
    constants = [constant(n) for n in limits]
    if all(c is not None and c >= UNBOUNDED for c in constants):
        return "unbounded"
    if all(c is not None for c in constants):
        return "constant"
    if all(_from_arguments(n) for n in limits):
        return "computed"
    return (
        "computed, where set" if all(_from_arguments(n, where_set=True) for n in limits) else "not provable"
    )


def _from_arguments(node: Node, limit: int = 400, *, where_set: bool = False) -> bool:
    """Whether the value follows from arguments and what the wave starts with (no loaded or unknown data).

    ``where_set``: where paths meet, those that leave a register as nobody wrote it do not count.
    """
    seen: set[int] = set()
    todo = [node]
    found = False
    while todo and len(seen) < limit:
        n = todo.pop()
        if id(n) in seen:
            continue
        seen.add(id(n))
        if n.op == "initial" or (n.op == "opaque" and any(w in str(n.value) for w in _MEMORY)):
            return False
        found |= n.op == "kernarg"
        unset = where_set and n.op == "phi"
        todo += [a for a in n.args if not (unset and a.op == "initial")]
    return found and not todo


def pointer_root(low: Node, pointers: frozenset[int]) -> int | None:
    """Offset of the only pointer argument that the value is, plus or minus something; else None."""
    found: set[int] = set()
    seen: set[int] = set()
    todo = [low]
    while todo:
        n = resolve(todo.pop())
        if id(n) in seen:
            continue
        seen.add(id(n))
        if n.op == "kernarg" and n.value in pointers:
            found.add(int(str(n.value)))
        elif n.op in ("add", "phi"):
            todo += n.args
        elif n.op == "sub":
            todo.append(n.args[0])
        elif n.op == "select":
            todo += n.args[1:]
    return found.pop() if len(found) == 1 else None


def known_bits(
    node: Node, depth: int = 12, memo: dict[int, tuple[int, int]] | None = None
) -> tuple[int, int]:
    """(mask, values) of the bits of a value that are the same whatever it depends on."""
    memo = {} if memo is None else memo
    node = resolve(node)
    if id(node) not in memo:
        memo[id(node)] = (0, 0)  # a value that depends on itself: nothing is known on the way
        memo[id(node)] = _bits(node, depth, memo)
    return memo[id(node)]


def _bits(node: Node, depth: int, memo: dict[int, tuple[int, int]]) -> tuple[int, int]:
    if node.op == "const":
        return MASK, int(str(node.value))
    if depth == 0:
        return 0, 0
    if node.op in ("and", "or", "xor"):
        (m, a), (n, b) = (known_bits(x, depth - 1, memo) for x in node.args)
        if node.op == "and":
            mask = (m & n) | (m & ~a) | (n & ~b)
            return mask & MASK, a & b & mask
        if node.op == "or":
            mask = (m & n) | (m & a) | (n & b)
            return mask & MASK, (a | b) & mask
        return m & n, (a ^ b) & m & n
    if node.op in ("shl", "shr") and (c := constant(node.args[1])) is not None:
        m, a = known_bits(node.args[0], depth - 1, memo)
        c &= 31
        if node.op == "shl":
            return (m << c | ((1 << c) - 1)) & MASK, a << c & MASK
        return m >> c | (MASK & ~(MASK >> c)), a >> c
    if node.op in ("phi", "select"):
        args = node.args if node.op == "phi" else node.args[1:]
        sides = [known_bits(a, depth - 1, memo) for a in args if a is not node]
        mask = MASK if sides else 0
        for m, a in sides:
            mask &= m & ~(a ^ sides[0][1])
        return mask, sides[0][1] & mask if sides else 0
    return 0, 0
