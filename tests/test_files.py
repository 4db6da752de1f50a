"""Single files: read whole or refused, written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from isaprof.capture import place as place_of_capture
from isaprof.codeobj.elf import CodeObject
from isaprof.errors import BadInput, EnvironmentProblem, UsageError
from isaprof.files import may_write, read_bytes, write_new
from isaprof.launch.file import LaunchFile
from isaprof.parsers.jsonfile import load_json
from isaprof.parsers.rocpd import read_rocpd
from isaprof.parsers.sqtt.buffers import read_buffer
from isaprof.parsers.trace_folder import read_bytes as read_trace


def test_devices_and_pipes_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(BadInput, match="a file is needed"):
            read_bytes(path)
        with pytest.raises(BadInput, match="a file is needed"):
            read_buffer(path)
        with pytest.raises(BadInput, match="a file is needed"):
            read_rocpd(path)


def test_a_name_that_cannot_be_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="name too long"):
        read_bytes(tmp_path / ("a" * 300))
    with pytest.raises(EnvironmentProblem, match="name too long"):
        write_new(tmp_path / ("a" * 300), b"x")


@pytest.mark.parametrize(
    "reader", [CodeObject.load, LaunchFile.load, load_json, lambda p: read_trace(p, "trace buffer")]
)
def test_no_reader_waits_for_a_pipe(tmp_path: Path, reader: Callable[[Path], object]) -> None:
    """A folder of somebody else's may hold one under any name."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadInput, match="a file is needed"):
        reader(tmp_path / "pipe")


@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_file_is_never_replaced(tmp_path: Path, force: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dir").mkdir()
    for name in ("pipe", "dir"):
        with pytest.raises(UsageError):
            write_new(tmp_path / name, b"x", force=force)
    assert sorted(os.listdir(tmp_path)) == ["dir", "pipe"]


def test_a_link_to_nowhere_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("nowhere")
    with pytest.raises(UsageError, match="already exists"):
        write_new(tmp_path / "a", b"x")
    assert os.readlink(tmp_path / "a") == "nowhere"


@pytest.mark.parametrize("force", [False, True])
def test_file_systems_without_hard_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    write_new(tmp_path / "sub" / "a", b"x", force=force)
    assert (tmp_path / "sub" / "a").read_bytes() == b"x"
    assert os.listdir(tmp_path / "sub") == ["a"]
    with pytest.raises(UsageError, match="already exists"):
        write_new(tmp_path / "sub" / "a", b"y")
    assert (tmp_path / "sub" / "a").read_bytes() == b"x"


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "chmod", full)
    with pytest.raises(EnvironmentProblem, match="No space left"):
        write_new(tmp_path / "a", b"x")
    assert os.listdir(tmp_path) == []


def test_a_locked_folder_is_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is computed for minutes to fail at the end; folders that are to be made are looked through."""
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != tmp_path)
    for place in (tmp_path / "x", tmp_path / "new" / "folder" / "x"):
        with pytest.raises(EnvironmentProblem, match="cannot write there: Permission denied"):
            may_write(place)
        with pytest.raises(EnvironmentProblem, match="cannot write the capture: Permission denied"):
            place_of_capture.may_write(place, force=False)
