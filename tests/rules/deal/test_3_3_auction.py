"""The auction: turns, the ladder, misere, "here", exits from all-pass, and what a won auction makes public."""

from __future__ import annotations

import pytest

from shared.rules.deal.decider import legal_moves
from shared.rules.language.game_events import AuctionWon, BidMade, TalonTaken
from shared.rules.language.moves import Bid, Discard, Play
from tests.rules.words import TALON, after, as_word, table
from tests.spec import given


def convention(**options):
    return {"preset": "sochi", **options}


# ---- turns -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("players", "dealer", "order"), [(3, 0, (1, 2, 0)), (3, 2, (0, 1, 2)), (4, 0, (1, 2, 3)), (4, 2, (3, 0, 1))])
def test_3_3_2_calls_go_clockwise_from_the_left_of_the_dealer(players, dealer, order):
    """The first word is the first hand's, then clockwise; a resting dealer has none (3.3.2, 3.2.10)."""
    deal = table(players=players, dealer=dealer)
    assert [after(deal, words).to_act for words in ("", "6S", "6S 6C", "6S 6C 6D")] == [*order, order[0]]


def test_3_3_10_who_has_passed_is_not_asked_again():
    """The turn goes past a seat that has passed (3.3.10)."""
    assert after(table(), "6S pass 6C 6D").to_act == 2


def test_3_3_11_the_winner_takes_the_talon_shown_to_all():
    """When two have passed the auction is won at once and the talon is shown and taken (3.3.11, 3.4.1)."""
    given(table(), "pass pass").when(2, "6S").then(BidMade(2, "6S"), AuctionWon(2, "6S"), TalonTaken(2, TALON))
    won = after(table(), "pass pass 6S")
    assert (won.phase, won.to_act, won.declarer, won.contract) == ("discard", 2, 2, None)
    assert won.held(2).bit_count() == 12


def test_order_of_refusals():
    """A call is refused as malformed first, then for the phase, then for the turn, then by its own rule."""
    won = after(table(), "6S pass pass")
    given(won).when(1, Bid("5S")).then_refused("malformed", "3.3.7")
    given(won).when(1, Bid("6S")).then_refused("wrong_phase", "3.3.11")
    given(table(), "6C").when(2, "6S").then_refused("not_your_turn", "3.3.2")
    given(table(), "6C").when(1, "6S").then_refused("bid_too_low", "3.3.8")
    given(table()).when(0, Discard(("AS", "1S"))).then_refused("malformed", "1.3.5")
    given(table()).when(1, Play("AS")).then_refused("wrong_phase", "3.9.2")


def test_dark_calls_and_calls_without_the_talon_are_not_played_here():
    """Calls in the dark or without the talon are refused where the convention has none (3.3.19, FN41)."""
    given(table()).when(0, Bid("pass", dark=True)).then_refused("call_not_allowed", "3.3.19")
    given(table()).when(0, Bid("misere", no_talon=True)).then_refused("call_not_allowed", "3.6.4")


# ---- misere ------------------------------------------------------------------------------------------------------------


def test_3_6_4_of_two_miseres_the_first_caller_has_it():
    """A misere does not outbid a misere (3.6.4, Decision 10)."""
    given(table(), "misere").when(1, "misere").then_refused("bid_too_low", "3.6.4")


def test_3_6_4_misere_outbids_an_eight_and_not_a_nine():
    """Misere stands between the eights and the nines (3.6.4)."""
    given(table(), "8NT").when(1, "misere").then(BidMade(1, "misere"))
    given(table(), "9S").when(1, "misere").then_refused("bid_too_low", "3.6.4")


def test_fn41_a_player_who_called_before_may_outbid_a_misere():
    """A nine over a misere is open to a player who has bid before and not passed; then the auction is over (FN41)."""
    given(table(), "6S misere pass").then_offered(0, "pass 9S 9C 9D 9H 9NT 10S 10C 10D 10H 10NT")
    given(table(), "6S misere pass").when(0, "9S").then(BidMade(0, "9S"), AuctionWon(0, "9S"), TalonTaken(0, TALON))


def test_fn41_after_the_nine_only_who_has_not_called_is_asked():
    """Over a nine that outbid a misere only a player who has not called at all may still call (FN41)."""
    given(table(), "6S misere").when(2, "9S").then(BidMade(2, "9S"), AuctionWon(2, "9S"), TalonTaken(2, TALON))
    given(table(), "misere 9S").then_offered(2, "pass 9C 9D 9H 9NT 10S 10C 10D 10H 10NT")
    given(table(), "misere 9S").when(2, "10S").then(BidMade(2, "10S"), AuctionWon(2, "10S"), TalonTaken(2, TALON))


def test_3_6_4_a_misere_that_nobody_outbids_is_won():
    """A misere wins when the others pass, and is the contract at once (3.6.4, 3.3.9)."""
    won = after(table(), "misere pass pass")
    assert (won.phase, won.declarer, won.contract) == ("discard", 0, "misere")


# ---- here --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["6S pass 6C", "6S 6C 6D"])
def test_3_3_8_the_first_hand_of_the_code_may_hold_any_bid(words):
    """Where "here" is the first hand's, it may hold the last bid whoever is left (3.3.8)."""
    given(table("code"), words).when(0, "here").then(BidMade(0, "here"))


def test_3_3_8_no_other_hand_of_the_code_may_hold_a_bid():
    """Where "here" is the first hand's, a senior second hand may not say it (3.3.8)."""
    given(table("code"), "pass 6C 6D").when(1, "here").then_refused("here_not_allowed", "3.3.8")


def test_3_3_8_here_off():
    """A convention may do without "here" (Decision 9)."""
    given(table(convention(here="off")), "6S pass 6C").when(0, "here").then_refused("here_not_allowed", "3.3.8")


# ---- exits, steps, the silent take -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("in_row", "lowest"), [(0, "6S"), (1, "6S"), (2, "7S"), (3, "8S"), (9, "8S")])
def test_3_7_8_the_lowest_bid_after_all_pass(in_row, lowest):
    """After k all-pass deals in a row the lowest bid is of the k-th exit level, the last of which repeats; misere always goes (3.7.8)."""
    deal = table(convention(all_pass={"exit_levels": [6, 7, 8]}), in_row=in_row)
    offered = [as_word(move) for move in legal_moves(deal, 0)]
    assert offered[:2] == ["pass", lowest]
    assert "misere" in offered
    if lowest != "6S":
        given(deal).when(0, "6NT").then_refused("bid_too_low", "3.7.8")


def test_3_3_8_step_by_step():
    """Without jumps one game is open at a time, misere stays possible, and over it the lowest nine (3.3.8)."""
    steps = table(convention(step_by_step=True))
    given(steps).then_offered(0, "pass 6S misere")
    given(steps, "6S").then_offered(1, "pass 6C misere")
    given(steps, "misere").then_offered(1, "pass 9S")
    given(table(convention(step_by_step=True, all_pass={"exit_levels": [7]}), in_row=1)).then_offered(0, "pass 7S misere")


def test_3_3_15_the_silent_take():
    """After two passes the third hand may take the talon in silence, bound to any game (3.3.15)."""
    silent = table(convention(silent_take=True))
    given(silent, "pass pass").when(2, "take").then(BidMade(2, "take"), AuctionWon(2, "6S"), TalonTaken(2, TALON))
    given(silent, "pass 6S").when(2, "take").then_refused("call_not_allowed", "3.3.15")
    given(silent, "pass").when(1, "take").then_refused("call_not_allowed", "3.3.15")
    given(table(), "pass pass").when(2, "take").then_refused("call_not_allowed", "3.3.15")
