"""Tools that are loaded before their input is there."""

from __future__ import annotations

import os
import shutil

import pytest

from isaprof.isa import process


@pytest.fixture(autouse=True)
def _none_left():
    yield
    process.forget()
    assert not process._ready


def cat() -> str:
    found = shutil.which("cat")
    assert found
    return found


@pytest.mark.parametrize("size", [0, 5, 1 << 20])  # more than a pipe holds
def test_a_prepared_tool_gets_its_input(size: int) -> None:
    process.prepare([cat()])
    running = process.start([cat()], b"x" * size)
    assert not process._ready
    assert running.wait().output == b"x" * size


def test_other_words_start_another_one() -> None:
    process.prepare([cat()])
    assert process.start([cat(), "-"], b"other").wait().output == b"other"
    assert len(process._ready) == 1


def test_preparing_twice_starts_one(tmp_path) -> None:
    process.prepare([cat()])
    process.prepare([cat()])
    assert len(process._ready) == 1


def test_a_tool_that_ended_early_says_so() -> None:
    false = shutil.which("false")
    assert false
    process.prepare([false])
    assert process.start([false], b"x" * (1 << 20)).wait().returncode == 1


def test_what_is_forgotten_is_gone() -> None:
    process.prepare([cat()])
    (ready,) = process._ready.values()
    pid = ready.running._pid
    process.forget()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_cannot_be_started_is_said_by_the_start() -> None:
    process.prepare(["/no/such/tool"])
    assert not process._ready
