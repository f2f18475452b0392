"""Ratings in the rows: in whatever order results, corrections and annulments arrive, they are those of a computation from nothing."""

from __future__ import annotations

import asyncio
import random

import asyncpg
import msgspec
import pytest

from services.ledger.books import Books
from services.ledger.players import pulka_results, rating, rating_rows, ratings_check
from services.ledger.players.pulka_results import PulkaResult
from services.ledger.players.rating import RatingChange
from services.ledger.players.rating_restated import Restated, RestatedChange, shown
from services.ledger.players.ratings_check import RatingsChecked
from shared.projections.core import checkpoint
from shared.projections.versions.rebuild import fingerprint

pytestmark = pytest.mark.servers

DAY = 24 * 3600 * 1000


@pytest.fixture
async def rows(connection, schema):
    await checkpoint.prepare(connection, schema, Books.ddl)
    return connection


def closed(table, at, players, net, unrated=""):
    """A pulka that closed, one text of players and one of their whists."""
    return PulkaResult(table, 1, 9, at, at, players, net, annulled=False, unrated=unrated)


def again(result, at, *, net=None, annulled=False):
    """The same said anew."""
    revision, version = result.revision + 4, result.version + 1
    return msgspec.structs.replace(result, revision=revision, version=version, at=at, net=net or result.net, annulled=annulled)


