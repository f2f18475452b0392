"""Exact numbers: whole ones as `int`, others as `Fraction`; in documents `3` and `"184/3"`. Only the shown settlement is rounded."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TypeAlias

from shared.rules.language.refusal import Malformed

Amount: TypeAlias = int | Fraction

LONGEST = 40  # characters of a number in a document: more than any sheet can hold, few enough to be read at once
LARGEST = 10**12  # of a number in a document; keeps exact arithmetic cheap

_WRITTEN = re.compile(r"(-?[0-9]+)(?:/([0-9]+))?")


def exact(value: Amount) -> Amount:
    """The same number, as an `int` when it is whole."""
    return value if isinstance(value, int) else value.numerator if value.denominator == 1 else value


def divided(value: Amount, by: int) -> Amount:
    """`value / by`, exact."""
    return exact(Fraction(value, by)) if value % by else exact(value // by)


def written(value: Amount) -> int | str:
    """The number as a document has it: `3`, or `"184/3"` in lowest terms."""
    value = exact(value)
    return value if isinstance(value, int) else f"{value.numerator}/{value.denominator}"


def read(value: int | str, path: str) -> Amount:
    """The number that a document has at `path`. Raises `Malformed` for what is neither a whole number nor a fraction in text."""
    if isinstance(value, int):
        number: Amount = value
    else:
        match = _WRITTEN.fullmatch(value) if len(value) <= LONGEST else None
        if match is None or (match[2] is not None and int(match[2]) == 0):
            raise Malformed(path, 'must be a whole number or an exact fraction in text, such as "184/3"')
        number = exact(Fraction(int(match[1]), int(match[2] or 1)))
    if not -LARGEST <= number <= LARGEST:
        raise Malformed(path, f"must lie between -{LARGEST} and {LARGEST}")
    return number
