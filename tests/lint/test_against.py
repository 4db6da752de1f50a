"""An edited kernel against its original."""

from __future__ import annotations

import re

from isaprof.asm import assemble_text
from isaprof.codeobj.elf import CodeObject
from isaprof.lint import Report, Severity, lint_source
from tests.lint.kernels import source

ARGS = ((0, 8, "global_buffer"), (8, 4, "by_value"))


def against(original: str, edited: str) -> Report:
    return lint_source(edited, original=CodeObject.from_bytes(assemble_text(original)))


def rules(report: Report) -> list[str]:
    return [f.rule for f in report.findings if f.severity is Severity.ERROR]


def test_the_same_interface() -> None:
    a = source("	s_nop 0", args=ARGS)
    assert rules(against(a, source("	s_nop 1\n	v_mov_b32 v1, 0", args=ARGS))) == []


def test_changed_arguments() -> None:
    a = source("	s_nop 0", args=ARGS)
    report = against(a, source("	s_nop 0", args=((0, 8, "global_buffer"), (12, 4, "by_value"))))
    assert rules(report) == ["against-kernarg"] * 2
    assert "kernarg segment of 16 bytes, the original has 12" in report.findings[0].message
    assert "offset 12, 4 bytes" in report.findings[1].message
    report = against(a, source("	s_nop 0", args=ARGS[:1]))
    assert "argument 1: none" in report.findings[1].message


def test_changed_symbol() -> None:
    a = source("	s_nop 0", args=ARGS)
    report = against(a, re.sub(r"\bk\b", "other", a))
    assert "against-symbol" in rules(report)


def test_changed_target() -> None:
    report = against(source("	s_nop 0", "gfx942", args=ARGS), source("	s_nop 0", "gfx950", args=ARGS))
    assert rules(report) == ["against-target"]
