"""An outsider's advice on a lead or a discard (3.9.20), and cards that are named in tricks played again (FN68)."""

from __future__ import annotations

from msgspec.structs import replace

from shared.rules.adjudicated.court import ADVICE, REPLAY, Court, Maker
from shared.rules.adjudicated.play_acts import Decided, opponents
from shared.rules.deal.exposed import not_absurd
from shared.rules.deal.play import legal_cards
from shared.rules.deck.cards import CARD_NUMBER
from shared.rules.deck.seats import clockwise_from
from shared.rules.language.game_events import RemedyAsked, RemedyChosen
from shared.rules.language.irregular_events import AttentionCalled, CardNamed
from shared.rules.language.moves import Remedy
from shared.rules.language.refusal import Refused

ADVISED = "3.9.20"


def advised(court: Court, maker: Maker, seat: int) -> Decided:
    """The nearest opponent names the lead or discard of the seat on turn."""
    deal = court.deal
    if deal.phase != "play" or deal.play is None or deal.to_act != seat or court.ended is not None:
        return Refused("call_not_allowed", ADVISED, f"Seat {seat} has no card to play now.")
    against = opponents(deal, deal.play.turn)
    others = clockwise_from(deal.setup.players, seat)
    nearest = next((one for one in others if one in against), others[0])  # of two, the other is against whoever plays the dummy's card
    called = AttentionCalled(ADVISED, seat, maker)
    return called, RemedyAsked(ADVICE, (nearest,), deal.play.turn, ("card", "pass"), "", ADVISED)


def naming_question(court: Court) -> RemedyAsked | None:
    """In tricks played again after a late revoke the opponents may name any card of the offender's (FN68)."""
    deal, replay = court.deal, court.replay
    if replay is None or deal.play is None or deal.play.turn != replay.seat or not deal.play.left:
        return None
    played = deal.play.played
    bound = deal.incidents.bound if deal.incidents is not None else None
    if played.bit_count() >= replay.cards or court.answered == (played, replay.seat, REPLAY):
        return None
    if bound is not None and (bound.hand, bound.played) == (replay.seat, played) and bound.cards.bit_count() == 1:
        return None  # a card is named already
    if legal_cards(deal.play, deal.held(replay.seat)).bit_count() == 1:
        return None  # nothing to choose
    return RemedyAsked(REPLAY, opponents(deal, replay.seat), replay.seat, ("card", "pass"), "", "3.9.16.2")


def decide_naming(court: Court, seat: int, move: Remedy, hand: int, rule: str) -> Decided:
    """The named card must be held, legal, and not absurd (3.9.14.4); who passes leaves it to the next, at last to the holder."""
    chosen = RemedyChosen(seat, move.choice, move.card)
    if move.choice == "pass":
        return (chosen,)
    deal = court.deal
    if move.card is None or deal.play is None:
        return Refused("malformed", rule, "`card` says which one must be played.")
    card = CARD_NUMBER[move.card]
    if not deal.held(hand) >> card & 1:
        return Refused("card_not_held", "3.9.2", f"{move.card} is not in the hand of seat {hand}.")
    if not nameable(court, hand) >> card & 1:
        return Refused("call_not_allowed", rule, f"{move.card} cannot be named: it may not be played now, or it would be absurd.")
    return chosen, CardNamed(hand, move.card, rule)


def nameable(court: Court, hand: int) -> int:
    """The cards of `hand`, which plays next, that an opponent may name: legal and not absurd."""
    deal = court.deal
    return 0 if deal.play is None else not_absurd(deal, legal_cards(deal.play, deal.held(hand)))


def answered(court: Court, hand: int, matter: str) -> Court:
    """Who was asked about the next card of `hand` is not asked again before it is played."""
    return replace(court, answered=(court.deal.play.played if court.deal.play is not None else 0, hand, matter))
