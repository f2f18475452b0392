"""A imported pulka in the books: sheet, deals, score file and statement as of one that was played here, marked, proved and not rated."""

from __future__ import annotations

import json

import msgspec
import pytest

from services.cli.console.settlement_drawing import drawn_since
from services.ledger.audit.verify import verify_table
from services.ledger.books import Books
from shared.projections.versions.rebuild import fingerprint, rebuild
from shared.rules.pulka.imported import imported
from shared.rules.score_files.score_file import score_document
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers

AUTHOR = "operator:desk"
FILE = {
    "convention": "leningrad",
    "players": 4,
    "start": {"pool": [2, 0, 0, 1], "mountain": [4, 0, 0, 0], "whists": [[1, 0, 8]], "all_pass_in_row": 1},
    "target": 10,
    "deals": [
        {"dealer": 3, "declarer": 0, "contract": "6S", "calls": [None, "whist", "pass", None], "tricks": [6, 2, 2, 0]},
        {"contract": "all_pass", "tricks": [0, 5, 3, 2]},
        {"declarer": 2, "contract": "misere", "tricks": [5, 0, 3, 2]},
    ],
    "stake": "1/3",
}


async def recorded_table(log, seed=1, file=FILE, *, seats=True, visibility="public", played_on=None):
    """A table whose first commit records `file`."""
    table = PlayedTable(log, seed, players=file["players"])
    table.seats = table.seats if seats else ()
    await table.commit(AUTHOR, (imported(file, table.seats, visibility, AUTHOR, played_on),))
    return table


async def test_sheet_deals_and_score_file_are_those_of_the_file(site, log):
    """The sheet is the answer of `pulka score`; the exported score file gives it again, and imported again it is the same file."""
    table = await recorded_table(log)
    sheet = await site.read(table, "/sheet")
    answer = json.loads(json.dumps(score_document(FILE)))
    assert {name: sheet[name] for name in answer} == answer
    assert (sheet["recorded"], sheet["closed"]) == (True, False)
    for lang, mark in (("en", "played elsewhere"), ("ru", "сыграна не здесь")):
        assert mark in (await site.get(f"/tables/{table.id}/sheet", headers={"Accept": "text/html"}, lang=lang)).text
    assert (await site.read(table, "/sheet", **{"as": "sochi"}))["recorded"] is True
    file = await site.read(table, "/score-file")
    assert json.loads(json.dumps(score_document(file))) == answer
    assert json.loads(msgspec.json.encode(imported(file, (), "public", AUTHOR).score_file)) == file
    deals = (await site.read(table, "/deals"))["deals"]
    assert [(deal["number"], deal["contract"], deal["dealer"]) for deal in deals] == [(1, "6S", 3), (2, "all_pass", 0), (3, "misere", 1)]
    assert [deal["written"] for deal in deals] == answer["deals"]
    assert (await site.get(f"/tables/{table.id}/deals/1")).json()["code"] == "no_such_deal"


async def test_lines_are_marked(site, log):
    """Each player has his line with the settlement's numbers, marked; his deals are there; an export has the mark too."""
    table, played = await recorded_table(log), await PlayedTable(log, 2).play()
    await site.read(table, "/sheet")
    await site.read(played, "/sheet")
    settled = score_document(FILE)["settlement"]
    for seat, player in enumerate(table.seats):
        (line,) = (await site.get(f"/players/{player}/statement")).json()["pulkas"]
        told = (line["net"], line["rounded"], line["payment"], line["recorded"])
        assert told == (settled["net"][seat], settled["rounded"][seat], str(settled["payments"][seat]), True)
        assert [deal["number"] for deal in (await site.get(f"/players/{player}/deals")).json()["deals"]] == [3, 2, 1]
    assert [line["recorded"] for line in (await site.get(f"/players/{played.seats[0]}/statement")).json()["pulkas"]] == [False]
    rows = [json.loads(line) for line in (await site.get("/export/entries")).text.splitlines()]
    assert {row["recorded"] for row in rows if row.get("table_id") == table.id} == {True}
    assert {row["recorded"] for row in rows if row.get("table_id") == played.id} == {False}


