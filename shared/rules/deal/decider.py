"""One deal, from the cards to the score: `open_deal`, then `decide` and `evolve`, each handed to the file that owns the phase.

`auction` → `talon` (discard, contract) → `whist` (words, open or closed play) → `play` → `ending`; misere goes from the discard to the
play, all-pass from the auction; `claiming` and `exposed` interrupt it (`incidents.py`). `decide` answers with everything that a move
causes, in order, or with the refusal; `evolve` never refuses and never looks at the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shared.rules.convention.options import Convention
from shared.rules.deal import (
    auction,
    claiming,
    dark,
    ending,
    exposed,
    interrupting,
    invitation,
    laying,
    looking,
    play,
    proposing,
    taking_back,
    talon,
    whist,
)
from shared.rules.deal.offer import default_move, legal_moves, offer
from shared.rules.deal.position import NOBODY, Auction, Deal, Game, Setup, bit
from shared.rules.deck.cards import CARD_NUMBER, DECK, mask_of
from shared.rules.deck.seats import active, hand_count, hands_at_play, resting
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import (
    ActTakenBack,
    AllPassed,
    AuctionWon,
    BargainStruck,
    BidMade,
    CardExposed,
    CardPlayed,
    CardsDiscarded,
    ClaimAnswered,
    ClaimMade,
    Conceded,
    ContractDeclared,
    DarkTalonTaken,
    DealScored,
    Event,
    GaveUpWithoutThree,
    HandSeen,
    HandsLaid,
    HeldToLine,
    InvitationAnswered,
    MisereInvited,
    PlayChosen,
    ProposalAnswered,
    ProposalMade,
    RemedyAsked,
    RemedyChosen,
    TalonCardOpened,
    TalonTaken,
    TrickWon,
    WhistCalled,
)
from shared.rules.language.moves import (
    Answer,
    Bid,
    Claim,
    Concede,
    DealMove,
    Declare,
    Discard,
    Invite,
    Lay,
    Look,
    Play,
    Propose,
    Remedy,
    Take,
    Whist,
    WithoutThree,
)
from shared.rules.language.refusal import Refused
from shared.rules.scoring.series import Series, plays_dark
from shared.rules.scoring.sheet import Sheet

__all__ = [
    "HAND_SIZE",
    "PREVENTED",
    "TALON_SIZE",
    "WRONG_TALON_SIZES",
    "Deal",
    "decide",
    "default_move",
    "evolve",
    "first_events",
    "legal_moves",
    "offer",
    "open_deal",
]

HAND_SIZE, TALON_SIZE = 10, 2
WRONG_TALON_SIZES = range(TALON_SIZE - 1, TALON_SIZE + 2)  # where a live table dealt a card of it to a hand, or one of a hand to it
#: What every move that only an adjudicated deal knows is answered with in an enforced one.
PREVENTED = Refused("wrong_phase", "4.2.16", "An enforced table prevents irregular acts, so nothing is called or ruled here.")


def open_deal(  # noqa: PLR0913, PLR0917 - all that a pulka brings into a deal
    convention: Convention,
    players: int,
    target: int | None,
    dealer: int,
    sheet: Sheet,
    all_pass_in_row: int,
    hands: tuple[str, ...],
    talon: str,
    bombs: tuple[tuple[int, ...], ...] = (),
    *,
    dark_in_row: int = 0,
    forced: bool = False,
    counted: bool = True,
) -> Deal:
    """The deal before its first call. `hands` by seat, "" for a resting one, of two players the dummy's third; the talon's first card is
    opened first in all-pass.

    `target` is the pool to play to, or None; `sheet`, `all_pass_in_row`, `dark_in_row` (the latest of them, with a dark pass each) and
    `bombs` (multipliers by seat, in order of arrival) are what the pulka brings. `forced`: nobody is asked for a call, `first_events` say
    what happens instead (3.7.9). Raises `ValueError` for cards that are no deal. Not `counted`: the hands of
    a live table that was dealt wrongly, with any number of cards, some perhaps missing, and one card too few or too many in the talon.
    """
    order = hands_at_play(players, dealer)
    if len(hands) != hand_count(players):
        raise ValueError(f"{len(hands)} hands for {players} players")
    masks, under = tuple(_mask(hand) for hand in hands), _mask(talon)
    sizes = [mask.bit_count() for mask in masks]
    wrong_talon = under.bit_count() not in ((TALON_SIZE,) if counted else WRONG_TALON_SIZES)
    if wrong_talon or (counted and sizes != [HAND_SIZE if hand in order else 0 for hand in range(len(hands))]):
        raise ValueError("ten cards to each player, two to the talon (3.2.8)")
    if counted and sum(masks) + under != DECK:
        raise ValueError("every card of the deck is dealt once")
    after = [order[0]] * len(hands)
    for hand, neighbour in zip(order, (*order[1:], order[0]), strict=True):
        after[hand] = neighbour
    rests = resting(players, dealer)
    setup = Setup(
        convention=convention,
        players=players,
        target=target,
        dealer=dealer,
        sheet=sheet,
        series=Series(all_pass_in_row, dark_in_row, bombs),
        order=(order[0], order[1], order[2]),
        resting=dealer if dealer in rests else NOBODY,
        after=tuple(after),
        dealt=masks,
        talon=tuple(CARD_NUMBER[card] for card in talon.split()),
        forced=forced,
    )
    in_the_dark = sum(map(bit, active(players, dealer))) if plays_dark(convention) and not forced else 0
    return Deal(setup, "auction", order[0], masks, Auction(unseen=in_the_dark), Game(), None, None)


def first_events(deal: Deal) -> tuple[DealEvent, ...]:
    """What follows the dealing by itself, before anybody moves."""
    return auction.forced_all_pass(deal)


def _mask(text: str) -> int:
    try:
        return mask_of(text)
    except KeyError as error:
        raise ValueError(f"{error.args[0]!r} is no card") from None


# ---- evolve ------------------------------------------------------------------------------------------------------------


def evolve(deal: Deal, event: Event) -> Deal:
    """The deal after `event`; events that are not a deal's own leave it as it is."""
    own = _EVOLVE.get(type(event))
    return deal if own is None else own(deal, event)


