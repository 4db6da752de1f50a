"""The alignment of two texts against a reference LCS."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from isaprof.compare.lcs import align

texts = st.lists(st.sampled_from("abcdefg"), max_size=40)


def longest(a: list[str], b: list[str]) -> int:
    """Length of the LCS by dynamic programming."""
    row = [0] * (len(b) + 1)
    for x in a:
        new = [0]
        for j, y in enumerate(b):
            new.append(row[j] + 1 if x == y else max(new[j], row[j + 1]))
        row = new
    return row[-1]


@given(texts, texts)
def test_pairs_are_equal_texts_in_order(a: list[str], b: list[str]) -> None:
    pairs = align(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(p[0] < q[0] and p[1] < q[1] for p, q in pairwise(pairs))


@given(texts, texts)
def test_without_anchors_the_alignment_is_a_longest_one(a: list[str], b: list[str]) -> None:
    assert len(align(a, b, anchors=False)) == longest(a, b)


@given(texts)
def test_equal_texts_align_completely(a: list[str]) -> None:
    assert align(a, list(a)) == [(i, i) for i in range(len(a))]


def test_one_edit_in_twelve_thousand_lines_is_one_edit() -> None:
    rng = random.Random(3)
    a = [f"v_mfma {rng.randrange(60)}" for _ in range(12_000)]
    b = [*a[:5000], "s_nop 0", *a[5000:8000], *a[8010:]]
    assert len(align(a, b)) == 12_000 - 10


def test_blocks_without_anything_in_common_end() -> None:
    assert align(["a"] * 5000, ["b"] * 5000) == []
    shuffled = [str(i % 97) for i in range(6000)]
    other = [str(i * 7 % 97) for i in range(6000)]
    assert align(shuffled, other)
