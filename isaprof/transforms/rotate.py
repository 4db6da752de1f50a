"""Rotating the loads of a single-block loop: issue the next iteration's while this one computes.

    before   loop:  P  R  branch loop          P: loads, and what makes their addresses
    after    P;  loop:  R1  [if the loop goes on: P]  R2  branch loop

P is moved behind the last instruction of R that depends on it, or that it
depends on, and cloned before the loop. The order of dependent instructions
stays as it was, so every register holds what it held before; with the guard P
is executed exactly as often as before, without it once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from isaprof.analysis.cfg import Block
from isaprof.analysis.liveness import Reg, changes_exec, registers
from isaprof.analysis.waits import Kind
from isaprof.isa.model import Instruction, RegClass
from isaprof.transforms.context import Context
from isaprof.transforms.model import Change, Edit

_SCC: Reg = (RegClass.SCC, 0)
_WAIT_FOR_ALL = {"vmcnt": "s_waitcnt vmcnt(0)", "loadcnt": "s_wait_loadcnt 0x0"}
_INVERSE = {"s_cbranch_scc0": "s_cbranch_scc1", "s_cbranch_scc1": "s_cbranch_scc0"}


@dataclass(frozen=True)
class LoadGroup:
    """Loads of a loop that are waited for in the iteration that issues them; listing indices."""

    block: Block
    loads: tuple[int, ...]
    waits: tuple[int, ...]


@dataclass(frozen=True)
class Rotation:
    """Where everything goes; listing indices."""

    group: LoadGroup
    moved: tuple[int, ...]  #: the loads, and what makes their addresses, in order
    at: int  #: they go before this instruction
    entry: int  #: the last instruction before the loop
    guard: tuple[str, ...]  #: skips them where the loop ends; empty: there is none
    label: str
    drain: str = ""  #: a wait behind the loop, for code there that uses the loads' registers anew
    #: load -> its new destination, and what copies that to the old one before the first use
    renamed: Mapping[int, Renamed] = field(default_factory=dict)

    def drained(self, context: Context) -> Rotation:
        """The same with a wait for the loads behind the loop. Nothing is in flight there with a guard,
        but only the correlation of two branches says so, and a wait for nothing costs next to nothing."""
        counters = context.instruction(self.group.loads[0]).counters
        return replace(self, drain=_WAIT_FOR_ALL[counters[0]])

    def edit(self, context: Context) -> Edit:
        """The rotation as an edit of the kernel's text."""
        texts = tuple(
            self.renamed[i].text if i in self.renamed else context.instruction(i).text for i in self.moved
        )
        copies: dict[int, tuple[str, ...]] = {}
        for r in self.renamed.values():
            copies[r.user] = copies.get(r.user, ()) + r.copies
        behind = (f"{self.label}:",) if self.guard else ()
        changes = [
            Change(self.entry, after=texts),
            *(Change(i, ()) for i in self.moved),
        ]
        before = (*copies.pop(self.at, ()), *self.guard, *texts, *behind)
        changes += [Change(user, before=lines) for user, lines in copies.items()]
        last = context.cfg.lines[self.group.block.last].index
        drain = (self.drain,) if self.drain else ()
        if last == self.at:
            changes.append(Change(last, before=before, after=drain))
        else:
            changes.append(Change(self.at, before=before))
            changes += [Change(last, after=drain)] if drain else []
        carries: dict[str, tuple[int, ...]] = {}
        for text, index in zip(texts, self.moved, strict=True):
            carries[text] = (*carries.get(text, ()), index)
        # the guard skips the loads exactly where the loop ends
        decides = {self.guard[-1]: (last, True)} if self.guard else {}
        return Edit(tuple(changes), carries, decides)


@dataclass(frozen=True)
class Renamed:
    """A load into registers that were free."""

    text: str  #: the load with its new destination
    copies: tuple[str, ...]  #: moves to the old destination
    user: int  #: the first use; the moves go before it
    new: frozenset[Reg]


class NotRotatable(Exception):
    """Why a loop cannot be rotated; the message is a clause."""


def load_groups(context: Context) -> list[LoadGroup]:
    """Loads of each single-block loop that are waited for in their own iteration."""
    cfg = context.cfg
    out = []
    for block in cfg.blocks:
        if block.index not in block.succ:
            continue
        lines = cfg.lines[block.first : block.last + 1]
        place = {ins.index: p for p, ins in enumerate(lines)}
        loads: set[int] = set()
        waits = []
        for ins in lines:
            if not ins.waits:
                continue
            mine = [i for i in _retired(context, ins) if i in place]
            if mine and all(place[i] < place[ins.index] for i in mine):
                loads.update(mine)
                waits.append(ins.index)
        if waits:
            out.append(LoadGroup(block, tuple(sorted(loads)), tuple(waits)))
    return out


