"""The defenders' words: whist, pass, half-whist, its return, the resting dealer's whist, and the choice of open or closed play."""

from __future__ import annotations

import pytest

from shared.rules.language.game_events import HandsLaid, PlayChosen, WhistCalled
from shared.rules.language.moves import Look, Whist
from tests.rules.words import SECOND, THIRD, after, table
from tests.spec import given

LAID = HandsLaid((None, SECOND, THIRD))


def named(contract):
    return f"6S pass pass 7C/8C {contract}"


def written(deal):
    return [(entry["seat"], entry["column"], entry["amount"]) for entry in deal.score.entries]


# ---- who is asked ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("players", "contract", "said", "asked", "words"),
    [
        (3, "6S", "", 1, "whist pass"),
        (3, "6S", "whist", 2, "whist pass"),
        (3, "6S", "pass", 2, "whist pass half"),
        (3, "7S", "pass", 2, "whist pass half"),
        (3, "8S", "pass", 2, "whist pass"),
        (3, "10S", "pass", 2, "whist pass"),
        (3, "6S", "pass half", 1, "whist pass"),
        (4, "6S", "pass half pass", 3, "whist pass look:1 look:2"),
        (4, "6S", "pass pass", 3, "whist pass look:1 look:2"),
        (4, "9S", "pass pass", 3, "whist pass look:1 look:2"),
        (4, "9S", "pass pass look:2", 3, "whist pass"),
    ],
)
def test_3_8_1_who_is_asked_for_what(players, contract, said, asked, words):
    """Left of the declarer first; half-whist for the second after a pass; its return; the resting dealer last (3.8.1, 3.8.7, 3.8.8)."""
    deal = table(players=players)
    assert after(deal, f"{named(contract)} {said}").to_act == asked
    given(deal, f"{named(contract)} {said}").then_offered(asked, words)


@pytest.mark.parametrize(
    ("players", "contract", "said", "pool"),
    [(3, "6S", "pass pass", 2), (3, "8S", "pass pass", 6), (4, "10S", "pass pass pass", 10)],
)
def test_3_5_3_a_contract_that_nobody_whists_is_made_unplayed(players, contract, said, pool):
    """When nobody whists the contract counts as made and no card is played (3.5.3)."""
    deal = after(table(players=players), f"{named(contract)} {said}")
    assert (deal.phase, deal.to_act) == ("scored", None)
    assert written(deal) == [(0, "pool", pool)]


def test_3_8_7_half_whist():
    """A half-whist that stands makes the contract unplayed and writes half of the obligation (3.8.7)."""
    assert written(after(table(), f"{named('6S')} pass half pass")) == [(0, "pool", 2), (2, "whists", 4)]
    assert written(after(table(), f"{named('7S')} pass half pass")) == [(0, "pool", 4), (2, "whists", 4)]
    assert written(after(table(players=4), f"{named('6S')} pass half pass pass")) == [(0, "pool", 2), (2, "whists", 4)]


def test_3_8_7_half_whist_refused():
    """The first defender, a defender after a whist, and anybody from eight up cannot go for half (3.8.7)."""
    given(table(), named("6S")).when(1, "half").then_refused("call_not_allowed", "3.8.7")
    given(table(), f"{named('6S')} whist").when(2, "half").then_refused("call_not_allowed", "3.8.7")
    given(table(), f"{named('8S')} pass").when(2, "half").then_refused("call_not_allowed", "3.8.7")
    given(table(), f"{named('6S')} pass half").when(1, "half").then_refused("call_not_allowed", "3.8.7")


def test_3_8_8_the_return_of_the_whist():
    """The passer who returns the whist stands alone; the half-whister has no more say and keeps his last word (3.8.8)."""
    returned = after(table(), f"{named('6S')} pass half whist")
    assert (returned.phase, returned.to_act, returned.game.calls) == ("lay", 1, (None, "whist", "half"))
    assert returned.game.whister == 1


def test_3_8_8_1_levels_without_a_return():
    """Where a level has half-whist but no return, the half stands at once, or the resting dealer is asked (3.8.8.1)."""
    convention = {"preset": "sochi", "half_whist": [6, 7, 8], "pass_return": [6]}
    assert after(table(convention), f"{named('8S')} pass half").phase == "scored"
    assert after(table(convention, players=4), f"{named('8S')} pass half").to_act == 3


def test_3_8_8_a_convention_without_the_dealers_whist():
    """Where the resting dealer has no whist he is not asked (3.8.8)."""
    assert after(table({"preset": "sochi", "dealer_whist": "off"}, players=4), f"{named('6S')} pass pass").phase == "scored"


