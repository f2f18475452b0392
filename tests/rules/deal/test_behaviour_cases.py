"""The behaviour cases, each test named by its id; default options unless a case says. Seats 0, 1, 2 are first, second, third hand."""

from __future__ import annotations

import pytest

from shared.rules.convention.options import resolve
from shared.rules.deal.decider import decide, evolve, legal_moves
from shared.rules.deal.ending import scored
from shared.rules.deal.play import begin
from shared.rules.deal.position import Game
from shared.rules.deck.cards import hand_text, mask_of
from shared.rules.deck.contract import LADDER
from shared.rules.deck.trick import TRUMPS, playable
from shared.rules.language.game_events import (
    AllPassed,
    AuctionWon,
    BidMade,
    CardPlayed,
    ContractDeclared,
    HandSeen,
    HandsLaid,
    TalonCardOpened,
    TalonTaken,
    TrickWon,
    WhistCalled,
)
from shared.rules.language.moves import Bid, Declare
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.score import score_deal
from shared.rules.scoring.sheet import empty_sheet, written_by
from tests.rules.words import SECOND, TALON, THIRD, after, as_word, table
from tests.spec import given


def offered(deal):
    return [as_word(move) for move in legal_moves(deal, deal.to_act)]


# ---- the auction -------------------------------------------------------------------------------------------------------


def test_a_01():
    """The first hand may make 26 bids, from 6S to 10NT with misere between the eights and the nines (3.3.7, 3.6.4)."""
    assert offered(table()) == ["pass", *LADDER]
    assert len(LADDER) == 26
    assert LADDER[:6] == ("6S", "6C", "6D", "6H", "6NT", "7S")
    assert LADDER[14:17] == ("8NT", "misere", "9S")


def test_a_02():
    """A junior hand must bid higher than the senior's bid and may not hold it (3.3.8)."""
    given(table(), "6S").when(1, "6S").then_refused("bid_too_low", "3.3.8")
    given(table(), "6S").when(1, "here").then_refused("here_not_allowed", "3.3.8")


def test_a_03():
    """The one player who has not passed declares from his last bid (3.3.11)."""
    given(table(), "6S pass 7H").when(0, "pass").then(BidMade(0, "pass"), AuctionWon(2, "7H"), TalonTaken(2, TALON))


def test_a_04():
    """Three passes are all-pass (3.3.12)."""
    given(table(), "pass pass").when(2, "pass").then(BidMade(2, "pass"), AllPassed(), TalonCardOpened("7C"))


@pytest.mark.parametrize(("words", "senior", "junior"), [("pass 6D 6H", 1, 2), ("6D pass 6H", 0, 2), ("6D 6H pass", 0, 1)])
def test_a_05(words, senior, junior):
    """With two left the senior of them may hold the junior's bid, who must then raise or pass (3.3.8, Decision 9)."""
    given(table(), words).when(senior, "here").then(BidMade(senior, "here"))
    held = f"{words} here"
    given(table(), held).when(junior, "6H").then_refused("bid_too_low", "3.3.8")
    given(table(), held).when(junior, "6NT").then(BidMade(junior, "6NT"))
    given(table(), held).when(junior, "pass").then(BidMade(junior, "pass"), AuctionWon(senior, "6H"), TalonTaken(senior, TALON))


@pytest.mark.parametrize(
    ("words", "seat"),
    [
        ("6S 6C 6D", 0),  # three are left
        ("6S pass 6C here", 2),  # the junior's answer to "here"
        ("pass", 1),  # nothing to hold
        ("pass 6S", 2),  # the junior
        ("misere pass", 2),  # a misere
        ("6S misere pass", 0),  # a misere, and the senior asks
    ],
)
def test_a_06(words, seat):
    """Nobody says "here" with three in the auction, as the junior, or on a misere (3.3.8)."""
    given(table(), words).when(seat, "here").then_refused("here_not_allowed", "3.3.8")


def test_a_06_nobody_is_asked_over_his_own_bid():
    """Who holds the last bid alone has won and can say nothing more (3.3.11)."""
    given(table(), "6S pass pass").when(0, Bid("here")).then_refused("wrong_phase", "3.3.11")


def test_a_07():
    """Misere is only a player's first call (3.3.9)."""
    given(table(), "7C pass 7D").when(0, "misere").then_refused("misere_not_first_bid", "3.3.9")


def test_a_08():
    """Only a nine or a ten outbids a misere (3.6.4, FN41)."""
    given(table(), "misere").when(1, "8S").then_refused("bid_too_low", "3.6.4")
    given(table(), "misere").when(1, "9S").then(BidMade(1, "9S"))
    given(table(), "misere").when(1, "10S").then(BidMade(1, "10S"))


def test_a_09():
    """An outbid misere bidder has no more say (FN41)."""
    given(table(), "misere 9S").when(2, "pass").then(BidMade(2, "pass"), AuctionWon(1, "9S"), TalonTaken(1, TALON))


