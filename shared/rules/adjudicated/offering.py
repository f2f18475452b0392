"""What a seat may do at an adjudicated table, as far as it is lawful: nobody is offered to break a rule. Also what a time-out does."""

from __future__ import annotations

from typing import Any

import msgspec

from shared.rules.adjudicated import advice
from shared.rules.adjudicated.court import ADVICE, DEALING, REPLAY, Court
from shared.rules.deal import decider as deals
from shared.rules.deal import exposed
from shared.rules.deal.calling import PASS, legal_calls
from shared.rules.deal.incidents import Question
from shared.rules.deal.position import NOBODY, bit
from shared.rules.deck.cards import CARDS, card_numbers
from shared.rules.language.moves import Bid, Confirm, CourtMove, DealMove, Declare, Remedy

#: Of the answers to a remedy, what silence means: the game goes on as it lies (3.9.14).
SILENCE = ("accept", "pass", "result", "talon", "redeal", "forbid")


def legal_moves(court: Court, seat: int) -> tuple[CourtMove, ...]:
    """Every lawful move of `seat`: to confirm a result, to answer what is asked, else what the game offers. A card that an opponent may
    name freely is not listed: the offer must not tell what they cannot see.
    """
    if court.redealt:
        return ()
    if court.awaits_confirmation:
        return () if court.confirmed & bit(seat) else (Confirm(),)
    if seat != court.to_act:
        return ()
    asked = court.pending
    if isinstance(asked, Question) and asked.about != exposed.EXPOSED:
        named_freely = asked.about in (ADVICE, REPLAY)
        words: list[Any] = [choice for choice in asked.choices if choice != "card" or not named_freely]
        return tuple(Remedy(word) for word in words)
    if court.pretender != NOBODY and court.phase == "auction":  # the last bidder has a say again: nobody saw that they were not outbid
        return tuple(legal_calls(court.setup, court.auction, seat))
    moves: tuple[CourtMove, ...] = deals.legal_moves(court.deal, seat)
    if court.fixed_order and court.phase == "contract":
        return tuple(move for move in moves if not isinstance(move, Declare) or move.contract == court.fixed_order)
    return moves


def offer(court: Court, seat: int) -> list[dict[str, Any]]:
    """`legal_moves` as documents, free fields left out: a discard has no cards, a claim no tricks; a named card no card, but in a record,
    which hides nothing from who replays it.
    """
    if court.awaits_confirmation or court.redealt or seat != court.to_act:
        return [msgspec.to_builtins(move) for move in legal_moves(court, seat)]
    asked = court.pending
    if isinstance(asked, Question) and asked.about in (ADVICE, REPLAY, DEALING):
        return [remedy for choice in asked.choices for remedy in _remedies(court, asked, choice)]
    heard = court.pretender != NOBODY and court.phase == "auction"
    ordered = court.fixed_order and court.phase == "contract"
    if asked is None and not heard and not ordered:
        return deals.offer(court.deal, seat)
    return [msgspec.to_builtins(move) for move in legal_moves(court, seat)]


def _remedies(court: Court, asked: Question, choice: str) -> list[dict[str, Any]]:
    """One answer, with each card that may be named or given where the record tells them."""
    remedy = {"type": "remedy", "choice": choice}
    if choice not in ("card", "give") or not court.terms.recorded:
        return [remedy]
    cards = court.deal.held(asked.of) if choice == "give" else advice.nameable(court, asked.of)
    return [remedy | {"card": CARDS[card]} for card in card_numbers(cards)]


def default_move(court: Court) -> DealMove:
    """The move of a time-out. Raises `ValueError` when the deal waits for nobody."""
    asked = court.pending
    if court.to_act is None:
        raise ValueError(f"nobody is on turn in phase {court.phase}")
    if isinstance(asked, Question) and asked.about != exposed.EXPOSED:
        word: Any = next(word for word in SILENCE if word in asked.choices)
        return Remedy(word)
    if court.fixed_order and court.phase == "contract":
        return Declare(court.fixed_order)
    if court.pretender != NOBODY and court.phase == "auction":
        return Bid(PASS)
    return deals.default_move(court.deal)
