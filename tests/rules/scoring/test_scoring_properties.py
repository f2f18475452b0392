"""What holds for every deal under every convention."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.rules.convention.options import PRESETS, Convention, resolve
from shared.rules.deck.contract import GAMES
from shared.rules.deck.seats import active, defenders
from shared.rules.score_files.deal_document import DealDocument, deal_document, read_deal
from shared.rules.score_files.standing import Standing, play_on
from shared.rules.scoring.outcome import Call, DealOutcome
from shared.rules.scoring.sheet import Sheet, empty_sheet, write
from tests.rules.scoring.scored import score

OPTIONS: dict[str, list[Any]] = {
    "remise_factor": [1, 2],
    "whist_factor": [1, 2],
    "whister_remise": ["full", "half", "none", "half_until_closed"],
    "consolation": ["price", "none", {"fixed": 10}],
    "single_whister": ["greedy", "gentleman_remise", "gentleman_always", "own"],
    "pair_6_7": ["below_half", "own_half", "capped"],
    "pair_8_9": ["second", "both", "second_own", "each_own"],
    "pair_10": ["second", "both", "second_own", "each_own"],
    "dealer_whist": ["responsible", "free"],
    "talon_bonus": ["off", "on"],
    "settlement_divisor": ["n", "n-1"],
}
ALL_PASS: dict[str, list[Any]] = {
    "scoring": ["mountain", "whists"],
    "prices": [[1], [1, 2, 3], [5]],
    "amnesty": [True, False],
    "zero_bonus": ["price", "none", "off_mountain_2", {"fixed": 1}],
    "zero_bonus_dealer": [True, False],
    "talon": ["leads", "aside"],
    "series_ends": ["any_game", "made_game", "whisted_made_game"],
}


def chosen(options: dict[str, list[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Some of the options, each with one of its values."""
    return st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in options.items()})


def _resolved(name: str, options: dict[str, Any], all_pass: dict[str, Any]) -> Convention:
    """The convention; an amnesty of whists would contradict itself."""
    if all_pass.get("scoring", PRESETS[name].all_pass.scoring) == "whists":
        all_pass = {option: value for option, value in all_pass.items() if option != "amnesty"}
    return resolve({"preset": name, **options, "all_pass": all_pass})


CONVENTIONS = st.builds(
    _resolved,
    st.sampled_from(["sochi", "leningrad", "rostov", "code", "classic", "federation"]),
    chosen(OPTIONS),
    chosen(ALL_PASS),
)


@st.composite
def tricks_of(draw: st.DrawFn, players: int, seats: tuple[int, ...], talon: dict[int, int] | None = None) -> tuple[int, ...]:
    """Ten tricks among `seats`, but for those that the talon won for a resting dealer."""
    won = talon or {}
    total = 10 - sum(won.values())
    cuts = sorted(draw(st.lists(st.integers(0, total), min_size=len(seats) - 1, max_size=len(seats) - 1)))
    taken = won | dict(zip(seats, (b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)), strict=True))
    return tuple(taken.get(seat, 0) for seat in range(players))


@st.composite
def outcomes(draw: st.DrawFn, convention: Convention, players: int) -> DealOutcome:
    """Any deal that can have happened: games with all kinds of calls, miseres, all-pass."""
    dealer = draw(st.integers(0, players - 1))
    playing = active(players, dealer)
    kind = draw(st.sampled_from(["game", "game", "game", "misere", "all_pass"]))
    if kind == "all_pass":
        leads = convention.all_pass.talon == "leads" and players > 3
        talon = {dealer: draw(st.integers(0, 2))} if leads else {}
        return DealOutcome(dealer=dealer, contract="all_pass", tricks=draw(tricks_of(players, playing, talon)))
    declarer = draw(st.sampled_from(playing))
    if kind == "misere":
        return DealOutcome(dealer=dealer, contract="misere", declarer=declarer, tricks=draw(tricks_of(players, playing)))
    contract = draw(st.sampled_from(GAMES))
    order = defenders(players, dealer, declarer)
    words: list[tuple[Call, Call]] = [("whist", "whist"), ("whist", "pass"), ("pass", "whist"), ("pass", "pass")]
    words += [("pass", "half"), ("whist", "half")] if contract[0] in "67" else []
    said: dict[int, Call] = dict(zip(order, draw(st.sampled_from(words)), strict=False))
    if players == 4 and "whist" not in said.values() and draw(st.booleans()):
        said[dealer] = "whist"
    played = "whist" in said.values()
    return DealOutcome(
        dealer=dealer,
        contract=contract,
        declarer=declarer,
        calls=tuple(said.get(seat) for seat in range(players)),
        tricks=draw(tricks_of(players, playing)) if played else (),
        talon_tricks=draw(st.integers(0, 3)),
    )


