"""Irregular calls, and a talon seen or taken before the auction was over (3.2.19-3.2.21, 3.3.8-3.3.18)."""

from __future__ import annotations

import pytest

from shared.rules.deck.cards import DECK, hand_text, mask_of
from shared.rules.language.game_events import AllPassed, AuctionWon, BidMade, TalonTaken
from shared.rules.language.moves import Bid, Play, Remedy
from tests.rules.adjudicated.seated import Seated
from tests.rules.words import TALON, table

# ---- 3.3.18: a call out of turn ----------------------------------------------------------------------------------------


def test_3_3_18_a_call_out_of_turn_waits_for_its_turn():
    """It is kept, and stands when the turn comes; nobody is fined who becomes declarer (3.3.18, A-11)."""
    sat = Seated().does(2, Bid("6H"))
    assert sat.last == (BidMade(2, "6H", irregular="3.3.18"),)
    assert sat.court.to_act == 0
    sat.say("pass").say("6S")
    assert sat.last[-1] == BidMade(2, "6H"), "the third hand's turn has come"
    sat.say("pass")
    assert sat.court.declarer == 2


def test_3_3_18_a_pass_out_of_turn_stands_too():
    """A pass waits like any other call."""
    sat = Seated().does(1, Bid("pass")).say("6S")
    assert sat.last == (BidMade(0, "6S"), BidMade(1, "pass"))


def test_3_3_18_no_longer_sufficient_he_calls_anew():
    """If the waiting call does not raise the last bid any more, he calls anything that is possible."""
    sat = Seated().does(2, Bid("6C")).say("6S 7S")
    assert sat.names() == ["BidMade", "CallTakenBack"]
    assert sat.court.to_act == 2
    sat.say("pass")


def test_3_3_18_declarer_forbids_or_orders_the_named_suit():
    """Called, it lets the declarer forbid or order the named suit at the other defender's first lead."""
    sat = Seated().does(2, Bid("6D")).calls(0, "3.3.18").say("pass 7C")
    assert sat.names() == ["BidMade", "CallTakenBack"]
    sat.say("pass").does(1, "9C/TC").does(1, "7C").say("whist whist")
    assert (sat.court.phase, sat.court.to_act) == ("remedy", 1), "the first hand leads, and the third had named diamonds"
    assert sat.deal.pending.choices == ("accept", "forbid", "order")
    sat.chooses(1, "order")
    sat.refused(0, Play("AS"), "must_play_exposed", "3.9.14")
    sat.does(0, "AD")


def test_3_3_18_pass_and_no_trump_name_no_suit():
    """Only a suit is named by a call (FN27)."""
    sat = Seated().does(2, Bid("pass")).calls(0, "3.3.18").say("pass 7C").does(1, "9C/TC").does(1, "7C").say("whist whist")
    assert sat.court.phase == "play"


def test_3_3_18_without_attention_nothing_is_asked():
    """Nobody called: the lead is free."""
    sat = Seated().does(2, Bid("6D")).say("pass 7C pass").does(1, "9C/TC").does(1, "7C").say("whist whist")
    assert sat.court.phase == "play"
    sat.does(0, "AS").cannot_call(1, "3.3.18", "3.3.18")


def test_3_3_10_a_pass_is_final():
    """A call after one's pass is refused in both modes (A-12)."""
    Seated("pass 6S").refused(0, Bid("7S"), "already_passed", "3.3.10")


# ---- 3.3.8, 3.3.9: an insufficient call --------------------------------------------------------------------------------


def test_3_3_8_an_insufficient_bid_is_called():
    """Before the next call he calls again, anything possible, a pass too (FN22)."""
    sat = Seated("7S").does(1, Bid("6H"))
    assert sat.last == (BidMade(1, "6H", irregular="3.3.8"),)
    sat.calls(0, "3.3.8")
    assert sat.names() == ["AttentionCalled", "CallTakenBack"]
    assert sat.court.to_act == 1
    sat.say("pass")
    assert sat.court.auction.standing == "7S"


