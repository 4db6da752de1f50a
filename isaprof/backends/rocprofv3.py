"""Runs a kernel on a GPU under rocprofv3's thread trace (ATT).

The options are those of ``rocprofv3 --att`` as AMD documents them
(rocprofiler-sdk, "Using thread trace"). What the traced process does is in
:mod:`isaprof.backends.hip_launcher`.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isaprof import arch as architectures
from isaprof.backends import environment, launch_spec
from isaprof.backends.protocol import Progress, RawCapture, no_progress
from isaprof.capture.model import Warning_
from isaprof.errors import EnvironmentProblem, UsageError

if TYPE_CHECKING:
    from isaprof.codeobj.elf import CodeObject, Kernel
    from isaprof.launch.resolve import ResolvedLaunch

#: --att-simd-select: gfx9 takes a mask of SIMDs, later generations the number of one SIMD
SIMD_SELECT = {"gfx9": 0xF, "gfx10": 0, "gfx11": 0, "gfx12": 0, "gfx1250": 0}

#: what rocprofv3 prints when it cannot trace -> what to do about it
_REMEDIES = (
    ("trace-decoder library path not found", "isaprof doctor --backend rocprofv3"),
    ("INVALID_SHADER_DATA", "update ROCm: its aqlprofile and trace decoder do not fit together"),
    ("Agent not supported", "isaprof doctor --backend rocprofv3"),
)


@dataclass(frozen=True, slots=True)
class AttOptions:
    """What is traced. Defaults are rocprofv3's own (ROCm 7.0)."""

    target_cu: int = 1  #: CU (gfx9) or WGP (gfx10 and later) with instruction detail
    simd_select: int | None = None  #: None: by generation, see :data:`SIMD_SELECT`
    shader_engine_mask: int = 0x1
    buffer_size: int = 0x1000_0000  #: bytes over all engines
    warmup: int = 1  #: untraced launches before the traced ones
    iterations: int = 1  #: traced launches
    timeout: float = 600.0  #: seconds for the whole run


