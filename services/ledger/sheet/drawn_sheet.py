"""The pulka as people know it on paper, as an SVG picture: whists along the edge, the pool next, the mountain inside, earlier totals
struck through. Takes the object of `pulka score`; the same object gives the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from services.ledger.sheet.lettering import Placed, set_in, shortened, width_of
from services.ledger.sheet.paper import MIDDLE, Paper, paper
from services.ledger.sheet.polygons import Point
from services.ledger.sheet.running_totals import MOUNTAIN, POOL, Field, Totals, running_totals
from services.ledger.sheet.sheet_words import whists_field, word
from shared.rules.language.amount import Amount, written
from shared.rules.score_files.convention_words import PLAYERS
from shared.rules.score_files.players_called import called
from shared.rules.score_files.scorer_words import Lang, deals_counted

MARGIN: Final = 60.0  # around the paper, for names and results
BARE: Final = 24.0  # above it where nobody sits there
NAME, RESULT, NOTE = 19, 22, 12  # sizes of what stands in the margin
CORNER: Final = 190.0  # units at both lower corners that are the notes'; names keep off them
INK, PENCIL, LABELS, SHEET, PARTING = "#1b2430", "#6b7583", "#5b6572", "#fffdf7", "#3c4858"
FONTS: Final = "'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
NO_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 has no way to write


def drawn_sheet(score: Mapping[str, Any], target: int | None = None, names: Sequence[str] | None = None, lang: Lang = "en") -> bytes:
    """An SVG picture of `score` (`deals`, `sheet`, `settlement`, `closed`; `kept`, `annulled` where there are) for two to five players.

    `names` by seat, else the seats' numbers stand there. Raises `KeyError` for another number of players.
    """
    sheet = paper(len(score["sheet"]["pool"]))
    shown = names_shown(names, len(sheet.sides), lang)
    totals = running_totals(score)
    top = MARGIN if any(side.startswith("above") for side in sheet.sides) else BARE
    width, height = sheet.width + 2 * MARGIN, sheet.height + top + MARGIN
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-MARGIN:g} {-top:g} {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" lang="{lang}" role="graphics-document document">'
        ),
        f"<title>{_text(_title(score, target, lang))}</title>",
        f"<desc>{_text(' '.join(_described(score, totals, shown, lang)))}</desc>",
        f'<rect x="{-MARGIN:g}" y="{-top:g}" width="{width:g}" height="{height:g}" fill="{SHEET}"/>',
        *_ruled(sheet),
        f'<g font-family="{FONTS}" text-anchor="middle" fill="{INK}">',
        *_middle(sheet.middle, target),
    ]
    for field in sheet.fields:
        parts += _field(sheet, field, totals[field], shown, lang)
    for seat in range(len(shown)):
        parts += _margin(sheet, seat, shown[seat], score["settlement"]["rounded"][seat])
    parts += _notes(sheet, score, lang)
    return ("\n".join([*parts, "</g>", "</svg>"]) + "\n").encode()


def names_shown(names: Sequence[str] | None, players: int, lang: Lang) -> list[str]:
    """What the players are called: by their names, or by their seats."""
    return [player.who for player in called(lang, players, names)]


def signed(whists: int) -> str:
    """A result with its sign: "+38", "−77", "0"."""
    return f"{whists:+d}".replace("-", "−") if whists else "0"


def number(amount: Amount) -> str:
    """A total as it is written down: "12", "−5", "184/3"."""
    return str(written(amount)).replace("-", "−")


# ---- The paper ---------------------------------------------------------------------------------------------------------


def _ruled(sheet: Paper) -> Iterator[str]:
    """The edge, the lines along it, and the heavier ones between the players."""
    yield f'<rect x="0" y="0" width="{sheet.width:g}" height="{sheet.height:g}" fill="none" stroke="{PARTING}" stroke-width="2"/>'
    thin = "".join(_line(*ends) for ends in sheet.strips)
    yield f'<path d="{thin}" fill="none" stroke="{PENCIL}" stroke-width="1"/>'
    yield f'<path d="{"".join(_line(*ends) for ends in sheet.parting)}" fill="none" stroke="{PARTING}" stroke-width="2"/>'


def _line(start: Point, end: Point) -> str:
    return f"M{_at(start[0])} {_at(start[1])}L{_at(end[0])} {_at(end[1])}"


def _middle(middle: Point, target: int | None) -> Iterator[str]:
    """The circle, with what is played to."""
    x, y = _at(middle[0]), _at(middle[1])
    yield f'<circle cx="{x}" cy="{y}" r="{MIDDLE - 4:g}" fill="{SHEET}" stroke="{PARTING}" stroke-width="2"/>'
    if target is not None:
        text = str(target)
        size = min(26.0, 26.0 * 2 * (MIDDLE - 9) / width_of(text, 26))
        yield f'<text x="{x}" y="{_at(middle[1] + 0.36 * size)}" font-size="{_at(size)}" font-weight="bold">{text}</text>'


# ---- What is written ---------------------------------------------------------------------------------------------------


def _field(sheet: Paper, field: Field, totals: Sequence[Amount], names: Sequence[str], lang: Lang) -> Iterator[str]:
    seat, column, on = field
    label = whists_field(lang, names[on]) if on is not None else word(lang, column)
    texts = [number(total) for total in totals]
    told = ", ".join(texts) or word(lang, "none")
    yield f"<g><title>{_text(f'{names[seat]}, {label}: {told}')}</title>"
    if not texts and on is None:
        texts = ["0"]  # a column of one's own that is empty stands at nothing; whists on somebody are left blank, as on paper
    yield from map(_placed, set_in(sheet.fields[field], label, texts))
    yield "</g>"


_LOOKS: Final = {
    "label": f'fill="{LABELS}" font-style="italic"',
    "more": f'fill="{PENCIL}"',
    "struck": f'fill="{PENCIL}" text-decoration="line-through"',
    "stands": 'font-weight="bold"',
}


def _placed(one: Placed) -> str:
    at = f'x="{_at(one.x + one.width / 2)}" y="{_at(one.y)}" font-size="{_at(one.size)}"'
    return f"<text {at} {_LOOKS[one.kind]}>{_text(one.text)}</text>"


def _margin(sheet: Paper, seat: int, name: str, result: int) -> Iterator[str]:
    """Name and result beside the player's edge, on the left and the right turned as they would read them."""
    side = sheet.sides[seat]
    edge = sheet.height if side in ("left", "right") else sheet.width / (2 if side in ("above left", "above right") else 1)
    told = signed(result)
    room = edge - 2 * (CORNER if side == "below" else 10) - width_of(f"  {told}", RESULT)
    share = {"above left": 0.25, "above right": 0.75}.get(side, 0.5)
    turn = {"left": -90, "right": 90}.get(side, 0)
    depth = -MARGIN / 2
    x, y = {
        "below": (sheet.width / 2, sheet.height - depth),
        "left": (depth, sheet.height / 2),
        "right": (sheet.width - depth, sheet.height / 2),
    }.get(side, (share * sheet.width, depth))
    turned = f' transform="rotate({turn} {_at(x)} {_at(y)})"' if turn else ""
    yield (
        f'<text x="{_at(x)}" y="{_at(y)}" dy="0.35em" font-size="{NAME}"{turned}>{_text(shortened(name, room, NAME))}'
        f'<tspan dx="0.6em" font-size="{RESULT}" font-weight="bold">{told}</tspan></text>'
    )


