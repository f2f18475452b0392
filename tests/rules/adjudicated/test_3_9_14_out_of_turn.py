"""Cards led or played out of turn (3.9.14)."""

from __future__ import annotations

from shared.rules.deck.cards import CARDS, mask_of
from shared.rules.language.game_events import CardPlayed, TrickWon
from shared.rules.language.moves import Play
from tests.rules.adjudicated.seated import CLOSED, OPEN, Seated
from tests.rules.words import table

#: The third hand plays hearts, and the first leads.
THIRD_DECLARES = "pass pass 6H 9D/8D 6H whist whist"


def test_3_9_14_1_declarer_may_accept_a_lead_out_of_turn():
    """A defender leads instead of the declarer; attention is called, the declarer accepts, and the trick goes on from that card."""
    sat = Seated(CLOSED).does(1, "QD")
    assert sat.last[0] == CardPlayed(1, "QD", 1, "3.9.14.1")
    sat.calls(2, "3.9.14")
    assert (sat.court.phase, sat.court.to_act) == ("remedy", 0)
    sat.chooses(0, "accept")
    assert (sat.court.phase, sat.court.to_act) == ("play", 2)
    sat.say("7D AD")
    assert sat.last[-1] == TrickWon(0, 1)


def test_3_9_14_1_the_card_becomes_exposed():
    """Not accepted, the card goes back to the table face up, and the rightful leader leads."""
    sat = Seated(CLOSED).does(1, "QD").calls(0, "3.9.14.1").chooses(0, "card")
    assert sat.names() == ["RemedyChosen", "TricksTakenBack", "CardExposed"]
    assert sat.court.to_act == 0
    assert sat.deal.held(1) & mask_of("QD")
    sat.does(0, "KD")
    assert sat.court.phase == "remedy", "the exposed queen follows unless declarer forbids it"
    sat.chooses(0, "forbid")
    sat.refused(1, Play("QD"), "must_play_exposed", "3.9.14")
    sat.does(1, "JD").say("7D")
    assert sat.deal.tricks == (1, 0, 0)
    sat.does(0, "AD")
    assert sat.court.phase == "play", "nothing is left to choose: the queen is the only diamond"


def test_3_9_14_1_an_exposed_card_is_played_at_the_first_chance():
    """Unless it is forbidden for that trick, the exposed card is the one to be played (3.9.14)."""
    sat = Seated(CLOSED).does(1, "QD").calls(0, "3.9.14.1").chooses(0, "card").does(0, "KD").chooses(0, "card", card="QD")
    sat.refused(1, Play("JD"), "must_play_exposed", "3.9.14")
    sat.does(1, "QD")


def test_3_9_14_1_declarer_forbids_or_orders_the_suit():
    """Where the lead was rightly the other defender's, declarer may forbid him that suit, or order it (3.9.14.1, FN64)."""
    sat = Seated(THIRD_DECLARES)
    assert sat.court.to_act == 0
    sat.does(1, "AC").calls(2, "3.9.14.1")
    assert sat.court.deal.pending.choices == ("accept", "card", "forbid", "order")
    sat.chooses(2, "order")
    assert sat.names()[-1] == "LeadRestricted"
    sat.does(0, "AS")  # he has no club at all: the order is void
    other = Seated(THIRD_DECLARES)
    other.does(1, "QD").calls(0, "3.9.14.1").chooses(2, "forbid")
    other.refused(0, Play("AD"), "must_play_exposed", "3.9.14")
    other.does(0, "AS")


def test_3_9_14_1_from_the_wrong_open_hand():
    """In open play the whister plays from the hand that is not on turn: the same (3.9.14.1)."""
    sat = Seated(OPEN).say("AS").does(1, Play("7D", 2)).calls(0, "3.9.14.1").chooses(0, "card")
    assert sat.deal.play.turn == 1
    assert sat.deal.incidents.exposures[0].seat == 2


def test_3_9_14_2_declarer_out_of_turn():
    """Declarer's card becomes exposed, and is played only when a defender demands it; on his own lead they cannot forbid it."""
    sat = Seated(THIRD_DECLARES)
    sat.does(2, "7D")
    assert sat.last[0].irregular == "3.9.14.2"
    sat.calls(1, "3.9.14.2")
    assert sat.names() == ["AttentionCalled", "TricksTakenBack", "CardExposed"]
    assert sat.court.to_act == 0
    sat.say("AD QD")
    assert (sat.court.phase, sat.court.to_act, sat.deal.pending.choices) == ("remedy", 0, ("card", "pass"))
    sat.chooses(0, "pass").chooses(1, "card", card="7D")
    sat.refused(2, Play("TD"), "must_play_exposed", "3.9.14")
    sat.does(2, "7D")


def test_3_9_14_3_out_of_turn_in_all_pass():
    """In all-pass every trick from this one on is the offender's, and the deal is over."""
    sat = Seated("pass pass pass", deal=table("rostov")).does(2, "7D").calls(0, "3.9.14.3")
    assert "RestForfeited" in sat.names()
    sat.plays_on().ended()
    assert sat.court.score.outcome["tricks"] == [0, 0, 10]


def test_3_9_14_5_a_complete_trick_stands():
    """Called when the trick is complete, a lead out of turn stands; the winner leads."""
    sat = Seated(CLOSED).does(1, "QD").say("7D AD")
    assert sat.deal.tricks == (1, 0, 0)
    sat.cannot_call(0, "3.9.14", "3.9.14.5")
    assert sat.court.to_act == 0


def test_3_9_14_a_card_before_ones_turn_in_a_trick():
    """The third hand plays before the second: the second completes the trick when nobody has called (3.9.14.5)."""
    sat = Seated(CLOSED).say("KD").does(2, "7D")
    assert sat.last[0].irregular == "3.9.14.1"
    assert sat.court.to_act == 1
    sat.does(1, "QD")
    assert sat.last[-1] == TrickWon(0, 1)


def test_3_9_21_the_last_trick():
    """What is done in the last trick is not punished."""
    sat = Seated(CLOSED).plays_on(lambda court: court.play.number == 10)
    seat = next(seat for seat in (0, 1, 2) if seat != sat.court.to_act)
    card = next(card for card in range(32) if sat.deal.held(seat) >> card & 1)
    sat.does(seat, CARDS[card])
    sat.cannot_call(sat.court.to_act, "3.9.14", "3.9.21")
