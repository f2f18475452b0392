"""Which texts are fit to be shown to others (F14)."""

from __future__ import annotations

import unicodedata

import pytest

from shared.rules.language.one_line import is_one_line

KINDS = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls, format characters, surrogates, line and paragraph separators


@pytest.mark.parametrize("text", ["Анна", "two whists, not three", "«Пулька» — №1 ♠♥ 10/3", "e\u0301", "日本語", "a\u00a0b"])
def test_a_sentence_is_one_line(text):
    """Letters of any script, signs and blanks."""
    assert is_one_line(text)


def test_what_breaks_hides_or_turns_a_line_is_not():
    """F14: every line break of UAX 14, every control, every mark of direction of UAX 9; of format characters all that play tricks."""
    breaks = "\n\r\x0b\x0c\x85\u2028\u2029"
    turns = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert [sign for sign in breaks + turns + "\0\x1b\x7f\x9b\ufeff\u200b\ud800\U000e0041" if is_one_line(f"a{sign}b")] == []
    refused = {chr(number) for number in range(0x110000) if not is_one_line(chr(number))}
    fillers = set("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")  # two names that differ in these look alike
    assert refused >= fillers
    assert {unicodedata.category(sign) for sign in refused - fillers} == {*KINDS, "Cn"}  # the gaps between format characters, and no letter
    assert [
        hex(ord(sign)) for sign in map(chr, range(0x3000)) if unicodedata.category(sign) in {"Cc", "Zl", "Zp"} and is_one_line(sign)
    ] == []
