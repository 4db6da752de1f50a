"""``isaprof apply``: the proof is printed, the file written whole or not at all, everything else refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isaprof.asm import assemble_file
from isaprof.cli import main
from isaprof.codeobj.elf import CodeObject
from isaprof.errors import ExitCode
from isaprof.isa.decode import disassemble
from isaprof.transforms import apply as applying

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
WAIT = "	s_waitcnt vmcnt(0)			// needless"


class Run:
    """What one command printed, and its exit code."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *args: object) -> None:
        with pytest.raises(SystemExit) as stop:
            main(["apply", *(str(a) for a in args)])
        self.code = int(stop.value.code or 0)
        self.out, self.err = capsys.readouterr()


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def place(name: str, tmp_path: Path) -> Path:
    """A sample's source and launch file in the test's directory."""
    source = SAMPLES / name
    for part in (".s", ".launch.toml"):
        (tmp_path / source.name).with_suffix(part).write_bytes(source.with_suffix(part).read_bytes())
    return (tmp_path / source.name).with_suffix(".s")


@pytest.fixture
def relaxable(tmp_path: Path) -> Path:
    return place("waitcnt_relax/waitcnt_relax", tmp_path)


def line_of(source: Path, start: str) -> int:
    return next(n for n, t in enumerate(source.read_text().split("\n"), 1) if t.startswith(start))


