"""A rocprofv3 ``--att`` output directory (raw .att files, ui_output_*, or both) as a recording."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from isaprof import arch as targets
from isaprof.backends.protocol import Progress, RawCapture, no_progress
from isaprof.backends.recorded import DispatchInfo, decode_all
from isaprof.backends.rocprof_ui import assemble_ui, generation_name
from isaprof.backends.sqtt import LoadedCode, Recording, assemble, check_generation
from isaprof.capture.model import Warning_
from isaprof.codeobj.elf import CodeObject
from isaprof.errors import BadInput, UsageError
from isaprof.parsers.jsonfile import load_json
from isaprof.parsers.rocprof_dir import Dispatch, RocprofDirectory
from isaprof.parsers.sqtt.records import LoadedObject
from isaprof.parsers.trace_folder import read_bytes
from isaprof.parsers.ui_output import UiOutput, read_ui_output

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
_MAX_CSV_FIELD = 1 << 24
#: columns of the agent table that go into the capture
_DEVICE_KEYS = (
    "Name", "Product_Name", "Cu_Count", "Simd_Count", "Num_Xcc", "Max_Waves_Per_Simd", "Wave_Front_Size",
)  # fmt: skip


class RocprofRecording:
    """Dispatches of one output directory."""

    def __init__(self, path: Path, found: RocprofDirectory) -> None:
        self.path = path
        self.found = found

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
        names = {r["Kernel_Name"] for r in self._trace_rows(d) if r.get("Kernel_Name")}
        return names.pop() if len(names) == 1 else None

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
                hint=f"isaprof import {same[0].ui or self.path}",
            )
        d = same[0]
        use_ui = d.ui is not None if decoder == "auto" else decoder == "ui"
        if use_ui and d.ui is None:
            raise UsageError(
                f"dispatch {number} has no ui_output directory",
                path=self.path,
                hint=f"isaprof import {self.path} --dispatch {number} --decoder isaprof",
            )
        if not use_ui and not d.att:
            raise UsageError(
                f"dispatch {number} has no raw .att files",
                path=self.path,
                hint=f"isaprof import {self.path} --dispatch {number} --decoder ui",
            )
        return self._read_ui(d, arch, progress) if use_ui else self._read_raw(d, arch, progress)

    # -- AMD's decode -------------------------------------------------------
    def _read_ui(self, d: Dispatch, arch: str | None, progress: Progress) -> RawCapture:
        assert d.ui is not None
        ui = read_ui_output(d.ui, lambda n, total: progress(n, total, "reading wave files"))
        warnings: list[Warning_] = []
        ids = {r.codeobj for r in ui.code}
        objects = [o for o in map(self._load, sorted(ids & set(self.found.objects))) if o is not None]
        target = arch or next((o.co.arch for o in objects), None) or self._named(ui)
        if target is None:
            target = self._guess(ui)
            warnings.append(
                Warning_("arch_assumed", f"nothing names the GPU target, {target} is taken (see --arch)")
            )
        return assemble_ui(
            ui, target, objects,
            dispatch=self._dispatch(d), launch=self._launch(d), device=self._device(target),
            warnings=warnings, progress=progress,
        )  # fmt: skip

    def _named(self, ui: UiOutput) -> str | None:
        """Target from the code object file names or the agent table, if it is one of this generation."""
        names = self.found.archs or {n for r in self._agents() if (n := r.get("Name", "")).startswith("gfx")}
        fitting = {n for n in names if _generation(n) == generation_name(ui)}
        return fitting.pop() if len(fitting) == 1 else None

    def _guess(self, ui: UiOutput) -> str:
        for target, mnemonics in _EVIDENCE.items():
            if targets.generation(target) == generation_name(ui) and any(
                r.text.startswith(mnemonics) for r in ui.code
            ):
                return target
        target = _DEFAULT.get(generation_name(ui), "")
        if not target:
            raise BadInput(
                f"gfxip {ui.gfxip}, and nothing names the GPU target",
                path=ui.path,
                kind="arch_unknown",
                hint=f"isaprof import {ui.path} --arch gfx1030   (your target)",
            )
        return target

    # -- raw traces ---------------------------------------------------------
    def _read_raw(self, d: Dispatch, arch: str | None, progress: Progress) -> RawCapture:
        warnings: list[Warning_] = []
        buffers = sorted(d.att.items())
        engines = decode_all(buffers, warnings, progress)
        loaded: dict[int, LoadedObject] = {o.id: o for t in engines.values() for o in t.objects}
        objects: list[LoadedCode] = []
        for ident in sorted(self.found.objects):
            o = self._load(ident)
            if o is not None:
                o.base = loaded[ident].address if ident in loaded else None
                objects.append(o)
        if not objects:
            raise BadInput(
                "no code object file (*_code_object_id_<id>.out) beside the .att files",
                path=self.path,
                kind="no_code_object",
                hint="copy the whole rocprofv3 output directory",
            )
        home = next((o for o in objects if o.base is not None), objects[0])
        for se, trace in engines.items():
            check_generation(trace, str(d.att[se]), home.co.arch, self.found.objects[home.id].name)
        rec = Recording(
            engines, objects, arch or home.co.arch, str(self.path),
            dispatch=self._dispatch(d), launch=self._launch(d), device=self._device(home.co.arch),
            warnings=warnings,
        )  # fmt: skip
        return assemble(rec, progress)

    def _load(self, ident: int) -> LoadedCode | None:
        path = self.found.objects[ident]
        data = read_bytes(path, "code object")
        co = CodeObject.from_bytes(data, path=path)
        return LoadedCode(ident, data, co, path.name, None)

    # -- tables beside the trace -------------------------------------------
    def _dispatch(self, d: Dispatch) -> dict[str, Any]:
        rows = self._trace_rows(d)
        duration = None
        if len(rows) == 1:
            begin, end = (_int(rows[0].get(k)) for k in ("Start_Timestamp", "End_Timestamp"))
            duration = (
                (end - begin) / 1000 if begin is not None and end is not None and end >= begin else None
            )
        return {"id": d.number, "agent": d.agent, "duration_us": duration}

    def _launch(self, d: Dispatch) -> dict[str, Any]:
        """Grid (workgroups) and workgroup from the kernel trace table, where its rows agree."""
        shapes = set()
        for r in self._trace_rows(d):
            sizes = [_int(r.get(f"{what}_Size_{a}")) for what in ("Workgroup", "Grid") for a in "XYZ"]
            if all(s is not None and s > 0 for s in sizes):
                shapes.add(tuple(s or 0 for s in sizes))
        if len(shapes) != 1:
            return {}
        wx, wy, wz, gx, gy, gz = shapes.pop()
        return {"grid": [-(-gx // wx), -(-gy // wy), -(-gz // wz)], "workgroup": [wx, wy, wz]}

    def _trace_rows(self, d: Dispatch) -> list[dict[str, str]]:
        return [r for r in self._csv("kernel_trace") if r.get("Dispatch_Id") == str(d.number)]

    def _agents(self) -> Iterator[dict[str, str]]:
        return (r for r in self._csv("agent_info") if r.get("Agent_Type") == "GPU")

    def _device(self, target: str) -> dict[str, Any]:
        row = next((r for r in self._agents() if r.get("Name") == target), None)
        if row is None:
            return {}
        keys = (
            "Name",
            "Product_Name",
            "Cu_Count",
            "Simd_Count",
            "Num_Xcc",
            "Max_Waves_Per_Simd",
            "Wave_Front_Size",
        )
        return {
            k.lower(): _int(row[k]) if (row.get(k) or "").isdecimal() else row.get(k)
            for k in keys
            if row.get(k)
        }

    def _csv(self, table: str) -> Iterator[dict[str, str]]:
        """Rows of a table by column name; unreadable tables are as good as absent (they only add facts)."""
        csv.field_size_limit(_MAX_CSV_FIELD)
        for path in self.found.tables.get(table, ()):
            try:
                with path.open(newline="", encoding="utf-8", errors="replace") as f:
                    yield from csv.DictReader(f)
            except (OSError, csv.Error):
                continue


def _generation(name: str) -> str | None:
    try:
        return targets.generation(name)
    except BadInput:
        return None


def _int(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 19 else None


__all__: Sequence[str] = ["RocprofRecording"]
