"""Symbolic execution of a kernel: the value of every register that every instruction reads.

Each block is executed once, in reverse post-order. Where paths meet, registers
that differ become a ``phi``; at the head of a loop every register that the loop
writes is one. Vector registers written while EXEC is narrowed are ``lanes``
(new, old, EXEC); a reader under the same EXEC sees the new value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from isaprof.analysis.cfg import Cfg, Loop
from isaprof.codeobj.elf import Kernel
from isaprof.inspect import semantics
from isaprof.inspect.entry import BASES, EXEC, SCC, entry_state, is_vector, register_class
from isaprof.inspect.unchanging import unchanging
from isaprof.inspect.values import Graph, Node, constant, resolve
from isaprof.isa.model import Category, Instruction, Operand, OperandKind, RegClass, RegSpan, Space
from isaprof.isa.rules import NO_EXEC

State = dict[int, Node]
_SCALAR_OF = {RegClass.SGPR, RegClass.TTMP, RegClass.VCC, RegClass.EXEC, RegClass.M0, RegClass.SCC}


@dataclass(frozen=True, slots=True)
class KernargLoad:
    """One read of the kernarg segment: bytes [offset, offset + size) into ``registers``."""

    index: int  #: listing index; -1: preloaded before the wave starts
    offset: int | None  #: None: not known
    size: int
    registers: tuple[int, ...]


@dataclass
class Flow:
    """Result of :func:`trace`: register values before each instruction, and loads of the kernarg segment."""

    cfg: Cfg
    graph: Graph
    wave_words: int  #: dwords of a lane mask
    inputs: dict[int, dict[int, Node]] = field(default_factory=dict)  #: listing index -> register -> value
    outputs: dict[int, dict[int, Node]] = field(default_factory=dict)
    exec_at: dict[int, tuple[Node, ...]] = field(default_factory=dict)
    loads: list[KernargLoad] = field(default_factory=list)
    phis: dict[int, list[Node]] = field(default_factory=dict)  #: block -> its phis
    entry: State = field(default_factory=dict)
    codes: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)  #: registers read, written

    def words(self, ins: Instruction, operand: Operand) -> list[Node]:
        """Values of a source operand of ``ins``, one a dword."""
        return _words(self.graph, operand, self.inputs[ins.index])

    def register(self, ins: Instruction, code: int) -> Node | None:
        """Value of a register that ``ins`` reads."""
        return self.inputs[ins.index].get(code)

    def full_exec(self, ins: Instruction) -> bool:
        """Whether all lanes that the wave started with are active at ``ins``."""
        return all(map(is_full, self.exec_at[ins.index]))


def trace(cfg: Cfg, kernel: Kernel, arch: str) -> Flow:
    """Execute ``cfg`` (of ``kernel``, built from its start) symbolically."""
    flow = Flow(cfg, Graph(), kernel.wave_size // 32)
    flow.codes = {i.index: (spans_to_codes(i.reads), spans_to_codes(i.writes)) for i in cfg.lines}
    flow.entry = entry_state(flow.graph, kernel, arch)
    flow.loads += [
        KernargLoad(-1, int(str(n.value)), 4, (r,)) for r, n in flow.entry.items() if n.op == "kernarg"
    ]
    tracer = _Tracer(flow, frozenset())
    tracer.run()
    if not (stable := unchanging(flow.graph, flow.phis)):
        return flow
    # loops that write a register only with the value it has (a masked pointer): once more, without them
    again = Flow(cfg, flow.graph, flow.wave_words, entry=flow.entry, codes=flow.codes)
    again.loads = [x for x in flow.loads if x.index < 0]
    _Tracer(again, stable).run()
    return again


def spans_to_codes(spans: Iterable[RegSpan]) -> list[int]:
    """The register numbers that ``spans`` name."""
    return [BASES[s.cls] + s.index + i for s in spans for i in range(s.count)]


def is_full(node: Node) -> bool:
    """EXEC as the wave started, or all ones."""
    return (node.op == "leaf" and str(node.value).startswith("exec.")) or constant(node) == 0xFFFFFFFF


def within(inner: Node, outer: Node, depth: int = 6) -> bool:
    """Whether every lane of mask ``inner`` is in mask ``outer``; False where that is not known."""
    if inner is outer or is_full(outer):
        return True
    return depth > 0 and inner.op == "and" and any(within(a, outer, depth - 1) for a in inner.args)


def pointer(low: Node, high: Node) -> tuple[str | int, int] | None:
    """(what it points into, byte offset) of a 64-bit address: a leaf's name, or the offset of a kernarg."""
    low, high = resolve(low), resolve(high)
    offset = 0
    while low.op == "add" and (c := constant(low.args[1])) is not None:
        offset += c - (1 << 32) if c >> 31 else c
        low = low.args[0]
    while high.op == "add":  # carries of the low half, and sign extensions of constants
        small = [a for a in high.args if a.op in ("carry", "borrow") or constant(a) in (0, 0xFFFFFFFF)]
        rest = [a for a in high.args if a not in small]
        if len(rest) != 1:
            return None
        high = rest[0]
    if low.op == "leaf" and high.op == "leaf":
        name = str(low.value).removesuffix(".lo")
        return (name, offset) if high.value == f"{name}.hi" else None
    if low.op == "kernarg" and high.op == "kernarg" and high.value == int(str(low.value)) + 4:
        return int(str(low.value)), offset
    return None


