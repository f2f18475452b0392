"""Discard and contract against the rules (3.4.4-3.4.12)."""

from __future__ import annotations

from shared.rules.language.game_events import CardsDiscarded, ContractDeclared
from shared.rules.language.moves import Bid, Declare, Discard, Play, Whist
from tests.rules.adjudicated.seated import Seated
from tests.rules.words import FIRST, table

WON = "6S pass pass"

# ---- 3.4.4: a wrong order ----------------------------------------------------------------------------------------------


def test_3_4_4_a_contract_below_the_bid():
    """Called before the first lead, he orders again, and every word on it is void (3.4.4)."""
    sat = Seated("6C pass pass 7C/8C").does(0, Declare("6S"))
    assert sat.last == (ContractDeclared(0, "6S", "3.4.4"),)
    sat.say("whist").calls(2, "3.4.4")
    assert sat.names() == ["AttentionCalled", "ContractTakenBack"]
    assert (sat.court.phase, sat.court.to_act) == ("contract", 0)
    sat.does(0, Declare("6C"))
    assert (sat.court.phase, sat.court.to_act) == ("whist", 1)


def test_3_4_4_a_second_wrong_order_is_without_all():
    """Without all at the level of the bid: the mountain for as many, consolation to all, no whists (Decision 23)."""
    sat = Seated("7C pass pass 7C/8C").does(0, Declare("6S")).calls(1, "3.4.4").does(0, Declare("7S"))
    assert sat.names() == ["ContractDeclared", "OrderRefused", "DealEnded"]
    sat.confirmed()
    assert sorted(sat.entries()) == [
        (0, "mountain", None, 28, "3.5.4"),
        (1, "whists", 0, 28, "3.8.1.2"),
        (2, "whists", 0, 28, "3.8.1.2"),
    ]


def test_3_4_4_never_called_it_stands():
    """The first lead has been made: the order stands [conv]."""
    sat = Seated("6C pass pass 7C/8C").does(0, Declare("6S")).say("whist whist AS")
    sat.cannot_call(1, "3.4.4", "3.4.4")
    assert sat.court.contract == "6S"


def test_3_4_4_a_misere_after_a_game_was_bid():
    """A misere that was not bid is a wrong order; uncalled it is played, hands open after the first card (3.4.4) [conv]."""
    sat = Seated("6S pass pass 7C/8C").does(0, Declare("misere"))
    assert sat.last[0].irregular == "3.4.4"
    assert (sat.court.phase, sat.court.contract) == ("play", "misere")
    called = Seated("6S pass pass 7C/8C").does(0, Declare("misere")).calls(1, "3.4.4")
    assert called.court.phase == "contract"
    sat.does(0, Play("9S"))
    assert "HandsLaid" in sat.names()
    sat.plays_on().confirmed()


WITHOUT_ALL = [(0, "mountain", None, 28, "3.5.4"), (1, "whists", 0, 28, "3.8.1.2"), (2, "whists", 0, 28, "3.8.1.2")]
THIRD, FOURTH = "8S 7S QH JH TH 9H 8H 7H QD JD", "TD 9D 8D 7D AC KC QC JC TC 9C"


def test_3_4_4_a_deal_that_was_given_up_is_not_reopened():
    """F2: no call reopens the deal that a second wrong order has ended, neither for a third nor for the number of cards (3.4.4)."""
    deal = table(hands=(FIRST, THIRD, FOURTH))
    sat = Seated("7S pass pass 7C/8C", deal=deal).does(0, Declare("6S")).calls(1, "3.4.4", 0).does(0, Declare("6S"))
    sat.cannot_call(1, "3.4.4", "3.4.4", seat=0).confirmed()
    assert sorted(sat.entries()) == WITHOUT_ALL
    sat = Seated("7S pass pass", deal=deal).does(0, Discard(("7C",))).does(0, Declare("6S")).calls(1, "3.4.4").does(0, Declare("6S"))
    sat.cannot_call(1, "3.4.6", "3.4.6").confirmed()
    assert sorted(sat.entries()) == WITHOUT_ALL


def test_3_4_4_the_server_ends_it_once():
    """Where the server watches, the second wrong order is the last (3.4.4)."""
    sat = Seated("7S pass pass 7C/8C", attention="server").does(0, Declare("6S")).does(0, Declare("6S"))
    assert sat.names() == ["ContractDeclared", "OrderRefused", "DealEnded"]


def test_3_4_6_a_wrong_hand_that_ended_the_deal_is_not_ordered_anew():
    """F2: after the remise of a wrong hand no call of the order, and none of a call out of turn, is heard (3.4.6)."""
    sat = Seated("7S pass pass").does(0, Discard(("7C",))).does(0, Declare("6S")).calls(1, "3.4.6")
    sat.cannot_call(1, "3.4.4", "3.4.4").confirmed()
    assert {rule for *_, rule in sat.entries()} == {"3.4.6"}


# ---- 3.4.6: a hand not of ten ------------------------------------------------------------------------------------------


def test_3_4_6_a_wrong_number_is_put_away():
    """None to four cards may be put away by mistake; it shows when the contract is ordered."""
    sat = Seated(WON).does(0, Discard(("7C",)))
    assert sat.last == (CardsDiscarded(0, "7C", irregular="3.4.6"),)
    assert sat.deal.held(0).bit_count() == 11
    sat.cannot_call(1, "3.4.6", "3.4.6")
    five = Discard(("7C", "8C", "AS", "KS", "QS"))
    Seated(WON).refused(0, five, "wrong_discard_count", "3.4.2")
    Seated(WON).refused(0, Discard(("7C", "7C", "AS")), "duplicate_card", "3.4.2")
    Seated(WON).refused(0, Discard(("AC",)), "card_not_held", "3.4.2")


