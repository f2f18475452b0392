"""3.1.2: a newcomer in the middle of a pulka: by whose consent, where he sits, what stands on his sheet, and who deals."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.rules.convention.options import to_document
from shared.rules.convention.rules_digest import rules_digest
from shared.rules.deck import shuffle
from shared.rules.language.amount import Amount
from shared.rules.language.game_events import DealStarted
from shared.rules.language.member_events import ConsentAnswered, ConsentAsked, NewcomerSeated
from shared.rules.language.moves import Answer, Join
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import Pulka
from shared.rules.pulka.newcomer import moved_seats, newcomers_seat, sheet_with
from shared.rules.score_files.score_file import score_document
from shared.rules.scoring.sheet import Sheet
from tests.rules.pulka.sitting import TABLE, Match


def agreed(game: Match, player: str = "eve") -> Match:
    """The match in which `player` has asked, and all have consented."""
    game.joins(player)
    for seat in range(game.pulka.players):
        game.does(seat, Answer(accept=True))
    return game


def test_3_1_2_x_02_everybody_consents_and_he_sits_down_after_the_deal() -> None:
    """X-02: mean pool and mean mountain, rounded against him; he sits left of the last dealer and deals next."""
    game = Match().plays(2).until("play")
    asked = game.joins("eve")
    assert asked == (ConsentAsked("newcomer", "eve", None, (0, 1, 2)),)
    for seat in (1, 0, 2):
        assert game.does(seat, Answer(accept=True)) == (ConsentAnswered(seat, accept=True),)
    assert game.pulka.players == 3
    dealer, sat = game.pulka.dealer, game.pulka.seats
    game.plays(3)
    seated = game.events[-1]
    assert isinstance(seated, NewcomerSeated)
    assert (seated.player, seated.seat) == ("eve", dealer + 1)
    assert game.pulka.seats == seated.seats == (*sat[: dealer + 1], "eve", *sat[dealer + 1 :])
    assert [seated.seats[seated.moved[seat]] for seat in range(3)] == list(sat)
    assert game.pulka.rules_digest == rules_digest(to_document(game.pulka.convention), 4, 50, {}) == seated.rules_digest
    game.plays(4)
    started = [event for event in game.events if isinstance(event, DealStarted)]
    assert started[-1].dealer == seated.seat
    assert [started[-1].commitment] == [shuffle.commitment(started[-1].server_seed or "", TABLE, 4, seated.rules_digest)]


@pytest.mark.parametrize(
    ("pool", "mountain", "expected"),
    [
        ((10, 5, 6), (4, 4, 4), (7, 4)),
        ((10, 5, 7), (4, 4, 5), (7, 5)),
        ((0, 0, 2), (-1, 0, 0), (0, 0)),
        ((0, 0, 0), (-5, 0, 0), (0, -1)),
        ((3, 3, 3), (Fraction(1, 2), 0, 0), (3, 1)),
    ],
)
def test_3_1_2_the_means_are_rounded_against_him(pool: tuple[int, ...], mountain: tuple[Amount, ...], expected: tuple[int, int]) -> None:
    """The pool downwards, the mountain upwards, below zero too."""
    sheet = sheet_with(Sheet(pool, mountain, ((0,) * 3,) * 3), 3)
    assert (sheet.pool[3], sheet.mountain[3]) == expected


@given(st.integers(2, 4).flatmap(lambda n: st.tuples(*[st.tuples(*[st.integers(0, 60)] * n)] * (n + 2))), st.data())
def test_3_1_2_nobody_elses_columns_change(rows: tuple[tuple[int, ...], ...], data: st.DataObject) -> None:
    """Everybody keeps pool, mountain and all whists under his new seat; the newcomer has none on anybody, nor anybody on him."""
    pool, mountain, *whists = rows
    players = len(pool)
    sheet = Sheet(pool, mountain, tuple(tuple(0 if i == j else n for j, n in enumerate(row)) for i, row in enumerate(whists)))
    seat = newcomers_seat(data.draw(st.integers(0, players - 1)))
    grown, moved = sheet_with(sheet, seat), moved_seats(players, seat)
    assert sorted((*moved, seat)) == list(range(players + 1))
    for old in range(players):
        assert (grown.pool[moved[old]], grown.mountain[moved[old]]) == (sheet.pool[old], sheet.mountain[old])
        assert [grown.whists[moved[old]][moved[on]] for on in range(players)] == list(sheet.whists[old])
    assert not any(grown.whists[seat])
    assert not any(row[seat] for row in grown.whists)


def test_3_1_2_one_refusal_is_enough() -> None:
    """Without everybody's consent nobody sits down; he may ask again."""
    game = Match().until("auction")
    game.joins("eve")
    game.does(0, Answer(accept=True))
    game.does(2, Answer(accept=False))
    assert game.pulka.members.motion is None
    game.plays(1)
    assert game.pulka.players == 3
    assert game.joins("eve")


