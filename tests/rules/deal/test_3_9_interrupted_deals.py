"""What holds in every deal that is interrupted: claims and proposals of anybody, at any time, agreed or refused (3.9.14.4, 3.9.22)."""

from __future__ import annotations

import random
from functools import reduce

import msgspec
import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st

from shared.rules.deal.claiming import hands_of, may_claim
from shared.rules.deal.decider import decide, default_move, evolve, legal_moves, offer
from shared.rules.deal.exposed import lying
from shared.rules.deal.incidents import OpenClaim as Claimed
from shared.rules.deal.position import bit
from shared.rules.deck.cards import CARDS, card_numbers, hand_text
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import DealScored
from shared.rules.language.moves import Claim, Concede, Propose
from shared.rules.language.refusal import Refused
from shared.rules.score_files.deal_record import replay_document, replayed
from tests.rules.deal.test_deal_properties import as_offered, every_move, swapped
from tests.rules.words import shuffled

PROPOSALS = (
    Propose("pause"),
    Propose("stop_pulka"),
    Propose("takeback"),
    Propose("older_trick", trick=1),
    Propose("settle_contract", tricks=10),
    Propose("bargain", tricks=6),
)
tables = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from((2, 3, 4, 5)))
few = settings(max_examples=200, deadline=None)  # each example is a whole deal
fewer = settings(max_examples=40, deadline=None)  # each asks for every move there is, in many positions


def claim(rng, deal, seat):
    """A claim of the seat on turn, which may make one, with a plan or without."""
    own = [CARDS[card] for card in card_numbers(deal.held(seat))] if seat in hands_of(deal, seat) else []
    line = tuple(rng.sample(own, rng.randint(0, len(own)))) or None
    return Claim(0 if deal.contract == "misere" else rng.randint(0, 10 - sum(deal.tricks)), line)


class Interrupted:
    """A random deal with claims and proposals, to its end: `start`, moves with their seats, events, and every position on the way."""

    def __init__(self, where):
        seed, players = where
        self.random = rng = random.Random(seed)
        self.convention = rng.choice(("sochi", "leningrad", "rostov"))
        self.start = deal = shuffled(rng, self.convention, players)
        self.moves, self.events, self.positions = [], [], [deal]
        while deal.phase != "scored":
            seat, move = self.next(deal)
            decided = decide(deal, seat, move)
            assert not isinstance(decided, Refused), (move, decided)
            deal = reduce(evolve, decided, deal)
            self.moves.append((seat, move))
            self.events += decided
            self.positions.append(deal)
        self.end = deal

    def next(self, deal):
        rng, seat = self.random, deal.to_act
        if deal.pending is None and rng.random() < 0.15:
            proposer, wanted = rng.randrange(deal.setup.players), rng.choice(PROPOSALS)
            if not isinstance(decide(deal, proposer, wanted), Refused):
                return proposer, wanted
        if may_claim(deal, seat) and rng.random() < 0.15:
            return seat, claim(rng, deal, seat)
        moves = [move for move in legal_moves(deal, seat) if not isinstance(move, Concede)]
        if deal.phase == "auction":  # low bids and passes, and a misere now and then
            moves = [*moves[:3], *(move for move in moves if move.bid == "misere")]
        return seat, rng.choice(moves)


@pytest.mark.slow
@few
@examples(tables)
def test_an_interrupted_deal_is_scored_once_and_folds_and_replays_alike(where):
    """Its stored events fold to the same end, and its record replays to the same events, score and position."""
    deal = Interrupted(where)
    assert [isinstance(event, DealScored) for event in deal.events].count(True) == 1
    stored = msgspec.json.decode(msgspec.json.encode(deal.events), type=list[DealEvent])
    assert reduce(evolve, stored, deal.start) == deal.end
    setup = deal.start.setup
    record = {
        "convention": deal.convention,
        "players": setup.players,
        "dealer": setup.dealer,
        "target": setup.target,
        "hands": [hand_text(hand) for hand in setup.dealt],
        "talon": " ".join(CARDS[card] for card in setup.talon),
        "moves": [{"seat": seat} | msgspec.to_builtins(move) for seat, move in deal.moves],
    }
    assert replay_document(record) == replayed(deal.end, deal.events)


@fewer
@examples(tables)
def test_while_somebody_is_asked_the_offer_is_exactly_what_is_accepted(where):
    """Every legal move is accepted and every other refused, from every seat, while an answer is awaited and while cards lie exposed."""
    deal = Interrupted(where)
    interrupted = [one for one in deal.positions if one.pending is not None or one.incidents is not None]
    for one in deal.random.sample(interrupted, min(8, len(interrupted))):
        for seat in range(one.setup.players):
            accepted = {move for move in every_move(one) if not isinstance(decide(one, seat, move), Refused)}
            assert {as_offered(move, seat) for move in accepted} == set(legal_moves(one, seat))


@pytest.mark.slow
@few
@examples(tables)
def test_what_is_asked_does_not_depend_on_hidden_cards(where):
    """Two cards that the seat on turn cannot see change places, and it is offered the same; what lies face up it can see (3.9.15)."""
    deal = Interrupted(where)
    for one in deal.positions[:-1]:
        if one.pending is None and one.incidents is None:
            continue
        shown = [hand for hand in range(len(one.full_hands)) if lying(one, hand)]
        if isinstance(one.pending, Claimed):
            shown += hands_of(one, one.pending.seat)
        laid = reduce(lambda mask, hand: mask | bit(hand), shown, one.game.laid)
        seen = msgspec.structs.replace(one, game=msgspec.structs.replace(one.game, laid=laid))
        other = swapped(seen, one.to_act, deal.random)
        if other is not None:
            assert offer(other, one.to_act) == offer(seen, one.to_act)


@pytest.mark.slow
@few
@examples(tables)
def test_time_outs_alone_bring_an_interrupted_deal_to_its_score(where):
    """Whatever is asked, silence answers it, and nothing is asked for ever."""
    deal = Interrupted(where)
    one = deal.random.choice(deal.positions)
    for _ in range(200):
        if one.to_act is None:
            break
        move = default_move(one)
        assert move in legal_moves(one, one.to_act)
        one = reduce(evolve, decide(one, one.to_act, move), one)
    assert one.phase == "scored"