class _Tracer:
    def __init__(self, flow: Flow, stable: frozenset[tuple[int, int]]) -> None:
        self.flow, self.cfg, self.g = flow, flow.cfg, flow.graph
        self.stable = stable  #: (block, register) that need no phi
        self.out: dict[int, State] = {}
        self.written: dict[int, set[int]] = {}
        self.everything: set[int] = set()
        self.indexed = any(i.base.startswith("s_set_gpr_idx") for i in self.cfg.lines)

    def run(self) -> None:
        blocks = self.cfg.blocks
        if not blocks:
            return
        for each in blocks:
            lines = self.cfg.lines[each.first : each.last + 1]
            self.written[each.index] = {c for i in lines for c in self.flow.codes[i.index][1]}
        order = _reverse_post_order(self.cfg)
        rank = {b: i for i, b in enumerate(order)}
        loops = {loop.header: loop for loop in self.cfg.loops}
        self.everything = set().union(*self.written.values())
        for b in order:
            state = self._join(b, rank, loops.get(b))
            block = blocks[b]
            for p in range(block.first, block.last + 1):
                self._step(self.cfg.lines[p], state)
            self.out[b] = state
        for b, phis in self.flow.phis.items():
            for phi in phis:
                code = int(str(phi.value))
                states = [self.out[p] for p in blocks[b].pred if p in self.out]
                args = [self._get(s, code) for s in states]
                if b == order[0]:
                    args.append(self._get(self.flow.entry, code))
                phi.args = tuple(dict.fromkeys(args))

    def _join(self, b: int, rank: dict[int, int], loop: Loop | None) -> State:
        preds = [p for p in self.cfg.blocks[b].pred if p in rank]
        done = [self.out[p] for p in preds if p in self.out]
        if rank[b] == 0:
            done = [self.flow.entry]
        first = done[0]
        state = dict(first)
        changed: set[int] = set()
        for other in done[1:]:
            changed |= {c for c, n in other.items() if first.get(c) is not n}
            changed |= {c for c in first if c not in other}
        if len(done) < len(preds) + (rank[b] == 0):
            changed |= _loop_writes(loop, self.written) or self.everything
        phis = []
        for code in changed:
            if (b, code) in self.stable and code in first:
                continue
            state[code] = phi = self.g.phi(b, code, varies=is_vector(code))
            phis.append(phi)
        if phis:
            self.flow.phis[b] = phis
        return state

    def _get(self, state: State, code: int) -> Node:
        node = state.get(code)
        if node is None:
            node = state[code] = self.g.leaf("initial", code, varies=is_vector(code))
        return node

    def _step(self, ins: Instruction, state: State) -> None:
        execs = tuple(self._get(state, EXEC + i) for i in range(self.flow.wave_words))
        cross_lane = (
            ins.enc.endswith("dpp") or ins.base.startswith(_CROSS_LANE) or bool(NO_EXEC.fullmatch(ins.base))
        )
        read: dict[int, Node] = {}
        codes_read, codes = self.flow.codes[ins.index]
        for code in codes_read:
            node = self._get(state, code)
            if node.op == "lanes" and not cross_lane:
                node = _visible(node, execs)
            read[code] = node
        index = ins.index
        self.flow.inputs[index] = read
        self.flow.exec_at[index] = execs
        if ins.base.startswith(_INDEXED) or (self.indexed and ins.category is Category.VALU):
            # the register that is written depends on M0 or on the index mode
            scalar = ins.base.startswith("s_movrel")
            whole = self.g.opaque(ins.base, (), index, varies=True)
            for code in [
                c for c in state if (register_class(c) is RegClass.SGPR if scalar else is_vector(c))
            ]:
                state[code] = self.g.part(whole, code)
        if ins.base in _CALLS:  # the callee may write anything
            whole = self.g.opaque(ins.base, (), index, varies=True)
            for code in {*state, *self.everything, *self.flow.entry}:
                state[code] = self.g.part(whole, code)
        if not codes:
            return
        results = self._results(ins, read, execs)
        if results is None:
            varies = any(map(is_vector, codes)) or any(n.varies for n in read.values())
            whole = self.g.opaque(ins.base, dict.fromkeys(read.values()), index, varies=varies)
            results = {c: self.g.part(whole, i) for i, c in enumerate(codes)}
        partial = not (all(map(is_full, execs)) or NO_EXEC.fullmatch(ins.base))
        for code in codes:
            known = results.get(code)
            if known is not None:
                node = known
            else:  # a side result without a rule, such as SCC
                varies = is_vector(code) or any(n.varies for n in read.values())
                node = self.g.part(
                    self.g.opaque(ins.base, dict.fromkeys(read.values()), index, varies=varies), 0
                )
            if partial and is_vector(code):
                node = self.g.op("lanes", node, self._get(state, code), *execs)
            if EXEC <= code < EXEC + 2 and constant(node) == 0xFFFFFFFF:
                # all ones is all lanes the wave has: waves that are not full have none to spoil
                node = self.flow.entry.get(code, node)
            state[code] = results[code] = node
        self.flow.outputs[index] = results

    def _results(self, ins: Instruction, read: State, execs: tuple[Node, ...]) -> State | None:
        if ins.mem is not None:
            return self._load(ins, read)
        if ins.dual is not None:
            halves = [self._one(h, read, execs) for h in (ins, ins.dual)]
            if halves[0] is None or halves[1] is None:
                return None
            return halves[0] | halves[1]
        return self._one(ins, read, execs)

    def _one(self, ins: Instruction, read: State, execs: tuple[Node, ...]) -> State | None:
        if _modified(ins):
            return None
        base = ins.base.replace("v_dual_", "v_")
        ops = ins.operands
        if (op := semantics.scalar_compare(base)) is not None:
            a, b = (_words(self.g, o, read)[0] for o in ops[:2])
            return {SCC: self.g.op(op, a, b)}
        if (op := semantics.vector_compare(base)) is not None and ins.enc in ("", "e32", "e64"):
            return self._mask(ins, op, read, execs)
        if (op := semantics.saveexec(base)) is not None:
            return self._saveexec(ins, op, read, execs)
        rule = semantics.SCALAR.get(base) or semantics.VECTOR.get(base)
        if rule is None or ins.enc not in ("", "e32", "e64") or not ops or ops[0].reg is None:
            return None
        sources = [_words(self.g, o, read, double=base.endswith("64") and o.reg is None) for o in ops[1:]]
        if base.startswith(("s_addk", "s_mulk")):
            sources.insert(0, _words(self.g, ops[0], read))
        elif base in (
            "s_cselect_b32",
            "s_cselect_b64",
            "s_addc_u32",
            "s_subb_u32",
            "s_add_co_ci_u32",
            "s_sub_co_ci_u32",
        ):
            sources.append([read[SCC]])
        if base == "v_readfirstlane_b32" and sources[0][0].varies and not all(map(is_full, execs)):
            return None
        if base == "v_cndmask_b32" and len(sources) < 3:
            sources.append(
                [n for c, n in sorted(read.items()) if BASES[RegClass.VCC] <= c < BASES[RegClass.VCC] + 2]
            )
        if not all(sources):
            return None
        try:
            results, scc = rule(self.g, sources)
        except (IndexError, ValueError):  # operands of another form than the rule knows
            return None
        out = dict(zip(spans_to_codes([ops[0].reg]), results[0], strict=False))
        if scc is not None:
            out[SCC] = scc
        return out

    def _mask(self, ins: Instruction, op: str, read: State, execs: tuple[Node, ...]) -> State | None:
        *dst, a, b = ins.operands
        node = self.g.op(op, _words(self.g, a, read)[0], _words(self.g, b, read)[0])
        regs = spans_to_codes([d.reg for d in dst if d.reg is not None])
        if not regs:  # v_cmp without a named destination writes VCC
            regs = spans_to_codes(ins.writes)
        return {
            c: self.g.op("and", self.g.op("mask", node, value=i), execs[i])
            if not is_full(execs[i])
            else self.g.op("mask", node, value=i)
            for i, c in enumerate(regs[: len(execs)])
        }

    def _saveexec(self, ins: Instruction, op: str, read: State, execs: tuple[Node, ...]) -> State:
        source = _words(self.g, ins.operands[1], read)
        out: State = {}
        for i, (code, s, e) in enumerate(
            zip(
                spans_to_codes([ins.operands[0].reg] if ins.operands[0].reg else []),
                source,
                execs,
                strict=False,
            )
        ):
            out[code] = e
            if op in ("andn2", "and_not1"):  # S & ~EXEC
                new = self.g.op("and", s, self.g.op("xor", e, self.g.const(-1)))
            elif op in ("andn1", "and_not0"):
                new = self.g.op("and", e, self.g.op("xor", s, self.g.const(-1)))
            else:
                new = self.g.op(op, s, e)
            out[EXEC + i] = new
        return out

    def _load(self, ins: Instruction, read: State) -> State | None:
        """Loads of the kernarg segment give their argument, all others are opaque."""
        assert ins.mem is not None
        if not ins.mem.load or ins.mem.store or ins.mem.lds_dma:
            return None
        where = self._address(ins, read)
        if where is None or where[0] != "kernarg_ptr":
            if (
                where is None
                and ins.mem.space in _ADDRESSED
                and any(_holds_kernarg_pointer(n) for n in read.values())
            ):
                codes = tuple(spans_to_codes(ins.writes))
                self.flow.loads.append(KernargLoad(ins.index, None, ins.mem.bytes, codes))
            return None
        codes = tuple(spans_to_codes(ins.writes))
        self.flow.loads.append(KernargLoad(ins.index, where[1], ins.mem.bytes, codes))
        if where[1] % 4 or ins.mem.bytes % 4:
            start = where[1] - where[1] % 4
            shift = self.g.const(8 * (where[1] % 4))
            word = self.g.op("shr", self.g.leaf("kernarg", start), shift)
            if len(codes) != 1 or (where[1] % 4) + ins.mem.bytes > 4:
                return None
            word = self.g.op("and", word, self.g.const((1 << 8 * ins.mem.bytes) - 1))
            if ins.base.endswith(("i8", "i16", "sbyte", "sshort")):
                word = self.g.op(f"sext{8 * ins.mem.bytes}", word)
            return {codes[0]: word}
        return {c: self.g.leaf("kernarg", where[1] + 4 * i) for i, c in enumerate(codes)}

    def _address(self, ins: Instruction, read: State) -> tuple[str | int, int] | None:
        assert ins.mem is not None
        offset = ins.modifiers.get("offset", 0)
        total = offset if isinstance(offset, int) else 0
        ops = ins.operands[1:]
        if ins.mem.space is Space.SCALAR:
            if ins.base.startswith("s_buffer") or len(ops) < 1 or ops[0].reg is None or ops[0].reg.count != 2:
                return None
            rest = ops[1:]
            base = ops[0]
        elif ins.mem.space in (Space.GLOBAL, Space.FLAT):
            pairs = [o for o in ops if o.reg is not None and o.reg.count == 2]
            if not pairs:
                return None
            base, rest = pairs[-1], tuple(o for o in ops if o is not pairs[-1])
        else:
            return None
        for o in rest:
            if o.kind is OperandKind.NAME or (o.reg is not None and o.reg.cls is RegClass.NULL):
                continue
            c = constant(_words(self.g, o, read)[0])
            if c is None:
                return None
            total += c
        where = pointer(*_words(self.g, base, read)[:2])
        return None if where is None else (where[0], where[1] + total)


