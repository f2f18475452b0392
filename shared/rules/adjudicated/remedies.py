"""Answers to remedies that need a choice: who was asked what, and what follows from it. One table by what the question is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from shared.rules.adjudicated import advice, auction_acts, damages, dealing_faults, play_acts
from shared.rules.adjudicated.court import ADVICE, DAMAGES, DEALING, NAMED_SUIT, REPLAY, TALON, TURN, Court
from shared.rules.adjudicated.play_acts import Decided
from shared.rules.deal.incidents import Question
from shared.rules.deck.cards import SUIT_OF, SUITS
from shared.rules.language.game_events import Event, RemedyChosen
from shared.rules.language.irregular_events import LeadRestricted
from shared.rules.language.moves import Remedy
from shared.rules.language.refusal import Refused

#: What a choice brings about: from the court before it, the court after it, the question, who chose, and the move.
Consequence: TypeAlias = Callable[[Court, Court, Question, int, Remedy], Decided]


def decide(court: Court, evolve: Callable[[Court, Event], Court], asked: Question, seat: int, move: Remedy) -> Decided:
    """The choice of the asked seat, and what follows."""
    if seat != court.to_act:
        return Refused("not_your_turn", asked.rule, f"It is seat {court.to_act} that is asked.")
    if move.choice not in asked.choices:
        return Refused("call_not_allowed", asked.rule, f"The choice is between {', '.join(asked.choices)}.")
    if move.suit is not None and move.choice in ("forbid", "order") and move.suit != _suit_in_question(court, asked):
        return Refused("call_not_allowed", asked.rule, "Only the suit that was named, or led out of turn, may be forbidden or ordered.")
    if asked.about in (ADVICE, REPLAY):
        return advice.decide_naming(court, seat, move, asked.of, asked.rule)
    chosen = RemedyChosen(seat, move.choice, move.card, move.suit, move.seat)
    follows = _CONSEQUENCES[asked.about](court, evolve(court, chosen), asked, seat, move)
    return follows if isinstance(follows, Refused) else (chosen, *follows)


def _turn(_: Court, after: Court, __: Question, ___: int, move: Remedy) -> Decided:
    return play_acts.remedy_out_of_turn(after, after.called, move.choice)


def _named_suit(court: Court, _: Court, asked: Question, __: int, move: Remedy) -> Decided:
    return () if move.choice == "accept" else (LeadRestricted(asked.of, move.choice, _suit_in_question(court, asked), asked.rule),)


def _suit_in_question(court: Court, asked: Question) -> str:
    """The suit of the card that was led out of turn; or which stands with who named it, whose partner is about to lead (3.3.18)."""
    if asked.about == NAMED_SUIT:
        return SUITS[next(one for one in court.named if asked.of in auction_acts.other_defenders(court.deal, one.seat)).suit]
    return SUITS[SUIT_OF[court.acts[court.called].card]]


def _talon(_: Court, after: Court, asked: Question, seat: int, move: Remedy) -> Decided:
    return auction_acts.remedy_talon(after, seat, asked.of, move.choice)


def _damages(_: Court, after: Court, asked: Question, seat: int, move: Remedy) -> Decided:
    return damages.chosen(after, seat, asked.of, asked.rule, move.seat) if move.choice == "result" else ()


def _dealing(_: Court, after: Court, asked: Question, __: int, move: Remedy) -> Decided:
    return dealing_faults.remedy_dealing(after, asked.of, move)


_CONSEQUENCES: Final[dict[str, Consequence]] = {
    TURN: _turn,
    NAMED_SUIT: _named_suit,
    TALON: _talon,
    DAMAGES: _damages,
    DEALING: _dealing,
}
