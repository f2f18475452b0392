"""What a seat may do now, as moves and as documents, and what is done for it when its time runs out.

An offer depends on the seat's own cards and on what lies open, never on cards that it cannot see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from shared.rules import auction, ending, play, talon, whist
from shared.rules.cards import CARDS, card_numbers
from shared.rules.contract import MISERE
from shared.rules.moves import Bid, Concede, DealMove, Declare, Discard, Lay, Play, Whist, WithoutThree
from shared.rules.position import Deal

Document = dict[str, Any]


def legal_moves(deal: Deal, seat: int) -> tuple[DealMove, ...]:
    """Every move that `decide` accepts from `seat` now, each once, a discard in one order of its cards. Nothing for a seat not on turn."""
    if seat != deal.to_act:
        return ()
    return tuple(_legal(deal, seat))


def _legal(deal: Deal, seat: int) -> Iterator[DealMove]:
    match deal.phase:
        case "auction":
            yield from auction.legal(deal, seat)
        case "discard":
            yield from talon.legal_discards(deal)
            if talon.may_give_up(deal):
                yield WithoutThree()
        case "contract":
            yield from talon.legal_contracts(deal)
        case "whist" | "lay":
            yield from whist.legal_words(deal, seat)
        case "play":
            yield from play.legal_plays(deal, seat)
    if ending.may_concede(deal, seat):
        yield Concede()


def offer(deal: Deal, seat: int) -> list[Document]:
    """`legal_moves` as documents, what may be filled in freely left out: a discard has no cards (docs/formats.md: Deal record)."""
    if seat == deal.to_act and deal.phase == "discard":
        others: list[DealMove] = [move for move in _legal(deal, seat) if not isinstance(move, Discard)]
        return [{"type": "discard"}, *map(msgspec.to_builtins, others)]
    return [msgspec.to_builtins(move) for move in legal_moves(deal, seat)]


def default_move(deal: Deal) -> DealMove:
    """The move of a time-out, for the seat on turn: pass, the two lowest cards away (on misere the highest), the bid as contract, closed
    play, the lowest legal card; where nobody may pass a whist (`stalingrad`). Raises `ValueError` when the deal waits for nobody.
    """
    seat = deal.to_act
    if seat is None:
        raise ValueError(f"nobody is on turn in phase {deal.phase}")
    match deal.phase:
        case "auction":
            return Bid(auction.PASS)
        case "discard":
            cards = _upward(deal.full_hands[seat])
            put_away = cards[-2:] if deal.game.contract == MISERE else cards[:2]
            return Discard(tuple(CARDS[card] for card in sorted(put_away)))
        case "contract":
            return Declare(deal.game.bid)
        case "whist":
            words = [move for move in whist.legal_words(deal, seat) if isinstance(move, Whist)]
            return words[-1]
        case "lay":
            return Lay(open=False)
    return min(play.legal_plays(deal, seat), key=_rank_then_suit)


def _upward(mask: int) -> list[int]:
    """Cards from the lowest, equals by suit S C D H."""
    return sorted(card_numbers(mask), key=lambda card: (card % 8, card))


def _rank_then_suit(move: Play) -> tuple[int, int]:
    card = CARDS.index(move.card)
    return card % 8, card
