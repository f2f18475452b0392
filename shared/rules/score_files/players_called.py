"""What texts call the players: by their names; without names in a deal by their hands, as players do (3.3.2), elsewhere by their seats.

A name is never declined: Russian puts a noun before it that is. Hands and seats are our own words and stand in the case that they need.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from shared.rules.deck.seats import active, resting

Lang = Literal["en", "ru"]


class Called(NamedTuple):
    """One player: `who` does something; whists are written `on`, help comes `of` them; `opening` begins a sentence."""

    who: str
    on: str
    of: str
    opening: str


_SEATS: Final[dict[Lang, str]] = {"en": "seat {seat}", "ru": "место {seat}"}
_SEAT: Final = re.compile(r"(?:seat|место) ([0-4])")
_HANDS: Final = (
    Called("первая рука", "первую руку", "первой руки", "Первая рука"),
    Called("вторая рука", "вторую руку", "второй руки", "Вторая рука"),
    Called("третья рука", "третью руку", "третьей руки", "Третья рука"),
)
_DEALER: Final = Called("сдающий", "сдающего", "сдающего", "Сдающий")


def seat_word(lang: Lang, seat: int) -> str:
    """What a seat is called whose player nobody knows: "seat 1", "место 1"."""
    return _SEATS[lang].format(seat=seat)


def is_seat(name: str) -> bool:
    """Whether it is a seat's word, in either language, and nobody's name."""
    return _SEAT.fullmatch(name) is not None


def called(lang: Lang, players: int, names: Sequence[str | None] | None = None) -> tuple[Called, ...]:
    """All players by seat: by name where it is known, else by seat."""
    return tuple(_called(lang, seat, None if names is None else names[seat]) for seat in range(players))


def called_in_deal(lang: Lang, players: int, dealer: int, names: Sequence[str | None] | None = None) -> tuple[Called, ...]:
    """All players by seat in a deal of `dealer`: without names in Russian by their hands, a resting dealer by the office."""
    found = list(called(lang, players, names))
    if names is not None or lang == "en":
        return tuple(found)
    for hand, seat in zip(_HANDS, active(players, dealer), strict=False):
        found[seat] = hand
    if dealer in resting(players, dealer):
        found[dealer] = _DEALER
    return tuple(found)


def _called(lang: Lang, seat: int, name: str | None) -> Called:
    """A name that is a seat's word stands for nobody known."""
    if name is None or is_seat(name):
        place = seat_word(lang, seat) if name is None else name
        return Called(place, place, place.replace("место", "места"), place[0].upper() + place[1:])
    return Called(name, f"игрока {name}", f"игрока {name}", name) if lang == "ru" else Called(name, name, name, name)
