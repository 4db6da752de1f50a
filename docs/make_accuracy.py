"""Writes docs/accuracy.md: validation of the timing model on the public traces.

Run from the checkout with the shared data (``ISAPROF_DATA``)::

    python docs/make_accuracy.py

The built-in constants are judged on every trace; then, for each device with
several captures, tables are fitted on all captures but one and judged on that one.
"""

from __future__ import annotations

import os
from pathlib import Path

from isaprof.accuracy.calibrate import calibrate
from isaprof.accuracy.validate import Outcome, collect, measured, prepare, validate, validate_all
from isaprof.errors import IsaprofError
from isaprof.views.accuracy import markdown, percent
from isaprof.views.accuracy import table as md_table

ROOT = Path(__file__).resolve().parent.parent

HEAD = """# Accuracy of the timing model

Written by `docs/make_accuracy.py`; every figure comes from replaying recorded waves of public hardware traces
in the timing model, on their recorded SIMDs, slots and start cycles (`isaprof validate`). Addresses come from
executing the kernel, where a launch file describes it; the trace does not say which workgroups a unit ran, so
the n-th of a unit is taken for the n-th of every so many, as the dispatcher hands them out. Waves that were
not traced are given the path of a traced one.

- *Warm* gaps are issue-to-issue distances without launch, waits for memory, barriers, cold code and drain:
  what the instruction set and the code decide. *Within* is the share of them within 2 cycles (RDNA) or one
  slot of 4 (CDNA).
- Components are compared one by one, so that errors cannot cancel. Launch, first waits, cold code and drain
  depend on the device and the state it was in. A wait for memory or a bubble of instruction fetch that one
  side had counts as such for both.
- A cause's share is its part of the waves' cycles, in the attribution of the trace and in that of the replay;
  *without launch and drain* it is its part of what lies between; these two are components of their own.

Published errors of other simulators, on their own workloads and metrics, so only a measure of what is usual:
MGPUSim 5.5 % (its MI300A model 16.4 %), Accel-Sim about 15 %, gem5's MFMA model 1.3 to 1.5 %.

## Built-in constants

They come from published figures and microbenchmarks, named in [timing-model.md](timing-model.md) and
`isaprof/arch`. Those of cold devices were read off the same small kernels as are judged here: launch, first
scalar and vector load, first code, drain of gfx1100 and of the gfx1201-class device, and some of gfx950.
Where these components are within a few percent, that is how well one table describes several captures, not
how well it predicts another; the second table is the test of that. The same holds for small costs of
RDNA's warm stretches (ways back of LDS and memory). No figure was taken from the MFMA GEMM
(att), but its errors told where to look: that the two vector ports of gfx950 differ and that global stores
follow slowly was noticed there first, then read off another trace. Without the stores its warm sum is -5.1 %.

"""

FITTED = """
## Device constants fitted on the other captures of the device

Launch, first scalar and vector wait, cold code and drain, with `isaprof calibrate` run on all captures of the
device but the one that is judged. Two engines of one dispatch are one capture. The shader clock of each is
known (its marks of real time). Whether the device had code and translations at hand is not: a launch is
fitted to the captures in the faster state, so that those in the slower one (`plus`, and `handwritten` on the
gfx1201-class device) are missed by what the first use adds. What only one capture shows, such as the first
vector wait of a dispatch that fills the device, keeps its built-in value when that capture is judged. So does
the part of gfx1100's launch that is constant in nanoseconds, which was read off two of its captures.

"""

LIMITS = """
## What the figures do not say

- No trace here is of a large grid in steady state: memory bandwidth under load is untested.
- gfx942, gfx1151 and gfx1200 have tables and no trace here; their error is unknown.
- The MFMA GEMM's device (att) has one capture, so its device constants cannot be fitted elsewhere.
- Cold code is predicted in sum at best (`gfx950/gemm`), not in place: the traces show bubbles where no cache
  line of 64 or 128 bytes begins, some of them in waves that come second. Where eight waves
  of a CU start together again, short stalls of a cause that the traces do not name (attributed to lost
  arbitration, VMEM or not at all) are not modelled.
"""

DEVICES = {
    "gfx1100": ("gfx1100/plus_run0", "gfx1100/sync_run0", "gfx1100/gemm_run0"),
    "gfx1201": (
        "gfx1200/plus_run0", "gfx1200/sync_run0", "gfx1200/gemm_run0", "gfx1200/handwritten_run0",
    ),
}  # fmt: skip


def main() -> None:
    """Write the page."""
    data = Path(os.environ.get("ISAPROF_DATA") or ROOT.parent / "shared" / "data")
    outcomes = [_short(o) for o in validate_all([data / "sqtt"])]
    att = data / "att/wave_gemm_gfx950/ui_output_agent_32617_dispatch_3"
    outcomes += [Outcome("att/wave_gemm_gfx950", o.agreement, o.problem) for o in validate_all([att])]
    body = HEAD + markdown(outcomes) + FITTED + _crossed(data / "sqtt") + LIMITS
    (ROOT / "docs" / "accuracy.md").write_text(body)


def _short(o: Outcome) -> Outcome:
    return Outcome(o.name.replace("_run0", "").replace(" dispatch 0", ""), o.agreement, o.problem)


def _crossed(sqtt: Path) -> str:
    rows = []
    for captures in DEVICES.values():
        prepared = []
        for name in captures:
            for label, item in collect([sqtt / name]):
                if not isinstance(item, IsaprofError):
                    try:
                        prepared.append((name, item, *prepare(measured(item))[:2]))
                    except IsaprofError:
                        continue
                del label
        for name, capture, _, _ in prepared:
            others = [(n, r, a) for n, _, r, a in prepared if n != name]
            table, facts, _ = calibrate(others, "crossed")
            before, after = validate(capture), validate(capture, calibration=table)
            was = {p.component.value: p.error for p in before.parts}
            rows.append(
                [
                    name.replace("_run0", ""),
                    ", ".join(n.split("/")[1].replace("_run0", "") for n, _, _ in others),
                    *(
                        next(
                            (
                                f"{percent(was[c], 0)} to {percent(p.error, 0)}"
                                for p in after.parts
                                if p.component.value == c
                            ),
                            "-",
                        )
                        for c in ("launch", "first scalar wait", "first vector wait", "drain")
                    ),
                    f"{before.durations[0] * 100:.0f} to {after.durations[0] * 100:.0f} %",
                    f"{after.good_waves} of {after.waves}",
                ]
            )
            del facts
    head = [
        "judged", "fitted on", "launch", "first scalar wait", "first vector wait", "drain", "wave duration",
        "waves within 15 % with every component within 25 %",
    ]  # fmt: skip
    return "\n".join(md_table(head, rows)) + "\n"


if __name__ == "__main__":
    main()
