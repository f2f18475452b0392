"""Whole pulkas in the enforced mode: moves of any seat, legal or not, in any order; what must hold holds after each."""

from __future__ import annotations

import random
from functools import reduce
from operator import or_

import msgspec
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shared.rules.convention.options import resolve
from shared.rules.deck.cards import CARDS, DECK
from shared.rules.deck.contract import LADDER
from shared.rules.language import game_events
from shared.rules.language.game_events import DealScored, Event, PulkaClosed, TrickWon
from shared.rules.language.moves import AnyMove, Bid, Concede, Cut, Declare, Discard, Lay, Look, Play, Seed, Whist, WithoutThree
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka, StartDeal
from shared.rules.scoring.settlement import settle
from shared.rules.scoring.sheet import empty_sheet, write
from tests.lot import drawn_events
from tests.rules.coverage import catalogue

RULES = catalogue()
TABLE = "machine"
ANY_EVENT = reduce(
    or_, (one for one in vars(game_events).values() if isinstance(one, type) and issubclass(one, Event) and one is not Event)
)
CONVENTIONS = (
    "sochi", "leningrad", "rostov", "code", "federation",
    {"preset": "leningrad", "step_by_step": True, "silent_take": True, "without_three": [6, 7], "ten": "checked", "refused_talon": 2},
    {"preset": "code", "stalingrad": True, "help": "lowest", "help_surplus": "clamp_at_zero", "all_pass": {"exit_levels": [6, 7]}},
    {"preset": "leningrad", "ends_when": "deals:2"},
)  # fmt: skip
SEATS = st.integers(0, 4)
CARD = st.sampled_from(CARDS)
GIVING_UP = st.sampled_from((Concede(), WithoutThree()))
#: What is said in a phase, whether it may be or not.
SAID: dict[str, st.SearchStrategy[AnyMove]] = {
    "cut": st.builds(Cut, st.integers(0, 32)) | st.builds(Seed, st.text("0123456789abcdef", max_size=66)),
    "auction": st.builds(Bid, st.sampled_from(("pass", "here", "take", *LADDER)), st.sampled_from((False, False, False, True))),
    "discard": st.builds(Discard, st.lists(CARD, min_size=1, max_size=3).map(tuple)) | GIVING_UP,
    "contract": st.builds(Declare, st.sampled_from(LADDER)) | GIVING_UP,
    "whist": st.builds(Whist, st.sampled_from(("whist", "pass", "half"))) | st.builds(Look, st.none() | SEATS),
    "lay": st.builds(Lay, st.booleans()),
    "play": st.builds(Play, CARD, st.none() | SEATS) | st.builds(Play, CARD) | GIVING_UP,
}
MOVES = st.one_of(*SAID.values())


