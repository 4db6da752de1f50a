"""A trace folder with meta.json (docs/trace-folder.md) as a recording."""

from __future__ import annotations

import hashlib
from pathlib import Path
from shlex import quote
from typing import Any

from isaprof import arch as targets
from isaprof.backends import amd_decoder
from isaprof.backends.dispatch_counters import choose_counters
from isaprof.backends.protocol import Progress, RawCapture, no_progress
from isaprof.backends.recorded import DispatchInfo, decode_all
from isaprof.backends.rocprof_ui import assemble_ui
from isaprof.backends.sqtt import LoadedCode, Recording, assemble, check_generation
from isaprof.capture.model import Warning_
from isaprof.codeobj.elf import CodeObject
from isaprof.errors import BadInput, UsageError
from isaprof.parsers.pmc import Counted
from isaprof.parsers.trace_folder import META, Launch, Program, TraceFile, read_bytes, read_trace_folder

#: facts of the device that go into the capture, where meta.json has them as numbers or text
_MAX_DEVICE_KEYS = 64


class FolderRecording:
    """Launches of one trace folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = read_trace_folder(path)

    @property
    def dispatches(self) -> tuple[DispatchInfo, ...]:
        """Launches in numeric order. Waves are counted by decoding: folders are small."""
        return tuple(
            DispatchInfo(x.index, self.folder.program(x).name, self._waves(x))
            for x in sorted(self.folder.launches, key=lambda x: x.index)
        )

    def _waves(self, launch: Launch) -> int | None:
        if len(self.folder.launches) == 1 or not self._small():
            return None
        try:
            buffers = [(t.se, t.path) for t in self.folder.traces_of(launch)]
            engines = decode_all(buffers, [], no_progress)
        except BadInput:
            return None
        return sum(t.wave_count for t in engines.values())

    def _small(self) -> bool:
        try:
            return sum(t.path.stat().st_size for t in self.folder.traces) < 1 << 22
        except OSError:
            return False

    def read(
        self, number: int, *, decoder: str = "auto", arch: str | None = None, progress: Progress = no_progress
    ) -> RawCapture:
        """Decode launch ``number``."""
        raw = self._read(number, decoder, progress)
        launch = next(x for x in self.folder.launches if x.index == number)
        if launch.counters:
            counted = [Counted(number, None, name, value, META) for name, value in launch.counters]
            found, warnings = choose_counters(counted, number, ())
            raw.meta["dispatch_counters"] = found
            raw.warnings.extend(warnings)
        return raw

    def _read(self, number: int, decoder: str, progress: Progress) -> RawCapture:
        if decoder == "ui":
            raise UsageError(
                "--decoder ui reads ui_output directories; this is a folder of raw traces",
                path=self.path,
                hint=f"isaprof import {quote(str(self.path))}",
            )
        launch = next(x for x in self.folder.launches if x.index == number)
        traces = self.folder.traces_of(launch)
        if not traces:
            raise BadInput(f"launch {number} has no trace buffer", path=self.path, kind="no_trace")
        warnings = [w for t in traces for w in _damage(t)]
        warnings += [w for p in self.folder.programs for w in _changed(p.path, p.sha256, "code object")]
        objects = [self._load(p) for p in self.folder.programs]
        main = next(o for o in objects if o.id == launch.program)
        if decoder == "rocprof":
            ui = amd_decoder.decode(
                self.path, [(t.se, t.path) for t in traces], objects, main.co.arch, warnings, progress
            )
            return assemble_ui(
                ui, main.co.arch, objects,
                dispatch={"id": number, "duration_us": launch.duration_us},
                launch=_launch(launch), device=self._device(), warnings=warnings,
                backend="rocprof-trace-decoder", progress=progress,
            )  # fmt: skip
        engines = decode_all([(t.se, t.path) for t in traces], warnings, progress)
        files = {t.se: t.path for t in traces}
        for se, trace in engines.items():
            check_generation(trace, str(files[se]), main.co.arch, main.name)
        program = self.folder.program(launch)
        rec = Recording(
            engines,
            objects,
            main.co.arch,
            str(self.path),
            entry=self._entry(launch, program, main),
            dispatch={"id": number, "duration_us": launch.duration_us},
            launch=_launch(launch),
            device=self._device(),
            warnings=warnings,
        )
        return assemble(rec, progress)

    def _device(self) -> dict[str, Any]:
        return {
            str(k)[:64]: v
            for k, v in list(self.folder.device.items())[:_MAX_DEVICE_KEYS]
            if isinstance(v, int | float | str)
        }

    def _load(self, p: Program) -> LoadedCode:
        data = read_bytes(p.path, "code object")
        try:
            co = CodeObject.from_bytes(data, path=p.path)
        except BadInput as e:
            if e.kind != "arch_needed":
                raise
            # a minimal ELF file does not say its target: the device's own, else meta.json's
            co = CodeObject.from_bytes(data, path=p.path, arch=self._device_arch())
        if targets.generation(co.arch) != targets.generation(self.folder.arch):
            raise BadInput(
                f"is built for {co.arch} ({targets.generation(co.arch)}), but meta.json says the trace is of "
                f"{self.folder.arch} ({targets.generation(self.folder.arch)})",
                path=p.path,
                kind="arch_mismatch",
                hint="put the code object that ran, and the trace of the same run, into one folder",
            )
        return LoadedCode(p.index, data, co, p.name, p.load_base)

    def _device_arch(self) -> str:
        """Target from ``device.gfx_target_version`` (110501 = gfx1151) where it agrees with ``arch``."""
        version = self.folder.device.get("gfx_target_version")
        if isinstance(version, int) and not isinstance(version, bool) and 0 < version < 1 << 24:
            name = f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"
            wanted = targets.generation(self.folder.arch)
            if name in targets.known() and targets.generation(name) == wanted:
                return name
        return self.folder.arch

    @staticmethod
    def _entry(launch: Launch, program: Program, main: LoadedCode) -> int | None:
        if launch.entry is not None:
            return launch.entry
        if program.entry is not None:
            return program.load_base + program.entry
        kernels = main.co.kernels
        named = [k for k in kernels if k.name == program.name] or list(kernels if len(kernels) == 1 else ())
        return program.load_base + named[0].start if named else None


def _launch(launch: Launch) -> dict[str, Any]:
    """Grid and workgroup, as far as meta.json has them."""
    found = (("grid", launch.grid), ("workgroup", launch.workgroup))
    return {k: list(v) for k, v in found if v is not None}


def _damage(t: TraceFile) -> list[Warning_]:
    """A buffer that is shorter than meta.json says was cut after recording, another one was changed."""
    try:
        size = t.path.stat().st_size
    except OSError:
        return []
    if t.bytes is None or size >= t.bytes:
        return _changed(t.path, t.sha256, f"engine {t.se}", t.se)
    message = f"engine {t.se}: {t.path.name} has {size} bytes, meta.json says {t.bytes}"
    return [Warning_("truncated", message, t.bytes - size, "bytes", t.se)]


def _changed(path: Path, sha256: str | None, what: str, se: int | None = None) -> list[Warning_]:
    """A warning where the file's hash is not the one of the recording; a missing file is reported later."""
    try:
        if sha256 is None or not path.is_file():
            return []
        with path.open("rb") as f:
            if hashlib.file_digest(f, "sha256").hexdigest() == sha256.lower():
                return []
    except OSError:
        return []
    message = f"{what}: {path.name} is not the file that was recorded (its SHA-256 differs from meta.json's)"
    return [Warning_("changed", message, se=se)]