def test_a_10():
    """A jump is legal, unless the convention climbs step by step (3.3.8, FN21)."""
    given(table(), "6S").when(1, "9H").then(BidMade(1, "9H"))
    given(table({"preset": "sochi", "step_by_step": True}), "6S").when(1, "9H").then_refused("bid_not_on_ladder", "3.3.8")


def test_a_11():
    """A bid out of turn is refused (3.3.2)."""
    given(table(), "6S").when(2, "6C").then_refused("not_your_turn", "3.3.2")


def test_a_12():
    """Who has passed does not bid again (3.3.10)."""
    given(table(), "pass 6S 6C").when(0, "6D").then_refused("not_your_turn", "3.3.10")


@pytest.mark.parametrize("contract", ["7S", "7C", "6S", "6C", "6D", "6H", "6NT"])
def test_a_13(contract):
    """Won with 7D, nothing below it can be ordered (3.4.3)."""
    given(table(), "7D pass pass 7C/8C").when(0, contract).then_refused("contract_below_bid", "3.4.3")


@pytest.mark.parametrize("contract", ["7D", "7H", "7NT", "8S", "8NT", "9C", "10S", "10NT"])
def test_a_13_upward(contract):
    """Won with 7D, it and everything above but misere can be ordered (3.4.3)."""
    given(table(), "7D pass pass 7C/8C").when(0, contract).then(ContractDeclared(0, contract))


def test_a_14():
    """A low bid is no fault: 8S after 6C has the price of an eight (3.4.13)."""
    deal = after(table(), "6C pass pass 7C/8C 8S pass pass")
    assert [(entry["column"], entry["amount"]) for entry in deal.score.entries] == [("pool", 6)]


def test_a_15():
    """Misere cannot be ordered after a game was bid (3.3.9, 3.4.4)."""
    given(table(), "6S pass pass 7C/8C").when(0, "misere").then_refused("misere_not_first_bid", "3.3.9")


def test_a_16():
    """Nothing can be ordered with twelve cards in hand (3.4.2, 3.4.3)."""
    given(table(), "6S pass pass").when(0, Declare("6S")).then_refused("wrong_phase", "3.4.3")


def test_a_17():
    """The winner of the auction must play (3.3.11), unless the convention lets him give up without three (FN40)."""
    given(table(), "6S pass pass").when(0, "without_three").then_refused("call_not_allowed", "3.5.4")
    agreed = after(table({"preset": "sochi", "without_three": [6]}), "6S pass pass without_three")
    assert [(entry["seat"], entry["column"], entry["amount"]) for entry in agreed.score.entries] == [(0, "mountain", 6)]


# ---- tricks ------------------------------------------------------------------------------------------------------------


def playable_to(strain, led, hand):
    """The cards of `hand` that may be played to a trick led with `led`."""
    suit = mask_of(" ".join(rank + led[1] for rank in "789TJQKA"))
    return set(hand_text(playable(mask_of(hand), suit, TRUMPS[strain])).split())


def test_t_01():
    """The suit led is followed, and need not be beaten (3.9.3)."""
    assert playable_to("H", "KS", "AS 9S 7H") == {"AS", "9S"}


def test_t_02():
    """A hand without the suit led must trump (3.9.3)."""
    assert playable_to("H", "KS", "8H 9H AD") == {"8H", "9H"}


def test_t_03():
    """A hand with neither plays anything (3.9.3)."""
    assert playable_to("H", "KS", "8C 9C AD") == {"8C", "9C", "AD"}


@pytest.mark.parametrize("contract", ["6NT", "misere", "all_pass"])
def test_t_04(contract):
    """Without trumps a hand without the suit led plays anything (3.6.7, 3.7.5)."""
    course = begin(with_contract(contract)).play.course
    assert playable(mask_of("8H 9H AD"), mask_of("KS AS"), course.trumps) == mask_of("8H 9H AD")


def with_contract(contract):
    deal = table()
    return type(deal)(deal.setup, "play", None, deal.full_hands, deal.auction, Game(0, contract, contract), None, None)


def winner_of(contract, cards):
    """The card that takes a trick of these cards, played in this order."""
    deal = begin(with_contract(contract))
    for seat, card in enumerate(cards.split()):
        deal = evolve(deal, CardPlayed(seat, card, seat))
    return cards.split()[deal.play.winner]


@pytest.mark.parametrize(("cards", "winner"), [("KS AS 7D", "7D"), ("KS 7D 9D", "9D")])
def test_t_05(cards, winner):
    """The highest trump takes the trick (3.9.4)."""
    assert winner_of("6D", cards) == winner


@pytest.mark.parametrize(("cards", "winner"), [("9H AS KH", "KH"), ("7H 8H 8C", "8H")])
def test_t_06(cards, winner):
    """Without trumps the highest card of the suit led takes the trick (3.9.4)."""
    assert winner_of("6NT", cards) == winner


#: Three hands that hold every suit, and the talon AS QS: nobody's card is higher.
EVEN = ("KS TS 9S 7S AC 7C KD 8D AH 7H", "JS KC TC 8C QD TD 7D KH JH 8H", "8S QC JC 9C AD JD 9D QH TH 9H")


