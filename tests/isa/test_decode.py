"""Whole objects: every byte is covered, texts come back, categories agree with real traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isaprof.errors import BadInput
from isaprof.isa.decode import decode_lines, disassemble, listing_of
from isaprof.isa.llvm import assemble, link
from isaprof.isa.model import Category, Listing, RegClass, RegSpan
from isaprof.isa.objdump import CodeRange

LOOP = """
.globl k
.p2align 8
.type k,@function
k:
  s_mov_b32 s0, 3
loop:
  v_add_f32 v0, v0, v1
  s_sub_u32 s0, s0, 1
  s_cbranch_scc0 loop
  s_endpgm
"""


def covers(listing: Listing, ranges: list[tuple[int, bytes]]) -> None:
    """Instructions tile the ranges in address order, and their words are the bytes."""
    at = iter(listing.instructions)
    for address, data in sorted(ranges):
        pc = address
        while pc < address + len(data) // 4 * 4:
            i = next(at)
            assert i.pc == pc
            raw = data[pc - address : pc - address + i.size]
            assert b"".join(w.to_bytes(4, "little") for w in i.words) == raw
            pc += i.size
    assert next(at, None) is None
    assert [i.index for i in listing.instructions] == list(range(len(listing.instructions)))
    assert all(listing.at(i.pc) is i for i in listing.instructions)


def test_branches_and_labels() -> None:
    listing = disassemble(link([assemble(LOOP, "gfx942")]))
    code = listing.instructions
    start = code[0].pc
    assert listing.labels[start] == "k"
    branch = next(i for i in code if i.mnemonic == "s_cbranch_scc0")
    assert branch.target == start + 4
    assert listing.at(branch.target) is code[1]
    assert (code[1].base, code[1].enc) == ("v_add_f32", "e32")


def test_zero_words_and_undecodable_words() -> None:
    data = b"".join(w.to_bytes(4, "little") for w in (0xBF800000, 0, 0, 0xFFFFFFFF, 0xBF810000))
    listing = listing_of("gfx942", [CodeRange(0x1000, data + b"\x01")])
    covers(listing, [(0x1000, data)])
    assert [i.text for i in listing.instructions] == [
        "s_nop 0",
        ".long 0x0",
        ".long 0x0",
        ".long 0xffffffff",
        "s_endpgm",
    ]
    assert listing.instructions[1].category is Category.NONE


def test_a_cut_instruction_is_kept_as_data() -> None:
    # the last instruction is 8 bytes long, of which 4 are there
    data = (0xBF800000).to_bytes(4, "little") + (0xDC508000).to_bytes(4, "little")
    listing = listing_of("gfx942", [CodeRange(0, data)])
    assert [i.text for i in listing.instructions] == ["s_nop 0", ".long 0xdc508000"]


def test_ranges_apart() -> None:
    nop = (0xBF800000).to_bytes(4, "little")
    ranges = [(0x2000, nop * 2), (0x100, nop)]
    covers(listing_of("gfx942", [CodeRange(a, d) for a, d in ranges]), ranges)


def test_true16_halves() -> None:
    obj = assemble(".text\nv_mov_b16 v1.h, v2.l\nv_add_f16 v3.l, v4.h, v5.l\ns_endpgm\n", "gfx1200")
    code = disassemble(obj).instructions
    assert [o.half for o in code[0].operands] == ["h", "l"]
    assert [o.half for o in code[1].operands] == ["l", "h", "l"]
    assert code[0].operands[0].reg == RegSpan(RegClass.VGPR, 1)


def test_texts_with_comments_are_accepted() -> None:
    (a, b) = decode_lines("gfx942", [(0, (), "  s_nop 0 // 0000: BF800000"), (4, (), "s_endpgm ; done")])
    assert (a.text, b.text, b.index) == ("s_nop 0", "s_endpgm", 1)


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(BadInput, match="not an AMD GPU target"):
        decode_lines("sm_90", [(0, (), "s_nop 0")])


def test_listings_and_tables_travel_between_processes() -> None:
    import pickle

    from isaprof import arch

    listing = disassemble(link([assemble(LOOP, "gfx942")]))
    assert pickle.loads(pickle.dumps(listing)) == listing
    assert pickle.loads(pickle.dumps(arch.get("gfx950"))) == arch.get("gfx950")


@settings(max_examples=20, deadline=None)
@given(flips=st.lists(st.tuples(st.integers(0, 1 << 14), st.integers(0, 255)), min_size=1, max_size=4))
def test_damaged_objects_decode_or_are_refused(flips: list[tuple[int, int]]) -> None:
    data = bytearray(link([assemble(LOOP, "gfx942")]))
    for at, value in flips:
        data[at % len(data)] = value
    try:
        listing = disassemble(bytes(data))
    except BadInput:
        return
    assert all(len(i.words) * 4 == i.size for i in listing.instructions)


@settings(max_examples=25, deadline=None)
@given(
    data=st.binary(max_size=256), arch=st.sampled_from(["gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1250"])
)
def test_any_bytes_are_covered(data: bytes, arch: str) -> None:
    covers(listing_of(arch, [CodeRange(0x100, data)]), [(0x100, data)])


# --- real objects ------------------------------------------------------------------------------


def real_objects(data_dir: Path) -> list[Path]:
    paths = [
        *data_dir.glob("co/**/*.co"),
        *data_dir.glob("sqtt/*/*/*.co"),
        *data_dir.glob("att/*/host/*.out"),
    ]
    if not paths:
        pytest.skip("ISAPROF_DATA has no code objects")
    return sorted(paths)


@pytest.mark.slow
def test_every_real_object(data_dir: Path) -> None:
    """All bytes of all objects; undecodable words only where the linker or newer hardware put them."""
    from isaprof.codeobj.elf import CodeObject

    for path in real_objects(data_dir):
        arch = next(p for p in path.parts if p.startswith("gfx")) if "sqtt" in path.parts else None
        data = path.read_bytes()
        co = CodeObject.from_bytes(data, arch=arch if data[5] == 0 else None)
        listing = disassemble(data, arch=co.arch)
        covers(listing, [(t.address, t.data) for t in co.text])
        unknown = [i for i in listing.instructions if i.mnemonic == ".long" and any(i.words)]
        if co.arch != "gfx1250":  # LLVM 22 does not know all of that target's instructions
            assert not unknown, (path, unknown[:3])
        for i in listing.instructions:
            if i.mnemonic != ".long":
                assert i.category is not Category.NONE, i.text
                assert "Invalid register" not in i.text or co.arch == "gfx1250"
            if i.target is not None:
                assert any(i.target in t for t in co.text), i
                assert listing.at(i.target) is not None, i


@pytest.mark.slow
def test_categories_agree_with_real_traces(data_dir: Path) -> None:
    """Every row of the reference timings names a pc of our listing and a category that fits it."""
    folders = sorted(data_dir.glob("sqtt/*/*_run0"))
    if not folders:
        pytest.skip("ISAPROF_DATA has no sqtt folders")
    #: what a trace calls an instruction, beside its own category (waits are IMMED, their entry a message)
    also = {
        Category.JUMP: {"NEXT"},
        Category.IMMED: {"MSG"},
        Category.VMEM: {"FLAT"},
    }
    rows = 0
    for d in folders:
        meta = json.loads((d / "meta.json").read_text())
        timing = json.loads((d / "expected_timing.json").read_text())
        listings = [
            disassemble(
                (d / p["file"]).read_bytes(), arch=meta["arch"] if p["elf"].startswith("minimal") else None
            )
            for p in meta["programs"]
        ]
        for trace in timing["traces"]:
            for wave in trace["waves"]:
                for pc, _time, category, *_ in wave["insts"]:
                    i = listings[trace.get("program") or 0].at(pc)
                    assert i is not None, (d, pc)
                    assert i.traced
                    assert category in {i.category.value, *also.get(i.category, ())}, (i.text, category)
                    rows += 1
    assert rows > 2900


def test_every_write_of_the_conformance_vectors(data_dir: Path) -> None:
    """Whatever changes in a real instruction's post-state is among the writes we derive."""
    import gzip

    files = sorted(data_dir.glob("isa_vectors/*.jsonl.gz"))
    if not files:
        pytest.skip("ISAPROF_DATA has no isa_vectors")
    for path in files:
        for line in gzip.decompress(path.read_bytes()).splitlines():
            d = json.loads(line)
            (i,) = decode_lines(d["mcpu"], [(0, (), d["asm"])], wave_size=d["wave"])
            written = {(s.cls, s.index + k) for s in i.writes for k in range(s.count)}
            post = d["post"]
            for key, cls in (("v", RegClass.VGPR), ("a", RegClass.AGPR), ("s", RegClass.SGPR)):
                assert {(cls, int(n)) for n in post.get(key, ())} <= written, d["asm"]
            assert "scc" not in post or (RegClass.SCC, 0) in written, d["asm"]
            for key, cls in (("vcc", RegClass.VCC), ("exec", RegClass.EXEC)):
                changed = int(post.get(key, d["pre"][key]), 16) ^ int(d["pre"][key], 16)
                assert {(cls, h) for h in (0, 1) if changed >> 32 * h & 0xFFFFFFFF} <= written, d["asm"]
            if "mem" in post or "lds" in post:
                assert i.mem is not None, d["asm"]
                assert i.mem.store