def _notes(sheet: Paper, score: Mapping[str, Any], lang: Lang) -> Iterator[str]:
    """How many deals, and whether the pulka is over, in the lower corners."""
    y = _at(sheet.height + MARGIN / 2)
    look = f'dy="0.35em" font-size="{NOTE}" fill="{LABELS}"'
    yield f'<text x="0" y="{y}" text-anchor="start" {look}>{_text(deals_counted(lang, len(score["deals"])))}</text>'
    yield f'<text x="{sheet.width:g}" y="{y}" text-anchor="end" {look}>{_text(state(score, lang))}</text>'


def state(score: Mapping[str, Any], lang: Lang) -> str:
    """Whether the pulka goes on or is over, was played elsewhere, and whether it was corrected or annulled since."""
    since = "annulled" if score.get("annulled") else "corrected" if score.get("corrections") else ""
    marks = ["closed" if score["closed"] else "open", *(["recorded"] if score.get("recorded") else []), *([since] if since else [])]
    return ", ".join(word(lang, mark) for mark in marks)


# ---- In words ----------------------------------------------------------------------------------------------------------


def _title(score: Mapping[str, Any], target: int | None, lang: Lang) -> str:
    to = "" if target is None else word(lang, "to", target=target)
    count, deals = len(score["sheet"]["pool"]), deals_counted(lang, len(score["deals"]))
    players = PLAYERS[count] if lang == "ru" else count
    return word(lang, "title", players=players, deals=deals, state=state(score, lang)) + to


def _described(score: Mapping[str, Any], totals: Totals, names: Sequence[str], lang: Lang) -> Iterator[str]:
    """The sheet as a reader for the blind tells it: what stands last in every field."""

    def last(field: Field) -> str:
        return number(totals[field][-1]) if totals[field] else "0"

    for seat, name in enumerate(names):
        on = [
            word(lang, "whists_on", amount=last(field), name=names[field[2]])
            for field in totals
            if field[0] == seat and field[2] is not None
        ]
        columns = {"pool": last((seat, POOL, None)), "mountain": last((seat, MOUNTAIN, None)), "whists": ", ".join(on)}
        yield word(lang, "described", name=name, result=signed(score["settlement"]["rounded"][seat]), **columns)


def _text(text: str) -> str:
    """`text` as it may stand in XML: escaped, and without the signs that XML has no way to write."""
    return escape(NO_XML.sub("\ufffd", text))


def _at(value: float) -> str:
    """A coordinate to a tenth of a unit: the same on every machine."""
    return f"{value:.1f}".removesuffix(".0")
