"""A misere shared with the resting dealer (3.6.9, FN43)."""

from __future__ import annotations

import pytest

from shared.rules.deal.decider import default_move, legal_moves
from shared.rules.deck.cards import hand_text, mask_of
from shared.rules.language.game_events import AuctionWon, BidMade, HandSeen, InvitationAnswered, MisereInvited, TalonTaken
from shared.rules.language.moves import Answer, Bid, Invite
from shared.rules.scoring.settlement import settle
from shared.rules.scoring.sheet import write
from tests.rules.words import FIRST, SECOND, TALON, THIRD, after, as_word, table
from tests.spec import given

SHARED = {"preset": "sochi", "shared_misere": True, "refused_talon": 2}
CLEAN = ("7S 8S 9S 7C 8C 9C 7D 8D 9D 7H", "TS JS QS KS AS TC JC QC KC AC", "TD JD QD KD AD TH JH QH KH AH")
FIRST_SEEN = hand_text(mask_of(FIRST))


def shared(**options):
    return table(SHARED, players=4, **options)


def test_3_6_9_the_dealer_sees_the_hand_and_is_asked():
    """Who invites hands his cards to the resting dealer, who alone can answer, and nobody calls before (3.6.9)."""
    given(shared()).when(0, "invite").then(MisereInvited(0), HandSeen(3, 0, FIRST_SEEN))
    asked = given(shared(), "invite")
    asked.then_offered(3, "yes no")
    asked.when(0, Bid("pass")).then_refused("claim_pending", "3.9.14.4")
    asked.when(1, Answer(accept=True)).then_refused("not_your_turn", "3.9.14.4")
    assert asked.deal.phase == "claim"
    assert default_move(asked.deal) == Answer(accept=False)


def test_3_6_9_accepted_the_misere_is_bid_at_once():
    """The bid follows the answer, and the next hand calls (3.6.9)."""
    given(shared(), "invite").when(3, "yes").then(InvitationAnswered(3, accept=True), BidMade(0, "misere"))
    assert after(shared(), "invite yes").to_act == 1
    given(shared(), "pass pass invite").when(3, "yes").then(
        InvitationAnswered(3, accept=True), BidMade(2, "misere"), AuctionWon(2, "misere"), TalonTaken(2, TALON)
    )


def test_3_6_9_refused_the_inviter_calls_on_his_own():
    """After a no the inviter is on turn with all his calls, but invites no more; nor does anybody else (3.6.9)."""
    refused = after(shared(), "invite no")
    words = [as_word(move) for move in legal_moves(refused, 0)]
    assert refused.to_act == 0
    assert words == [as_word(move) for move in legal_moves(table(players=4), 0)]
    given(refused, "pass").when(1, Invite()).then_refused("call_not_allowed", "3.6.9")
    assert not after(refused, "misere pass pass").shared


@pytest.mark.parametrize(
    ("deal", "seat", "refused"),
    [
        (table(SHARED), 0, ("call_not_allowed", "3.6.9")),
        (table(players=4), 0, ("call_not_allowed", "3.6.9")),
        (after(shared(), "6S 6C pass"), 0, ("misere_not_first_bid", "3.3.9")),
        (after(shared(), "9S"), 1, ("bid_too_low", "3.6.4")),
        (shared(), 1, ("not_your_turn", "3.6.9")),
        (after(shared(), "6S pass pass"), 0, ("wrong_phase", "3.6.9")),
    ],
)
def test_3_6_9_who_may_not_invite(deal, seat, refused):
    """Three players, a convention without it, a call before, a bid too high, another's turn, an auction that is over (3.6.9)."""
    given(deal).when(seat, Invite()).then_refused(*refused)


def test_3_6_9_nothing_to_answer():
    """An answer where nothing is asked is refused (3.6.9)."""
    given(shared()).when(0, Answer(accept=True)).then_refused("wrong_phase", "3.9.14.4")


def test_fn43_win_and_loss_are_halved():
    """Made, both write five; caught, both write half of ten a trick; without a refused talon's points (FN43)."""
    deal = after(shared(hands=CLEAN, talon="8H 9H"), "invite yes pass pass 8H/9H")
    while deal.to_act is not None:
        deal = after(deal, as_word(default_move(deal)))
    assert deal.score.outcome["shared"] is True
    assert [(entry["seat"], entry["column"], entry["amount"]) for entry in deal.score.entries] == [(0, "pool", 5), (3, "pool", 5)]
    settled = settle(deal.setup.convention, None, write(deal.setup.sheet, deal.score.entries))
    assert settled.net == (25, -25, -25, 25)
    caught = after(shared(), "invite yes pass pass 7C/8C")
    while caught.to_act is not None:
        caught = after(caught, as_word(default_move(caught)))
    taken = caught.score.outcome["tricks"][0]
    assert taken
    assert [(entry["seat"], entry["column"], entry["amount"]) for entry in caught.score.entries] == [
        (0, "mountain", 5 * taken),
        (3, "mountain", 5 * taken),
    ]


def test_3_6_9_an_outbid_misere_is_shared_no_more():
    """Over a nine the invitation is forgotten (3.6.9, 3.6.4)."""
    nine = after(shared(), "invite yes 9S pass")
    assert (nine.declarer, nine.shared) == (1, False)


def test_3_8_8_a_dealer_who_saw_the_declarers_hand_does_not_whist():
    """Who was shown the declarer's hand is not asked for a whist; who was shown a defender's has had his look (3.8.8)."""
    made = after(shared(), "invite no 6S pass pass 7C/8C 6S pass pass")
    assert made.phase == "scored"
    asked = after(shared(hands=(SECOND, FIRST, THIRD)), "invite no pass 6S pass 7C/8C 6S pass pass")
    assert (asked.phase, asked.to_act) == ("whist", 3)
    given(asked).then_offered(3, "whist pass")


def test_3_6_9_in_the_dark_an_invitation_is_a_look():
    """Where calls are made in the dark, who invites has taken up his cards (3.3.19)."""
    classic = table({"preset": "classic", "shared_misere": True}, players=4)
    given(classic).when(0, "invite").then(MisereInvited(0), HandSeen(0, 0, FIRST_SEEN), HandSeen(3, 0, FIRST_SEEN))
