"""What a seat may do now, as moves and as documents, and what is done for it when its time runs out.

An offer depends on the seat's own cards and on what lies open, never on cards that it cannot see.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from shared.rules.deal import auction, claiming, dark, ending, exposed, play, talon, whist
from shared.rules.deal.calling import PASS
from shared.rules.deal.position import Deal
from shared.rules.deck.cards import CARDS, DECK, card_numbers
from shared.rules.deck.contract import MISERE
from shared.rules.language.moves import Answer, Bid, Concede, DealMove, Declare, Discard, Lay, Play, Take, Whist, WithoutThree

Document = dict[str, Any]


def legal_moves(deal: Deal, seat: int) -> tuple[DealMove, ...]:
    """Every move that `decide` accepts from `seat` now, each once, a discard in one order of its cards. Nothing for a seat not on turn.

    But for claims and proposals: those come with figures of a player's own (`offer` names the claim).
    """
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
            yield from play.legal_plays(deal, seat, DECK if deal.incidents is None else exposed.allowed(deal))
        case _:
            yield from _answers(deal)
    if ending.may_concede(deal, seat):
        yield Concede()


def _answers(deal: Deal) -> Iterator[DealMove]:
    """What is asked for while something is pending."""
    if deal.phase == "claim":
        yield from (Answer(accept=True), Answer(accept=False))
    elif deal.phase == "remedy":
        yield from exposed.legal_remedies(deal)


def offer(deal: Deal, seat: int) -> list[Document]:
    """`legal_moves` and the claim as documents, what may be filled in freely left out: a discard has no cards, a claim no tricks
    (deploy/docs/deal-record.md).
    """
    if seat == deal.to_act and deal.phase == "discard":
        others: list[DealMove] = [move for move in _legal(deal, seat) if not isinstance(move, Discard)]
        return [{"type": "discard"}, *map(msgspec.to_builtins, others)]
    documents = [msgspec.to_builtins(move) for move in legal_moves(deal, seat)]
    if seat == deal.to_act and claiming.may_claim(deal, seat):
        documents.append({"type": "claim"})
    return documents


def default_move(deal: Deal) -> DealMove:
    """The move of a time-out, for the seat on turn: pass (with open eyes), the talon to who won in the dark; the two lowest cards away (on
    misere the highest), the bid as contract, closed play, the lowest legal card; where nobody may pass a whist (`stalingrad`). To a claim,
    a proposal or an invitation no: silence is no consent (3.9.22) [conv]; to a question about exposed cards, what leaves the holder most
    (`exposed.default_remedy`). Raises `ValueError` when the deal waits for nobody.
    """
    seat = deal.to_act
    if seat is None:
        raise ValueError(f"nobody is on turn in phase {deal.phase}")
    match deal.phase:
        case "auction":
            return _default_call(deal)
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
        case "claim":
            return Answer(accept=False)
        case "remedy":
            return exposed.default_remedy(deal)
    return min(play.legal_plays(deal, seat, exposed.allowed(deal)), key=_rank_then_suit)


def _default_call(deal: Deal) -> DealMove:
    return Take() if dark.won(deal) else Bid(PASS)


def _upward(mask: int) -> list[int]:
    """Cards from the lowest, equals by suit S C D H."""
    return sorted(card_numbers(mask), key=lambda card: (card % 8, card))


def _rank_then_suit(move: Play) -> tuple[int, int]:
    card = CARDS.index(move.card)
    return card % 8, card