def test_one_place(relaxable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = line_of(relaxable, WAIT)
    r = Run(capsys, relaxable, f"waitcnt-relax@{line}", "-o", "out.s")
    assert (r.code, r.err) == (0, "")
    before, after = relaxable.read_text().split("\n"), Path("out.s").read_text().split("\n")
    changed = [(n, x, y) for n, (x, y) in enumerate(zip(before, after, strict=True), 1) if x != y]
    assert changed == [(line, before[line - 1], before[line - 1].replace("vmcnt(0)", "vmcnt(2)", 1))]
    assert f"at source line {line}, line 12, 0x1648: " in r.out
    for word in ("P2 met", "vmcnt(3) would not do", "same encoding", "output bytes equal (both right)"):
        assert word in r.out
    assert r.out.endswith("out.s\n")


def test_every_place_of_an_object(relaxable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = assemble_file(relaxable)
    Path("waitcnt_relax.co").write_bytes(data)
    r = Run(capsys, "waitcnt_relax.co", "waitcnt-relax", "-o", "out.co")
    assert r.code == 0
    old, new = (disassemble(d).instructions for d in (data, Path("out.co").read_bytes()))
    texts = [(x.text, y.text) for x, y in zip(old, new, strict=True) if x.words != y.words]
    assert texts == [("s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(2)")] * 2
    assert CodeObject.load("out.co").metadata == CodeObject.from_bytes(data).metadata


@pytest.mark.parametrize("by", ["0x1648", "12"])
def test_places_of_an_object(by: str, relaxable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An address, or the line that `isaprof show` prints."""
    Path("waitcnt_relax.co").write_bytes(assemble_file(relaxable))
    r = Run(capsys, "waitcnt_relax.co", f"waitcnt-relax@{by}", "-o", "out.s", "--json")
    body = json.loads(r.out)
    assert r.code == 0
    assert [a["pc"] for a in body["applied"]] == [0x1648]
    assert body["output"] == "out.s"
    assert all(o["met"] for a in body["applied"] for o in a["obligations"])
    assert len(body["outputs"]) >= 4, "several shapes and seeds"
    assert "+\ts_waitcnt vmcnt(2)" in body["diff"]


def test_an_objects_lines_are_listing_lines(relaxable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed is the number that was given; the line of the disassembly is called so."""
    Path("waitcnt_relax.co").write_bytes(assemble_file(relaxable))
    r = Run(capsys, "waitcnt_relax.co", "waitcnt-relax@22", "--dry-run", "--shape", "N=2048")
    assert r.code == 0
    assert r.out.startswith("waitcnt-relax at line 22, 0x1684 (line ")
    assert " of the disassembly): s_waitcnt" in r.out.split("\n")[0]


def test_dry_run_writes_nothing(relaxable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().iterdir())
    r = Run(capsys, relaxable, "waitcnt-relax", "-o", "out.s", "--dry-run")
    assert r.code == 0
    assert "+\ts_waitcnt vmcnt(2)" in r.out
    assert "output bytes equal" in r.out
    assert sorted(Path().iterdir()) == before


def refused(r: Run, code: ExitCode, *words: str) -> None:
    assert r.code == code, r.err
    assert not Path("out.s").exists()
    for word in words:
        assert word in r.err


def test_a_needed_wait(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needed = place("transforms/waitcnt_relax/needed", tmp_path)
    refused(Run(capsys, needed, "waitcnt-relax", "-o", "out.s"), ExitCode.NO, "does not apply")
    line = line_of(needed, "	s_waitcnt vmcnt(0)			// needed")
    refused(
        Run(capsys, needed, f"waitcnt-relax@{line}", "-o", "out.s"),
        ExitCode.NO,
        "does not apply",
        f"at line {line}",
    )


@pytest.mark.parametrize("by", ["59", "0x1234"])
def test_a_place_without_a_finding(by: str, relaxable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message says which places there are, in the numbers that `@` takes."""
    Path("waitcnt_relax.co").write_bytes(assemble_file(relaxable))
    r = Run(capsys, "waitcnt_relax.co", f"waitcnt-relax@{by}", "-o", "out.s")
    where = by if by.startswith("0x") else f"line {by}"
    refused(r, ExitCode.NO, f"no finding at {where}; found at: line 12 (0x1648), line 22 (0x1684)")
    assert r.err.count("waitcnt_relax.co") == 1
    lines = [line_of(relaxable, WAIT), line_of(relaxable, f"{WAIT}, as above")]
    r = Run(capsys, relaxable, "waitcnt-relax@1", "-o", "out.s")
    refused(r, ExitCode.NO, f"found at: line {lines[0]} (0x1648), line {lines[1]} (0x1684)")


def test_advice_is_not_applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load_use = place("transforms/swp/load_use", tmp_path)
    refused(
        Run(capsys, load_use, "swp-global-prefetch", "-o", "out.s"), ExitCode.NO, "advice", "isaprof suggest"
    )


def test_without_a_launch_file(relaxable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    relaxable.with_suffix(".launch.toml").unlink()
    refused(
        Run(capsys, relaxable, "waitcnt-relax", "-o", "out.s"),
        ExitCode.NO,
        "no launch file",
        "isaprof launch-template",
    )


def test_a_macro_line(relaxable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = relaxable.read_text().replace(
        "	s_waitcnt vmcnt(0)			// needless", "	ALL	// needless"
    )
    relaxable.write_text("	.macro ALL\n	s_waitcnt vmcnt(0)\n	.endm\n" + text)
    refused(Run(capsys, relaxable, "waitcnt-relax", "-o", "out.s"), ExitCode.NO, "macro", "isaprof disasm")


def test_outputs_that_differ(
    relaxable: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rewrite that got through every other check but adds the wrong number."""
    real = applying._one

    def broken(source, context, finding):  # type: ignore[no-untyped-def]
        after, _, step, kept = real(source, context, finding)
        worse = applying.Source.of(after.text.replace("v_add_f32_e32 v8, v4, v5", "v_add_f32_e32 v8, v4, v4"))
        return worse, applying.Context.of(worse.data), step, kept

    monkeypatch.setattr(applying, "_one", broken)
    refused(
        Run(capsys, relaxable, "waitcnt-relax", "-o", "out.s"),
        ExitCode.VERIFICATION_FAILED,
        "output C differs",
    )


def test_a_kernel_that_faults(relaxable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    relaxable.write_text(
        relaxable.read_text().replace(
            "	s_load_dwordx8 s[4:11], s[0:1], 0x0", "	s_load_dwordx8 s[4:11], s[0:1], 0x8"
        )
    )
    refused(Run(capsys, relaxable, "waitcnt-relax", "-o", "out.s"), ExitCode.KERNEL_FAULT, "before the edit")


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["waitcnt-relax"], "-o"),
        (["waitcnt-relax", "-o", "out.txt"], "must end in .s"),
        (["nonsense", "-o", "out.s"], "known: swp-global-prefetch, waitcnt-relax"),
        (["waitcnt-relax@", "-o", "out.s"], "TRANSFORM@LINE"),
        (["waitcnt-relax", "-o", "out.s", "--shape", "N=17"], "multiple of 1024"),
    ],
)
def test_usage(args: list[str], word: str, relaxable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(Run(capsys, relaxable, *args), ExitCode.USAGE, word)


def test_nothing_is_overwritten(relaxable: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.s").write_text("mine")
    r = Run(capsys, relaxable, "waitcnt-relax", "-o", "mine.s")
    assert r.code == ExitCode.USAGE
    assert Path("mine.s").read_text() == "mine"
    assert Run(capsys, relaxable, "waitcnt-relax", "-o", "mine.s", "--force", "--shape", "N=2048").code == 0
    assert "vmcnt(2)" in Path("mine.s").read_text()


def test_damaged_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.s").write_bytes(b"\x00\xff")
    refused(Run(capsys, "k.s", "waitcnt-relax", "-o", "out.s"), ExitCode.BAD_INPUT)
    (tmp_path / "k.s").write_text("no assembly")
    refused(Run(capsys, "k.s", "waitcnt-relax", "-o", "out.s"), ExitCode.BAD_INPUT, "names no target")
    (tmp_path / "k.co").write_bytes(b"\x7fELF" + bytes(60))
    refused(Run(capsys, "k.co", "waitcnt-relax", "-o", "out.s"), ExitCode.BAD_INPUT)
