"""Which instructions LLVM's text does not carry exactly.

Every instruction's text is assembled on its own line with ``llvm-mc
--show-encoding`` and compared with the words it came from. Branch
displacements are left out of the comparison: they become labels.
"""

from __future__ import annotations

import re
import struct

from isaprof.isa import llvm
from isaprof.isa.model import Instruction, Listing

_ERROR = re.compile(r"^(?:<stdin>|-):(\d+):\d+: (?:error|fatal error)", re.M)
_ENCODING = re.compile(r"encoding: \[([^\]]*)\]")
_MARK = "isaprof_line_"


def words_to_keep(listing: Listing) -> dict[int, str]:
    """Listing index -> the ``.long`` line to write instead of the text, where the text is not exact."""
    lines = [i for i in listing.instructions if i.mnemonic != ".long"]
    if not lines:
        return {}
    encodings = _encode(lines, listing.arch)
    keep: dict[int, str] = {}
    for ins in lines:
        got = encodings.get(ins.index)
        if got is None or not _same(ins, got):
            keep[ins.index] = word_line(ins)
    return keep


def word_line(ins: Instruction) -> str:
    """The instruction as data, with its text as a comment."""
    return "\t.long\t" + ", ".join(f"{w:#010x}" for w in ins.words) + f"\t; {ins.text}"


def _same(ins: Instruction, got: bytes) -> bool:
    want = struct.pack(f"<{len(ins.words)}I", *ins.words)
    if ins.target is not None:  # the displacement (low half of the first word) is written as a label
        return len(got) == len(want) and got[2:] == want[2:]
    return got == want


def _encode(lines: list[Instruction], arch: str) -> dict[int, bytes]:
    """Listing index -> encoding of its text; instructions the assembler rejects are absent."""
    tools = llvm.find_tools(arch)
    mattr = llvm.default_mattr(arch)
    argv = [str(tools.mc), f"--triple={llvm.TRIPLE}", f"--mcpu={arch}", "--show-encoding"]
    if mattr:
        argv.append(f"--mattr={mattr}")
    distinct: dict[str, list[Instruction]] = {}
    for ins in lines:
        distinct.setdefault(ins.text, []).append(ins)
    texts = list(distinct)
    # one label before each instruction: the output is split at the labels, whatever lies between
    source = "".join(f"{_MARK}{n}:\n{t}\n" for n, t in enumerate(texts))
    done = llvm.run_tool(argv, stdin=source)
    if done.returncode != 0:
        bad = {(int(n) - 1) // 2 for n in _ERROR.findall(done.stderr)}
        source = "".join(f"{_MARK}{n}:\n{'' if n in bad else t}\n" for n, t in enumerate(texts))
        done = llvm.run_tool(argv, stdin=source)
    out: dict[int, bytes] = {}
    for part in re.split(rf"^{_MARK}", done.stdout, flags=re.M)[1:]:
        number, _, rest = part.partition(":")
        code = b"".join(
            bytes(int(b, 16) for b in e.split(",") if b.startswith("0x")) for e in _ENCODING.findall(rest)
        )
        if code and number.isdigit():
            for ins in distinct[texts[int(number)]]:
                out[ins.index] = code
    return out
