"""An edited object in place of the recorded one: how the recorded waves walk it, and what they access.

Two ways lead there. Where the launch is known the edited object is executed in
the simulator, which gives exact paths and addresses. Otherwise each recorded
path is carried over: a branch decides as it did in the recording, and the n-th
execution of an instruction keeps the n-th access of what it is in the
recording.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isaprof.accuracy.recording import Path, Recording
from isaprof.accuracy.replay import Addresses, Edit, EditedPath, run_waves
from isaprof.codeobj.elf import CodeObject, Kernel
from isaprof.errors import IsaprofError
from isaprof.isa.model import Listing

if TYPE_CHECKING:
    from isaprof.sim.trace import WaveTrace

#: wave-instructions that may be executed for one edited object
MAX_EXECUTED = 4_000_000
#: and bytes of the launch's buffers, which are made anew for each
MAX_FOOTPRINT = 64 << 20
#: an edited path may be this many times as long as the recorded one, and this much longer
_LONGER, _MORE = 2, 1000

EXECUTED = "the edited object executed in the simulator"
CARRIED = "the recorded paths carried over to the edited code"


class NotCarried(Exception):
    """Why recorded paths say nothing about the edited code; the message is a clause."""


@dataclass(frozen=True, slots=True)
class Edited:
    """An edited object, and which of its instructions are which of the recorded one; listing indices.

    ``carries``: of the edited listing -> of the recorded one whose executions
    it goes on with. ``entry``: recorded -> where control now arrives that went
    there. ``branches``: an inserted branch -> (recorded branch, inverted): it
    decides as that one will decide next, or the other way round. ``touched``:
    recorded instructions that were replaced, moved or deleted. ``unknown``:
    why recorded addresses may not be those of the edited code; "" where they are.
    """

    co: CodeObject
    kernel: Kernel
    listing: Listing
    carries: Mapping[int, int] = field(repr=False)
    entry: Mapping[int, int] = field(repr=False)
    branches: Mapping[int, tuple[int, bool]] = field(default_factory=dict)
    touched: frozenset[int] = frozenset()
    unknown: str = ""


def edit_of(
    edited: Edited, recording: Recording, addresses: Addresses, *, execute: bool = True
) -> tuple[Edit, str]:
    """The edit to replay, and how its paths were made (:data:`EXECUTED`, :data:`CARRIED`, or both).

    ``execute`` False: paths are carried over even where the launch is known.
    Raises NotCarried where a wave has neither.
    """
    executed: Mapping[tuple[tuple[int, int, int], int], WaveTrace] = {}
    if execute and addresses.launch is not None and (addresses.footprint or 0) <= MAX_FOOTPRINT:
        # where it faults or does not end, the recorded paths may still say something
        with suppress(IsaprofError):
            executed = run_waves(
                edited.co, edited.kernel, edited.listing, addresses.launch, addresses.ran, MAX_EXECUTED
            )
    walked: dict[Path, EditedPath] = {}
    carried = 0
    for unit in recording.units:
        for number, group in enumerate(unit.groups):
            for position, wave in enumerate(group):
                if wave.path is None:
                    continue
                key = lines_of(wave.path)
                like = addresses.for_wave(wave, key, number, position)
                if like is not None and not wave.cut and (like.workgroup, like.wave_in_wg) in executed:
                    continue
                carried += 1
                if edited.unknown:
                    raise NotCarried(edited.unknown)
                if wave.path not in walked:
                    walked[wave.path] = walk(edited, recording.listing, wave.path)

    def path(old: Path) -> EditedPath:
        if old not in walked:
            walked[old] = walk(edited, recording.listing, old)
        return walked[old]

    how = " and ".join(text for text, used in ((EXECUTED, bool(executed)), (CARRIED, bool(carried))) if used)
    edit = Edit(
        listing=edited.listing,
        kernel=edited.kernel,
        path=path,
        executed=executed,
        origin=edited.carries,
        touched=edited.touched,
    )
    return edit, how or CARRIED


def lines_of(path: Path) -> bytes:
    """The key of a path's lines among executed waves (isaprof.accuracy.replay.Addresses)."""
    import numpy as np

    return np.array(path.lines, dtype=np.int32).tobytes()


