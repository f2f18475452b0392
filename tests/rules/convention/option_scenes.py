"""Scenes in which an option of the convention is seen at a table, one an option.

A deal is drawn by a seed, called in words and played on by lot; the seed is one whose tricks fall as the option wants them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import reduce
from typing import Any

import msgspec

from shared.rules.convention.options import Convention, resolve
from shared.rules.deal.decider import Deal, decide, default_move, evolve, legal_moves, open_deal
from shared.rules.deck.cards import CARDS, hand_text
from shared.rules.language.moves import Concede
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka
from shared.rules.scoring.series import dark_factor, is_forced, next_dealer
from shared.rules.scoring.settlement import is_time_up, settlement
from shared.rules.scoring.sheet import empty_sheet
from shared.rules.scoring.sheet_document import SheetDocument, read_sheet
from tests.lot import drawn_events
from tests.rules.words import after, as_word, shuffled, table

Shown = Any


def convention(option: str, value: Any, **others: Any) -> Convention:
    """Sochi with one option changed, and what else the scene needs."""
    options: dict[str, Any] = {"preset": "sochi"} | others
    if option.startswith("all_pass."):
        options["all_pass"] = {option.removeprefix("all_pass."): value} | others.get("all_pass", {})
    else:
        options[option] = value
    return resolve(options, 20)


def on_sheet(rules: Convention, deal: Deal, sheet: dict[str, Any] | None, in_row: int) -> Deal:
    """The deal under `rules`, on a sheet that says by hand, first hand first, what stands there."""
    setup = deal.setup
    players, order = setup.players, list(setup.order)
    order += [seat for seat in range(players) if seat not in order]
    told = {column: [dict(zip(order, values, strict=True))[seat] for seat in range(players)] for column, values in (sheet or {}).items()}
    before = read_sheet(SheetDocument(**told), players, "sheet") if told else empty_sheet(players)
    hands = tuple(hand_text(hand) for hand in setup.dealt)
    talon = " ".join(CARDS[card] for card in setup.talon)
    return open_deal(rules, players, 20, setup.dealer, before, in_row, hands, talon)


def played(rules: Convention, words: str, seed: int, *, players: int = 3, sheet: dict[str, Any] | None = None, in_row: int = 0) -> Deal:
    """The deal of `seed`: `words` said (`-` is the default move), the rest by lot, nobody giving up."""
    rng = random.Random(seed)
    deal = on_sheet(rules, shuffled(rng, players=players), sheet, in_row)
    for word in words.split():
        deal = after(deal, as_word(default_move(deal)) if word == "-" else word)
    while deal.to_act is not None:
        move = rng.choice(legal_moves(deal, deal.to_act))
        if not isinstance(move, Concede):
            deal = reduce(evolve, decide(deal, deal.to_act, move), deal)
    return deal


def entries(deal: Deal, *columns: str) -> list[str]:
    """What the deal wrote: `hand column amount`, the hands A, B, C and the resting D in their order; whists with the hand they are on."""
    order = [*deal.setup.order, *(seat for seat in range(deal.setup.players) if seat not in deal.setup.order)]
    name = {seat: "ABCD"[place] for place, seat in enumerate(order)}
    lines = []
    for entry in deal.score.entries:
        if entry["column"] in columns:
            on = name[entry["on"]] if entry["column"] == "whists" else ""
            lines.append(f"{name[entry['seat']]}{on} {entry['column'][0]}{entry['amount']}")
    return sorted(lines)


def words(deal: Deal) -> str:
    """What the seat on turn may say."""
    return " ".join(as_word(move) for move in legal_moves(deal, deal.to_act))


def whisted(tail: str, *seeds: int, columns: tuple[str, ...] = ("mountain", "whists"), **given: Any) -> Callable[..., Shown]:
    """The entries of one deal a seed, first hand declaring: 6S pass pass, the default discard, then `tail`."""

    def show(rules: Convention) -> Shown:
        return tuple(" ".join(entries(played(rules, f"6S pass pass - {tail}", seed, **given), *columns)) for seed in seeds)

    return show


def all_passed(*seeds: int, columns: tuple[str, ...] = ("mountain", "whists", "pool"), **given: Any) -> Callable[..., Shown]:
    """The entries of one all-pass deal a seed."""

    def show(rules: Convention) -> Shown:
        return tuple(" ".join(entries(played(rules, "pass pass pass", seed, **given), *columns)) for seed in seeds)

    return show


def offered(*said: str, **given: Any) -> Callable[..., Shown]:
    """What the next seat may say after each of the calls."""
    return lambda rules: tuple(words(after(table(recorded(rules), **given), calls)) for calls in said)


def recorded(rules: Convention) -> dict[str, Any]:
    """The record, as `table` takes it."""
    plain: dict[str, Any] = json.loads(msgspec.json.encode(rules))
    return plain


def stage(said: str, **given: Any) -> Callable[..., Shown]:
    """Where the deal stands after the calls: its phase and who is to act."""

    def show(rules: Convention) -> Shown:
        deal = after(table(recorded(rules), **given), said)
        return f"{deal.phase} {deal.to_act}"

    return show


def pulka_of(rules: Convention, lot: int, *, deals: int, minutes: float = 0.0, players: int = 3) -> Pulka:
    """A pulka by lot to its end, or after `deals` deals; each takes `minutes`, as far as its convention asks."""
    draw = random.Random(lot)
    pulka = Pulka(table_id="0-lot")
    opening = OpenPulka(rules, "00", players, 4, ("a", "b", "c", "d")[:players], {}, 0)
    pulka = reduce(match.evolve, match.open_pulka(pulka, opening), pulka)
    while pulka.status != "over" and not (match.phase(pulka) == "between_deals" and pulka.number == deals):
        time_up = is_time_up(rules, 0, int(pulka.number * minutes * 60_000))
        pulka = reduce(match.evolve, drawn_events(pulka, draw, time_up=time_up)[1], pulka)
    return pulka


def ended(rules: Convention) -> Shown:
    """After how many deals of four minutes each a pulka by lot to a pool of four is over, and the pools then."""
    pulka = pulka_of(rules, 5, deals=60, minutes=4)
    return f"{pulka.status} after {pulka.number}, pools {pulka.sheet.pool}"


def series(rules: Convention) -> Shown:
    """What is left of a series of two all-pass deals after: a failed six, a six nobody whisted, a whisted six made, a made misere."""
    six = "6S pass pass - 6S"
    scenes = [(f"{six} whist pass closed", 2), (f"{six} pass pass", 0), (f"{six} whist pass closed", 16), ("misere pass pass", 39)]
    return tuple(played(rules, said, seed, in_row=2).score.outcome["all_pass_in_row"] for said, seed in scenes)


def next_after_all_pass(rules: Convention) -> Shown:
    """Who deals after an all-pass that seat 0 dealt."""
    return next_dealer(rules, 3, 0, "all_pass")


def settled(rules: Convention) -> Shown:
    """The settlement of one sheet to a target of 20."""
    sheet = read_sheet(SheetDocument(pool=(20, 14, 8), mountain=(6, 0, 3)), 3, "sheet")
    return settlement(rules, 20, sheet)["net"]


def dark_price(rules: Convention) -> int:
    """The price of a trick in the third dark all-pass in a row, 0 where nothing is dark."""
    return dark_factor(rules, 3) if rules.dark else 0


def forced(rules: Convention) -> int:
    """How many deals of a pulka are all-pass before anybody is asked."""
    return sum(is_forced(rules, number) for number in range(1, 12))


def rich(rules: Convention) -> Deal:
    """A deal with two aces in the talon."""
    hands = ("8S KS QS JS TS 9S 7C KH 8C KD", "7S AS 8D KC QC JC TC 9C QD JD", "TD 9D AC 7D QH JH TH 9H 8H 7H")
    return table(recorded(rules), hands=hands, talon="AH AD")


def dealers_whist(rules: Convention) -> Shown:
    """What is written when both defenders pass a six, and the resting dealer whists if he is asked, and falls short by two."""
    said = "6S pass pass - 6S pass pass"
    asked = after(table(recorded(rules), players=4), "6S pass pass 7C/8C 6S pass pass").to_act == 3
    return " ".join(entries(played(rules, f"{said} whist" if asked else said, 65, players=4), "pool", "mountain", "whists"))


# ---- the scenes: how an option is seen at a table ------------------------------------------------------------------------

SCENES: dict[str, Callable[[Convention], Shown]] = {
    "remise_factor": whisted("6S whist pass closed", 2, columns=("mountain",)),
    "whist_factor": whisted("6S whist pass closed", 16, columns=("whists",)),
    "whister_remise": lambda rules: tuple(
        " ".join(entries(played(rules, "6S pass pass - 6S whist pass closed", 65, sheet={"pool": (0, pool, 0)}), "mountain"))
        for pool in (0, 20)
    ),
    "declarer_remise": whisted("6S whist pass closed", 2, columns=("mountain",)),
    "consolation": whisted("6S whist pass closed", 2, columns=("whists",)),
    "single_whister": whisted("6S whist pass closed", 16, 2, columns=("whists",)),
    "pair_6_7": whisted("6S whist whist", 968, 3, columns=("mountain",)),
    "pair_8_9": whisted("8S whist whist", 407, 598, 31, columns=("mountain",)),
    "pair_10": whisted("10S whist whist", 407, 598, 31, columns=("mountain",)),
    "ten": stage("10S pass pass 7C/8C 10S"),
    "half_whist": lambda rules: tuple(
        "half" in words(after(table(recorded(rules)), f"6S pass pass 7C/8C {bid} pass")) for bid in ("6S", "7S", "8S")
    ),
    "pass_return": lambda rules: tuple(stage(f"6S pass pass 7C/8C {bid} pass half")(rules) for bid in ("6S", "7S")),
    "first_hand_half": offered("6S pass pass 7C/8C 6S whist pass"),
    "dealer_whist": dealers_whist,
    "stalingrad": offered("6S pass pass 7C/8C 6S"),
    "without_three": lambda rules: tuple(
        "without_three" in words(after(table(recorded(rules)), f"{bid} pass pass")) for bid in ("6S", "7S")
    ),
    "shared_misere": lambda rules: "invite" in words(table(recorded(rules), players=4)),
    "misere_no_talon": lambda rules: words(after(table(recorded(rules)), "9NT")),
    "dark": lambda rules: (
        sum(word.startswith("dark:") for word in words(table(recorded(rules))).split()),
        dark_price(rules),
        forced(rules),
    ),
    "here": lambda rules: tuple(
        "here" in words(after(table(recorded(rules)), said)).split() for said in ("6S 6C 6D", "pass 6C 6D", "6S pass 6C")
    ),
    "step_by_step": lambda rules: words(after(table(recorded(rules)), "6S")).split()[:3],
    "silent_take": lambda rules: "take" in words(after(table(recorded(rules)), "pass pass")).split(),
    "talon_bonus": lambda rules: " ".join(entries(after(rich(rules), "6S pass pass AH/AD 6S pass pass"), "whists")),
    "refused_talon": lambda rules: " ".join(
        entries(after(table(recorded(rules), players=4), "6S pass pass 7C/8C 6S pass pass pass"), "mountain")
    ),
    "all_pass.scoring": all_passed(12),
    "all_pass.prices": lambda rules: tuple(
        " ".join(entries(played(rules, "pass pass pass", 12, in_row=row), "mountain")) for row in (0, 1, 2)
    ),
    "all_pass.amnesty": all_passed(12),
    "all_pass.zero_bonus": all_passed(72, in_row=1),
    "all_pass.zero_bonus_dealer": all_passed(72, players=4),
    "all_pass.talon": all_passed(203, players=4, columns=("mountain",)),
    "all_pass.exit_levels": lambda rules: tuple(words(table(recorded(rules), in_row=row)).split()[1] for row in (1, 2, 3)),
    "all_pass.series_ends": series,
    "all_pass.dealer": next_after_all_pass,
    "help": lambda rules: " ".join(
        entries(played(rules, "6S pass pass - 7S pass pass", 2, players=4, sheet={"pool": (20, 3, 4, 2)}), "pool", "whists")
    ),
    "help_surplus": lambda rules: " ".join(
        entries(played(rules, "6S pass pass - 7S pass pass", 2, sheet={"pool": (20, 20, 20), "mountain": (1, 0, 0)}), "mountain")
    ),
    "ends_when": ended,
    "settlement_divisor": settled,
    "pool_weight": settled,
}
