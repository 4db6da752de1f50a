"""Random structured programs whose lanes part and meet again: ifs, loops, LDS, memory.

Both executors have to agree on outputs, paths, memory events and counts, whatever takes part.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.sim.functional import run
from tests.sim.kernels import Launch, assemble, buffers

from .test_machine import same_result

ALU = (
    "v_add_u32 {d}, {a}, {b}", "v_xor_b32 {d}, {a}, {b}", "v_lshlrev_b32 {d}, 3, {a}",
    "v_mul_lo_u32 {d}, {a}, {b}",
    "v_cndmask_b32 {d}, {a}, {b}, vcc", "v_min_u32 {d}, {a}, {b}", "v_bfe_u32 {d}, {a}, 3, 9",
    "v_readfirstlane_b32 s20, {a}\n v_add_u32 {d}, s20, {b}",
    "v_mov_b32_dpp {d}, {a} row_shr:1 row_mask:0xf bank_mask:0xf",
    "s_add_u32 s21, s21, 5\n v_add_u32 {d}, s21, {a}", "v_mbcnt_lo_u32_b32 {d}, exec_lo, {a}",
)  # fmt: skip
MEMORY = (
    "v_and_b32 v9, 0xffc, {a}\n ds_write_b32 v9, {b}\n s_waitcnt lgkmcnt(0)",
    "v_and_b32 v9, 0xffc, {a}\n ds_read_b32 {d}, v9\n s_waitcnt lgkmcnt(0)",
    "v_and_b32 v9, 0xffc, {a}\n ds_add_u32 v9, {b}",
    "v_and_b32 v9, 0xffc, {a}\n global_load_dword {d}, v9, s[4:5]\n s_waitcnt vmcnt(0)",
    "v_lshlrev_b32 v9, 2, v0\n global_store_dword v9, {a}, s[6:7]",
)


class Builder:
    """Text of a program from drawn choices; labels and mask registers by depth."""

    def __init__(self, draw: st.DrawFn, names: dict[str, str]) -> None:
        self.draw, self.names = draw, names
        self.lines: list[str] = []
        self.labels = 0

    def emit(self, text: str) -> None:
        for old, new in self.names.items():
            text = text.replace(old, new)
        self.lines.append(text)

    def statement(self, depth: int) -> None:
        kind = self.draw(st.integers(0, 9 if depth < 3 else 6))
        regs = [f"v{self.draw(st.integers(1, 6))}" for _ in range(3)]
        d, a, b = regs
        if kind < 5:
            self.emit(self.draw(st.sampled_from(ALU)).format(d=d, a=a, b=b))
        elif kind < 7:
            self.emit(self.draw(st.sampled_from(MEMORY)).format(d=d, a=a, b=b))
        elif kind < 9:
            self.branch(depth, a, b)
        else:
            self.loop(depth, a)

    def block(self, depth: int) -> None:
        for _ in range(self.draw(st.integers(1, 3))):
            self.statement(depth)

    def _label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def branch(self, depth: int, a: str, b: str) -> None:
        other, end = self._label(), self._label()
        saved = f"s[{24 + 2 * depth}:{25 + 2 * depth}]"
        self.emit(f"v_cmp_lt_u32 vcc, {a}, {b}")
        self.emit(f"s_and_saveexec_b64 {saved}, vcc")
        if self.draw(st.booleans()):
            self.emit(f"s_cbranch_execz {other}")
        self.block(depth + 1)
        self.emit(f"{other}:")
        self.emit(f"s_andn2_b64 exec, {saved}, exec")
        self.emit(f"s_cbranch_execz {end}")
        self.block(depth + 1)
        self.emit(f"{end}:")
        self.emit(f"s_mov_b64 exec, {saved}")

    def loop(self, depth: int, a: str) -> None:
        top = self._label()
        saved, counter = f"s[{24 + 2 * depth}:{25 + 2 * depth}]", f"v{10 + depth}"
        self.emit(f"s_mov_b64 {saved}, exec")
        self.emit(f"v_and_b32 {counter}, 7, {a}")
        self.emit(f"{top}:")
        self.block(depth + 1)
        self.emit(f"v_sub_u32 {counter}, {counter}, 1")
        self.emit(f"v_cmp_lt_i32 vcc, 0, {counter}")
        self.emit("s_and_b64 exec, exec, vcc")
        self.emit(f"s_cbranch_execnz {top}")
        self.emit(f"s_mov_b64 exec, {saved}")


WAVE32 = {
    "_saveexec_b64": "_saveexec_b32", "s_andn2_b64": "s_and_not1_b32", "s_mov_b64": "s_mov_b32",
    "s_and_b64": "s_and_b32", "v_add_u32": "v_add_nc_u32", "v_sub_u32": "v_sub_nc_u32", "vcc,": "vcc_lo,",
    ", vcc": ", vcc_lo", "exec,": "exec_lo,", ", exec": ", exec_lo", "exec_lo_lo": "exec_lo",
    "vcc_lo_lo": "vcc_lo",
    "ds_write_b32": "ds_store_b32", "ds_read_b32": "ds_load_b32", "global_load_dword": "global_load_b32",
    "global_store_dword": "global_store_b32", "s[24:25]": "s24", "s[26:27]": "s26", "s[28:29]": "s28",
    "s[30:31]": "s30",
}  # fmt: skip


@st.composite
def program(draw: st.DrawFn, arch: str) -> str:
    b = Builder(draw, {} if arch.startswith("gfx9") else WAVE32)
    load = "s_load_dwordx4" if arch.startswith("gfx9") else "s_load_b128"
    b.lines += [f"{load} s[4:7], s[0:1], 0x0", "s_mov_b32 s21, 1", "v_and_b32 v0, 0x3ff, v0"]
    for r in range(1, 7):
        b.emit(f"v_mul_u32_u24 v{r}, {draw(st.integers(1, 60))}, v0")
    b.lines.append("s_waitcnt lgkmcnt(0)")
    for _ in range(draw(st.integers(2, 6))):
        b.statement(0)
    b.emit("s_waitcnt lgkmcnt(0)")
    if draw(st.booleans()):
        b.emit("s_barrier")
    b.emit("v_lshlrev_b32 v9, 2, v0")
    b.emit("v_xor_b32 v1, v1, v2")
    b.emit("global_store_dword v9, v1, s[6:7]")
    b.lines.append("s_endpgm")
    return "\n".join(b.lines)


def agree(arch: str, body: str) -> None:
    co, listing = assemble(arch, body, lds=4096)
    results = []
    for executor in ("fast", "reference"):
        rng = np.random.default_rng(1)
        table = rng.integers(0, 1 << 32, 1024, dtype=np.uint32)
        launch = Launch(
            buffers(table=table, out=np.zeros(256, np.uint32)), grid=(2, 1, 1), workgroup=(96, 1, 1)
        )
        results.append(
            run(co, co.kernel(None), listing, launch, executor=executor, trace=lambda wg: wg[0] == 1,
                max_instructions=100_000)
        )  # fmt: skip
    same_result(*results)
    assert not results[0].fallbacks


@given(program("gfx950"))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_divergent_programs_of_64_lanes(body: str) -> None:
    agree("gfx950", body)


@given(program("gfx1100"))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_divergent_programs_of_32_lanes(body: str) -> None:
    agree("gfx1100", body)


@pytest.mark.slow
@given(st.sampled_from(["gfx950", "gfx1100"]).flatmap(lambda a: st.tuples(st.just(a), program(a))))
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_many_divergent_programs(what: tuple[str, str]) -> None:
    agree(*what)
