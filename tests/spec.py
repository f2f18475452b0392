"""How tests of the rules read: given a deal and what was said and played in it, when a seat moves, then events follow, or a refusal."""

from __future__ import annotations

from shared.rules.deal.decider import Deal, decide, legal_moves
from shared.rules.language.moves import DealMove
from shared.rules.language.refusal import Refused
from tests.rules.words import after, as_move, as_word


class given:
    def __init__(self, deal: Deal, words: str = ""):
        self.deal = after(deal, words)

    def when(self, seat: int, move: str | DealMove):
        """`seat` makes the move, or says the word as the present phase understands it."""
        self.outcome = decide(self.deal, seat, as_move(self.deal, move) if isinstance(move, str) else move)
        return self

    def then(self, *events):
        assert self.outcome == events

    def then_refused(self, code: str, rule: str):
        assert isinstance(self.outcome, Refused), self.outcome
        assert (self.outcome.code, self.outcome.rule) == (code, rule)

    def then_offered(self, seat: int, words: str):
        """`seat` may say exactly these words, and, where it is asked for them, nothing else."""
        assert sorted(as_word(move) for move in legal_moves(self.deal, seat)) == sorted(words.split())
