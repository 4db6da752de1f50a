"""Settles how each instruction is written so that the text assembles to the very same bytes.

The text is assembled; what comes out other than the original is written
otherwise, and the whole is tried again until nothing differs:

1. a line the assembler rejects becomes ``.long``;
2. an instruction that is encoded otherwise, where LLVM reads both encodings as
   the same text, gets its bits in a comment (``isaprof.bits``);
3. any other becomes ``.long``.

So the text is known to be exact, not believed to be: the last run is the proof.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable

from isaprof.asm.assemble import AssemblyErrors, build_facts, link, to_object
from isaprof.asm.code import bare
from isaprof.asm.disasm import Choices, Disassembly, Draft
from isaprof.asm.facts import bits_comment
from isaprof.asm.text_section import Writer, word_line
from isaprof.codeobj.tables import SHT_RELA, Tables, read_tables
from isaprof.errors import BadInput
from isaprof.isa.objdump import CodeRange, Row, disassemble_ranges

_MAX_TRIES = 8
_SLOT = 32  #: bytes for one instruction in :func:`_encodings`; the longest has 20
_FILLER = 0xA5
_VOP3 = frozenset({0x33, 0x34, 0x35})  #: top six bits: VOP3P of gfx10 and later, VOP3, VOP3P of gfx9
_SRC2 = 0x1FF << 18
#: packed instructions of two sources
_PACKED_PAIRS = ("v_pk_mul_", "v_pk_add_")
_ZERO = re.compile(r", 0(?= |$)")


def settle(draft: Draft, meanwhile: Callable[[], object] | None = None) -> Disassembly:
    """The exact text of ``draft`` and the code object built from it.

    ``meanwhile`` is called while the assembler first runs.
    Raises BadInput when no way of writing it gives the original's bytes.
    """
    rows = draft.code.rows
    # what objdump itself calls invalid has no text; the assembler need not be asked
    keep = {n: word_line(r) for n, r in enumerate(rows) if "Invalid" in r[2] and not r[2].startswith(".long")}
    expected = {
        n: line
        for n, r in enumerate(rows)
        if r[1][0] >> 26 in _VOP3 and len(r[1]) > 1 and n not in keep and (line := _expected(r))
    }
    bits = len(expected)
    before = how = Choices({**keep, **expected})
    checked_alone = False
    written = draft.write(how)
    for tried in range(_MAX_TRIES):
        if tried:
            written = _again(draft, written, before, how)
        before = how
        text = "\n".join(written.lines)
        made = to_object(text, meanwhile=None if tried else meanwhile, will_link=True)
        if isinstance(made, AssemblyErrors):
            how = _after_errors(draft, written, how, made)
            continue
        tables = read_tables(made)
        how, settled = _after_header(draft, how, made, tables)
        if not settled:
            continue
        wrong, shifted = _wrong_rows(draft, tables)
        if not wrong and not shifted:
            linked = link(made, build_facts(text))
            if not draft.layout.minimal and not how.addresses and not _same_text(draft, linked):
                how = how._replace(addresses=True)
                continue
            words = sum(n in how.keep and how.keep[n].startswith("\t.long") for n in range(len(rows)))
            return Disassembly(text, (), len(rows), words, bits, linked)
        if shifted:
            # some text has another length: every distinct one is assembled for itself
            if checked_alone:
                if how.fixed_gaps:
                    break
                how = how._replace(fixed_gaps=True)
                continue
            checked_alone = True
            wrong = _wrong_alone(draft, how)
        keep, more = _keep(draft, wrong)
        bits += more
        how = how._replace(keep={**how.keep, **keep})
    raise BadInput("no text gives the same bytes (a shortcoming of isaprof)", kind="unsupported")


def _again(draft: Draft, written: Writer, before: Choices, how: Choices) -> Writer:
    """The text for new choices; where only some lines are others, only these are written anew."""
    if how._replace(keep=before.keep) != before:
        return draft.write(how)
    written.replace({n: line for n, line in how.keep.items() if before.keep.get(n) != line})
    return written


def _after_errors(draft: Draft, written: Writer, how: Choices, errors: AssemblyErrors) -> Choices:
    """Other choices for the lines that the assembler rejects."""
    rejected = {written.row_of[line] for line in errors.lines if line in written.row_of}
    fresh = {
        n: word_line(draft.code.rows[n]) for n in rejected if not how.keep.get(n, "").startswith("\t.long")
    }
    if fresh:
        return how._replace(keep={**how.keep, **fresh})
    first = written.lines.index("\t.amdgpu_metadata") if "\t.amdgpu_metadata" in written.lines else -1
    if first >= 0 and any(line > first for line in errors.lines):
        return how._replace(raw_metadata=True)
    if "target" in errors.text and how.target_features:
        return how._replace(target_features=False, e_flags=True)
    raise BadInput(f"LLVM does not take the text back:\n{errors.text[:2000]}", kind="unsupported")


def _after_header(draft: Draft, how: Choices, obj: bytes, tables: Tables) -> tuple[Choices, bool]:
    """Whether flags and metadata are right; if not, the choices that make them so."""
    layout = draft.layout
    if layout.minimal:
        return how, True
    flags = struct.unpack_from("<I", obj, 48)[0]
    new = how
    if flags != layout.e_flags:
        new = new._replace(e_flags=True)
    if not how.raw_metadata and sorted(tables.notes) != sorted(
        n for n in layout.notes if n[:2] != ("GNU", 3)
    ):
        new = new._replace(raw_metadata=True)
    return new, new == how


def _wrong_rows(draft: Draft, tables: Tables) -> tuple[dict[int, bytes], bool]:
    """(row -> the bytes it got, where they are not the original's; whether places are shifted)."""
    made = {s.name: s for s in tables.sections if s.flags & 4}
    open_words: dict[str, set[int]] = {s.name: set() for s in tables.sections}
    for s in tables.sections:
        if s.type == SHT_RELA and s.info < len(tables.sections):
            target = open_words[tables.sections[s.info].name]
            for r in tables.relocations:
                if r.section == s.name:
                    target.update((r.offset, r.offset + 4) if r.type == 5 else (r.offset,))
    wrong: dict[int, bytes] = {}
    for section in draft.layout.sections:
        if not section.executable:
            continue
        got = made.get(section.name)
        if got is None or len(got.data) != len(section.data):
            return {}, bool(section.data)
        if got.data == section.data:
            continue
        open_here = open_words[section.name]
        bad = 0
        first = bisect_left(draft.code.rows, (section.address,))
        for n in range(first, bisect_left(draft.code.rows, (section.end,))):
            pc, words, _ = draft.code.rows[n]
            at = pc - section.address
            size = 4 * len(words)
            have = got.data[at : at + size]
            if have == section.data[at : at + size]:
                continue
            free = [k for k in range(0, size, 4) if at + k not in open_here]
            if all(have[k : k + 4] == section.data[at + k : at + k + 4] for k in free):
                continue  # the linker fills the rest in
            wrong[n] = have
            bad += 1
        tail = 4 * (len(section.data) // 4)
        if got.data[tail:] != section.data[tail:]:
            return {}, True
    return wrong, False


def _same_text(draft: Draft, linked: bytes) -> bool:
    """Whether the linked code is the original's, distances to other sections included."""
    got = {s.name: s.data for s in read_tables(linked).sections if s.flags & 4}
    return all(got.get(s.name) == s.data for s in draft.layout.sections if s.executable)


def _keep(draft: Draft, wrong: dict[int, bytes]) -> tuple[dict[int, str], int]:
    """Lines for the rows that came out wrong, and how many of them are text with bits."""
    rows = draft.code.rows
    plain = {
        n: got
        for n, got in wrong.items()
        if n not in draft.code.branches and n not in draft.code.references and len(got) == 4 * len(rows[n][1])
    }
    unknown = {got for n, got in plain.items() if not _known_dont_care(got, rows[n][1])}
    means = _texts(draft, unknown)
    out: dict[int, str] = {}
    bits = 0
    for n in wrong:
        got = plain.get(n)
        if got is not None and (got not in unknown or means.get(got) == bare(rows[n][2])):
            have = struct.unpack(f"<{len(got) // 4}I", got)
            differences = [
                (4 * k, a, b) for k, (a, b) in enumerate(zip(have, rows[n][1], strict=True)) if a != b
            ]
            out[n] = f"\t{rows[n][2]}\t{bits_comment(differences)}"
            bits += 1
        else:
            out[n] = word_line(rows[n])
    return out, bits


def _known_dont_care(got: bytes, words: tuple[int, ...]) -> bool:
    """Differences in bits that no instruction of that form reads; LLVM need not be asked.

    The assembler writes 0 into the third source of VOP3 and VOP3P when the
    instruction has none, AMD's compilers inline constant 0 (0x80); a source
    that is there is printed and comes back as it is. Bits 13 and 14 of
    v_mfma_scale's first word are not used (CDNA4 ISA, VOP3PX2).
    """
    have = struct.unpack(f"<{len(got) // 4}I", got)
    differ = [a ^ b for a, b in zip(have, words, strict=True)]
    if len(have) in (2, 3) and words[0] >> 26 in _VOP3:
        return not differ[0] and differ[1] == 0x80 << 18 and not any(differ[2:]) and not have[1] & _SRC2
    if len(have) == 4 and words[0] >> 16 == 0xD3AC:
        return not differ[0] & ~0x6000 and not any(differ[1:])
    return False


def _expected(row: Row) -> str | None:
    """The line with bits for what would come out otherwise: one assembly less.

    A wrong guess costs nothing: the comment takes effect only where the
    assembler writes exactly the bits it names.
    """
    _, words, text = row
    have = list(words)
    if len(words) in (2, 3) and words[0] >> 26 in _VOP3:
        if text.startswith(_PACKED_PAIRS) and words[0] >> 26 == 0x33:
            have[0] |= 0x4000  # op_sel_hi of the third source
            have[1] &= ~_SRC2
        elif words[1] & _SRC2 == 0x80 << 18 and (text.startswith("v_mbcnt") or not _ZERO.search(text)):
            have[1] &= ~_SRC2  # a third source that is there would be printed
    elif len(words) == 4 and words[0] >> 16 == 0xD3AC:
        have[0] &= ~0x6000
    differences = [(4 * k, a, b) for k, (a, b) in enumerate(zip(have, words, strict=True)) if a != b]
    return f"\t{text}\t{bits_comment(differences)}" if differences else None


def _texts(draft: Draft, encodings: Iterable[bytes]) -> dict[bytes, str]:
    """How LLVM reads each of these encodings."""
    todo = list(encodings)
    if not todo:
        return {}
    places, at = {}, 0
    for e in todo:
        places[at] = e
        at += len(e)
    wave = 64 if "+wavefrontsize64" in draft.code.mattr else None
    rows = disassemble_ranges([CodeRange(0, b"".join(todo))], draft.co.arch, wave_size=wave)
    return {
        places[pc]: bare(text)
        for pc, words, text in rows
        if pc in places and 4 * len(words) == len(places[pc])
    }


def _wrong_alone(draft: Draft, how: Choices) -> dict[int, bytes]:
    """Row -> encoding of its text assembled for itself, where that is not the original's."""
    groups: dict[tuple[str, tuple[int, ...]], list[int]] = {}
    for n, (_, words, text) in enumerate(draft.code.rows):
        if n not in how.keep and not text.startswith(".long"):
            groups.setdefault((text, words), []).append(n)
    got = _encodings(draft, [text for text, _ in groups])
    wrong = {}
    for (text, words), where in groups.items():
        encoding = got.get(text, b"")
        if encoding != struct.pack(f"<{len(words)}I", *words):
            wrong.update(dict.fromkeys(where, encoding))
    return wrong


def _encodings(draft: Draft, texts: list[str]) -> dict[str, bytes]:
    """Text -> what the assembler makes of it; rejected ones are absent."""
    head = [f"; isaprof.mcpu: {draft.co.arch}", f"; isaprof.mattr: {draft.code.mattr}", "\t.text"]
    distinct = list(dict.fromkeys(texts))
    bad: set[int] = set()
    for _ in range(2):
        lines = [*head]
        for n, t in enumerate(distinct):
            lines += ["\t" + t if n not in bad else "", f"\t.org {_SLOT * (n + 1)}, {_FILLER}"]
        made = to_object("\n".join([*lines, ""]))
        if not isinstance(made, AssemblyErrors):
            text = next(s.data for s in read_tables(made).sections if s.name == ".text")
            slots = (text[i : i + _SLOT] for i in range(0, len(text), _SLOT))
            return {t: _unfilled(s) for t, s in zip(distinct, slots, strict=False)}
        bad |= {(line - len(head) - 1) // 2 for line in made.lines}
    return {}


def _unfilled(slot: bytes) -> bytes:
    """The encoding in front of the filler, in whole words."""
    n = len(slot)
    while n and slot[n - 4 : n] == bytes([_FILLER]) * 4:
        n -= 4
    return slot[:n]
