"""Finding LLVM, refusing versions that do not know the target, assembling and linking."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from isaprof.asm import assemble_text
from isaprof.errors import BadInput, EnvironmentProblem
from isaprof.isa import llvm, process


def fake_tools(bin_dir: Path, version: str, processors: list[str], suffix: str = "") -> None:
    """An LLVM that prints ``version`` and lists ``processors``; it can do nothing else."""
    bin_dir.mkdir(parents=True, exist_ok=True)
    listing = "\n".join(f"  {p} - Select the {p} processor." for p in processors)
    for name in ("llvm-objdump", "llvm-mc", "ld.lld", "llvm-readelf"):
        path = bin_dir / f"{name}{suffix}"
        path.write_text(
            "#!/bin/sh\n"
            f"case \"$*\" in *--version*) echo 'LLVM version {version}';; *) echo '{listing}';; esac\n"
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no LLVM but what a test puts under the returned directory."""
    monkeypatch.setattr(llvm, "ROCM_BIN", tmp_path / "rocm")
    monkeypatch.setattr(llvm, "DEBIAN_ROOT", tmp_path / "debian")
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("ISAPROF_LLVM", raising=False)
    return tmp_path


def test_newest_version_on_path_wins(bare: Path) -> None:
    for v in (9, 14, 22):
        fake_tools(bare / "path", f"{v}.0.1", ["gfx1100"], f"-{v}")
    fake_tools(bare / "path", "30.0.0", ["gfx1100"])
    t = llvm.find_tools("gfx1100")
    assert t.version == (22, 0, 1)
    assert [p and p.name for p in (t.objdump, t.mc, t.lld, t.readelf)] == [
        "llvm-objdump-22",
        "llvm-mc-22",
        "ld.lld-22",
        "llvm-readelf-22",
    ]


def test_a_version_that_does_not_know_the_target_is_passed_over(bare: Path) -> None:
    fake_tools(bare / "path", "22.0.0", ["gfx1100"], "-22")
    fake_tools(bare / "path", "21.0.0", ["gfx1100", "gfx950"], "-21")
    assert llvm.find_tools("gfx950").version[0] == 21
    with pytest.raises(EnvironmentProblem, match=r"LLVM 22\.0\.0 at .* does not know gfx1250") as e:
        llvm.find_tools("gfx1250")
    assert e.value.hint == "apt-get install llvm-22 lld-22"


def test_order_of_the_places(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_tools(bare / "path", "18.0.0", ["gfx942"])
    assert llvm.find_tools("gfx942").version[0] == 18
    fake_tools(bare / "debian" / "llvm-19" / "bin", "19.0.0", ["gfx942"])
    llvm._find_tools.cache_clear()
    assert llvm.find_tools("gfx942").version[0] == 19
    fake_tools(bare / "rocm", "17.0.0", ["gfx942"])
    llvm._find_tools.cache_clear()
    assert llvm.find_tools("gfx942").version[0] == 17
    fake_tools(bare / "mine", "16.0.0", ["gfx942"])
    monkeypatch.setenv("ISAPROF_LLVM", str(bare / "mine"))
    assert llvm.find_tools("gfx942").version[0] == 16
    fake_tools(bare / "prefix" / "bin", "15.0.0", ["gfx942"])
    monkeypatch.setenv("ISAPROF_LLVM", str(bare / "prefix"))
    assert llvm.find_tools("gfx942").version[0] == 15


def test_a_forced_directory_is_never_replaced(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_tools(bare / "path", "22.0.0", ["gfx942"], "-22")
    monkeypatch.setenv("ISAPROF_LLVM", str(bare / "absent"))
    with pytest.raises(EnvironmentProblem, match="ISAPROF_LLVM") as e:
        llvm.find_tools("gfx942")
    assert "unset ISAPROF_LLVM" in str(e.value.hint)


def test_nothing_found(bare: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="no llvm-objdump found") as e:
        llvm.find_tools()
    assert e.value.exit_code == 6


def test_a_hanging_tool_is_stopped(tmp_path: Path) -> None:
    tool = tmp_path / "slow"
    tool.write_text("#!/bin/sh\nexec sleep 30\n")
    tool.chmod(0o755)
    with pytest.raises(EnvironmentProblem, match="did not end within"):
        llvm.run_tool([tool], timeout=0.2)
    with pytest.raises(EnvironmentProblem, match="cannot run"):
        llvm.run_tool([tmp_path / "absent"])


@pytest.mark.parametrize(
    ("source", "kind", "says"),
    [
        (".fill 30000000, 8, 0", "tool_memory", "more than 300 MiB of memory"),
        (".rept 10000000\ns_nop 0\n.endr", "tool_memory", "more than 300 MiB of memory"),
        (".fill 500000, 8, 1", "tool_output", "wrote more than 2 MiB"),
    ],
)
def test_a_runaway_source_is_stopped(
    monkeypatch: pytest.MonkeyPatch, source: str, kind: str, says: str
) -> None:
    monkeypatch.setattr(process, "MEMORY_LIMIT", 300 << 20)
    monkeypatch.setattr(process, "OUTPUT_LIMIT", 2 << 20)
    text = f'\t.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n\t.text\n{source}\n'
    with pytest.raises(BadInput, match=says) as e:
        assemble_text(text, "k.s")
    assert e.value.kind == kind
    assert ".rept" in str(e.value.hint)
    assert assemble_text(text.replace(source, "\ts_endpgm"))[:4] == b"\x7fELF"


def test_assembler_messages_reach_the_user() -> None:
    with pytest.raises(BadInput, match="invalid instruction"):
        llvm.assemble("s_frobnicate s0\n", "gfx942")
    obj = llvm.assemble("s_endpgm\n", "gfx942")
    assert llvm.link([obj])[:4] == b"\x7fELF"
    with pytest.raises(BadInput, match=r"ld\.lld"):
        llvm.link([b"not an object"])


def test_true16_is_asked_for_on_gfx11_and_later() -> None:
    assert llvm.default_mattr("gfx942") == ""
    assert llvm.default_mattr("gfx1030") == ""
    assert {llvm.default_mattr(a) for a in ("gfx1100", "gfx1151", "gfx1201", "gfx1250")} == {"+real-true16"}
