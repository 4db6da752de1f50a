"""1 GB of wave JSON is imported in less than 1 GB of memory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import isaprof
from tests.backends import own_recordings as own

GB = 1 << 30
#: sizes of the wave files, bytes, and their number
SHAPES = {"8 large files": (GB // 8, 8), "4096 small files": (GB // 4096, 4096)}
IMPORT = """
import sys
from isaprof.cli import main
try:
    main(["import", sys.argv[1], "-o", sys.argv[2], "--arch", "gfx942"])
except SystemExit as e:
    assert not e.code, e.code
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


@pytest.fixture
def scratch() -> Iterator[Path]:
    """On a disk: where /tmp is memory, 1 GB there would count."""
    path = Path(tempfile.mkdtemp(prefix="isaprof-memory-", dir="/var/tmp"))
    yield path
    shutil.rmtree(path)


def recording(folder: Path, size: int, files: int) -> int:
    """A ui_output directory of waves that repeat one another; the number of instructions."""
    ui = own.ui_output(folder, traced=True)
    for path in ui.glob("se*_wv*.json"):
        path.unlink()
    (ui / "occupancy.json").unlink()
    rows = ",".join(f"[{1_000_000 + 24 * k},6,{k % 5 * 4},{k % 5 * 4 + 4},{k % 5 + 1}]" for k in range(1000))
    states = ",".join(f"[{k % 4 + 1},{k % 9 + 4}]" for k in range(1000))
    waits = ",".join(f"[2,[[{k % 5 + 1},0],[1,0]]]" for k in range(300))
    n = max(1, round(0.72 * size / len(rows)))
    head = '{"name":"SE0","wave":{"begin":0,"cu":1,"end":9000000,"id":0,"instructions":['
    parts = (
        head, ",".join([rows] * n), '],"simd":0,"slot":0,"timeline":[',
        ",".join([states] * round(0.2 * size / len(states))), '],"waitcnt":[',
        ",".join([waits] * round(0.08 * size / len(waits))), "]}}",
    )  # fmt: skip
    text = "".join(parts)
    tree: dict[str, dict[str, dict[str, dict[str, list[object]]]]] = {}
    for i in range(files):
        se, simd, slot, number = i % 32, i // 32 % 4, i // 128 % 8, i // 1024
        name = f"se{se}_sm{simd}_sl{slot}_wv{number}.json"
        (ui / name).write_text(text)
        slots = tree.setdefault(str(se), {}).setdefault(str(simd), {}).setdefault(str(slot), {})
        slots[str(number)] = [name, 0, 9_000_000]
    names = json.loads((ui / "filenames.json").read_text())
    (ui / "filenames.json").write_text(json.dumps({**names, "wave_filenames": tree}))
    assert sum(p.stat().st_size for p in ui.iterdir()) > 0.97 * size * files
    return 1000 * n * files


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc: the peak is not known")
@pytest.mark.parametrize("shape", SHAPES)
def test_one_gigabyte(scratch: Path, shape: str) -> None:
    instructions = recording(scratch, *SHAPES[shape])
    out = scratch / "x.isaprof"
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, scratch, out], capture_output=True, text=True, check=True, timeout=900
    )
    peak = int(done.stdout.split()[-1]) * 1024
    print(f"{shape}: VmHWM {peak / 1e6:.0f} MB")
    assert isaprof.open(out).meta["tables"]["insts"]["rows"] == instructions
    assert peak < GB
