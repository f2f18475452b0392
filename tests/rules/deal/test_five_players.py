"""Five players: the dealer and the player two to his right rest (3.2.10, Decision 20)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from shared.rules.deck.seats import active, defenders, resting
from shared.rules.language.game_events import AllPassed, BidMade, CardPlayed, HandsLaid, TalonCardOpened, TrickWon
from shared.rules.language.moves import Look
from shared.rules.pulka.decider import Pulka, cutter
from shared.rules.scoring.series import next_dealer
from tests.rules.scoring.scored import net, one, score, written
from tests.rules.words import SECOND, THIRD, after, table
from tests.spec import given

#: The talon's spades beat every other; each hand has some.
HANDS = ("KS TS 9S 7S AC 7C KD 8D AH 7H", "JS KC TC 8C QD TD 7D KH JH 8H", "8S QC JC 9C AD JD 9D QH TH 9H")


def five(convention="sochi", **options):
    """Seat 4 deals: 0 is first, 1 second, 3 third hand; 2 and 4 rest."""
    return table(convention, players=5, **options)


def entries(deal):
    return [(entry["seat"], entry["column"], entry["amount"], entry["rule"]) for entry in deal.score.entries]


@pytest.mark.parametrize("dealer", range(5))
def test_3_2_10_who_plays_and_who_rests(dealer):
    """The dealer's two left neighbours and his right neighbour play; he and the player two to his right rest (3.2.10)."""
    left, second, right, two_right = ((dealer + step) % 5 for step in (1, 2, -1, -2))
    assert active(5, dealer) == (left, second, right)
    assert set(resting(5, dealer)) == {dealer, two_right}
    assert cutter(Pulka("t", players=5, dealer=dealer)) == right
    assert next_dealer(five().setup.convention, 5, dealer, "6S") == left


def test_3_2_10_everybody_rests_twice_in_a_round():
    """Over five deals each seat plays three and rests two, once as dealer (3.2.2, 3.2.10)."""
    played = [seat for dealer in range(5) for seat in active(5, dealer)]
    assert [played.count(seat) for seat in range(5)] == [3] * 5


def test_3_3_2_calls_pass_over_who_rests():
    """The call goes from second to third hand over the resting seat, and back (3.3.2)."""
    assert after(five(), "6S 6C").to_act == 3
    assert after(five(), "6S 6C 6D").to_act == 0
    given(five(), "6S 6C").when(2, "7S").then_refused("not_your_turn", "3.3.2")


def test_3_8_1_the_left_neighbour_at_play_speaks_first():
    """Left of the declarer at play speaks first, whoever rests between (3.8.1)."""
    assert defenders(5, 4, 1) == (3, 0)
    deal = after(five(), "pass 6S pass 7C/8C 6S")
    assert (deal.to_act, after(deal, "whist").to_act) == (3, 0)


def test_3_8_8_nobody_who_rests_whists():
    """With five players the dealer is not asked for a whist, nor may he look: two passes make the contract (3.8.8, Decision 15)."""
    named = "6S pass pass 7C/8C 6S pass"
    given(five(), named).when(4, Look(0)).then_refused("not_your_turn", "3.8.8")
    deal = after(five(), f"{named} pass")
    assert deal.phase == "scored"
    assert entries(deal) == [(0, "pool", 2, "3.5.3")]


def test_3_8_5_open_play_with_five():
    """The only whister lays both hands and plays them (3.8.5)."""
    deal = after(five(), "6S pass pass 7C/8C 6S whist pass open AS 7S")
    assert (deal.laid, deal.to_act, deal.play.turn) == ((1, 3), 1, 3)


def test_3_6_6_misere_lays_the_catchers_hands():
    """Only hands at play are laid (3.6.6)."""
    deal = after(five(), "misere pass pass 7C/8C")
    given(deal).when(0, "9S").then(CardPlayed(0, "9S", 0), HandsLaid((None, SECOND, None, THIRD, None)))


def test_3_7_6_1_talon_tricks_are_the_dealers():
    """The talon leads for the dealer, who takes what its card wins; the other resting player takes nothing (3.7.6.1, Decision 20)."""
    deal = five(hands=HANDS, talon="AS QS")
    given(deal, "pass pass").when(3, "pass").then(BidMade(3, "pass"), AllPassed(), TalonCardOpened("AS"))
    given(deal, "pass pass pass 7S JS").when(3, "8S").then(CardPlayed(3, "8S", 3), TrickWon(4, 1), TalonCardOpened("QS"))
    assert after(deal, "pass pass pass 7S JS 8S").to_act == 0
    assert after(deal, "pass pass pass 7S JS 8S").tricks == (0, 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("convention", "deal", "expected"),
    [
        (
            "sochi",
            {"declarer": 0, "contract": "6S", "calls": [None, "whist", None, "pass", None], "tricks": [4, 4, 0, 2, 0]},
            written([0] * 5, [4, 0, 0, 0, 0], [[1, 0, 16], [2, 0, 4], [3, 0, 4], [4, 0, 4]]),
        ),
        ("sochi", {"contract": "all_pass", "tricks": [3, 3, 0, 3, 1]}, written([0] * 5, [2, 2, 0, 2, 0])),
        ("sochi", {"contract": "all_pass", "tricks": [0, 5, 0, 4, 1]}, written([1, 0, 0, 0, 0], [0, 5, 0, 4, 1])),
        ("rostov", {"contract": "all_pass", "tricks": [0, 5, 0, 5, 0]}, written([1, 0, 0, 0, 1], [0] * 5, [[0, 1, 25], [0, 3, 25]])),
    ],
)
def test_decision_20_the_sheet_of_five(convention, deal, expected):
    """Both resting players write consolation; amnesty and bonus count the dealer's talon tricks alone (Decision 20, 3.7.3, 3.7.6.2)."""
    assert one(convention, 5, {"dealer": 4, **deal}) == expected


def test_4_2_14_settled_with_five():
    """A mountain point is two whists to each of four others (4.2.14)."""
    answer = score("sochi", 5, target=10, start={"pool": [10] * 5, "mountain": [5, 0, 0, 0, 0]})
    assert net(answer) == [Fraction(-40), *[Fraction(10)] * 4]


def test_3_2_2_a_score_file_of_five_goes_on_from_the_dealer():
    """The score file's deals go clockwise by themselves, and who rests with them (3.2.2, 3.2.10)."""
    deals = [
        {"dealer": 4, "contract": "all_pass", "tricks": [4, 3, 0, 3, 0]},
        {"contract": "all_pass", "tricks": [0, 4, 3, 0, 3]},
    ]
    assert score("sochi", 5, *deals)["sheet"]["mountain"] == [4, 3 + 8, 6, 3, 6]