@st.composite
def pulkas(draw: st.DrawFn) -> tuple[Convention, int | None, list[DealOutcome], Standing]:
    """A convention, a target, and a few deals from some standing."""
    players = draw(st.integers(2, 5))
    convention = draw(CONVENTIONS)
    target = draw(st.none() | st.integers(2, 20))
    pools = tuple(draw(st.integers(0, target or 20)) for _ in range(players))
    sheet = Sheet(pools, tuple(draw(st.integers(0, 9)) for _ in range(players)), empty_sheet(players).whists)
    return convention, target, draw(st.lists(outcomes(convention, players), min_size=1, max_size=4)), Standing(sheet)


@pytest.mark.slow
@given(pulkas())
def test_help_and_surplus_lose_nothing(pulka: tuple[Convention, int | None, list[DealOutcome], Standing]) -> None:
    """Points won stand in pools or came off a mountain, no pool runs over, and each point of help is ten whists (4.2.3, 4.1.1)."""
    convention, target, deals, standing = pulka
    for outcome in deals:
        after, entries = play_on(convention, target, standing, outcome)
        unhelped, _ = play_on(convention, None, standing, outcome)
        won = sum(unhelped.sheet.pool) - sum(standing.sheet.pool)
        off = -sum(entry.amount for entry in entries if entry.column == "mountain" and entry.rule == "4.1.1" and entry.amount < 0)
        halved = 2 if convention.settlement_divisor == "n-1" and len(standing.sheet.pool) == 2 else 1
        assert sum(after.sheet.pool) - sum(standing.sheet.pool) + off * halved == won
        helped = sum(entry.amount for entry in entries if entry.rule == "4.2.3" and entry.column == "pool")
        assert sum(entry.amount for entry in entries if entry.rule == "4.2.3" and entry.column == "whists") == 10 * helped
        if convention.help != "none" and target is not None:
            assert all(pool <= target for pool in after.sheet.pool)
        standing = after


@pytest.mark.slow
@given(pulkas())
def test_every_entry_has_a_rule_and_a_reason(pulka: tuple[Convention, int | None, list[DealOutcome], Standing]) -> None:
    """Entries are never zero, name a rule and a reason, whists are on somebody else, and their sum is the change of the sheet (4.2.1)."""
    convention, target, deals, standing = pulka
    for outcome in deals:
        after, entries = play_on(convention, target, standing, outcome)
        for entry in entries:
            assert all((entry.amount, entry.rule, entry.why))
            assert (entry.column == "whists") == (entry.on is not None)
            assert entry.on != entry.seat
            assert isinstance(entry.amount, int) or entry.amount.denominator > 1
        assert write(standing.sheet, entries) == write(standing.sheet, [entry.document() for entry in entries]) == after.sheet
        standing = after


@pytest.mark.slow
@given(pulkas())
def test_a_deal_as_a_document_scores_the_same(pulka: tuple[Convention, int | None, list[DealOutcome], Standing]) -> None:
    """What is exported of a deal reads back to the same entries."""
    convention, target, deals, standing = pulka
    players = len(standing.sheet.pool)
    for outcome in deals:
        again = read_deal(msgspec.convert(deal_document(outcome, players), DealDocument), convention, players, outcome.dealer, "deal")
        assert play_on(convention, target, standing, again) == play_on(convention, target, standing, outcome)


@given(pulkas(), st.integers(1, 4))
def test_no_seat_is_special(pulka: tuple[Convention, int | None, list[DealOutcome], Standing], turn: int) -> None:
    """Turning the table turns the score: nothing depends on a seat's number while nobody helps (3.2.2)."""
    convention, _, deals, standing = pulka
    players = len(standing.sheet.pool)

    def turned(values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(values[(seat - turn) % players] for seat in range(players)) if values else ()

    sheet = standing.sheet
    other = Standing(Sheet(turned(sheet.pool), turned(sheet.mountain), sheet.whists))
    for outcome in deals:
        moved = msgspec.structs.replace(
            outcome,
            dealer=(outcome.dealer + turn) % players,
            declarer=None if outcome.declarer is None else (outcome.declarer + turn) % players,
            calls=turned(outcome.calls),
            tricks=turned(outcome.tricks),
        )
        standing, _ = play_on(convention, None, standing, outcome)
        other, _ = play_on(convention, None, other, moved)
    assert other.sheet.pool == turned(standing.sheet.pool)
    assert other.sheet.mountain == turned(standing.sheet.mountain)
    assert other.sheet.whists == turned(tuple(turned(row) for row in standing.sheet.whists))


@given(st.sampled_from(sorted(PRESETS)), st.integers(0, 10), st.integers(0, 10))
def test_a_game_made_never_costs_and_a_remise_never_pays(name: str, first: int, second: int) -> None:
    """Whoever makes his game wins on it before whists; whoever fails pays every opponent, and the settlement sums to zero (4.1.1)."""
    first, second = sorted((first, second))
    tricks = [first, second - first, 10 - second]
    answer = score(name, 3, {"declarer": 0, "contract": "6S", "calls": [None, "whist", "whist"], "tricks": tricks})
    written = answer["deals"][0]
    assert (written["pool"][0] > 0) == (written["mountain"][0] == 0) == (first >= 6)
    net = [Fraction(whists) for whists in answer["settlement"]["net"]]
    assert sum(net) == 0
    if first < 6:
        assert net[0] < min(net[1:])
