"""What the table refuses, a score file is refused for; what it accepts and scores, a score file scores alike: under any convention."""

from __future__ import annotations

import random
from functools import reduce
from itertools import product

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.rules.convention.options import resolve
from shared.rules.deal.decider import decide, default_move, evolve, legal_moves
from shared.rules.deal.ending import outcome_of
from shared.rules.deck.contract import GAMES, LEVEL
from shared.rules.language.moves import Bid, Concede, Invite, Whist, WithoutThree
from shared.rules.language.refusal import Malformed, Refused
from shared.rules.score_files.deal_document import deal_document
from shared.rules.score_files.deal_record import replayed
from shared.rules.score_files.score_file import score_document
from tests.rules.words import after, shuffled

WORDS = ("whist", "pass", "half")

levels = st.lists(st.integers(6, 10), unique=True, max_size=4)
one_of = st.sampled_from
#: What tables differ in that decides what may be said; the presets bring the prices.
houses = st.fixed_dictionaries(
    {"preset": one_of(("sochi", "leningrad", "rostov", "federation", "code"))},
    optional={
        "ten": one_of(("whisted", "checked")),
        "half_whist": levels,
        "pass_return": levels,
        "first_hand_half": st.booleans(),
        "dealer_whist": one_of(("off", "responsible", "free")),
        "stalingrad": st.booleans(),
        "without_three": levels,
        "shared_misere": st.booleans(),
        "misere_no_talon": st.booleans(),
        "dark": one_of((False, {"limit": 2, "opening_rounds": 0})),
        "here": one_of(("senior", "first_hand", "off")),
        "silent_take": st.booleans(),
        "talon_bonus": one_of(("off", "on")),
        "refused_talon": st.integers(0, 3),
        "single_whister": one_of(("greedy", "gentleman_remise", "gentleman_always", "own")),
        "pair_6_7": one_of(("below_half", "own_half", "capped")),
        "pair_8_9": one_of(("second", "both", "second_own", "each_own")),
        "all_pass": st.fixed_dictionaries(
            {},
            optional={
                "talon": one_of(("leads", "aside")),
                "zero_bonus_dealer": st.booleans(),
                "amnesty": one_of((False,)),
                "exit_levels": one_of(([6], [6, 7, 8], [7, 8])),
            },
        ),
    },
)


def holds_together(house: dict[str, object]) -> bool:
    """Whether the options do not contradict one another."""
    try:
        resolve(house, 20)
    except Malformed:
        return False
    return True


conventions = houses.filter(holds_together)
tables = st.tuples(conventions, st.sampled_from((2, 3, 4, 5)), st.integers(0, 2**32 - 1))
# each example plays a deal or asks for every combination of words, and about half of all houses contradict themselves
many = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


def accepted(convention, deal, document):
    """Whether `pulka score` takes the deal, with the tricks of whoever might have whisted, or unplayed."""
    setup = deal.setup
    declarer = document.get("declarer")
    contract = document["contract"]
    wins = LEVEL.get(contract, 0)
    tricks = [0] * setup.players
    taker = next(seat for seat in setup.order if seat < setup.players and seat != declarer)
    tricks[taker] = 10 - wins
    if declarer is not None:
        tricks[declarer] += wins
    for more in ({}, {"tricks": tricks}):
        try:
            score_document(
                {"convention": convention, "players": setup.players, "deals": [{"dealer": setup.dealer} | document | more], "target": 20}
            )
        except Malformed:
            continue
        return True
    return False


def said(deal, move):
    """The deal after the move of the seat on turn, None where the rules refuse it."""
    events = decide(deal, deal.to_act, move)
    return None if isinstance(events, Refused) else reduce(evolve, events, deal)


def heard(deal):
    """By seat the last words of every way in which the calls on the contract can go, as the table takes them one by one."""
    if deal.phase not in ("whist", "lay"):
        return {deal.game.calls}
    found = {deal.game.calls} if deal.phase == "lay" else set()
    for word in WORDS:
        next_deal = said(deal, Whist(word))
        if next_deal is not None:
            found |= heard(next_deal)
    return found


def bought(convention, players, rng, contract, *, dark=False):
    """A deal whose first hand bids as low as it may and names `contract`."""
    deal = after(shuffled(rng, convention, players), f"{'dark:' * dark}6S {' '.join(['pass'] * (min(players, 3) - 1))}{' taken' * dark}")
    deal = reduce(evolve, decide(deal, deal.to_act, default_move(deal)), deal)
    return after(deal, contract)


