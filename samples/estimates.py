"""Compares what `isaprof suggest` estimates on the samples with what `isaprof ab` then shows.

    python samples/estimates.py [NAME.co ...] [--check]

Each sample is run at its launch file's shape and each finding's edited object is compared with the sample;
without names the table between `<!-- estimates -->` and `<!-- end -->` of docs/transforms.md is written.
``--check`` writes nothing. Exit 1 where ab's result is outside an estimate's interval, or with ``--check``
where the table differs. Every figure is *modelled*.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from build import HERE, OBJECTS, build_file

from isaprof.cli import main as isaprof
from isaprof.transforms.model import Estimate, Finding
from isaprof.transforms.retime import Timing, product_of
from isaprof.transforms.subject import Subject
from isaprof.transforms.suggest import suggest

BEGIN, END = "<!-- estimates -->", "<!-- end -->"
PAGE = HERE.parent / "docs" / "transforms.md"


@dataclass(frozen=True)
class Row:
    """One finding: what was estimated, and the span and wave cycles of both arms (A, B)."""

    sample: str
    arch: str
    finding: Finding
    span: tuple[int, int]
    wave_cycles: tuple[int, int]

    @property
    def inside(self) -> bool:
        e = self.finding.estimate
        if e.span is None or e.low is None or e.high is None:
            return False
        _, _, low, high = e.span
        saved = (self.span[0] - self.span[1], self.wave_cycles[0] - self.wave_cycles[1])
        return low <= saved[0] <= high and e.low <= saved[1] <= e.high


def rows(name: str, folder: Path) -> Iterator[Row]:
    """Every finding of one sample."""
    co = build_file(name)
    launch = co.parent / f"{co.name.split('.')[0]}.launch.toml"
    if not launch.exists():
        launch = next(iter(sorted(co.parent.glob("*.launch.toml"))))
    capture = folder / f"{co.name}.isaprof"
    call("run", co, "--launch", launch, "-o", capture)
    subject = Subject.open(capture)
    assert subject.capture is not None
    timing = Timing(subject.capture)
    timing.prepare(launch)
    for number, finding in enumerate(suggest(subject.context, timing).findings):
        product = product_of(subject.context, finding)
        if product is None:
            continue
        after = folder / f"{co.stem}.{number}.co"
        after.write_bytes(product.data)
        cycles = json.loads(
            call(
                "ab",
                co,
                after,
                "--launch",
                launch,
                "--seeds",
                1,
                "--json",
                "-o",
                folder / f"{co.name}-{number}",
            )
        )["cycles"]
        span, waves = (_pair(cycles[key]) for key in ("span", "wave_cycles"))
        yield Row(name.rpartition("/")[2], subject.context.co.arch, finding, span, waves)


def _pair(change: dict[str, Any]) -> tuple[int, int]:
    return int(change["a"]), int(change["b"])


def call(*args: object) -> str:
    """What a verb prints. SystemExit where it failed."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            isaprof([str(a) for a in args])
    except SystemExit as e:
        if e.code not in (0, None):
            raise SystemExit(f"isaprof {' '.join(map(str, args))}: exit {e.code}") from None
    return out.getvalue()


TITLES = (
    "sample", "GPU", "transform, listing line", "arithmetic", "estimate, span saved", "interval", "ab: span",
    "saved",
)  # fmt: skip
HEADER = f"| {' | '.join(TITLES)} |\n|{' --- |' * len(TITLES)}"


def line(row: Row) -> str:
    """A row of the table; span cycles, and shares of them."""
    e, (a, b) = row.finding.estimate, row.span
    cells = [
        row.sample,
        row.arch,
        f"{row.finding.transform}, {row.finding.index}",
        _arithmetic(row),
        _estimate(e),
        "-" if e.span is None else f"{e.span[2]:,} to {e.span[3]:,}",
        f"{a:,} to {b:,}",
        f"{a - b:,} ({(a - b) / a:.1%})",
    ]
    return f"| {' | '.join(cells)} |"


def _arithmetic(row: Row) -> str:
    """What the stalls support, as a share of the wave cycles."""
    e = row.finding.estimate
    cycles = e.expected if e.span is None else e.arithmetic
    return "-" if cycles is None or not row.wave_cycles[0] else f"{cycles / row.wave_cycles[0]:.1%}"


def _estimate(e: Estimate) -> str:
    return f"bound: {e.why}" if e.span is None else f"{e.span[1]:,} ({e.saved or 0:.1%})"


def main(argv: Sequence[str]) -> int:
    """See the module's docstring."""
    check = "--check" in argv
    names = [a for a in argv if not a.startswith("-")]
    wanted = [n for n in OBJECTS if not names or n.rpartition("/")[2] in names]
    found: list[Row] = []
    nothing: list[str] = []
    with tempfile.TemporaryDirectory(prefix="isaprof-") as folder:
        for name in wanted:
            new = list(rows(name, Path(folder)))
            found += new
            if not new:
                nothing.append(f"`{name.rpartition('/')[2].removesuffix('.co')}`")
            print(name, *(line(r) for r in new), sep="\n  ")
    outside = [r for r in found if not r.inside]
    for r in outside:
        print(f"outside its interval: {line(r)}")
    table = "\n".join([HEADER, *(line(r) for r in found)])
    if nothing:
        table += "\n\n" + textwrap.fill(f"Nothing applies to {', '.join(nothing)}.", 119)
    page = PAGE.read_text()
    head, rest = page.split(BEGIN)
    new_page = f"{head}{BEGIN}\n\n{table}\n\n{END}{rest.split(END, 1)[1]}"
    if not names and not check:
        PAGE.write_text(new_page)
    return int(bool(outside) or (check and not names and new_page != page))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