def walk(edited: Edited, recorded: Listing, old: Path) -> EditedPath:
    """``old`` through the edited code. Raises NotCarried where it does not fit."""
    code = edited.listing.instructions
    decisions: dict[int, list[bool]] = defaultdict(list)
    steps: dict[int, list[int]] = defaultdict(list)
    for n, line in enumerate(old.lines):
        steps[line].append(n)
        if recorded.instructions[line].is_branch or n in old.taken:
            decisions[line].append(n in old.taken)
    visits: Counter[int] = Counter()
    lines: list[int] = []
    origin: list[int | None] = []
    taken: list[int] = []
    at = _entered(edited, old.lines[0])
    limit = _LONGER * len(old.lines) + _MORE
    while True:
        if len(lines) > limit or at >= len(code):
            raise NotCarried("the recorded branches do not lead to the end of the edited code")
        i = code[at]
        mine = edited.carries.get(at)
        seen = visits[mine] if mine is not None else 0
        step: int | None = None
        if mine is not None:
            visits[mine] += 1
            known = steps[mine]
            # executed more often than in the recording (a load too many): as the last time
            step = (known[seen] if seen < len(known) else known[-1]) if known else None
        lines.append(at)
        origin.append(step)
        if i.base.startswith("s_endpgm"):
            break
        jumps, away = _jump(edited, recorded, old, at, step, decisions, visits)
        if jumps:
            taken.append(len(lines) - 1)
        at = away if jumps else at + 1
    _all_walked(recorded, steps, visits, set(edited.carries.values()))
    records = tuple(s for s, line in enumerate(lines) if code[line].traced)
    return EditedPath(Path(tuple(lines), records, frozenset(taken)), tuple(origin))


def _jump(
    edited: Edited,
    recorded: Listing,
    old: Path,
    at: int,
    step: int | None,
    decisions: Mapping[int, list[bool]],
    visits: Mapping[int, int],
) -> tuple[bool, int]:
    """Whether the instruction at ``at`` jumps, and where to."""
    i = edited.listing.instructions[at]
    if at in edited.branches:
        by, inverted = edited.branches[at]
        known, n = decisions.get(by, []), visits.get(by, 0)
        if n >= len(known):
            raise NotCarried(f"nothing recorded decides {i.text}")
        jumps = known[n] != inverted
    elif step is not None:
        jumps = step in old.taken
        by = old.lines[step]
        if by in decisions and visits.get(by, 0) > len(decisions[by]):
            raise NotCarried(f"{i.text} is executed more often than it was recorded")
    elif i.is_branch:
        raise NotCarried(f"nothing recorded decides {i.text}")
    else:
        return False, at
    if not jumps:
        return False, at
    if i.target is not None:
        if i.target not in edited.listing.by_pc:
            raise NotCarried(f"{i.text} leads out of the code")
        return True, edited.listing.by_pc[i.target]
    assert step is not None  # only a recorded jump goes through a register
    return True, _entered(edited, old.lines[min(step + 1, len(old.lines) - 1)])


def _entered(edited: Edited, line: int) -> int:
    if line not in edited.entry:
        raise NotCarried("control arrives at an instruction that the edit removed")
    return edited.entry[line]


def _all_walked(
    recorded: Listing, steps: Mapping[int, list[int]], visits: Mapping[int, int], kept: set[int]
) -> None:
    """Every kept instruction is executed at least as often as in the recording."""
    for line, known in steps.items():
        if line in kept and visits.get(line, 0) < len(known):
            i = recorded.instructions[line]
            raise NotCarried(f"{i.text} at {i.pc:#x} is executed less often than it was recorded")
