"""What holds in every adjudicated deal, whatever anybody does in it, legal or not."""

from __future__ import annotations

import random
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.rules.adjudicated.court import ARBITER, CourtTerms
from shared.rules.adjudicated.decider import decide, evolve, open_court, pause_over
from shared.rules.adjudicated.offering import default_move, legal_moves, offer
from shared.rules.deal.ending import outcome_of
from shared.rules.deck.cards import CARDS, DECK, card_numbers
from shared.rules.deck.contract import LADDER
from shared.rules.language.moves import (
    Answer,
    Bid,
    CallAttention,
    Claim,
    Concede,
    Confirm,
    Declare,
    Discard,
    Expose,
    Peek,
    Play,
    Remedy,
    RuledEntry,
    Ruling,
    Take,
    Whist,
)
from shared.rules.language.refusal import Refused
from shared.rules.score_files.deal_document import deal_document
from shared.rules.score_files.score_file import score_document
from shared.rules.scoring.settlement import settle
from shared.rules.scoring.sheet import empty_sheet, write
from tests.rules.words import shuffled

RULES = (
    "3.2.19", "3.3.16", "3.2.20", "3.3.18", "3.3.8", "3.3.9", "3.4.4", "3.4.6", "3.4.9", "3.4.12", "3.9.8", "3.9.11.2", "3.9.14", "3.9.15",
    "3.9.16", "3.9.18", "3.9.20", "3.2.9", "3.2.17",
)  # fmt: skip
tables = st.tuples(
    st.sampled_from(("sochi", "leningrad", "rostov", "code")), st.sampled_from((3, 4)), st.integers(0, 2**32 - 1),
    st.sampled_from(("players", "server")), st.sampled_from((0.02, 0.15, 0.5)),
)  # fmt: skip


def anything(rng, court):
    """Some move that a hand could make, mostly against a rule, or a call of attention."""
    seat = rng.randrange(court.setup.players)
    held = [CARDS[card] for card in card_numbers(court.held(seat))]
    card = rng.choice(held) if held else "7S"
    return rng.choice((
        (seat, Play(card)),
        (seat, Play(card)),
        (seat, Play(rng.choice(CARDS), rng.randrange(court.setup.players))),
        (seat, Bid(rng.choice((*LADDER, "pass", "pass", "here", "take")))),
        (seat, Discard(tuple(rng.sample(held, min(len(held), rng.randrange(5)))))),
        (seat, Declare(rng.choice(LADDER))),
        (seat, Whist(rng.choice(("whist", "pass", "half")))),
        (seat, Peek(rng.choice(("talon", "discard", "trick")), rng.choice((None, 1, 2, 5)), rng.random() < 0.3)),
        (seat, Expose((card,))),
        (seat, Take()),
        (seat, Claim(rng.randrange(11))),
        (seat, Answer(rng.random() < 0.5)),
        (seat, Remedy(rng.choice(("accept", "forbid", "order", "pass", "talon", "result")))),
        (seat, Remedy("card", card=rng.choice(CARDS))),
        (seat, Confirm()),
        *((rng.choice((seat, ARBITER)), CallAttention(rng.choice(RULES))) for _ in range(8)),
        (ARBITER, Ruling(rng.choice(RULES), seat, "so", (RuledEntry(seat, "mountain", 3),))),
    ))  # fmt: skip


def whole(court):
    """No card is lost or doubled: hands, talon and discard make the deck."""
    deal = court.deal
    masks = list(deal.full_hands)
    out = deal.auction.holder < 0 and deal.game.declarer < 0
    talon = 1 << deal.setup.talon[0] | 1 << deal.setup.talon[1]
    if deal.game.declarer < 0 and court.talon_with < 0:
        masks.append(talon)
    masks.append(deal.game.discarded)
    assert sum(masks) == DECK, out
    joined = 0
    for mask in masks:
        assert not joined & mask
        joined |= mask


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(tables)
def test_anything_goes(where):
    """Any sequence of legal and illegal moves keeps the invariants: no exception, 32 cards, somebody or the pause ends the deal, the score
    is zero-sum, and the same events make the same court.
    """
    convention, players, seed, attention, wild = where
    rng = random.Random(seed)
    start = shuffled(rng, convention, players)
    court = first = open_court(start, CourtTerms(attention=attention, recorded=rng.random() < 0.1), "secret")
    events = []
    for _ in range(600):
        if court.over:
            break
        if rng.random() < wild:
            maker, move = anything(rng, court)
        elif court.to_act is not None:
            maker = court.to_act
            legal = [move for move in legal_moves(court, maker) if not isinstance(move, Concede)]
            move = rng.choice(legal) if legal and rng.random() < 0.8 else default_move(court)
            assert offer(court, maker) is not None
        elif rng.random() < 0.5:
            decided = pause_over(court)
            assert decided, "nobody is on turn, so the result waits to be confirmed"
            events += decided
            court = reduce(evolve, decided, court)
            continue
        else:
            maker, move = rng.randrange(players), Confirm()
        decided = decide(court, maker, move)
        if isinstance(decided, Refused):
            assert decided.code
            assert decided.rule
            continue
        assert decided
        events += decided
        court = reduce(evolve, decided, court)
        whole(court)
    assert court.over
    assert reduce(evolve, events, first) == court
    if court.score is not None:
        sheet = write(empty_sheet(players), court.score.entries)
        assert sum(settle(start.setup.convention, 20, sheet).net) == 0
        deal = deal_document(outcome_of(court.score.outcome), players)
        told = score_document({"convention": convention, "players": players, "target": 20, "deals": [deal]})
        assert told["deals"][0]["entries"] == list(court.score.entries), "a scorer's file of the deal brings the same entries"
