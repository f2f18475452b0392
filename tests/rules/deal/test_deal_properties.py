"""What holds in every deal: properties over random deals, random legal moves and every convention."""

from __future__ import annotations

import random
from functools import reduce
from itertools import combinations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.rules.deal.decider import Deal, decide, default_move, evolve, legal_moves, offer
from shared.rules.deal.ending import outcome_of
from shared.rules.deck.cards import CARDS, DECK, card_numbers, hand_text
from shared.rules.deck.contract import LADDER, STRAIN
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import CardPlayed, DealScored, TalonCardOpened, TrickWon
from shared.rules.language.moves import Answer, Bid, Concede, Declare, Discard, Invite, Lay, Look, Play, Remedy, Take, Whist, WithoutThree
from shared.rules.language.refusal import Refused
from shared.rules.score_files.deal_document import deal_document
from shared.rules.score_files.deal_record import event_document, replay_document, replayed
from shared.rules.score_files.score_file import score_document
from tests.rules.words import after, shuffled

pytestmark = pytest.mark.slow

HOUSE = {
    "preset": "leningrad",
    "step_by_step": True,
    "silent_take": True,
    "stalingrad": True,
    "without_three": [6, 7],
    "ten": "checked",
    "refused_talon": 2,
}
CODE = {
    "preset": "code",
    "all_pass": {"exit_levels": [6, 7]},
    "half_whist": [6, 7, 8],
    "pass_return": [6],
    "dealer_whist": "off",
    "first_hand_half": True,
}
CLUB = {"preset": "classic", "misere_no_talon": True, "shared_misere": True, "stalingrad": True, "silent_take": True}
CONVENTIONS = ("sochi", "leningrad", "rostov", "federation", "classic", HOUSE, CODE, CLUB)

#: A table to sit at: a convention, two to five players, and a number that seeds the cards and every choice.
tables = st.tuples(st.sampled_from(CONVENTIONS), st.sampled_from((2, 3, 4, 5)), st.integers(0, 2**32 - 1), st.integers(0, 3))
few = settings(max_examples=200, deadline=None)  # each example is a whole deal
fewer = settings(max_examples=50, deadline=None)  # each asks for every move there is, in every position


class Played:
    """A random deal played to its end: `start`, the moves with their seats, the events, and every position on the way."""

    def __init__(self, where, *, give_up=False):
        convention, players, seed, in_row = where
        self.convention, self.in_row, rng = convention, in_row, random.Random(seed)
        self.start = deal = shuffled(rng, convention, players, in_row)
        timid = rng.random()
        self.moves, self.events, self.positions = [], [], [deal]
        while deal.phase != "scored":
            legal = [move for move in legal_moves(deal, deal.to_act) if give_up or not isinstance(move, Concede | WithoutThree)]
            move = rng.choice(legal)
            if deal.phase == "auction":  # not only tens: passes, low bids, and a misere now and then
                passes = [move for move in legal if isinstance(move, Bid) and move.bid == "pass"] or legal[:1]
                others = [move for move in legal if not isinstance(move, Bid) or move.bid == "misere" or move.no_talon]
                dark = [move for move in legal if isinstance(move, Bid) and move.dark]
                move = rng.choice(passes) if rng.random() < timid else rng.choice([*legal[:4], *dark[:4], *others])
            self.moves.append((deal.to_act, move))
            for event in decide(deal, deal.to_act, move):
                deal = evolve(deal, event)
                self.events.append(event)
            self.positions.append(deal)
        self.end = deal

    def record(self):
        """The deal record of it."""
        setup = self.start.setup
        return {
            "convention": self.convention,
            "players": setup.players,
            "dealer": setup.dealer,
            "target": setup.target,
            "all_pass_in_row": self.in_row,
            "hands": [hand_text(hand) for hand in setup.dealt],
            "talon": " ".join(CARDS[card] for card in setup.talon),
            "moves": [{"seat": seat} | msgspec.to_builtins(move) for seat, move in self.moves],
        }


@few
@given(tables)
def test_every_card_is_somewhere_and_once(where):
    """In every position each of the 32 cards is in one hand, talon, discard or trick, and in no other (1.3.1)."""
    for deal in Played(where).positions:
        places = [deal.held(hand) for hand in range(len(deal.full_hands))]
        places += [deal.game.discarded, deal.play.played if deal.play else 0]
        if deal.declarer is None or deal.game.no_talon:
            places.append(sum(1 << card for card in deal.setup.talon))
        assert sum(place.bit_count() for place in places) == 32
        assert reduce(int.__or__, places) == DECK


