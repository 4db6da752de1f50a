"""What the backends write is what the schema documents, and save accepts it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from isaprof.backends.protocol import RawCapture
from isaprof.capture import save
from isaprof.capture.manifest import FIELDS


def check(raw: RawCapture, path: Path) -> None:
    meta = {**raw.meta, "warnings": [asdict(w) for w in raw.warnings]}
    capture = save(path, meta, raw.tables, raw.code_objects)
    assert set(capture.meta) <= {f.name for f in FIELDS}
    for name, frame in raw.tables.items():
        assert len(capture.table(name)) == len(frame)


@pytest.mark.parametrize(
    "folder", ["sqtt/gfx1100/gemm_run0", "sqtt/gfx950/gemm_run0", "att/wave_gemm_gfx950"]
)
def test_recorded_traces(data_dir: Path, tmp_path: Path, folder: str) -> None:
    from isaprof.backends.recorded import RecordedTrace

    check(RecordedTrace(data_dir / folder).capture(), tmp_path / "a.isaprof")


def test_the_simulator(samples_dir: Path, tmp_path: Path) -> None:
    from isaprof.backends.simulator import Simulator
    from isaprof.codeobj.elf import CodeObject
    from isaprof.isa.llvm import assemble, find_tools, link
    from isaprof.launch.match import find

    source = samples_dir / "gemm_rdna35/gemm_rdna35.s"
    tools = find_tools("gfx1151")
    data = link([assemble(source.read_text(), "gfx1151", tools=tools)], tools=tools)
    co = CodeObject.from_bytes(data)
    kernel = co.kernel(None)
    launch = find(kernel, co, source, source.with_suffix(".launch.toml")).resolve("64,64,32")
    check(Simulator(co, data, kernel, launch).capture(), tmp_path / "a.isaprof")