_ADDRESSED = (Space.SCALAR, Space.GLOBAL, Space.FLAT)
_INDEXED = ("s_movreld", "v_movreld", "v_movrelsd", "v_swaprel")
_CALLS = ("s_swappc_b64", "s_swap_pc_i64", "s_call_b64", "s_call_i64")
_CROSS_LANE = ("v_permlane", "ds_bpermute", "ds_permute", "ds_swizzle", "v_mov_b32_dpp")


def _modified(ins: Instruction) -> bool:
    """Negated, absolute or half operands, clamps and the like: no rule knows them."""
    if any(k in ins.modifiers for k in ("clamp", "op_sel", "mul", "div", "omod", "row_shr", "dst_sel")):
        return True
    return any(o.neg or o.abs or o.sext or o.half for o in ins.operands)


def _words(g: Graph, operand: Operand, read: State, *, double: bool = False) -> list[Node]:
    if operand.reg is not None:
        if operand.reg.cls is RegClass.NULL:
            return [g.const(0)]
        return [n for c in spans_to_codes([operand.reg]) if (n := read.get(c)) is not None]
    if isinstance(operand.value, int):
        low = g.const(operand.value)
        return [low, g.const(-1 if operand.value < 0 else 0)] if double else [low]
    if isinstance(operand.value, float):
        return [g.leaf("leaf", f"{operand.value}")]
    return [g.leaf("leaf", operand.text)]


