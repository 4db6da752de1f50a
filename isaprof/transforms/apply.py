"""Making a transform's edit, with the proof that it is one: obligations, object, counters, outputs."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from isaprof.backends.protocol import Progress, no_progress
from isaprof.errors import AnswerNo, BadInput
from isaprof.transforms import equality
from isaprof.transforms.context import Context
from isaprof.transforms.model import Estimate, Finding, Transform
from isaprof.transforms.objects import Differs, correspond
from isaprof.transforms.source import Source

if TYPE_CHECKING:
    from isaprof.attribution.model import Analysis
    from isaprof.launch.file import LaunchFile
    from isaprof.transforms.retime import Timing

#: places that a message lists
_NAMED = 10


@dataclass(frozen=True)
class Applied:
    """One edit that was made."""

    finding: Finding
    line: int | None  #: line of the source or, of a code object, of its disassembly, 1-based
    proof: tuple[str, ...]  #: the re-assembled object and its wait counters


@dataclass(frozen=True)
class Rewrite:
    """All edits of one transform, and the source and object they lead to."""

    before: Source
    after: Source
    kernel: str
    applied: tuple[Applied, ...]
    refused: tuple[Finding, ...]  #: found, but not safe or not to be made automatically
    index: dict[int, int] = field(repr=False)  #: instruction before -> after, or what replaces it
    estimate: Estimate | None = None  #: of all edits together, where there are several and a capture

    def diff(self, name: str = "kernel.s") -> str:
        """The change of the source as a unified diff."""
        a, b = (s.text.splitlines(keepends=True) for s in (self.before, self.after))
        return "".join(difflib.unified_diff(a, b, f"a/{name}", f"b/{name}"))


def rewrite(
    source: Source,
    transform: Transform,
    kernel: str | None = None,
    *,
    at: Callable[[Finding, Source], bool] | None = None,
    where: str = "",
    place: Callable[[Finding, Source], str] = lambda finding, source: f"{finding.pc:#x}",
    analysis: Analysis | None = None,
    timing: Timing | None = None,
    note: Callable[[Applied], None] = lambda applied: None,
) -> Rewrite:
    """Apply ``transform`` at the finding that ``at`` accepts, or everywhere, one finding after the other.

    After each edit the object is assembled, compared with the one before and
    analysed again. Raises AnswerNo where nothing is found there or an
    obligation is not met; ``where`` names the place that ``at`` stands for in
    messages, ``place`` that of a finding. ``analysis`` and ``timing`` are of a
    capture of ``source``: they give its findings, not those of what an edit
    leads to, an estimate.
    """
    context = Context.of(source.data, kernel, analysis=analysis, path=source.path)
    first, name = source, context.kernel.name
    applied: list[Applied] = []
    index = {i.index: i.index for i in source.listing.instructions}
    done: set[int] = set()
    while True:
        findings = list(transform.detect(context))
        found = [place(f, source) for f in findings]
        if at is not None:
            findings = [f for f in findings if at(f, source)]
        todo = [f for f in findings if f.safe and f.index not in done]
        if not applied and not todo:
            raise _refusal(transform, findings, name, source.path, where, found)
        if not todo:
            break
        chosen = todo[0]
        if timing is not None and not applied:
            chosen = replace(chosen, estimate=timing.estimate(context, chosen, source))
        source, context, step, kept = _one(source, context, chosen)
        applied.append(step)
        note(step)
        index = {i: kept[j] for i, j in index.items() if j in kept}
        moved = {kept.get(d, d) for d in done}
        done = {*moved, kept.get(chosen.index, chosen.index)}
        if at is not None:
            findings = []
            break
    together = None
    if timing is not None and len(applied) > 1:
        start = Context.of(first.data, name, analysis=analysis, path=first.path)
        together = timing.of_rewrite(start, source, index)
    refused = tuple(f for f in findings if not f.safe)
    return Rewrite(first, source, name, tuple(applied), refused, index, together)


def prove_equal(
    result: Rewrite,
    file: LaunchFile,
    shapes: Sequence[str] = (),
    progress: Progress = no_progress,
) -> list[str]:
    """Run the object before and after on the simulator; see :mod:`isaprof.transforms.equality`."""
    before, after = (Context.of(s.data, result.kernel, path=s.path) for s in (result.before, result.after))
    return equality.prove(before, after, result.index, file, equality.trials(file, shapes), progress)


def _one(
    source: Source, context: Context, finding: Finding
) -> tuple[Source, Context, Applied, dict[int, int]]:
    """The source with one edit, re-assembled, compared and analysed."""
    assert finding.edit is not None
    line = source.line_of.get(finding.index)
    text = source.apply(finding.edit)
    try:
        after = Source.of(text, source.path)
    except BadInput as e:
        raise AnswerNo(
            f"the edited source does not assemble: {e.message}", path=source.path, kind="edit"
        ) from None
    try:
        same = correspond(source.data, after.data, finding.edit)
    except Differs as e:
        raise AnswerNo(
            f"the edit of {finding.pc:#x} {finding.text} would change more than the instruction: {e}",
            path=source.path,
            kind="edit",
        ) from None
    now = Context.of(after.data, context.kernel.name, path=source.path)
    steps = [*same.steps, _counters(context, now, same.index)]
    kept = dict(same.stands)
    return after, now, Applied(finding, line, tuple(steps)), kept


def _counters(before: Context, after: Context, index: dict[int, int]) -> str:
    """The wait counters of the re-assembled object: nothing that was safe is unsafe now."""
    known = {(index.get(c.user, -1), index.get(c.load, -1), c.overwrite) for c in before.waits.conflicts()}
    for c in after.waits.conflicts():
        if (c.user, c.load, c.overwrite) not in known:
            raise AnswerNo(
                f"{after.where(c.user)} would use a result of {after.where(c.load)} in flight",
                kind="obligation",
            )
    n = len(after.waits.conflicts())
    rest = "none" if not n else f"the {n} that were there before"
    return f"wait counters of the re-assembled object, all paths: uses of results in flight: {rest}"


def _refusal(
    transform: Transform,
    findings: Sequence[Finding],
    name: str,
    path: str | None,
    where: str,
    found: Sequence[str],
) -> AnswerNo:
    """Why nothing can be applied; ``found``: the places of all findings, the one asked for or not."""
    if not findings:
        missed = f"no finding at {where}" if where else ""
        if found:
            rest = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
            message = f"{missed}; found at: {', '.join(found[:_NAMED])}{rest}"
        else:
            message = f"{missed and missed + ': '}{transform.id} does not apply to {name}"
        return AnswerNo(
            message,
            path=path,
            kind="does_not_apply",
            hint="isaprof suggest lists what applies where",
        )
    f = findings[0]
    unmet = [o for o in f.obligations if not o.met]
    if unmet:
        o = unmet[0]
        return AnswerNo(
            f"{transform.id} at {f.pc:#x} {f.text}: {o.id} ({o.title}) is not met: {'; '.join(o.steps)}",
            path=path,
            kind="obligation",
        )
    return AnswerNo(
        f"{transform.id} is advice: the edit changes more than isaprof rewrites by itself",
        path=path,
        kind="advice",
        hint="isaprof suggest shows the rewritten code",
    )
