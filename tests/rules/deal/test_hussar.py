"""Two players, and a dummy as third hand (Decision 19, 3.7.6.4, 4.1.1)."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given as each
from hypothesis import settings
from hypothesis import strategies as st

from shared.rules.deal.decider import decide, evolve, legal_moves, open_deal
from shared.rules.deal.ending import outcome_of
from shared.rules.deck.cards import hand_text
from shared.rules.deck.seats import DUMMY, active, hands_at_play, resting
from shared.rules.language.game_events import (
    AllPassed,
    AuctionWon,
    BidMade,
    CardPlayed,
    CardsDiscarded,
    ContractDeclared,
    DealScored,
    HandsLaid,
    TalonTaken,
    TrickWon,
    WhistCalled,
)
from shared.rules.language.moves import Play
from shared.rules.pulka.decider import Pulka, cutter
from shared.rules.scoring.series import next_dealer
from tests.rules.scoring.scored import net, one, rules_cited, score, written
from tests.rules.words import FIRST, SECOND, TALON, THIRD, after, as_word, shuffled, table
from tests.spec import given

GAME = "6S pass 7C/8C 6S"  # of the first hand, seat 0; seat 1 deals and defends
DUMMY_LAID = HandsLaid((None, None, THIRD))
#: Every hand holds every suit; the talon AS QS.
SPREAD = ("KS TS 9S 7S AC 7C KD 8D AH 7H", "JS KC TC 8C QD TD 7D KH JH 8H", "8S QC JC 9C AD JD 9D QH TH 9H")


def hussar(convention="sochi", **options):
    return table(convention, players=2, **options)


def spread(convention="sochi", **options):
    return hussar(convention, hands=SPREAD, talon="AS QS", **options)


def offered(deal):
    return {as_word(move) for move in legal_moves(deal, deal.to_act)}


def entries(deal):
    return [(entry["seat"], entry["column"], entry["amount"], entry["rule"]) for entry in deal.score.entries]


def played_out(deal, rng):
    """The deal after random cards to its end, and what happened."""
    happened = []
    while deal.to_act is not None:
        for event in decide(deal, deal.to_act, rng.choice([move for move in legal_moves(deal, deal.to_act) if isinstance(move, Play)])):
            deal = evolve(deal, event)
            happened.append(event)
    return deal, happened


# ---- the deal ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dealer", "order"), [(0, (1, 0, DUMMY)), (1, (0, 1, DUMMY))])
def test_decision_19_the_non_dealer_is_first_hand_and_the_dummy_third(dealer, order):
    """First hand is the non-dealer, then the dealer; the dummy sits third, and nobody rests (Decision 19)."""
    assert hands_at_play(2, dealer) == order
    assert active(2, dealer) == order[:2]
    assert resting(2, dealer) == ()


def test_decision_19_three_hands_are_dealt():
    """A deal of two has three hands, the third the dummy's; two or four are none (3.2.8)."""
    assert [hand_text(hand) for hand in hussar().full_hands][2] == THIRD
    for hands in ((FIRST, SECOND), (FIRST, SECOND, THIRD, ""), (FIRST, SECOND, "")):
        with pytest.raises(ValueError, match=r"hands|ten cards"):
            open_deal(hussar().setup.convention, 2, None, 1, hussar().setup.sheet, 0, hands, TALON)


def test_3_2_5_the_other_player_cuts_and_deals_next():
    """Of two the dealer's right neighbour is the other player, and the deal passes to him whatever was played (3.2.2, 3.2.5)."""
    for dealer in (0, 1):
        assert cutter(Pulka("t", players=2, dealer=dealer)) == 1 - dealer
        assert next_dealer(hussar().setup.convention, 2, dealer, "all_pass") == 1 - dealer


# ---- the auction -------------------------------------------------------------------------------------------------------