def test_t_07():
    """With three players the talon's cards only name the suit, and the first hand plays first to tricks 1, 2 and 3 (3.7.6.3)."""
    deal = table(hands=EVEN, talon="AS QS")
    given(deal, "pass pass").when(2, "pass").then(BidMade(2, "pass"), AllPassed(), TalonCardOpened("AS"))
    second = "pass pass pass  9S JS"
    given(deal, second).when(2, "8S").then(CardPlayed(2, "8S", 2), TrickWon(1, 1), TalonCardOpened("QS"))
    given(deal, f"{second} 8S").then_offered(0, "KS TS 7S")
    third = after(deal, f"{second} 8S  7S KC QC")
    assert third.tricks == (1, 1, 0)
    assert third.to_act == 0
    assert set(offered(third)) == {"KS", "TS", "AC", "7C", "KD", "8D", "AH", "7H"}
    fourth = after(third, "7C TC 9C")
    assert fourth.tricks == (1, 2, 0)
    assert fourth.to_act == 1, "from the fourth trick on the winner leads"


def test_t_08():
    """With four players a talon card can take its trick for the dealer; the first hand plays first to tricks 1, 2 and 3 (3.7.6.1)."""
    deal = table(players=4, hands=EVEN, talon="AS QS")
    given(deal, "pass pass pass 9S JS").when(2, "8S").then(CardPlayed(2, "8S", 2), TrickWon(3, 1), TalonCardOpened("QS"))
    given(deal, "pass pass pass 9S JS 8S  KS KC").when(2, "QC").then(CardPlayed(2, "QC", 2), TrickWon(0, 2))
    third = after(deal, "pass pass pass 9S JS 8S  7S KC QC")
    assert third.tricks == (0, 0, 0, 2)
    assert third.to_act == 0


# ---- all-pass in whists, and the whist ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tricks", "pool", "whists"),
    [((0, 4, 6), [1, 0, 0], [[0, 1, 20], [0, 2, 30]]), ((0, 0, 10), [1, 1, 0], [[0, 2, 25], [1, 2, 25]])],
)
def test_x_01(tricks, pool, whists):
    """Rostov's all-pass is written in whists by the lowest, who also has a point for no trick (3.7.2.2)."""
    entries = score_deal(resolve("rostov"), 3, None, empty_sheet(3), DealOutcome(dealer=2, contract="all_pass", tricks=tricks))
    assert written_by(3, entries).document() == {"pool": pool, "mountain": [0, 0, 0], "whists": whists}


def test_w_01():
    """A returner writes all whists, the half-whister his consolation alone (3.8.8.2, Decision 14)."""
    played = after(table("leningrad"), "6D pass pass 7C/8C 6D  pass half whist closed")
    entries = scored(played, taken=(5, 3, 2)).entries
    written = {(entry["seat"], entry["column"]): 0 for entry in entries}
    for entry in entries:
        written[entry["seat"], entry["column"]] += entry["amount"]
    assert written == {(0, "mountain"): 4, (1, "whists"): 24, (2, "whists"): 4}


def test_w_02():
    """The first hand may go down to half after whist and pass; when the passer returns, he alone whists (3.8.14, 3.8.8.2)."""
    deal, words = table("leningrad"), "7H pass pass 7C/8C 7H  whist pass"
    given(deal, words).then_offered(1, "half open closed")
    given(deal, words).when(1, "half").then(WhistCalled(1, "half"))
    given(deal, f"{words} half").then_offered(2, "whist pass")
    given(deal, f"{words} half").when(2, "whist").then(WhistCalled(2, "whist"))
    returned = after(deal, f"{words} half whist")
    assert (returned.phase, returned.to_act, returned.game.calls) == ("lay", 2, (None, "half", "whist"))
    given(deal, f"{words} half whist").when(1, "pass").then_refused("wrong_phase", "3.8.1")


def test_w_03():
    """A resting dealer who whists lays both hands, plays both and writes all whists (3.8.8, Decision 15)."""
    deal, words = table(players=4), "8S pass pass 7C/8C 8S  pass pass"
    given(deal, words).then_offered(3, "whist pass look:1 look:2")
    given(deal, words).when(3, "look:1").then(HandSeen(3, 1, hand_text(mask_of(SECOND))))
    laid = HandsLaid((None, hand_text(mask_of(SECOND)), hand_text(mask_of(THIRD)), None))
    given(deal, f"{words} look:1").when(3, "whist").then(WhistCalled(3, "whist"), laid)
    given(deal, f"{words} look:1 whist AS").when(1, "7S").then_refused("not_your_turn", "3.9.1")
    led = after(deal, f"{words} look:1 whist AS")
    assert decide(led, 3, legal_moves(led, 3)[0]) == (CardPlayed(1, "7S", 3),)
    entries = scored(after(deal, f"{words} whist"), taken=(8, 1, 1, 0)).entries
    assert [(entry["seat"], entry["amount"]) for entry in entries if entry["column"] == "whists"] == [(3, 12)]
