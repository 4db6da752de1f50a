"""VGPRs above 255 on gfx1250: the mode follows the paths, not the text."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from isaprof.asm import assemble_text, disassemble_object
from isaprof.isa.decode import disassemble
from isaprof.isa.model import Listing, RegClass
from tests.asm.objects import source

ADD = "v_add_f32 v1, v2, v3"


def listing(body: str) -> tuple[Listing, bytes]:
    data = assemble_text(source("gfx1250", body))
    return disassemble(data), data


def vgprs(lines: Listing, base: str = "v_add_f32") -> list[tuple[int, ...]]:
    return [
        tuple(o.reg.index for o in i.operands if o.reg is not None and o.reg.cls is RegClass.VGPR)
        for i in lines.instructions
        if i.base == base
    ]


def test_a_branch_keeps_the_mode() -> None:
    """LLVM's own comments forget it there: the second and third add would be v1, v2, v3."""
    lines, data = listing(
        f"\ts_set_vgpr_msb 0x41\n\t{ADD}\n\ts_cbranch_scc0 .Lfar\n\t{ADD}\n.Lfar:\n\t{ADD}\n\ts_nop 0"
    )
    assert vgprs(lines) == [(257, 258, 3)] * 3
    assert lines.unknown_vgprs == frozenset()
    assert disassemble_object(data).text.count("v1 /*v257*/, v2 /*v258*/, v3") == 3


def test_words_without_a_text_keep_the_mode() -> None:
    """LLVM's comments forget it there, too."""
    lines, _ = listing(f"\ts_set_vgpr_msb 0x41\n\t.long 0xcc880064\n\t{ADD}\n\ts_nop 0")
    assert vgprs(lines) == [(257, 258, 3)]


def test_paths_that_disagree_make_it_unknown() -> None:
    body = f"\ts_cbranch_scc0 .Lfar\n\ts_set_vgpr_msb 0x40\n\t{ADD}\n.Lfar:\n\t{ADD}\n\ts_nop 0"
    lines, data = listing(body)
    assert vgprs(lines) == [(257, 2, 3), (1, 2, 3)]
    assert [lines.instructions[n].base for n in lines.unknown_vgprs] == ["v_add_f32"]
    assert disassemble_object(data).text.count("/*v257*/") == 1


def test_a_disagreement_about_an_absent_operand_does_not_matter() -> None:
    body = f"\ts_cbranch_scc0 .Lfar\n\ts_set_vgpr_msb 0x10\n.Lfar:\n\t{ADD}\n\ts_nop 0"  # src2 only
    lines, _ = listing(body)
    assert vgprs(lines) == [(1, 2, 3)]
    assert lines.unknown_vgprs == frozenset()


def test_the_mode_register_holds_the_bits() -> None:
    for setreg, known in (
        ("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 24, 1), 1", True),  # writes zeros to the bits, too
        ("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_MODE, 0, 4), 0x1005", False),
        ("s_setreg_b32 hwreg(HW_REG_WAVE_MODE, 0, 4), s4", True),
        ("s_setreg_b32 hwreg(HW_REG_WAVE_MODE), s4", False),
        ("s_setreg_imm32_b32 hwreg(HW_REG_WAVE_SCHED_MODE, 0, 2), 2", True),
    ):
        lines, _ = listing(f"\t{setreg}\n\t{ADD}\n\ts_nop 0")
        assert (not lines.unknown_vgprs) is known, setreg


def test_loops_come_to_an_end() -> None:
    sets = "\n".join(f".L{n}:\n\ts_set_vgpr_msb {n}\n\ts_cbranch_scc1 .Lall" for n in range(12))
    lines, _ = listing(f".Lall:\n\t{ADD}\n{sets}\n\ts_branch .Lall\n\ts_nop 0")
    assert len(lines.unknown_vgprs) == 1


@pytest.mark.slow
def test_shipped_kernels_use_no_more_than_they_have(data_dir: Path) -> None:
    """In hand-written kernels the mode is known everywhere, and stays inside the descriptor's grant."""
    from isaprof.codeobj.elf import CodeObject

    files = sorted(data_dir.glob("co/gfx1250/**/*.co"))
    assert files
    for path in files:
        co = CodeObject.load(path)
        lines = disassemble(path.read_bytes())
        assert lines.unknown_vgprs == frozenset(), path
        used = [s.index + s.count for i in lines.instructions for s in (*i.reads, *i.writes) if s.cls == "v"]
        assert max(used) <= max(k.descriptor.vgpr_count for k in co.kernels), path
        assert all(a.pc < b.pc for a, b in pairwise(lines.instructions))