def test_3_3_8_never_called_it_has_no_force():
    """The bid to beat is unchanged, and he stays in."""
    sat = Seated("7S").does(1, Bid("6H")).refused(2, Bid("here"), "here_not_allowed", "3.3.8").does(2, Bid("7C"))
    sat.cannot_call(0, "3.3.8", "3.3.8")
    assert sat.court.auction.standing == "7C"
    sat.say("pass")
    assert sat.court.to_act == 1
    sat.say("7D pass")
    assert sat.court.declarer == 1


def test_3_3_8_bound_to_the_lowest_sufficient_bid():
    """If the rest pass, the last bidder too, he is bound to the lowest bid that would have been enough [conv]."""
    sat = Seated("7S").does(1, Bid("6H")).say("pass")
    assert sat.court.to_act == 0
    sat.say("pass")
    assert sat.last == (BidMade(0, "pass"), AuctionWon(1, "7C"), TalonTaken(1, TALON))


def test_3_3_9_misere_after_another_call():
    """Misere only as the first call: called, he calls again (3.3.9)."""
    sat = Seated("6S 6C pass").does(0, Bid("misere"))
    assert sat.last == (BidMade(0, "misere", irregular="3.3.9"),)
    sat.calls(1, "3.3.9")
    sat.say("6D pass")
    assert (sat.court.declarer, sat.court.game.bid) == (0, "6D")


# ---- 3.2.19, 3.2.21, 3.3.16.1: the talon seen by one -------------------------------------------------------------------


def test_3_2_19_who_saw_the_talon_is_out_of_the_auction():
    """His bids are void, the rest bid on; five points go into his mountain (3.2.19, 3.2.21, 3.3.16.1)."""
    sat = Seated("6S 6C").peeks(1, "talon")
    assert sat.last[0].cards == TALON
    sat.calls(0, "3.2.19")
    assert sat.names() == ["AttentionCalled", "FineWritten", "BidderExcluded"]
    assert (sat.court.auction.standing, sat.court.auction.holder, sat.court.to_act) == ("6S", 0, 2)
    sat.say("6D pass")
    assert sat.court.declarer == 2
    sat.plays_on().confirmed()
    assert (1, "mountain", None, 5, "3.2.21") in sat.entries()


def test_3_3_16_1_the_last_bid_of_the_one_left_wins():
    """If one bidder is left his last bid wins (3.3.11)."""
    sat = Seated("6S 7C pass").peeks(1, "talon").calls(2, "3.3.16.1")
    assert sat.last[-2:] == (AuctionWon(0, "6S"), TalonTaken(0, TALON))


def test_3_2_19_in_all_pass_the_first_two_tricks_are_his():
    """If all-pass follows, tricks 1 and 2 are his whatever falls (3.2.19)."""
    sat = Seated("pass").peeks(1, "talon").calls(0, "3.2.21").say("pass")
    assert isinstance(sat.last[1], AllPassed)
    sat.plays_on(lambda court: court.play.number == 3)
    assert sat.deal.tricks == (0, 2, 0)


def test_3_2_19_where_the_talon_is_not_opened_he_takes_all():
    """In Rostov he takes all ten; the others write the whists half and half, and a point each (3.2.19)."""
    sat = Seated("pass pass", deal=table("rostov")).peeks(2, "talon").calls(0, "3.2.19")
    assert sat.court.awaits_confirmation
    sat.confirmed()
    assert sat.court.score.outcome["tricks"] == [0, 0, 10]
    entries = sat.entries()
    assert (0, "whists", 2, 25, "3.7.2.2") in entries
    assert (1, "whists", 2, 25, "3.7.2.2") in entries
    assert (0, "pool", None, 1, "3.7.2.2") in entries
    assert (2, "mountain", None, 5, "3.2.21") in entries


def test_3_2_21_a_resting_dealer_only_writes_the_five():
    """A resting dealer was in no auction (Decision 23)."""
    sat = Seated("6S", deal=table(players=4)).peeks(3, "talon").calls(0, "3.2.21")
    assert sat.names() == ["AttentionCalled", "FineWritten"]
    assert sat.court.auction.standing == "6S"


