"""What one launch file for a family needs: symbol patterns, slots, options, choices, memory, tolerances."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from isaprof.errors import BadInput, UsageError
from isaprof.launch import LaunchFile, find, skeleton, symbol
from isaprof.launch.file import Tolerance
from isaprof.launch.layouts import place
from isaprof.launch.resolve import require_memory

from .kernels import arg, code_object, kernel

FAMILY = """
schema_version = 1
[kernel]
symbol = "*scale_{TM}x{TN}{HALF?_f16}*{FAST~_fast}"
slot = 16
kernarg_size = 0x44
[arch]
FNUZ = { gfx942 = 1, default = 0 }
[shape]
axes = ["M", "N"]
default = [8, 8]
options = { split = "2 if FAST else 1", bias = 0 }
[let]
gdz = "split"
[launch]
grid = ["ceil_div(N, TN)", "ceil_div(M, TM)", "gdz"]
workgroup = [64]
[[operand]]
name = "C"
role = "output"
dtype = { when = "HALF", then = "f16", else = "f32" }
shape = ["M", "N"]
elements = "round_up(M, TM)*N"
spill = "FAST"
fill = { rule = "zeros", when = "split > 1" }
tile = { start = ["wg_y*TM", "wg_x*TN"], size = ["TM", "TN"], needs = "split" }
[[operand]]
name = "A"
role = "input"
dtype = { when = "FNUZ", then = "fp8_e4m3fnuz", else = "fp8_e4m3" }
shape = ["M", "N"]
fill = { rule = "constant", value = "TN" }
[[operand]]
name = "Bias"
role = "input"
dtype = "f32"
shape = ["N"]
fill = "normal"
when = "bias"
[[argument]]
offset = 0x00
name = "C"
pointer = "C"
[[argument]]
offset = 0x10
name = "A"
pointer = "A"
[[argument]]
offset = 0x20
name = "Bias"
pointer = "Bias"
[[argument]]
offset = 0x30
name = "scale"
type = "f32"
value = { rsqrt = "TN" }
[[argument]]
offset = 0x40
name = "rows"
type = "u32"
value = "M"
[[argument]]
offset = 0x50
name = "split"
type = "u32"
value = "split"
optional = true
[[constraint]]
require = "M % TM == 0"
message = "whole tiles of rows"
[reference]
function = "scaled_matmul_nt"
[tolerance]
rtol = 0.01
[[tolerance.case]]
when = "split > 1"
atol_of_max = 0.5
reason = "added up"
"""
NAME = "_ZN3foo10scale_4x8E"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "x.launch.toml"
    file.write_text(FAMILY)
    return file


def bound(path: Path, name: str = NAME, arch: str = "gfx950", size: int = 96) -> LaunchFile:
    return find(kernel(name, size, []), code_object(arch), explicit=path)


@pytest.mark.parametrize(
    ("pattern", "name", "values"),
    [
        ("plain", "plain", {}),
        ("plain", "plains", None),
        ("a*b", "a.+b", {}),
        ("t_{M}x{N}", "t_12x7", {"M": 12, "N": 7}),
        ("t_{M}x{N}", "t_12x", None),
        ("t_{M}x{N}", "t_-1x2", None),
        ("t{A?_a}{B?_b}", "t_b", {"A": 0, "B": 1}),
        ("t{A?_a}{B?_b}", "t_b_a", None),
        ("t*{A~_a}{B~_c}", "t_b_a", {"A": 1, "B": 0}),
    ],
)
def test_symbol_patterns(pattern: str, name: str, values: dict[str, int] | None) -> None:
    assert symbol.parse(pattern).match(name) == values


@pytest.mark.parametrize(
    ("pattern", "says"), [("{A}{A}", "twice"), ("*" * 9, "more than"), ("x{A}{", "brace")]
)
def test_symbol_patterns_that_are_refused(pattern: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        symbol.parse(pattern)


def test_numbers_of_the_symbol_and_of_the_architecture(path: Path) -> None:
    r = bound(path).resolve("8,16")
    assert r.grid == (2, 2, 1)
    assert (r.operand("C").dtype, r.operand("A").dtype) == ("f32", "fp8_e4m3")
    assert r.operand("A").values().max() == 8, "a fill parameter from the symbol"
    half = bound(path, "scale_8x16_f16_fast", "gfx942").resolve("8,16")
    assert half.grid == (1, 1, 2)
    assert (half.operand("C").dtype, half.operand("A").dtype) == ("f16", "fp8_e4m3fnuz")
    assert half.operand("C").spill
    assert half.operand("C").fill == "zeros"


def test_options_by_name_after_the_axes(path: Path) -> None:
    file = bound(path)
    assert file.resolve("8,16,split=4").shape == {"M": 8, "N": 16, "split": 4, "bias": 0}
    assert file.resolve("split=3").shape["M"] == 8, "options alone leave the default shape"
    assert "Bias" not in {o.name for o in file.resolve("8,16").operands}
    assert file.resolve("8,16,bias=1").operand("Bias").shape == (16,)
    for text, says in (
        ("8,16,depth=1", "unknown axis 'depth'.*options split, bias"),
        ("8,split=1,16", "come first"),
        ("8,16,split=-1", "too small"),
        ("8,16,split=1,split=1", "twice"),
        ("6,16", "whole tiles of rows"),
        ("  ", "--shape is empty"),
    ):
        with pytest.raises(UsageError, match=says):
            file.resolve(text)


def test_arguments_in_slots(path: Path) -> None:
    data = bound(path).resolve("8,16,split=5").kernarg({"C": 1, "A": 2, "Bias": 3})
    assert len(data) == 96
    assert struct.unpack_from("<QxxxxxxxxQxxxxxxxxQ", data) == (1, 2, 3)
    assert struct.unpack_from("<f", data, 0x30)[0] == pytest.approx(8**-0.5)
    assert struct.unpack_from("<I12xI", data, 0x40) == (8, 5)
    assert struct.unpack_from("<Q", bound(path).resolve("8,16").kernarg({"C": 1, "A": 2}), 0x20) == (0,)
    short = bound(path, size=80).resolve("8,16").kernarg({"C": 1, "A": 2})
    assert len(short) == 80, "an optional argument beyond the segment is left out"


def test_a_segment_that_does_not_fit_is_named(path: Path) -> None:
    with pytest.raises(
        BadInput, match="segment of 64 bytes; argument rows of the file lies at 0x40, 4 bytes"
    ):
        bound(path, size=64)
    args = [arg(0, 8, "global_buffer"), arg(16, 4, "by_value"), arg(32, 8, "by_value")]
    with pytest.raises(BadInput, match="one of 4 bytes at 0x10; the file has A there, 8 bytes"):
        find(kernel(NAME, 96, args), code_object(), explicit=path)
    with pytest.raises(BadInput, match="no argument at 0x10; the file has A"):
        find(kernel(NAME, 96, [args[0], args[2]]), code_object(), explicit=path)


def test_a_builtin_that_knows_only_the_symbol_says_what_differs() -> None:
    with pytest.raises(
        BadInput, match="aiter_topksoftmax knows the symbol, but: kernarg segment of 64 bytes"
    ):
        find(kernel("_ZN5aiter19topksoftmax_4x128x4E", 64, []), code_object("gfx950"))
    with pytest.raises(BadInput, match="knows the symbol, but: architecture gfx1100"):
        find(kernel("_ZN5aiter19topksoftmax_4x128x4E", 128, []), code_object("gfx1100"))


def test_tolerances_follow_the_shape(path: Path) -> None:
    file = bound(path)
    assert file.resolve("8,16").tolerance.text() == "|out - ref| <= 0.01 |ref|"
    text = file.resolve("8,16,split=2").tolerance.text(8.0)
    assert text == "|out - ref| <= 0.5 max|ref| = 4 (added up)"
    exact = Tolerance(rtol=0.5, exact=frozenset({"T"}))
    assert exact.text().endswith("T equal")


def test_operands_beyond_the_memory_limit_are_refused_with_the_number(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = bound(path)
    with pytest.raises(UsageError, match=r"take [\d,.]+ GiB, .* the limit is .* largest operand is C: "):
        file.resolve("131072,131072")
    monkeypatch.setenv("ISAPROF_MAX_MEMORY", "0.25")
    assert file.resolve("1024,1024").shape["M"] == 1024
    require_memory(file, "1024,1024", 1)
    with pytest.raises(UsageError, match=r"for 20 launches; the limit is 0\.2 GiB \(ISAPROF_MAX_MEMORY\)"):
        require_memory(file, "1024,1024", 20)
    monkeypatch.setenv("ISAPROF_MAX_MEMORY", "lots")
    with pytest.raises(UsageError, match="expected a size in GiB"):
        file.resolve("8,8")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("FNUZ = { gfx942 = 1, default = 0 }", "FNUZ = { gfx942 = 1 }", "default"),
        ('axes = ["M", "N"]', 'axes = ["M", "TN"]', "share a name"),
        ("slot = 16", "slot = 12", "slot is"),
        ("offset = 0x40", "offset = 0x44", "slot of 16"),
        ('{ rsqrt = "TN" }', '{ sqrt = "TN" }', "only function"),
        ('spill = "FAST"', 'spill = "SLOW"', "unknown name SLOW"),
        ('when = "split > 1" }\ntile', 'whenever = "1" }\ntile', "fill zeros|whenever"),
    ],
)
def test_mistakes_name_the_key(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in FAMILY
    file = tmp_path / "bad.launch.toml"
    file.write_text(FAMILY.replace(old, new))
    with pytest.raises(BadInput, match=says):
        bound(file).resolve("8,16")


def test_shuffles_are_permutations_of_whole_blocks() -> None:
    for layout, columns in (("shuffle16x16_2byte", 32), ("shuffle16x16_4bit", 128), ("mx_scales_32x8", 16)):
        p = place(layout, (64, columns))
        assert sorted(p.positions) == list(range(64 * columns))
    # 2-byte elements: row 1 begins 16 bytes on, column 8 (byte 16) after the 16 rows
    two = place("shuffle16x16_2byte", (16, 16)).positions.reshape(16, 16)
    assert (two[1, 0], two[0, 8]) == (8, 128)
    four = place("shuffle16x16_4bit", (16, 64)).positions.reshape(16, 64)
    assert (four[1, 0], four[0, 32]) == (32, 512)
    scales = place("mx_scales_32x8", (64, 16)).positions.reshape(64, 16)
    assert [scales[i] for i in ((16, 0), (0, 4), (1, 0), (0, 1), (0, 8), (32, 0))] == [1, 2, 4, 64, 256, 512]


def test_a_skeleton_leaves_padding_to_the_slots() -> None:
    args = [arg(0, 8, "global_buffer", "D"), arg(8, 8, "by_value", "pad"), arg(16, 4, "by_value", "N"),
            arg(20, 4, "by_value", "pad")]  # fmt: skip
    k = kernel("allreduce_thing", 32, args, reqd_workgroup_size=[256, 1, 1])
    text = skeleton(k, code_object())
    assert "slot = 16" in text
    assert "pad" not in text.replace("padding", "")
    assert "no host driver of aiter's all-reduce kernels is public" in text
    LaunchFile.parse(text, "x")
