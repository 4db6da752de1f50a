"""Whatever the machine code does, the process survives: a result or a named fault."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.isa.decode import decode_lines
from isaprof.isa.model import Listing
from isaprof.sim import archdata
from isaprof.sim.executor import Program
from isaprof.sim.faults import SimulatedFault
from isaprof.sim.lower.context import Context
from isaprof.sim.memory import LDS, Memory
from isaprof.sim.semantics import vector_table
from isaprof.sim.semantics.salu import TABLE as SALU
from isaprof.sim.state import Wave, Workgroup


def operand(t: str, draw: st.DrawFn) -> str:
    if t == "mask":
        return "vcc_lo"
    wide = t in ("u64", "i64", "f64")
    r = draw(st.integers(0, 14))
    choice = draw(st.integers(0, 4))
    if choice == 0:
        return draw(st.sampled_from(["0", "-1", "1.0", "64", "-0.5"]))
    if choice == 1:
        return f"s[{2 * r}:{2 * r + 1}]" if wide else f"s{r}"
    return f"v[{r}:{r + 1}]" if wide else f"v{r}"


def destination(t: str, draw: st.DrawFn) -> str:
    if t == "mask":
        return "vcc_lo"
    r = draw(st.integers(0, 14))
    return f"v[{r}:{r + 1}]" if t in ("u64", "i64", "f64") else f"v{r}"


SIMPLE = sorted(
    n
    for n, s in vector_table().items()
    if not (s.packed32 or s.implicit_vcc or "mix" in s.src or n.startswith("v_s_"))
)
SCALAR = sorted(SALU)


@st.composite
def instruction(draw: st.DrawFn) -> str:
    if draw(st.booleans()):
        name = draw(st.sampled_from(SCALAR))
        row = SALU[name]
        wide = ["64" in t for t in (*row.dst, *row.src)]
        regs = []
        for is_wide in wide[: len(row.dst) + sum(not t.startswith("dst") for t in row.src)]:
            r = 2 * draw(st.integers(0, 12))
            regs.append(f"s[{r}:{r + 1}]" if is_wide else f"s{r}")
        if draw(st.integers(0, 9)) == 0 and row.dst:
            regs[0] = "exec" if wide[0] else "exec_lo"
        return f"{name} {', '.join(regs)}"
    name = draw(st.sampled_from(SIMPLE))
    row = vector_table()[name]
    dsts = [] if row.exec_dst else [destination(t, draw) for t in row.dst]
    srcs = [operand(t, draw) for t in row.src[: len(row.src) - row.accumulate]]
    clamp = " clamp" if draw(st.integers(0, 9)) == 0 else ""
    return f"{name} {', '.join(dsts + srcs)}{clamp}"


def run_texts(arch: str, texts: list[str], seed: int, lanes: int = 32) -> tuple[Wave, SimulatedFault | None]:
    rng = np.random.default_rng(seed)
    rows = [(4 * i, (0,), t) for i, t in enumerate([*texts, "s_endpgm"])]
    code = decode_lines(arch, rows)
    listing = Listing(arch, code, {}, {i.pc: i.index for i in code})
    w = Wave(lanes, 32, 32)
    w.v[:] = rng.integers(0, 1 << 32, w.v.shape, dtype=np.uint32)
    w.s[:32] = [int(x) for x in rng.integers(0, 1 << 32, 32, dtype=np.uint64)]
    w.memory, w.lds = Memory(), LDS(1024)
    w.memory.add("a", np.zeros(4096, np.uint8))
    w.memory.freeze()
    w.wg = Workgroup((0, 0, 0), [w], w.lds)
    program = Program(Context(arch, archdata.facts(arch), lanes, 32, 0, listing))
    try:
        with np.errstate(all="ignore"):
            program.run(w, 1000)
    except SimulatedFault as e:
        return w, e
    return w, None


@given(st.lists(instruction(), min_size=1, max_size=12), st.integers(0, 1 << 20))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_alu_programs_end_in_a_result_or_a_named_fault(texts: list[str], seed: int) -> None:
    w, fault = run_texts("gfx1100", texts, seed)
    if fault is None:
        assert w.done
    else:
        assert fault.kind == "unimplemented", fault.message
    assert w.v.dtype == np.uint32
    assert all(0 <= x < 1 << 32 for x in w.s)
    assert w.full == (w.s[126] == 0xFFFFFFFF)


@given(
    st.lists(st.integers(0, 0xFFFFFFFF), min_size=4, max_size=64),
    st.sampled_from(["gfx942", "gfx1100", "gfx1200"]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_machine_code_never_crashes(words: list[int], arch: str) -> None:
    from isaprof.isa.decode import listing_of
    from isaprof.isa.objdump import CodeRange

    code = b"".join(w.to_bytes(4, "little") for w in words)
    listing = listing_of(arch, [CodeRange(0, code)])
    lanes = 64 if arch.startswith("gfx9") else 32
    w = Wave(lanes, 64, 32)
    w.memory, w.lds = Memory(), LDS(1024)
    w.memory.add("a", np.zeros(4096, np.uint8))
    w.memory.freeze()
    w.wg = Workgroup((0, 0, 0), [w], w.lds)
    program = Program(Context(arch, archdata.facts(arch), lanes, 32, 32, listing))
    # any named fault will do; every other exception fails the test
    with np.errstate(all="ignore"), suppress(SimulatedFault):
        program.run(w, 2000)


@pytest.mark.parametrize("name", SIMPLE)
def test_every_vector_operation_runs_on_registers(name: str) -> None:
    """Types fit: results are stored without a cast error, with all lanes and with some."""
    row = vector_table()[name]
    explicit = row.src[: len(row.src) - row.accumulate]

    def reg(t: str, i: int) -> str:
        if t == "mask":
            return "vcc_lo"
        return f"v[{4 * i}:{4 * i + 1}]" if t in ("u64", "i64", "f64") else f"v{4 * i}"

    dsts = [] if row.exec_dst else [reg(t, 6 - i) for i, t in enumerate(row.dst)]
    text = f"{name} {', '.join([*dsts, *(reg(t, i) for i, t in enumerate(explicit))])}"
    for exec_lo in ("-1", "0x5555aaaa"):
        _, fault = run_texts("gfx1100", [f"s_mov_b32 exec_lo, {exec_lo}", text], 5)
        assert fault is None, fault


@pytest.mark.parametrize("name", sorted(n for n in vector_table() if n.startswith("v_s_") and "f64" not in n))
def test_pseudo_scalar_functions_go_from_sgpr_to_sgpr(name: str) -> None:
    """Whatever EXEC says; the upper half of a 16-bit result is 0."""
    half = name.endswith("f16")
    four = np.array([4.0], np.float16 if half else np.float32)
    bits = int(four.view(np.uint16 if half else np.uint32)[0])
    w, fault = run_texts(
        "gfx1200", ["s_mov_b32 exec_lo, 0", f"s_mov_b32 s4, {bits:#x}", f"{name} s5, -s4"], 1
    )
    assert fault is None, fault
    got = np.array([w.s[5]], np.uint32).view(np.float16 if half else np.float32)[0]
    with np.errstate(all="ignore"):
        want = {
            "exp": 2.0**-4, "log": np.nan, "rcp": -0.25, "rsq": np.nan, "sqrt": np.nan,
        }[name.split("_")[2]]  # fmt: skip
    assert np.isnan(got) if np.isnan(want) else got == want
    assert not half or w.s[5] < 1 << 16
