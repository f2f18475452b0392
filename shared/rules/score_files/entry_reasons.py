"""Why an entry was written, in English and in Russian.

A reason (`Entry.why`) is stored in English, in phrases that the rules put together. Each phrase stands here once, with what it says in
Russian. Whatever is none of them is somebody's own words, a ruling's, and stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from shared.rules.score_files.players_called import Called
from shared.rules.score_files.scorer_words import Lang, contract, counted_noun, without

#: Phrases as the rules write them, with the same places in Russian; a place's word is looked up in `_PLACES`.
PHRASES: Final[tuple[tuple[str, str], ...]] = (
    # a trick game (4.1.1, 3.5.4, 3.8.7, 3.9.18)
    ("{contract} made", "сыграно {contract}"),
    ("{contract} made, nobody whisted", "сыграно {contract}, никто не вистовал"),
    ("{contract} made, unplayed", "сыграно {contract}, ушли за полвиста"),
    ("{contract} given up without three, {price} a trick", "{contract}: уход без трёх, по {price}"),
    ("{contract} {without} at {price}", "{contract} {without}, по {price}"),
    ("{contract} {without} at {price}, given up without all", "{contract}: разыгрывающий сдался без всех, по {price}"),
    ("fine: {contract} {without} at {price} more", "штраф: {contract} ещё {without}, по {price}"),
    # whists (3.8.1.1, 3.8.1.2, 3.8.7, 3.8.14, 3.4.11)
    ("{tricks} at {price}", "{tricks} по {price}"),
    ("half-whist: {tricks} at {price}", "полвиста: {tricks} по {price}"),
    ("all of the defence: {tricks} at {price}", "за обе руки: {tricks} по {price}"),
    ("half of {number}: {tricks} at {price}", "по-джентльменски, половина от {number}: {tricks} по {price}"),
    ("consolation: {without} at {price}", "консоляция: {without}, по {price}"),
    ("talon gift: {tricks} at {price}", "премия за прикуп: {tricks} по {price}"),
    ("talon gift: {tricks} at {price}, shared by {among}", "премия за прикуп: {tricks} по {price}, {among}"),
    # a whister's shortage (3.8.6, 3.8.11, 3.8.12, 3.9.18)
    ("{missing} missing on whist: {tricks} at {price}", "на висте {missing}, по {price}"),
    ("fine: {missing} missing on whist at {price}", "штраф: на висте {missing}, по {price}"),
    # misere (3.6.1, 3.6.9, 4.2.1)
    ("misere made", "мизер сыгран"),
    ("misere made, half of it", "мизер сыгран, пополам со сдающим"),
    ("misere caught: {tricks} at {price}", "мизер пойман: {tricks} по {price}"),
    ("misere caught: {tricks} at {price}, half of it", "мизер пойман: {tricks} по {price}, пополам со сдающим"),
    ("fine: {tricks} at {price} more", "штраф: ещё {tricks} по {price}"),
    ("fine: {tricks} at {price} more, half of it", "штраф: ещё {tricks} по {price}, пополам со сдающим"),
    # all-pass (3.7.2, 3.7.3)
    ("{tricks} at {price}, {forgiven} forgiven to all", "{tricks} по {price}, амнистия на {forgiven}"),
    ("{tricks} at {price}, shared by {among}", "{tricks} по {price}, {among}"),
    ("no trick on all-pass", "ни одной взятки на распасовке"),
    ("no trick on all-pass, the price of one: {price}", "ни одной взятки на распасовке, цена взятки {price}"),
    (
        "no trick on all-pass, twice the price of one off the mountain: {price}",
        "ни одной взятки на распасовке, с горы две цены взятки, {price}",
    ),
    # where points go (4.1.1, 4.2.3, 4.2.12)
    ("help from {seat}", "помощь от {seat}"),
    ("help: {points} at {price}", "помощь: {points} по {price}"),
    ("all pools are closed: off the mountain", "все пули закрыты, списано с горы"),
    ("a point off, so that the mountains divide", "очко с горы, чтобы горы делились"),
    ("compensation of the point", "компенсация за это очко"),
    # irregularities and rulings (3.2.21, 3.3.16.3, 3.8.5.1, 3.9.14.3, 3.9.16.2, 4.2.7-4.2.10)
    ("fine: {points}", "штраф: {points}"),
    ("the declarer refused the talon", "разыгрывающий отказался от прикупа"),
    ("the talon was shown before the auction was over", "прикуп открыт до конца торговли"),
    ("a trick goes to {player}", "взятку получает {player}"),
    ("proved: misere of {player}", "доказано: мизер, играет {player}"),
    ("proved: {contract} of {player}", "доказано: {contract}, играет {player}"),
    ("proved: another line of all-pass", "доказано: распасовка прошла бы иначе"),
    ("the guaranteed result was missed by {whists}", "до обещанного не хватило {whists}"),
    ("the result of his own plan of defence", "как вышло бы по плану несогласного"),
    ("by lot the result of the disputed plan", "по жребию, как вышло бы по плану несогласного"),
    ("a fine for a wrong entry", "штраф за неверную запись"),
    ("an entry that nobody called in time", "неверная запись, которую вовремя не заметили"),
    ("an entry that was forgotten", "забытая запись"),
    ("as it stands on the sheet that the players kept", "так записали сами игроки"),
)

#: What somebody did, by the rule that they broke, where the rule itself fixes the fine and nobody gave a reason.
OFFENCES: Final[dict[Lang, dict[str, str]]] = {
    "en": {
        "3.2.17": "a fault in dealing",
        "3.2.21": "looked at the talon",
        "3.4.6": "ordered with a wrong number of cards",
        "3.4.9": "looked at the discard",
        "3.9.11.2": "looked at tricks",
        "3.9.16.2": "a revoke that was seen late",
        "3.9.18": "played with a wrong number of cards",
    },
    "ru": {
        "3.2.17": "нарушение при сдаче",
        "3.2.21": "подглядывание в прикуп",
        "3.4.6": "заказ с неверным числом карт",
        "3.4.9": "подглядывание в снос",
        "3.9.11.2": "подглядывание во взятки",
        "3.9.16.2": "фальшренонс, замеченный поздно",
        "3.9.18": "игра с неверным числом карт",
    },
}

_N: Final = r"-?[0-9]+(?:/[0-9]+)?"
_CLOSED: Final = re.compile(rf"(?P<won>.*), (?P<own>{_N}) of (?P<gain>{_N}): the pool is closed")

Place = Callable[[str, Sequence[Called]], str]


def _tricks(text: str, _: Sequence[Called]) -> str:
    return counted_noun(text.partition(" ")[0], "взятка", "взятки", "взяток")


def _forgiven(text: str, _: Sequence[Called]) -> str:
    return counted_noun(text, "взятку", "взятки", "взяток")


def _points(text: str, _: Sequence[Called]) -> str:
    return counted_noun(text.partition(" ")[0], "очко", "очка", "очков")


def _missed(text: str, _: Sequence[Called]) -> str:
    return counted_noun(text.partition(" ")[0], "виста", "вистов", "вистов", part="виста")


def _among(text: str, _: Sequence[Called]) -> str:
    return {"2": "пополам", "3": "на троих", "4": "на четверых"}[text]


#: What stands in a place: how English has it, and how Russian does.
_PLACES: Final[dict[str, tuple[str, Place]]] = {
    "contract": (r"(?:10|[6-9])(?:S|C|D|H|NT)", lambda text, _: contract(text, "ru")),
    "without": (rf"without (?:{_N})", lambda text, _: without("ru", text.removeprefix("without "))),
    "missing": (_N, lambda text, _: without("ru", text)),
    "tricks": (rf"(?:{_N}) tricks?", _tricks),
    "forgiven": (_N, _forgiven),
    "among": ("[2-4]", _among),
    "points": (rf"(?:{_N}) points?", _points),
    "whists": (rf"(?:{_N}) whists?", _missed),
    "seat": ("seat [0-4]", lambda text, players: players[int(text[-1])].of),
    "player": ("seat [0-4]", lambda text, players: players[int(text[-1])].who),
    "number": (_N, lambda text, _: text.replace("-", "−")),
    "price": (_N, lambda text, _: text.replace("-", "−")),
}


def _compiled(english: str) -> re.Pattern[str]:
    found = re.escape(english)
    for place, (pattern, _) in _PLACES.items():
        found = found.replace(re.escape(f"{{{place}}}"), f"(?P<{place}>{pattern})")
    return re.compile(found)


_PHRASES: Final = tuple((_compiled(english), russian) for english, russian in PHRASES)
_SEAT: Final = re.compile(r"\bseat ([0-4])\b")


def is_ours(why: str) -> bool:
    """Whether the rules worded it, not a person."""
    closed = _CLOSED.fullmatch(why)
    return any(pattern.fullmatch(closed["won"] if closed else why) for pattern, _ in _PHRASES)


def reason(lang: Lang, why: str, players: Sequence[Called]) -> str:
    """An entry's reason in the language, with a seat that it names called as `players`, by seat, are; a person's words as they are."""
    closed = _CLOSED.fullmatch(why)
    if closed is not None:
        won = reason(lang, closed["won"], players)
        own, gain = closed["own"], closed["gain"]
        return f"{won}: {own} из {gain}, пуля закрыта" if lang == "ru" else f"{won}, {own} of {gain}: the pool is closed"
    for pattern, russian in _PHRASES:
        found = pattern.fullmatch(why)
        if found is not None:
            return _told(lang, why, found, russian, players)
    return contract(why)


def offence(lang: Lang, rule: str) -> str:
    """What somebody did who broke `rule`; nothing where the rule alone does not tell."""
    return OFFENCES[lang].get(rule, "")


def _told(lang: Lang, why: str, found: re.Match[str], russian: str, players: Sequence[Called]) -> str:
    if lang == "en":
        return _SEAT.sub(lambda seat: players[int(seat[1])].who, contract(why))
    return russian.format_map({place: _PLACES[place][1](text, players) for place, text in found.groupdict().items()})