def _retired(context: Context, wait: Instruction) -> list[int]:
    """Vector loads into registers that the wait retires, and that may be outstanding there."""
    waits = context.waits
    before, after = waits.before(wait.index), waits.after_waits(wait.index)
    gone = {i for c, queue in before.items() for i in queue if i not in after.get(c, {})}
    return [i for i in sorted(gone) if waits.kinds[i] is Kind.LOAD and _plain_load(context.instruction(i))]


def _plain_load(ins: Instruction) -> bool:
    m = ins.mem
    return m is not None and m.load and not (m.store or m.atomic or m.lds_dma)


def rotate(context: Context, group: LoadGroup, *, rename: bool = False) -> Rotation:
    """Where the loads of ``group`` go. Raises NotRotatable.

    ``rename``: load into registers that the kernel does not use, and copy from
    them, so that later uses of the old ones do not hold the loads back.
    """
    body = context.cfg.lines[group.block.first : group.block.last + 1]
    if (writer := next((i for i in body if changes_exec(i)), None)) is not None:
        raise NotRotatable(f"EXEC changes in the loop: {context.where(writer.index)}")
    place = {ins.index: p for p, ins in enumerate(body)}
    moved = _with_clauses(context, body, _slice(context, body, [place[i] for i in group.loads]))
    renamed = _renamed(context, body, group, moved) if rename else {}
    earliest = _behind_dependences(context, body, moved, renamed)
    earliest = max(earliest, 1 + max(place[w] for w in group.waits))
    earliest = max([earliest, *(place[r.user] for r in renamed.values())])
    writes_scc = any(_SCC in registers(body[m].writes) for m in moved)
    if writes_scc and _SCC in context.liveness.live_in(group.block.index):
        raise NotRotatable("an address computation writes SCC, which is in use when the loop begins")
    at, guard = _placed(context, body, moved, earliest, writes_scc)
    label = f".Lisaprof_skip_{body[at].pc:x}"
    if guard:
        guard = (*guard[:-1], f"{guard[-1]} {label}")
    entry = _entry(context, group.block)
    indices = tuple(body[m].index for m in moved)
    return Rotation(group, indices, body[at].index, entry, guard, label, renamed=renamed)


def _renamed(
    context: Context, body: Sequence[Instruction], group: LoadGroup, moved: Sequence[int]
) -> dict[int, Renamed]:
    """New destinations for the loads. Raises NotRotatable where registers are short or uses unclear."""
    if any(i.base.startswith("v_movrel") for i in context.cfg.lines):
        raise NotRotatable("registers are addressed through m0: which are free is not known")
    inside = frozenset(moved)
    granted = context.kernel.descriptor.arch_vgpr_count
    named = registers(s for i in context.cfg.lines for s in (*i.reads, *i.writes))
    free = [n for n in range(granted) if (RegClass.VGPR, n) not in named]
    out: dict[int, Renamed] = {}
    for p, ins in enumerate(body):
        if ins.index not in group.loads:
            continue
        old = registers(ins.writes)
        span = ins.writes[0]
        if len(ins.writes) != 1 or span.cls is not RegClass.VGPR or old & registers(ins.reads):
            raise NotRotatable(f"{context.where(ins.index)} cannot load into other registers")
        users = [
            q
            for q, x in enumerate(body)
            if q not in inside and registers((*x.reads, *x.writes)) & old and q > p
        ]
        waited = [q for q, x in enumerate(body) if x.index in group.waits and p < q]
        if not users or not waited or users[0] < waited[0] or not registers(body[users[0]].reads) & old:
            raise NotRotatable(f"the first use of {context.where(ins.index)} is not behind its wait")
        new = _take(free, span.count)
        if new is None:
            raise NotRotatable(f"no {span.count} consecutive VGPRs of the {granted} granted are free")
        name = f"v{new}" if span.count == 1 else f"v[{new}:{new + span.count - 1}]"
        mnemonic, _, rest = ins.text.partition(" ")
        text = f"{mnemonic} {name}{rest.removeprefix(ins.operands[0].text)}"
        copies = tuple(f"v_mov_b32_e32 v{span.index + i}, v{new + i}" for i in range(span.count))
        regs = frozenset((RegClass.VGPR, new + i) for i in range(span.count))
        out[ins.index] = Renamed(text, copies, body[users[0]].index, regs)
    return out


def _take(free: list[int], count: int) -> int | None:
    """Remove ``count`` consecutive numbers from ``free`` (from an even one on, where several); the first."""
    have = set(free)
    for n in free:
        if (count == 1 or n % 2 == 0) and all(n + i in have for i in range(count)):
            for i in range(count):
                free.remove(n + i)
            return n
    return None


def _entry(context: Context, block: Block) -> int:
    """The instruction that falls into the loop: the only way in."""
    cfg = context.cfg
    others = [p for p in block.pred if p != block.index]
    first = cfg.lines[block.first]
    if block.first == 0 or others != [cfg.block_of[block.first - 1]]:
        raise NotRotatable("the loop is entered in more than one way, or at the kernel's start")
    previous = cfg.lines[block.first - 1]
    if previous.index != first.index - 1 or previous.target == first.pc:
        raise NotRotatable("the loop is not entered from the instruction before it")
    return previous.index


