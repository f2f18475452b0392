"""What open cards prove: a talon shown with several in the auction (3.3.16.3), a wrong hand at the order (3.4.6), a forfeited all-pass
(3.9.14.3).
"""

from __future__ import annotations

import pytest

from shared.rules.adjudicated.damages import line_of_all_pass, lost_by
from shared.rules.language.moves import Bid, CallAttention, Declare, Discard
from shared.rules.language.refusal import Refused
from shared.rules.score_files.score_file import score_document
from tests.rules.adjudicated.seated import Seated
from tests.rules.words import table

#: Four players: with the talon the second hand makes nine hearts, and the third is one down in six diamonds at the least.
E1 = ("QC JD 9H 7H AC JS KD 9S TD TS", "JC KH KS AS JH TH 8H KC AH QH", "8S 9D AD 7C TC 9C 8C 7S 8D QD")


def test_3_3_16_3_e1():
    """6♠-6♣-6♦, the first hand shows the talon: the second writes 52 for his nine hearts, the dealer 7 for the third's remise (E1)."""
    sat = Seated("6S 6C 6D", deal=table(players=4, hands=E1, talon="QS 7D"), attention="players")
    sat.peeks(0, "talon", show=True).calls(3, "3.3.16.3")
    assert sat.names()[:4] == ["AttentionCalled", "HandsLaid", "DealStopped", "FineWritten"]
    assert (sat.court.phase, sat.court.to_act) == ("remedy", 1)
    sat.chooses(1, "result")
    assert sat.court.to_act == 3, "the third hand has neither a game nor another's remise"
    sat.chooses(3, "result")
    sat.confirmed()
    assert sat.entries() == [(1, "whists", 0, 52, "3.3.16.3"), (3, "whists", 0, 7, "3.3.16.3")]


def test_3_3_16_3_a_player_takes_only_one_result():
    """A game of his own or another's remise, as he chooses (FN25)."""
    sat = Seated("6S 6C 6D", deal=table(players=4, hands=E1, talon="QS 7D")).peeks(0, "talon", show=True).calls(3, "3.3.16")
    sat.chooses(1, "result", seat=2).chooses(3, "pass").confirmed()
    assert sat.entries() == [(1, "whists", 0, 9, "3.3.16.3")]


def test_3_3_16_3_no_call_reopens_the_deal():
    """F2: after the talon was shown to all, a dealing fault, a second show and an insufficient call are not heard; a look costs five."""
    sat = Seated("6S", deal=table(players=4, hands=E1, talon="QS 7D"), recorded=True).peeks(1, "talon").does(1, Bid("6S"))
    sat.peeks(0, "talon", show=True).peeks(2, "talon", show=True).calls(3, "3.3.16.3", 0).plays_on()
    for rule, seat in (("3.3.16", 2), ("3.3.8", 1), ("3.2.9", None)):
        sat.tries(3, CallAttention(rule, seat))
        assert isinstance(sat.last, Refused), rule
    assert sat.calls(3, "3.2.21", 1).names() == ["AttentionCalled", "FineWritten"]
    assert sat.last[0].rule == "3.2.21", "there is no auction any more that the seat could be out of (3.2.19)"
    sat.confirmed()
    assert (1, "mountain", None, 5, "3.2.21") in sat.entries()


@pytest.mark.parametrize("rule", ["3.2.9", "3.2.14", "3.2.17", "FN13"])
def test_3_3_16_3_no_fault_of_the_dealing_reopens_the_deal(rule):
    """F2: nor where nobody had called yet when the talon was shown to all, and a dealing fault would have been heard (3.2.18)."""
    sat = Seated(deal=table(players=4, hands=E1, talon="QS 7D"), recorded=True)
    sat.peeks(0, "talon", show=True).calls(3, "3.3.16.3", 0).plays_on()
    sat.cannot_call(3, rule, rule)


