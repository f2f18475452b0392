"""How tests of the adjudicated mode read: seats say and play things, some of them against the rules, and call attention."""

from __future__ import annotations

from functools import reduce

from shared.rules.adjudicated.court import ARBITER, CourtTerms
from shared.rules.adjudicated.decider import decide, evolve, open_court, pause_over
from shared.rules.adjudicated.offering import default_move
from shared.rules.deck.cards import CARDS
from shared.rules.language.game_events import DealScored
from shared.rules.language.moves import CallAttention, Confirm, Expose, Peek, Remedy, Ruling, Take
from shared.rules.language.refusal import Refused
from tests.rules.words import as_move, table

#: Both defenders whist on six spades.
CLOSED = "6S pass pass 7C/8C 6S whist whist"
OPEN = "6S pass pass 7C/8C 6S whist pass open"


class Seated:
    """`all` are the events so far, `last` those of the last move, or its refusal. Words are those of `tests.rules.words`."""

    def __init__(self, words="", *, deal=None, attention="players", entropy="entropy", **terms):
        self.start = deal or table()
        self.terms = CourtTerms(attention=attention, **terms)
        self.court = open_court(self.start, self.terms, entropy)
        self.all, self.moves, self.last = [], [], ()
        self.say(words)

    @property
    def deal(self):
        return self.court.deal

    @property
    def start_of_play(self):
        """The deal as it stood before the first irregular act."""
        return self.court.acts[0].before

    def say(self, words):
        """Each word by the seat on turn."""
        for word in words.split():
            self.does(self.court.to_act, as_move(self.court.deal, word))
        return self

    def tries(self, maker, move, now=None):
        """The move, which may be refused."""
        if isinstance(move, str):
            move = as_move(self.court.deal, move)
        self.last = decide(self.court, maker, move, now)
        if not isinstance(self.last, Refused):
            self.court = reduce(evolve, self.last, self.court)
            self.all += self.last
            self.moves.append((maker, move))
        return self

    def does(self, maker, move, now=None):
        """The move, which must not be refused. A card of one's own hand, whoever is on turn, is a word too."""
        if isinstance(move, str) and move in CARDS:
            held = [seat for seat in range(len(self.deal.full_hands)) if self.deal.held(seat) >> CARDS.index(move) & 1]
            move = as_move(self.deal, move)
            move = type(move)(move.card, None if held == [maker] else held[0]) if hasattr(move, "card") else move
        self.tries(maker, move, now)
        assert not isinstance(self.last, Refused), (maker, move, self.last)
        return self

    def refused(self, maker, move, code, rule, now=None):
        self.tries(maker, move, now)
        assert isinstance(self.last, Refused), self.last
        assert (self.last.code, self.last.rule) == (code, rule), self.last
        return self

    def calls(self, by, rule, seat=None, card=None):
        return self.does(by, CallAttention(rule, seat, card))

    def cannot_call(self, by, rule, cited, seat=None, code="call_not_allowed"):
        return self.refused(by, CallAttention(rule, seat), code, cited)

    def chooses(self, maker, choice, **fields):
        return self.does(maker, Remedy(choice, **fields))

    def peeks(self, seat, what, trick=None, *, show=False):
        return self.does(seat, Peek(what, trick, show))

    def exposes(self, seat, cards):
        return self.does(seat, Expose(tuple(cards.split())))

    def takes(self, seat):
        return self.does(seat, Take())

    def rules(self, rule, seat, **what):
        return self.does(ARBITER, Ruling(rule, seat, what.pop("reason", "as ruled"), **what))

    def plays_on(self, until=lambda _: False):
        """Everybody on turn plays his lowest legal card, and lets every remedy be, until the deal is over or `until` says so."""
        while self.court.to_act is not None and not until(self.court):
            self.does(self.court.to_act, default_move(self.court))
        return self

    def confirmed(self):
        """All seats agree; the events of the score."""
        for seat in range(self.deal.setup.players):
            self.does(seat, Confirm())
        assert isinstance(self.all[-1], DealScored)
        return self

    def ended(self):
        """The pause is over."""
        self.last = pause_over(self.court)
        self.court = reduce(evolve, self.last, self.court)
        self.all += self.last
        return self

    def names(self, events=None):
        return [type(event).__name__ for event in (self.last if events is None else events)]

    def entries(self):
        """What the deal wrote, as (seat, column, on, amount, rule)."""
        assert self.court.score is not None
        return [(one["seat"], one["column"], one.get("on"), one["amount"], one["rule"]) for one in self.court.score.entries]
