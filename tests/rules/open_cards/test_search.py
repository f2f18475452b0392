"""The exact search over open cards (Decision 18): known values, the plain search of `open_play.py`, and lines that come to their result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.rules.deck.cards import CARD_NUMBER, card_numbers, mask_of
from shared.rules.deck.contract import LADDER, MISERE, STRAIN
from shared.rules.open_cards import kernel
from shared.rules.open_cards.all_pass import AllPassPlay, all_pass_line, all_pass_tricks
from shared.rules.open_cards.declarer import best_line, can_make, declarer_tricks
from shared.rules.open_cards.discard import best_discard
from shared.rules.open_cards.document import solve_document
from tests.rules.open_cards.open_play import after, all_pass_takes, declarer_takes, endings, legal, winner_of

pytestmark = pytest.mark.slow

CASES = [json.loads(line) for line in (Path(__file__).parents[1] / "cases" / "open_cards.jsonl").read_text().splitlines()]
CONTRACTS = st.sampled_from([*LADDER[:5], MISERE, MISERE])  # the level decides nothing but where the count begins
SEATS = st.integers(0, 2)
THOROUGH = settings(max_examples=60, deadline=None)  # the first example loads the compiled search


def played_out(hands, leader, line, strain, trick=(), talon=(), dealer=None):
    """The tricks by seat (a dealer's last) of a line of cards, each asserted to be legal; `trick` as (seat, card) pairs."""
    tricks, first, turn, from_talon = [0, 0, 0, 0], leader, (leader + len(trick)) % 3, bool(talon)
    lying = (*(((dealer, talon[0]),) if talon else ()), *trick)
    talon = talon[1:]
    for card in line:
        assert card in legal(hands, lying, turn, strain)
        hands, lying = after(hands, lying, turn, card)
        turn = (turn + 1) % 3
        if len(lying) == 3 + from_talon:
            winner = winner_of(lying, strain)
            tricks[winner] += 1
            turn = first if from_talon else winner
            from_talon, lying, talon = bool(talon), ((dealer, talon[0]),) if talon else (), talon[1:]
    assert not any(hands)
    return tuple(tricks)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_open_cards_case(case):
    """Values of whole deals that other programs found."""
    question = {name: value for name, value in case.items() if name not in ("id", "declarer_tricks")}
    answer = solve_document(question)
    assert answer["declarer_tricks"] == case["declarer_tricks"]
    hands = tuple(mask_of(hand) for hand in case["hands"])
    line = [CARD_NUMBER[word] for word in answer["line"]]
    assert played_out(hands, case["leader"], line, STRAIN[case["contract"]])[case["declarer"]] == case["declarer_tricks"]


@THOROUGH
@given(endings(), SEATS, SEATS, CONTRACTS)
def test_decision_18_a_declarer_takes_what_trying_everything_finds(ending, declarer, leader, contract):
    """Games and misere to the last card, whoever leads; the questions with a yes or no agree."""
    hands, _ = ending
    expected = declarer_takes(hands, declarer, leader, contract)
    assert declarer_tricks(hands, declarer, leader, contract) == expected
    for target in range(5):
        makes = expected <= target if contract == MISERE else expected >= target
        assert can_make(hands, declarer, leader, contract, target) == makes


@THOROUGH
@given(endings(), SEATS, SEATS, CONTRACTS, st.data())
def test_decision_18_a_trick_on_the_table_counts(ending, declarer, leader, contract, data):
    """After one or two cards of a trick the result is that of trying everything from there, and the best line comes to it."""
    (hands, _), trick, turn, strain = ending, (), leader, STRAIN[contract]
    for _ in range(data.draw(st.integers(0, 2))):
        hands, trick = after(hands, trick, turn, data.draw(st.sampled_from(legal(hands, trick, turn, strain))))
        turn = (turn + 1) % 3
    cards = tuple(card for _, card in trick)
    expected = declarer_takes(hands, declarer, turn, contract, trick)
    assert declarer_tricks(hands, declarer, leader, contract, cards) == expected
    line = best_line(hands, declarer, leader, contract, cards)
    assert played_out(hands, leader, line, strain, trick)[declarer] == expected


@THOROUGH
@given(endings(4), SEATS)
def test_3_7_everybody_on_all_pass_takes_what_trying_everything_finds(ending, leader):
    """Backward induction, of equal cards the lowest; the line comes to the result."""
    hands, _ = ending
    expected = all_pass_takes(hands, leader)[:3]
    assert all_pass_tricks(AllPassPlay(hands, leader)) == expected
    assert played_out(hands, leader, all_pass_line(AllPassPlay(hands, leader)), "NT")[:3] == expected


@THOROUGH
@given(endings(4), SEATS, st.booleans(), st.integers(1, 2))
def test_3_7_6_the_talon_leads_the_first_tricks(ending, leader, with_dealer, talon_tricks):
    """With four players the dealer's card may take the trick, with three it names the suit; the first hand plays first to both, and
    leads the next, whoever won.
    """
    hands, rest = ending
    dealer = 3 if with_dealer else None
    held = hands[0] | hands[1] | hands[2]
    talon = [card for card in rest if with_dealer or (held >> (card & 24) & 255).bit_count() > 3][: min(talon_tricks, hands[0].bit_count())]
    expected = all_pass_takes(hands, leader, talon=tuple(talon), dealer=dealer, first=leader)
    play = AllPassPlay((*hands, 0) if with_dealer else hands, leader, (), tuple(talon), dealer, order=(0, 1, 2))
    assert all_pass_tricks(play) == (expected if with_dealer else expected[:3])
    assert played_out(hands, leader, all_pass_line(play), "NT", (), tuple(talon), dealer) == expected


@THOROUGH
@given(endings(4), SEATS, SEATS)
def test_decision_19_a_dummy_is_played_by_who_plays_before_it(ending, leader, dummy):
    """Nobody minds its tricks; its lead is chosen by the first hand, who sits after it."""
    hands, _ = ending
    play = AllPassPlay(hands, leader, dummy=dummy)
    expected = all_pass_takes(hands, leader, first=(dummy + 1) % 3, dummy=dummy)[:3]
    assert all_pass_tricks(play) == expected
    assert played_out(hands, leader, all_pass_line(play), "NT")[:3] == expected


@settings(max_examples=8, deadline=None)  # 66 plain searches each
@given(st.permutations(range(32)), SEATS, SEATS, CONTRACTS)
def test_3_3_16_3_the_best_discard_is_the_best_of_all(cards, declarer, leader, contract):
    """Of all discards none is better, and the one named reaches the result; checked on endings of three cards a hand."""
    hands, start = [], 0
    for seat in range(3):
        size = 5 if seat == declarer else 3
        hands.append(sum(1 << card for card in cards[start : start + size]))
        start += size

    def worth(pair):
        left = tuple(hand & ~(1 << pair[0] | 1 << pair[1]) if seat == declarer else hand for seat, hand in enumerate(hands))
        return declarer_takes(left, declarer, leader, contract)

    own = card_numbers(hands[declarer])
    every = [worth((one, two)) for place, one in enumerate(own) for two in own[place + 1 :]]
    best = best_discard(hands, declarer, leader, contract)
    assert best.tricks == worth(best.cards) == (min(every) if contract == MISERE else max(every))


def test_four_at_a_table_keep_their_seats():
    """A resting seat has an empty hand, and the order of play leaves it out."""
    hands = (mask_of("AS 7H"), 0, mask_of("KS 8H"), mask_of("QS 9H"))
    assert declarer_tricks(hands, 0, 2, "6S") == 1
    assert declarer_tricks(hands, 0, 0, "6S") == declarer_tricks(hands, 0, 0, "6S", order=(0, 2, 3))


@st.composite
def whole_deals(draw):
    """Three hands of ten cards, and the talon."""
    cards = draw(st.permutations(range(32)))
    return tuple(sum(1 << card for card in cards[start : start + 10]) for start in (0, 10, 20)), tuple(cards[30:])


@settings(max_examples=10, deadline=None)  # some ten whole deals each
@given(whole_deals(), SEATS, SEATS, CONTRACTS)
def test_decision_18_a_whole_deal_is_worth_its_best_lead(deal, declarer, leader, contract):
    """Where trying everything would take years: the leader's best card gives the result, and no card gives him a better one."""
    hands, _ = deal
    every = [
        declarer_tricks(after(hands, (), leader, card)[0], declarer, leader, contract, (card,))
        for card in legal(hands, (), leader, STRAIN[contract])
    ]
    best = max if (leader == declarer) != (contract == MISERE) else min
    assert declarer_tricks(hands, declarer, leader, contract) == best(every)
    line = best_line(hands, declarer, leader, contract)
    assert played_out(hands, leader, line, STRAIN[contract])[declarer] == best(every)


@settings(max_examples=10, deadline=None)  # some ten whole deals each
@given(whole_deals(), SEATS, st.sampled_from([(False, None), (True, None), (True, 3)]))
def test_3_7_a_whole_all_pass_is_worth_its_best_lead(deal, leader, form):
    """The leader plays the lowest of the cards that leave him fewest tricks; aside, naming the suit, or led by a dealer who may win."""
    (hands, talon), (talon_leads, dealer) = deal, form
    lying = ((dealer, talon[0]),) if talon_leads else ()
    talon = talon if talon_leads else ()

    def asked(hands, trick=()):
        hands = (*hands, 0) if dealer else hands
        return AllPassPlay(hands, leader, trick, talon, dealer, order=(0, 1, 2))

    cards = legal(hands, lying, leader, "NT")
    every = [all_pass_tricks(asked(after(hands, (), leader, card)[0], (card,))) for card in cards]
    expected = min(every, key=lambda tricks: tricks[leader])
    assert all_pass_tricks(asked(hands)) == expected
    line = all_pass_line(asked(hands))
    assert line[0] == cards[every.index(expected)]
    assert played_out(hands, leader, line, "NT", (), talon, dealer)[: len(expected)] == expected


def test_asking_is_what_loads_the_compiled_search():
    """Whoever imports the rules, or the command line, does not wait for numba."""
    modules = "services.cli.main, shared.rules.open_cards.document, shared.rules.open_cards.discard"
    program = f"import sys, {modules}; print([name for name in ('numba', 'numpy') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_code_that_cannot_be_kept_is_compiled_all_the_same():
    """A function from no file has no place for its compiled code, like a source folder and a home that cannot be written."""

    def double(number):
        return 2 * number

    double.__code__ = double.__code__.replace(co_filename="<nowhere>")
    assert kernel.compiled("int64(int64)")(double)(21) == 42


def test_a_table_of_four_in_its_last_trick_must_name_the_order():
    """Who has played his last card cannot be told from who rests."""
    hands = (mask_of("AS"), 0, mask_of("KS"), 0)
    with pytest.raises(ValueError, match="name the order of play"):
        declarer_tricks(hands, 0, 3, "6S", (CARD_NUMBER["QS"],))
    assert declarer_tricks(hands, 0, 3, "6S", (CARD_NUMBER["QS"],), (0, 2, 3)) == 1
