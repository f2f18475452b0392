"""Not following, or not trumping, though able: in time and late (3.9.16, 3.9.17)."""

from __future__ import annotations

from shared.rules.deck.cards import mask_of
from shared.rules.language.moves import Play, Remedy
from tests.rules.adjudicated.seated import CLOSED, Seated
from tests.rules.words import table

#: Trumps and red tops, black cards, red cards: everybody is void of something.
LONG = ("AS KS 9S 8S 7S AH KH AD KD QD", "QS JS TS AC KC QC JC TC 9C 8C", "JD TD 9D 8D 7D QH JH TH 9H 8H")


def test_3_9_16_1_revoke_in_time():
    """Called before the next trick's first card, the wrong card lies exposed and a right one is played (3.9.16.1)."""
    sat = Seated(CLOSED).say("AD").does(1, "AC")
    assert sat.last[0].irregular == "3.9.16"
    sat.calls(0, "3.9.16")
    assert sat.names() == ["AttentionCalled", "TricksTakenBack", "CardExposed"]
    assert sat.last[0].rule == "3.9.16.1"
    assert (sat.court.phase, sat.court.to_act) == ("play", 1)
    sat.does(1, "QD")
    assert sat.deal.incidents.exposures[0].cards == mask_of("AC")


def test_3_9_16_1_those_who_played_after_him_may_change_their_card():
    """Cards played after the wrong one go back to the hand, without being exposed (5.4.14)."""
    sat = Seated(CLOSED).say("AD").does(1, "AC").say("7D")
    assert sat.deal.tricks == (1, 0, 0)
    sat.calls(2, "3.9.16.1")
    assert (sat.last[1].cards, sat.last[1].seats) == (("AC", "7D"), (1, 2))
    assert sat.deal.tricks == (0, 0, 0)
    sat.say("QD TD")
    assert sat.deal.tricks == (1, 0, 0)
    assert [one.seat for one in sat.deal.incidents.exposures] == [1]


def test_3_9_16_revoke_by_not_trumping():
    """Void of the suit he must trump (3.9.3); a third suit is a revoke too."""
    sat = Seated(CLOSED).say("AH").does(1, "AC").calls(2, "3.9.16", seat=1)
    assert sat.last[0].rule == "3.9.16.1"
    sat.say("8S")


def test_3_9_16_2_late_revoke_takes_tricks_back():
    """Called later, the cards played since are taken back, the wrong card lies exposed, and play resumes at the offender."""
    sat = Seated(CLOSED).say("AD").does(1, "AC").say("7D").say("KD QD 8D AH")
    assert sat.deal.play.number == 3
    sat.calls(0, "3.9.16")
    assert sat.last[0].rule == "3.9.16.2"
    assert list(sat.last[1].cards) == ["AC", "7D", "KD", "QD", "8D", "AH"]
    assert (sat.deal.play.number, sat.court.to_act, sat.court.phase) == (1, 0, "remedy"), "the opponent may name any card of his"
    sat.refused(0, Remedy("card", card="AC"), "call_not_allowed", "3.9.16.2")
    sat.refused(0, Remedy("card", card="TD"), "card_not_held", "3.9.2")
    sat.chooses(0, "card", card="QD")
    sat.refused(1, Play("JD"), "must_play_exposed", "3.9.14")
    sat.does(1, "QD")


def test_3_9_16_2_a_defenders_late_revoke_costs_a_trick():
    """At the end one trick of the offender's, if he has none his partner's, goes to the declarer."""
    sat = Seated("6S pass pass 7C/8C 6S whist whist").say("AD").does(1, "AC").say("7D KD").calls(0, "3.9.16.2")
    sat.plays_on()
    taken = sat.court.ended.tricks
    sat.confirmed()
    assert sum(taken) == 10
    lost = [event for event in sat.all if type(event).__name__ == "TrickForfeited"]
    assert len(lost) == 1
    if lost[0].to is not None:
        assert lost[0].to == 0
        assert sat.court.score.outcome["tricks"][0] == taken[0] + 1


def test_3_9_16_2_declarers_late_revoke():
    """Declarer's trick goes to the caller of two whisters."""
    sat = Seated("6S pass pass 7C/7H 6S whist whist", deal=table(hands=LONG, talon="7C 7H"))
    sat.say("7S QS 8H").does(1, "AC").say("7D").does(0, "AD")
    assert sat.last[0].irregular == "3.9.16"
    assert sat.deal.play.number == 3, "the ace of clubs took it"
    sat.say("KC").calls(2, "3.9.16.2", seat=0)
    sat.plays_on()
    before = sat.court.ended.tricks
    sat.confirmed()
    tricks = sat.court.score.outcome["tricks"]
    assert tricks[2] == before[2] + 1
    assert tricks[0] == before[0] - 1


def test_3_9_17_not_after_the_score():
    """When the result is written nobody can call a revoke any more."""
    sat = Seated(CLOSED).say("AD").does(1, "AC").plays_on().ended()
    sat.cannot_call(0, "3.9.16", "3.9.17", code="wrong_phase")


def test_3_9_17_until_the_deal_is_scored():
    """After the last trick, before all have confirmed, a revoke is still called (3.9.17)."""
    sat = Seated(CLOSED).say("AD").does(1, "AC").plays_on()
    assert sat.court.awaits_confirmation
    sat.calls(0, "3.9.16")
    assert not sat.court.awaits_confirmation
    assert sat.deal.play.number == 1
    sat.plays_on().confirmed()


def test_3_9_16_2_late_revoke_in_all_pass():
    """One trick more, to nobody."""
    sat = Seated("pass pass pass", deal=table("code", hands=LONG, talon="7C 7H"))
    sat.plays_on(lambda court: court.play.number == 3)
    sat.say("KS").does(1, "TC").say("TH").plays_on(lambda court: court.play.number == 5).calls(2, "3.9.16.2").plays_on().confirmed()
    fined = [one for one in sat.court.score.outcome["infractions"] if one["rule"] == "3.9.16.2"]
    assert fined == [{"rule": "3.9.16.2", "seat": 1}]
