"""Two players at an adjudicated table: the dummy's hand, and what needs a third player (Decision 19)."""

from __future__ import annotations

from shared.rules.language.moves import Bid
from tests.rules.adjudicated.seated import Seated
from tests.rules.words import FIRST, SECOND, THIRD, table


def two(convention="sochi"):
    return table(convention, players=2, hands=(FIRST, SECOND, THIRD))


def test_3_2_19_two_players_who_saw_the_talon_takes_all():
    """The talon is not opened with two players, so an all-pass is all his who saw it (3.2.19, 3.7.6.4)."""
    sat = Seated("pass", deal=two()).peeks(1, "talon").calls(0, "3.2.19")
    assert sat.court.awaits_confirmation
    assert sat.court.ended.tricks == (0, 10)


def test_3_9_14_1_two_players_the_wrong_hand():
    """The defender plays both hands; the one that is not on turn is a card out of turn (3.9.14.1)."""
    sat = Seated("6S pass 7C/8C 6S whist", deal=two())
    sat.say("AS").does(1, "7D").calls(0, "3.9.14").chooses(0, "card").say("7S")
    sat.plays_on().confirmed()
    assert sum(sat.court.score.outcome["tricks"]) == 10


def test_3_3_18_two_players():
    """A call out of turn waits for its turn here too."""
    sat = Seated(deal=two()).does(1, Bid("6S")).say("pass")
    assert sat.court.declarer == 1
