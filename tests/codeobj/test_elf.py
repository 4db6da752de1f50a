"""Code objects: target, kernels, descriptors, data; and what is not a code object."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isaprof.arch.targets import EF_AMDGPU_MACH
from isaprof.codeobj.elf import CodeObject
from isaprof.errors import BadInput, UsageError
from isaprof.isa.decode import disassemble
from isaprof.isa.llvm import assemble, find_tools, link, processors


def test_kernels_of_an_object(two_kernels: bytes) -> None:
    co = CodeObject.from_bytes(two_kernels)
    assert (co.arch, co.target_id, co.code_object_version) == ("gfx1100", "gfx1100", 6)
    assert [k.name for k in co.kernels] == ["first", "second"]
    first = co.kernel("first")
    assert co.kernel("first.kd") is first
    assert co.labels[first.entry] == "first"
    assert (first.size, first.kernarg_size, first.wave_size) == (20, 24, 32)
    assert [(a.name, a.offset, a.size, a.hidden) for a in first.args] == [
        ("out", 0, 8, False),
        (None, 8, 4, False),
        (None, 16, 4, True),
    ]
    second = co.kernel("second")
    assert (second.wave_size, second.args, second.metadata) == (64, (), {})


def test_descriptor_fields(two_kernels: bytes) -> None:
    d = CodeObject.from_bytes(two_kernels).kernel("first").descriptor
    assert (d.group_segment_fixed_size, d.private_segment_fixed_size, d.kernarg_size) == (4096, 16, 24)
    assert [(u.name, u.index, u.count) for u in d.user_sgprs] == [
        ("dispatch_ptr", 0, 2),
        ("kernarg_segment_ptr", 2, 2),
        ("dispatch_id", 4, 2),
    ]
    assert d.user_sgpr_count == 6
    assert d.workgroup_id_enabled == (True, True, False)
    assert d.workitem_id_dims == 3
    assert (d.vgpr_count, d.arch_vgpr_count, d.agpr_count, d.sgpr_count) == (48, 48, 0, 128)
    assert (d.round_mode_32, d.denorm_mode_16_64, d.denorm_mode_32) == (1, 3, 0)
    assert d.dx10_clamp
    assert d.ieee_mode
    assert d.wgp_mode


def test_wave_size_decides_the_width_of_lane_masks() -> None:
    source = """
.text
.globl k
.p2align 8
.type k,@function
k:
  v_cmp_eq_u32_e32 vcc, 0, v0
  s_endpgm
.rodata
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 4
  .amdhsa_wavefront_size32 0
.end_amdhsa_kernel
"""
    obj = assemble(source, "gfx1100", mattr="+real-true16,-wavefrontsize32,+wavefrontsize64")
    listing = disassemble(link([obj]))
    assert listing.instructions[0].text == "v_cmp_eq_u32_e32 vcc, 0, v0"


def test_each_kernel_is_read_with_its_own_wave_size(two_kernels: bytes) -> None:
    co = CodeObject.from_bytes(two_kernels)
    listing = disassemble(two_kernels)
    texts = [i.text for i in listing.instructions if i.base == "v_cmp_eq_u32"]
    assert texts == ["v_cmp_eq_u32_e32 vcc_lo, 0, v0", "v_cmp_eq_u32_e32 vcc, 0, v0"]
    second = listing.at(co.kernel("second").entry)
    assert second is not None
    assert second.index == listing.instructions.index(second)
    assert [(s.cls.value, s.count) for s in second.writes] == [("vcc", 2)]


def test_unified_registers_of_cdna() -> None:
    source = """
.text
.globl k
.p2align 8
.type k,@function
k:
  s_endpgm
.rodata
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 300
  .amdhsa_accum_offset 200
  .amdhsa_next_free_sgpr 40
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_user_sgpr_kernarg_preload_length 3
  .amdhsa_user_sgpr_kernarg_preload_offset 1
