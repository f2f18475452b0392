"""The auction's ladder and turns, rule by rule (3.3.1-3.3.14); what conventions change in it is in `test_3_3_auction.py`."""

from __future__ import annotations

import pytest

from shared.rules.deal.decider import legal_moves
from shared.rules.deck.contract import LADDER, LEVEL
from shared.rules.language.game_events import AllPassed, AuctionWon, BidMade, TalonCardOpened, TalonTaken
from shared.rules.language.moves import Bid, Declare
from tests.rules.words import TALON, after, as_word, table
from tests.spec import given


def test_3_3_1_the_auction_begins_when_the_cards_are_dealt():
    """A dealt deal waits for the first call, and no card is played before the auction's end (3.3.1)."""
    assert (table().phase, table().to_act, table().declarer) == ("auction", 0, None)
    given(table()).when(0, "7C/8C").then_refused("wrong_phase", "3.4.2")


def test_3_3_3_one_call_a_turn():
    """After a call it is the next one's turn; a second call in the same turn is refused (3.3.3)."""
    given(table(), "6S").when(0, "6C").then_refused("not_your_turn", "3.3.2")
    given(table(), "6S").when(1, "6C").then(BidMade(1, "6C"))


def test_3_3_4_a_bid_is_a_number_of_tricks_with_the_talon():
    """A bid binds to as many tricks as its level, taken with the talon in hand: contracts start at it (3.3.4)."""
    won = after(table(), "8D pass pass")
    assert won.held(0).bit_count() == 12
    contracts = [move.contract for move in legal_moves(after(won, "7C/8C"), 0) if isinstance(move, Declare)]
    assert contracts[0] == "8D"
    assert min(LEVEL[contract] for contract in contracts) == 8


def test_3_3_5_the_lowest_bid_is_six_spades():
    """The first hand may open with six spades and nothing below it (3.3.5)."""
    assert [as_word(move) for move in legal_moves(table(), 0)][:2] == ["pass", "6S"]
    given(table()).when(0, Bid("5NT")).then_refused("malformed", "3.3.7")


@pytest.mark.parametrize("step", range(1, 26))
def test_3_3_6_each_bid_is_above_the_last(step):
    """Over a step of the ladder every higher step goes, and none that is lower or equal (3.3.6, 3.3.7)."""
    standing = LADDER[step - 1]
    offered = [move.bid for move in legal_moves(after(table(), standing), 1)]
    assert offered == ["pass", *(bid for bid in LADDER[step:] if standing != "misere" or LEVEL[bid] >= 9)]


def test_3_3_7_the_ladder():
    """The ladder climbs from 6S to 10NT, misere above all eights; the winner orders his bid or any higher game (3.3.7)."""
    assert [as_word(move) for move in legal_moves(table(), 0)] == ["pass", *LADDER]
    assert LADDER[:6] == ("6S", "6C", "6D", "6H", "6NT", "7S")
    assert LADDER[-1] == "10NT"
    ordered = [move.contract for move in legal_moves(after(table(), "9H pass pass 7C/8C"), 0) if isinstance(move, Declare)]
    assert ordered == ["9H", "9NT", "10S", "10C", "10D", "10H", "10NT"]


def test_3_3_8_an_insufficient_call_is_refused():
    """A bid equal to or below the last one is refused, and the same seat calls anew (3.3.8)."""
    given(table(), "7C").when(1, "7C").then_refused("bid_too_low", "3.3.8")
    given(table(), "7C").when(1, "6NT").then_refused("bid_too_low", "3.3.8")
    given(table(), "7C").then_offered(1, " ".join(["pass", *LADDER[LADDER.index("7C") + 1 :]]))


def test_3_3_9_misere_is_a_first_call():
    """Misere may be called over a bid as one's first call, not as a second (3.3.9, 3.6.3)."""
    given(table(), "6S").when(1, "misere").then(BidMade(1, "misere"))
    given(table(), "6S 6C pass").when(0, "misere").then_refused("misere_not_first_bid", "3.3.9")


def test_3_3_10_a_pass_is_final():
    """Who has passed has no further call in this auction (3.3.10)."""
    given(table(), "pass 6S 6C").when(0, "7S").then_refused("not_your_turn", "3.3.10")


def test_3_3_11_the_auction_is_not_reopened():
    """Once won, calls are over: the winner has taken the talon (3.3.11)."""
    given(table(), "6S pass pass").when(1, Bid("7S")).then_refused("wrong_phase", "3.3.11")


def test_3_3_12_three_passes_are_all_pass():
    """When all three pass, all-pass is played (3.3.12)."""
    given(table(), "pass pass").when(2, "pass").then(BidMade(2, "pass"), AllPassed(), TalonCardOpened("7C"))
    assert after(table(), "pass pass pass").contract == "all_pass"


@pytest.mark.parametrize(
    ("words", "declarer", "bid"), [("6S 6C pass pass", 1, "6C"), ("pass 6S 7D pass", 2, "7D"), ("6S 6C 6D 6H pass pass", 0, "6H")]
)
def test_3_3_13_who_called_highest_declares(words, declarer, bid):
    """The highest caller is the declarer, bound to his last bid (3.3.13)."""
    won = after(table(), words)
    assert (won.declarer, won.game.bid, won.to_act) == (declarer, bid, declarer)


def test_3_3_14_the_declarer_alone_takes_the_talon():
    """The talon goes into the hand of who won, seen by all, and of nobody else (3.3.14, 3.4.1)."""
    given(table(), "pass pass").when(2, "6S").then(BidMade(2, "6S"), AuctionWon(2, "6S"), TalonTaken(2, TALON))
    won = after(table(), "pass pass 6S")
    assert [won.held(seat).bit_count() for seat in range(3)] == [10, 10, 12]


def test_fn23_the_silent_take_is_a_friendly_custom():
    """No preset plays the silent take; a table agrees on it (FN23)."""
    for preset in ("sochi", "leningrad", "rostov", "classic", "code", "federation"):
        given(table(preset), "pass pass").when(2, "take").then_refused("call_not_allowed", "3.3.15")
    given(table({"preset": "sochi", "silent_take": True}), "pass pass").when(2, "take").then(
        BidMade(2, "take"), AuctionWon(2, "6S"), TalonTaken(2, TALON)
    )


@pytest.mark.parametrize("jump", ["7S", "8NT", "10NT", "misere"])
def test_fn21_jumps_are_legal(jump):
    """Climbing step by step is a recommendation: any sufficient call is legal, where the table has not agreed otherwise (FN21)."""
    given(table()).when(0, jump).then(BidMade(0, jump))


def test_fn22_after_an_insufficient_call_anything_goes():
    """A refused call leaves its caller all choices, pass included (FN22)."""
    given(table(), "6D").when(1, "6S").then_refused("bid_too_low", "3.3.8")
    given(table(), "6D").when(1, "pass").then(BidMade(1, "pass"))
    given(table(), "6D").when(1, "misere").then(BidMade(1, "misere"))
