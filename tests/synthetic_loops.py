"""A small analysis with its detail: a loop, bank conflicts, waits that another wave may hide."""

from __future__ import annotations

from isaprof.attribution import Analysis, analyse
from isaprof.capture.model import Capture
from tests.attribution.build import Wave, capture, memory_table

#: 8 bytes a line: the branch of line 4 goes back to line 1
PROGRAM = (
    "s_mov_b32 s0, 3",
    "ds_read_b128 v[4:7], v1",
    "s_waitcnt lgkmcnt(0)",
    "v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]",
    "s_cbranch_scc1 65529",
    "s_endpgm",
)

#: one read more in the loop
OTHER = (
    *PROGRAM[:2],
    "ds_read_b128 v[8:11], v1 offset:16",
    *PROGRAM[2:4],
    "s_cbranch_scc1 65527",
    "s_endpgm",
)


def looped(
    program: tuple[str, ...] = PROGRAM, stall: int = 40, waves: int = 2, provenance: str = "measured"
) -> Analysis:
    """Waves of one SIMD that go round three times; the reads conflict."""
    out, memory = [], []
    for w in range(waves):
        wave = Wave(8 * w).add(0)
        last = len(program) - 2
        for i in range(3):
            for line in range(1, last):
                if program[line].startswith("ds_read"):
                    memory.append((w, len(wave.rows), 8, 4))
                wave.add(line, stall=stall if program[line].startswith("s_waitcnt") else 0)
            wave.add(last, category="JUMP" if i < 2 else "NEXT")
        out.append(wave.add(last + 1))
    made = capture("gfx950", program, out, provenance=provenance)
    tables = {name: made.table(name) for name in ("code", "waves", "insts")}
    return analyse(Capture(made.meta, {**tables, "memory": memory_table(memory)}))
