"""Launch files: parsing, shapes, kernarg bytes, matching, skeletons."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isaprof.errors import BadInput, IsaprofError, UsageError
from isaprof.launch import LaunchFile, find, load_plugin, skeleton
from isaprof.launch.kernarg import hidden_value
from isaprof.launch.match import builtins, mismatch

from .kernels import GEMM, arg, code_object, kernel


def gemm(**edits: str) -> LaunchFile:
    text = GEMM
    for old, new in edits.values():
        assert old in text
        text = text.replace(old, new)
    return LaunchFile.parse(text, "t.launch.toml")


def test_geometry_and_work_follow_from_the_shape() -> None:
    r = gemm().resolve("48,20,32")
    assert r.grid == (2, 3, 1)
    assert r.workgroup == (64, 1, 1)
    assert (r.dynamic_lds, r.flop) == (2 * 16 * 32, 2 * 48 * 20 * 32)
    assert r.operand("A").data.size == 48 * 40 * 2
    assert r.operand("C").data.size == (48 * 20 + 4) * 4
    assert gemm().resolve("K=32, N=20, M=48").shape == {"M": 48, "N": 20, "K": 32}


def test_kernarg_bytes() -> None:
    r = gemm().resolve("48,20,32")
    data = r.kernarg({"A": 0x1000, "B": 0x2000, "C": 0x3000})
    assert struct.unpack("<QQQifI", data[:36]) == (0x3000, 0x1000 + 96, 0x2000, 48, 1.5, 80)
    assert data[36:] == bytes(4)


def test_hidden_arguments_come_from_the_kernel() -> None:
    hidden = [
        arg(40, 4, "hidden_block_count_x"),
        arg(44, 2, "hidden_group_size_x"),
        arg(46, 2, "hidden_grid_dims"),
        arg(48, 8, "hidden_global_offset_x"),
        arg(56, 8, "hidden_hostcall_buffer"),
    ]
    k = kernel(size=64, args=[*kernel().args, *hidden])
    file = find(k, code_object(), explicit=_written(GEMM))
    data = file.resolve("48,20,32").kernarg({"A": 1, "B": 2, "C": 3})
    assert len(data) == 64
    assert struct.unpack_from("<IHHQQ", data, 40) == (2, 64, 2, 0, 0)
    with pytest.raises(BadInput, match="hidden_surprise"):
        hidden_value("hidden_surprise", (1, 1, 1), (1, 1, 1), 0)


_paths: list[Path] = []


@pytest.fixture(autouse=True)
def _tmp(tmp_path: Path) -> None:
    _paths[:] = [tmp_path]


def _written(text: str, name: str = "x.launch.toml") -> Path:
    path = _paths[0] / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ("1,2", "2 sizes for 3 axes"),
        ("16,16,16,16", "4 sizes for 3 axes"),
        ("M=16,N=16", "axis K"),
        ("M=16,N=16,Q=16", "unknown axis 'Q'"),
        ("M=16,M=16,N=1,K=16", "twice"),
        ("M=16,16,16", "by name or none"),
        ("16,0,16", "axis N: 0 is not positive"),
        ("-16,16,16", "axis M: -16"),
        ("16,x,16", "axis N: 'x'"),
        ("16,1e3,16", "axis N"),
        ("16,16,9999999999999", "too large"),
        ("16,16,17", "K = 17 is forbidden by the launch file: K must be a multiple of 16"),
        ("", "--shape is empty"),
        (None, "axes are M, N, K"),
        ("1000000000,16,16", "limit is .* GiB"),
    ],
)
def test_bad_shapes_are_usage_errors_that_name_axis_and_rule(shape: str | None, says: str) -> None:
    with pytest.raises(UsageError, match=says) as e:
        gemm().resolve(shape)
    assert e.value.exit_code == 2


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("schema_version = 1", "schema_version = 2", "schema_version 2"),
        ("dynamic_lds", "dynamic_ldz", "unknown key dynamic_ldz"),
        ('fill = "normal"\nseed = 5', "seed = 5", "fill"),
        ('dtype = "f32"', 'dtype = "f33"', "unknown dtype"),
        ('fill = "normal"', 'fill = "abnormal"', "unknown fill"),
        ('pitch = "K + 8"', 'pitch = "K + 8"\nlayout = "diagonal"', "unknown layout"),
        ('"2*M*N*K"', '"2*M*N*Q"', "unknown name Q"),
        ('"2*M*N*K"', "\"__import__('os')\"", "unknown function"),
        ('pointer = "B"', 'pointer = "BB"', "unknown operand 'BB'"),
        ("offset = 32", "offset = 28", "same offset"),
        ("offset = 32", "offset = 36", "no argument that fits"),
        ('type = "u32"', 'type = "i128"', "type 'i128'"),
        ('role = "output"', 'role = "outptu"', "role 'outptu'"),
        ("kernarg_size = 40", 'kernarg_size = "40"', "kernarg_size must be int"),
        ("[let]", "[let]\nM = 1", "not a new name"),
        ("size = [16, 16]", "size = [16]", "tile"),
        ('"matmul_nt"', '"matmul_ntt"', "unknown reference"),
    ],
)
def test_bad_launch_files_name_file_and_key(old: str, new: str, says: str) -> None:
    def use() -> None:
        r = gemm(x=(old, new)).resolve("16,16,16")
        r.verify({"C": bytes(r.operand("C").data)})

    with pytest.raises(BadInput, match=says) as e:
        use()
    assert "t.launch.toml" in str(e.value)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_launch_file_or_bad_input(data: bytes) -> None:
    with pytest.raises(BadInput):
        LaunchFile.parse(data, "x")


@given(st.text(max_size=40))
def test_any_shape_text_resolves_or_is_a_usage_error(text: str) -> None:
    file = LaunchFile.parse(GEMM.replace('"K % 16 == 0"', '"M*N*K <= 4096"'), "x")
    try:
        r = file.resolve(text)
    except UsageError:
        return
    assert all(v > 0 for v in r.shape.values())


def test_default_shape() -> None:
    file = gemm(x=('axes = ["M", "N", "K"]', 'axes = ["M", "N", "K"]\ndefault = [16, 32, 48]'))
    assert file.resolve(None).shape == {"M": 16, "N": 32, "K": 48}


def test_seed_changes_inputs_and_only_them() -> None:
    a, b, c = (gemm().resolve("16,16,16", seed=s) for s in (1, 1, 2))
    assert (a.operand("A").data == b.operand("A").data).all()
    assert (a.operand("B").data != c.operand("B").data).any()
    assert (a.operand("C").data == c.operand("C").data).all()


# -- matching ----------------------------------------------------------------


def test_matching_is_on_symbol_and_signature() -> None:
    file, co = gemm(), code_object()
    assert mismatch(file, kernel(), co) is None
    assert "symbol" in str(mismatch(file, kernel("other"), co))
    assert "signature" in str(mismatch(file, kernel(args=[arg(0, 8, "global_buffer")]), co))
    assert "40" in str(mismatch(file, kernel(size=48), co))
    assert mismatch(file, kernel(args=[]), co) is None, "metadata without arguments: size decides"
    assert "segment of 48" in str(mismatch(file, kernel(size=48, args=[]), co))
    limited = gemm(x=("kernarg_size = 40", 'kernarg_size = 40\narch = "gfx950"'))
    assert "architecture" in str(mismatch(limited, kernel(), co))
    hashed = gemm(x=("kernarg_size = 40", f'kernarg_size = 40\ncode_sha256 = "{"0" * 64}"'))
    assert "instructions" in str(mismatch(hashed, kernel(), co))


def test_search_order_explicit_beside_builtin(tmp_path: Path) -> None:
    three = [arg(o, 8, "global_buffer") for o in (0, 8, 16)]
    k = kernel("r_32_32_16_2", 24, three)
    assert find(k, code_object(), tmp_path / "k.co").origin == "builtin:tinygrad_gemm_32"
    text = next(f for f in builtins() if f.origin.endswith("gemm_32"))
    beside = _written(_builtin("tinygrad_gemm_32"), "k.launch.toml")
    assert find(k, code_object(), tmp_path / "k.co").origin == str(beside)
    other = _written(_builtin("tinygrad_gemm_32"), "other.toml")
    assert find(k, code_object(), tmp_path / "k.co", other).origin == str(other)
    assert text.resolve(None).grid == (32, 32, 1)


def _builtin(name: str) -> str:
    from importlib import resources

    return (resources.files("isaprof.launch") / "builtin" / f"{name}.launch.toml").read_text()


def test_a_launch_file_for_another_kernel_is_refused_not_ignored(tmp_path: Path) -> None:
    path = _written(GEMM)
    with pytest.raises(BadInput, match="another kernel: symbol nope"):
        find(kernel("nope"), code_object(), tmp_path / "k.co", path)


def test_no_launch_file_names_the_template_command(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as e:
        find(kernel("nope"), code_object(), tmp_path / "k.co")
    assert "isaprof launch-template" in str(e.value.hint)
    assert str(tmp_path / "k.co") in str(e.value.hint)


def test_every_builtin_parses_and_matches_itself() -> None:
    assert {f.origin for f in builtins()} >= {
        "builtin:tinygrad_gemm_32", "builtin:tinygrad_plus_3", "builtin:tinygrad_links_128"
    }  # fmt: skip
    for file in builtins():
        if any(s.names for s in file.match.symbols):
            with pytest.raises(UsageError, match="family of kernels"):
                file.resolve(None)
        elif file.default:
            file.resolve(None)


# -- skeleton ----------------------------------------------------------------


def test_skeleton_is_a_launch_file_that_matches_its_kernel() -> None:
    args = [arg(0, 8, "global_buffer", "out ptr"), arg(8, 4, "by_value", "n"), arg(12, 4, "by_value"),
            arg(16, 4, "hidden_block_count_x")]  # fmt: skip
    k = kernel("_Z3fooPf", 272, args, reqd_workgroup_size=[64, 2, 1])
    text = skeleton(k, code_object())
    file = find(k, code_object(), explicit=_written(text))
    r = file.resolve("1000")
    assert r.workgroup == (64, 2, 1)
    assert len(r.kernarg({o.name: 0 for o in r.operands})) == 272
    assert "TODO" in text
    assert r.verify({}).verified is None


@given(st.lists(st.sampled_from([1, 2, 4, 8, 12, 16, 64]), max_size=12), st.text(max_size=20))
def test_skeleton_of_any_signature_parses(sizes: list[int], name: str) -> None:
    args, at = [], 0
    for s in sizes:
        align = min(s & -s, 8)
        at = -(-at // align) * align
        args.append(arg(at, s, "global_buffer" if s == 8 else "by_value", name))
        at += s
    k = kernel(name, at, args)
    try:
        file = LaunchFile.parse(skeleton(k, code_object()), "x")
    except IsaprofError as e:  # pragma: no cover
        raise AssertionError(str(e)) from e
    assert mismatch(file, k, code_object()) is None


def test_plugin_registers_a_reference_and_errors_are_reported() -> None:
    path = _written(
        "from isaprof.launch.references import reference\n"
        "@reference('twice')\n"
        "def twice(case):\n    return {'C': case.inputs['A'] * 2}\n",
        "p.py",
    )
    load_plugin(path)
    from isaprof.launch.references import REFERENCES

    assert "twice" in REFERENCES
    del REFERENCES["twice"]
    with pytest.raises(BadInput, match="ZeroDivisionError"):
        load_plugin(_written("1/0\n", "q.py"))
    with pytest.raises(BadInput, match="SystemExit"):
        load_plugin(_written("raise SystemExit(0)\n", "r.py"))
    with pytest.raises(BadInput, match="no such plug-in"):
        load_plugin(_paths[0] / "absent.py")
