"""A player's name as documents may hold it."""

from __future__ import annotations

import unicodedata
from typing import Final

from shared.rules.language.one_line import BROKEN, is_one_line
from shared.rules.language.refusal import Malformed

LONGEST_NAME: Final = 40  # characters; fits beside a seat


def read_name(text: str, path: str) -> str:
    """A name fit to be shown: composed, on one line, without blanks around it, without control, format or unassigned characters.

    Raises `Malformed` with `path`.
    """
    name = unicodedata.normalize("NFC", text).strip()
    if not 1 <= len(name) <= LONGEST_NAME:
        raise Malformed(path, f"must have 1 to {LONGEST_NAME} characters")
    if not is_one_line(name) or any(unicodedata.category(character).startswith("C") for character in name):
        raise Malformed(path, BROKEN)
    return name
