"""rocprofv3's stats CSV becomes a Capture of totals; what AMD's decoder releases are known to get wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from shlex import quote
from typing import Any

from isaprof import arch as tables_of
from isaprof.backends.frames import code_frame, rows_frame
from isaprof.backends.protocol import RawCapture
from isaprof.backends.rocprof_ui import code_lines, totals_frame
from isaprof.backends.sqtt import LoadedCode
from isaprof.capture.model import CodeObjectRef, Warning_
from isaprof.capture.schema import TABLES
from isaprof.parsers.ui_output import CodeRow, UiOutput

#: generations whose stall and idle times decoders before 0.1.5 may give 4 cycles too long
#: (ROCm/rocprof-trace-decoder, issue 2)
FOUR_CYCLES = ("gfx11", "gfx12")
FOUR_CYCLES_FIXED = (0, 1, 5)


def assemble_totals(
    code: Sequence[CodeRow],
    target: str,
    objects: Sequence[LoadedCode] = (),
    *,
    dispatch: dict[str, Any],
    launch: dict[str, Any],
    device: dict[str, Any],
    warnings: Sequence[Warning_] = (),
) -> RawCapture:
    """Code and totals of one dispatch. The tables of waves and records are there, and empty: the format
    has none, and ``coverage`` says nothing about them."""
    lines, number = code_lines(code, target, objects)
    tables = {
        "code": code_frame(lines),
        "totals": totals_frame(code, number),
        **{name: rows_frame(name, [c.name for c in TABLES[name]], ()) for name in ("waves", "insts")},
    }
    hit = next((r for r in code if r.hits), code[0])
    label = None
    for r in code:
        label = r.label or label
        if r is hit:
            break
    known = next((o for o in objects if o.id == hit.codeobj), None)
    kernel = known.kernel_at(hit.vaddr) if known is not None else None
    main = {"name": label or (kernel.name if kernel else "unknown"), "codeobj": hit.codeobj, "entry": None}
    warns = [
        *warnings,
        Warning_("totals_only", "sums of each instruction only: no wave, no time, no cause in this format"),
    ]
    meta: dict[str, Any] = {
        "provenance": "measured",
        "backend": "rocprofv3-stats",
        "arch": target,
        "generation": tables_of.generation(target),
        "kernel": main,
        "kernels": [main],
        "dispatch": dispatch,
        "launch": launch,
        "decoder": {"name": "rocprof-trace-decoder", "version": None},
        "device": device,
        "coverage": {"text": "sums over all traced waves, as rocprofv3 wrote them"},
        "warnings": [asdict(w) for w in warns],
    }
    if kernel is not None:
        meta["wave_size"] = kernel.wave_size
    used = {x.codeobj for x in lines}
    refs = tuple(CodeObjectRef(o.id, o.data, o.name, o.co.sha256, None) for o in objects if o.id in used)
    return RawCapture(meta, tables, refs, warns)


def old_decoder(ui: UiOutput) -> Iterator[Warning_]:
    """A warning where the directory may be of a decoder release with the known 4-cycle error."""
    if f"gfx{ui.gfxip}" in FOUR_CYCLES and not ui.other_simd_known:
        yield four_cycles(
            "nothing shows that the decoder was 0.1.5 or later",
            f"isaprof import {quote(str(ui.path.parent))}",
        )


def four_cycles(why: str, command: str) -> Warning_:
    """The warning about a release; ``command`` imports what a better decoder makes of it."""
    return Warning_(
        "decoder_4_cycles",
        f"{why}: releases before it give stall and idle times on RDNA3 and RDNA4 up to 4 cycles too long; "
        f"{command} --decoder isaprof   decodes the raw .att files",
    )
