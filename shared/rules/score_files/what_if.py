"""What if: the deals of a pulka, as they were played, scored under another convention, entry by entry. Pure.

A deal is taken by its outcome. What the other convention does not have (a half-whist on a level where nobody can go for half, a ten
whisted where tens are laid open) cannot be scored there: such a deal writes nothing and says why, nothing is guessed. Where an outcome
can be scored but something about it would have been otherwise, a remark says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from shared.rules.convention.options import Convention
from shared.rules.deck.contract import LEVEL
from shared.rules.deck.seats import active, defenders
from shared.rules.language.amount import Amount, exact
from shared.rules.language.refusal import Malformed
from shared.rules.score_files.deal_checks import check_scorable
from shared.rules.score_files.score_file import Scored
from shared.rules.score_files.standing import Standing, play_on
from shared.rules.scoring.all_pass import dealer_takes_tricks, talon_leads
from shared.rules.scoring.misere import objection_to_sharing
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.series import Series, exit_level, opening_rounds, plays_dark, series_after
from shared.rules.scoring.settlement import Settlement, first_of_equals, minutes_to_play, pulka_closed, settle
from shared.rules.scoring.sheet import Entry, Sheet, empty_sheet
from shared.rules.scoring.trick_game import may_give_up_without_three, writes_talon_gift
from shared.rules.scoring.whist_calls import is_checked, may_dealer_whist, may_first_half, may_half, may_return, must_whist
from shared.rules.scoring.whister import whisting


class PlayedDeal(msgspec.Struct, frozen=True):
    """A deal as it was played and what it wrote; `number` as its pulka counts them."""

    number: int
    outcome: DealOutcome
    entries: tuple[Entry, ...]


class PlayedPulka(msgspec.Struct, frozen=True):
    """A pulka, or a section of one, with `start` before its first deal and `sheet` after its last; `stake` is what a whist is worth.

    `names`: what the players are called, by seat, where the file tells.
    """

    convention: Convention
    players: int
    target: int | None
    stake: Amount | None
    start: Standing
    deals: tuple[PlayedDeal, ...]
    sheet: Sheet
    closed: bool
    names: tuple[str, ...] | None = None

    @property
    def last_dealer(self) -> int | None:
        """Who dealt the last deal; None where there is none."""
        return _last_dealer(self.deals)

    @property
    def first_of_equals(self) -> int:
        """The seat that is corrected before those that are rounded as far (Decision 16)."""
        return first_of_equals(self.convention, self.players, self.last_dealer)


class Remark(msgspec.Struct, frozen=True):
    """Something to be said; `code` is a stable word, `parts` what its sentence needs (`what_if_words`)."""

    code: str
    parts: dict[str, Any] = {}


class Pair(msgspec.Struct, frozen=True):
    """An entry that was `written` and the one that `would` have been in its place; None where there is none."""

    written: Entry | None
    would: Entry | None

    @property
    def entry(self) -> Entry:
        """Whose column it is, and for what."""
        found = self.written or self.would
        assert found is not None  # noqa: S101 - a pair has one of the two
        return found

    @property
    def difference(self) -> Amount:
        """By how much the column would have grown more."""
        return exact((self.would.amount if self.would else 0) - (self.written.amount if self.written else 0))


class ComparedDeal(msgspec.Struct, frozen=True):
    """A deal under both conventions. `problem`: it cannot be scored there; `over`: the pulka had ended there before it."""

    number: int
    outcome: DealOutcome
    pairs: tuple[Pair, ...]
    would: tuple[Entry, ...]
    problem: Remark | None = None
    over: bool = False
    remarks: tuple[Remark, ...] = ()


class Compared(msgspec.Struct, frozen=True):
    """A pulka under another convention; `end` is where it stands there. `closed_after`: the number of the deal that ended it there."""

    pulka: PlayedPulka
    convention: Convention
    deals: tuple[ComparedDeal, ...]
    end: Standing
    closed_after: int | None
    remarks: tuple[Remark, ...]

    @property
    def ended_with(self) -> int | None:
        """The number of the deal that ended the pulka as it was played; None while it goes on."""
        if not self.pulka.closed:
            return None
        return self.pulka.deals[-1].number if self.pulka.deals else 0

    @property
    def last_dealer(self) -> int | None:
        """Who dealt the last deal there; None where none is played there."""
        return _last_dealer([deal for deal in self.deals if not deal.over])

    @property
    def was(self) -> Settlement:
        """The settlement as it is."""
        return settle(self.pulka.convention, self.pulka.target, self.pulka.sheet, self.pulka.last_dealer)

    @property
    def would_be(self) -> Settlement:
        """The settlement under the other convention, as if it were settled there now, or when it ended there."""
        return settle(self.convention, self.pulka.target, self.end.sheet, self.last_dealer)


def _last_dealer(deals: Sequence[PlayedDeal | ComparedDeal]) -> int | None:
    return deals[-1].outcome.dealer if deals else None


def as_played(pulka: Scored) -> PlayedPulka:
    """A score file as what is compared; deals count from 1. Where its players kept the sheet, of each deal what was due."""
    deals = tuple(
        PlayedDeal(number, deal.outcome, deal.entries[: len(deal.entries) - len(deal.kept or ())])
        for number, deal in enumerate(pulka.deals, 1)
    )
    return PlayedPulka(
        pulka.convention, pulka.players, pulka.target, pulka.stake, pulka.start, deals, pulka.end.sheet, pulka.closed, pulka.names
    )


def what_if(pulka: PlayedPulka, other: Convention) -> Compared:
    """The deals of `pulka` scored under `other`, from the same start, to the deal that would have ended it there."""
    start = pulka.start
    standing = start if plays_dark(other) else replace(start, series=Series(start.series.all_pass_in_row))
    closed_after: int | None = None
    if pulka_closed(other, pulka.target, standing.sheet, standing.deals):
        closed_after = pulka.deals[0].number - 1 if pulka.deals else 0
    compared: list[ComparedDeal] = []
    for deal in pulka.deals:
        if closed_after is not None:
            compared.append(ComparedDeal(deal.number, deal.outcome, _paired(deal.entries, ()), (), over=True))
            continue
        standing, found = _compared(pulka, other, standing, deal)
        compared.append(found)
        if pulka_closed(other, pulka.target, standing.sheet, standing.deals):
            closed_after = deal.number
    return Compared(pulka, other, tuple(compared), standing, closed_after, tuple(_remarks(pulka, other)))


def _compared(pulka: PlayedPulka, other: Convention, before: Standing, deal: PlayedDeal) -> tuple[Standing, ComparedDeal]:
    """One deal, and where the pulka stands there after it."""
    outcome = deal.outcome if plays_dark(other) else replace(deal.outcome, dark=False, dark_pass=())
    problem = _problem(pulka, other, outcome)
    if problem is not None:
        series = series_after(replace(pulka.convention, all_pass=other.all_pass, dark=other.dark), pulka.players, outcome, before.series)
        return (
            replace(before, series=series, deals=before.deals + 1),
            ComparedDeal(deal.number, deal.outcome, _paired(deal.entries, ()), (), problem),
        )
    after, entries = play_on(other, pulka.target, before, outcome)
    remarks = tuple(_doubts(pulka, other, before.series, deal.outcome))
    return after, ComparedDeal(deal.number, deal.outcome, _paired(deal.entries, entries), entries, remarks=remarks)


def _paired(was: Sequence[Entry], would: Sequence[Entry]) -> tuple[Pair, ...]:
    """Entries of the same column side by side: those of the same rule first, then in order; the rest alone."""
    waiting, found = list(would), [Pair(one, None) for one in was]
    for same in (lambda entry: (entry.seat, entry.column, entry.on, entry.rule), lambda entry: (entry.seat, entry.column, entry.on)):
        for place, pair in enumerate(found):
            if pair.would is None and pair.written is not None:
                wanted = same(pair.written)
                match = next((entry for entry in waiting if same(entry) == wanted), None)
                if match is not None:
                    waiting.remove(match)
                    found[place] = Pair(pair.written, match)
    return (*found, *(Pair(None, entry) for entry in waiting))


# ---- What cannot be scored there, and what is doubtful -----------------------------------------------------------------


def _problem(pulka: PlayedPulka, other: Convention, outcome: DealOutcome) -> Remark | None:
    """Why the outcome cannot be scored under the other convention; None where it can."""
    contract = outcome.contract or ""
    if _dealer_took(pulka.players, outcome) and not dealer_takes_tricks(other, pulka.players, outcome.dealer):
        return Remark("talon_aside", {"tricks": outcome.tricks[outcome.dealer]})
    checked = is_checked(other, contract)
    if checked != is_checked(pulka.convention, contract) and (any(outcome.calls) or outcome.tricks):
        return Remark("ten_checked" if checked else "ten_whisted", {"contract": contract})
    if outcome.without_three and not may_give_up_without_three(other, contract):
        return Remark("without_three", {"contract": contract})
    if outcome.is_game and any(outcome.calls):
        kind = whisting(pulka.convention, pulka.players, outcome).kind
        if "half" in outcome.calls and not may_half(other, contract):
            return Remark("half_whist", {"contract": contract})
        if kind == "dealer" and not may_dealer_whist(other, pulka.players):
            return Remark("dealer_whist")
        if must_whist(other, contract) and not outcome.conceded and {"pass", "half"} & set(outcome.calls):
            return Remark("stalingrad")
    try:
        check_scorable(other, pulka.players, outcome, "")
    except Malformed as wrong:
        return Remark("impossible", {"why": wrong.message})
    return None


def _dealer_took(players: int, outcome: DealOutcome) -> bool:
    return outcome.is_all_pass and outcome.dealer not in active(players, outcome.dealer) and outcome.tricks[outcome.dealer] > 0


def _doubts(pulka: PlayedPulka, other: Convention, series: Series, outcome: DealOutcome) -> Iterator[Remark]:
    """What about a deal that is scored would have been otherwise there."""
    if (outcome.dark or outcome.dark_pass) and not plays_dark(other):
        yield Remark("no_dark")
    if outcome.shared and objection_to_sharing(other, pulka.players) is not None:
        yield Remark("no_shared_misere")
    level, least = LEVEL.get(outcome.contract or ""), exit_level(other, series)
    if level is not None and level < least:
        yield Remark("exit_level", {"contract": outcome.contract, "level": least, "in_row": series.all_pass_in_row})
    if outcome.is_game and "half" in outcome.calls:
        half, first = outcome.calls.index("half"), defenders(pulka.players, outcome.dealer, outcome.declarer or 0)[0]
        if half == first and may_first_half(pulka.convention) and not may_first_half(other):
            yield Remark("first_hand_half")
        elif "whist" in outcome.calls and may_return(pulka.convention, outcome.contract) and not may_return(other, outcome.contract):
            yield Remark("pass_return", {"contract": outcome.contract})
    if any(one.ruled for one in outcome.infractions):
        yield Remark("ruling")


def _remarks(pulka: PlayedPulka, other: Convention) -> Iterator[Remark]:
    """What is to be said of the whole comparison."""
    if pulka.start.sheet != empty_sheet(pulka.players):
        yield Remark("start")
    leads = talon_leads(other, pulka.players)
    if any(deal.outcome.is_all_pass for deal in pulka.deals) and leads != talon_leads(pulka.convention, pulka.players):
        yield Remark("talon_leads" if leads else "talon_lies")
    opening = opening_rounds(other)
    first = [deal.outcome for deal in pulka.deals[: max(0, opening - pulka.start.deals)]]
    if not all(outcome.is_all_pass and outcome.dark_pass for outcome in first):
        yield Remark("opening_rounds", {"rounds": opening})
    games = [deal.outcome for deal in pulka.deals if deal.outcome.is_game]
    gifts = writes_talon_gift(other) and not writes_talon_gift(pulka.convention)
    if gifts and games and not any(game.talon_tricks for game in games):
        yield Remark("no_talon_worth")
    minutes = minutes_to_play(other)
    if minutes is not None:
        yield Remark("time", {"minutes": str(minutes)})