def test_3_8_8_the_dealer_looks_once_at_a_defender():
    """The resting dealer sees one defender's hand, and nobody else looks at all (3.8.8)."""
    asked = f"{named('6S')} pass pass"
    given(table(players=4), asked).when(3, "look:0").then_refused("call_not_allowed", "3.8.8")
    given(table(players=4), asked).when(3, Look()).then_refused("call_not_allowed", "3.8.8")
    given(table(players=4), asked).when(3, "look:4").then_refused("malformed", "3.8.8")
    given(table(players=4), f"{asked} look:1").when(3, "look:2").then_refused("call_not_allowed", "3.8.8")
    given(table(players=4), asked).when(1, "look:2").then_refused("not_your_turn", "3.8.8")
    given(table(), f"{named('6S')}").when(1, "look:2").then_refused("call_not_allowed", "3.8.8")
    given(table(), "6S pass pass 7C/8C").when(1, "look:2").then_refused("wrong_phase", "3.8.8")
    given(table(players=4), asked).when(3, "half").then_refused("call_not_allowed", "3.8.8")


def test_3_8_8_the_dealers_whist_over_a_half():
    """A dealer who whists takes the place of a half-whist, plays both hands and leads the defenders' cards (3.8.8, Decision 15)."""
    played = after(table(players=4), f"{named('6S')} pass half pass whist AS")
    assert (played.to_act, played.play.turn, played.laid) == (3, 1, (1, 2))
    assert played.game.calls == (None, "pass", "half", "whist")


def test_fn61_stalingrad():
    """Where six spades must be whisted both defenders can only whist, and play is closed (FN61)."""
    stalingrad = table({"preset": "sochi", "stalingrad": True})
    given(stalingrad, named("6S")).then_offered(1, "whist")
    given(stalingrad, named("6S")).when(1, "pass").then_refused("call_not_allowed", "3.8.9")
    assert after(stalingrad, f"{named('6S')} whist whist").phase == "play"
    given(stalingrad, named("6C")).then_offered(1, "whist pass")


# ---- half-whist of the first hand --------------------------------------------------------------------------------------


def test_3_8_14_the_first_hand_goes_down_to_half():
    """After whist and pass the first hand may go for half; then the passer is asked, then the resting dealer (3.8.14)."""
    words = f"{named('7S')} whist pass"
    given(table("leningrad"), words).then_offered(1, "open closed half")
    assert after(table("leningrad"), f"{words} half pass").phase == "scored"
    assert after(table("leningrad", players=4), f"{words} half").to_act == 2
    assert after(table("leningrad", players=4), f"{words} half pass").to_act == 3
    alone = after(table("leningrad", players=4), f"{words} half pass whist")
    assert (alone.phase, alone.game.whister) == ("play", 3)


def test_3_8_14_when_the_first_hand_may_not():
    """Not where the convention has it not, not above the levels of half-whist, not for a second hand (3.8.14)."""
    given(table(), f"{named('7S')} whist pass").when(1, "half").then_refused("wrong_phase", "3.8.1")
    given(table("leningrad"), f"{named('8S')} whist pass").when(1, "half").then_refused("call_not_allowed", "3.8.7")
    given(table("leningrad"), f"{named('7S')} pass whist").when(2, "half").then_refused("call_not_allowed", "3.8.14")
    given(table("leningrad"), f"{named('7S')} whist pass").when(2, "half").then_refused("not_your_turn", "3.8.1")


# ---- open and closed play ----------------------------------------------------------------------------------------------


def test_3_8_4_two_whisters_play_closed():
    """Two whisters play with closed hands, each his own (3.8.4)."""
    played = after(table(), f"{named('6S')} whist whist AS")
    assert (played.to_act, played.laid) == (1, ())
    assert after(played, "7S").to_act == 2


def test_3_8_5_open_play():
    """In open play both hands are laid before the first lead and the whister plays both (3.8.5)."""
    given(table(), f"{named('6S')} whist pass").when(1, "open").then(PlayChosen(1, open=True), LAID)
    led = after(table(), f"{named('6S')} whist pass open AS")
    assert (led.to_act, led.play.turn) == (1, 1)
    assert (after(led, "7S").to_act, after(led, "7S").play.turn) == (1, 2)


def test_3_8_5_closed_play():
    """In closed play of one whister the passer plays his own cards (3.8.5)."""
    given(table(), f"{named('6S')} pass whist").when(2, "closed").then(PlayChosen(2, open=False))
    led = after(table(), f"{named('6S')} pass whist closed AS")
    assert (led.to_act, after(led, "7S").to_act, led.laid) == (1, 2, ())


def test_3_8_5_only_the_whister_chooses():
    """The passer does not choose how it is played, and a chosen play stays chosen (3.8.5, FN56)."""
    given(table(), f"{named('6S')} whist pass").when(2, "open").then_refused("not_your_turn", "3.8.5")
    given(table(), f"{named('6S')} whist pass open").when(1, "closed").then_refused("wrong_phase", "3.8.5")


def test_3_8_1_words_out_of_turn():
    """The left neighbour of the declarer speaks first, and nobody before the contract is named (3.8.1)."""
    given(table(), named("6S")).when(2, "whist").then_refused("not_your_turn", "3.8.1")
    given(table(), "6S pass pass 7C/8C").when(1, Whist("whist")).then_refused("wrong_phase", "3.8.1")
    given(table(), named("6S")).when(1, "pass").then(WhistCalled(1, "pass"))
