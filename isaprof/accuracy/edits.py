"""The edits of ``isaprof whatif``: one instruction dropped, moved, waiting for less, without bank conflicts.

Nothing here says that an edit is *legal*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from isaprof.accuracy.recording import Path, Recording
from isaprof.accuracy.replay import Edit, EditedPath
from isaprof.errors import UsageError
from isaprof.isa.model import Instruction, Listing, Space


def drop(recording: Recording, line: int) -> Edit:
    """The instruction at listing index ``line`` does not exist. UsageError for a branch or the end."""
    i = _instruction(recording, line)
    if i.is_branch or i.base.startswith(("s_endpgm", "s_setpc", "s_swappc")):
        raise UsageError(
            f"{i.text} decides the path; it cannot be dropped",
            kind="bad_edit",
            hint="edit the source and compare: isaprof ab A.co B.co",
        )

    def path(old: Path) -> EditedPath:
        return _rebuilt(old, [s for s, at in enumerate(old.lines) if at != line])

    return Edit(path=path, touched=frozenset({line}))


def move(recording: Recording, line: int, before: int) -> Edit:
    """The instruction at ``line`` stands before ``before``. UsageError where a branch lies between."""
    _, other = _instruction(recording, line), _instruction(recording, before)
    low, high = min(line, before), max(line, before)
    code = recording.listing.instructions
    targets = {c.target for c in code if c.target is not None}
    for c in code[low : high + 1]:
        inside = c.index not in (low, high)
        if (c.is_branch and c is not other) or c.base.startswith(("s_endpgm", "s_setpc", "s_swappc")):
            raise UsageError(
                f"{c.text} lies between line {_shown(recording, line)} and line {_shown(recording, before)}",
                kind="bad_edit",
                hint="choose a line of the same basic block: isaprof show CAPTURE --by block",
            )
        if c.pc in targets and (inside or c.index == high):
            raise UsageError(
                f"a branch comes in at {c.pc:#x} between the two lines",
                kind="bad_edit",
                hint="choose a line of the same basic block: isaprof show CAPTURE --by block",
            )

    def path(old: Path) -> EditedPath:
        order: list[int] = []
        held: int | None = None
        steps = range(len(old.lines))
        if before > line:
            for s in steps:
                if old.lines[s] == line:
                    held = s
                    continue
                if held is not None and old.lines[s] >= before:
                    order.append(held)
                    held = None
                order.append(s)
            if held is not None:
                order.append(held)
            return _rebuilt(old, order)
        start = 0
        for s in steps:
            if old.lines[s] == before:
                start = len(order)
            if old.lines[s] == line:
                order.insert(start, s)
            else:
                order.append(s)
        return _rebuilt(old, order)

    return Edit(path=path, touched=frozenset({line}))


def wait(recording: Recording, line: int, counts: dict[str, int]) -> Edit:
    """The wait at ``line`` lets ``counts`` (counter -> outstanding operations) pass.

    UsageError where the line is no wait or does not wait on such a counter.
    """
    i = _instruction(recording, line)
    known = dict(i.waits)
    if not known:
        raise UsageError(
            f"line {_shown(recording, line)}, {i.text}, is no wait",
            kind="bad_edit",
            hint="isaprof show CAPTURE --all   lists the instructions",
        )
    if set(counts) == {""} and len(known) == 1:
        counts = {next(iter(known)): counts[""]}
    if unknown := set(counts) - set(known):
        what = ", ".join(sorted(u or "a number without a counter" for u in unknown))
        raise UsageError(
            f"line {_shown(recording, line)}, {i.text}, waits on {', '.join(known)}, not on {what}",
            kind="bad_edit",
            hint=f"--wait {next(iter(known))}=N",
        )
    most: dict[str, int] = recording.table["counter_max"]
    for counter, n in counts.items():
        if n > most[counter]:
            raise UsageError(
                f"{counter} counts to {most[counter]} on {recording.capture.arch}; {n} cannot be written",
                kind="bad_edit",
                hint=f"--wait {counter}={most[counter]}   is no wait at all",
            )
    changed = replace(i, waits=tuple({**known, **counts}.items()))
    return Edit(listing=_with(recording.listing, changed), touched=frozenset({line}))


def no_conflict(recording: Recording, lines: Sequence[int]) -> Edit:
    """The LDS accesses at ``lines`` (empty: all) have no bank conflicts."""
    code = recording.listing.instructions
    for n in lines:
        i = _instruction(recording, n)
        if i.mem is None or i.mem.space is not Space.LDS:
            raise UsageError(
                f"line {_shown(recording, n)}, {i.text}, is no LDS access",
                kind="bad_edit",
                hint="isaprof show CAPTURE --by bank   lists those whose banks conflict",
            )
    chosen = lines or [i.index for i in code if i.mem is not None and i.mem.space is Space.LDS]
    return Edit(no_conflict=frozenset(chosen), touched=frozenset(chosen))


def _instruction(recording: Recording, line: int) -> Instruction:
    code = recording.listing.instructions
    if not 0 <= line < len(code):
        raise UsageError(f"line {line} does not exist: there are 0 to {len(code) - 1}", kind="bad_edit")
    walked = any(line in w.path.lines for u in recording.units for g in u.groups for w in g if w.path)
    if not walked:
        raise UsageError(
            f"no wave came by line {_shown(recording, line)}, {code[line].text}: an edit changes nothing",
            kind="bad_edit",
            hint="isaprof show CAPTURE --all   shows the lines with hits",
        )
    return code[line]


def _shown(recording: Recording, index: int) -> int:
    """The number of a listing index in the capture, which is what the user sees."""
    return recording.code_line.get(index, index)


def _with(listing: Listing, changed: Instruction) -> Listing:
    code = list(listing.instructions)
    code[changed.index] = changed
    return replace(listing, instructions=tuple(code))


def _rebuilt(old: Path, order: Sequence[int]) -> EditedPath:
    """``old`` with its steps in ``order``; records and taken branches follow their steps."""
    recorded, taken = set(old.recorded), old.taken
    path = Path(
        tuple(old.lines[s] for s in order),
        tuple(n for n, s in enumerate(order) if s in recorded),
        frozenset(n for n, s in enumerate(order) if s in taken),
    )
    return EditedPath(path, tuple(order))
