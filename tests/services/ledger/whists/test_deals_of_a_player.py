"""A player's deals page by page: from an index, however many there are (F37)."""

from __future__ import annotations

import json

import pytest

from services.ledger.whists import statement
from services.ledger.whists.statement import AFTER_A_KEY, DEALS, FROM_THE_NEWEST
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers

MANY = 20_000  # deals of one player, ten a table: more than a planner reads whole for a page
PLAYER = "0-" + "p" * 26
PAGE = 51

#: Tables, deals and parts as the books have them, of two players each; what a page shows of a deal is short here.
FILLED = f"""
INSERT INTO tables (table_id, stream, sequence, revision, at, hash, status, players, seats, convention, open_to_all, delay_deals, deal,
                    first_sequence, recorded, sections, rated)
SELECT 't' || n, 'TABLE_0', n, 1, n * 100, '', CASE WHEN n % 2 = 0 THEN 'over' ELSE 'playing' END, 3, '{{}}', '{{}}', n % 3 > 0, 0, 10,
       n, false, 0, true FROM generate_series(1, {MANY // 10}) AS n;
INSERT INTO scores (table_id, deal, revision, at, outcome, written, sheet)
SELECT 't' || n, d, d, n * 100 + d, '{{}}', '{{}}', '{{}}' FROM generate_series(1, {MANY // 10}) AS n, generate_series(1, 10) AS d;
INSERT INTO who_played (player, table_id, deal, seat, at)
SELECT player, 't' || n, d, 0, n * 100 + d
FROM generate_series(1, {MANY // 10}) AS n, generate_series(1, 10) AS d, unnest(ARRAY['{PLAYER}', 'q' || n]) AS player;
INSERT INTO accounts (player, table_id, seat, opened_at)
SELECT player, 't' || n, 0, n * 100 FROM generate_series(1, {MANY // 10}) AS n, unnest(ARRAY['{PLAYER}', 'q' || n]) AS player;
ANALYZE tables; ANALYZE scores; ANALYZE who_played; ANALYZE accounts;
"""


def nodes(plan):
    """Every node of a plan."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


@pytest.fixture
async def filled(readers, connection, schema):
    """The rows of a large club, for one test."""
    assert readers
    await connection.execute(f'SET search_path TO "{schema}"')
    await connection.execute(FILLED)
    return connection


@pytest.mark.parametrize("condition", [FROM_THE_NEWEST, AFTER_A_KEY])
@pytest.mark.parametrize("reader", [None, PLAYER, "somebody"])
async def test_every_page_comes_from_an_index(filled, condition, reader):
    """F37: the first page and one from the middle read an index in order, as many rows as they need; no table is read whole."""
    key = () if condition == FROM_THE_NEWEST else (MANY * 5 + 5, "t1000", 5)
    query = DEALS.replace(FROM_THE_NEWEST, condition)
    explained = json.loads(await filled.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", PLAYER, reader, PAGE, *key))
    found = list(nodes(explained[0]["Plan"]))
    kinds = {node["Node Type"] for node in found}
    assert not kinds & {"Seq Scan", "Sort", "Incremental Sort", "Hash Join"}, kinds
    (walked,) = [node for node in found if node.get("Index Name") == "who_played_newest"]
    assert walked["Scan Direction"] == "Backward"
    assert walked["Actual Rows"] <= 4 * PAGE  # two of three tables are open to everybody
    assert "w.at" not in explained[0]["Plan"].get("Filter", "")
    assert ("ROW(at, table_id, deal)" in walked["Index Cond"]) == (condition == AFTER_A_KEY)


async def test_the_pages_of_many_deals_are_all_of_them(filled):
    """Page after page, each from the key of the one before, everything comes once and in order."""
    seen, before = [], None
    while page := await statement.deals_of(filled, PLAYER, PLAYER, before, 2_000):
        seen += [(score.at, score.table_id, score.deal) for _, score in page]
        before = seen[-1]
    assert len(seen) == MANY
    assert seen == sorted(seen, reverse=True)


async def test_a_part_has_the_time_of_its_deal(site, log, connection, schema):
    """What the list is ordered by is when the deal was scored, for everybody who played it."""
    played = await PlayedTable(log, 81, target=4).play()
    await site.read(played, "/sheet")
    await connection.execute(f'SET search_path TO "{schema}"')
    wrong = "SELECT count(*) FROM who_played w JOIN scores s USING (table_id, deal) WHERE w.at <> s.at"
    assert await connection.fetchval(wrong) == 0
    assert await connection.fetchval("SELECT count(*) FROM who_played") == 3 * len((await site.read(played, "/deals"))["deals"])
