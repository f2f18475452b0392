"""A player's name as documents may hold it."""

from __future__ import annotations

import unicodedata
from typing import Final

from shared.rules.language.refusal import Malformed

LONGEST_NAME: Final = 40  # characters; fits beside a seat
_LINE_ENDS: Final = ("Zl", "Zp")  # U+2028 and U+2029, at which a line ends too (UAX 14)


def read_name(text: str, path: str) -> str:
    """A name fit to be shown: composed, on one line, without blanks around it, without control, format or unassigned characters.

    Raises `Malformed` with `path`.
    """
    name = unicodedata.normalize("NFC", text).strip()
    if not 1 <= len(name) <= LONGEST_NAME:
        raise Malformed(path, f"must have 1 to {LONGEST_NAME} characters")
    kinds = {unicodedata.category(character) for character in name}
    if any(kind.startswith("C") or kind in _LINE_ENDS for kind in kinds):
        raise Malformed(path, "must be one line without control characters")
    return name
