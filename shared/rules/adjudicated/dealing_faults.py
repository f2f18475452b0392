"""Faults of the dealer (3.2.9-3.2.18). The server deals, so these arise only where a live table is recorded: nobody but those who sat there
can say that they happened, and the record takes their word.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from shared.rules.adjudicated.court import ARBITER, DEALING, Act, Court, Maker
from shared.rules.adjudicated.play_acts import Decided, fine, wrong_count
from shared.rules.deal.decider import HAND_SIZE, TALON_SIZE
from shared.rules.deal.ending import outcome_document
from shared.rules.deal.position import NOBODY, Deal
from shared.rules.deck.cards import CARD_NUMBER
from shared.rules.language.game_events import Event, RemedyAsked
from shared.rules.language.irregular_events import AttentionCalled, CardGiven, DealEnded, DealStopped, Redealt
from shared.rules.language.moves import Remedy
from shared.rules.language.refusal import Refused
from shared.rules.scoring.outcome import DealOutcome, Infraction

#: The cards are dealt anew by the same dealer: a broken order, a card turned up, no cut, two at a time and the like.
REDEAL: Final = ("3.2.9", "3.2.11", "3.2.12", "3.2.13", "3.2.15", "3.2.16", "3.2.23", "FN15")
COUNTED: Final = ("3.2.13", "3.2.16", "3.2.23", "FN15")  # a wrong number of cards in a hand
INTENT_THINKABLE: Final = "3.2.16"  # called by the arbiter
WRONG_DEALER: Final = "3.2.14"
FAULT: Final = "3.2.17"
EXPOSED_AGAIN: Final = "FN13"
FAULTS: Final = (*REDEAL, WRONG_DEALER, FAULT, EXPOSED_AGAIN, "3.2.18", "FN14")
THE_DEALERS: Final = (WRONG_DEALER, FAULT, EXPOSED_AGAIN)  # faults of nobody but the dealer
FINE_FOR_EXPOSING: Final = 2  # points in the mountain, as the footnote proposes (FN13)


def dealt_wrongly(court: Court, maker: Maker, rule: str, named: int | None) -> Decided:
    """What a fault of the dealing costs, pointed out before the first call (3.2.18); a wrong count before its holder's. Where nobody is
    `named`, it is the dealer's fault, or the hand's that was not dealt ten cards. Nobody else is blamed for either.
    """
    deal = court.deal
    if not court.terms.recorded:
        return Refused("call_not_allowed", rule, "The server deals: it cannot deal wrongly.")
    seat = _blamed(deal, rule, named)
    if isinstance(seat, Refused):
        return seat
    if court.stopped:
        return Refused("call_not_allowed", rule, "A remedy has ended the deal: no call reopens it.")
    if deal.phase != "auction" or not _in_time(deal, seat, rule):
        return Refused("call_not_allowed", "3.2.18", "Faults of the dealing are pointed out before the auction.")
    called = AttentionCalled(rule, seat, maker)
    setup = deal.setup
    if maker == ARBITER and rule == INTENT_THINKABLE and short_hand(deal, seat) != NOBODY:
        return called, RemedyAsked(DEALING, (seat,), seat, ("redeal", "give"), "", INTENT_THINKABLE)
    if rule == WRONG_DEALER:
        return called, Redealt(rule, seat, (setup.dealer + 1) % setup.players)
    if rule in (FAULT, EXPOSED_AGAIN) and (court.terms.dealer_warned or court.dealer_warned):
        return called, *_passes_on(court, rule)
    if rule == FAULT:
        return (called,)  # the dealer's first: a remark
    return called, Redealt(rule, seat, setup.dealer)


def _blamed(deal: Deal, rule: str, named: int | None) -> int | Refused:
    """Whose fault it is: of a wrong number of cards that hand's; where every hand is right and the talon is not, the dealer's."""
    dealer = deal.setup.dealer
    if rule in COUNTED:
        miscounted = [one for one in deal.setup.order if _dealt(deal, one) != HAND_SIZE]
        if not miscounted and len(deal.setup.talon) != TALON_SIZE:
            miscounted = [dealer]
        seat = named if named is not None else next(iter(miscounted), NOBODY)
        who = "Every hand" if named is None else f"The hand of seat {seat}"
        return seat if seat in miscounted else Refused("call_not_allowed", rule, f"{who} was dealt ten cards.")
    seat = dealer if named is None else named
    if rule in THE_DEALERS and seat != dealer:
        return Refused("call_not_allowed", rule, f"The cards were dealt by seat {dealer}.")
    return seat


def short_hand(deal: Deal, holder: int) -> int:
    """The one hand that lacks the card that `holder` has too many; `NOBODY` where a third is hurt, or nobody lacks one."""
    counts = {seat: deal.held(seat).bit_count() for seat in deal.setup.order}
    wrong = [seat for seat, count in counts.items() if count != HAND_SIZE and seat != holder]
    fits = len(wrong) == 1 and counts.get(holder) == HAND_SIZE + 1 and counts[wrong[0]] == HAND_SIZE - 1
    return wrong[0] if fits else NOBODY


def remedy_dealing(court: Court, holder: int, move: Remedy) -> tuple[Event, ...] | Refused:
    """The holder of a card too many, where intent is thinkable, has the cards dealt anew, or gives one to who is short (3.2.16)."""
    deal = court.deal
    if move.choice == "redeal":
        return (Redealt(INTENT_THINKABLE, holder, deal.setup.dealer),)
    if move.card is None or not deal.held(holder) >> CARD_NUMBER[move.card] & 1:
        return Refused("card_not_held", INTENT_THINKABLE, "`card` is the one of yours that you give.")
    return (CardGiven(holder, short_hand(deal, holder), move.card, INTENT_THINKABLE),)


def card_given(court: Court, event: CardGiven) -> Court:
    """Both have ten cards now."""
    deal, card = court.deal, 1 << CARD_NUMBER[event.card]
    hands = tuple(
        hand & ~card if seat == event.seat else hand | card if seat == event.to else hand for seat, hand in enumerate(deal.full_hands)
    )
    right = replace(deal, full_hands=tuple(hands), setup=replace(deal.setup, dealt=tuple(hands)))
    acts = tuple(replace(act, standing=False) if act.kind == "dealt" else act for act in court.acts)
    return replace(court, deal=right, acts=acts)


def _dealt(deal: Deal, seat: int) -> int:
    """How many cards `seat` was dealt, whatever it has taken since."""
    return deal.setup.dealt[seat].bit_count()


def _in_time(deal: Deal, holder: int, rule: str) -> bool:
    """Before the first call; a wrong count before its holder's own (3.2.23), or while what one hand has too many another or the talon has
    too few (FN15). Who has called with a card too few that lies nowhere else answers for it: that is a ruling (3.2.16).
    """
    called = deal.auction.called
    if rule not in COUNTED:
        return not called
    counts = {_dealt(deal, seat) for seat in deal.setup.order} | {len(deal.setup.talon) + HAND_SIZE - TALON_SIZE}
    return min(counts) < HAND_SIZE < max(counts) or not called >> holder & 1


def found_in_play(court: Court, maker: Maker, index: int, act: Act) -> Decided:
    """Everybody answers for the number of their own cards (3.2.16): once play has begun it is 3.9.18 (FN69)."""
    if court.deal.play is None:
        return Refused("call_not_allowed", "3.9.18", "Before the play a wrong number of cards is a fault of the dealing.")
    return wrong_count(court, maker, index, act)


def _passes_on(court: Court, rule: str) -> tuple[Event, ...]:
    """The dealer's second fault: the agreed points, and the deal passes on (3.2.17, FN13)."""
    setup = court.deal.setup
    points = FINE_FOR_EXPOSING if rule == EXPOSED_AGAIN else None
    nothing = DealOutcome(dealer=setup.dealer, contract=None)
    return (
        DealStopped(rule, setup.dealer),
        fine(court, Infraction(FAULT, setup.dealer, points=points)),
        DealEnded(outcome_document(nothing, setup.players)),
    )