class EnforcedPulka(RuleBasedStateMachine):
    """A table that refuses whatever breaks a rule."""

    @initialize(convention=st.sampled_from(CONVENTIONS), players=st.integers(2, 5), pool=st.integers(1, 6), lot=st.integers(0, 99))
    def sit_down(self, convention, players, pool, lot):
        self.start = Pulka(TABLE)
        self.opening = OpenPulka(resolve(convention, pool), "00" * 32, players, pool, tuple("abcde"[:players]), {}, lot)
        self.pulka, self.log = self.start, []
        self.happen(match.open_pulka(self.start, self.opening))

    def happen(self, events: tuple[Event, ...]) -> None:
        """The events of one decision; where the last one scores a deal, it has been played out or was not played."""
        for event in events:
            if isinstance(event, DealScored):
                self.a_deal_ends(event)
            self.pulka = match.evolve(self.pulka, event)
            self.log.append(event)

    def a_deal_ends(self, scored: DealScored) -> None:
        outcome, tricks = scored.outcome, scored.outcome.get("tricks")
        if tricks and not outcome.get("conceded"):
            dummys = self.pulka.players == 2 and outcome["contract"] == "all_pass"  # its tricks count for nobody (Decision 19)
            assert sum(tricks) <= 10 if dummys else sum(tricks) == 10
            assert sum(isinstance(event, TrickWon) for event in self.log) >= 10
        for entry in scored.entries:
            assert entry["rule"] in RULES.rules, entry
            assert entry["why"]
            assert entry["amount"]

    def over(self) -> bool:
        return self.pulka.status == "over"

    # ---- what may be done ----------------------------------------------------------------------------------------------

    @rule(seed=st.binary(min_size=32, max_size=32).map(bytes.hex))
    def start_a_deal(self, seed):
        """Started a second time, a deal decides to nothing, and so does the pulka."""
        command = StartDeal(self.pulka.number + 1, seed)
        started = match.start_deal(self.pulka, command)
        assert bool(started) == (match.phase(self.pulka) == "between_deals")
        self.happen(started)
        assert match.start_deal(self.pulka, command) == ()
        assert match.open_pulka(self.pulka, self.opening) == ()

    @rule(data=st.data())
    def a_legal_move(self, data):
        """What is offered to the seat on turn is accepted; between two deals the next is started."""
        seat = match.to_act(self.pulka)
        if seat is None:
            self.start_a_deal("5e" * 32)
            return
        move = data.draw(st.sampled_from(match.legal_moves(self.pulka, seat)))
        decided = match.decide(self.pulka, seat, move)
        assert not isinstance(decided, Refused)
        self.happen(decided)

    @rule(seat=st.integers(0, 4), data=st.data())
    def what_the_seat_on_turn_might_say(self, seat, data):
        """A move of the present kind by the seat on turn, good or bad."""
        turn = match.to_act(self.pulka)
        if turn is None:
            self.start_a_deal("c0" * 32)
        self.any_move(seat if turn is None else turn, data.draw(SAID.get(match.phase(self.pulka), MOVES)))

    @rule(seat=st.integers(0, 4), move=MOVES)
    def any_move(self, seat, move):
        """Whoever sends whatever: it is among the seat's legal moves, or it is refused by a rule and nothing has changed."""
        if seat >= self.pulka.players:
            return
        before = msgspec.json.encode(self.pulka)
        decided = match.decide(self.pulka, seat, move)
        assert msgspec.json.encode(self.pulka) == before
        if isinstance(decided, Refused):
            assert decided.rule in RULES.rules
            assert decided.message.endswith((".", ")"))
            assert move not in match.legal_moves(self.pulka, seat)
        else:
            assert decided
            assert isinstance(move, (Seed, Cut)) or seat == match.to_act(self.pulka)
            self.happen(decided)

    @rule(steps=st.integers(1, 60) | st.just(400), draw=st.integers(0, 2**32))
    def play_on(self, steps, draw):
        """Many moves at once, so that deals and pulkas come to their ends."""
        rng = random.Random(draw)
        for _ in range(steps):
            if self.over():
                break
            self.happen(drawn_events(self.pulka, rng)[1])

    @rule()
    def time_runs_out(self):
        """The move of a time-out is a legal one."""
        seat = match.to_act(self.pulka)
        if seat is None:
            return
        move = match.default_move(self.pulka)
        assert move in match.legal_moves(self.pulka, seat)
        self.happen(match.decide(self.pulka, seat, move))

    # ---- what always holds ---------------------------------------------------------------------------------------------

    @precondition(lambda self: self.pulka.deal is not None)
    @invariant()
    def every_card_is_somewhere_and_once(self):
        deal = self.pulka.deal
        places = [deal.held(hand) for hand in range(len(deal.full_hands))]  # of two players, the dummy's too
        places += [deal.game.discarded, deal.play.played if deal.play else 0]
        if deal.phase == "auction" or deal.contract == "all_pass":
            places.append(sum(1 << card for card in deal.setup.talon))
        assert sum(place.bit_count() for place in places) == 32
        assert reduce(int.__or__, places) == DECK
        if deal.play is not None and deal.phase == "play":
            assert sum(deal.play.taken) == deal.play.number - 1 < 10

    @invariant()
    def the_sheet_is_what_was_written_on_it(self):
        entries = [entry for event in self.log if isinstance(event, DealScored) for entry in event.entries]
        assert self.pulka.sheet == write(empty_sheet(self.pulka.players), entries)
        settled = settle(self.pulka.convention, self.pulka.target, self.pulka.sheet)
        assert sum(settled.net) == sum(settled.rounded) == 0

    @invariant()
    def somebody_is_waited_for_until_it_is_over(self):
        waits = match.to_act(self.pulka) is not None
        assert waits != (match.phase(self.pulka) in ("between_deals", "over"))
        assert self.over() == any(isinstance(event, PulkaClosed) for event in self.log)

    def teardown(self):
        """The log, written as JSON and read again, folds to what was played."""
        if hasattr(self, "pulka"):
            stored = msgspec.json.decode(msgspec.json.encode(self.log), type=list[ANY_EVENT])
            assert reduce(match.evolve, stored, self.start) == self.pulka


TestEnforcedPulka = pytest.mark.slow(EnforcedPulka.TestCase)
TestEnforcedPulka.settings = settings(
    max_examples=100, stateful_step_count=40, deadline=None, phases=[Phase.generate]
)  # some 5 s; shrinking whole pulkas takes minutes and shows little
