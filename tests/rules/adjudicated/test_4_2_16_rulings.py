"""The arbiter's rulings (4.2.16)."""

from __future__ import annotations

from shared.rules.adjudicated.court import ARBITER
from shared.rules.language.moves import CallAttention, Play, RuledEntry, Ruling
from tests.rules.adjudicated.seated import CLOSED, Seated


def test_4_2_16_entries_are_scored_with_the_deal():
    """What he orders is written with his reason, under the rule that he names."""
    sat = Seated(CLOSED).rules("3.9.14.3", 1, entries=(RuledEntry(0, "whists", 50, 1), RuledEntry(1, "mountain", "7/2")))
    sat.plays_on().confirmed()
    assert (0, "whists", 1, 50, "3.9.14.3") in sat.entries()
    assert (1, "mountain", None, "7/2", "3.9.14.3") in sat.entries()


def test_4_2_16_tricks_end_the_deal():
    """A ruling in tricks is the deal's result."""
    sat = Seated(CLOSED).rules("3.9.16.2", 0, tricks=(5, 3, 2))
    assert sat.court.awaits_confirmation
    sat.confirmed()
    assert sat.court.score.outcome["tricks"] == [5, 3, 2]
    Seated(CLOSED).refused(ARBITER, Ruling("3.9.16.2", 0, "so", tricks=(5, 3, 3)), "malformed", "3.9.16.2")


def test_4_2_16_a_redeal():
    """He may have the cards dealt anew."""
    sat = Seated(CLOSED).rules("3.2.15", 0, redeal=True)
    assert sat.court.redealt
    assert sat.names() == ["Ruled", "Redealt"]


def test_4_2_16_only_the_arbiter():
    """A seat gives no rulings, and the arbiter plays no cards."""
    sat = Seated(CLOSED)
    sat.refused(1, Ruling("3.9.16", 0, "so"), "not_your_turn", "3.9.16")
    sat.refused(ARBITER, Play("AS"), "not_your_turn", "4.2.16")
    wrong = Ruling("3.9.16", 0, "so", entries=(RuledEntry(0, "whists", 3),))
    sat.refused(ARBITER, wrong, "malformed", "4.2.1")


def test_4_2_16_the_arbiter_calls_attention():
    """He may point out what the players have not seen."""
    sat = Seated(CLOSED).say("AD").does(1, "AC").does(ARBITER, CallAttention("3.9.16"))
    assert sat.last[0].by == ARBITER


def test_4_2_16_a_ruling_ends_a_question():
    """It stands instead of the remedy that waits for a choice."""
    sat = Seated(CLOSED).does(1, "QD").calls(0, "3.9.14").rules("3.9.14.1", 1, reason="the declarer had passed the lead")
    assert (sat.court.phase, sat.court.to_act) == ("play", 2)
