"""Constant folding, simplification and the vector rules agree with each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof.inspect.evaluate import _RULES, Evaluator
from isaprof.inspect.values import Graph, Node, constant, fold

WORD = st.one_of(
    st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 31, 32, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF])
)
TWO = sorted(op for op in _RULES if op not in ("select", "sext8", "sext16", "sext24"))


@given(st.sampled_from(TWO), WORD, WORD)
def test_folding_is_the_vector_rule(op: str, a: int, b: int) -> None:
    g = Graph()
    expected = fold(op, [a, b])
    assert constant(g.op(op, g.const(a), g.const(b))) == expected
    leaf = g.leaf("leaf", "tid.x", varies=True)
    # the same through the evaluator: (tid.x * 0 would fold, so a constant vector comes from min)
    node = g.op(op, g.op("min_u", g.op("or", leaf, g.const(a)), g.const(a)), g.const(b))
    values = Evaluator((1, 1, 1), 64).values(node)
    assert values is not None
    assert int(values[0][0]) == expected


@given(st.sampled_from(["sext8", "sext16", "sext24"]), WORD)
def test_sign_extension(op: str, a: int) -> None:
    bits = int(op[4:])
    low = a & ((1 << bits) - 1)
    expected = (low - (1 << bits) if low >> (bits - 1) else low) & 0xFFFFFFFF
    assert fold(op, [a]) == expected


@given(st.lists(st.tuples(st.sampled_from(TWO), WORD), max_size=6))
def test_simplified_expressions_keep_their_value(steps: list[tuple[str, int]]) -> None:
    """A chain on tid.x, evaluated at every work-item, is what Python's integers say."""
    g = Graph()
    node: Node = g.leaf("leaf", "tid.x", varies=True)
    plain = list(range(64))
    for op, c in steps:
        node = g.op(op, node, g.const(c))
        plain = [fold(op, [x, c]) or 0 for x in plain]
    values = Evaluator((64, 1, 1), 64).values(node)
    assert values is not None
    assert values[0].tolist() == plain


def test_an_unknown_value_is_never_evaluated() -> None:
    g = Graph()
    unknown = g.part(g.opaque("global_load_dword", (), 3, varies=True), 0)
    tid = g.leaf("leaf", "tid.x", varies=True)
    assert Evaluator((64, 1, 1), 64).values(g.op("add", tid, unknown)) is None
    assert Evaluator((64, 1, 1), 64).values(g.leaf("kernarg", 16)) is None


def test_alternatives_and_recurrences() -> None:
    g = Graph()
    toggle = g.phi(1, 5, varies=False)
    toggle.args = (g.const(0), g.op("xor", toggle, g.const(0x4000)))
    values = Evaluator((64, 1, 1), 64).values(toggle)
    assert values is not None
    assert sorted(int(v[0]) for v in values) == [0, 0x4000]
    growing = g.phi(1, 6, varies=False)
    growing.args = (g.const(0), g.op("add", growing, g.const(16)))
    assert Evaluator((64, 1, 1), 64).values(growing) is None
    # a condition that only the launch knows: both sides
    either = g.op("select", g.leaf("kernarg", 0), g.const(1), g.const(2))
    values = Evaluator((64, 1, 1), 64).values(either)
    assert values is not None
    assert sorted(int(v[0]) for v in values) == [1, 2]


def test_exec_is_restored_after_an_else() -> None:
    g = Graph()
    whole, condition = g.leaf("leaf", "exec.lo"), g.leaf("leaf", "vcc", varies=True)
    narrowed = g.op("and", whole, condition)
    assert g.op("or", narrowed, whole) is whole
    assert g.op("or", g.op("xor", narrowed, whole), narrowed) is whole


def test_first_lane() -> None:
    g = Graph()
    wave = g.op("first", g.op("shr", g.leaf("leaf", "tid.x", varies=True), g.const(6)))
    values = Evaluator((256, 1, 1), 64).values(wave)
    assert values is not None
    assert values[0].tolist() == [i // 64 for i in range(256)]
    assert g.op("first", g.leaf("leaf", "wg.x")) is g.leaf("leaf", "wg.x")


@pytest.mark.parametrize("shape", [(64, 2, 1), (4, 4, 4)])
def test_work_item_ids(shape: tuple[int, int, int]) -> None:
    e = Evaluator(shape, 64)
    g = Graph()
    ids = [e.values(g.leaf("leaf", f"tid.{n}", varies=True)) for n in "xyz"]
    flat = [int(x + shape[0] * (y + shape[1] * z)) for x, y, z in zip(*(v[0] for v in ids if v), strict=True)]
    assert flat == list(range(shape[0] * shape[1] * shape[2]))