def season(draw, pulkas=40, people=9):
    """Results of some months by few people, some of them corrected or annulled, some twice; pulkas may close at the same moment."""
    versions, at = [], 1_700_000_000_000
    for number in range(pulkas):
        at += draw.choice([0, 1, DAY // 2, 12 * DAY])
        seats = draw.sample([f"player-{n}" for n in range(people)], draw.choice((3, 4)))
        net = [draw.choice(("-7", "0", "13/3", "20")) for _ in seats]
        unrated = draw.choice(("", "", "", "bots"))
        last = closed(f"table-{draw.randrange(1000)}-{number}", at, " ".join(seats), " ".join(net), unrated)
        versions.append(last)
        while not last.annulled and draw.random() < 0.2:
            later = at + draw.choice([0, DAY, 30 * DAY])
            last = again(last, max(later, last.at), net=" ".join(draw.sample(net, len(net))), annulled=draw.random() < 0.5)
            versions.append(last)
    return versions


def arrivals(draw, versions):
    """Some order in which they may arrive: any, but each table's own."""
    shuffled = draw.sample(versions, len(versions))
    queues = {}
    for one in sorted(versions, key=lambda one: one.version):
        queues.setdefault(one.table_id, []).append(one)
    return [queues[one.table_id].pop(0) for one in shuffled]


def from_nothing(versions, said):
    """All changes of the world in which of what was said anew just `said` had been."""
    latest = {}
    for one in sorted(versions, key=lambda one: one.version):
        if not one.unrated and (one.version == 1 or Restated.of(one) in said):
            latest[one.table_id] = one
    return rating_rows.chain({}, sorted(latest.values(), key=rating.key_of))


def expected_rows(versions):
    """The present changes, and what each restatement made of those that had been shown."""
    anew = sorted((Restated.of(one) for one in versions if one.version > 1 and not one.unrated), key=lambda one: one.order)
    restated = []
    for place, cause in enumerate(anew):
        was, became = from_nothing(versions, anew[:place]), from_nothing(versions, anew[: place + 1])
        restated += [
            RestatedChange(
                one.player, one.closed_at, one.table_id, cause.at, cause.table_id, cause.version, cause.annulled,
                *(msgspec.json.encode(shown(each), order="deterministic").decode() for each in (one, other)),
            )
            for one, other in zip(was, became, strict=True)
            if one != other and one.closed_at <= cause.at
        ]  # fmt: skip
    return from_nothing(versions, anew), restated


async def stored(rows):
    changes = [RatingChange(*row) for row in await rows.fetch("SELECT * FROM rating_changes")]
    restated = [RestatedChange(*row) for row in await rows.fetch("SELECT * FROM rating_restated")]
    return changes, restated


def in_order(found):
    return sorted(found, key=lambda one: (one.closed_at, one.table_id, one.player, getattr(one, "at", 0), getattr(one, "cause_version", 0)))


@pytest.mark.parametrize("seed", range(6))
async def test_any_order_of_arrival_gives_the_ratings_of_a_computation_from_nothing(rows, schema, seed, monkeypatch):
    """Results, corrections and annulments in any order, computed at any time in between in short steps: the same bytes as all at once."""
    monkeypatch.setattr(rating_rows, "CHUNK", 7)  # so that a recomputation takes several transactions
    draw = random.Random(seed)
    versions = season(draw)
    found = []
    for _ in range(2):
        await rows.execute("TRUNCATE pulka_results, ratings_due, ratings_restated_due, rating_changes, ratings, rating_restated")
        waiting = arrivals(draw, versions)
        while waiting:
            size = draw.choice((1, 1, 2, 5, 30))
            batch, waiting = waiting[:size], waiting[size:]
            await pulka_results.write(rows, batch)
            if draw.random() < 0.5:
                await rating_rows.recompute(rows)
            elif draw.random() < 0.5:
                await rating_rows.step(rows)  # one of several, then more arrives
        await rating_rows.recompute(rows)
        found.append(await fingerprint(rows, schema))
    assert found[0] == found[1]
    changes, restated = expected_rows(versions)
    assert restated
    now, was = await stored(rows)
    assert in_order(now) == in_order(changes)
    assert in_order(was) == in_order(restated)
    assert await rows.fetchval("SELECT count(*) FROM ratings_due") == 0


async def test_present_ratings_are_those_after_the_last_rated_pulka(rows):
    """`ratings` has everybody's last rating and how many rated pulkas he played; who has none any more is not in it."""
    first = closed("a", 1000, "anna boris clara", "10 0 -10")
    await pulka_results.write(rows, [first, closed("b", 2000, "anna boris dora", "1 1 -2")])
    await rating_rows.recompute(rows)
    assert dict(await rows.fetch("SELECT player, pulkas FROM ratings")) == {"anna": 2, "boris": 2, "clara": 1, "dora": 1}
    await pulka_results.write(rows, [again(first, 3000, annulled=True)])
    await rating_rows.recompute(rows)
    assert dict(await rows.fetch("SELECT player, pulkas FROM ratings")) == {"anna": 1, "boris": 1, "dora": 1}
    last = await rows.fetchrow("SELECT rating FROM rating_changes WHERE player = 'anna' AND rated")
    assert await rows.fetchval("SELECT rating FROM ratings WHERE player = 'anna'") == last["rating"]


async def test_annulling_a_pulka_recomputes_what_followed_and_explains_the_difference(rows):
    """The later pulka's rating is what it would have been without the annulled one; what it was before is kept with the cause."""
    first, second = closed("a", 1000, "anna boris clara", "10 0 -10"), closed("b", 2000, "anna boris clara", "-5 3 2")
    await pulka_results.write(rows, [second])
    await rating_rows.recompute(rows)
    alone, _ = await stored(rows)
    await pulka_results.write(rows, [first])
    await rating_rows.recompute(rows)
    both, _ = await stored(rows)
    await pulka_results.write(rows, [again(first, 5000, annulled=True)])
    await pulka_results.write(rows, [closed("c", 6000, "anna boris clara", "1 0 -1")])
    await rating_rows.recompute(rows)
    now, was = await stored(rows)
    assert in_order(one for one in now if one.table_id == "b") == in_order(alone)
    assert {(one.player, one.table_id, one.cause, one.annulled, one.at) for one in was} == {
        (player, table, "a", True, 5000) for player in ("anna", "boris", "clara") for table in ("a", "b")
    }
    for one in was:
        (before,) = [change for change in both if (change.player, change.table_id) == (one.player, one.table_id)]
        (after,) = [change for change in now if (change.player, change.table_id) == (one.player, one.table_id)]
        assert msgspec.json.decode(one.was) == shown(before)
        assert msgspec.json.decode(one.became) == shown(after)


async def test_a_correction_that_changes_nobodys_place_changes_no_rating(rows):
    """Whists alone are not rated, who won is."""
    first = closed("a", 1000, "anna boris clara", "10 0 -10")
    await pulka_results.write(rows, [first])
    await rating_rows.recompute(rows)
    before, _ = await stored(rows)
    await pulka_results.write(rows, [again(first, 2000, net="20/3 -5/3 -5")])
    await rating_rows.recompute(rows)
    assert await stored(rows) == (before, [])


async def test_two_ledgers_compute_the_same_ratings_once(rows, postgres_dsn, schema):
    """Two that compute at the same time wait for each other, and nothing is written twice or lost."""
    draw = random.Random(3)
    versions = season(draw)
    other = await asyncpg.connect(postgres_dsn, server_settings={"search_path": schema})
    try:
        for one in arrivals(draw, versions):
            await asyncio.gather(pulka_results.write(rows, [one]), rating_rows.step(other))
        await asyncio.gather(rating_rows.recompute(rows), rating_rows.recompute(other))
    finally:
        await other.close()
    changes, restated = expected_rows(versions)
    now, was = await stored(rows)
    assert (in_order(now), in_order(was)) == (in_order(changes), in_order(restated))


async def test_every_rating_is_held_against_the_results(rows):
    """Computed once more they are the same; any value of them that was changed, a row more or less is noticed; not while some are due."""
    await pulka_results.write(rows, season(random.Random(7)))
    assert await ratings_check.check(rows) == RatingsChecked(checked=False)
    await rating_rows.recompute(rows)
    assert await ratings_check.check(rows) == RatingsChecked(checked=True)
    numbers = ("rating", "deviation", "volatility")
    one = "(player, table_id) = (SELECT player, table_id FROM rating_changes WHERE rated ORDER BY closed_at DESC, table_id, player LIMIT 1)"
    changed = [
        f"UPDATE rating_changes SET {name} = {name} + 0.5 WHERE {one}" for name in (*numbers, *(f"{each}_before" for each in numbers))
    ]
    changed += [
        f"UPDATE rating_changes SET why = replace(why, ':', ': ') WHERE {one}",
        f"UPDATE rating_changes SET rated = false WHERE {one}",
    ]
    changed += [f"UPDATE rating_changes SET player = 'other' WHERE {one}", f"DELETE FROM rating_changes WHERE {one}"]
    changed += ["INSERT INTO rating_changes SELECT 'one-more', 9000000000000, 'table', true, 1, 1, 1, 1, 1, 1, '{}'"]
    changed += [f"UPDATE ratings SET {name} = {name} + 1 WHERE player = 'player-3'" for name in (*numbers, "pulkas", "played_at")]
    changed += ["UPDATE ratings SET player = 'other' WHERE player = 'player-3'", "DELETE FROM ratings WHERE player = 'player-3'"]
    for statement in changed:
        transaction = rows.transaction(isolation="repeatable_read")
        await transaction.start()
        assert await rows.execute(statement) in {"UPDATE 1", "DELETE 1", "INSERT 0 1"}
        found = await ratings_check.check(rows)
        await transaction.rollback()
        assert [problem.code for problem in found.problems] == ["rows_differ"], statement
    await rows.execute("UPDATE ratings SET rating = rating + 1 WHERE player = 'player-3'")
    assert "player-3" in (await ratings_check.check(rows)).problems[0].message


async def test_what_corrections_and_annulments_changed_is_held_against_the_results(rows, monkeypatch):
    """Every column of every kept change, a row less, one more: named by player, pulka, and the revision that changed it."""
    monkeypatch.setattr(rating_rows, "CHUNK", 7)  # so that a check takes several pages
    versions = season(random.Random(7))
    await pulka_results.write(rows, versions)
    await rating_rows.recompute(rows)
    _, restated = await stored(rows)
    assert len({(one.cause, one.cause_version) for one in restated}) > 5
    revisions = {(one.table_id, one.version): one.revision for one in versions}
    key = "(player, table_id, cause, cause_version) = ($1, $2, $3, $4)"
    changed = [f"UPDATE rating_restated SET {name} = {name} + 1 WHERE {key}" for name in ("closed_at", "at")]
    changed += [f"UPDATE rating_restated SET {name} = replace({name}, ':', ': ') WHERE {key}" for name in ("was", "became")]
    changed += [f"UPDATE rating_restated SET annulled = NOT annulled WHERE {key}", f"DELETE FROM rating_restated WHERE {key}"]
    changed += [f"UPDATE rating_restated SET {name} = 'x' WHERE {key}" for name in ("player", "table_id", "cause")]
    changed += [f"UPDATE rating_restated SET cause_version = 17 WHERE {key}"]
    told = []
    assert await ratings_check.check(rows, told.append) == RatingsChecked(checked=True)
    assert told == sorted(told)
    assert told[-1] > sum(one.version == 1 and not one.unrated for one in versions), "each restatement rates pulkas once more"
    draw = random.Random(1)
    for statement in changed:
        for one in draw.sample(restated, 5):
            revision, message = await tampered(rows, statement, one.player, one.table_id, one.cause, one.cause_version)
            assert revision == revisions[one.cause, one.cause_version], statement
            assert message == (
                f"What revision {revision} of {one.cause} changed in the rating of {one.player} after {one.table_id}"
                " is not what the results make."
            ), statement
    one = restated[0]
    more = "INSERT INTO rating_restated SELECT {}, at, {}, annulled, was, became FROM rating_restated WHERE " + key
    who = one.player, one.table_id, one.cause, one.cause_version
    revision, message = await tampered(rows, more.format("'one-more', closed_at, table_id", "cause, cause_version"), *who)
    assert (revision, "of one-more" in message, "no result makes it" in message) == (revisions[one.cause, one.cause_version], True, True)
    revision, message = await tampered(rows, more.format("player, closed_at, 'no-pulka'", "cause, cause_version"), *who)
    assert (revision, "after no-pulka" in message) == (revisions[one.cause, one.cause_version], True)
    revision, message = await tampered(rows, more.format("player, closed_at, table_id", "'nobody', 2"), *who)
    assert (revision, "by nobody, which said nothing anew" in message) == (0, True)
    assert await ratings_check.check(rows) == RatingsChecked(checked=True)


async def tampered(rows, statement, *values):
    """What the check says once `statement` has changed one row, which is undone again: the problem's revision and message."""
    transaction = rows.transaction(isolation="repeatable_read")
    await transaction.start()
    assert await rows.execute(statement, *values) in {"UPDATE 1", "DELETE 1", "INSERT 0 1"}
    (problem,) = (await ratings_check.check(rows)).problems
    await transaction.rollback()
    assert problem.code == "rows_differ"
    return problem.revision, problem.message