@few
@given(tables)
def test_a_deal_that_is_played_has_ten_tricks(where):
    """A deal is played to its tenth trick, each hand ten cards, or not at all (3.9.5); on all-pass a dummy's tricks count for nobody."""
    played = Played(where)
    cards = sum(isinstance(event, CardPlayed) for event in played.events)
    lost = played.end.play.taken[2] if where[1] == 2 and played.end.contract == "all_pass" else 0
    assert (cards, sum(played.end.tricks)) in ((30, 10 - lost), (0, 0))
    assert sum(isinstance(event, DealScored) for event in played.events) == 1
    assert isinstance(played.events[-1], DealScored)


def takes(cards, contract):
    """Who takes a trick of `(seat, card)`, by 3.9.4: the highest trump, else the highest of the suit led; nobody's card takes none."""
    owned = [(seat, card) for seat, card in cards if seat is not None]
    trumps = [(seat, card) for seat, card in owned if card[1] == STRAIN[contract]]
    follow = [(seat, card) for seat, card in owned if card[1] == cards[0][1][1]]
    return max(trumps or follow, key=lambda played: "789TJQKA".index(played[1][0]))[0]


@few
@given(tables)
def test_3_9_4_the_highest_card_takes_the_trick(where):
    """Every trick goes to its highest card; a talon card is a resting dealer's, and with three players nobody's (3.9.4, 3.7.6)."""
    played = Played(where)
    setup, trick = played.start.setup, []
    for event in played.events:
        match event:
            case TalonCardOpened(card=card):
                trick.append((setup.dealer if setup.players >= 4 else None, card))
            case CardPlayed(seat=seat, card=card):
                trick.append((seat, card))
            case TrickWon(seat=winner):
                assert winner == takes(trick, played.end.contract)
                trick = []


@settings(max_examples=300, deadline=None)  # cheap: two tricks of each deal
@given(st.integers(0, 2**32 - 1))
def test_decision_7_somebody_follows_a_talon_card(seed):
    """With three players one hand at least holds the suit of the talon card, in the first trick and in the second (3.7.6.3)."""
    rng = random.Random(seed)
    deal = after(shuffled(rng), "pass pass pass")
    for _ in range(2):
        assert any(deal.held(seat) & deal.play.led for seat in range(3))
        for _ in range(3):
            for event in decide(deal, deal.to_act, rng.choice(legal_moves(deal, deal.to_act))):
                deal = evolve(deal, event)


@few
@given(tables)
def test_replay_equals_live(where):
    """A deal record replays to the events, the score and the position of the deal it was taken from."""
    played = Played(where, give_up=True)
    assert replay_document(played.record()) == replayed(played.end, played.events)


@few
@given(tables)
def test_a_fold_of_stored_events_equals_live(where):
    """Events written as JSON and read again fold to the same position."""
    played = Played(where, give_up=True)
    stored = msgspec.json.decode(msgspec.json.encode(played.events), type=list[DealEvent])
    assert reduce(evolve, stored, played.start) == played.end
    assert [event_document(event) for event in stored] == [event_document(event) for event in played.events]


@few
@given(tables)
def test_the_score_file_of_a_deal_scores_alike(where):
    """What a deal wrote is what its score file writes, entry by entry."""
    played = Played(where, give_up=True)
    setup = played.start.setup
    file = {
        "convention": played.convention,
        "players": setup.players,
        "target": setup.target,
        "start": {"all_pass_in_row": played.in_row},
        "deals": [deal_document(outcome_of(played.end.score.outcome), played.end.setup.players)],
    }
    assert score_document(file)["deals"][0] == replayed(played.end, ())["score"]