def test_3_9_14_3_no_revoke_reopens_the_deal():
    """F2: the rest of an all-pass is forfeited; a revoke before it is not called any more (3.9.14.3)."""
    sat = Seated("pass pass pass", deal=table("rostov")).say("AS").does(1, "AC").say("TD").does(2, "9D")
    assert [act.kind for act in sat.court.acts] == ["revoke", "turn"]
    sat.calls(1, "3.9.14.3").plays_on()
    sat.tries(0, CallAttention("3.9.16"))
    assert isinstance(sat.last, Refused)
    sat.ended()
    assert sat.court.score.outcome["tricks"] == [1, 0, 9]


def test_3_3_16_3_is_scored_from_a_score_file():
    """The deal's infractions as a scorer writes them bring the same sheet."""
    sat = Seated("6S 6C 6D", deal=table(players=4, hands=E1, talon="QS 7D")).peeks(0, "talon", show=True).calls(3, "3.3.16")
    sat.chooses(1, "result").chooses(3, "result").confirmed()
    scored = score_document(
        {"convention": "sochi", "players": 4, "target": 20, "deals": [{"dealer": 3, "infractions": sat.court.score.outcome["infractions"]}]}
    )
    assert scored["deals"][0]["whists"] == [[1, 0, 52], [3, 0, 7]]


def test_3_4_6_without_two():
    """A contract ordered with a hand not of ten: written as a remise without two, no whists, the deal is over (A-16)."""
    sat = Seated("6S pass pass").does(0, Declare("6S"))
    assert sat.last[0].irregular == "3.4.6"
    sat.calls(1, "3.4.6")
    assert sat.court.awaits_confirmation
    sat.confirmed()
    assert sorted(sat.entries()) == [(0, "mountain", None, 4, "3.4.6"), (1, "whists", 0, 4, "3.4.6"), (2, "whists", 0, 4, "3.4.6")]


def test_3_4_6_e4_two_are_added_to_what_was_unavoidable():
    """Proved without k with a right hand, it is written without k and two more (E4)."""
    weak = table(hands=("7S 8S 9S 7C 8C 9C 7D 8D 9D 7H", "AS KS QS AC KC QC AD KD QD TH", "JS TS JC TC JD TD AH KH QH JH"), talon="8H 9H")
    sat = Seated("6S pass pass", deal=weak).does(0, Discard(("7H",))).does(0, Declare("6S")).calls(1, "3.4.6")
    proved = next(event for event in sat.last if type(event).__name__ == "FineWritten").infraction["proved"]
    assert proved == 6
    sat.confirmed()
    assert (0, "mountain", None, 16, "3.4.6") in sat.entries()


def test_3_9_14_3_e7_the_offender_pays_the_difference():
    """Rostov 2-1-7: against a line with 2-4-4 the first player would have won 40 instead of losing 10, so 50 are due (E7)."""
    deal = table("rostov")
    assert lost_by(deal.setup, (2, 4, 4), (2, 1, 7), 0) == 50
    assert lost_by(deal.setup, (2, 4, 4), (2, 1, 7), 1) < 0


def test_3_9_14_3_further_damage_is_claimed():
    """Each participant who would have done better on the search's line may write the difference on the offender (3.9.14.3)."""
    sat = Seated("pass pass pass", deal=table("rostov", hands=E1, talon="QS 7D"))
    sat.does(2, "8S").calls(1, "3.9.14.3")
    forfeited = next(event for event in sat.last if type(event).__name__ == "RestForfeited")
    assert forfeited.tricks == (0, 0, 10)
    line = line_of_all_pass(sat.start_of_play)
    assert sum(line) == 10
    for claim in forfeited.results:
        assert claim["whists"] == lost_by(sat.deal.setup, line, (0, 0, 10), claim["seat"])
    while sat.court.to_act is not None:
        sat.chooses(sat.court.to_act, "result")
    sat.confirmed()
    written = [one for one in sat.entries() if one[4] == "3.9.14.3"]
    assert len(written) == len(forfeited.results)
