"""The embedded simulator as a backend: functional run, verdict, timing, records.

The whole selection of workgroups is executed; the timing model replays those
that a round-robin dispatch gives to the device's first CU (WGP), because one
unit is what it models. ``meta["coverage"]`` says how much that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isaprof import arch as tables
from isaprof.backends import sampling
from isaprof.backends.protocol import Progress, RawCapture, no_progress
from isaprof.capture.model import CodeObjectRef, Provenance, Warning_
from isaprof.launch.verify import NOT_ASKED, Verification

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isaprof.codeobj.elf import CodeObject, Kernel
    from isaprof.isa.model import Listing
    from isaprof.launch.resolve import ResolvedLaunch
    from isaprof.sim.functional import FunctionalResult
    from isaprof.sim.timing import Resources
    from isaprof.sim.timing.calibration import Calibration
    from isaprof.sim.trace import WorkgroupTrace

#: wave-instructions after which a run is stopped, unless told otherwise
MAX_INSTRUCTIONS = 200_000_000
#: most waves whose paths are recorded for timing: what 16 full generations of one unit hold
MAX_TIMED_WAVES = 1024


class Simulator:
    """One kernel, one launch, on the simulator.

    ``workgroups``: "all", a number, or "X,Y,Z" (see sampling.select);
    ``calibration``: constants of the timing model, default the built-in ones. After
    :meth:`capture`, ``outputs`` holds the output operands' bytes and
    ``verification`` is the verdict on them.
    """

    name = "simulator"

    def __init__(
        self,
        co: CodeObject,
        data: bytes,
        kernel: Kernel,
        launch: ResolvedLaunch,
        *,
        workgroups: str = "all",
        max_instructions: int = MAX_INSTRUCTIONS,
        verify: bool = True,
        calibration: Calibration | None = None,
    ) -> None:
        self.co = co
        self.data = data
        self.kernel = kernel
        self.launch = launch
        self.selection = sampling.select(workgroups, launch.grid)
        self.max_instructions = max_instructions
        self.wants_verdict = verify
        self.calibration = calibration
        self.verification: Verification = NOT_ASKED
        self.outputs: dict[str, bytes] = {}

    def capture(self, progress: Progress = no_progress) -> RawCapture:
        """Execute, compare, time. Raises KernelFault; a wrong output is no error here."""
        from isaprof.isa.decode import disassemble
        from isaprof.sim import functional, timing

        table = tables.get(self.co.arch)
        listing = disassemble(self.data, arch=self.co.arch, path=self.co.path)
        waves_per_wg = -(-self.launch.threads // self.kernel.wave_size)
        limit = max(1, MAX_TIMED_WAVES // waves_per_wg)
        timed = sampling.timed(self.selection, self.launch.grid, sampling.units(table), limit)
        result = functional.run(
            self.co,
            self.kernel,
            listing,
            self.launch,
            workgroups=self.selection.run,
            trace=frozenset(timed).__contains__,
            max_instructions=self.max_instructions,
            progress=progress,
        )
        self.outputs = result.outputs
        if self.wants_verdict:
            self.verification = self.launch.verify(result.outputs, self.selection.run)
        timed_result = timing.simulate(
            listing,
            table,
            result.traces,
            resources=self._resources(),
            calibration=self.calibration,
            progress=progress,
        )
        modelled = len(timed_result.tables["waves"])
        meta = self._meta(table, result, modelled, waves_per_wg, timed_result.model)
        code = _code_table(listing, result.traces)
        ref = CodeObjectRef(1, self.data, self.kernel.name, self.co.sha256)
        return RawCapture(meta, {"code": code, **timed_result.tables}, (ref,), self._warnings())

    def _resources(self) -> Resources:
        from isaprof.sim.timing import Resources

        return Resources.of(
            self.kernel,
            waves_per_workgroup=-(-self.launch.threads // self.kernel.wave_size),
            dynamic_lds=self.launch.dynamic_lds,
            workgroups=self.launch.workgroups,
            footprint=sum(len(o.data) for o in self.launch.operands),
        )

    def _meta(
        self,
        table: tables.ArchTable,
        result: FunctionalResult,
        modelled: int,
        waves_per_wg: int,
        model: dict[str, Any],
    ) -> dict[str, Any]:
        total = self.launch.workgroups * waves_per_wg
        unit = sampling.unit_name(table)
        return {
            "provenance": Provenance.MODELLED.value,
            "backend": self.name,
            "arch": self.co.arch,
            "generation": table.generation,
            "wave_size": self.kernel.wave_size,
            "kernel": {
                "name": self.kernel.name,
                "symbol": self.kernel.symbol,
                "entry": self.kernel.entry,
                "size": self.kernel.size,
                "sha256": self.co.sha256,
                "target_id": self.co.target_id,
            },
            "launch": self.launch.describe(),
            "verification": self.verification.to_dict(),
            "model": model,
            "coverage": {
                "text": f"modelled on one {unit}: waves {modelled} of {total}",
                "unit": unit,
                "units": sampling.units(table),
                "waves_modelled": modelled,
                "waves_total": total,
                "workgroups_run": self.selection.count,
                "workgroups_total": self.selection.total,
                "instructions_executed": result.instructions,
                # fallbacks: wave-instructions that the NumPy reference did for the fast executor
                "executor": result.executor,
                "fallbacks": result.fallbacks,
            },
        }

    def _warnings(self) -> list[Warning_]:
        out = []
        if self.selection.count < self.selection.total:
            ran, total = self.selection.count, self.selection.total
            text = f"{ran} of {total} workgroups ran; the rest of the output is unchecked"
            out.append(Warning_("sampled", text, ran, "workgroups"))
        if self.verification.verified is False:
            out.append(Warning_("not_verified", f"the output is wrong: {self.verification.message}"))
        return out


def _code_table(listing: Listing, traces: Sequence[WorkgroupTrace]) -> Any:
    """The code table: every line of the listing but the padding after the last real instruction."""
    from isaprof.backends.frames import CodeLine, code_frame

    end = len(listing.instructions)
    executed = max((int(w.lines.max()) for t in traces for w in t.waves if w.lines.size), default=0)
    while end > executed + 1 and listing.instructions[end - 1].base in _PADDING:
        end -= 1
    rows = [
        CodeLine(
            1, i, i.size, listing.labels.get(i.pc), None, b"".join(w.to_bytes(4, "little") for w in i.words)
        )
        for i in listing.instructions[:end]
    ]
    return code_frame(rows)


#: what assemblers fill the end of a text section with
_PADDING = frozenset({"s_code_end", "s_nop", ".long"})

__all__ = ["MAX_INSTRUCTIONS", "Simulator"]