def _slice(context: Context, body: Sequence[Instruction], loads: Sequence[int]) -> list[int]:
    """Positions of the loads and of all that makes their addresses in the same iteration."""
    moved = set(loads)
    for load in loads:
        need = set(registers(body[load].reads))
        for p in range(load - 1, -1, -1):
            ins = body[p]
            hit = registers(ins.writes) & need
            if not hit:
                continue
            if ins.counters or ins.mem is not None or ins.waits:
                raise NotRotatable(
                    f"the address of {context.where(body[load].index)} depends on "
                    f"{context.where(ins.index)}, "
                    "not on induction variables only"
                )
            moved.add(p)
            need = (need - hit) | registers(ins.reads)
    return sorted(moved)


def _with_clauses(context: Context, body: Sequence[Instruction], moved: list[int]) -> list[int]:
    """Clauses move as a whole: ``s_clause`` N covers the N + 1 instructions behind it."""
    out = set(moved)
    for p, ins in enumerate(body):
        if ins.base != "s_clause":
            continue
        members = set(range(p + 1, p + 2 + int(ins.operands[0].value or 0)))
        if members <= out:
            out.add(p)
        elif members & out:
            raise NotRotatable(f"only part of a clause would move: {context.where(ins.index)}")
    return sorted(out)


def _behind_dependences(
    context: Context, body: Sequence[Instruction], moved: Sequence[int], renamed: Mapping[int, Renamed]
) -> int:
    """First position behind everything that must stay before the next iteration's P."""
    inside = frozenset(moved)
    earliest = moved[-1] + 1
    for p, x in enumerate(body):
        if p in inside:
            continue
        for m in moved:
            hit = _dependence(x, body[m], into_new=body[m].index in renamed)
            if hit and p < m:
                raise NotRotatable(
                    f"{context.where(x.index)} and {context.where(body[m].index)} use {hit}: they "
                    "cannot change order"
                )
            if hit:
                earliest = max(earliest, p + 1)
    if earliest >= len(body):
        raise NotRotatable("the loop's last instruction depends on the loads")
    for p, x in enumerate(body):  # SCC may be clobbered by P only where nobody else reads P's
        if p not in inside and _SCC in registers(x.reads):
            definer = next((d for d in range(p - 1, -1, -1) if _SCC in registers(body[d].writes)), None)
            if definer in inside:
                raise NotRotatable(f"{context.where(x.index)} reads SCC of an address computation")
    return earliest


def _dependence(x: Instruction, m: Instruction, *, into_new: bool) -> str:
    """The registers over which two instructions depend on each other, SCC aside.

    ``into_new``: ``m`` will write registers that nothing else names.
    """
    rx, wx, rm, wm = (registers(s) for s in (x.reads, x.writes, m.reads, () if into_new else m.writes))
    hit = ((wx & rm) | (rx & wm) | (wx & wm)) - {_SCC}
    return ", ".join(f"{c}{i}" for c, i in sorted(hit)[:4])


def _placed(
    context: Context, body: Sequence[Instruction], moved: Sequence[int], earliest: int, writes_scc: bool
) -> tuple[int, tuple[str, ...]]:
    """Position and guard: the earliest with a guard, else the earliest without."""
    free = [p for p in range(earliest, len(body)) if not _in_clause(body, p)]
    branch = body[-1]
    definer = next((p for p in range(len(body) - 2, -1, -1) if _SCC in registers(body[p].writes)), None)
    if branch.base in _INVERSE and definer is not None:
        skip = _INVERSE[branch.base]
        compare = body[definer]
        if compare.base.startswith(("s_cmp_", "s_cmpk_", "s_bitcmp")):
            inputs = registers(compare.reads)
            makers = [p for p, x in enumerate(body) if registers(x.writes) & inputs]
            known = max(makers, default=-1)  # the loop's condition is known behind this
            for p in free:
                if known < p <= definer and not _scc_live(body, p) and not set(makers) & set(moved):
                    return p, (compare.text, skip)
        for p in free:
            if p > definer and not writes_scc:
                return p, (skip,)
    for p in free:
        if not (writes_scc and _scc_live(body, p)):
            return p, ()
    raise NotRotatable("SCC is in use wherever the loads could go")


def _scc_live(body: Sequence[Instruction], position: int) -> bool:
    """Whether SCC is read at or behind ``position`` before it is written."""
    for ins in body[position:]:
        if _SCC in registers(ins.reads):
            return True
        if _SCC in registers(ins.writes):
            return False
    return True


def _in_clause(body: Sequence[Instruction], position: int) -> bool:
    """Whether the place before ``position`` is inside a clause."""
    for p in range(max(0, position - 64), position):
        if body[p].base == "s_clause" and position <= p + 1 + int(body[p].operands[0].value or 0):
            return True
    return False