def test_decision_19_the_dummy_bids_nothing():
    """Two callers: one pass over a bid ends the auction, two passes are an all-pass (3.3.11, 3.3.12)."""
    given(hussar(), "6S").when(1, "pass").then(BidMade(1, "pass"), AuctionWon(0, "6S"), TalonTaken(0, TALON))
    given(hussar(), "pass").when(1, "6H").then(BidMade(1, "6H"), AuctionWon(1, "6H"), TalonTaken(1, TALON))
    given(hussar(), "pass").when(1, "pass").then(BidMade(1, "pass"), AllPassed())


@pytest.mark.parametrize(("convention", "says"), [("sochi", True), ("code", True), ({"preset": "sochi", "here": "off"}, False)])
def test_3_3_8_here_is_the_first_hands_among_two(convention, says):
    """The senior of the two is the first hand: he may hold the dealer's bid, the dealer never his (3.3.8, Decision 9)."""
    assert ("here" in offered(after(hussar(convention), "6S 6C"))) is says
    assert "here" not in offered(after(hussar(convention), "6S"))


def test_3_6_4_of_two_one_outbids_a_misere():
    """Over a misere the other may go on with a nine or ten only; then its bidder has no more say (3.6.4, FN41)."""
    deal = after(hussar(), "misere")
    assert offered(deal) == {"pass", *(f"{level}{strain}" for level in (9, 10) for strain in ("S", "C", "D", "H", "NT"))}
    given(deal).when(1, "9S").then(BidMade(1, "9S"), AuctionWon(1, "9S"), TalonTaken(1, TALON))


def test_3_3_15_of_two_the_dealer_may_take_the_talon_in_silence():
    """Where the talon may be taken in silence, the last hand may when the other has passed [conv]; the first hand never (3.3.15)."""
    quiet = hussar({"preset": "sochi", "silent_take": True})
    assert "take" not in offered(quiet)
    given(quiet, "pass").when(1, "take").then(BidMade(1, "take"), AuctionWon(1, "6S"), TalonTaken(1, TALON))
    given(quiet, "6S").when(1, "take").then_refused("call_not_allowed", "3.3.15")


# ---- the one defender --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("contract", "words"), [("6S", "whist half pass"), ("7H", "whist half pass"), ("8C", "whist pass"), ("10NT", "whist pass")]
)
def test_decision_19_the_other_player_is_the_one_defender(contract, words):
    """He whists or passes, on six and seven goes for half as well, and nobody else is asked (Decision 19)."""
    given(hussar(), f"6S pass 7C/8C {contract}").then_offered(1, words)


def test_3_5_3_his_pass_makes_the_contract():
    """When he passes, the contract is made unplayed (3.5.3)."""
    said, scored = decide(after(hussar(), GAME), 1, legal_moves(after(hussar(), GAME), 1)[-1])
    assert said == WhistCalled(1, "pass")
    assert isinstance(scored, DealScored)
    assert entries(after(hussar(), f"{GAME} pass")) == [(0, "pool", 2, "3.5.3")]


def test_3_8_7_his_half_whist_is_not_returned():
    """Half of the obligation at once, since there is no passer who could take the whist back (3.8.7, Decision 19)."""
    assert entries(after(hussar(), f"{GAME} half")) == [(0, "pool", 2, "3.8.7"), (1, "whists", 4, "3.8.7")]


def test_3_8_9_under_stalingrad_he_must_whist_six_spades():
    """Six spades are neither passed nor gone half on where they must be whisted (3.8.9, FN61)."""
    deal = after(hussar({"preset": "sochi", "stalingrad": True}), GAME)
    assert offered(deal) == {"whist"}
    given(deal).when(1, "half").then_refused("call_not_allowed", "3.8.9")


def test_decision_19_his_whist_lays_the_dummy_before_the_first_lead():
    """The dummy's hand is laid, his own stays hidden, and there is no choice of open or closed play (Decision 19, 3.8.5)."""
    given(hussar(), GAME).when(1, "whist").then(WhistCalled(1, "whist"), DUMMY_LAID)
    deal = after(hussar(), f"{GAME} whist")
    assert (deal.phase, deal.to_act, deal.laid) == ("play", 0, (DUMMY,))


