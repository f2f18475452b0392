"""Calls in the dark (3.3.19, FN29-FN31, Decision 21): who sees what when, what outbids what, what a dark win doubles."""

from __future__ import annotations

from functools import reduce

import pytest

from shared.rules.deal.decider import decide, default_move, evolve, first_events, legal_moves
from shared.rules.deal.ending import outcome_of
from shared.rules.deck.cards import hand_text, mask_of
from shared.rules.language.game_events import (
    AllPassed,
    AuctionWon,
    BidMade,
    CardsDiscarded,
    ContractDeclared,
    DarkTalonTaken,
    HandSeen,
    HandsLaid,
    TalonCardOpened,
    TalonTaken,
    WhistCalled,
)
from shared.rules.language.moves import Answer, Bid, Look, Propose, Take
from tests.rules.words import FIRST, SECOND, TALON, THIRD, after, as_word, table
from tests.spec import given

MISERE = ("7S 8S 9S 7C 8C 9C 7D 8D 9D 7H", "TS JS QS KS AS TC JC QC KC AC", "TD JD QD KD AD TH JH QH KH AH")
LEFT = "8H 9H"
FIRST_SEEN, SECOND_SEEN, THIRD_SEEN = (hand_text(mask_of(hand)) for hand in (FIRST, SECOND, THIRD))


def dark(**options):
    """A table of Classic with `options` of `table`; cards are those of `words`."""
    return table("classic", **options)


def written(deal):
    """What a deal wrote, as `seat column amount`, whists with the seat they are on."""
    return sorted((entry["seat"], entry["column"], entry.get("on"), entry["amount"]) for entry in deal.score.entries)


def played(deal):
    """The deal played on to its end by default moves."""
    while deal.to_act is not None:
        deal = after(deal, as_word(default_move(deal)))
    return deal


# ---- who has seen his cards --------------------------------------------------------------------------------------------


def test_3_3_19_until_he_looks_a_player_calls_dark_or_open():
    """Before a look every call is offered in the dark too, and the look; after it the open ones alone (3.3.19)."""
    offered = [as_word(move) for move in legal_moves(dark(), 0)]
    assert offered[:2] == ["pass", "6S"]
    assert offered[-2:] == ["dark:10NT", "look"]
    assert len(offered) == 2 * 27 + 1
    given(dark()).when(0, "look").then(HandSeen(0, 0, FIRST_SEEN))
    assert [as_word(move) for move in legal_moves(after(dark(), "look"), 0)] == offered[:27]
    given(dark(), "look").when(0, "dark:pass").then_refused("call_not_allowed", "3.3.19")
    given(dark(), "look").when(0, "look").then_refused("call_not_allowed", "3.3.19")


def test_3_3_19_an_open_call_is_a_look():
    """Whoever calls without saying that it is dark has taken up his cards (3.3.19)."""
    given(dark()).when(0, "6S").then(BidMade(0, "6S"), HandSeen(0, 0, FIRST_SEEN))
    given(dark(), "6S 6C").when(2, "dark:6D").then(BidMade(2, "6D", dark=True))
    assert after(dark(), "6S dark:6C pass").auction.unseen == 0b010


def test_3_3_19_a_look_is_ones_own_and_on_ones_turn():
    """In the auction nobody looks at another's cards, nor out of turn; where nothing is dark there is nothing to look at (3.3.19)."""
    given(dark()).when(1, "look").then_refused("not_your_turn", "3.3.19")
    given(dark()).when(0, Look(1)).then_refused("call_not_allowed", "3.3.19")
    given(table()).when(0, "look").then_refused("call_not_allowed", "3.3.19")