async def test_without_names_nobody_has_a_line(site, log, connection):
    """A file of strangers has a sheet and no line; all may look at it."""
    table = await recorded_table(log, seats=False)
    assert len((await site.read(table, "/sheet"))["deals"]) == 3
    assert await connection.fetchval("SELECT count(*) FROM who_played") == 0
    empty = await recorded_table(log, 2, FILE | {"deals": []}, seats=False)
    assert (await site.read(empty, "/sheet"))["sheet"]["pool"] == [2, 0, 0, 1]
    assert [json.loads(line) for line in (await site.get("/export/statement")).text.splitlines()][-1] == {"end": {"rows": 0}}


async def test_4_2_16_without_names_a_correction_has_no_amounts(site, log):
    """Nobody has an account that it could change; by whom it was made and why is told all the same, on every kind of sheet."""
    table = await recorded_table(log, seats=False)
    await table.correct(1, -1, 0, 0)
    sheet = await site.read(table, "/sheet")
    assert [(one["amounts"], one["reason"]) for one in sheet["corrections"]] == [([], "a trick was counted twice")]
    page = await site.get(f"/tables/{table.id}/sheet", headers={"Accept": "text/html"})
    assert (page.status_code, "a trick was counted twice" in page.text) == (200, True)
    assert drawn_since(sheet, ["A", "B", "C", "D"], first=0) is not None


async def test_only_its_players_look_at_a_private_one(site, log):
    """`visibility` holds for it as for any table."""
    table = await recorded_table(log, visibility="private")
    await site.read(table, "/sheet", table.seats[1])
    assert (await site.get(f"/tables/{table.id}/sheet")).status_code == 401
    assert (await site.get(f"/tables/{table.id}/sheet", "somebody")).json()["code"] == "not_seated"


async def test_it_is_verified_by_scoring_again(site, log, connection):
    """The audit scores the file again by the rules; its bytes are open, since it hides no card. What was forged is found."""
    table = await recorded_table(log)
    assert await site.read(table, "/audit/verify") == {"verified": True, "commits": 1, "head": table._head, "problems": []}
    (commit,) = (await site.read(table, "/audit"))["commits"]
    assert commit["commit"]["events"][0]["type"] == "PulkaRecorded"
    assert (await verify_table(log, table.address, connection))["verified"]

    async def problems(seed, author, change):
        forged = PlayedTable(log, seed, players=4)
        honest = imported(FILE, forged.seats, "public", AUTHOR)
        await forged.commit(author, (msgspec.structs.replace(honest, **change(honest)),))
        return [(one["revision"], one["code"]) for one in (await verify_table(log, forged.address))["problems"]]

    assert await problems(11, AUTHOR, lambda _: {}) == []
    forged = [(1, "not_by_the_rules")]
    assert await problems(12, AUTHOR, lambda event: {"settlement": event.settlement | {"rounded": [9, -3, -3, -3]}}) == forged
    assert await problems(13, AUTHOR, lambda event: {"deals": event.deals[:2]}) == forged
    assert await problems(14, AUTHOR, lambda _: {"target": 12}) == forged
    assert await problems(15, "somebody", lambda _: {"author": "somebody"}) == forged
    assert await problems(16, "operator:other", lambda _: {}) == forged


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE scores SET sheet = replace(sheet, '[', '[1') WHERE deal = 2",
        "UPDATE tables SET recorded = false",
        "UPDATE accounts SET net = '7' WHERE seat = 0",
        "DELETE FROM sections",
        "DELETE FROM who_played WHERE deal = 3",
    ],
)
async def test_rows_that_were_changed_are_noticed(log, projector, connection, statement):
    """The rows of an imported pulka are held against its event like any others."""
    table = await recorded_table(log)
    assert await projector.at_least.wait(table.commits[-1].position)
    assert await connection.execute(statement) not in ("UPDATE 0", "DELETE 0")
    assert "rows_differ" in {problem["code"] for problem in (await verify_table(log, table.address, connection))["problems"]}


async def test_a_rebuild_gives_the_same_rows(log, projector, connection, postgres_dsn):
    """Recorded and played pulkas, rebuilt from the log: equal bytes."""
    await recorded_table(log)
    last = (await PlayedTable(log, 2).play()).commits[-1]
    assert await projector.at_least.wait(last.position)
    await projector.stop()
    await rebuild(log, Books(), TABLE_STREAMS[:1], postgres_dsn, projector.schema + "_again")
    assert await fingerprint(connection, projector.schema + "_again") == await fingerprint(connection, projector.schema)