.end_amdhsa_kernel
"""
    k = CodeObject.from_bytes(link([assemble(source, "gfx950")])).kernel()
    d = k.descriptor
    assert (d.vgpr_count, d.accum_offset, d.arch_vgpr_count, d.agpr_count) == (304, 200, 200, 104)
    assert d.sgpr_count == 48  # 40 + VCC and the other trailing six, by 16
    assert (d.kernarg_preload_length, d.kernarg_preload_offset) == (3, 1)
    assert [(u.name, u.index, u.count) for u in d.user_sgprs] == [
        ("kernarg_segment_ptr", 0, 2),
        ("kernarg_preload", 2, 3),
    ]
    assert k.start == k.entry + 256
    assert d.wave_size == 64


def test_choice_of_a_kernel(two_kernels: bytes) -> None:
    co = CodeObject.from_bytes(two_kernels)
    with pytest.raises(UsageError, match="2 kernels, choose one: first, second"):
        co.kernel()
    with pytest.raises(BadInput, match="no kernel 'third'; it has: first, second"):
        co.kernel("third")
    none = CodeObject.from_bytes(assemble(".text\ns_endpgm\n", "gfx942"))
    with pytest.raises(BadInput, match="no kernel in this code object"):
        none.kernel()


def test_read_of_initialised_data(two_kernels: bytes) -> None:
    co = CodeObject.from_bytes(two_kernels)
    k = co.kernel("first")
    assert co.read(k.descriptor.address, 4) == (4096).to_bytes(4, "little")
    assert co.read(k.entry, 4) == co.text[0].data[:4]
    with pytest.raises(BadInput, match="no initialised data at 0x10000000"):
        co.read(0x10000000, 4)


def test_machine_numbers_are_those_of_the_assembler() -> None:
    known = {n for n in processors(str(find_tools().mc)) if n.startswith("gfx9") or n.startswith("gfx1")}
    names = {v: k for k, v in EF_AMDGPU_MACH.items()}
    assert known <= set(names)
    for arch in (
        "gfx90a",
        "gfx942",
        "gfx950",
        "gfx1030",
        "gfx1100",
        "gfx1151",
        "gfx1200",
        "gfx1201",
        "gfx1250",
    ):
        obj = assemble("s_endpgm\n", arch, mattr="")
        assert struct.unpack_from("<I", obj, 48)[0] & 0xFF == names[arch]


def test_target_features() -> None:
    source = '.amdgcn_target "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"\ns_endpgm\n'
    co = CodeObject.from_bytes(assemble(source, "gfx90a", mattr="+sramecc,-xnack"))
    assert (co.arch, co.target_id) == ("gfx90a", "gfx90a:sramecc+:xnack-")


@pytest.mark.parametrize(
    ("data", "match", "kind"),
    [
        (b"", "empty file", "not_elf"),
        (b"hello, world" * 20, "not an ELF file", "not_elf"),
        (b"\x7fELF\x02\x01", "truncated: 6 bytes", "truncated"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + bytes(64), "offload bundle", "bundle"),
        (b"CCOB" + bytes(64), "compressed offload bundle", "bundle"),
        (b"BC\xc0\xde" + bytes(64), "bitcode", "not_a_code_object"),
    ],
)
def test_other_files_are_named(data: bytes, match: str, kind: str) -> None:
    with pytest.raises(BadInput, match=match) as e:
        CodeObject.from_bytes(data, path="x.co")
    assert e.value.kind == kind
    assert str(e.value).startswith("x.co")


def with_machine(data: bytes, machine: int) -> bytes:
    return data[:18] + struct.pack("<H", machine) + data[20:]


def test_another_machine_and_host_files(two_kernels: bytes) -> None:
    with pytest.raises(BadInput, match="ELF file for x86-64"):
        CodeObject.from_bytes(with_machine(two_kernels, 62))
    with pytest.raises(BadInput, match=r"host file \(x86-64\) with embedded GPU code"):
        CodeObject.from_bytes(with_machine(two_kernels, 62) + b"\0.hip_fatbin\0")
    with pytest.raises(BadInput, match="built for gfx1100, not for gfx942"):
        CodeObject.from_bytes(two_kernels, arch="gfx942")
    with pytest.raises(BadInput, match="unknown AMDGPU machine 0xfe"):
        CodeObject.from_bytes(two_kernels[:48] + struct.pack("<I", 0xFE) + two_kernels[52:])


def test_too_old_a_target(two_kernels: bytes) -> None:
    with pytest.raises(BadInput, match="gfx803 is not supported"):
        CodeObject.from_bytes(two_kernels[:48] + struct.pack("<I", 0x2A) + two_kernels[52:])


def test_unreadable_path(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot read"):
        CodeObject.load(tmp_path / "absent.co")


def test_an_object_without_metadata_has_its_kernels() -> None:
    source = ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\ns_endpgm\n.rodata\n.amdhsa_kernel k\n"
    source += ".amdhsa_next_free_vgpr 4\n.amdhsa_next_free_sgpr 4\n.end_amdhsa_kernel\n"
    co = CodeObject.from_bytes(link([assemble(source, "gfx1200")]))
    assert co.metadata == {}
    assert co.metadata_note == "the object has no metadata note"
    assert co.kernel().name == "k"


def survives(data: bytes) -> None:
    """Damaged bytes end as BadInput or as an object; nothing else may escape."""
    try:
        co = CodeObject.from_bytes(data)
        for k in co.kernels:
            assert k.descriptor.user_sgprs is not None
            assert k.descriptor.vgpr_count > 0
            assert sum(len(s.data) for s in co.sections) <= 5 * len(data) + (1 << 16)
    except BadInput:
        pass


_QUICK = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@_QUICK
@given(cut=st.integers(0, 1 << 14))
def test_truncation(two_kernels: bytes, cut: int) -> None:
    survives(two_kernels[: cut % len(two_kernels)])


@_QUICK
@given(flips=st.lists(st.tuples(st.integers(0, 1 << 14), st.integers(0, 255)), min_size=1, max_size=6))
def test_damaged_bytes(two_kernels: bytes, flips: list[tuple[int, int]]) -> None:
    data = bytearray(two_kernels)
    for at, value in flips:
        data[at % len(data)] = value
    survives(bytes(data))


@_QUICK
@given(at=st.integers(0, 63), value=st.integers(0, 255), table=st.booleans(), more=st.integers(0, 63))
def test_damaged_headers(two_kernels: bytes, at: int, value: int, table: bool, more: int) -> None:
    """The same, aimed at the ELF header and the section headers, where damage hurts most."""
    data = bytearray(two_kernels)
    shoff = struct.unpack_from("<Q", data, 40)[0]
    data[at] = value
    if table:
        count = struct.unpack_from("<H", two_kernels, 60)[0]
        data[shoff + 64 * (more % count) + at] = value
    survives(bytes(data))


# --- real objects ------------------------------------------------------------------------------


def test_minimal_objects(data_dir: Path) -> None:
    path = data_dir / "sqtt/gfx1100/sync_run0/kernel0.co"
    if not path.exists():
        pytest.skip("ISAPROF_DATA has no sqtt/gfx1100/sync_run0")
    with pytest.raises(BadInput, match="does not say for which GPU") as e:
        CodeObject.load(path)
    assert "--target" in (e.value.hint or "")
    co = CodeObject.load(path, arch="gfx1100")
    assert co.minimal
    k = co.kernel("custom_lds_sync")
    meta = json.loads((path.parent / "meta.json").read_text())["programs"][0]
    assert (k.name, k.entry, k.size) == ("custom_lds_sync", meta["text_vaddr"], meta["text_size"])
    assert (k.descriptor.group_segment_fixed_size, k.descriptor.kernarg_size) == (512, 8)
    assert k.descriptor.user_sgpr_count == 2


def test_real_gemm_objects(data_dir: Path) -> None:
    for arch in ("gfx1100", "gfx950"):
        path = data_dir / f"sqtt/{arch}/gemm_run0/kernel.co"
        if not path.exists():
            pytest.skip(f"ISAPROF_DATA has no {path.name} for {arch}")
        k = CodeObject.load(path).kernel()
        assert k.name == "r_32_32_16_2"
        assert [(a.offset, a.size, a.value_kind) for a in k.args] == [
            (o, 8, "global_buffer") for o in (0, 8, 16)
        ]
        assert k.kernarg_size == 24


def test_every_entry_of_the_bundles_facts(data_dir: Path) -> None:
    """Object versions and flags of all real objects are understood, and kernels are found in each."""
    paths = [*data_dir.glob("co/**/*.co"), *data_dir.glob("att/*/host/*.out")]
    if not paths:
        pytest.skip("ISAPROF_DATA has no code objects")
    for path in paths:
        co = CodeObject.load(path)
        assert co.kernels, path
        assert co.arch in str(path)
        assert co.metadata_note is None
        for k in co.kernels:
            assert any(k.entry in t and k.entry + k.size <= t.address + len(t.data) for t in co.text)
            assert k.kernarg_size >= max((a.offset + a.size for a in k.args), default=0)
            assert k.wave_size == k.descriptor.wave_size
            wanted = k.metadata[".vgpr_count"]
            assert 0 <= k.descriptor.vgpr_count - wanted < 24 or wanted == 0, (
                path,
                k.descriptor.vgpr_count,
                wanted,
            )
            users = sum(u.count for u in k.descriptor.user_sgprs)
            assert users <= k.descriptor.user_sgpr_count  # gfx11 objects round up, so that ids end in s15


def test_truncated_real_objects(data_dir: Path) -> None:
    path = data_dir / "sqtt/gfx950/empty_run0/kernel.co"
    if not path.exists():
        pytest.skip("ISAPROF_DATA has no sqtt/gfx950/empty_run0")
    data = path.read_bytes()
    for cut in range(0, len(data), 97):
        with pytest.raises(BadInput):
            CodeObject.from_bytes(data[:cut])