def _visible(node: Node, execs: tuple[Node, ...]) -> Node:
    while node.op == "lanes" and all(within(e, m) for e, m in zip(execs, node.args[2:], strict=False)):
        node = node.args[0]
    return node


def _holds_kernarg_pointer(node: Node, limit: int = 200) -> bool:
    """Whether address arithmetic on the kernarg pointer leads to ``node`` (not through loaded data)."""
    stack, seen = [node], set[int]()
    while stack and len(seen) < limit:
        n = stack.pop()
        if id(n) in seen:
            continue
        seen.add(id(n))
        if n.op == "leaf" and str(n.value).startswith("kernarg_ptr"):
            return True
        if n.op == "opaque" and "load" in str(n.value):
            continue
        stack.extend(n.args)
    return False


def _loop_writes(loop: Loop | None, written: dict[int, set[int]]) -> set[int]:
    return set() if loop is None else set().union(*(written[b] for b in loop.blocks))


def _reverse_post_order(cfg: Cfg) -> list[int]:
    entry = next(b.index for b in cfg.blocks if cfg.idom[b.index] == b.index)
    seen, post = {entry}, []
    stack = [(entry, iter(cfg.blocks[entry].succ))]
    while stack:
        node, succ = stack[-1]
        for s in succ:
            if s not in seen:
                seen.add(s)
                stack.append((s, iter(cfg.blocks[s].succ)))
                break
        else:
            post.append(node)
            stack.pop()
    return post[::-1]
