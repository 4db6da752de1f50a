"""What `isaprof asm` and `roundtrip` do with paths that are no plain UTF-8 file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from isaprof.asm.assemble import read_text
from isaprof.asm.find import jobs_of
from isaprof.asm.prove import Job
from isaprof.errors import BadInput


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe.s"
    os.mkfifo(path)
    return path


def test_byte_order_mark_is_no_part_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "k.s"
    path.write_bytes(b"\xef\xbb\xbf; gr\xc3\xb6\xc3\x9fer\r\n")
    assert read_text(path) == "; größer\n"


def test_pipes_and_devices_are_refused_at_once(pipe: Path) -> None:
    """A pipe without a writer never begins, /dev/zero never ends: the test hangs where they are opened."""
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(BadInput, match="a device or a pipe"):
            read_text(path)


def test_a_pipe_is_not_opened_to_see_what_it_is(pipe: Path) -> None:
    assert jobs_of([pipe]) == [Job(str(pipe), str(pipe), None)]
