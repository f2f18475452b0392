"""Pulkas played by a seeded lot through the rules, as the drawn sheet takes them; run as a program it writes the golden pictures anew."""

from __future__ import annotations

import random
from functools import reduce
from pathlib import Path

from services.ledger.sheet.drawn_sheet import drawn_sheet
from services.ledger.sheet.printed_sheet import PrintedDeal
from shared.rules.convention.options import resolve, to_document
from shared.rules.convention.rules_digest import rules_digest
from shared.rules.deal.ending import outcome_of
from shared.rules.language.game_events import DealScored
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka
from shared.rules.scoring.settlement import pulka_closed, settlement
from shared.rules.scoring.sheet import empty_sheet, write
from tests.lot import drawn_events

GOLDEN = Path(__file__).parent / "golden"
NAMES = {"ru": ("Анна", "Борис", "Вера", "Григорий", "Дина"), "en": ("Anna", "Boris", "Vera", "Grigory", "Dina")}
SEATS = ("0-north", "0-east", "0-south", "0-west", "0-fifth")
#: Name of the picture: players, deals, lot, language.
PICTURES = {
    f"sheet_{players}_players_{deals}_deals": (players, deals, lot, lang)
    for players, lot, lang in ((3, 7, "ru"), (4, 5, "en"))
    for deals in (0, 10, 40)
}


def played(convention, players, target, lot, deals):
    """The object of `pulka score` after at most so many deals, and what was played in them."""
    rules, draw = resolve(convention, target), random.Random(lot)
    digest = rules_digest(to_document(rules), players, target, {})
    opening = OpenPulka(rules, digest, players, target, SEATS[:players], {}, draw.randrange(players), "5e" * 32)
    pulka = Pulka(table_id="0-" + "a" * 26)
    pulka = reduce(match.evolve, match.open_pulka(pulka, opening), pulka)
    wrote, told = [], []
    while len(wrote) < deals and match.phase(pulka) != "over":
        _, events = drawn_events(pulka, draw)
        for event in events:
            if isinstance(event, DealScored):
                wrote.append(write(empty_sheet(players), event.entries).document() | {"entries": list(event.entries)})
                told.append(PrintedDeal(len(wrote), outcome_of(event.outcome)))
        pulka = reduce(match.evolve, events, pulka)
    score = {
        "deals": wrote,
        "sheet": pulka.sheet.document(),
        "closed": pulka_closed(rules, target, pulka.sheet, len(wrote)),
        "settlement": settlement(rules, target, pulka.sheet),
    }
    return score, told


def picture(players, deals, lot, lang):
    score, _ = played({"preset": "sochi", "version": 1}, players, 50, lot, deals)  # whose digest dealt the cards that were looked at
    assert len(score["deals"]) == deals
    return drawn_sheet(score, 50, NAMES[lang][:players], lang)


if __name__ == "__main__":
    for name, drawn in PICTURES.items():
        (GOLDEN / f"{name}.svg").write_bytes(picture(*drawn))