def test_decision_19_he_plays_the_dummys_cards_with_hand_2():
    """On the dummy's turn he moves, naming its hand; his own cards and the declarer's moves do not go (Decision 19)."""
    deal = after(hussar(), f"{GAME} whist AS 7S")
    assert (deal.to_act, deal.play.turn) == (1, DUMMY)
    assert Play("7D", 2) in legal_moves(deal, 1)
    given(deal).when(1, Play("7D", 2)).then(CardPlayed(2, "7D", 1), TrickWon(0, 1))
    given(deal).when(1, Play("8S")).then_refused("not_your_hand", "3.9.2")
    given(deal).when(0, Play("7D", 2)).then_refused("not_your_turn", "3.9.1")
    given(deal).when(1, Play("AC", 2)).then_refused("card_not_held", "3.9.2")
    given(deal).when(1, Play("7D", 3)).then_refused("malformed", "3.9.2")


def test_decision_19_the_dummy_leads_what_it_has_won():
    """A trick that the dummy's card takes is led on from its hand, by the defender, and counts to him (Decision 19)."""
    deal = after(spread(), "6S pass 7C/8D 6S whist AS JS 8S AC 8C 9C KD 7D AD")
    assert deal.play.taken == (2, 0, 1)
    assert deal.tricks == (2, 1)
    assert (deal.to_act, deal.play.turn) == (1, DUMMY)
    given(deal).when(1, "JD").then(CardPlayed(2, "JD", 1))


def test_decision_19_the_dealer_declares_and_the_first_hand_leads():
    """When the dealer declares, the other leads first and plays the dummy, which plays third (3.9.1, Decision 19)."""
    deal = after(hussar(hands=(SECOND, FIRST, THIRD)), "pass 6S 7C/8C 6S whist 7S")
    assert (deal.to_act, deal.play.turn) == (1, 1)
    assert (after(deal, "AS").to_act, after(deal, "AS").play.turn) == (0, DUMMY)


@each(st.integers(0, 2**32 - 1), st.sampled_from(("sochi", "leningrad", "rostov")))
@settings(max_examples=40, deadline=None)  # each a whole deal
def test_decision_19_all_tricks_of_both_count_to_the_defender(seed, convention):
    """Whists and obligation are a single whister's: dummy's tricks are his, ten in all (Decision 19, 3.8.11, 3.8.12)."""
    rng = random.Random(seed)
    start = shuffled(rng, convention, players=2)
    declarer = start.setup.order[0]
    deal = after(start, "6S pass")
    deal, happened = played_out(after(deal, f"{as_word(legal_moves(deal, declarer)[0])} 6S whist"), rng)
    won = sum(isinstance(event, TrickWon) and event.seat == declarer for event in happened)
    outcome = outcome_of(deal.score.outcome)
    defence = 10 - won
    assert outcome.tricks == ((won, defence) if declarer == 0 else (defence, won))
    price = 2 * start.setup.convention.whist_factor
    whists = [entry for entry in deal.score.entries if entry["rule"] == "3.8.1.1"]
    assert sum(entry["amount"] for entry in whists) == defence * price
    short = [entry for entry in deal.score.entries if entry["rule"] in ("3.8.11", "3.8.12")]
    assert bool(short) == (defence < 4)


def test_3_5_4_a_concession_gives_him_all_ten():
    """Without all: the one whister writes ten tricks, and the consolation (3.5.4)."""
    assert entries(after(hussar(), f"{GAME} whist concede")) == [
        (0, "mountain", 12, "3.5.4"),
        (1, "whists", 20, "3.8.1.1"),
        (1, "whists", 12, "3.8.1.2"),
    ]


