"""Misere and nines without the talon, where `misere_no_talon` is agreed (FN41, Decision 10)."""

from __future__ import annotations

import pytest

from shared.rules.deal.decider import legal_moves
from shared.rules.deck.cards import hand_text, mask_of
from shared.rules.language.game_events import AuctionWon, BidMade, HandsLaid
from tests.rules.words import FIRST, SECOND, after, as_word, table
from tests.spec import given

CHAIN = {"preset": "sochi", "misere_no_talon": True}
NINES = ("S", "C", "D", "H", "NT")


def chain(**options):
    return table(CHAIN | options)


def bids(deal):
    """The bids that are offered to the seat on turn, passes apart."""
    return [word for word in map(as_word, legal_moves(deal, deal.to_act)) if word != "pass"]


def test_fn41_the_chain():
    """Misere < nine < misere without the talon < nine without the talon < ten (FN41, Decision 10)."""
    tens = [f"10{strain}" for strain in NINES]
    bare = [f"bare:9{strain}" for strain in NINES]
    assert bids(after(chain(), "misere")) == [*(f"9{strain}" for strain in NINES), *tens, "bare:misere", *bare]
    assert bids(after(chain(), "9NT")) == [*tens, "bare:misere", *bare]
    assert bids(after(chain(), "bare:misere")) == [*tens, *bare]
    assert bids(after(chain(), "bare:9D")) == [*tens, "bare:9H", "bare:9NT"]
    assert bids(after(chain(), "10S")) == tens[1:]


@pytest.mark.parametrize(("words", "bid"), [("bare:misere", "9NT"), ("bare:misere", "misere"), ("bare:9S", "9NT"), ("9S", "misere")])
def test_fn41_what_is_lower_in_the_chain(words, bid):
    """A nine with the talon does not outbid a misere without it, nor a misere a nine (FN41)."""
    refused = "3.6.4" if bid == "misere" or "misere" in words else "3.3.8"
    given(chain(), words).when(1, bid).then_refused("bid_too_low", refused)


@pytest.mark.parametrize("bid", ["bare:8S", "bare:10S", "bare:pass", "bare:here"])
def test_fn41_only_misere_and_nines_are_bid_without_the_talon(bid):
    """There is no other bid without the talon (FN41)."""
    given(chain(), "6S").when(1, bid).then_refused("call_not_allowed", "3.6.4")


def test_fn41_the_bidder_of_an_outbid_misere_may_go_on_without_the_talon():
    """Misere, nine, misere without the talon, nine without it: each answers the other; the third hand has its say once (FN41)."""
    assert bids(after(chain(), "misere 9S pass")) == ["bare:misere"]
    answered = after(chain(), "misere 9S pass bare:misere")
    assert answered.to_act == 1
    assert bids(answered) == [*(f"10{strain}" for strain in NINES), *(f"bare:9{strain}" for strain in NINES)]
    given(answered).when(1, "bare:9S").then(BidMade(1, "9S", no_talon=True), AuctionWon(1, "9S", no_talon=True))
    given(chain(), "misere 9S pass").when(0, "10S").then_refused("call_not_allowed", "3.6.4")


def test_fn41_over_a_ten_the_misere_bidder_is_out():
    """What a misere without the talon cannot outbid leaves its bidder no say, and who bid a nine none over another's ten (FN41)."""
    assert after(chain(), "misere 9S 10S").phase == "discard"
    assert after(chain(), "6S misere 9S").to_act == 1


def test_fn41_a_player_who_bid_a_game_before_has_no_misere_without_the_talon():
    """Misere is one's first call without the talon too (3.3.9)."""
    given(chain(), "6S 6C pass").when(0, "bare:misere").then_refused("misere_not_first_bid", "3.3.9")


def test_fn41_a_misere_without_the_talon_is_played_at_once():
    """Nothing is taken, shown or put away; the defenders lay before their lead, or after the declarer's (3.6.6)."""
    second = given(chain(), "pass bare:misere")
    second.when(2, "pass").then(
        BidMade(2, "pass"),
        AuctionWon(1, "misere", no_talon=True),
        HandsLaid((hand_text(mask_of(FIRST)), None, hand_text(second.deal.setup.dealt[2]))),
    )
    first = after(chain(), "bare:misere pass pass")
    assert (first.phase, first.to_act, first.contract, first.laid, first.held(0)) == ("play", 0, "misere", (), mask_of(FIRST))
    assert after(first, "AS").laid == (1, 2)


def test_fn41_a_nine_without_the_talon_is_ordered_at_once():
    """The ten cards that were dealt are played, and any game from the bid up may be ordered; no talon gift is written (3.4.11)."""
    won = after(chain(talon_bonus="on"), "bare:9S pass pass")
    assert (won.phase, won.to_act, won.held(0)) == ("contract", 0, mask_of(FIRST))
    given(won).when(0, "8S").then_refused("contract_below_bid", "3.4.3")
    made = table(CHAIN | {"talon_bonus": "on"}, hands=(FIRST, SECOND.replace("AC", "8C"), THIRD_WITH_7C), talon="AC 8D")
    score = after(made, "bare:9S pass pass 9S pass pass").score
    assert [(entry["column"], entry["amount"]) for entry in score.entries] == [("pool", 8)]
    with_talon = after(made, "9S pass pass AC/8D 9S pass pass").score
    assert [entry["rule"] for entry in with_talon.entries if entry["column"] == "whists"] == ["3.4.11", "3.4.11"]


THIRD_WITH_7C = "TD 9D 7C 7D QH JH TH 9H 8H 7H"


def test_fn41_here_does_not_hold_a_nine_without_the_talon():
    """A nine without the talon is outbid or left (FN41)."""
    given(chain(), "6S bare:9S pass").when(0, "here").then_refused("here_not_allowed", "3.6.4")


def test_step_by_step_without_the_talon():
    """Where bids climb step by step there is one nine without the talon at a time, too (3.3.8)."""
    steps = table(CHAIN | {"step_by_step": True})
    assert bids(after(steps, "bare:misere")) == ["10S", "bare:9S"]
    given(steps, "bare:misere").when(1, "bare:9C").then_refused("bid_not_on_ladder", "3.3.8")
