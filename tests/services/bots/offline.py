"""A table without servers: the rules decide, and each player sees what the API would show him."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec

from services.bots.player import choose
from services.bots.recollection import Memory
from services.table.table import Table
from services.table.view import view
from shared.rules.convention.options import Convention
from shared.rules.deal.decider import open_deal
from shared.rules.deal.position import NOBODY
from shared.rules.deck.cards import CARDS, hand_text
from shared.rules.deck.seats import hand_count, hands_at_play
from shared.rules.language.game_events import CardsDealt, CardsDiscarded, DarkTalonTaken, Event, HandSeen
from shared.rules.language.moves import AnyMove
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka, Secrets, StartDeal
from shared.rules.scoring.series import Series, plays_dark
from shared.rules.scoring.sheet import empty_sheet

SEATS = tuple("0-" + letter * 26 for letter in "abcde")


def dealt(convention: Convention, players: int, generator: random.Random, *, dealer: int = 0, series: int = 0) -> Pulka:
    """A pulka in the auction of a random deal."""
    deck = list(CARDS)
    generator.shuffle(deck)
    order, count = hands_at_play(players, dealer), hand_count(players)
    hands = tuple(" ".join(deck[10 * order.index(hand) : 10 * order.index(hand) + 10]) if hand in order else "" for hand in range(count))
    return with_cards(convention, hands, " ".join(deck[30:]), players=players, dealer=dealer, series=series)


def with_cards(
    convention: Convention, hands: tuple[str, ...], talon: str, *, players: int | None = None, dealer: int = 0, series: int = 0
) -> Pulka:
    """A pulka in the auction of this deal; as many players as hands unless it is said."""
    players = len(hands) if players is None else players
    sheet = empty_sheet(players)
    return Pulka(
        table_id=SEATS[0],
        status="playing",
        convention=convention,
        players=players,
        target=10,
        seats=SEATS[:players],
        sheet=sheet,
        dealer=dealer,
        number=1,
        commitment="00",
        series=Series(series),
        secrets=Secrets(server_seed="00" * 32, hands=hands, talon=talon),
        deal=open_deal(convention, players, 10, dealer, sheet, series, hands, talon),
        terms={"clock": {"move_s": 30, "cut_s": 5}},
    )


def opened(convention: Convention, players: int, target: int, lot: int = 0) -> Pulka:
    """A pulka before its first deal."""
    command = OpenPulka(convention, "00" * 32, players, target, SEATS[:players], {"clock": {"move_s": 30, "cut_s": 5}}, lot)
    return after(Pulka(table_id=SEATS[0]), match.open_pulka(Pulka(table_id=SEATS[0]), command))


def seen_by(pulka: Pulka, seat: int) -> dict:
    """What the API shows to `seat`."""
    return view(Table(pulka, revision=1, turn_revision=1, hidden=hidden_in(pulka)), seat, "", 0, [True] * pulka.players)


def hidden_in(pulka: Pulka) -> tuple[Event, ...]:
    """The events that would have told each of these players what they know of a deal: a table without a log keeps none."""
    deal, discard = pulka.deal, pulka.secrets.discard
    if deal is None:
        return ()
    hands, talon = tuple(map(hand_text, deal.setup.dealt)), " ".join(CARDS[card] for card in deal.setup.talon)
    told: list[Event] = [CardsDealt(hands, talon, dark=plays_dark(pulka.convention))]
    told += [HandSeen(seat, seat, hands[seat]) for seat in range(pulka.players) if not deal.auction.unseen >> seat & 1]
    if deal.game.looked != NOBODY:
        told.append(HandSeen(deal.setup.resting, deal.game.looked, hands[deal.game.looked]))
    if deal.declarer is not None and deal.game.dark:
        told.append(DarkTalonTaken(deal.declarer, talon))
    if deal.declarer is not None and discard is not None:
        told.append(CardsDiscarded(deal.declarer, discard))
    return tuple(told)


class Step(NamedTuple):
    """One move at the table: who made it, what he saw, what it caused, and the pulka after it."""

    seat: int
    seen: dict
    move: dict
    events: tuple[Event, ...]
    pulka: Pulka


def built_in(seen: dict, generator: random.Random, memory: Memory) -> dict:
    """The built-in player."""
    return choose(seen, generator, memory)


def naive(seen: dict, generator: random.Random, memory: Memory) -> dict:
    """Somebody who passes, and plays any card that is allowed."""
    del generator, memory
    if seen["phase"] == "discard":
        return {"type": "discard", "cards": seen["hand"].split()[:2]}
    return next((move for move in seen["legal"] if "pass" in move.values()), seen["legal"][0])


def play(
    pulka: Pulka,
    generator: random.Random,
    *,
    until: int | None = None,
    players: tuple[Callable[[dict, random.Random, Memory], dict], ...] = (built_in,) * 5,
    remembering: bool = True,
) -> Iterator[Step]:
    """Play on to the end of the pulka, or of deal `until`. Fails on a move that the rules refuse."""
    memory = Memory().after([{"type": "PulkaOpened", "players": pulka.players}, {"type": "DealStarted", "dealer": pulka.dealer}])
    while pulka.status == "playing":
        seat = match.to_act(pulka)
        if seat is None:
            if pulka.number == until:
                return
            events = match.start_deal(pulka, StartDeal(pulka.number + 1, f"{generator.getrandbits(256):064x}"))
            pulka = after(pulka, events)
        else:
            seen = seen_by(pulka, seat)
            move = players[seat](seen, generator, memory if remembering else Memory())
            decided = match.decide(pulka, seat, msgspec.convert(move, AnyMove))
            assert not isinstance(decided, Refused), (decided, move, seen)
            events = decided
            pulka = after(pulka, events)
            yield Step(seat, seen, move, events, pulka)
        memory = memory.after(msgspec.to_builtins(events))


def after(pulka: Pulka, events: tuple[Event, ...]) -> Pulka:
    """The pulka with these events."""
    for event in events:
        pulka = match.evolve(pulka, event)
    return pulka
