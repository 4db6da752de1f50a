"""Launches one kernel on a GPU: ``python -m isaprof.backends.hip_launcher SPEC``.

The process that rocprofv3 traces. It follows HIP's documented module
interface (hipModuleLoadData, hipModuleLaunchKernel with a raw kernarg buffer
through HIP_LAUNCH_PARAM_BUFFER_POINTER/SIZE/END) by way of the PyPI package
``rocm-bindings-hip``. Every call of that package returns a tuple that starts
with the hipError_t.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from isaprof.backends.launch_spec import SCHEMA_NAME, SCHEMA_VERSION, kernarg
from isaprof.errors import BadInput, EnvironmentProblem, IsaprofError

#: hipMemcpyKind
_HOST_TO_DEVICE, _DEVICE_TO_HOST = 1, 2


class Device:
    """The few HIP calls needed, each checked; ``hip`` is the bindings module."""

    def __init__(self, hip: Any, index: int = 0) -> None:
        self._hip = hip
        self.call("hipInit", 0)
        self.call("hipSetDevice", index)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a HIP function; its output value (or None). Raises EnvironmentProblem."""
        try:
            error, *values = getattr(self._hip, name)(*arguments)
        except RuntimeError as e:  # the bindings load libamdhip64.so at the first call
            hint = "isaprof doctor --backend rocprofv3"
            raise EnvironmentProblem(f"{name}: {e}", hint=hint, kind="hip_missing") from e
        if int(error) != 0:
            message = f"{name} failed: {getattr(error, 'name', int(error))}"
            raise EnvironmentProblem(message, hint="isaprof doctor --backend rocprofv3", kind="hip_error")
        return values[0] if values else None

    def upload(self, pointer: Any, entry: Mapping[str, Any], directory: Path) -> None:
        """Put a buffer's initial bytes into device memory."""
        if "fill" in entry:
            self.call("hipMemset", pointer, entry["fill"], entry["size"])
        elif entry["size"]:
            data = checked(directory / entry["file"], entry["sha256"])
            self.call("hipMemcpy", pointer, bytearray(data), entry["size"], self._kind(_HOST_TO_DEVICE))

    def download(self, pointer: Any, size: int) -> bytes:
        data = bytearray(size)
        if size:
            self.call("hipMemcpy", data, pointer, size, self._kind(_DEVICE_TO_HOST))
        return bytes(data)

    def launch(self, function: Any, spec: Mapping[str, Any], arguments: bytes) -> None:
        """One launch, waited for, so that a fault belongs to it."""
        segment = ctypes.create_string_buffer(arguments, max(len(arguments), 1))
        size = ctypes.c_size_t(len(arguments))
        extra = (ctypes.c_void_p * 5)(
            self._hip.HIP_LAUNCH_PARAM_BUFFER_POINTER,
            ctypes.addressof(segment),
            self._hip.HIP_LAUNCH_PARAM_BUFFER_SIZE,
            ctypes.addressof(size),
            self._hip.HIP_LAUNCH_PARAM_END,
        )
        lds = spec["dynamic_lds"]
        self.call(
            "hipModuleLaunchKernel", function, *spec["grid"], *spec["workgroup"], lds, None, None, extra
        )
        self.call("hipDeviceSynchronize")

    def _kind(self, value: int) -> Any:
        return self._hip.hipMemcpyKind(value)


def run(spec: Mapping[str, Any], directory: Path, hip: Any) -> None:
    """Load, allocate, fill, launch warm-up + iterations times, write the outputs.

    Every buffer that the kernel may write is refilled before each launch, so
    that all launches do the same work. Paths in ``spec`` are relative to
    ``directory``.
    """
    code = checked(Path(spec["code_object"]["path"]), spec["code_object"]["sha256"])
    device = Device(hip)
    module = device.call("hipModuleLoadData", bytearray(code))
    pointers: dict[str, Any] = {}
    try:
        function = device.call("hipModuleGetFunction", module, spec["kernel"].encode())
        for entry in spec["buffers"]:
            pointers[entry["name"]] = device.call("hipMalloc", max(entry["size"], 1))
            device.upload(pointers[entry["name"]], entry, directory)
        arguments = kernarg(spec, {name: int(p) for name, p in pointers.items()})
        for i in range(spec["warmup"] + spec["iterations"]):
            for entry in spec["buffers"] if i else ():
                if entry["role"] != "input":
                    device.upload(pointers[entry["name"]], entry, directory)
            device.launch(function, spec, arguments)
        for entry in spec["buffers"]:
            if "output" in entry:
                data = device.download(pointers[entry["name"]], entry["size"])
                (directory / entry["output"]).write_bytes(data)
    finally:
        # after a fault every call fails: the first error is the one to report
        with contextlib.suppress(EnvironmentProblem):
            for pointer in pointers.values():
                device.call("hipFree", pointer)
            device.call("hipModuleUnload", module)


def checked(path: Path, sha256: str) -> bytes:
    """A file's bytes, if they are still the ones the spec was made for."""
    try:
        data = path.read_bytes()
    except OSError as e:
        raise BadInput(f"unreadable: {e.strerror or e}", path=path) from e
    if hashlib.sha256(data).hexdigest() != sha256:
        raise BadInput("has changed since the launcher spec was written", path=path, kind="changed")
    return data


def load(path: Path) -> dict[str, Any]:
    """The spec in ``path``; BadInput where it is none of this version."""
    try:
        spec = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise BadInput(f"unreadable launcher spec: {e}", path=path) from e
    if not isinstance(spec, dict) or spec.get("schema") != SCHEMA_NAME:
        raise BadInput(f'not a launcher spec (expected "schema": "{SCHEMA_NAME}")', path=path)
    version = spec.get("schema_version")
    if version != SCHEMA_VERSION:
        raise BadInput(f"launcher spec of version {version}, not {SCHEMA_VERSION}", path=path)
    return spec


def main(argv: list[str]) -> int:
    if len(argv) != 1:
        print("usage: python -m isaprof.backends.hip_launcher SPEC.json", file=sys.stderr)
        return 2
    try:
        spec = load(Path(argv[0]))
        try:
            from rocm.bindings import hip
        except ImportError as e:
            hint = f"{sys.executable} -m pip install rocm-bindings-hip"
            raise EnvironmentProblem(str(e), hint=hint, kind="hip_missing") from e
        run(spec, Path(argv[0]).parent, hip)
    except IsaprofError as e:
        print(f"hip_launcher: {e}", *([f"  try: {e.hint}"] if e.hint else []), sep="\n", file=sys.stderr)
        return int(e.exit_code)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
