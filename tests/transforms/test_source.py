"""An edit touches its own line and nothing else, or is refused; the object differs by the edit only."""

from __future__ import annotations

import pytest

from isaprof.errors import AnswerNo, BadInput
from isaprof.transforms.model import Change, Edit
from isaprof.transforms.objects import Differs, correspond
from isaprof.transforms.source import Source
from tests.transforms.kernels import HEAD, TAIL, assemble

BODY = """
.macro ONE n
	s_waitcnt vmcnt(\\n)
.endm
	.irp r, 1,2
	v_mov_b32_e32 v\\r, 0
	.endr
	ONE 3
here: s_waitcnt   vmcnt(0)	// why, "quoted" ; twice
	s_nop 0 ; odd   spacing\t
	s_cbranch_scc1 here
	s_endpgm
"""


def source(body: str = BODY) -> Source:
    return Source.of((HEAD + body + TAIL).format(arch="gfx942", extra=".amdhsa_accum_offset 64"))


def index(s: Source, text: str) -> int:
    return next(i.index for i in s.listing.instructions if i.text == text)


def changed_lines(before: str, after: str) -> list[tuple[str, str]]:
    a, b = before.split("\n"), after.split("\n")
    assert len(a) == len(b)
    return [(x, y) for x, y in zip(a, b, strict=True) if x != y]


def test_label_comment_and_spacing_stay() -> None:
    s = source()
    text = s.apply(Edit((Change(index(s, "s_waitcnt vmcnt(0)"), ("s_waitcnt vmcnt(2)",)),)))
    assert changed_lines(s.text, text) == [
        (
            'here: s_waitcnt   vmcnt(0)\t// why, "quoted" ; twice',
            'here: s_waitcnt vmcnt(2)\t// why, "quoted" ; twice',
        )
    ]


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_line_ends_stay(end: str) -> None:
    s = source()
    s = Source.of(s.text.replace("\n", end))
    text = s.apply(Edit((Change(index(s, "s_nop 0"), ("s_nop 1",), after=("s_nop 2",)),)))
    assert text == s.text.replace(
        f"s_nop 0 ; odd   spacing\t{end}", f"s_nop 1 ; odd   spacing\t{end}\ts_nop 2{end}"
    )


@pytest.mark.parametrize(
    ("text", "kind"), [("s_waitcnt vmcnt(3)", "macro"), ("v_mov_b32_e32 v1, 0", "several_instructions")]
)
def test_macros_and_repetitions_are_refused(text: str, kind: str) -> None:
    s = source()
    with pytest.raises(AnswerNo) as e:
        s.apply(Edit((Change(index(s, text), ("s_nop 0",)),)))
    assert e.value.kind == kind
    assert "isaprof disasm" in (e.value.hint or "")


def test_deleting_keeps_the_label() -> None:
    s = source()
    text = s.apply(Edit((Change(index(s, "s_waitcnt vmcnt(0)"), ()),)))
    after = Source.of(text)
    assert "here:\n" in text
    assert len(after.listing.instructions) < len(s.listing.instructions) or "s_waitcnt   vmcnt" not in text


def test_inserting_before_a_line_with_a_label_is_refused() -> None:
    s = source()
    with pytest.raises(AnswerNo, match="label"):
        s.apply(Edit((Change(index(s, "s_waitcnt vmcnt(0)"), before=("s_nop 0",)),)))


def test_text_that_is_neither() -> None:
    with pytest.raises(BadInput, match="neither"):
        Source.load("k.s", b"\xff\xfe\x00")


A = """
	s_waitcnt vmcnt(0)
loop:
	v_mov_b32_e32 v1, v2
	s_cbranch_scc1 loop
	s_endpgm
"""


def relax(body: str) -> str:
    return body.replace("vmcnt(0)", "vmcnt(1)")


def test_the_intended_change_corresponds() -> None:
    edit = Edit((Change(0, ("s_waitcnt vmcnt(1)",)),))
    same = correspond(assemble(A), assemble(relax(A)), edit)
    assert same.index[1] == 1
    assert "s_waitcnt vmcnt(0)  ->  s_waitcnt vmcnt(1)" in same.steps[0]


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (A, "became s_waitcnt vmcnt\\(0\\)"),
        (relax(A).replace("v1, v2", "v1, v3"), "v1, v2 became"),
        (relax(A).replace("	s_cbranch_scc1 loop", "	s_cbranch_scc1 end\nend:"), "another destination"),
        (relax(A).replace("	s_endpgm", "	v_mov_b32_e32 v5, v6\n	s_endpgm"), "instructions|became"),
    ],
)
def test_anything_else_does_not(other: str, why: str) -> None:
    edit = Edit((Change(0, ("s_waitcnt vmcnt(1)",)),))
    with pytest.raises(Differs, match=why):
        correspond(assemble(A), assemble(other), edit)


def test_a_changed_descriptor_does_not_correspond() -> None:
    def build(vgprs: int) -> bytes:
        text = (HEAD + A + TAIL).format(arch="gfx942", extra=".amdhsa_accum_offset 64")
        return Source.of(text.replace("next_free_vgpr 64", f"next_free_vgpr {vgprs}")).data

    correspond(build(64), build(64), Edit(()))
    with pytest.raises(Differs, match="descriptor"):
        correspond(build(64), build(128), Edit(()))


def test_inserted_lines_correspond() -> None:
    edit = Edit((Change(1, before=("s_nop 1",), after=("s_nop 2",)),))
    other = A.replace(
        "loop:\n	v_mov_b32_e32 v1, v2", "loop:\n	s_nop 1\n	v_mov_b32_e32 v1, v2\n	s_nop 2"
    )
    with pytest.raises(Differs):  # the branch goes to the inserted s_nop: not where it went
        correspond(assemble(A), assemble(other), edit)
    other = A.replace("	v_mov_b32_e32 v1, v2", "	v_mov_b32_e32 v1, v2\n	s_nop 2")
    assert correspond(assemble(A), assemble(other), Edit((Change(1, after=("s_nop 2",)),))).index[2] == 3
