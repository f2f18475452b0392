"""Texts that people write for others to read (names, reasons): one line, of characters that show."""

from __future__ import annotations

import re
from typing import Final

#: Inside a character class of a regular expression: what breaks a line for one reader and not for another (UAX 14), what a terminal obeys,
#: what turns the text around it (UAX 9), what is not seen at all, and halves of characters. By their numbers and not by Unicode's
#: properties, so that a text is judged alike by every version of Python.
UNSHOWN: Final = (
    r"\x00-\x1f\x7f-\x9f"  # controls: line feed, vertical tab, form feed, escape, next line
    r"\u00ad\u061c\u180e\u200b-\u200f\u2060-\u206f\ufeff"  # without width; marks, isolates and old forms of direction
    r"\u2028-\u202e"  # line and paragraph separator; embeddings and overrides of direction
    r"\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # joiners and fillers: letters by their class, and nothing is seen of them
    r"\ufff9-\ufffb\U000e0000-\U000e007f"  # annotations, tags
    r"\ud800-\udfff"
)
BROKEN: Final = "must be one line, without control characters and without marks that are not seen or turn the text"

_unshown = re.compile(f"[{UNSHOWN}]")


def is_one_line(text: str) -> bool:
    """Whether everybody who is shown `text` reads the same single line."""
    return _unshown.search(text) is None