def every_move(deal):
    """Every move that could be sent, but for discards in the other order of their cards."""
    hands = [None, *range(len(deal.full_hands))]
    words = ("pass", *LADDER, "here", "take")
    yield from (Bid(word, dark, no_talon) for word in words for dark in (False, True) for no_talon in (False, True))
    yield from (Invite(), Take())
    yield from (Declare(word) for word in LADDER)
    yield from (Whist(word) for word in ("whist", "pass", "half"))
    yield from (Lay(open=True), Lay(open=False), Concede(), WithoutThree(), Answer(accept=True), Answer(accept=False))
    yield from (Remedy(choice) for choice in ("pass", "forbid", "card", "accept", "order"))
    yield from (Remedy("card", card=card) for card in CARDS)
    yield from (Look(hand) for hand in hands)
    yield from (Play(card, hand) for card in CARDS for hand in hands)
    if deal.phase == "discard":
        yield from (Discard(pair) for pair in combinations(CARDS, 2))
    yield from (Discard(cards) for cards in ((), ("AS",), ("AS", "AS"), ("7S", "8S"), ("7S", "8S", "9S")))


@fewer
@given(tables)
def test_the_offer_is_exactly_what_is_accepted(where):
    """Every legal move is accepted and every other refused, from every seat in every position; a refused move changes nothing."""
    played = Played(where)
    rng = random.Random(where[2])
    for deal in [*rng.sample(played.positions, min(12, len(played.positions))), played.end]:
        before = msgspec.json.encode(deal)
        for seat in range(deal.setup.players):
            legal = set(legal_moves(deal, seat))
            accepted = {move for move in every_move(deal) if not isinstance(decide(deal, seat, move), Refused)}
            assert {as_offered(move, seat) for move in accepted} == legal
        assert msgspec.json.encode(deal) == before


def as_offered(move, seat):
    """The move as it is offered: `hand` only for another seat's card."""
    return Play(move.card) if isinstance(move, Play) and move.hand == seat else move


def swapped(deal, seat, rng):
    """The deal with two cards exchanged that `seat` cannot see, in hands, talon or discard; None where there are no two such places."""
    own = () if deal.auction.unseen >> seat & 1 else (seat, deal.game.looked) if seat == deal.setup.resting else (seat,)
    places = {other: deal.held(other) for other in deal.setup.order if other not in (*own, *deal.laid) and deal.held(other)}
    if (deal.contract is None and deal.declarer is None) or deal.game.no_talon:
        places["talon"] = sum(1 << card for card in deal.setup.talon)
    if deal.game.discarded and seat != deal.declarer:
        places["discard"] = deal.game.discarded
    if len(places) < 2:
        return None
    one, other = rng.sample(sorted(places, key=str), 2)
    there, here = (1 << rng.choice(card_numbers(places[place])) for place in (one, other))
    changed = {one: places[one] ^ there ^ here, other: places[other] ^ there ^ here}
    played = deal.play.played if deal.play else 0
    hands = tuple(changed.get(owner, hand & ~played) | hand & played for owner, hand in enumerate(deal.full_hands))
    talon = card_numbers(changed["talon"]) if "talon" in changed else deal.setup.talon
    return msgspec.structs.replace(
        deal,
        full_hands=hands,
        setup=msgspec.structs.replace(deal.setup, talon=talon),
        game=msgspec.structs.replace(deal.game, discarded=changed.get("discard", deal.game.discarded)),
    )


@few
@given(tables)
def test_an_offer_does_not_depend_on_hidden_cards(where):
    """Two cards that a seat cannot see change places, and its offer stays the same."""
    rng = random.Random(where[2] + 1)
    for deal in Played(where).positions[:-1]:
        other = swapped(deal, deal.to_act, rng)
        if other is not None:
            assert offer(other, deal.to_act) == offer(deal, deal.to_act)


@few
@given(tables)
def test_the_default_move_is_legal_and_ends_every_deal(where):
    """From any position, time-outs alone bring the deal to its score."""
    positions = Played(where).positions
    deal = random.Random(where[2]).choice(positions)
    for _ in range(60):
        if deal.to_act is None:
            break
        move = default_move(deal)
        assert move in legal_moves(deal, deal.to_act)
        for event in decide(deal, deal.to_act, move):
            deal = evolve(deal, event)
    assert deal.phase == "scored"


@fewer
@given(tables, tables)
def test_evolve_is_total(where, elsewhere):
    """Any event can be folded into any position of a table of its size; `evolve` never refuses."""
    strange = Played((elsewhere[0], where[1], *elsewhere[2:]), give_up=True).events
    for deal in Played(where).positions[::5]:
        for event in strange:
            assert isinstance(evolve(deal, event), Deal)
