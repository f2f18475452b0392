"""Looks into discard and tricks, cards shown, outsiders' advice on the play (3.4.9, 3.9.8, 3.9.11, 3.9.15, 3.9.20, 3.9.18)."""

from __future__ import annotations

from shared.rules.deck.cards import mask_of
from shared.rules.language.moves import Expose, Peek, Play, Remedy
from tests.rules.adjudicated.seated import CLOSED, Seated

TWO = "AD QD 7D KD JD 8D"  # two closed tricks, the declarer's


def test_3_4_9_declarer_looks_into_the_discard():
    """One trick less: E5's six that is made by one is made, exactly made it is without one (3.4.9, FN34)."""
    sat = Seated(CLOSED).say("AD").peeks(0, "discard")
    assert (sat.last[0].irregular, sat.last[0].cards) == ("3.4.9", "8C 7C")
    sat.calls(1, "3.4.9")
    assert sat.names() == ["AttentionCalled", "FineWritten"]
    assert sat.last[1].infraction == {"rule": "3.4.9", "seat": 0}


def test_3_4_9_before_the_first_lead_it_is_no_offence():
    """He may look at his own discard until the first lead."""
    sat = Seated(CLOSED).peeks(0, "discard")
    assert sat.last[0].irregular == ""
    sat.cannot_call(1, "3.4.9", "3.4.9")
    Seated("6S").refused(0, Peek("discard"), "wrong_phase", "3.4.9")


def test_3_9_11_2_another_seat_looks_into_the_discard():
    """It costs a whister one trick (3.9.11.2)."""
    sat = Seated(CLOSED).peeks(1, "discard").calls(0, "3.9.11.2")
    assert sat.last[1].infraction == {"rule": "3.9.11.2", "seat": 1}


def test_3_9_8_the_last_trick_may_be_seen():
    """Asked for, it is no offence."""
    sat = Seated(f"{CLOSED} {TWO}").peeks(1, "trick")
    assert (sat.last[0].irregular, sat.last[0].trick, sat.last[0].cards) == ("", 2, "KD JD 8D")
    sat.cannot_call(0, "3.9.8", "3.9.8")
    Seated(CLOSED).refused(0, Peek("trick"), "wrong_phase", "3.9.8")
    sat.refused(0, Peek("trick", 3), "wrong_phase", "3.9.8")


def test_3_9_11_2_an_older_trick_costs_one():
    """Declarer or whister one less; it goes to nobody (3.9.12)."""
    sat = Seated(f"{CLOSED} {TWO}").peeks(0, "trick", 1)
    assert sat.last[0].irregular == "3.9.11.2"
    sat.calls(2, "3.9.11.2").plays_on().confirmed()
    assert sat.court.score.outcome["infractions"] == [{"rule": "3.9.11.2", "seat": 0}]
    assert sum(sat.court.score.outcome["tricks"]) == 10


def test_3_9_11_2_a_passer_loses_nothing():
    """Who answers for nothing has nothing to lose [conv]; the call is kept."""
    sat = Seated(f"6S pass pass 7C/8C 6S whist pass closed {TWO}").peeks(2, "trick", 1).calls(0, "3.9.11.2")
    assert sat.names() == ["AttentionCalled"]


def test_3_9_11_2_one_more_in_all_pass():
    """In all-pass it is one trick more (3.9.11.2)."""
    sat = Seated("pass pass pass").plays_on(lambda court: court.play.number == 3).peeks(0, "trick", 1).calls(1, "3.9.11.2")
    assert sat.last[1].infraction == {"rule": "3.9.11.2", "seat": 0}


def test_3_9_15_shown_cards_are_exposed():
    """A card shown without being played lies on the table until it is played, in all-pass too (3.9.15)."""
    sat = Seated(CLOSED).exposes(1, "QD JD")
    assert sat.names() == ["CardsShown", "CardExposed"]
    sat.calls(0, "3.9.15")
    sat.does(0, "AD")
    assert (sat.court.to_act, sat.deal.pending.choices) == (0, ("card",)), "both diamonds lie there: declarer says which"
    sat.chooses(0, "card", card="QD").refused(1, Play("JD"), "must_play_exposed", "3.9.14").does(1, "QD")
    apart = Seated("pass pass pass").exposes(2, "7D")
    assert apart.deal.incidents.exposures[0].commanders == (0,)
    Seated(CLOSED).refused(1, Expose(("AS",)), "card_not_held", "3.9.15")
    Seated(CLOSED).refused(1, Expose(("QD", "QD")), "duplicate_card", "3.9.15")


def test_3_9_15_shown_before_the_play():
    """Cards shown during the auction are exposed when the play begins."""
    sat = Seated().exposes(1, "QD")
    assert sat.deal.incidents is None
    sat.say(CLOSED)
    assert sat.names() == ["WhistCalled", "CardExposed"]
    assert sat.deal.incidents.exposures[0].cards == mask_of("QD")


def test_3_9_20_the_nearest_opponent_names_the_lead():
    """An outsider advised the seat on turn: the next opponent clockwise names its card (3.9.20, FN72)."""
    sat = Seated(CLOSED).calls(1, "3.9.20", seat=0)
    assert (sat.court.phase, sat.court.to_act, sat.deal.pending.cards) == ("remedy", 1, 0)
    sat.refused(1, Remedy("card"), "malformed", "3.9.20")
    sat.refused(1, Remedy("card", card="7D"), "card_not_held", "3.9.2")
    sat.chooses(1, "card", card="AH").refused(0, Play("AS"), "must_play_exposed", "3.9.14").does(0, "AH")
    sat.cannot_call(1, "3.9.20", "3.9.20", seat=0)


def test_3_9_18_two_cards_of_one_seat():
    """Uncalled, a second card of a seat in one trick makes its hand short; found later, a whister is two short at the least."""
    sat = Seated(CLOSED).say("AD QD").does(1, "JD").say("7D")
    assert sat.deal.tricks == (1, 0, 0)
    assert sat.deal.held(1).bit_count() == 8
    sat.calls(0, "3.9.18")
    assert sat.last[1].infraction == {"rule": "3.9.18", "seat": 1}
    sat.plays_on().confirmed()
    assert (1, "mountain") in [one[:2] for one in sat.entries()]


def test_3_9_14_1_the_second_card_is_called_in_time():
    """Before the trick is complete it is a card out of turn (FN66)."""
    sat = Seated(CLOSED).say("AD QD").does(1, "JD").calls(0, "3.9.14").chooses(0, "card").say("7D")
    assert sat.deal.tricks == (1, 0, 0)
    assert sat.deal.held(1).bit_count() == 9


def test_3_9_14_one_demand_suffices():
    """Declarer's exposed card is asked about from his left on: what one defender forbids the other may still demand (3.9.14)."""
    sat = Seated(f"{CLOSED} AS 7S TD KH").exposes(0, "AD").say("8S 7H QD 7D")
    assert (sat.court.to_act, sat.deal.pending.choices) == (1, ("card", "forbid"))
    sat.chooses(1, "forbid")
    assert sat.court.to_act == 2
    sat.chooses(2, "card", card="AD").refused(0, Play("KD"), "must_play_exposed", "3.9.14").does(0, "AD")
    both = Seated(f"{CLOSED} AS 7S TD KH").exposes(0, "AD").say("8S 7H QD 7D").chooses(1, "forbid").chooses(2, "forbid")
    both.refused(0, Play("AD"), "must_play_exposed", "3.9.14").does(0, "KD")
