"""A rocprofv3 ``--att`` output directory (raw .att files, ui_output_*, or both) as a recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

from isaprof import arch as targets
from isaprof.backends import amd_decoder
from isaprof.backends.dispatch_counters import choose_counters
from isaprof.backends.protocol import Progress, RawCapture, no_progress
from isaprof.backends.recorded import DispatchInfo, decode_all
from isaprof.backends.rocprof_totals import assemble_totals, old_decoder
from isaprof.backends.rocprof_ui import assemble_ui, generation_names
from isaprof.backends.sqtt import LoadedCode, Recording, assemble, check_generation, wave_stats
from isaprof.capture.model import Warning_
from isaprof.codeobj.elf import CodeObject
from isaprof.errors import BadInput, UsageError
from isaprof.parsers.jsonfile import load_json
from isaprof.parsers.pmc import read_counter_csv
from isaprof.parsers.rocpd import read_rocpd
from isaprof.parsers.rocprof_dir import ATT, Dispatch, RocprofDirectory
from isaprof.parsers.rocprof_runs import Runs, read_results, read_tables
from isaprof.parsers.sqtt.records import EngineTrace, LoadedObject
from isaprof.parsers.stats_csv import read_stats
from isaprof.parsers.trace_folder import read_bytes
from isaprof.parsers.ui_output import CodeRow, read_ui_output
from isaprof.parsers.untraced import populated, retarget, widen

#: mnemonics that exist only in one target of a family: evidence where nothing names the target
_EVIDENCE: dict[str, tuple[str, ...]] = {
    "gfx950": (
        "v_mfma_f32_16x16x32_bf16", "v_mfma_f32_16x16x32_f16", "v_mfma_f32_32x32x16_", "v_mfma_scale_",
        "v_mfma_i32_16x16x64_i8", "v_mfma_i32_32x32x32_i8", "v_cvt_scalef32_", "v_permlane16_swap",
        "v_permlane32_swap", "v_prng_b32", "v_bitop3_", "ds_read_b64_tr_", "ds_read_b96_tr_",
    ),
}  # fmt: skip
#: the target taken for a family without evidence (with a warning)
_DEFAULT = {"gfx9": "gfx942", "gfx11": "gfx1100", "gfx12": "gfx1200"}


class RocprofRecording:
    """Dispatches of one output directory."""

    def __init__(self, path: Path, found: RocprofDirectory) -> None:
        self.path = path
        self.found = found
        self.notes: list[Warning_] = []  #: files beside the traces that could not be read

    @property
    def dispatches(self) -> tuple[DispatchInfo, ...]:
        return tuple(DispatchInfo(d.number, self._kernel(d), self._waves(d)) for d in self.found.dispatches)

    def _kernel(self, d: Dispatch) -> str | None:
        """Kernel name from code.json's first label, else from the kernel trace table."""
        if d.ui is not None:
            try:
                rows = load_json(d.ui / "code.json")["code"]
                return next(str(r[0]).lstrip("; ") for r in rows if str(r[0]).startswith(";"))
            except (BadInput, KeyError, TypeError, IndexError, StopIteration):
                pass
        names = {r.kernel for r in self.runs.of(d.number, d.agent)} - {None}
        if len(names) == 1:
            return names.pop()
        if d.stats is not None and not d.att:
            try:
                return next((r.label for r in read_stats(d.stats) if r.label), None)
            except BadInput:
                pass
        return None

    def _waves(self, d: Dispatch) -> int | None:
        if d.ui is None:
            return None
        return sum(1 for p in d.ui.glob("se*_sm*_sl*_wv*.json"))

    def read(
        self, number: int, *, decoder: str = "auto", arch: str | None = None, progress: Progress = no_progress
    ) -> RawCapture:
        """Read dispatch ``number``: AMD's decode where it is there, unless ``decoder`` says otherwise."""
        same = [d for d in self.found.dispatches if d.number == number]
        if len(same) > 1:
            agents = ", ".join(str(d.agent) for d in same)
            raise BadInput(
                f"dispatch {number} exists for the agents {agents}",
                path=self.path,
                kind="several_agents",
                hint=f"isaprof import {quote(str(same[0].ui or self.path))}",
            )
        d = same[0]
        decoded = d.ui is not None or d.stats is not None
        use_ui = d.ui is not None or not d.att if decoder == "auto" else decoder == "ui"
        if use_ui and not decoded:
            raise UsageError(
                f"dispatch {number} has neither a ui_output directory nor a stats file",
                path=self.path,
                hint=f"isaprof import {quote(str(self.path))} --dispatch {number} --decoder isaprof",
            )
        if not use_ui and not d.att:
            raise UsageError(
                f"dispatch {number} has no raw .att files",
                path=self.path,
                hint=f"isaprof import {quote(str(self.path))} --dispatch {number} --decoder ui",
            )
        if not use_ui:
            raw = self._read_raw(d, arch, progress, decoder)
        else:
            raw = self._read_ui(d, arch, progress) if d.ui is not None else self._read_stats(d, arch)
        return self._with_counters(raw, d)

    def _with_counters(self, raw: RawCapture, d: Dispatch) -> RawCapture:
        """Counters of the whole dispatch that lie beside the trace."""
        names = {r.kernel for r in self.runs.of(d.number, d.agent)} | {raw.meta["kernel"]["name"]}
        found, warnings = choose_counters(self.runs.counted, d.number, {n for n in names if n})
        if found is not None:
            raw.meta["dispatch_counters"] = found
        raw.warnings.extend(warnings)
        return raw

    # -- AMD's decode -------------------------------------------------------
    def _read_ui(self, d: Dispatch, arch: str | None, progress: Progress) -> RawCapture:
        assert d.ui is not None
        try:
            ui = read_ui_output(d.ui, lambda n, total: progress(n, total, "reading wave files"))
        except BadInput as e:
            raise self._with_raw_hint(e, d) if e.kind == "code_null" else e from None
        objects = self._objects(ui.code)
        target, warnings = self._target(arch, objects, ui.code, generation_names(ui), ui.path)
        launch = self._launch(d)
        return assemble_ui(
            ui, target, objects,
            dispatch=self._dispatch(d), launch=launch, device=self._device(target),
            warnings=[*warnings, *old_decoder(ui), *self.notes], progress=progress,
        )  # fmt: skip

    def _with_raw_hint(self, e: BadInput, d: Dispatch) -> BadInput:
        """The same, with what can be done here about an empty ui_output."""
        command = f"isaprof import {quote(str(self.path))} --dispatch {d.number} --decoder isaprof"
        hint = f"{command}   reads the raw .att files"
        if not d.att:
            hint = (
                "rocprofv3 --att -d DIR -- APP   again, and keep the .att files: isaprof decodes them itself"
            )
        return BadInput(e.message, path=e.path, kind=e.kind, hint=hint)

    def _read_stats(self, d: Dispatch, arch: str | None) -> RawCapture:
        """The totals alone: code and sums, no wave and no record."""
        assert d.stats is not None
        code = read_stats(d.stats)
        objects = self._objects(code)
        target, warnings = self._target(arch, objects, code, (), d.stats)
        launch = self._launch(d)
        return assemble_totals(
            code, target, objects,
            dispatch=self._dispatch(d), launch=launch, device=self._device(target),
            warnings=[*warnings, *self.notes],
        )  # fmt: skip

    def _objects(self, code: Sequence[CodeRow]) -> list[LoadedCode]:
        """The code object files that hold the code."""
        ids = {r.codeobj for r in code}
        return [self._load(i) for i in sorted(ids & set(self.found.objects))]

    def _target(
        self,
        arch: str | None,
        objects: Sequence[LoadedCode],
        code: Sequence[CodeRow],
        generations: tuple[str, ...],
        path: Path,
    ) -> tuple[str, list[Warning_]]:
        """The GPU target, and a warning where nothing names it. ``generations``: the possible ones."""
        target = arch or next((o.co.arch for o in objects), None) or self._named(generations)
        if target is not None:
            return target, []
        target = _guess(code, generations)
        if not target:
            what = "nothing names the GPU target" + (
                f" of this {generations[0]} trace" if generations else ""
            )
            hint = f"isaprof import {quote(str(path))} --arch gfx1030   (your target)"
            raise BadInput(what, path=path, kind="arch_unknown", hint=hint)
        message = f"nothing names the GPU target, {target} is taken (see --arch)"
        return target, [Warning_("arch_assumed", message)]

    def _named(self, generations: tuple[str, ...]) -> str | None:
        """Target from the code object file names or the agent table, if it is one of this generation."""
        names = self.found.archs or {str(d.get("name")) for d in self.runs.devices}
        fitting = {n for n in names if (g := _generation(n)) and (not generations or g in generations)}
        return fitting.pop() if len(fitting) == 1 else None

    # -- raw traces ---------------------------------------------------------
    def _read_raw(self, d: Dispatch, arch: str | None, progress: Progress, decoder: str) -> RawCapture:
        warnings: list[Warning_] = []
        buffers = sorted(d.att.items())
        if decoder == "rocprof":
            return self._read_amd(d, arch, progress)
        try:
            engines = decode_all(buffers, warnings, progress)
        except BadInput as e:
            raise self._no_trace(e) if e.kind == "bad_header" else e from None
        loaded: dict[int, LoadedObject] = {o.id: o for t in engines.values() for o in t.objects}
        objects: list[LoadedCode] = []
        for ident in sorted(self.found.objects):
            o = self._load(ident)
            o.base = loaded[ident].address if ident in loaded else self.runs.bases.get(ident)
            objects.append(o)
        if not objects:
            raise self._no_objects()
        home = next((o for o in objects if o.base is not None), objects[0])
        for se, trace in engines.items():
            check_generation(trace, str(d.att[se]), home.co.arch, self.found.objects[home.id].name)
        rec = Recording(
            engines, objects, arch or home.co.arch, str(self.path),
            dispatch=self._dispatch(d), launch=self._launch(d), device=self._device(home.co.arch),
            warnings=warnings,
        )  # fmt: skip
        rec.warnings.extend(self.notes)
        rec.warnings.extend(self._missing(d))
        stats = wave_stats(rec)
        if not stats.total:
            raise self._no_waves(engines)
        if not (stats.traced or stats.on_target):
            units: Counter[tuple[int, int]] = Counter()
            for (se, cu, _), n in stats.where.items():
                units[se, cu] += n
            unit = next(iter(engines.values())).header
            raise BadInput(
                f"no wave ran on the target, {unit.unit} {unit.target_cu} (harvested, or never populated); "
                + populated(units),
                path=self.path,
                kind="target_cu_empty",
                hint=retarget(units),
            )
        return assemble(rec, progress)

    def _read_amd(self, d: Dispatch, arch: str | None, progress: Progress) -> RawCapture:
        """The raw files by AMD's own library."""
        amd_decoder.require(self.path)
        warnings: list[Warning_] = []
        objects = [self._load(i) for i in sorted(self.found.objects)]
        if not objects:
            raise self._no_objects()
        for o in objects:
            o.base = self.runs.bases.get(o.id)
        target = arch or objects[0].co.arch
        ui = amd_decoder.decode(self.path, sorted(d.att.items()), objects, target, warnings, progress)
        return assemble_ui(
            ui, target, objects,
            dispatch=self._dispatch(d), launch=self._launch(d), device=self._device(target),
            warnings=[*warnings, *self.notes], backend="rocprof-trace-decoder", progress=progress,
        )  # fmt: skip

    def _no_objects(self) -> BadInput:
        return BadInput(
            "no code object file (*_code_object_id_<id>.out) beside the .att files",
            path=self.path,
            kind="no_code_object",
            hint="copy the whole rocprofv3 output directory",
        )

    def _missing(self, d: Dispatch) -> Iterator[Warning_]:
        """Engines whose files results.json names, but that are not here."""
        for name in self.runs.att_files:
            m = ATT.match(name)
            if (
                m
                and int(m["dispatch"]) == d.number
                and int(m["agent"]) == d.agent
                and int(m["se"]) not in d.att
            ):
                se = int(m["se"])
                yield Warning_("missing_file", f"engine {se}: {name} was written, but is not here", se=se)

    def _no_waves(self, engines: Mapping[int, EngineTrace]) -> BadInput:
        numbers = sorted(engines)
        traced = f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else f"{numbers[0]}"
        return BadInput(
            f"no wave of any kernel ran on the traced shader engines ({traced})",
            path=self.path,
            kind="wrong_se_mask",
            hint=widen(),
        )

    @staticmethod
    def _no_trace(e: BadInput) -> BadInput:
        """What AMD's decoder calls INVALID_SHADER_DATA: its aqlprofile wrote no header that fits."""
        return BadInput(
            f"{e.message} (INVALID_SHADER_DATA: aqlprofile and trace decoder of different ROCm releases)",
            path=e.path,
            offset=e.offset,
            kind="invalid_shader_data",
            hint="apt-get install --only-upgrade -y rocprofiler-sdk hsa-amd-aqlprofile   "
            "from ROCm 7.0 or newer, then record again",
        )

    def _load(self, ident: int) -> LoadedCode:
        path = self.found.objects[ident]
        data = read_bytes(path, "code object")
        co = CodeObject.from_bytes(data, path=path)
        return LoadedCode(ident, data, co, path.name, None)

    # -- facts beside the trace ---------------------------------------------
    def _dispatch(self, d: Dispatch) -> dict[str, Any]:
        durations = {r.duration_us for r in self.runs.of(d.number, d.agent)} - {None}
        duration = durations.pop() if len(durations) == 1 else None
        return {"id": d.number, "agent": d.agent, "duration_us": duration}

    def _launch(self, d: Dispatch) -> dict[str, Any]:
        """Grid (workgroups) and workgroup, where those that tell it agree."""
        runs = self.runs.of(d.number, d.agent)
        shapes = {(r.grid, r.workgroup) for r in runs if r.grid is not None and r.workgroup is not None}
        if len(shapes) != 1:
            return {}
        ((grid, workgroup),) = shapes
        return {k: list(v) for k, v in (("grid", grid), ("workgroup", workgroup)) if v is not None}

    def _device(self, target: str) -> dict[str, Any]:
        return next((dict(d) for d in self.runs.devices if d.get("name") == target), {})

    @cached_property
    def runs(self) -> Runs:
        """Facts of the tables, results and database beside the traces, in this order."""
        tables = self.found.tables
        out = read_tables(tables.get("kernel_trace", ()), tables.get("agent_info", ()))
        for reader, table in ((read_results, "results"), (read_rocpd, "rocpd")):
            for path in tables.get(table, ()):
                try:
                    out.add(reader(path))
                except BadInput as e:
                    self.notes.append(Warning_("bad_results", f"{path.name}: {e.message}"))
        for path in tables.get("counters", ()):
            try:
                rows, wrong = read_counter_csv(path)
            except BadInput as e:
                out.wrong.append(f"{path.name}: {e.message}")
                continue
            out.counted.extend(rows)
            if wrong:
                out.wrong.append(f"{path.name}: {wrong}")
        self.notes.extend(Warning_("bad_counters", text) for text in out.wrong)
        return out


def _guess(code: Sequence[CodeRow], generations: tuple[str, ...]) -> str:
    """A target by the mnemonics only it has, else the usual one of the generation, else ""."""
    for target, mnemonics in _EVIDENCE.items():
        fits = not generations or targets.generation(target) in generations
        if fits and any(r.text.startswith(mnemonics) for r in code):
            return target
    return _DEFAULT.get(generations[0], "") if generations else ""


def _generation(name: str) -> str | None:
    try:
        return targets.generation(name)
    except BadInput:
        return None


__all__: Sequence[str] = ["RocprofRecording"]