class Rocprofv3:
    """The backend ``rocprofv3``: one kernel, one launch, traced on hardware.

    ``directory`` (a new one) receives the launcher spec, the buffers and
    rocprofv3's own output; nothing is written before :meth:`capture`.
    """

    name = "rocprofv3"

    def __init__(
        self,
        co: CodeObject,
        co_path: Path,
        kernel: Kernel,
        launch: ResolvedLaunch,
        directory: Path,
        options: AttOptions | None = None,
    ) -> None:
        self.co = co
        self.co_path = co_path
        self.kernel = kernel
        self.launch = launch
        self.directory = directory
        self.options = options or AttOptions()

    def spec(self) -> dict[str, Any]:
        """The launcher spec (JSON-able)."""
        return launch_spec.build(
            kernel=self.kernel.name,
            code_object=self.co_path,
            sha256=self.co.sha256,
            arch=self.co.arch,
            launch=self.launch,
            warmup=self.options.warmup,
            iterations=self.options.iterations,
        )

    def command(self) -> list[str]:
        """The full rocprofv3 command line."""
        o = self.options
        simd = SIMD_SELECT[architectures.generation(self.co.arch)] if o.simd_select is None else o.simd_select
        first = o.warmup + 1
        last = o.warmup + o.iterations
        library = environment.find_decoder()
        return [
            environment.find_rocprofv3() or "rocprofv3",
            "--att",
            *(("--att-library-path", str(library.parent)) if isinstance(library, Path) else ()),
            "--att-target-cu", str(o.target_cu),
            "--att-simd-select", hex(simd),
            "--att-shader-engine-mask", hex(o.shader_engine_mask),
            "--att-buffer-size", str(o.buffer_size),  # decimal: older releases take no hexadecimal here
            # names as the code object has them, so that the expression matches this kernel only
            "--mangled-kernels",
            "--kernel-include-regex", f"^{re.escape(self.kernel.name)}(\\.kd)?$",
            "--kernel-iteration-range", f"[{first}]" if first == last else f"[{first}-{last}]",
            "-d", str(self.directory / "rocprofv3"),
            "--", sys.executable, "-m", "isaprof.backends.hip_launcher", str(self.directory / "launch.json"),
        ]  # fmt: skip

    def describe(self) -> dict[str, Any]:
        """What ``--dry-run`` prints: spec and command, nothing executed or written."""
        command = self.command()
        return {
            "backend": self.name,
            "spec": self.spec(),
            "spec_path": str(self.directory / "launch.json"),
            "command": command,
            "shell": shlex.join(command),
        }

    def capture(self, progress: Progress = no_progress) -> RawCapture:
        """Trace on this machine's GPU and read the trace back.

        Raises EnvironmentProblem where something for that is missing or
        rocprofv3 fails.
        """
        environment.require_hardware()
        self._require_gpu()
        if self.directory.exists():
            hint = f"rm -r {self.directory}   or choose another name with -o"
            raise UsageError("already exists", path=self.directory, hint=hint)
        progress(0, 3, "writing the launch")
        self.directory.mkdir(parents=True)
        spec = self.spec()
        launch_spec.write_buffers(spec, self.launch, self.directory)
        (self.directory / "launch.json").write_text(json.dumps(spec, indent=1) + "\n", encoding="utf-8")
        progress(1, 3, "tracing")
        printed = run(self.command(), self.options.timeout)
        progress(2, 3, "reading the trace")
        raw = self._read()
        raw.meta["backend"] = self.name
        raw.meta["launch"] = self.launch.describe()
        raw.meta["verification"] = self.launch.verify(self.outputs(spec)).to_dict()
        if "Thread trace buffer full" in printed:
            text = "the trace buffer was full: more --att-buffer-size or fewer engines keep the rest"
            raw.warnings.append(Warning_("buffer_full", text))
        return raw

    def outputs(self, spec: dict[str, Any]) -> dict[str, bytes]:
        """What the last launch left in the buffers the kernel may write."""
        wanted = {b["name"]: b["output"] for b in spec["buffers"] if "output" in b}
        try:
            return {name: (self.directory / file).read_bytes() for name, file in wanted.items()}
        except OSError as e:
            raise EnvironmentProblem(f"the launcher wrote no output: {e}", kind="rocprofv3_failed") from e

    def _require_gpu(self) -> None:
        present = tuple(environment.gpu_targets())
        if self.co.arch not in present:
            raise EnvironmentProblem(
                f"the code object is for {self.co.arch}, this machine has {', '.join(present) or 'no GPU'}",
                path=self.co_path,
                hint="--backend simulator",
                kind="wrong_gpu",
            )

    def _read(self) -> RawCapture:
        """The trace of the last launch, by the reader of recorded traces."""
        from isaprof.backends.recorded import open_recording

        recording = open_recording(self.directory / "rocprofv3")
        return recording.read(recording.dispatches[-1].number, arch=self.co.arch)


def run(command: Sequence[str], timeout: float) -> str:
    """Run rocprofv3 and return what it printed; EnvironmentProblem with a remedy where it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        message = f"rocprofv3 was stopped after {timeout:g} s: the kernel may hang"
        raise EnvironmentProblem(message, hint="isaprof run on the simulator first", kind="timeout") from None
    except OSError as e:
        message = f"rocprofv3 could not be started: {e}"
        raise EnvironmentProblem(message, hint="isaprof doctor", kind="rocprofv3_failed") from e
    output = done.stdout + done.stderr
    known = [(text, remedy) for text, remedy in _REMEDIES if text in output]
    if done.returncode or known:
        tail = "\n".join(output.strip().splitlines()[-8:])
        hint = known[0][1] if known else "isaprof doctor --backend rocprofv3"
        message = f"rocprofv3 failed (exit {done.returncode}):\n{tail}"
        raise EnvironmentProblem(message, hint=hint, kind="rocprofv3_failed")
    return output