def test_3_9_18_found_in_play():
    """Once a card has been led the wrong hand is played out, and counted without two at the least (3.9.18)."""
    sat = Seated(WON).does(0, Discard(("7C",))).does(0, Declare("6S")).say("whist whist AS 7S 7D").calls(1, "3.9.18")
    assert sat.names() == ["AttentionCalled", "FineWritten"]
    sat.plays_on().confirmed()
    taken = sat.court.score.outcome["tricks"][0]
    assert sum(sat.court.score.outcome["tricks"]) == 10
    mountain = [one for one in sat.entries() if one[:2] == (0, "mountain")]
    assert sum(one[3] for one in mountain) == 2 * (6 - (min(taken, 6) - 2))
    assert any(one[4] == "3.9.18" for one in mountain)


def test_3_9_18_a_short_hand_adds_none_to_the_last():
    """A declarer who put four away has no card for the last two tricks (3.9.18)."""
    sat = Seated(WON).does(0, Discard(("7C", "8C", "AH", "KH"))).does(0, Declare("6S")).say("whist whist")
    sat.plays_on()
    assert sat.court.awaits_confirmation
    assert sum(sat.court.ended.tricks) == 10
    assert sat.court.ended.tricks[0] <= 8


# ---- 3.4.8: a second contract ------------------------------------------------------------------------------------------


def test_3_4_8_a_slip_is_corrected_at_once():
    """Within the pause limit another contract replaces the first, even if a whist fell in between."""
    sat = Seated("6S pass pass 7C/8C").does(0, Declare("6D"), now=1_000).does(0, Declare("6H"), now=3_900)
    assert sat.court.contract == "6H"
    sat = (
        Seated("6S pass pass 7C/8C").does(0, Declare("6D"), now=1_000).does(1, Whist("whist"), now=2_000).does(0, Declare("6H"), now=4_000)
    )
    assert (sat.court.contract, sat.court.phase, sat.court.to_act, sat.court.game.calls) == ("6H", "whist", 1, (None, None, None))


def test_3_4_8_after_a_pause_one_level_higher():
    """Later, while nobody has whisted: any strain, exactly one level higher."""
    sat = Seated("6S pass pass 7C/8C").does(0, Declare("6D"), now=1_000).does(1, Whist("pass"), now=2_000)
    sat.refused(0, Declare("6H"), "call_not_allowed", "3.4.8", now=4_001)
    sat.refused(0, Declare("8D"), "call_not_allowed", "3.4.8", now=4_001)
    sat.does(0, Declare("7S"), now=4_001)
    assert (sat.court.contract, sat.court.to_act) == ("7S", 1)


def test_3_4_7_after_a_whist_the_order_stands():
    """After the pause and a whist no other contract is taken (3.4.7)."""
    sat = Seated("6S pass pass 7C/8C").does(0, Declare("6D"), now=1_000).does(1, Whist("whist"), now=2_000)
    sat.refused(0, Declare("7D"), "call_not_allowed", "3.4.7", now=9_000)
    recorded = Seated("6S pass pass 7C/8C 6D whist")
    recorded.refused(0, Declare("7D"), "call_not_allowed", "3.4.7")


def test_3_4_8_without_a_clock_the_next_move_is_at_once():
    """A record has no clock: a second contract with nothing in between is a slip of the tongue."""
    sat = Seated("6S pass pass 7C/8C 6D").does(0, Declare("6H"))
    assert sat.court.contract == "6H"
    sat.does(0, Declare("7H"))
    sat.refused(0, Declare("misere"), "misere_not_first_bid", "3.3.9")


# ---- 3.4.12: an outsider's advice --------------------------------------------------------------------------------------


def test_3_4_12_the_order_stands():
    """After advice on strain or level the declarer changes neither."""
    sat = Seated("6S pass pass 7C/8C 6D").calls(1, "3.4.12", seat=0)
    sat.refused(0, Declare("6H"), "call_not_allowed", "3.4.12")


def test_3_4_12_not_once_an_unwhisted_deal_is_over():
    """F7: nobody has whisted and the deal is over; no order can be changed, and a call that comes to nothing is not heard (3.4.12)."""
    sat = Seated("6S pass pass 7C/8C 6S pass pass").cannot_call(1, "3.4.12", "3.4.12", seat=0)
    sat.confirmed()
    assert sat.entries() == [(0, "pool", None, 2, "3.5.3")]


def test_3_4_4_of_an_unwhisted_deal_the_order_is_called():
    """There was no lead: the Code lets the order be called, and the declarer orders again (3.4.4)."""
    sat = Seated("6C pass pass 7C/8C").does(0, Declare("6S")).say("pass pass").calls(1, "3.4.4")
    assert (sat.court.phase, sat.court.ended) == ("contract", None)


def test_3_3_18_not_once_an_unwhisted_deal_is_over():
    """F7: the lead that a call out of turn concerns is not made any more (3.3.18)."""
    sat = Seated().does(1, Bid("7D")).say("8S pass pass 7C/8C 8S pass pass")
    assert sat.court.ended is not None
    sat.cannot_call(0, "3.3.18", "3.3.18", seat=1)


def test_3_4_12_no_order_yet():
    """Then he orders exactly what he bid last [conv]."""
    sat = Seated("6S pass pass 7C/8C").calls(1, "3.4.12")
    sat.refused(0, Declare("6H"), "call_not_allowed", "3.4.12")
    sat.does(0, Declare("6S"))
    Seated("6S").cannot_call(1, "3.4.12", "3.4.12", seat=0)
