"""`isaprof asm` and `disasm`: what is said about files that are not what they should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from isaprof import cli
from isaprof.errors import ExitCode
from tests.ab import kernels as k


def isaprof_(*args: str | Path) -> int:
    with pytest.raises(SystemExit) as e:
        cli.main([str(a) for a in args])
    return int(e.value.code or 0)


def test_a_code_object_is_no_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.co"
    path.write_bytes(k.build())
    assert isaprof_("asm", path, "-o", tmp_path / "b.co") == ExitCode.BAD_INPUT
    err = capsys.readouterr().err
    assert "a code object; assembly text is needed" in err
    assert "isaprof disasm" in err
    assert not (tmp_path / "b.co").exists()


def test_bytes_that_are_no_text_are_located(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.s"
    path.write_bytes(k.source().encode() + b"; \xff\n")
    assert isaprof_("asm", path) == ExitCode.BAD_INPUT
    err = capsys.readouterr().err
    assert "no UTF-8 text (byte 0xff)" in err
    assert f"at byte {len(k.source()) + 2:#x}" in err


@pytest.mark.parametrize(
    ("old", "new"),
    [("kernel_code_entry_byte_offset", "entry"), ("\t.short\t0\t\t; kernarg_preload: none\n", "")],
)
def test_a_kernel_that_is_lost_is_a_warning(
    old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.co").write_bytes(k.build())
    source = tmp_path / "a.s"
    assert isaprof_("disasm", tmp_path / "a.co", "-o", source) == 0
    assert isaprof_("asm", source, "-o", tmp_path / "b.co") == 0
    assert capsys.readouterr().err == ""
    text = source.read_text()
    assert old in text
    lines = [".quad 0" if new and old in line else line for line in text.splitlines()]
    source.write_text("\n".join(lines) + "\n" if new else text.replace(old, new))
    assert isaprof_("asm", source, "-o", tmp_path / "c.co") == 0
    assert "k.kd of the metadata is no kernel" in capsys.readouterr().err


def test_the_hint_for_a_minimal_file_names_an_option_that_exists(
    data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = data_dir / "sqtt/gfx1200/sync_run0/kernel0.co"
    assert isaprof_("suggest", path) == ExitCode.BAD_INPUT
    assert "--target gfx1100" in capsys.readouterr().err
    assert isaprof_("suggest", path, "--target", "gfx1200") == 0
