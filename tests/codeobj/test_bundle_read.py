"""Bundles in every container: found, expanded, taken out byte for byte."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from isaprof.codeobj.elf import CodeObject
from isaprof.codeobj.source import Source, load_object, read_source
from isaprof.errors import BadInput
from tests import synthetic_bundle as make

TARGETS = ("gfx90a:xnack-", "gfx1030", "gfx1151")


@pytest.fixture(scope="module")
def objects() -> dict[str, bytes]:
    return {t: make.code_object(t, "alpha", "beta") for t in TARGETS}


@pytest.fixture(scope="module")
def others() -> dict[str, bytes]:
    return {t: make.code_object(t, "gamma") for t in TARGETS}


def opened(tmp_path: Path, data: bytes, name: str = "file") -> Source:
    path = tmp_path / name
    path.write_bytes(data)
    return read_source(path)


def taken(source: Source) -> list[tuple[str | None, bytes]]:
    return [(i.target, i.data()) for i in source.objects]


def test_a_plain_bundle(tmp_path: Path, objects: dict[str, bytes]) -> None:
    source = opened(tmp_path, make.by_target(objects))
    assert taken(source) == list(objects.items())
    host = source.items[0]
    assert (host.id, host.host, host.size, host.target) == (make.HOST, True, 0, None)
    assert all(i.kernels == ("alpha", "beta") for i in source.objects)
    assert [i.offset % 4096 for i in source.objects] == [0, 0, 0]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(("method", "sized"), [("zlib", True), ("zstd", True), ("zstd", False)])
def test_compressed_bundles(
    tmp_path: Path, objects: dict[str, bytes], version: int, method: str, sized: bool
) -> None:
    bundle = make.by_target(objects)
    source = opened(tmp_path, make.compressed(bundle, version, method, sized=sized))
    assert taken(source) == list(objects.items())
    c = source.bundles[0].compression
    assert c is not None
    assert (c.version, c.method, c.uncompressed_size) == (version, method, len(bundle))
    assert c.total_size == source.bundles[0].size == (tmp_path / "file").stat().st_size


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("host", [make.elf_host, make.pe_host, make.section])
def test_several_bundles_in_a_file(
    tmp_path: Path, objects: dict[str, bytes], others: dict[str, bytes], version: int, host: object
) -> None:
    first, second = make.by_target(objects), make.by_target(others)
    data = host([make.compressed(first, version), second, make.compressed(first, version, "zlib")])  # type: ignore[operator]
    source = opened(tmp_path, data)
    assert taken(source) == [*objects.items(), *others.items(), *objects.items()]
    assert [i.bundle for i in source.objects] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert source.notes == ()


def test_bundles_without_space_between_them(tmp_path: Path, objects: dict[str, bytes]) -> None:
    one = make.compressed(make.by_target(objects))
    assert len(taken(opened(tmp_path, one + one))) == 6


def test_the_letters_ccob_in_other_data_are_no_bundle(tmp_path: Path, objects: dict[str, bytes]) -> None:
    noise = b"\1" + b"CCOB" * 300
    source = opened(tmp_path, make.elf_host([make.by_target(objects), noise]))
    assert len(source.bundles) == 1


def test_fewer_bundles_than_the_program_registers_is_said(tmp_path: Path, objects: dict[str, bytes]) -> None:
    source = opened(tmp_path, make.elf_host([make.by_target(objects)], wrappers=3))
    assert source.notes == ("the program registers 3 bundles, 1 were found",)


@pytest.mark.parametrize("directory_counts", [True, False])
def test_an_aotriton_archive(tmp_path: Path, objects: dict[str, bytes], directory_counts: bool) -> None:
    rows = [(f"attn_fwd/FONLY__{n}.hsaco", data) for n, data in enumerate(objects.values())]
    source = opened(tmp_path, make.aks2(rows, directory_counts=directory_counts))
    assert taken(source) == list(objects.items())
    assert [i.id for i in source.items] == [name for name, _ in rows]


def test_a_bare_object_is_its_own_container(tmp_path: Path, objects: dict[str, bytes]) -> None:
    source = opened(tmp_path, objects["gfx1030"])
    assert taken(source) == [("gfx1030", objects["gfx1030"])]


def test_other_payloads_are_listed_by_what_they_are(tmp_path: Path) -> None:
    rows = [
        ("hip-spirv64-amd-amdhsa--amdgcnspirv", b"\x03\x02\x23\x07" + bytes(40)),
        (make.entry_id("gfx1030"), b"BC\xc0\xde" + bytes(40)),
    ]
    source = opened(tmp_path, make.plain(rows))
    assert [i.peek.payload for i in source.items] == ["empty", "SPIR-V", "LLVM bitcode"]
    with pytest.raises(BadInput, match=r"no code object for AMD GPUs.*LLVM bitcode, SPIR-V"):
        load_object(source.path, target="gfx1030")


def test_hosts_without_gpu_code(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(make.elf_host([b"\1" * 64], name=".rodata_xyz"))
    with pytest.raises(BadInput, match=r"without GPU code: it has no section \.hip_fatbin"):
        load_object(path)
    path.write_bytes(make.elf_host([b"\1" * 64]))
    with pytest.raises(BadInput, match=r"section \.hip_fatbin .* holds no offload bundle"):
        load_object(path)
    path.write_bytes(make.elf_host([b"\1" * 64], name=".llvm.offloading"))
    with pytest.raises(BadInput, match="not linked yet"):
        load_object(path)


SAMPLES = (
    "bitsandbytes_rocm714_2.ccob",
    "bitsandbytes_rocm72_2.ccob",
    "hip_quant_lfm.bundle",
    "libbitsandbytes_rocm64.so",
)


@pytest.mark.parametrize("name", SAMPLES)
def test_real_files(data_dir: Path, name: str) -> None:
    """Everything that expected.json says of the sample, and nothing else in it."""
    folder = data_dir / "bundle"
    expected = json.loads((folder / "expected.json").read_text())["files"][name]
    source = read_source(folder / name)
    assert len(source.bundles) == len(expected["bundles"])
    for b, e in zip(source.bundles, expected["bundles"], strict=True):
        assert b.offset == e["offset"]
        c = b.compression
        assert (c is not None) == e["compressed"]
        if c is not None:
            assert b.size == e["total_size"]
            fields = (c.version, c.method, c.header_size, c.total_size, c.uncompressed_size)
            assert fields == tuple(
                e[k] for k in ("version", "method", "header_size", "total_size", "uncompressed_size")
            )
            assert f"{c.hash:016x}" == e["hash"]
    got = [i.describe() for i in source.items]
    want = [(n, e) for n, b in enumerate(expected["bundles"]) for e in b["entries"]]
    assert len(got) == len(want)
    for g, (n, e) in zip(got, want, strict=True):
        assert (g["bundle"], g["id"], g["offset"], g["size"]) == (n, e["id"], e["offset"], e["size"])
        if e["size"]:
            assert (g["sha256"], g["elf_abi_version"], g["e_flags"]) == (
                e["sha256"], e["elf_abi_version"], e["e_flags"],
            )  # fmt: skip
            assert len(g["kernels"]) == e["kernels"]
            assert g["target"] == g["elf_target"].split(":")[0] == e["id"].rpartition("--")[2]


def test_sections_of_the_real_library(data_dir: Path) -> None:
    from isaprof.codeobj.bundle_host import read

    folder = data_dir / "bundle"
    expected = json.loads((folder / "expected.json").read_text())["files"]["libbitsandbytes_rocm64.so"]
    host = read((folder / "libbitsandbytes_rocm64.so").read_bytes())
    assert host is not None
    got = {
        r.name: {"offset": r.offset, "addr": r.address, "size": r.size} for r in host.fatbins + host.segments
    }
    assert got == expected["sections"]
    assert host.wrappers == 2


def test_loading_a_real_object_gives_the_bytes_of_its_sample(data_dir: Path) -> None:
    data, co, origin = load_object(data_dir / "bundle" / "bitsandbytes_rocm72_2.ccob", target="gfx1151")
    sample = (data_dir / "co/gfx1151/bitsandbytes/kernels_rocm72.co").read_bytes()
    assert data == sample
    assert co.sha256 == hashlib.sha256(sample).hexdigest()
    assert origin.embedded
    # the quick look at symbol names and the full reader agree
    whole = {k.name for k in CodeObject.from_bytes(sample).kernels}
    source = read_source(data_dir / "bundle" / "bitsandbytes_rocm72_2.ccob")
    assert {n for i in source.objects if i.target == "gfx1151" for n in i.kernels} == whole
