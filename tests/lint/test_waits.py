"""Wait counters: missing waits are named with load, path and count; waits with nothing to wait for warn."""

from __future__ import annotations

from isaprof.lint import Kind, Severity
from tests.lint.kernels import clean, lint, of_rule, only

RULE = "wait-missing"


def test_read_before_the_wait() -> None:
    body = """
	global_load_dword v1, v0, s[2:3]
	global_load_dword v2, v0, s[2:3] offset:64
	s_waitcnt vmcnt(1)
	v_add_f32 v3, v2, v2
"""
    f = only(body, RULE)
    assert (f.severity, f.line, f.required, f.unit) == (Severity.ERROR, 12, 0, Kind.WAIT)
    assert "reads v2" in f.message
    assert "s_waitcnt vmcnt(0)" in f.message
    assert [s.line for s in f.path] == [10, 12]
    assert clean(body.replace("v2, v2", "v1, v1"), RULE)
    assert clean(body.replace("vmcnt(1)", "vmcnt(0)"), RULE)


def test_overwrite_of_a_pending_result() -> None:
    f = only("	global_load_dword v1, v0, s[2:3]\n	v_mov_b32 v1, 0", RULE)
    assert "overwrites v1" in f.message
    assert "destroys" in f.why


def test_the_younger_operations_are_counted() -> None:
    body = "	ds_read_b32 v1, v0\n	ds_read_b32 v2, v0\n	ds_read_b32 v3, v0\n	v_mov_b32 v9, v1"
    f = only(body, RULE)
    assert f.required == 2
    assert "lgkmcnt(2)" in f.message


def test_a_full_counter_proves_the_oldest_done() -> None:
    """15 younger LDS operations: the 16th cannot issue before the first is done (gfx9 lgkmcnt)."""
    assert clean(_young(15), RULE)
    assert only(_young(14), RULE).required == 14
    # all ones is no wait at all
    assert only(_young(3).replace("	v_mov", "	s_waitcnt lgkmcnt(15)\n	v_mov"), RULE).required == 3


def _young(n: int) -> str:
    return "	ds_read_b32 v1, v0\n" + "	ds_write_b32 v0, v9\n" * n + "	v_mov_b32 v20, v1"


def test_scalar_loads_come_back_in_any_order() -> None:
    body = "	s_load_dword s4, s[0:1], 0\n	s_load_dword s5, s[0:1], 4\n"
    body += "	s_waitcnt lgkmcnt(1)\n	s_mov_b32 s6, s4"
    f = only(body, RULE)
    assert f.required == 0
    assert "any order" in f.message


def test_one_path_is_enough() -> None:
    body = """
	global_load_dword v1, v0, s[2:3]
	s_cbranch_scc1 skip
	s_waitcnt vmcnt(0)
skip:
	v_mov_b32 v2, v1
"""
    f = only(body, RULE)
    assert [s.role for s in f.path] == ["load", "branch", "user"]
    assert clean(body.replace("skip:\n", "skip:\n	s_waitcnt vmcnt(0)\n"), RULE)


def test_round_a_loop() -> None:
    body = """
loop:
	v_mov_b32 v2, v1
	global_load_dword v1, v0, s[2:3]
	s_cbranch_scc1 loop
"""
    assert only(body, RULE).required == 0


def test_ages_of_different_paths_are_not_mixed() -> None:
    """Two loads on one path, none on the other: no path has the wait and the age that conflict."""
    body = """
	global_load_dword v1, v0, s[2:3]
	s_cbranch_scc1 other
	global_load_dword v2, v0, s[2:3]
	s_waitcnt vmcnt(1)
	s_branch join
other:
	s_waitcnt vmcnt(0)
join:
	v_mov_b32 v3, v1
"""
    assert clean(body, RULE)


def test_later_users_of_one_load_are_one_finding() -> None:
    body = "	global_load_dword v1, v0, s[2:3]\n" + "".join(
        f"	v_mov_b32 v{n}, v1\n" for n in range(2, 6)
    )
    assert only(body, RULE).line == 10


def test_gfx12_names_its_own_wait() -> None:
    f = only("	global_load_b32 v1, v0, s[2:3]\n	v_mov_b32 v2, v1", RULE, "gfx1200")
    assert "s_wait_loadcnt 0" in f.message


def test_waitcnt_on_gfx12_is_a_full_drain() -> None:
    body = "	global_load_b32 v1, v0, s[2:3]\n	s_waitcnt 0xffff\n	v_mov_b32 v2, v1"
    report = lint(body, "gfx1200")
    assert [f.rule for f in report.findings if f.rule.startswith("wait")] == ["waitcnt-gfx12"]
    assert of_rule(report, "waitcnt-gfx12")[0].severity is Severity.WARNING


def test_redundant_waits() -> None:
    body = "	global_load_dword v1, v0, s[2:3]\n	s_waitcnt vmcnt(0)\n	v_mov_b32 v2, v1\n"
    body += "	s_waitcnt vmcnt(0)"
    f = only(body, "wait-redundant")
    assert (f.severity, f.line) == (Severity.WARNING, 12)
    # useful on one path
    body = """
	s_cbranch_scc1 skip
	global_load_dword v1, v0, s[2:3]
skip:
	s_waitcnt vmcnt(0)
"""
    assert clean(body, "wait-redundant")


def test_control_flow_through_a_register_is_no_verdict() -> None:
    body = "	global_load_dword v1, v0, s[2:3]\n	s_swappc_b64 s[30:31], s[4:5]\n	v_mov_b32 v2, v1"
    report = lint(body)
    assert not of_rule(report, RULE)
    assert "indirect_jump" in {u.topic for u in report.unjudged}


def test_vgpr_msb_is_followed() -> None:
    body = "	s_set_vgpr_msb 0x41\n	ds_load_b32 v1, v0\n	v_mov_b32 v2, v1"
    assert "reads v257" in only(body, RULE, "gfx1250").message
    assert of_rule(lint(body, "gfx1250"), "register-grant")


def test_a_vgpr_msb_that_depends_on_the_path_is_no_verdict() -> None:
    body = "	s_cbranch_scc1 other\n	s_set_vgpr_msb 0x41\nother:\n	ds_load_b32 v1, v0\n	v_mov_b32 v2, v1"  # noqa: E501
    report = lint(body, "gfx1250")
    assert not [f for f in report.findings if f.severity is Severity.ERROR]
    assert {"vgpr_msb"} <= {u.topic for u in report.unjudged}
    # scalar loads are judged all the same
    body = "	s_set_vgpr_msb 0x41\n	s_load_b32 s4, s[0:1], 0x0\n	s_mov_b32 s5, s4"
    assert "s_wait_kmcnt 0" in only(body, RULE, "gfx1250").message
