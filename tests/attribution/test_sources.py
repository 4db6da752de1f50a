"""Source lines from DWARF line tables: what llvm-symbolizer says of every instruction."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from isaprof.attribution import analyse
from isaprof.attribution.sources import source_lines
from isaprof.capture.model import Capture, CodeObjectRef
from isaprof.errors import EnvironmentProblem
from isaprof.isa.decode import disassemble
from isaprof.isa.llvm import find_tools, link, run_tool
from tests.attribution.build import Wave, capture

TRITON = "att/wave_gemm_gfx950/host/3785403_gfx950_code_object_id_4.out"
#: a line table with a header and no rows
EMPTY = "co/gfx1250/fmha_v3_bwd/bwd_hd128_dq_convert_bf16.co"
#: two files of one name, code that the compiler made (line 0), a table of two sequences
WITH_LOC = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.file 1 "/src/one" "kernel.py"
.file 2 "/src/two" "kernel.py"
.file 3 "/src/two" "helper.py"
.globl k
.type k,@function
k:
.loc 1 10 3
  s_load_dwordx2 s[0:1], s[0:1], 0x0
  s_waitcnt lgkmcnt(0)
.loc 2 10 0
  v_mov_b32_e32 v0, s0
.loc 3 7 1
  v_add_f32_e32 v1, 1.0, v0
.loc 1 0 0
  s_nop 0
.loc 1 11 0
  s_endpgm
.Lend:
.section .debug_abbrev,"",@progbits
  .byte 1, 17, 0, 16, 23, 17, 1, 18, 6, 0, 0, 0
.section .debug_info,"",@progbits
  .long .Linfo_end-.Linfo
.Linfo:
  UNIT
  .byte 1
  .long .Llines
  .quad k
  .long .Lend-k
.Linfo_end:
.section .debug_line,"",@progbits
.Llines:
"""
#: header of a compile unit: version, (type, address size,) abbreviations, (address size)
UNIT = {4: ".short 4\n.long .debug_abbrev\n.byte 8", 5: ".short 5\n.byte 1, 8\n.long .debug_abbrev"}
PLAIN = """.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
.text
.globl k
.type k,@function
k:
  v_mov_b32_e32 v0, 1.0

  v_fma_f32 v1, v0, v0, v0
  s_endpgm
"""


def symbolizer() -> str:
    found = next((f for n in ("-22", "-21", "-20", "") if (f := shutil.which(f"llvm-symbolizer{n}"))), None)
    if found is None:
        pytest.skip("llvm-symbolizer is not installed")
    return found


def said_by_llvm(path: Path, addresses: list[int]) -> list[str | None]:
    """``file:line`` of each address, None for line 0 and where there is nothing."""
    done = subprocess.run(
        [symbolizer(), f"--obj={path}", "--no-inlines", "--functions=none"],
        input="".join(f"{a:#x}\n" for a in addresses), capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = [row for row in done.stdout.split("\n") if row]
    assert len(rows) == len(addresses)
    out: list[str | None] = []
    for row in rows:
        file, line, _ = row.rsplit(":", 2)
        out.append(f"{file}:{line}" if file != "??" and line != "0" else None)
    return out


def ours(path: Path, arch: str) -> tuple[list[int], list[str | None]]:
    """Addresses of all instructions and their source lines, of a capture that keeps the object."""
    listed = disassemble(path.read_bytes(), arch=arch).instructions
    last = max(n for n, i in enumerate(listed) if i.base == "s_endpgm")  # behind it the linker's padding
    pcs = [i.pc for i in listed[: last + 1]]
    code = pd.DataFrame({"codeobj": 1, "pc": pcs, "source": None})
    cap = Capture({"arch": arch}, {"code": code}, (CodeObjectRef(1, path.read_bytes()),))
    return pcs, source_lines(cap)


def same(mine: str | None, theirs: str | None) -> bool:
    """Ours has no directory, or that of the table."""
    return mine == theirs or (mine is not None and theirs is not None and theirs.endswith("/" + mine))


def test_every_instruction_of_a_real_object(data_dir: Path) -> None:
    path = data_dir / TRITON
    pcs, mine = ours(path, "gfx950")
    theirs = said_by_llvm(path, pcs)
    assert sum(t is not None for t in theirs) > len(pcs) // 2
    wrong = [(hex(p), m, t) for p, m, t in zip(pcs, mine, theirs, strict=True) if not same(m, t)]
    assert wrong == []


def test_a_table_without_rows_says_nothing(data_dir: Path) -> None:
    assert not any(ours(data_dir / EMPTY, "gfx1250")[1])


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("source", [WITH_LOC, PLAIN], ids=["loc", "g"])
def test_every_instruction_of_an_own_object(tmp_path: Path, source: str, version: int) -> None:
    try:
        tools = find_tools("gfx950")
        tools.linker()
    except EnvironmentProblem as e:
        pytest.skip(e.message)
    options = ["-g"] if source == PLAIN else []
    done = run_tool(
        [tools.mc, "--triple=amdgcn-amd-amdhsa", "--mcpu=gfx950", "--filetype=obj",
         f"--dwarf-version={version}", *options, "-o", "-", "-"], stdin=source.replace("UNIT", UNIT[version]),
    )  # fmt: skip
    assert not done.returncode, done.stderr
    path = tmp_path / "k.co"
    path.write_bytes(link([done.output], tools=tools))
    pcs, mine = ours(path, "gfx950")
    assert all(same(m, t) for m, t in zip(mine, said_by_llvm(path, pcs), strict=True))
    if source == WITH_LOC:
        assert mine[:6] == [
            "/src/one/kernel.py:10", "/src/one/kernel.py:10", "/src/two/kernel.py:10", "helper.py:7", None,
            "/src/one/kernel.py:11",
        ]  # fmt: skip
    else:
        assert [str(m).rsplit(":", 1)[1] for m in mine[:3]] == ["6", "8", "9"]


def test_the_roll_up_sums_the_lines_of_the_table(data_dir: Path) -> None:
    """Four instructions of the Triton object as a capture: cycles by its source lines."""
    data = (data_dir / TRITON).read_bytes()
    listing = disassemble(data, arch="gfx950").instructions[:4]
    wave = Wave().add(0).add(1, stall=8).add(2, idle=4).add(3, stall=16)
    cap = capture("gfx950", [i.text for i in listing], [wave])
    pcs = [0x1800, 0x1804, 0x1808, 0x181C]  # lines 47, 47, 47 and 58 of gemm_test.py
    cap._tables["code"] = cap.code.assign(pc=pcs, codeobj=4)
    cap._code_objects = (CodeObjectRef(4, data),)
    a = analyse(cap)
    assert a.detail is not None
    table = a.detail.by("source").set_index("source")
    assert table["cycles"].to_dict() == {"gemm_test.py:47": 24, "gemm_test.py:58": 20}
    assert table["hits"].to_dict() == {"gemm_test.py:47": 3, "gemm_test.py:58": 1}
    assert int(table["cycles"].sum()) == a.total_cycles
