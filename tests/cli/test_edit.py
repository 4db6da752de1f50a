"""``isaprof edit`` with editors that are small scripts."""

from __future__ import annotations

import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import isaprof
from isaprof import cli
from tests.ab import kernels as k

DIRECTORY = Path("a.edit")
SHAPE = ["--shape", "256", "--seeds", "1"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    k.write(tmp_path, a=k.SLOW)


def edit(*args: str | Path) -> int:
    with pytest.raises(SystemExit) as e:
        cli.main(["edit", "a.co", *map(str, args)])
    return int(e.value.code or 0)


def editor(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """An editor: Python statements with ``text`` (the file's) and ``path``; assigning ``text`` saves it."""
    program = Path("editor.py").absolute()
    program.write_text(
        "import os, pathlib, signal, sys\npath = pathlib.Path(sys.argv[-1])\ntext = old = path.read_text()\n"
        + script
        + "\nif text != old: path.write_text(text)\n"
    )
    monkeypatch.setenv("EDITOR", f"'{sys.executable}' '{program}' --flag")


FASTER = "text = text.replace('s_nop 15\\n', '', 1).replace('; step:', '; step: one nop less', 1)"
WRONG = "text = text.replace('v_add_f32', 'v_sub_f32')"
EARLY = "text = text.replace('vmcnt(0)', 'vmcnt(1)')"
BROKEN = "text = text.replace('s_endpgm', 's_endprogram')"


def ladder() -> dict:
    return json.loads((DIRECTORY / "ladder.json").read_text())


def files(pattern: str = "step-*.s") -> list[str]:
    return sorted(p.name for p in DIRECTORY.glob(pattern))


def test_an_attempt(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    editor(monkeypatch, FASTER)
    assert edit(*SHAPE) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == "a.edit/ladder.md"
    for said in ("one nop less", "verified", "faster", "modelled", "1 deleted", "outputs equal"):
        assert said in out, said
    first, second = ladder()["steps"]
    assert (first["step"], first["base"], first["status"], first["description"]) == (
        0,
        None,
        "verified",
        "original",
    )
    assert (second["base"], second["status"], second["description"]) == (0, "verified", "one nop less")
    assert second["cycles"] < first["cycles"]
    assert second["vs_previous"]["difference"] == second["cycles"] - first["cycles"]
    assert second["vs_previous"]["bitwise"] is True
    assert second["vs_previous"]["lines"] == {"deleted": 1}
    assert "one nop less" in (DIRECTORY / "ladder.md").read_text()
    assert (DIRECTORY / "step-00.co").read_bytes() == Path("a.co").read_bytes()
    for name in ("step-00.isaprof", "step-01.isaprof"):
        assert isaprof.open(DIRECTORY / name).meta["verification"]["verified"] is True


def test_steps_build_on_each_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    editor(monkeypatch, FASTER)
    assert edit(*SHAPE) == 0
    assert edit("--json") == 0, "shape and seeds are kept"
    lines = capsys.readouterr().out.splitlines()
    body = json.loads(lines[-1])
    assert body["schema_version"] == 1
    step = body["step"]
    assert (step["step"], step["base"], step["description"]) == (2, 1, "one nop less")
    assert step["vs_original"]["step"] == 0
    assert step["vs_original"]["difference"] < step["vs_previous"]["difference"] < 0
    assert edit("--from", "0") == 0
    assert ladder()["steps"][3]["base"] == 0
    assert (DIRECTORY / "step-03.s").read_text() == (DIRECTORY / "step-01.s").read_text()
    assert edit("--from", "9") == 2


def test_results_that_are_gone_are_computed_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import shutil

    editor(monkeypatch, FASTER)
    assert edit(*SHAPE) == 0
    (DIRECTORY / "step-00.outputs.npz").unlink()
    (DIRECTORY / "step-01.outputs.npz").write_bytes(b"PK damaged")
    shutil.rmtree(DIRECTORY / "step-01.isaprof")
    assert edit() == 0
    assert ladder()["steps"][2]["vs_original"]["bitwise"] is True
    assert files("*.isaprof") == ["step-00.isaprof", "step-01.isaprof", "step-02.isaprof"]


def test_no_editor_is_said_before_anything_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert edit(*SHAPE) == 6
    assert "EDITOR=vim isaprof edit" in capsys.readouterr().err
    assert not DIRECTORY.exists()


def test_visual_wins_and_a_bad_editor_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    editor(monkeypatch, FASTER)
    monkeypatch.setenv("VISUAL", "/no/such/editor -w")
    assert edit(*SHAPE) == 6
    assert "/no/such/editor" in capsys.readouterr().err
    monkeypatch.setenv("VISUAL", "vim 'unclosed")
    assert edit(*SHAPE) == 2
    monkeypatch.delenv("VISUAL")
    assert edit() == 0
    assert files() == ["step-00.s", "step-01.s"]


def test_unchanged_text_stops(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    editor(monkeypatch, "text = text.replace('; step:', '; step: only words', 1)")
    assert edit(*SHAPE) == 0
    assert "unchanged" in capsys.readouterr().err
    assert files("*.co") == ["step-00.co"]
    editor(monkeypatch, FASTER)
    assert edit() == 0
    assert [s["step"] for s in ladder()["steps"]] == [0, 1], "the step that was begun is used"


def test_what_does_not_assemble_is_kept_and_points_at_the_users_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    editor(monkeypatch, BROKEN)
    assert edit(*SHAPE) == 3
    error = capsys.readouterr().err
    text = (DIRECTORY / "step-01.s").read_text()
    line = next(n for n, x in enumerate(text.splitlines(), 1) if "s_endprogram" in x)
    assert f"a.edit/step-01.s:{line}:" in error
    assert ladder()["steps"][1]["status"] == "does not assemble"
    editor(monkeypatch, FASTER)
    assert edit() == 0
    assert "--from 1" in capsys.readouterr().err
    assert ladder()["steps"][2]["base"] == 0, "the last that assembled"
    assert (DIRECTORY / "step-01.s").read_text() == text
    editor(monkeypatch, "text = text.replace('s_endprogram', 's_endpgm').replace('s_nop 15', 's_nop 7')")
    assert edit("--from", "1") == 0
    assert ladder()["steps"][3]["status"] == "verified"


def test_a_wrong_step_exits_5_and_has_a_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    editor(monkeypatch, WRONG)
    assert edit(*SHAPE) == 5
    captured = capsys.readouterr()
    assert "step-01 is wrong" in captured.err
    row = ladder()["steps"][1]
    assert (row["status"], row["verified"]) == ("wrong", False)
    assert row["cosine"] < 0.5
    assert row["vs_original"]["agree"] is False


def test_a_step_that_lacks_a_wait_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    editor(monkeypatch, EARLY)
    assert edit(*SHAPE) == 5
    assert "step-01 lacks a wait" in capsys.readouterr().err
    row = ladder()["steps"][1]
    assert row["status"] == "wrong"
    assert row["vs_original"]["agree"] is False


def test_without_a_reference_the_original_is_the_judge(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.launch.toml").write_text(k.launch(reference=""))
    editor(monkeypatch, FASTER)
    assert edit(*SHAPE) == 0
    editor(monkeypatch, WRONG)
    assert edit() == 5
    assert [s["status"] for s in ladder()["steps"]] == ["no reference", "no reference", "wrong"]
    assert "step-02 differs from step-00 beyond the tolerance" in capsys.readouterr().err


def test_a_fault_exits_4_and_names_the_users_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = "global_store_dword v1, v4, s[8:9]"
    editor(monkeypatch, f"text = text.replace('{store}', 'v_mov_b32 v1, 0x7000000\\n\\t{store}')")
    assert edit(*SHAPE) == 4
    text = (DIRECTORY / "step-01.s").read_text()
    line = next(n for n, x in enumerate(text.splitlines(), 1) if store in x)
    error = capsys.readouterr().err
    assert f"a.edit/step-01.s:{line}" in error
    assert ladder()["steps"][1]["status"] == "fault"
    editor(
        monkeypatch,
        "text = text.replace('\\tv_mov_b32 v1, 0x7000000\\n', '').replace('v_mov_b32 v1, 0x7000000\\n', '')",
    )
    assert edit() == 0, "goes on from the step that assembled, although it faulted"
    assert ladder()["steps"][2]["base"] == 1


def test_another_kernarg_layout_is_rejected_with_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.s").write_text(k.source(k.BODY, args=4))
    assert edit("--step", "mine.s", *SHAPE) == 3
    assert "kernarg layout" in capsys.readouterr().err
    row = ladder()["steps"][1]
    assert (row["status"], row["cycles"]) == ("rejected", None)
    assert "rejected" in (DIRECTORY / "ladder.md").read_text()


def test_instructions_that_stand_as_words_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    # v_cmp_class_f64 on an odd register pair: LLVM prints it and does not take it back
    body = k.BODY.replace("s_endpgm", "s_endpgm\n .long 0x7c240d49")
    Path("a.co").write_bytes(k.build(body))
    assert edit("--no-editor", *SHAPE) == 0
    assert "1 of " in (error := capsys.readouterr().err)
    assert "stand as .long" in error
    assert edit("--no-editor") == 0
    assert "stand as .long" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "ending", ["sys.exit(1)", "os.kill(os.getpid(), signal.SIGKILL)", "os.kill(os.getpid(), signal.SIGINT)"]
)
def test_a_crash_of_the_editor_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    editor(monkeypatch, FASTER + "\npath.write_text(text)\n" + ending)
    assert edit(*SHAPE) == 6
    assert "a.edit/step-01.s is kept" in capsys.readouterr().err
    kept = (DIRECTORY / "step-01.s").read_text()
    assert "one nop less" in kept
    assert ladder()["steps"][1]["status"] == "open"
    editor(monkeypatch, "")
    assert edit() == 0
    assert (DIRECTORY / "step-01.s").read_text() == kept
    assert ladder()["steps"][1]["status"] == "verified"


def test_ctrl_c_while_evaluating_leaves_an_open_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from isaprof.sim import functional

    editor(monkeypatch, FASTER)
    assert edit("--no-editor", *SHAPE) == 0
    whole = functional.run

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(functional, "run", stop)
    assert edit() == 130
    assert ladder()["steps"][1]["status"] == "open"
    assert "one nop less" in (DIRECTORY / "step-01.s").read_text()
    monkeypatch.setattr(functional, "run", whole)
    editor(monkeypatch, "")
    assert edit() == 0
    assert ladder()["steps"][1]["status"] == "verified"


def test_ctrl_c_at_the_start_leaves_no_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    from isaprof.sim import functional

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(functional, "run", stop)
    editor(monkeypatch, FASTER)
    assert edit(*SHAPE) == 130
    assert [p for p in Path().iterdir() if "edit" in p.name] == [Path("editor.py")]


def test_ready_sources_and_no_editor(capsys: pytest.CaptureFixture[str]) -> None:
    assert edit("--no-editor", *SHAPE) == 0
    captured = capsys.readouterr()
    assert captured.out.strip() == "a.edit/step-01.s"
    assert "--no-editor" in captured.err
    path = DIRECTORY / "step-01.s"
    path.write_text(path.read_text().replace("s_nop 15\n", "", 1))
    assert edit("--no-editor") == 0
    assert ladder()["steps"][1]["status"] == "verified"
    Path("mine.s").write_text("; step: by hand\n" + k.source(k.BODY))
    assert edit("--step", "mine.s") == 0
    row = ladder()["steps"][2]
    assert (row["description"], row["base"], row["status"]) == ("by hand", 1, "verified")
    assert (DIRECTORY / "step-02.s").read_text() == Path("mine.s").read_text()
    capsys.readouterr()
    assert edit("--step", "mine.s") == 0
    assert "unchanged" in capsys.readouterr().err
    assert len(ladder()["steps"]) == 3
    Path("mine.s").write_bytes(b"\xff\xfe")
    assert edit("--step", "mine.s") == 3
    assert edit("--step", "absent.s") == 3
    assert len(ladder()["steps"]) == 3


def test_a_source_of_another_target_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.s").write_text(k.source(k.BODY).replace("gfx942", "gfx950"))
    assert edit("--step", "mine.s", *SHAPE) == 3
    assert "gfx950" in capsys.readouterr().err
    assert ladder()["steps"][1]["status"] == "rejected"
    assert files("step-01.*") == ["step-01.co", "step-01.s"]


@pytest.mark.parametrize(
    ("args", "what"),
    [(["--shape", "512"], "shape"), (["--seeds", "2"], "seeds"), (["--workgroups", "1"], "workgroups")],
)
def test_a_ladder_keeps_its_settings(capsys: pytest.CaptureFixture[str], args: list[str], what: str) -> None:
    assert edit("--no-editor", *SHAPE) == 0
    assert edit("--no-editor", *args) == 2
    error = capsys.readouterr().err
    assert f"another {what}" in error
    assert "-o DIR" in error
    assert edit("--no-editor", *SHAPE) == 0, "the same again is fine"


def test_another_object_or_launch_file_needs_another_ladder(capsys: pytest.CaptureFixture[str]) -> None:
    assert edit("--no-editor", *SHAPE) == 0
    text = Path("a.launch.toml").read_text()
    Path("a.launch.toml").write_text(text + "atol = 1e-3\n")
    assert edit("--no-editor") == 2
    assert "launch file" in capsys.readouterr().err
    Path("a.launch.toml").write_text(text)
    Path("a.co").write_bytes(k.build(k.BODY))
    assert edit("--no-editor") == 2
    assert "code object" in capsys.readouterr().err
    assert edit("--no-editor", "-o", "other", *SHAPE) == 0


def test_a_directory_of_the_users_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    DIRECTORY.mkdir()
    (DIRECTORY / "mine.txt").write_text("mine")
    assert edit("--no-editor", *SHAPE) == 2
    assert "-o DIR" in capsys.readouterr().err
    assert [p.name for p in DIRECTORY.iterdir()] == ["mine.txt"]


def test_files_that_no_row_names_are_never_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    assert edit("--no-editor", *SHAPE) == 0
    (DIRECTORY / "step-07.s").write_text("mine")
    editor(monkeypatch, FASTER)
    assert edit("--from", "0") == 0
    assert ladder()["steps"][-1]["step"] == 8
    assert (DIRECTORY / "step-07.s").read_text() == "mine"


def test_an_open_step_whose_file_is_gone_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    assert edit("--no-editor", *SHAPE) == 0
    (DIRECTORY / "step-01.s").unlink()
    editor(monkeypatch, FASTER)
    assert edit("--seed", "1") == 0
    assert [(s["step"], s["status"]) for s in ladder()["steps"]] == [
        (0, "verified"),
        (1, "open"),
        (2, "verified"),
    ]


def test_two_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    from isaprof.edit.store import Store

    assert edit("--no-editor", *SHAPE) == 0
    with Store(DIRECTORY).lock():
        assert edit("--no-editor") == 2
    assert "another isaprof edit" in capsys.readouterr().err


def test_a_full_disk_keeps_every_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    editor(monkeypatch, FASTER)
    assert edit(*SHAPE) == 0
    before = {p.name: p.read_bytes() for p in DIRECTORY.iterdir() if p.is_file()}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before["step-01.s"]) // 2, hard))
    try:
        code = edit()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 6
    assert "cannot write" in capsys.readouterr().err
    assert {p.name: p.read_bytes() for p in DIRECTORY.iterdir() if p.is_file()} == before
    assert edit() == 0


def test_the_original_that_cannot_run_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.co").write_bytes(k.build(k.WILD))
    assert edit("--no-editor", *SHAPE) == 4
    Path("a.launch.toml").unlink()
    assert edit("--no-editor", *SHAPE) == 3
    assert "launch-template" in capsys.readouterr().err
    assert not DIRECTORY.exists()


def on_a_terminal(answers: str, *args: str, timeout: float = 60) -> tuple[int, str]:
    """Exit code and output of a run of its own on a pseudo terminal, Enter-separated ``answers`` typed."""
    program = (
        "from isaprof import cli; cli.VERBS['edit'] = 'isaprof.cli.edit'; "
        f"cli.main(['edit', 'a.co', *{list(args)!r}])"
    )
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(isaprof.__file__).parents[1]), "TERM": "xterm"},
    )
    os.close(follower)
    seen = b""
    end = time.monotonic() + timeout
    try:
        while time.monotonic() < end:
            try:
                data = os.read(leader, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data
            if answers and b"[Y/n]" in seen[-200:]:
                os.write(leader, answers[:1].encode() + b"\n")
                answers = answers[1:]
                seen += b" "
        return process.wait(timeout=10), seen.decode(errors="replace")
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(leader)


def test_on_a_terminal_a_failed_attempt_is_edited_again(monkeypatch: pytest.MonkeyPatch) -> None:
    editor(
        monkeypatch,
        "text = text.replace('s_endprogram', 's_endpgm').replace('s_nop 15\\n', '', 1)"
        " if 's_endprogram' in text else text.replace('s_endpgm', 's_endprogram')",
    )
    code, seen = on_a_terminal("y", *SHAPE)
    assert code == 0, seen
    assert "s_endprogram" in seen
    rows = ladder()["steps"]
    assert [(r["step"], r["base"], r["status"]) for r in rows] == [
        (0, None, "verified"), (1, 0, "does not assemble"), (2, 1, "verified")
    ]  # fmt: skip
    assert rows[2]["vs_previous"] is None, "the previous one never ran"
    assert rows[2]["vs_original"]["lines"] == {"deleted": 1}


def test_on_a_terminal_no_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    editor(monkeypatch, BROKEN)
    code, seen = on_a_terminal("n", *SHAPE)
    assert code == 3, seen
    assert files() == ["step-00.s", "step-01.s"]
