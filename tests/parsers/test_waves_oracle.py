"""Waves, addresses, issue times, durations, stalls and occupancy of every real trace.

Oracles: expected.json (tinygrad: waves, addresses, packet times of RDNA),
expected_timing.json (AMD's rules restated) and known_rocprof.json (AMD's own
program, one wave). Where they disagree the specification decides:

* gfx950 times: tinygrad leaves out the delta in bit 4 of every packet, so only
  expected_timing.json is compared.
* gfx1200 ``sync``: s_barrier_wait writes no packet; expected_timing.json has a
  row for it, expected.json has none.
* gfx950 rows of s_endpgm and ends of waves: AMD's decode of another capture
  (att/wave_gemm_gfx950) shows that the row begins where its predecessor ends and
  that a wave ends at its WAVE_END packet; expected_timing.json predates that.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.parsers.oracles import CATEGORY, EXAMPLES, oracle, rows, stitched

RDNA = [e for e in EXAMPLES if not e.startswith("gfx950")]
#: bits of the WGP number in expected.json's and expected_timing.json's cu (cu = wgp | sa << bits)
SA_SHIFT = {"gfx1100": 3, "gfx1200": 4}


def same_cu(cu: int, arch: str) -> int:
    """Our cu number (wgp + 128 * sa) in the oracles' form."""
    return cu & 127 | cu >> 7 << SA_SHIFT.get(arch, 7)


def test_rows_and_occupancy_equal_expected_timing(example: Path) -> None:
    """Every wave, row by row; on gfx950 exactly one row a wave (s_endpgm) and its end may differ."""
    arch = example.parent.name
    differing = waves_seen = 0
    for trace in oracle(example, "expected_timing.json")["traces"]:
        engine, waves, code = stitched(example, trace["file"])
        occupancy = [[o.time, same_cu(o.cu, arch), o.simd, o.slot, int(o.start)] for o in engine.occupancy]
        assert occupancy == trace["occupancy"], trace["file"]
        want = {(w["simd"], w["slot"], w["begin"]): w for w in trace["waves"] if w["insts"]}
        assert {(w.simd, w.slot, w.begin) for w in waves} == set(want), trace["file"]
        for w in waves:
            waves_seen += 1
            expected = want[w.simd, w.slot, w.begin]
            got = rows(w, code)
            wanted = [[pc, t, CATEGORY.get(c, c), d, s] for pc, t, c, d, s in expected["insts"]]
            assert (w.stitched, w.start_seen, w.end_seen) == (True, True, True)
            assert len(got) == len(wanted)
            unequal = [i for i, (a, b) in enumerate(zip(got, wanted, strict=True)) if a != b]
            if arch == "gfx950":
                last = len(got) - 1
                assert unequal == [last]
                assert w.end == expected["end"] - 4
                pc, time, _, duration, stall = got[last]
                assert time == got[last - 1][1] + got[last - 1][3]
                assert [pc, time + duration, stall] == [wanted[last][0], wanted[last][1] + 4, 0]
                differing += 1
            else:
                assert unequal == []
                assert w.end == expected["end"]
                assert [[s.name, n] for s, n in w.timeline.runs] == expected["states"]
    assert differing == (waves_seen if arch == "gfx950" else 0)


@pytest.mark.parametrize("name", RDNA)
def test_issue_times_equal_tinygrad(name: str, data_dir: Path) -> None:
    """RDNA: time + stall is the packet's time, for every instruction but s_endpgm; addresses are equal."""
    folder = data_dir / "sqtt" / name
    barriers = compared = 0
    for trace in oracle(folder, "expected.json")["traces"]:
        engine, waves, code = stitched(folder, trace["file"])
        every = {(same_cu(w.cu, folder.parent.name), w.simd, w.slot, w.begin, w.end) for w in engine.waves}
        assert every == {(w["cu"], w["simd"], w["slot"], w["start"], w["end"]) for w in trace["waves"]}
        want = {
            (w["simd"], w["slot"], w["start"]): w["insts"]
            for w in trace["waves"]
            if len(w.get("insts", ())) > 1
        }
        for w in waves:
            got = [(pc, time + stall) for pc, time, _, _, stall in rows(w, code)][:-1]
            waits = {
                i.pc for i in code.instructions if i.mnemonic == "s_barrier_wait"
            } if engine.header.exclude_barrier_wait else set()  # fmt: skip
            barriers += sum(pc in waits for pc, _ in got)
            got = [x for x in got if x[0] not in waits]
            assert got == [(pc, t) for pc, t, _, _ in want[w.simd, w.slot, w.begin][:-1]]
            compared += len(got)
    assert barriers == {"gfx1200/sync_run0": 2}.get(name, barriers)
    assert compared or "empty" in name


def test_times_of_amds_own_program(data_dir: Path) -> None:
    """known_rocprof.json: the one published result of rocprof-trace-decoder for these traces."""
    known = json.loads((data_dir / "sqtt" / "known_rocprof.json").read_text())
    arch, example, file = known["trace"].split("/")
    _, waves, code = stitched(data_dir / "sqtt" / arch / example, file)
    (wave,) = [w for w in waves if (w.cu, w.simd, w.slot) == (known["cu"], known["simd"], known["slot"])]
    assert [r[1] for r in rows(wave, code)] == known["inst_times"]
