"""What kernels use executes: a list of our own, the shared histograms, and the report that says so."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from isaprof.cli import main
from isaprof.sim import coverage

from .fast.differential import listing_from_texts
from .instruction_samples import SAMPLES
from .kernels import object_bytes

#: gfx1250: what no public description settles (layouts of 32-row and block-scaled WMMA, of its transposing
#: loads, scale formats held in registers); v_illegal and .long are padding
OPEN = {
    "ds_load_tr8_b64", "ds_load_tr16_b128", "v_wmma_f32_32x16x128_f4", "v_wmma_scale_f32_32x16x128_f4",
    "v_wmma_scale16_f32_32x16x128_f4", "v_wmma_scale_f32_16x16x128_f8f6f4", "v_wmma_ld_scale_paired_b32",
    "v_wmma_ld_scale16_paired_b64", "v_cvt_scale_pk8_bf16_fp8", "v_illegal", ".long",
}  # fmt: skip
FILES = {"gfx942": 728, "gfx950": 733, "gfx1250": 38}


def judged(arch: str) -> dict[str, tuple[str, str]]:
    texts = SAMPLES[arch]
    listing = listing_from_texts(arch, texts)
    judge = coverage.Judge(listing, arch, coverage.library())
    lanes = 64 if arch.startswith("gfx9") else 32
    return {i.mnemonic: judge.status(i, lanes) for i in listing.instructions}


@pytest.mark.parametrize("arch", SAMPLES)
def test_everything_on_the_list_executes(arch: str) -> None:
    missing = {m: why for m, (status, why) in judged(arch).items() if status == coverage.MISSING}
    assert missing.keys() <= OPEN, missing


def test_only_rare_instructions_are_left_to_numpy() -> None:
    """gfx942 and gfx950: modes, scalar stores, scaled conversions; nothing that inner loops live on."""
    for arch in ("gfx942", "gfx950"):
        slow = {m for m, (status, _) in judged(arch).items() if status == coverage.REFERENCE}
        allowed = ("s_", "v_cvt_scalef32_pk_bf16", "v_cvt_pk_f32_fp8_sdwa")
        assert not {m for m in slow if not m.startswith(allowed)}, slow


@pytest.mark.parametrize("arch", FILES)
def test_the_list_holds_what_the_histogram_of_real_kernels_names(data_dir: Path, arch: str) -> None:
    """Every mnemonic in at least 1 % of the files (gfx1250: all of them)."""
    table = data_dir.parent / "spec" / f"opcodes_{arch}.csv"
    if not table.is_file():
        pytest.skip(f"absent: opcodes_{arch}.csv")
    found = judged(arch)
    with table.open() as f:
        wanted = [r["mnemonic"] for r in csv.DictReader(f) if int(r["files"]) >= 0.01 * FILES[arch]]
    assert not set(wanted) - found.keys() - OPEN
    assert {m for m in wanted if found.get(m, ("", ""))[0] == coverage.MISSING} <= OPEN


@pytest.mark.parametrize(
    "arch", ["gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1100", "gfx1151", "gfx1200", "gfx1201"]
)
@pytest.mark.slow
def test_real_objects_execute_completely(data_dir: Path, arch: str) -> None:
    for path in sorted((data_dir / "co" / arch).rglob("*.co")):
        c = coverage.of_bytes(path.read_bytes(), str(path), coverage.library())
        assert c.count(coverage.MISSING) == 0, [g.as_json() for g in c.sorted_gaps()]
        assert c.instructions > 50


def object_file(folder: Path, body: str) -> Path:
    path = folder / "k.co"
    path.write_bytes(object_bytes("gfx1100", body))
    return path


def test_the_report_names_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = object_file(
        tmp_path, "v_mov_b32 v1, 0\n s_getreg_b32 s4, hwreg(HW_REG_STATUS)\n"
        " s_getreg_b32 s5, hwreg(HW_REG_STATUS)\n ds_permute_b32 v1, v2, v3\n s_endpgm",
    )  # fmt: skip
    with pytest.raises(SystemExit) as e:
        main(["sim", "coverage", str(path), "--json"])
    assert e.value.code == 1
    said = json.loads(capsys.readouterr().out)
    (one,) = said["objects"]
    assert said["schema_version"] == 1
    assert one["missing"] == said["total"]["missing"] == 2
    (gap,) = [g for g in one["gaps"] if g["status"] == "missing"]
    assert (gap["mnemonic"], gap["count"], gap["objects"]) == ("s_getreg_b32", 2, 1)
    assert "HW_REG_STATUS" in gap["why"]
    with pytest.raises(SystemExit) as e:
        main(["sim", "coverage", str(tmp_path)])
    assert e.value.code == 1
    text = capsys.readouterr().out
    assert "s_getreg_b32" in text
    assert "2 do not" in text


def test_an_object_that_executes_exits_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = object_file(tmp_path, "v_mov_b32 v1, 0\n s_endpgm")
    with pytest.raises(SystemExit) as e:
        main(["sim", "coverage", str(path)])
    assert e.value.code == 0
    assert "0 do not" in capsys.readouterr().out


def test_a_file_that_is_no_object_is_said_and_exits_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    object_file(tmp_path, "s_endpgm")
    bad = tmp_path / "bad.co"
    bad.write_bytes(b"\x7fELF" + bytes(80))
    with pytest.raises(SystemExit) as e:
        main(["sim", "coverage", str(tmp_path / "k.co"), str(bad)])
    assert e.value.code == 3
    assert "bad.co" in capsys.readouterr().out
