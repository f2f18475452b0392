"""Before the cards are dealt: the first dealer, whose deal it is, players' seeds, and the cut (3.2.1-3.2.7)."""

from __future__ import annotations

import random

import msgspec
import pytest

from shared.rules.convention.options import resolve
from shared.rules.language.game_events import CardsDealt, DeckCut, SeedAdded, TurnTimedOut
from shared.rules.language.moves import Bid, Cut, Seed
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka, StartDeal
from tests.lot import drawn_events

SEED = "5e" * 32


def folded(pulka, events):
    assert not isinstance(events, Refused), events
    for event in events:
        pulka = match.evolve(pulka, event)
    return pulka


def opened(players=3, convention="sochi", lot=0, target=10):
    """A pulka that has begun, before its first deal."""
    terms = OpenPulka(resolve(convention, target), "00" * 32, players, target, tuple("abcde"[:players]), {}, lot)
    waiting = Pulka("table")
    return folded(waiting, match.open_pulka(waiting, terms))


def to_be_cut(players=3, lot=0):
    """The first deal, started and not yet cut."""
    pulka = opened(players, lot=lot)
    return folded(pulka, match.start_deal(pulka, StartDeal(1, SEED)))


def refused(pulka, seat, move, code, rule):
    found = match.decide(pulka, seat, move)
    assert isinstance(found, Refused), found
    assert (found.code, found.rule) == (code, rule)


@pytest.mark.parametrize(("lot", "dealer"), [(0, 0), (1, 1), (5, 2), (2**64 + 1, 2)])
def test_3_2_1_the_first_dealer_is_drawn(lot, dealer):
    """The first dealer is the seat that the lot falls on (3.2.1)."""
    pulka = opened(lot=lot)
    assert (pulka.dealer, pulka.next_dealer, match.phase(pulka)) == (dealer, dealer, "between_deals")


def test_3_2_1_before_all_sit_there_is_no_deal():
    """Before the pulka has begun no move is taken (3.1.1, 3.2.1)."""
    refused(Pulka("table"), 0, Cut(9), "wrong_phase", "3.1.1")


@pytest.mark.parametrize(("convention", "players"), [("sochi", 3), ("sochi", 4), ("leningrad", 4), ("rostov", 3)])
def test_3_2_2_the_deal_passes_clockwise(convention, players):
    """After every deal, whatever was played, the next seat deals (3.2.2)."""
    draw, pulka = random.Random(3), opened(players, convention, lot=1, target=40)
    dealers, kinds = [], set()
    while len(dealers) < 12:
        _, events = drawn_events(pulka, draw)
        pulka = folded(pulka, events)
        if match.phase(pulka) == "cut" and len(dealers) < pulka.number:
            dealers.append(pulka.dealer)
        if pulka.deal is not None:
            kinds.add(pulka.deal.contract)
    assert dealers == [(1 + step) % players for step in range(12)]
    assert len(kinds) > 2, "games and all-pass both"


def test_3_2_2_nothing_is_cut_or_seeded_between_two_deals():
    """The next deal is not open to seeds and cuts before it has started (3.2.2)."""
    refused(opened(), 2, Cut(9), "wrong_phase", "3.2.2")


def test_3_2_3_each_player_may_shuffle_once_more():
    """Any player may add a seed of his own before the cut, in small letters, once a deal (3.2.3)."""
    pulka = to_be_cut()
    assert match.decide(pulka, 1, Seed("C0FFEE")) == (SeedAdded(1, "c0ffee"),)
    seeded = folded(pulka, match.decide(pulka, 1, Seed("C0FFEE")))
    refused(seeded, 1, Seed("aa"), "call_not_allowed", "3.2.3")
    assert match.decide(seeded, 0, Seed("f" * 64)) == (SeedAdded(0, "f" * 64),)


@pytest.mark.parametrize("text", ["", "xyz", "f" * 65, "c0 ff", "-1"])
def test_3_2_3_what_is_no_seed(text):
    """A seed is 1 to 64 hex digits (3.2.3)."""
    refused(to_be_cut(), 1, Seed(text), "malformed", "3.2.3")


@pytest.mark.parametrize(("lot", "cutter"), [(0, 2), (1, 0), (2, 1)])
def test_3_2_5_the_right_neighbour_cuts(lot, cutter):
    """The dealer's right neighbour cuts, nobody else, and there is no deal without it (3.2.5)."""
    pulka = to_be_cut(lot=lot)
    assert (match.to_act(pulka), match.phase(pulka)) == (cutter, "cut")
    for other in {0, 1, 2} - {cutter}:
        refused(pulka, other, Cut(9), "not_your_turn", "3.2.5")
    refused(pulka, cutter, Bid("pass"), "wrong_phase", "3.2.5")
    cut, dealt = match.decide(pulka, cutter, Cut(9))
    assert (cut, type(dealt)) == (DeckCut(cutter, 9), CardsDealt)


def test_3_2_5_what_is_dealt_is_cut_no_more():
    """Once the cards are dealt there are no seeds and no cut (3.2.5, 3.2.18)."""
    pulka = folded(to_be_cut(), match.decide(to_be_cut(), 2, Cut(9)))
    refused(pulka, 2, Cut(9), "wrong_phase", "3.2.5")
    refused(pulka, 0, Seed("aa"), "wrong_phase", "3.2.5")


@pytest.mark.parametrize("at", [-1, 0, 3, 29, 32])
def test_3_2_6_too_few_cards_in_a_part(at):
    """At least four cards lie in each part of the cut (3.2.6)."""
    refused(to_be_cut(), 2, Cut(at), "malformed", "3.2.6")
    assert match.decide(to_be_cut(), 2, Cut(4))[0] == DeckCut(2, 4)
    assert match.decide(to_be_cut(), 2, Cut(28))[0] == DeckCut(2, 28)


def test_3_2_7_who_is_away_does_not_hold_up_the_cut():
    """When the right neighbour's time is up the deck is cut for him, in the middle, where nobody has a choice (3.2.7)."""
    assert match.default_move(to_be_cut()) == Cut(16)
    assert match.offer(to_be_cut(), 2) == [{"type": "cut", "at": 16}]
    assert match.offer(to_be_cut(), 1) == []


def test_3_2_8_the_same_seeds_and_cut_deal_the_same_cards():
    """The cards follow from the server's seed, the players' seeds and the cut, and from nothing else (3.2.8)."""
    one, same = (match.decide(to_be_cut(), 2, Cut(9))[1] for _ in range(2))
    other = match.decide(to_be_cut(), 2, Cut(10))[1]
    assert one == same != other


@pytest.mark.parametrize("players", [3, 4])
def test_3_2_8_every_dealt_hand_has_a_salt(players):
    """Each hand that was dealt, and the talon, is hidden under a salt of its own; who rests has nothing to hide (3.2.8, 3.2.10)."""
    pulka = to_be_cut(players)
    dealt = match.decide(pulka, match.to_act(pulka), Cut(9))[1]
    assert [bool(salt) for salt in dealt.salts] == [bool(hand) for hand in (*dealt.hands, dealt.talon)]
    assert len({salt for salt in dealt.salts if salt}) == 4


def test_a_time_out_without_a_credit():
    """A time-out says what was credited for outages; where nothing is said nothing was."""
    assert msgspec.json.decode(b'{"type":"TurnTimedOut","seat":1,"deadline":5}', type=TurnTimedOut).credit == 0
