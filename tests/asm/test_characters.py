"""Characters LLVM's parser does not know: named at once (two of them together keep llvm-mc busy for ever)."""

from __future__ import annotations

import pytest

from isaprof.asm import assemble_text
from isaprof.asm.characters import unknown_characters
from isaprof.errors import BadInput
from tests.asm.objects import source


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("\ts_nop 0\u00a0", "U+00A0 (no-break space)"),
        ("\ts_nop 0 \u201c\u201d", "U+201C (left double quotation mark)"),
        ("\ts_nop 0 \x01\x02", "U+0001"),
        ("\ts_nop 0 ``", "U+0060 (grave accent)"),
        ("s\U00049789", "U+49789"),
    ],
)
def test_is_named_with_its_line(line: str, says: str) -> None:
    text = source("gfx942", f"{line}\n\ts_nop 1")
    number = text.split("\n").index(line) + 1
    with pytest.raises(BadInput, match=rf"k\.s:{number}:\d+: error: ") as e:
        assemble_text(text, "k.s")
    assert f"{says} can stand only in a comment or a string" in str(e.value)


def test_every_line_once_with_its_column() -> None:
    assert [(n, c) for n, c, _ in unknown_characters("\té\u00a0é\n\n; é\n a: \u2013\n")] == [(1, 2), (4, 5)]


def test_comments_and_strings_hold_any_character() -> None:
    body = '\ts_nop 0 ; é\u00a0`\n# é\n\ts_nop 0 // é "\n\t/* é\n\té */\n\t.ident "é \\" `"'
    assert unknown_characters(body) == []
    assert assemble_text(source("gfx942", body))
