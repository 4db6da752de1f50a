"""The bar is silent off a terminal, but a shape that takes minutes is said to."""

from __future__ import annotations

import pytest

from isaprof.cli import progress


@pytest.mark.parametrize(("done", "said"), [(10, True), (90, False)])
def test_many_workgroups_are_estimated_once(
    done: int, said: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 1.0, 20.0, 40.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.Bar() as bar:
        bar.update(0, 1, "timing")
        for n in (0, 1, done, done):
            bar.update(n, 100, "A, seed 1: workgroups")
    err = capsys.readouterr().err
    assert err.count("--workgroups") == said
    assert not said or "10 of 100 workgroups in 20 s, about 3 min to go" in err
