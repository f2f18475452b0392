"""4.2.14, 4.2.16, 5.4.18: what may be done to a result once it is settled, and that no whist comes out of nothing by it."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from shared.rules.convention.options import PRESETS, resolve
from shared.rules.language import amount
from shared.rules.language.correction_events import AnnulmentOrdered, PulkaAnnulled, ResultCorrected
from shared.rules.language.game_events import DealRevealed, DealScored, PulkaClosed
from shared.rules.language.moves import Answer, Propose
from shared.rules.language.refusal import Malformed, Refused
from shared.rules.pulka import corrections
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka, StartDeal
from shared.rules.scoring.settlement import settlement
from tests.rules.pulka.sitting import Match

DESK = "operator:desk"
WHY = "the seven was an eight"


class given:
    """A pulka after its settlement, and what happened to it since."""

    def __init__(self, *events, players=3):
        self.pulka = reduce(match.evolve, events, Match(players=players, target=2).until("over").pulka)

    def when_corrected(self, *amounts):
        self.outcome = corrections.correct_within_bounds(self.pulka, DESK, corrections.read_amounts(amounts), WHY)
        return self

    def when_annulled(self):
        self.outcome = corrections.annul(self.pulka, DESK, WHY)
        return self

    def then(self, *events):
        assert self.outcome == events

    def then_refused(self, code, rule):
        assert isinstance(self.outcome, Refused), self.outcome
        assert (self.outcome.code, self.outcome.rule) == (code, rule)


def adjourned(game):
    """The match after its players have agreed to go on another day."""
    game.does(0, Propose("adjourn"))
    game.does(1, Answer(accept=True))
    game.does(2, Answer(accept=True))
    assert game.pulka.members.adjourned
    return game


def test_4_2_14_a_result_is_corrected_exactly():
    """Whole numbers and fractions, written in lowest terms; every seat has one."""
    given().when_corrected("184/3", 5, "-199/3").then(ResultCorrected(1, ("184/3", "5", "-199/3"), DESK, WHY))
    given(players=4).when_corrected(0, "20/4", 0, -5).then(ResultCorrected(1, ("0", "5", "0", "-5"), DESK, WHY))


def test_4_2_16_corrections_are_numbered_and_corrected_again():
    """The second one is number two, and takes back what the first did wrongly."""
    first = ResultCorrected(1, ("5", "-5", "0"), DESK, WHY)
    given(first).when_corrected(-5, 5, 0).then(ResultCorrected(2, ("-5", "5", "0"), DESK, WHY))


def test_4_2_14_what_some_win_others_lose():
    """Amounts that do not sum to zero are refused, however little they differ."""
    given().when_corrected(5, -5, "1/10000").then_refused("not_zero_sum", "4.2.14")


def test_a_correction_of_nothing_is_refused():
    """Nothing would happen by it, and what makes no event cannot be repeated safely."""
    given().when_corrected(0, 0, 0).then_refused("nothing_to_correct", "4.2.16")


def test_4_2_16_corrections_together_stay_within_bounds():
    """However fine or large each of them may be, what they sum to can be stored and read: neither finer nor larger than one may be."""
    first = ResultCorrected(1, ("1/9973", "0", "-1/9973"), DESK, WHY)
    given(first).when_corrected("1/9967", 0, "-1/9967").then_refused("corrections_out_of_bounds", "4.2.16")
    given(first).when_corrected("2/9973", 0, "-2/9973").then(ResultCorrected(2, ("2/9973", "0", "-2/9973"), DESK, WHY))
    most = ResultCorrected(1, (str(amount.LARGEST), str(-amount.LARGEST), "0"), DESK, WHY)
    given(most).when_corrected(1, -1, 0).then_refused("corrections_out_of_bounds", "4.2.16")
    given(most).when_corrected(-1, 1, 0).then(ResultCorrected(2, ("-1", "1", "0"), DESK, WHY))


def test_4_2_16_what_was_accepted_before_there_were_bounds_stays_accepted():
    """A log is checked by what could be done when it was written: two corrections that are too fine together are by the rules in it."""
    first = ResultCorrected(1, ("1/9973", "0", "-1/9973"), DESK, WHY)
    second = corrections.read_amounts(("1/9967", 0, "-1/9967"))
    assert corrections.correct(given(first).pulka, DESK, second, WHY) == (ResultCorrected(2, ("1/9967", "0", "-1/9967"), DESK, WHY),)


def test_every_seat_has_a_number():
    """One more or fewer than the pulka has players says nothing about who wins what."""
    given().when_corrected(5, -5).then_refused("malformed", "4.2.14")
    given().when_corrected(5, -5, 0, 0).then_refused("malformed", "4.2.14")


@pytest.mark.parametrize("amount", ["a", "1/0", "1/10007", 10**13, "1.5", ""])
def test_a_number_that_cannot_be_read_is_named(amount):
    """What is no exact number, or finer or larger than any pulka needs, has its path told."""
    with pytest.raises(Malformed) as wrong:
        corrections.read_amounts([0, amount, 0])
    assert wrong.value.path == "amounts[1]"


def test_4_2_16_a_settled_pulka_is_annulled_once():
    """It counts for nothing from then on, and can be neither annulled again nor corrected (4.2.16)."""
    annulled = PulkaAnnulled(DESK, WHY)
    given().when_annulled().then(annulled)
    given(annulled).when_annulled().then_refused("already_annulled", "4.2.16")
    given(annulled).when_corrected(5, -5, 0).then_refused("already_annulled", "4.2.16")


def test_4_2_14_before_the_settlement_there_is_nothing_to_correct():
    """Neither before the pulka nor while it is played; then it is the sheet that is corrected (4.2.9)."""
    before, playing = Pulka(table_id="0-" + "a" * 26), Match().plays(1).until("play").pulka
    answers = [corrections.correct(pulka, DESK, (1, -1, 0), WHY) for pulka in (before, playing)]
    for refused in (*answers, corrections.annul(before, DESK, WHY)):
        assert (refused.code, refused.rule) == ("not_closed", "4.2.14")


@pytest.mark.parametrize("phase", ["cut", "auction", "play"])
def test_5_4_18_a_pulka_that_is_annulled_in_play_finishes_its_deal(phase):
    """The order says who and why; whoever is to act still is. The deal is played and scored as ever, and ends the pulka, annulled."""
    game = Match().plays(1).until(phase)
    before, deals = game.pulka, game.pulka.number
    assert game.happens(corrections.annul(before, DESK, WHY)) == (AnnulmentOrdered(DESK, WHY),)
    assert (match.to_act(game.pulka), match.phase(game.pulka)) == (match.to_act(before), phase)
    assert corrections.annul(game.pulka, DESK, WHY).code == "already_annulled"
    game.until("over")
    *_, scored, revealed, closed, annulled = game.events
    assert [type(event) for event in (scored, revealed)] == [DealScored, DealRevealed]
    assert closed == PulkaClosed("annulled", settlement(game.pulka.convention, game.pulka.target, game.pulka.sheet))
    assert annulled == PulkaAnnulled(DESK, WHY)
    assert (game.pulka.number, game.pulka.annulling, game.pulka.annulled) == (deals, None, annulled)


def test_5_4_18_between_two_deals_it_ends_at_once():
    """No deal goes on that would have to be finished; so, too, where the players have adjourned."""
    for game in (Match().plays(2), adjourned(Match().plays(2))):
        ordered, closed, annulled = game.happens(corrections.annul(game.pulka, DESK, WHY))
        assert (ordered, annulled) == (AnnulmentOrdered(DESK, WHY), PulkaAnnulled(DESK, WHY))
        assert closed.reason == "annulled"
        assert (game.pulka.status, game.pulka.number) == ("over", 2)


def test_5_4_18_a_pulka_that_ends_with_that_deal_anyway_is_annulled():
    """Its own end, coming with the same deal, is no settlement any more."""
    game = Match(convention=resolve({"preset": "leningrad", "ends_when": "deals:1"}, 10), target=10).until("play")
    game.happens(corrections.annul(game.pulka, DESK, WHY))
    game.until("over")
    assert [event.reason for event in game.events if isinstance(event, PulkaClosed)] == ["annulled"]
    assert game.pulka.annulled == PulkaAnnulled(DESK, WHY)


def test_3_1_1_annulled_while_seats_are_drawn_for_no_deal_begins():
    """The draw, which has been committed to, is finished; then the pulka ends without a deal."""
    opening = OpenPulka(PRESETS["sochi"], "00" * 32, 3, 10, ("ann", "ben", "cid"), {"seating": "drawn"}, 0, "5e" * 32)
    pulka = reduce(match.evolve, match.open_pulka(Pulka(table_id="0-" + "a" * 26), opening), Pulka(table_id="0-" + "a" * 26))
    assert match.phase(pulka) == "draw"
    pulka = reduce(match.evolve, corrections.annul(pulka, DESK, WHY), pulka)
    while match.phase(pulka) == "draw":
        pulka = reduce(match.evolve, match.decide(pulka, match.to_act(pulka), match.default_move(pulka)), pulka)
    closed, annulled = match.start_deal(pulka, StartDeal(1, "00" * 32))
    assert (closed.reason, annulled) == ("annulled", PulkaAnnulled(DESK, WHY))


def test_nothing_that_was_played_changes():
    """Sheet, settlement and seats stay what they were; the pulka is over, and no move is taken."""
    before = given().pulka
    after = reduce(match.evolve, (ResultCorrected(1, ("5", "-5", "0"), DESK, WHY), PulkaAnnulled(DESK, WHY)), before)
    assert (after.sheet, after.settlement, after.seats, after.status) == (before.sheet, before.settlement, before.seats, "over")
    assert (len(after.corrections), after.annulled) == (1, PulkaAnnulled(DESK, WHY))
    assert match.legal_moves(after, 0) == ()


part = st.fractions(min_value=-1000, max_value=1000, max_denominator=60)


@drawn(st.lists(part, min_size=2, max_size=4))
def test_4_2_14_a_correction_is_accepted_if_and_only_if_it_sums_to_zero(parts):
    """Whatever the fractions: with the last seat's share the sum is exactly zero and stands in the event; a trace more is refused."""
    closed = Pulka(table_id="0-" + "a" * 26, status="over", players=len(parts) + 1)
    whole = (*parts, -sum(parts, Fraction(0)))
    outcome = corrections.correct_within_bounds(closed, DESK, whole, WHY)
    if whole[-1].denominator > corrections.FINEST:
        assert outcome.code == "corrections_out_of_bounds"
    elif any(whole):
        (event,) = outcome
        assert sum(map(Fraction, event.amounts)) == 0
        assert tuple(map(Fraction, event.amounts)) == whole
    else:
        assert outcome.code == "nothing_to_correct"
    assert corrections.correct(closed, DESK, (*parts, whole[-1] + Fraction(1, 60**4)), WHY).code == "not_zero_sum"


def test_a_match_of_the_tests_ends_by_its_settlement():
    """What these tests begin with is settled and has no correction."""
    game = Match(target=2).until("over")
    assert isinstance(game.events[-1], PulkaClosed)
    assert (game.pulka.corrections, game.pulka.annulled) == ((), None)
