"""The round trip: an object to text, the text to an object, and both compared.

The rebuilt object comes from the text alone. What the verdict rests on is in
:mod:`isaprof.asm.compare`; file size, hash tables, ``.comment`` and absolute
addresses vary with the linker and are reported only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from isaprof.asm.start import Started
from isaprof.errors import IsaprofError
from isaprof.files import content
from isaprof.isa import llvm
from isaprof.isa.process import forget, prepare

if TYPE_CHECKING:
    from isaprof.asm.compare import Outcome
    from isaprof.asm.facets import Facets

#: encodings and differences listed for each object in JSON
_LISTED = 200


class Proof(NamedTuple):
    """The round trip of one object. ``error``: it could not be made, and why."""

    path: str
    verdict: str  #: identical, equivalent, different, failed
    target: str = ""
    code_object_version: int | None = None
    kernels: int = 0
    instructions: int = 0
    kept_as_words: int = 0
    with_bits: int = 0
    outcome: Outcome | None = None
    reported: dict[str, Any] = {}  # noqa: RUF012
    error: str | None = None
    error_kind: str | None = None

    def as_json(self) -> dict[str, Any]:
        """JSON-able; long lists are cut, counts are not."""
        out: dict[str, Any] = {
            "path": self.path,
            "verdict": self.verdict,
            "target": self.target,
            "code_object_version": self.code_object_version,
            "kernels": self.kernels,
            "instructions": self.instructions,
            "kept_as_words": self.kept_as_words,
            "with_bits": self.with_bits,
        }
        if self.error is not None:
            out["error"] = {"kind": self.error_kind, "message": self.error}
        if self.outcome is not None:
            o = self.outcome
            out["checks"] = dict(o.checks)
            out["difference_count"] = o.count
            out["differences"] = [
                {"part": d.part, "where": d.where, "original": d.a, "rebuilt": d.b}
                for d in o.differences[:_LISTED]
            ]
            out["encodings"] = {
                "count": len(o.encodings),
                "list": [
                    {
                        "address": e.address,
                        "text": e.text,
                        "original": [f"{w:#010x}" for w in e.a],
                        "rebuilt": [f"{w:#010x}" for w in e.b],
                        "bits": e.bits,
                    }
                    for e in o.encodings[:_LISTED]
                ],
            }
        out["reported"] = self.reported
        return out


def prove(data: bytes, *, path: str, arch: str | None = None) -> Proof:
    """Round trip of one object; errors as of :func:`~isaprof.asm.disassemble_object`."""
    # what is not needed to start llvm-objdump is loaded while it runs
    started = Started(data, path, arch)
    try:
        return _prove(started, path, arch)
    finally:
        forget()


def _prove(started: Started, path: str, arch: str | None) -> Proof:
    # llvm-mc loads while llvm-objdump is at work
    target = started.co.arch
    features = llvm.mc_features(llvm.default_mattr(target), started.co.target_id)
    prepare(llvm.mc_words(llvm.find_tools(target), target, features))
    from isaprof.asm.disasm import finish
    from isaprof.asm.layout import function_starts, read_layout

    co = started.co
    layout = read_layout(started.image, path)
    function_starts(co, layout)  # loads the tables of the target where they are needed

    # and what is needed to compare, while llvm-mc does
    @cache
    def original() -> Facets:
        from isaprof.asm import compare  # noqa: F401
        from isaprof.asm.facets import facets_of

        return facets_of(co, layout, started.image)

    done = finish(started, layout, path, original)
    from isaprof.asm.compare import compare
    from isaprof.asm.facets import read_facets

    rebuilt = read_facets(done.rebuilt, path=path, arch=arch)
    outcome = compare(original(), rebuilt)
    reported = {
        key: {"original": original().reported.get(key), "rebuilt": rebuilt.reported.get(key)}
        for key in dict.fromkeys([*original().reported, *rebuilt.reported])
        if original().reported.get(key) != rebuilt.reported.get(key)
    }
    return Proof(
        path, outcome.verdict, co.target_id, co.code_object_version, len(co.kernels), done.instructions,
        done.kept_as_words, done.with_bits, outcome, reported,
    )  # fmt: skip


class Job(NamedTuple):
    """One object to prove: a file, or an object inside one (``index``)."""

    file: str
    label: str
    arch: str | None = None
    index: int | None = None  # type: ignore[assignment]  # not the method of tuples

    def read(self) -> bytes:
        """The object's bytes. Raises BadInput or OSError."""
        if self.index is None:
            return content(self.file)
        from isaprof.codeobj.source import read_source

        return read_source(self.file).objects[self.index].data()


def run(job: Job) -> Proof:
    """Prove one job; whatever is wrong with the object becomes a failed proof."""
    try:
        return prove(job.read(), path=job.label, arch=job.arch)
    except IsaprofError as e:
        return Proof(job.label, "failed", error=str(e), error_kind=e.kind)
    except OSError as e:
        return Proof(job.label, "failed", error=f"cannot read: {e.strerror or e}", error_kind="unreadable")


def prove_all(jobs: Sequence[Job], progress: Callable[[int, int, str], None] | None = None) -> list[Proof]:
    """All proofs in the order of ``jobs``, on all cores; ``progress`` after each."""
    done: list[Proof] = []
    for proof in _proofs(jobs):
        done.append(proof)
        if progress is not None:
            progress(len(done), len(jobs), "round trip")
    return done


def _proofs(jobs: Sequence[Job]) -> Iterator[Proof]:
    workers = min(_cores(), len(jobs))
    if workers < 2:
        yield from map(run, jobs)
        return
    # the work is in LLVM's processes and in Python alike: one worker a core
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from isaprof.asm import exact  # noqa: F401  (loaded once, before the workers are forked)
    from isaprof.isa import llvm

    llvm.find_tools()  # looked for once, not in each worker
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        yield from pool.map(run, jobs)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
