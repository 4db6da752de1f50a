"""Why a rocprofv3 output directory holds no trace, as far as its other files tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from isaprof.backends import environment
from isaprof.errors import BadInput
from isaprof.parsers.rocprof_dir import RocprofDirectory

#: names of files that may hold what rocprofv3 printed, and how much of one is read
_LOGS = ("*.log", "*.txt", "*.err", "log*", "*/*.log", "*/*.txt")
_MAX_LOG = 1 << 20
_MAX_LOGS = 50

_RECORD = "rocprofv3 --att -d DIR -- APP"
_UPDATE = (
    "apt-get install --only-upgrade -y rocprofiler-sdk hsa-amd-aqlprofile   from ROCm 7.0 or newer, "
    "then record again"
)


@dataclass(frozen=True, slots=True)
class Printed:
    """Something rocprofv3 says when it cannot trace."""

    text: str  #: what it prints
    kind: str
    message: str
    fix: str


PRINTED = (
    Printed(
        "unrecognized arguments: --att", "rocprofv3_too_old",
        "this rocprofv3 is too old for --att (ROCm 7.0 or newer has it)",
        "apt-get install --only-upgrade -y rocprofiler-sdk   from ROCm 7.0 or newer",
    ),
    Printed(
        "INVALID_SHADER_DATA", "invalid_shader_data",
        "AMD's decoder refused the trace (INVALID_SHADER_DATA): aqlprofile and decoder do not fit together",
        _UPDATE,
    ),
    Printed(
        "trace-decoder library path not found", "decoder_missing",
        "rocprofv3 found no trace decoder library",
        "isaprof doctor --backend rocprofv3",
    ),
    Printed(
        "thread trace context not present", "device_mode",
        "rocprofv3 traced in device mode, which records no single dispatch",
        "rocprofv3 --att --kernel-include-regex NAME -d DIR -- APP   without --att-consecutive-kernels",
    ),
    Printed("Agent not supported", "agent_not_supported", "rocprofv3 cannot trace this GPU", _UPDATE),
    Printed(
        "Thread trace buffer full", "buffer_full",
        "the trace buffer was full: the end of the kernel is missing",
        "rocprofv3 --att --att-buffer-size 1073741824 -d DIR -- APP   or fewer engines",
    ),
)  # fmt: skip


def printed(folder: Path) -> Iterator[tuple[Path, Printed]]:
    """Known messages in the text files of a folder: what rocprofv3 printed, if somebody kept it."""
    seen: set[str] = set()
    logs = sorted({p for pattern in _LOGS for p in folder.glob(pattern) if p.is_file()})
    for path in logs[:_MAX_LOGS]:
        try:
            with path.open("rb") as f:
                text = f.read(_MAX_LOG).decode("utf-8", "replace")
        except OSError:
            continue
        for p in PRINTED:
            if p.text in text and p.kind not in seen:
                seen.add(p.kind)
                yield path, p


def absent(found: RocprofDirectory) -> BadInput | None:
    """The diagnosis for a directory without any trace; None where nothing in it is rocprofv3's."""
    for path, p in printed(found.path):
        return BadInput(
            f"{p.message} ({path.name} says {p.text!r})", path=found.path, kind=p.kind, hint=p.fix
        )
    if found.device_traces or found.objects:
        what = (
            f"{found.device_traces[0].name} belongs to no dispatch"
            if found.device_traces
            else "code objects, but no .att file"
        )
        device = next(p for p in PRINTED if p.kind == "device_mode")
        message = f"{what}: {device.message} (--att-consecutive-kernels selects that)"
        return BadInput(message, path=found.path, kind=device.kind, hint=device.fix)
    if not found.tables:
        return None
    here = environment.find_rocprofv3()
    if here is not None and not environment.rocprofv3_has_att(here):
        old = PRINTED[0]
        return BadInput(
            f"no thread trace; {old.message}: {here}", path=found.path, kind=old.kind, hint=old.fix
        )
    return BadInput(
        "rocprofv3's tables, but no thread trace: it ran without --att, or is too old for it",
        path=found.path,
        kind="no_thread_trace",
        hint=f"{_RECORD}   (ROCm 7.0 or newer)",
    )
