"""Where the server watches (`attention: server`) it calls at once whatever it sees."""

from __future__ import annotations

from shared.rules.adjudicated.court import SERVER
from shared.rules.language.moves import Bid, Declare, Discard, Play
from tests.rules.adjudicated.seated import CLOSED, Seated
from tests.rules.words import table


def calls(sat):
    return [(event.rule, event.seat, event.by) for event in sat.last if type(event).__name__ == "AttentionCalled"]


def test_3_9_16_1_a_revoke_is_corrected_before_the_next_card():
    """No revoke can become a late one: the card lies exposed in the same commit."""
    sat = Seated(CLOSED, attention="server").say("AD").does(1, "AC")
    assert calls(sat) == [("3.9.16.1", 1, SERVER)]
    assert sat.court.to_act == 1
    sat.say("QD 7D").plays_on().confirmed()


def test_3_9_14_1_a_lead_out_of_turn_is_asked_about():
    """The declarer is asked in the same commit."""
    sat = Seated(CLOSED, attention="server").does(1, "QD")
    assert calls(sat) == [("3.9.14.1", 1, SERVER)]
    assert (sat.court.phase, sat.court.to_act) == ("remedy", 0)


def test_3_3_8_an_insufficient_bid_goes_back():
    """He calls anew."""
    sat = Seated("7S", attention="server").does(1, Bid("6H"))
    assert calls(sat) == [("3.3.8", 1, SERVER)]
    assert sat.court.to_act == 1


def test_3_3_18_a_call_out_of_turn_is_noted():
    """It still waits for its turn, and the named suit is kept for the lead."""
    sat = Seated(attention="server").does(2, Bid("6D"))
    assert calls(sat) == [("3.3.18", 2, SERVER)]
    assert sat.court.named


def test_3_4_6_a_wrong_hand_is_called_when_the_contract_is_ordered():
    """Not before: until then nothing wrong has been ordered."""
    sat = Seated("6S pass pass", attention="server").does(0, Discard(("7C",)))
    assert calls(sat) == []
    sat.does(0, Declare("6S"))
    assert calls(sat) == [("3.4.6", 0, SERVER)]
    assert sat.court.awaits_confirmation


def test_3_2_21_a_look_at_the_talon():
    """Out of the auction, and five in the mountain, at once."""
    sat = Seated("6S", attention="server").peeks(1, "talon")
    assert calls(sat) == [("3.2.19", 1, SERVER)]
    assert sat.court.excluded == 1 << 1


def test_3_9_15_shown_cards_lie_and_are_called():
    """The call is kept in the same commit."""
    sat = Seated("pass pass pass", attention="server", deal=table("code")).exposes(2, "7D")
    assert calls(sat) == [("3.9.15", 2, SERVER)]
    assert sat.names()[0] == "CardsShown"


def test_3_9_21_not_in_the_last_trick():
    """There is nothing to call there."""
    sat = Seated(CLOSED, attention="server").plays_on(lambda court: court.play.number == 10)
    early = next(seat for seat in (0, 1, 2) if seat != sat.court.to_act)
    card = sat.deal.held(early).bit_length() - 1
    names = [f"{rank}{suit}" for suit in "SCDH" for rank in "789TJQKA"]
    sat.does(early, Play(names[card]))
    assert calls(sat) == []
