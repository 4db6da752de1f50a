"""Bad input to ``isaprof import``: one clear message, the next step, the exit code, nothing written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.backends.recorded import open_recording
from isaprof.errors import BadInput, IsaprofError

Run = Callable[..., tuple[int, str, str]]
UI = "ui_output_agent_32617_dispatch_3"


@pytest.fixture
def refused(run_import: Run, tmp_path: Path) -> Callable[..., str]:
    """Runs the import, which must fail with ``kind`` and ``code``, and gives its message."""

    def run(*arguments: object, kind: str, code: int = 3) -> str:
        exit_code, out, err = run_import(*arguments, "--json")
        assert (exit_code, err.count("isaprof: ")) == (code, 1), err
        error = json.loads(out)["error"]
        assert error["kind"] == kind, error
        assert error["hint"], error
        assert "Traceback" not in err
        assert list((tmp_path / "cwd").iterdir()) == []
        return str(error["message"])

    return run


@pytest.fixture
def folder(data_dir: Path, tmp_path: Path) -> Path:
    """A copy of a real trace folder, without oracle files."""
    out = tmp_path / "trace"
    shutil.copytree(
        data_dir / "sqtt" / "gfx1100" / "plus_run0", out, ignore=shutil.ignore_patterns("expected*")
    )
    return out


@pytest.fixture
def ui(data_dir: Path, tmp_path: Path) -> Path:
    out = tmp_path / UI
    shutil.copytree(data_dir / "att" / "wave_gemm_gfx950" / UI, out)
    return out


def edit(path: Path, change: Callable[[Any], Any]) -> None:
    path.chmod(0o644)
    body = json.loads(path.read_text())
    result = change(body)
    path.write_text(json.dumps(body if result is None else result))


def test_no_folder_empty_folder_no_trace(refused: Callable[..., str], tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no such file" in refused(tmp_path / "absent", kind="not_found").lower()
    assert "empty" in refused(empty, kind="empty_folder")
    (empty / "notes.txt").write_text("x")
    assert "notes.txt" in refused(empty, kind="no_trace")
    (empty / "se0.sqtt").write_bytes(b"x")
    assert "meta.json" in refused(empty, kind="no_meta")
    refused(empty / "se0.sqtt", kind="not_a_folder")


def test_another_generation_than_the_object(
    refused: Callable[..., str], folder: Path, data_dir: Path
) -> None:
    (folder / "kernel.co").unlink()
    shutil.copy(data_dir / "sqtt" / "gfx950" / "gemm_run0" / "kernel.co", folder)
    message = refused(folder, kind="arch_mismatch")
    assert "gfx950" in message
    assert "gfx1100" in message
    edit(folder / "meta.json", lambda m: m.update(arch="gfx950"))
    message = refused(folder, kind="arch_mismatch")
    assert "is a gfx11 trace" in message
    assert "gfx950 (gfx9)" in message


@pytest.mark.parametrize(("name", "what"), [("se1.sqtt", "engine 1"), ("kernel.co", "code object")])
def test_a_changed_file_is_said(run_import: Run, folder: Path, name: str, what: str) -> None:
    """One bit may change a measured figure without breaking the framing: the hash in meta.json tells."""
    path = folder / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)
    code, out, err = run_import(folder, "--json")
    assert code == 0
    assert f"{what}: {name} is not the file that was recorded" in err
    assert "changed" in {w["kind"] for w in json.loads(out)["captures"][0]["warnings"]}
    code, out, _ = run_import(folder, "--json", "--strict")
    assert code == 7
    assert json.loads(out)["error"]["kind"] == "data_loss"


def test_cut_last_packet_keeps_the_rest(run_import: Run, folder: Path, tmp_path: Path) -> None:
    path = folder / "se1.sqtt"
    data = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(data[:-3])
    code, out, err = run_import(folder, "--json")
    assert code == 0
    kinds = [w["kind"] for w in json.loads(out)["captures"][0]["warnings"]]
    assert set(kinds) == {"truncated"}
    assert "[truncated]" in err
    assert json.loads(out)["captures"][0]["instructions"] == 12
    shutil.rmtree(tmp_path / "cwd")
    (tmp_path / "cwd").mkdir()


def test_strict_refuses_any_loss(refused: Callable[..., str], folder: Path) -> None:
    path = folder / "se1.sqtt"
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-3])
    assert "ends inside a REG packet" in refused(folder, "--strict", kind="data_loss", code=7)


def test_strict_passes_clean_traces(run_import: Run, folder: Path) -> None:
    assert run_import(folder, "--strict")[0] == 0


def test_zero_and_random_buffers(refused: Callable[..., str], run_import: Run, folder: Path) -> None:
    """One bad engine is a warning; all bad is an error that says what is in them."""
    for n, path in enumerate(sorted(folder.glob("*.sqtt"))):
        path.chmod(0o644)
        path.write_bytes(bytes(4096) if n else b"\x5a" * 512)
    assert "not a thread trace" in refused(folder, kind="bad_header")
    for path in folder.glob("*.sqtt"):
        path.write_bytes(bytes(4096))
    assert "buffer of zeros (100%" in refused(folder, kind="zero_buffer")


def test_one_undecodable_engine(run_import: Run, folder: Path) -> None:
    path = folder / "se3.sqtt"
    path.chmod(0o644)
    size = path.stat().st_size
    path.write_bytes(b"\x5a" * size)
    code, out, _ = run_import(folder, "--json")
    assert code == 0
    changed, warning = json.loads(out)["captures"][0]["warnings"]
    assert (changed["kind"], changed["se"]) == ("changed", 3)
    assert (warning["kind"], warning["se"], warning["amount"]) == ("undecodable", 3, size)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda m: m.pop("arch"), "arch is missing"),
        (lambda m: m.update(arch=7), "arch must be a string"),
        (lambda m: m.update(arch="x86"), "x86"),
        (lambda m: m.update(programs={}), "programs must be a list"),
        (lambda m: m.update(programs=[]), "programs is empty"),
        (lambda m: m["programs"][0].pop("load_base"), "programs[0].load_base is missing"),
        (lambda m: m["programs"][0].update(load_base="1"), "programs[0].load_base must be an integer"),
        (lambda m: m["programs"][0].update(load_base=10**40), "programs[0].load_base"),
        (lambda m: m["programs"][0].update(file="../../etc/passwd"), "leaves the folder"),
        (lambda m: m["programs"][0].update(file="/etc/passwd"), "leaves the folder"),
        (lambda m: m["launches"][0].update(program=4), "no index of programs"),
        (lambda m: m["launches"][0].update(grid_workgroups=[1, 2]), "grid_workgroups"),
        (lambda m: m["launches"][0].update(grid_workgroups=[1, 0, 1]), "grid_workgroups"),
        (lambda m: m["launches"][0].update(duration_us="fast"), "duration_us"),
        (lambda m: m.update(traces=[]), "traces is empty"),
        (lambda m: m["traces"][0].update(se=-1), "traces[0].se"),
        (lambda m: m["traces"][0].update(se=1), "both engine 1"),
        (lambda m: m["traces"][0].update(se=True), "traces[0].se must be an integer"),
        (lambda m: m["traces"].append(3), "traces[6] must be an object"),
        (lambda m: [m], "must be an object"),
    ],
)
def test_bad_meta(refused: Callable[..., str], folder: Path, change: Callable[[Any], Any], key: str) -> None:
    def apply(m: Any) -> Any:
        result = change(m)
        return result if isinstance(result, list) else None

    edit(folder / "meta.json", apply)
    message = refused(folder, kind="bad_meta")
    assert key in message
    assert "meta.json" in message


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, '{"arch": ' + "9" * 5000 + "}", "\udcff\x00", "null"]
)
def test_meta_is_no_json(refused: Callable[..., str], folder: Path, text: str) -> None:
    (folder / "meta.json").chmod(0o644)
    (folder / "meta.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(folder, kind="bad_meta")


def test_missing_files(refused: Callable[..., str], folder: Path) -> None:
    (folder / "se2.sqtt").unlink()
    assert "se2.sqtt" in refused(folder, kind="missing_file")
    (folder / "kernel.co").unlink()
    assert "kernel.co" in refused(folder, kind="missing_file")


def test_code_object_is_something_else(run_import: Run, folder: Path) -> None:
    path = folder / "kernel.co"
    path.chmod(0o644)
    for data in (b"", b"MZ" + bytes(500), path.read_bytes()[:300]):
        path.write_bytes(data)
        code, out, err = run_import(folder)
        assert (code, out) == (3, "")
        assert "kernel.co" in err


def test_ui_output_faults(refused: Callable[..., str], ui: Path) -> None:
    """Each file of the directory, damaged one at a time."""
    wave = ui / "se0_sm0_sl0_wv0.json"

    def first(b: Any) -> Any:
        return b["wave_filenames"]["0"]["0"]["0"]

    cases: list[tuple[Path, Callable[[Any], Any], str, str]] = [
        (ui / "code.json", lambda b: b.update(code=None), "code_null", "null"),
        (ui / "code.json", lambda b: b.update(code={}), "bad_ui_output", "code must be a list"),
        (ui / "code.json", lambda b: b["code"].append(["x"]), "bad_ui_output", "10 columns"),
        (ui / "code.json", lambda b: b["code"][5].__setitem__(5, "x"), "bad_ui_output", "code[5][5]"),
        (ui / "code.json", lambda b: b["code"][5].__setitem__(5, 10**30), "bad_ui_output", "code[5][5]"),
        (ui / "code.json", lambda b: b["code"][5].__setitem__(2, 4), "bad_ui_output", "LineNumber"),
        (ui / "filenames.json", lambda b: b.update(gfxip="9"), "bad_ui_output", "gfxip"),
        (ui / "filenames.json", lambda b: b.update(wave_filenames=[]), "bad_ui_output", "wave_filenames"),
        (ui / "filenames.json", lambda b: b["wave_filenames"].update(x={}), "bad_ui_output", "no se number"),
        (ui / "filenames.json", lambda b: first(b).update({"0": ["../x", 0, 0]}), "bad_ui_output", "leaves"),
        (ui / "filenames.json", lambda b: first(b).update({"0": ["gone.json", 0, 0]}), "missing_file", "go"),
        (wave, lambda b: b["wave"].update(begin=None), "bad_ui_output", "wave.begin"),
        (wave, lambda b: b["wave"].update(end=0), "bad_ui_output", "before wave.begin"),
        *(
            (wave, lambda b, row=row: b["wave"].update(instructions=[row]), "bad_ui_output", word)
            for row, word in (
                ([1, 2], "wave.instructions"),
                ([1, 2, 3, 4, 5.5], "wave.instructions"),
                ([2**70, 2, 3, 4, 5], "wave.instructions"),
                ([1, 77, 0, 4, 5], "column 1"),
                ([1, 2, 0, 4, 99999], "99999"),
                ([1, 2, -4, 4, 5], "column 2"),
            )
        ),
        (wave, lambda b: b["wave"].update(timeline=[[9, 4]]), "bad_ui_output", "timeline"),
        (wave, lambda b: [b], "bad_ui_output", "must be an object"),
        (ui / "occupancy.json", lambda b: b.update({"0": [[1, 2]]}), "bad_ui_output", "rows of 6"),
        (ui / "occupancy.json", lambda b: b.update({"0": [[1, 2**40, 0, 0, 1, 1]]}), "bad_ui_output", "out"),
        (ui / "se0_perfcounter.json", lambda b: b.update(data=[[1] * 3]), "bad_ui_output", "rows of 7"),
    ]  # fmt: skip
    for path, change, kind, word in cases:
        before = path.read_bytes()
        edit(path, lambda b, change=change: r if isinstance(r := change(b), list) else None)
        assert word in refused(ui, kind=kind), (path.name, word)
        path.write_bytes(before)
    (ui / "filenames.json").unlink()
    assert "incomplete" in refused(ui, kind="missing_file")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_json_in_any_file(data: st.DataObject, ui: Path) -> None:
    """Whatever JSON stands in a file, the reader answers with a message or a capture."""
    name = data.draw(
        st.sampled_from(["code.json", "filenames.json", "occupancy.json", "se0_sm0_sl0_wv0.json"])
    )
    path = ui / name
    path.chmod(0o644)
    before = path.read_bytes()
    scalars = st.one_of(
        st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.text(max_size=4), st.floats()
    )
    anything = st.recursive(
        scalars,
        lambda x: st.one_of(st.lists(x, max_size=6), st.dictionaries(st.text(max_size=4), x, max_size=3)),
    )
    body = json.loads(before)
    target = body.get("wave", body)
    key = data.draw(st.sampled_from(sorted(target)))
    target[key] = data.draw(anything)
    path.write_text(json.dumps(body))
    try:
        open_recording(ui).read(3)
    except IsaprofError as e:
        assert e.message  # noqa: PT017
    finally:
        path.write_bytes(before)


def test_two_runs_in_one_tree(refused: Callable[..., str], ui: Path, tmp_path: Path) -> None:
    """The same dispatch number twice: nothing is guessed."""
    for run in ("a", "b"):
        shutil.copytree(ui, tmp_path / "runs" / run / UI)
    assert "two files for dispatch 3" in refused(tmp_path / "runs", kind="several_runs")


def test_wrong_arch_option(refused: Callable[..., str], run_import: Run, ui: Path) -> None:
    assert "gfxip 9" in refused(ui, "--arch", "gfx1100", kind="arch_mismatch")
    assert run_import(ui, "--arch", "potato")[0] == 3


def test_no_waves_and_no_hint_of_the_kernel(tmp_path: Path, data_dir: Path) -> None:
    """A raw directory whose trace never names a kernel cannot say what ran."""
    host = data_dir / "att" / "wave_gemm_gfx950" / "host"
    shutil.copy(host / "3785403_gfx950_code_object_id_3.out", tmp_path)
    header = (host / "3785403_32617_shader_engine_0_3.att").read_bytes()[:8]
    (tmp_path / "1_2_shader_engine_0_3.att").write_bytes(header + bytes(64))
    with pytest.raises(BadInput) as e:
        open_recording(tmp_path).read(3)
    assert e.value.kind == "wrong_se_mask"
