"""3.1.1: the draw for seats, in the rules: who sits where by which card, and how everybody can check it."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.rules.convention.options import PRESETS
from shared.rules.deck import shuffle
from shared.rules.deck.cards import CARDS
from shared.rules.language.game_events import PulkaOpened
from shared.rules.language.member_events import SeatCardDrawn, SeatDrawStarted, SeatsDrawn
from shared.rules.language.moves import Bid, Cut, Draw, Seed
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka import seat_draw
from shared.rules.pulka.decider import OpenPulka, Pulka, StartDeal

SEED, DIGEST, TABLE = "5e" * 32, "00" * 32, "3-" + "ab" * 13
PLAYERS = ("ann", "ben", "cid", "dan")


def opened(players: int = 3, seating: str = "drawn") -> Pulka:
    """A pulka that has been opened on terms with that seating."""
    command = OpenPulka(PRESETS["sochi"], DIGEST, players, 10, PLAYERS[:players], {"seating": seating}, 1, SEED)
    start = Pulka(table_id=TABLE)
    events = match.open_pulka(start, command)
    assert not isinstance(events, Refused)
    return reduce(match.evolve, events, start)


def after(pulka: Pulka, *moves: tuple[int, object]) -> Pulka:
    """The pulka after these moves, which are all accepted."""
    for seat, move in moves:
        events = match.decide(pulka, seat, move)
        assert not isinstance(events, Refused), events
        pulka = reduce(match.evolve, events, pulka)
    return pulka


def test_3_1_1_the_draw_begins_with_a_commitment() -> None:
    """The server binds itself to its seed in the commit that opens the pulka, before anybody draws."""
    command = OpenPulka(PRESETS["sochi"], DIGEST, 3, 10, PLAYERS[:3], {"seating": "drawn"}, 1, SEED)
    events = match.open_pulka(Pulka(table_id=TABLE), command)
    assert not isinstance(events, Refused)
    assert [type(event) for event in events] == [PulkaOpened, SeatDrawStarted]
    assert events[1] == SeatDrawStarted(shuffle.commitment(SEED, TABLE, 0, DIGEST), shuffle.ALGORITHM, SEED)
    pulka = opened()
    assert (match.phase(pulka), match.to_act(pulka), match.legal_moves(pulka, 0)) == ("draw", 0, (Draw(1),))


def test_3_1_1_the_lowest_card_has_the_first_seat() -> None:
    """When all have drawn, cards and seed are told, and the players sit clockwise from the lowest card up."""
    pulka = after(opened(), (0, Draw(7)), (1, Draw(8)))
    events = match.decide(pulka, 2, Draw(32))
    assert not isinstance(events, Refused)
    drawn, told = events
    cards = seat_draw.cards_of(SEED, TABLE, DIGEST, ((0, 7), (1, 8), (2, 32)))
    assert drawn == SeatCardDrawn(2, 32)
    assert told == SeatsDrawn(SEED, cards, tuple(PLAYERS[seat] for seat in seat_draw.lowest_first(cards)))
    pulka = reduce(match.evolve, events, pulka)
    assert pulka.seats == told.seats
    assert (match.phase(pulka), match.to_act(pulka)) == ("between_deals", None)


@pytest.mark.parametrize(
    ("cards", "order"),
    [
        (("7S", "AS", "KH"), (1, 0, 2)),
        (("7H", "7S", "7C"), (1, 2, 0)),
        (("AH", "AD", "8S", "7C"), (1, 0, 3, 2)),
        (("KS", "QS", "JS", "TS"), (3, 2, 1, 0)),
    ],
)
def test_3_1_1_the_ace_is_the_lowest_and_suits_part_equals(cards: tuple[str, ...], order: tuple[int, ...]) -> None:
    """Ace below seven; of equal ranks spades lowest, then clubs, diamonds, hearts."""
    assert seat_draw.lowest_first(cards) == order


@given(st.lists(st.integers(1, 32), min_size=2, max_size=5, unique=True), st.binary(min_size=32, max_size=32))
def test_3_1_1_everybody_has_another_card_and_every_place_counts(places: list[int], seed: bytes) -> None:
    """Cards are all different, and follow from seed and places alone."""
    drawn = tuple(enumerate(places))
    cards = seat_draw.cards_of(seed.hex(), TABLE, DIGEST, drawn)
    assert len(set(cards)) == len(places)
    assert set(cards) <= set(CARDS)
    assert seat_draw.cards_of(seed.hex(), TABLE, DIGEST, drawn) == cards


def test_3_1_1_the_cards_depend_on_what_the_others_drew() -> None:
    """The same place has another card when another player draws elsewhere: no server can lay a card where its friend will draw."""
    cards = {seat_draw.cards_of(SEED, TABLE, DIGEST, ((0, 5), (1, place)))[0] for place in range(6, 33)}
    assert len(cards) > 10


def test_3_1_1_out_of_turn_twice_or_at_another_time_is_refused() -> None:
    """Each draws once, in the order of the lobby's seats, a card that still lies there; nothing else goes on meanwhile."""
    pulka = opened()
    refused = {
        "not_your_turn": match.decide(pulka, 1, Draw(4)),
        "call_not_allowed": match.decide(after(pulka, (0, Draw(4))), 1, Draw(4)),
        "wrong_phase": match.decide(pulka, 0, Cut(9)),
    }
    assert {code: (answer.code, answer.rule) for code, answer in refused.items() if isinstance(answer, Refused)} == {
        code: (code, "3.1.1") for code in refused
    }
    for move in (Seed("c0ffee"), Bid("pass")):
        assert isinstance(match.decide(pulka, 0, move), Refused)
    assert match.start_deal(pulka, StartDeal(1, SEED)) == ()
    chosen = opened(seating="chosen")
    assert (match.phase(chosen), chosen.seats) == ("between_deals", PLAYERS[:3])
    answer = match.decide(chosen, 0, Draw(1))
    assert isinstance(answer, Refused)
    assert (answer.code, answer.rule) == ("wrong_phase", "3.1.1")


def test_3_1_1_whoever_sleeps_draws_the_first_card_that_lies_there() -> None:
    """The default is a fixed place, so that the server cannot choose it."""
    pulka = after(opened(), (0, Draw(1)))
    assert match.default_move(pulka) == Draw(2)