def test_3_1_2_what_is_not_answered_by_the_end_of_the_deal_lapses() -> None:
    """A request that not all have answered when the next deal begins is no more."""
    game = Match().until("auction")
    game.joins("eve")
    game.does(0, Answer(accept=True))
    game.plays(1).until("cut")
    assert game.refused(1, Answer(accept=True)) == ("wrong_phase", "5.4.18")


@pytest.mark.parametrize("players", [2, 4])
def test_3_1_2_only_a_pulka_of_three_takes_one_more(players: int) -> None:
    """With a fourth the dealer rests; two play another game, and a fifth is not taken in."""
    game = Match(players=players)
    answer = match.decide_join(game.pulka, "eve", Join())
    assert isinstance(answer, Refused)
    assert (answer.code, answer.rule) == ("call_not_allowed", "3.1.2")


def test_3_1_2_who_sits_there_and_a_second_newcomer_cannot_join() -> None:
    """One seat a player, one newcomer a time; one request at a time."""
    game = Match().until("auction")
    for player in ("ann", "eve", "fay"):
        answer = match.decide_join(game.pulka, player, Join())
        if player == "eve":
            agreed(game)
        else:
            assert isinstance(answer, Refused)
            assert (answer.code, answer.rule) == ("call_not_allowed", "3.1.2")
    assert game.refused(0, Join()) == ("call_not_allowed", "3.1.2")
    other = Match().until("auction")
    other.joins("eve")
    answer = match.decide_join(other.pulka, "fay", Join())
    assert isinstance(answer, Refused)
    assert (answer.code, answer.rule) == ("call_not_allowed", "5.4.18")


def test_3_1_2_the_sheet_goes_on_from_the_start_that_the_event_tells() -> None:
    """`start` is the start of a score file: the pulka with four stands where such a file of four would; whists sum to zero."""
    game = agreed(Match(lot=3).plays(3).until("auction")).plays(4)
    seated = next(event for event in game.events if isinstance(event, NewcomerSeated))
    file = {"convention": "sochi", "players": 4, "target": 50, "start": seated.start, "deals": []}
    answer = score_document(file)
    assert answer["sheet"] == game.pulka.sheet.document()
    assert sum(answer["settlement"]["rounded"]) == 0
    assert seated.start["deals"] == 4
    again = reduce(match.evolve, game.events, Pulka(table_id=TABLE))
    assert again == game.pulka


def test_3_1_2_a_pulka_with_a_newcomer_is_played_to_its_end() -> None:
    """Four seats, four hands a deal of which the dealer's rests, and a settlement of four that sums to zero (4.2.14)."""
    game = agreed(Match(target=4, lot=5).until("auction"))
    for deal in range(1, 200):
        if match.phase(game.pulka) == "over":
            break
        game.plays(deal)
    assert game.pulka.status == "over"
    assert game.pulka.settlement is not None
    assert len(game.pulka.settlement["net"]) == 4
    assert sum(game.pulka.settlement["rounded"]) == 0
