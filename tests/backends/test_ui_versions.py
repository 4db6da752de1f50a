"""Newer layouts of the ui_output files (2026 writers), made from the real directory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from isaprof.backends.recorded import open_recording

UI = "ui_output_agent_32617_dispatch_3"


@pytest.fixture
def newer(data_dir: Path, tmp_path: Path) -> Path:
    """The real 3.0.0 directory rewritten with what version 3.1.0 adds."""
    out = tmp_path / UI
    shutil.copytree(data_dir / "att" / "wave_gemm_gfx950" / UI, out)
    for path in out.iterdir():
        path.chmod(0o644)

    def rewrite(name: str, **new: Any) -> None:
        body = json.loads((out / name).read_text())
        (out / name).write_text(json.dumps({**body, **new}))

    code = json.loads((out / "code.json").read_text())["code"]
    header = ["ISA", "_", "LineNumber", "Source", "Codeobj", "Vaddr", "Hit", "Latency", "Stall", "Idle"]
    rewrite(
        "code.json",
        version="3.1.0",
        header=[*header, "ServiceType", "Issued", "Stalled", "NotIssuedReasons"],
        code=[[*row[:3], "kernel.py:7 -> main.py:9", *row[4:], 0, 0, 0, []] for row in code],
    )
    occupancy = json.loads((out / "occupancy.json").read_text())
    wide = {k: [[*r, 1, 0, 0, 0, 0] for r in v] for k, v in occupancy.items() if k.isdecimal()}
    rewrite(
        "occupancy.json", **wide, dispatches={"0": "0 / 0x0", "41": "gemm_prefetch"}, events={"0": []},
        occupancy_fields=["time"],
    )  # fmt: skip
    for k in wide:
        for r in wide[k]:
            r[5] = 41
    rewrite("occupancy.json", **wide)
    (out / "realtime.json").write_text(
        json.dumps(
            {
                "metadata": {"frequency": 100_000_000},
                "SE0": [[6216, 305049399819673], [226312, 305049399830017]],
            }
        )
    )
    (out / "shaderdata_0_0.json").write_text(
        json.dumps({"type": "shaderdata", "records": [[41200, 7, 0, 1, 2, 0], [41300, 8, 0, 1, 2, 1]]})
    )
    rewrite(
        "filenames.json", version="3.1.0", thread_trace=True, other_simd_filenames=None,
        shaderdata_filenames={"0": [["shaderdata_0_0.json", 0, 50000]]},
    )  # fmt: skip
    for path in out.glob("se*_wv*.json"):
        body = json.loads(path.read_text())
        body["wave"].update(me_id=1, pipe_id=0, workgroup_id=3, info={"x_stall": 1})
        path.write_text(json.dumps(body))
    return out


def test_newer_layout_gives_the_same_waves(newer: Path, data_dir: Path) -> None:
    old = open_recording(data_dir / "att" / "wave_gemm_gfx950").read(3)
    new = open_recording(newer).read(3, arch="gfx950")
    for name in ("waves", "insts", "states", "counters"):
        assert new.tables[name].equals(old.tables[name]), name
    assert new.meta["decoder"] == {"name": "rocprof-trace-decoder", "version": "3.1.0"}
    assert new.meta["kernel"]["name"] == "gemm_prefetch"
    assert new.meta["kernels"] == [{"name": "gemm_prefetch", "codeobj": None, "entry": None}]
    assert (new.tables["occupancy"]["kernel"] == 0).all()
    assert (new.tables["code"]["source"] == "kernel.py:7 -> main.py:9").all()
    events = list(new.tables["events"].itertuples(index=False, name=None))
    assert events == [
        (0, 6216, "realtime", 305049399819673),
        (0, 226312, "realtime", 305049399830017),
        (0, 41200, "shaderdata", 7),
        (0, 41300, "shaderdata", 8),
    ]
    assert new.meta["realtime_hz"] == 100_000_000


def test_optional_files_may_be_absent(newer: Path) -> None:
    """Without occupancy and counters the traced waves remain, and nothing is invented."""
    for path in newer.glob("*perfcounter.json"):
        path.unlink()
    for name in ("occupancy.json", "realtime.json"):
        (newer / name).unlink()
    raw = open_recording(newer).read(3, arch="gfx950")
    assert not {"occupancy", "counters"} & set(raw.tables)
    assert len(raw.tables["waves"]) == 16
    assert raw.meta["coverage"]["waves_traced"] == 16
    assert raw.meta["kernel"]["name"] == "gemm_prefetch"