@pytest.mark.slow
@many
@given(tables, st.sampled_from(GAMES), st.booleans())
def test_3_8_the_same_words_on_a_contract(where, contract, dark):
    """Every combination of last words is scored exactly when some order of words leads to it at the table (3.8, 3.3.19, FN39, FN61)."""
    convention, players, seed = where
    dark = dark and bool(convention.get("dark"))
    deal = bought(convention, players, random.Random(seed), contract, dark=dark)
    ends = heard(deal)
    everybody = [(None, *WORDS) if seat != deal.declarer else (None,) for seat in range(players)]
    for calls in product(*everybody):
        told = {"declarer": deal.declarer, "contract": contract, "calls": list(calls), "dark": dark}
        rests = calls[deal.setup.dealer] is None and deal.setup.resting == deal.setup.dealer
        fuller = tuple("pass" if rests and seat == deal.setup.dealer else call for seat, call in enumerate(calls))
        possible = calls in ends or fuller in ends  # a resting dealer who passed may be left out
        assert accepted(convention, deal, told) == possible, (calls, ends)


@pytest.mark.slow
@many
@given(tables, st.sampled_from(GAMES))
def test_3_5_4_the_same_games_are_given_up_without_three(where, contract):
    """A bid can be given up without three at the table exactly where a score file can say so (FN40)."""
    convention, players, seed = where
    deal = after(shuffled(random.Random(seed), convention, players), f"{contract} {' '.join(['pass'] * (min(players, 3) - 1))}")
    told = {"declarer": deal.declarer, "contract": contract, "without_three": True}
    assert accepted(convention, deal, told) == (said(deal, WithoutThree()) is not None)


@many
@given(tables)
def test_3_6_9_the_same_miseres_are_shared(where):
    """The first hand may invite the dealer exactly where a score file may say that a misere was shared."""
    convention, players, seed = where
    deal = shuffled(random.Random(seed), convention, players)
    told = {"declarer": deal.to_act, "contract": "misere", "shared": True}
    assert accepted(convention, deal, told) == (said(deal, Invite()) is not None)


@many
@given(tables)
def test_3_3_19_the_same_calls_in_the_dark(where):
    """Passes and bids in the dark are heard exactly where a score file may tell of them; a shared misere was looked at."""
    convention, players, seed = where
    deal = shuffled(random.Random(seed), convention, players)
    first = deal.to_act
    passed = {"contract": "all_pass", "dark_pass": [first]}
    assert accepted(convention, deal, passed) == (said(deal, Bid("pass", dark=True)) is not None)
    misere = {"declarer": first, "contract": "misere", "dark": True}
    assert accepted(convention, deal, misere) == (said(deal, Bid("misere", dark=True)) is not None)
    assert not accepted(convention, deal, misere | {"shared": True})


@many
@given(tables)
def test_3_5_4_the_same_games_are_given_up(where):
    """A declarer of a trick game may admit "without all", of a misere not, here and there."""
    convention, players, seed = where
    deal = shuffled(random.Random(seed), convention, players)
    for bid in ("misere", "7S"):
        won = after(deal, f"{bid} {' '.join(['pass'] * (min(players, 3) - 1))}")
        told = {"declarer": won.declarer, "contract": bid, "infractions": [{"rule": "3.5.4", "seat": won.declarer}]}
        assert accepted(convention, won, told) == (said(won, Concede()) is not None)


@pytest.mark.slow
@many
@given(tables, st.floats(0, 1), st.integers(0, 3))
def test_what_the_table_scores_a_score_file_scores_alike(where, timid, in_row):
    """A deal by lot under any convention: what replay accepts and scores, score accepts, with the same entries."""
    convention, players, seed = where
    rng = random.Random(seed)
    deal = shuffled(rng, convention, players, in_row)
    while deal.to_act is not None:
        legal = legal_moves(deal, deal.to_act)
        passes = [move for move in legal if isinstance(move, Bid) and move.bid == "pass"]
        low = [move for move in legal if not isinstance(move, Bid) or move.bid[0] in "678m"]
        deal = said(deal, rng.choice(passes if passes and rng.random() < timid else low or legal))
    start = {"all_pass_in_row": in_row}
    document = deal_document(outcome_of(deal.score.outcome), players)
    told = score_document({"convention": convention, "players": players, "target": 20, "start": start, "deals": [document]})
    assert told["deals"][0] == replayed(deal, ())["score"]
    assert msgspec.json.decode(msgspec.json.encode(document)) == document