def test_fn39_a_checked_ten_lays_both_hands():
    """Where tens are checked, defender and dummy lie open before the first lead and nobody is asked [conv] (FN39, Decision 19)."""
    deal = after(hussar({"preset": "sochi", "ten": "checked"}), "6S pass 7C/8C")
    given(deal).when(0, "10S").then(ContractDeclared(0, "10S"), HandsLaid((None, SECOND, THIRD)))
    assert (after(deal, "10S AS 7S").to_act, after(deal, "10S AS 7S").play.turn) == (1, DUMMY)


# ---- misere ------------------------------------------------------------------------------------------------------------


def test_3_6_6_on_misere_the_dummy_is_laid_before_a_defender_leads():
    """The dealer's misere: the dummy is laid with the discard, the first hand leads and plays both (Decision 19, 3.6.6)."""
    given(hussar(), "pass misere").when(1, "7C/8C").then(CardsDiscarded(1, "7C 8C"), DUMMY_LAID)
    deal = after(hussar(), "pass misere 7C/8C TS 7S")
    assert (deal.to_act, deal.play.turn) == (0, DUMMY)


def test_3_6_6_on_misere_the_dummy_is_laid_after_a_declarers_lead():
    """A declarer who leads does so before the dummy is laid; the other plays both hands (Decision 19, 3.6.6)."""
    led = after(hussar(), "misere pass 7C/8C")
    assert led.laid == ()
    given(led).when(0, "9S").then(CardPlayed(0, "9S", 0), DUMMY_LAID)
    deal = after(led, "9S 8S")
    assert (deal.to_act, deal.play.turn) == (1, DUMMY)
    given(after(led, "9S")).when(1, "AC").then_refused("must_follow_suit", "3.6.7")


# ---- all-pass ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convention", ["sochi", "rostov", "leningrad"])
def test_3_7_6_4_the_talon_is_not_opened(convention):
    """Of two the talon stays closed on all-pass in every convention, and the first hand leads what it likes (3.7.6.4, FN48)."""
    deal = after(spread(convention), "pass pass")
    assert (deal.to_act, deal.contract, deal.laid, deal.play.trick) == (0, "all_pass", (), ())
    assert offered(deal) == set(SPREAD[0].split())


def test_decision_19_on_all_pass_the_dummy_is_laid_after_the_first_card():
    """Once, after the very first card (Decision 19)."""
    given(spread(), "pass pass").when(0, "7S").then(CardPlayed(0, "7S", 0), HandsLaid((None, None, hand_text(spread().full_hands[2]))))
    given(spread(), "pass pass 7S").when(1, "JS").then(CardPlayed(1, "JS", 1))


def test_decision_19_whoever_plays_before_the_dummy_plays_its_card():
    """The second hand sits before it and plays its card, whether he or the first hand led (Decision 19)."""
    deal = after(spread(), "pass pass 7S JS")
    assert (deal.to_act, deal.play.turn) == (1, DUMMY)
    led = after(deal, "8S KC")  # seat 1 took the trick and leads
    assert (led.to_act, led.play.turn) == (1, DUMMY)


def test_decision_19_the_first_hand_plays_the_dummys_lead():
    """When the dummy leads, nobody plays before it: the first hand does, then follows with its own card (Decision 19)."""
    deal = after(spread(), "pass pass 7C 8C 9C")
    assert (deal.play.taken, deal.to_act, deal.play.turn) == ((0, 0, 1), 0, DUMMY)
    assert (after(deal, "9H").to_act, after(deal, "9H").play.turn) == (0, 0)
    given(deal).when(1, Play("9H", 2)).then_refused("not_your_turn", "3.9.1")


@each(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)  # each a whole deal
def test_decision_19_the_dummys_tricks_count_for_nobody(seed):
    """Each of the two writes his own tricks less the common minimum; the dummy's are written nowhere (Decision 19, 3.7.3)."""
    rng = random.Random(seed)
    deal, happened = played_out(after(shuffled(rng, players=2), "pass pass"), rng)
    outcome = outcome_of(deal.score.outcome)
    takers = [event.seat for event in happened if isinstance(event, TrickWon)]
    assert outcome.tricks == (takers.count(0), takers.count(1))
    assert len(takers) == 10
    common = min(outcome.tricks)
    mountain = {entry["seat"]: entry["amount"] for entry in deal.score.entries if entry["column"] == "mountain"}
    assert mountain == {seat: taken - common for seat, taken in enumerate(outcome.tricks) if taken > common}
    pool = {entry["seat"]: entry["amount"] for entry in deal.score.entries if entry["column"] == "pool"}
    assert pool == {seat: 1 for seat, taken in enumerate(outcome.tricks) if taken == 0}