def test_3_2_21_unless_it_is_ruled_unintended():
    """The arbiter may strike the five points."""
    sat = Seated("6S").peeks(1, "talon").calls(0, "3.2.21").rules("3.2.21", 1, reason="a draught turned it up")
    sat.plays_on().confirmed()
    assert not [one for one in sat.entries() if one[4] == "3.2.21"]


# ---- 3.2.20, 3.3.17: the talon taken -----------------------------------------------------------------------------------


def test_3_2_20_who_took_the_talon_is_out():
    """His twelve cards are shuffled, two drawn blind are the new talon; no points (3.2.20, 3.3.17)."""
    sat = Seated("6S").takes(1)
    assert sat.deal.held(1).bit_count() == 12
    sat.calls(2, "3.2.20")
    assert sat.names() == ["AttentionCalled", "TalonReturned", "BidderExcluded"]
    talon = mask_of(sat.last[1].talon)
    assert sat.deal.held(1).bit_count() == 10
    assert sat.deal.held(1) | talon == mask_of(hand_text(sat.start.full_hands[1])) | mask_of(TALON)
    assert not sat.court.infractions
    sat.say("pass")
    assert sat.court.declarer == 0
    assert sat.deal.held(0) & talon == talon
    assert sat.deal.held(0) | sat.deal.held(1) | sat.deal.held(2) == DECK


def test_3_2_20_nobody_called_and_another_wins():
    """When somebody else has won, the talon is missing before all eyes: the server says so."""
    sat = Seated("6S").takes(1).say("pass").say("pass")
    assert "TalonReturned" in sat.names()
    assert sat.court.declarer == 0


def test_3_3_15_third_hand_after_two_passes():
    """No offence: the third hand has taken the talon in silence and is bound to any trick contract (3.3.15)."""
    sat = Seated("pass pass").takes(2)
    assert sat.last[1:] == (AuctionWon(2, "6S"), TalonTaken(2, TALON))


# ---- 3.3.16.2: shown to all while one other had not finished -----------------------------------------------------------


def test_3_3_16_2_the_talon_goes_to_the_one_who_had_not_finished():
    """6♠ - pass - 6♣, the first hand opens the talon: the third hand declares from 6♣; no five points."""
    sat = Seated("6S pass 6C").peeks(0, "talon", show=True).calls(1, "3.3.16.2")
    assert sat.last[1:] == (AuctionWon(2, "6C"), TalonTaken(2, TALON))
    assert not sat.court.infractions


def test_3_3_16_2_who_had_not_called_chooses():
    """He takes the talon for any trick contract, or passes: then it is all-pass by 3.2.19 [conv]."""
    sat = Seated("6S pass").peeks(0, "talon", show=True).calls(2, "3.3.16.2")
    assert (sat.court.phase, sat.court.to_act, sat.deal.pending.choices) == ("remedy", 2, ("talon", "pass"))
    sat.chooses(2, "talon")
    assert sat.last[1:] == (AuctionWon(2, "6S"), TalonTaken(2, TALON))
    other = Seated("6S pass").peeks(0, "talon", show=True).calls(2, "3.3.16.2").chooses(2, "pass")
    assert other.court.contract == "all_pass"
    other.plays_on(lambda court: court.play.number == 3)
    assert other.deal.tricks == (2, 0, 0)


@pytest.mark.parametrize("rule", ["3.9.16", "3.4.4", "3.9.14"])
def test_nothing_of_the_kind(rule):
    """Attention to what did not happen is refused under the rule that was named."""
    Seated("6S").cannot_call(1, rule, rule)


def test_3_3_16_2_only_one_remedy_at_a_time():
    """While somebody is asked, no other attention is called."""
    sat = Seated("6S pass").peeks(0, "talon", show=True).calls(2, "3.3.16.2")
    sat.cannot_call(1, "3.3.16", "3.9.14", code="claim_pending")
    sat.refused(1, Remedy("pass"), "not_your_turn", "3.3.16.2")