_EVOLVE: dict[type[Event], Callable[[Deal, Any], Deal]] = {
    MisereInvited: invitation.misere_invited,
    InvitationAnswered: invitation.invitation_answered,
    BidMade: auction.bid_made,
    AuctionWon: auction.auction_won,
    AllPassed: play.all_passed,
    TalonTaken: talon.talon_taken,
    DarkTalonTaken: dark.talon_taken_dark,
    CardsDiscarded: talon.cards_discarded,
    GaveUpWithoutThree: talon.gave_up_without_three,
    ContractDeclared: talon.contract_declared,
    HandSeen: looking.hand_seen,
    WhistCalled: whist.whist_called,
    PlayChosen: whist.play_chosen,
    HandsLaid: laying.hands_laid,
    Conceded: ending.conceded,
    ClaimMade: claiming.claim_made,
    ClaimAnswered: claiming.claim_answered,
    HeldToLine: exposed.held_to_line,
    ProposalMade: proposing.proposal_made,
    ProposalAnswered: proposing.proposal_answered,
    BargainStruck: proposing.bargain_struck,
    ActTakenBack: taking_back.act_taken_back,
    CardExposed: exposed.card_exposed,
    RemedyAsked: exposed.remedy_asked,
    RemedyChosen: exposed.remedy_chosen,
    TalonCardOpened: play.talon_card_opened,
    CardPlayed: play.card_played,
    TrickWon: play.trick_won,
    DealScored: ending.deal_scored,
}


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide(deal: Deal, seat: int, move: DealMove) -> tuple[DealEvent, ...] | Refused:
    """What `seat`'s move causes, to the last consequence, or why not: malformed, in the wrong phase, out of turn, or against a rule."""
    decided = _DECIDE[type(move)](deal, seat, move)
    return decided if deal.pending is None and deal.incidents is None else interrupting.decided(deal, move, decided, evolve)


_DECIDE: dict[type[DealMove], Callable[[Deal, int, Any], tuple[DealEvent, ...] | Refused]] = {
    Bid: auction.decide,
    Look: looking.decide_look,
    Invite: invitation.decide_invite,
    Take: dark.decide_take,
    Discard: talon.decide_discard,
    WithoutThree: talon.decide_without_three,
    Declare: talon.decide_contract,
    Whist: whist.decide_whist,
    Lay: whist.decide_lay,
    Play: play.decide_play,
    Concede: ending.decide_concede,
    Claim: claiming.decide_claim,
    Propose: proposing.decide_proposal,
    Answer: interrupting.decide_answer,
    Remedy: exposed.decide_remedy,
}