def test_3_3_19_after_the_auction_everybody_takes_up_his_cards():
    """Who passed dark sees his cards when the auction is over, won or passed out (3.3.19)."""
    given(dark(), "dark:pass 7S").when(2, "dark:pass").then(
        BidMade(2, "pass", dark=True),
        AuctionWon(1, "7S"),
        HandSeen(0, 0, FIRST_SEEN),
        HandSeen(2, 2, THIRD_SEEN),
        TalonTaken(1, TALON),
    )
    given(dark(), "dark:pass pass").when(2, "dark:pass").then(
        BidMade(2, "pass", dark=True), AllPassed(), HandSeen(0, 0, FIRST_SEEN), HandSeen(2, 2, THIRD_SEEN), TalonCardOpened("7C")
    )


# ---- dark passes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dark_in_row", "lowest"), [(0, "6S"), (1, "7S"), (2, "8S"), (3, "9S"), (4, "10S"), (7, "10S")])
def test_decision_21_after_k_dark_passes_bids_start_at_six_and_k(dark_in_row, lowest):
    """After k all-pass deals in a row with a dark pass the lowest bid is of level 6 + k; the dark bid is bound likewise (Decision 21)."""
    words = [as_word(move) for move in legal_moves(dark(in_row=dark_in_row), 0)]
    games = [word for word in words if word[-4:] not in ("pass", "look") and not word.endswith("misere")]
    assert games[0] == lowest
    assert games[len(games) // 2] == f"dark:{lowest}"


@pytest.mark.parametrize(("dark_in_row", "lowest"), [(0, "7S"), (1, "8S"), (2, "9S"), (3, "10S"), (4, "10S")])
def test_3_3_19_decision_27_a_dark_pass_is_outbid_by_a_seven(dark_in_row, lowest):
    """F3: in the same auction already a dark pass asks for a seven, the k-th in a row for 6 + k, openly and in the dark (Decision 27)."""
    deal = after(dark(in_row=dark_in_row), "dark:pass")
    words = [as_word(move) for move in legal_moves(deal, 1)]
    games = [word for word in words if word[-4:] not in ("pass", "look") and not word.endswith("misere")]
    assert (games[0], games[len(games) // 2]) == (lowest, f"dark:{lowest}")
    for word in ("6S", "dark:6NT"):
        given(deal).when(1, word).then_refused("bid_too_low", "3.3.19")


def test_3_3_19_decision_27_whoever_bids_next_needs_the_seven():
    """The next but one needs it too, however many passed in the dark, and nobody holds a six after a dark pass (Decision 27)."""
    given(dark(), "dark:pass dark:pass").when(2, "6NT").then_refused("bid_too_low", "3.3.19")
    given(dark(), "dark:pass dark:pass").when(2, "7S").then(
        BidMade(2, "7S"), HandSeen(2, 2, THIRD_SEEN), AuctionWon(2, "7S"), HandSeen(0, 0, FIRST_SEEN), HandSeen(1, 1, SECOND_SEEN),
        TalonTaken(2, TALON),
    )  # fmt: skip
    given(dark(), "6S 6C dark:pass").when(0, "here").then_refused("bid_too_low", "3.3.19")
    given(dark(), "pass").when(1, "6S").then(BidMade(1, "6S"), HandSeen(1, 1, SECOND_SEEN))


def test_3_3_19_decision_27_who_takes_the_talon_after_dark_passes_takes_a_seven():
    """Taking the talon in silence is a bid too: the lowest that goes (3.3.15, Decision 27)."""
    rules = {"preset": "classic", "silent_take": True}
    taken = after(table(rules), "dark:pass dark:pass take")
    assert taken.game.bid == "7S"
    assert after(table(rules), "pass pass take").game.bid == "6S"
    assert after(table(rules | {"version": 1}), "dark:pass dark:pass take").game.bid == "6S"


def test_decision_28_in_version_1_a_dark_pass_is_outbid_by_a_six():
    """A pulka of version 1 keeps the lower threshold in the same auction, and the higher one in the next (Decision 28)."""
    first = table({"preset": "classic", "version": 1})
    given(first, "dark:pass").when(1, "6S").then(BidMade(1, "6S"), HandSeen(1, 1, SECOND_SEEN))


def test_3_7_8_an_open_all_pass_of_classic_is_left_by_a_seven():
    """Not below a seven after any all-pass of Classic, however many of them were open (3.7.7, 3.7.8)."""
    deal = dark(in_row=3, dark_in_row=0)
    given(deal).when(0, "6NT").then_refused("bid_too_low", "3.7.8")
    given(deal).when(0, "7S").then(BidMade(0, "7S"), HandSeen(0, 0, FIRST_SEEN))


@pytest.mark.parametrize(("words", "price", "passers"), [("pass dark:pass pass", 2, [1]), ("dark:pass dark:pass pass", 2, [0, 1])])
def test_3_3_19_several_dark_passes_do_not_add_up(words, price, passers):
    """One dark pass or two double the trick once; each dark passer gets a bomb, who passed with open eyes none (3.3.19)."""
    done = played(after(dark(), words))
    outcome = done.score.outcome
    assert (outcome["dark_pass"], outcome["all_pass_in_row"], outcome["dark_in_row"]) == (passers, 1, 1)
    assert outcome["bombs"] == [[2] if seat in passers else [] for seat in range(3)]
    least = min(outcome["tricks"])
    mountains = {seat: amount for seat, column, _, amount in written(done) if column == "mountain"}
    assert mountains == {seat: (taken - least) * price for seat, taken in enumerate(outcome["tricks"]) if taken > least}


def test_3_3_19_the_resting_dealer_gets_a_bomb_too():
    """With four players the dealer shares in the bombs of the second dark all-pass in a row, worth four (3.3.19)."""
    done = played(after(dark(players=4, in_row=1, bombs=((2,), (), (), (2,))), "pass pass dark:pass"))
    assert done.score.outcome["bombs"] == [[2], [], [4], [2, 4]]


def test_3_7_10_the_dark_passer_alone_earns_the_bomb():
    """A dark pass that all-pass follows earns a bomb; one that somebody outbids earns none (3.7.10)."""
    assert played(after(dark(), "dark:pass pass pass")).score.outcome["bombs"] == [[2], [], []]
    assert "bombs" not in played(after(dark(), "dark:pass pass 7S 7C/8C 7S")).score.outcome


def test_fn49_each_forced_round_counts_as_one_more_dark_all_pass():
    """The second forced all-pass costs four times, and its bombs are worth four (FN49)."""
    second = dark(players=4, forced=True, in_row=1, bombs=((2,),) * 4)
    outcome = played(reduce(evolve, first_events(second), second)).score.outcome
    assert (outcome["bombs"], outcome["dark_in_row"]) == ([[2, 4]] * 4, 2)


def test_fn29_a_bomb_doubles_win_and_loss_of_its_owners_game():
    """With a bomb of two a made six is worth four, a failed one costs four an undertrick, and whists on it count double (FN29)."""
    bombed = dark(bombs=((2,), (), ()))
    assert written(after(bombed, "6S pass pass 7C/8C 6S pass half pass")) == [(0, "pool", None, 4), (2, "whists", 0, 8)]
    assert written(after(bombed, "6S pass pass concede")) == [(0, "mountain", None, 24), (1, "whists", 0, 24), (2, "whists", 0, 24)]
    others = dark(bombs=((), (2,), ()))
    assert written(after(others, "6S pass pass 7C/8C 6S pass pass")) == [(0, "pool", None, 2)]


def test_3_3_19_without_a_dark_pass_there_is_no_bomb():
    """All passed with open eyes: the price is the plain one and nobody gets a bomb (3.3.19)."""
    outcome = played(after(dark(), "pass pass pass")).score.outcome
    assert "dark_pass" not in outcome
    assert "bombs" not in outcome
    assert "dark_in_row" not in outcome


# ---- dark wins ---------------------------------------------------------------------------------------------------------


def test_3_3_19_the_winner_in_the_dark_takes_the_talon_unseen():
    """Won without a look, the auction waits for its winner, who takes his cards and the talon for himself (3.3.19)."""
    won = after(dark(), "dark:6S pass pass")
    assert (won.phase, won.to_act, won.declarer) == ("auction", 0, None)
    given(won).then_offered(0, "taken misere look")
    given(won).when(0, "taken").then(AuctionWon(0, "6S", dark=True), HandSeen(0, 0, FIRST_SEEN), DarkTalonTaken(0, TALON))
    taken = after(won, "taken")
    assert (taken.phase, taken.to_act, taken.held(0).bit_count(), taken.game.dark) == ("discard", 0, 12, True)
    assert default_move(won) == Take()


def test_3_3_19_misere_instead_opens_the_talon():
    """Before he takes the talon the winner may say misere: the talon is shown and no factor applies (3.3.19)."""
    won = given(dark(), "dark:6S pass dark:pass")
    won.when(0, "misere").then(
        BidMade(0, "misere"), HandSeen(0, 0, FIRST_SEEN), AuctionWon(0, "misere"), HandSeen(2, 2, THIRD_SEEN), TalonTaken(0, TALON)
    )
    misere = after(won.deal, "misere")
    assert (misere.contract, misere.game.dark) == ("misere", False)


def test_3_3_19_a_dark_nine_is_too_high_for_a_misere():
    """Misere stands below a nine, also for who won with it in the dark (3.6.4)."""
    nine = given(dark(), "dark:9S pass pass")
    nine.then_offered(0, "taken look")
    nine.when(0, "misere").then_refused("bid_too_low", "3.6.4")


@pytest.mark.parametrize("move", [Bid("pass"), Bid("7S"), Bid("6C", dark=True), Bid("misere", dark=True)])
def test_3_3_11_who_has_won_in_the_dark_has_no_other_word(move):
    """The auction is over: no pass, no higher game, no dark misere (3.3.11)."""
    given(dark(), "dark:6S pass pass").when(0, move).then_refused("call_not_allowed", "3.3.11")


def test_3_3_19_nobody_else_takes_the_talon():
    """The talon is taken in the dark by the winner of a dark auction, and by nobody at another time (3.3.19)."""
    given(dark(), "dark:6S pass").when(2, Take()).then_refused("wrong_phase", "3.3.19")
    given(dark(), "dark:6S pass pass").when(1, Take()).then_refused("not_your_turn", "3.3.19")
    given(dark(), "6S pass pass").when(0, Take()).then_refused("wrong_phase", "3.3.19")


def test_3_3_19_who_looked_before_the_end_wins_like_anybody():
    """A look at any time before the talon takes the factor away, and shows the talon to all (3.3.19)."""
    looked = after(dark(), "dark:6S 6C pass look 6D pass")
    assert (looked.game.bid, looked.game.dark, looked.phase) == ("6D", False, "discard")
    given(dark(), "dark:6S pass pass").when(0, "look").then(HandSeen(0, 0, FIRST_SEEN), AuctionWon(0, "6S"), TalonTaken(0, TALON))


def test_3_3_19_a_dark_bid_goes_on_dark_or_open():
    """A dark bid is outbid by any higher one, and its bidder goes on dark, open, or after a look (3.3.19)."""
    outbid = after(dark(), "dark:6S 6C pass")
    words = {as_word(move) for move in legal_moves(outbid, 0)}
    assert {"dark:6D", "6D", "here", "dark:here", "look", "pass", "dark:pass"} <= words
    assert not words & {"misere", "dark:misere"}
    held = after(outbid, "dark:here pass")
    assert (held.phase, held.to_act, held.auction.standing, held.auction.dark) == ("auction", 0, "6C", True)


def test_3_3_19_a_dark_six_is_whisted_by_both_closed():
    """Nobody is asked for a whist on a six that was bought in the dark: both whist, and play closed (3.3.19)."""
    given(dark(), "dark:6S pass pass taken 7C/8C").when(0, "6S").then(
        ContractDeclared(0, "6S"), WhistCalled(1, "whist"), WhistCalled(2, "whist")
    )
    six = after(dark(), "dark:6S pass pass taken 7C/8C 6S")
    assert (six.phase, six.to_act, six.laid, six.game.calls) == ("play", 0, (), (None, "whist", "whist"))
    seven = after(dark(), "dark:6S pass pass taken 7C/8C 7S")
    assert (seven.phase, seven.to_act) == ("whist", 1)
    open_six = after(dark(), "6S pass pass 7C/8C 6S")
    assert open_six.phase == "whist"


def test_4_1_2_a_dark_win_doubles_whatever_is_ordered():
    """Win and loss are doubled whatever the winner in the dark orders, half-whist too (3.3.19, 4.1.2)."""
    made = after(dark(), "dark:6S pass pass taken 7C/8C 7S pass half pass")
    assert written(made) == [(0, "pool", None, 8), (2, "whists", 0, 8)]
    plain = after(dark(), "6S pass pass 7C/8C 7S pass half pass")
    assert written(plain) == [(0, "pool", None, 4), (2, "whists", 0, 4)]
    given_up = after(dark(), "dark:6S pass pass taken concede")
    assert written(given_up) == [(0, "mountain", None, 24), (1, "whists", 0, 24), (2, "whists", 0, 24)]
    assert outcome_of(made.score.outcome).dark


def test_fn30_dark_and_bomb_multiply_and_a_made_game_uses_the_bomb():
    """A bomb of four and a dark bid make eight; the first bomb in order of arrival goes with the made game (FN29-FN31)."""
    deal = dark(bombs=((4, 2), (), ()))
    made = after(deal, "dark:6S pass pass taken 7C/8C 7S pass pass")
    assert sum(amount for _, column, _, amount in written(made) if column == "pool") == 4 * 2 * 4
    assert made.score.outcome["bombs"] == [[2], [], []]
    failed = after(deal, "dark:6S pass pass taken concede")
    assert failed.score.outcome["bombs"] == [[4, 2], [], []]


# ---- dark misere -------------------------------------------------------------------------------------------------------


def test_3_3_19_a_dark_misere_is_outbid_by_a_dark_nine_or_an_open_ten():
    """Over a dark misere go dark nines and tens, and open tens; no open nine and no other misere (3.3.19)."""
    stands = given(dark(), "dark:misere")
    nines = [f"dark:{level}{strain}" for level in (9, 10) for strain in ("S", "C", "D", "H", "NT")]
    tens = [f"10{strain}" for strain in ("S", "C", "D", "H", "NT")]
    stands.then_offered(1, " ".join(["pass", "dark:pass", *nines, *tens, "look"]))
    stands.when(1, "9S").then_refused("bid_too_low", "3.3.19")
    stands.when(1, "misere").then_refused("bid_too_low", "3.6.4")
    open_misere = given(dark(), "misere")
    assert "9S" in {as_word(move) for move in legal_moves(open_misere.deal, 1)}


def test_3_6_5_a_dark_misere_is_caught_dark():
    """Its talon is not shown and no hand is laid, whoever leads (3.6.5)."""
    first = after(table("classic", hands=MISERE, talon=LEFT), "dark:misere pass pass taken")
    assert (first.contract, first.phase, first.game.dark) == ("misere", "discard", True)
    assert after(first, "8H/9H 7S").laid == ()
    third = table("classic", hands=MISERE[1:] + MISERE[:1], talon=LEFT)
    given(third, "pass pass dark:misere taken").when(2, "8H/9H").then(CardsDiscarded(2, "8H 9H"))
    laid = [hand_text(mask_of(hand)) for hand in MISERE[1:]]
    given(third, "pass pass misere").when(2, "8H/9H").then(CardsDiscarded(2, "8H 9H"), HandsLaid((laid[0], laid[1], None)))


def test_decision_21_a_dark_misere_is_doubled():
    """A dark misere wins twenty and costs twenty a trick (Decision 21)."""
    lost = played(after(dark(), "dark:misere pass pass taken"))
    caught = lost.score.outcome["tricks"][0]
    assert written(lost) == [(0, "mountain", None, 20 * caught)]


def test_3_3_19_a_look_makes_a_dark_misere_an_open_one():
    """Who looks before he takes the talon plays an open misere: talon shown, nothing doubled (3.3.19)."""
    given(dark(), "dark:misere pass pass").when(0, "look").then(HandSeen(0, 0, FIRST_SEEN), AuctionWon(0, "misere"), TalonTaken(0, TALON))
    given(dark(), "dark:misere pass pass").then_offered(0, "taken look")


# ---- forced rounds, and what is not dark -------------------------------------------------------------------------------


def test_3_7_9_a_forced_all_pass_counts_as_passed_dark_by_all():
    """It is played without a call, costs double, and gives everybody a bomb, a resting dealer too (3.7.9)."""
    dealt = dark(players=4, forced=True)
    assert first_events(dealt) == (AllPassed(forced=True), TalonCardOpened("7C"))
    assert first_events(dark()) == ()
    forced = reduce(evolve, first_events(dealt), dealt)
    assert (forced.phase, forced.to_act, forced.auction.unseen) == ("play", 0, 0)
    outcome = played(forced).score.outcome
    assert (outcome["dark_pass"], outcome["bombs"], outcome["dark_in_row"]) == ([0, 1, 2], [[2], [2], [2], [2]], 1)


def test_3_3_19_silent_takes_and_bids_without_the_talon_are_never_dark():
    """Who takes the talon in silence, or leaves it, has looked at his cards (3.3.15, FN41)."""
    both = table({"preset": "classic", "silent_take": True, "misere_no_talon": True})
    given(both, "pass pass").when(2, Bid("take", dark=True)).then_refused("call_not_allowed", "3.3.19")
    given(both).when(0, Bid("misere", dark=True, no_talon=True)).then_refused("call_not_allowed", "3.3.19")
    given(both, "pass pass").when(2, "take").then(BidMade(2, "take"), HandSeen(2, 2, THIRD_SEEN), AuctionWon(2, "6S"), TalonTaken(2, TALON))


def test_a_time_out_in_the_dark_is_an_open_pass():
    """Whoever sleeps doubles nothing: the default call is a pass with open eyes."""
    assert default_move(dark()) == Bid("pass")


# ---- taken back --------------------------------------------------------------------------------------------------------------------


def taken_back(deal, seat):
    """The deal after `seat` has proposed to take its act back and all have agreed."""
    deal = reduce(evolve, decide(deal, seat, Propose("takeback")), deal)
    while deal.phase == "claim":
        deal = reduce(evolve, decide(deal, deal.to_act, Answer(accept=True)), deal)
    return deal


def test_5_4_22_who_has_seen_his_cards_stays_with_open_eyes():
    """An open call that is taken back leaves its caller with his cards in hand; a dark one leaves him in the dark (3.3.19, 5.4.22)."""
    back = taken_back(after(dark(), "6S"), 0)
    assert (back.to_act, back.auction.calls, back.auction.unseen) == (0, (), 0b110)
    given(back).when(0, "dark:pass").then_refused("call_not_allowed", "3.3.19")
    still = taken_back(after(dark(), "dark:pass"), 0)
    assert (still.auction.unseen, still.auction.dark_passed) == (0b111, 0)


def test_5_4_22_a_misere_that_is_taken_back_is_shared_no_more():
    """Who takes an accepted misere back may bid another, but of his own; the dealer has seen his hand (3.6.9, 5.4.22)."""
    shared = after(table({"preset": "sochi", "shared_misere": True}, players=4), "invite yes")
    back = taken_back(shared, 0)
    assert (back.to_act, back.auction.calls) == (0, ())
    assert "invite" not in [as_word(move) for move in legal_moves(back, 0)]
    assert not after(back, "misere pass pass").shared
