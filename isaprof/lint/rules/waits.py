"""Wait counters: registers used while a load may still write them."""

from __future__ import annotations

from collections.abc import Iterator

from isaprof.analysis.waits import OUT_OF_ORDER_ALONE, Conflict, wait_text
from isaprof.lint.context import Context
from isaprof.lint.kinds import LANES, names
from isaprof.lint.model import Finding, Kind, NoRule, Rule, Severity, Site, no_rule
from isaprof.lint.outstanding import Outstanding

_SOURCE = "LLVM SIInsertWaitcnts.cpp; AMD ISA guides, data dependency resolution"


def _finding(
    ctx: Context, rule: Rule, conflict: Conflict, way: tuple[Site, ...], age: int, ordered: bool
) -> Finding:
    user, load = ctx.ins(conflict.user), ctx.ins(conflict.load)
    n = age if ordered else 0
    verb = "overwrites" if conflict.overwrite else "reads"
    ago = "no younger operation" if age == 0 else f"{age} younger operation{'s' if age > 1 else ''}"
    reason = (
        f"{conflict.counter} has {ago} behind the load"
        if ordered
        else f"{conflict.counter} holds operations that complete in any order, so only a wait for 0 proves it"
    )
    if conflict.overwrite:
        why = "the load returns later and destroys what is written here"
    else:
        why = "the register may still hold its old value"
    return rule.at(
        user,
        f"{verb} {names(conflict.span)}, which {load.pc:#x} {load.text} may still write ({reason}); "
        f"missing before this line: {wait_text(ctx.table, conflict.counter, n)}",
        why=why,
        path=(Site.of(load, "load"), *way, Site.of(user, "user")),
        required=n,
        unit=Kind.WAIT,
    )


def _check(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    mode = ctx.register_mode
    for state in ctx.outstanding:
        reported: dict[tuple[int, str], set[int]] = {}
        by_user: dict[tuple[int, str], list[Conflict]] = {}
        skipped = 0
        for c in state.conflicts():
            if mode is not None and c.span.cls in LANES:
                skipped += 1
                continue
            by_user.setdefault((c.user, c.counter), []).append(c)
        if skipped and mode is not None:
            message = "VGPR numbers depend on a mode, so loads and their users cannot be matched"
            yield no_rule("register_mode_waits", message, mode)
        for (user, counter), conflicts in sorted(by_user.items()):
            found = _worst(ctx, rule, state, user, counter, conflicts, reported)
            if found is not None:
                yield found


def _worst(
    ctx: Context,
    rule: Rule,
    state: Outstanding,
    user: int,
    counter: str,
    conflicts: list[Conflict],
    reported: dict[tuple[int, str], set[int]],
) -> Finding | None:
    """The strictest conflict of one user; None where a path has a wait or an earlier user after all."""
    best: tuple[int, Conflict, tuple[Site, ...], bool] | None = None
    for c in conflicts:
        earlier = reported.setdefault((c.load, counter), set())
        way = state.path(c.load, user, counter, frozenset(earlier))
        if way is None:
            continue
        earlier.add(user)
        branches, age = way
        ordered = state.in_order_at(user, counter) and state.kinds[c.load] not in OUT_OF_ORDER_ALONE
        rank = age if ordered else 0
        if best is None or rank < best[0]:
            sites = tuple(Site.of(i, "branch" if i.is_branch else "on the way") for i in branches)
            best = (rank, c, sites, ordered)
    if best is None:
        return None
    rank, c, sites, ordered = best
    return _finding(ctx, rule, c, sites, rank, ordered)


def _redundant(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    unknown = next((i for i in ctx.lines if i.base == ".long"), None)
    if ctx.indirect or unknown is not None:
        what = "a word that LLVM does not decode" if unknown else "a jump through a register"
        place = unknown or ctx.indirect[0]
        yield no_rule(
            "wait_redundant", f"{what} may start operations: redundant waits are not looked for", place
        )
        return
    # of other counters (gfx1250: xcnt) it is not known what increments them
    known = {c for counters in ctx.table["counter_model"].values() for c in counters}
    useful: set[int] = set()
    idle: set[int] = set()
    for state in ctx.outstanding:
        for ins, queues in state.walk():
            waits = state.waits_of(ins)
            if waits and ins.base not in ("s_wait_idle",) and not is_full_drain(ctx, ins.base):
                busy = any(queues.get(c) or c not in known for c, _ in waits)
                (useful if busy else idle).add(ins.index)
    for row in sorted(idle - useful):
        ins = ctx.ins(row)
        counters = ", ".join(dict.fromkeys(c for c, _ in ins.waits))
        yield rule.at(ins, f"nothing is outstanding on {counters} here, on any path")


def is_full_drain(ctx: Context, base: str) -> bool:
    """``s_waitcnt`` on gfx12: its immediate means nothing there."""
    return base == "s_waitcnt" and ctx.table["waitcnt_layout"] is None


def _gfx12(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    for ins in ctx.lines:
        if is_full_drain(ctx, ins.base):
            yield rule.at(ins, "waits for all counters, whatever its operand says")


def _results(ctx: Context, rule: Rule) -> Iterator[Finding | NoRule]:
    """Jumps through registers: what comes back is unknown."""
    for ins in ctx.indirect:
        yield no_rule("indirect_jump", "control flow through a register is not followed", ins)


RULES = (
    Rule(
        "wait-missing", Severity.ERROR, "register used while a load may still write it", "", _SOURCE, _check
    ),
    Rule(
        "wait-redundant",
        Severity.WARNING,
        "wait with nothing outstanding",
        "it costs an issue slot and stops nothing",
        _SOURCE,
        _redundant,
    ),
    Rule(
        "waitcnt-gfx12",
        Severity.WARNING,
        "s_waitcnt on gfx12",
        "gfx12 has one wait instruction for each counter; s_waitcnt drains all of them",
        "LLVM SIInsertWaitcnts.cpp; AMD ISA guide RDNA4",
        _gfx12,
    ),
    Rule("indirect-jump", Severity.WARNING, "jump or call through a register", "", _SOURCE, _results),
)