@pytest.mark.parametrize(
    ("convention", "tricks", "expected"),
    [
        ("sochi", [3, 1], written([0, 0], [2, 0])),
        ("sochi", [4, 0], written([0, 1], [4, 0])),
        ("sochi", [0, 0], written([1, 1], [0, 0])),
        ("leningrad", [5, 2], written([0, 0], [6, 0])),
        ("federation", [5, 2], written([0, 0], [10, 4])),
        ("rostov", [6, 2], written([0, 0], [0, 0], [[1, 0, 30]])),
        ("rostov", [4, 4], written([0, 0], [0, 0])),
        ("rostov", [7, 0], written([0, 1], [0, 0], [[1, 0, 35]])),
    ],
)
def test_3_7_3_amnesty_and_bonus_among_two(convention, tricks, expected):
    """The common minimum, the lowest and the bonus for no trick are found among the two players alone (3.7.2, 3.7.3)."""
    assert one(convention, 2, {"contract": "all_pass", "tricks": tricks}) == expected


# ---- the sheet ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("convention", "deal", "expected"),
    [
        ("sochi", {"declarer": 0, "contract": "6S", "calls": [None, "whist"], "tricks": [6, 4]}, written([2, 0], [0, 0], [[1, 0, 8]])),
        ("sochi", {"declarer": 0, "contract": "6S", "calls": [None, "whist"], "tricks": [8, 2]}, written([2, 0], [0, 4], [[1, 0, 4]])),
        ("leningrad", {"declarer": 1, "contract": "8H", "calls": ["whist", None], "tricks": [0, 10]}, written([0, 6], [6, 0])),
        ("sochi", {"declarer": 1, "contract": "7H", "calls": ["whist", None], "tricks": [5, 5]}, written([0, 0], [0, 8], [[0, 1, 28]])),
        ("rostov", {"declarer": 1, "contract": "7H", "calls": ["whist", None], "tricks": [4, 6]}, written([0, 0], [0, 4], [[0, 1, 26]])),
        ("sochi", {"declarer": 1, "contract": "misere", "tricks": [8, 2]}, written([0, 0], [0, 20])),
    ],
)
def test_3_8_11_the_defender_answers_as_a_single_whister(convention, deal, expected):
    """All of the defence's tricks are his, and all of its shortage, at the price of the convention (3.8.11, 3.8.12)."""
    assert one(convention, 2, deal) == expected


def test_4_2_14_settled_with_two():
    """A mountain point is ten whists divided by two: five each way (4.2.14, Decision 16)."""
    answer = score("sochi", 2, target=10, start={"pool": [10, 10], "mountain": [8, 0]})
    assert net(answer) == [Fraction(-40), Fraction(40)]


@pytest.mark.parametrize(("divisor", "off"), [("n", 4), ("n-1", 2)])
def test_4_1_1_surplus_comes_off_an_undivided_mountain_at_half(divisor, off):
    """Points that no pool takes come off the mountain; where its points are not divided among the two, at half (4.1.1)."""
    convention = {"preset": "sochi", "settlement_divisor": divisor}
    deal = {"declarer": 0, "contract": "8S", "calls": [None, "pass"]}
    full = {"target": 10, "start": {"pool": [10, 8], "mountain": [20, 0]}}
    assert one(convention, 2, deal, **full) == written([0, 2], [-off, 0], [[0, 1, 20]])
    assert "4.1.1" in rules_cited(convention, 2, deal, **full)
