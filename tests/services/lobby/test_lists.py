"""Lists of tables: filters, pages, read-your-writes; and that the rows follow the tables' own log, in whatever order things arrive."""

from __future__ import annotations

import asyncio

import pytest

from services.lobby import table_progress
from services.lobby.database import Database
from services.lobby.responses import status_of
from services.lobby.tables import Table
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events import address
from shared.rules.language.correction_events import PulkaAnnulled, ResultCorrected
from shared.web.paging import to_cursor


async def listed(person, query=""):
    return [table["id"] for table in (await person.get(f"/tables{query}"))["tables"]]


async def begun(people, monkeypatch):
    monkeypatch.setattr("services.lobby.table_api.READY_S", 0.01)
    table = (await people[0].post("/tables", {}))["id"]
    for person in people:
        await person.post(f"/tables/{table}/seats")
    for person in people:
        answer = await person.post(f"/tables/{table}/ready", status=200)
    await people[0].get(f"/tables?at_least={answer['table']['position']}")
    return table


async def until(ask, wanted):
    """Ask again until the answer is `wanted`: projections come a few milliseconds later."""
    async with asyncio.timeout(5):
        while await ask() != wanted:
            pass  # each question takes a millisecond or two


async def test_pages_run_to_the_end(sign_up):
    """Pages show every table once, newest first, and end; a table opened meanwhile does not upset them."""
    anna = await sign_up("Anna")
    opened = [(await anna.post("/tables", {}))["id"] for _ in range(7)]
    last = await anna.post("/tables", {})
    page = await anna.get(f"/tables?limit=3&at_least={last['position']}")
    for table in opened:
        await until(lambda table=table: in_list(anna, table), wanted=True)
    page = await anna.get("/tables?limit=3")
    seen = [table["id"] for table in page["tables"]]
    await anna.post("/tables", {})
    while page["cursor"]:
        page = await anna.get(f"/tables?limit=3&cursor={page['cursor']}")
        seen += [table["id"] for table in page["tables"]]
    assert sorted(seen) == sorted([*opened, last["id"]])
    times = [table["opened_at"] for table in page["tables"]]
    assert times == sorted(times, reverse=True)
    assert page["as_of"] >= last["opened_at"]
    assert page["tables"][0]["host"]["name"] == "Anna"


async def in_list(person, table):
    return table in await listed(person)


async def test_filters(sign_up, sign_up_bot, host_token):
    """Lists go by status, convention and wish for bots; private tables show only to bots and their host; filters come before the limit."""
    anna = await sign_up()
    tables = {}
    for name, terms in {
        "plain": {},
        "rostov": {"convention": "rostov"},
        "bots": {"bots": 2},
        "private": {"bots": 1, "visibility": "private"},
        "closed": {},
    }.items():
        tables[name] = await anna.post("/tables", terms)
    await anna.delete(f"/tables/{tables['closed']['id']}")
    names = {table["id"]: name for name, table in tables.items()}

    async def named(person, query):
        return sorted(names[table] for table in await listed(person, query))

    await until(lambda: named(anna, ""), ["bots", "closed", "plain", "rostov"])
    await until(lambda: named(anna, "?status=closed"), ["closed"])
    assert await named(anna, "?status=open") == ["bots", "plain", "rostov"]
    assert await named(anna, "?convention=rostov") == ["rostov"]
    assert await named(anna, "?wants_bots=true") == ["bots"]
    assert await named(anna, "?convention=rostov&limit=1") == ["rostov"]
    robot = await sign_up_bot()
    assert await named(robot, "?status=open&wants_bots=true") == ["bots", "private"]
    robot.token = host_token
    assert await named(robot, "?status=open&wants_bots=true") == ["bots", "private"]
    robot.token = (await anna.post("/tokens", {}))["token"]
    assert await named(robot, "?status=open&wants_bots=true") == ["bots"]


WRONG_QUERIES = [
    ("status=lost", "status"),
    ("limit=0", "limit"),
    ("limit=201", "limit"),
    ("cursor=x", "cursor"),
    (f"cursor={to_cursor((1 << 63, 'a'))}", "cursor"),
    ("convention=sochi%00", "convention"),
    ("convention=nope", "convention"),
    ("wants_bots=perhaps", "wants_bots"),
    ("club=x", "club"),
    ("at_least=TABLE_0:1", "at_least"),
    ("at_least=LOBBY_0:x", "at_least"),
]


async def test_queries_that_cannot_be(stranger):
    """Malformed and unknown parameters are 400 by name."""
    for query, path in WRONG_QUERIES:
        assert (await stranger.get(f"/tables?{query}", status=400))["path"] == path


async def test_a_position_that_does_not_come(stranger, monkeypatch):
    """A list that does not reach the wanted position in time is 503: it would not show what its reader wrote."""
    monkeypatch.setattr("shared.projections.core.at_least.WAIT_S", 0.05)
    monkeypatch.setattr("shared.projections.core.at_least.AtLeast.wait.__defaults__", (0.05,))
    assert (await stranger.get("/tables?at_least=LOBBY_0:999", status=503))["code"] == "unavailable"


async def test_the_rows_follow_the_table(sign_up, table_service, monkeypatch):
    """A table is listed as starting, playing, over as its own log goes on, and under one status at a time."""
    people = [await sign_up(name) for name in ("Anna", "Boris", "Vera")]
    table = await begun(people, monkeypatch)
    assert await listed(people[0], "?status=starting") == [table]
    await table_service.open(table)
    await until(lambda: listed(people[0], "?status=playing"), [table])
    assert await listed(people[0], "?status=starting") == []
    await table_service.close(table)
    await until(lambda: listed(people[0], "?status=over"), [table])
    assert await listed(people[0], "?status=playing") == []
    assert (await people[0].get(f"/tables/{table}"))["status"] == "over"


async def test_the_table_is_first(settings, sign_up, table_service, monkeypatch):
    """News from the table that arrive before the lobby's own row, twice, or in reverse do not lower its status."""
    people = [await sign_up(name) for name in ("Anna", "Boris", "Vera")]
    table = await begun(people, monkeypatch)
    await table_service.open(table)
    await table_service.close(table)
    await until(lambda: listed(people[0], "?status=over"), [table])
    late = table_progress.Progress(table_service.log, Database(settings.postgres_dsn), f"{settings.namespace}_lobby_v1")
    await late._database.open("SELECT 1")
    await late._write([(table, "playing", 1), (table, "over", 2)])
    await late._write([(table, "playing", 3)])
    await late._database.close()
    assert await listed(people[0], "?status=over") == [table]


async def test_an_annulled_pulka_is_listed_as_that(sign_up, table_service, monkeypatch):
    """A correction leaves the table over, an annulment is the last thing to be said of it; both by the table's own newest commit, too."""
    people = [await sign_up(name) for name in ("Anna", "Boris", "Vera")]
    table = await begun(people, monkeypatch)
    await table_service.open(table)
    await table_service.close(table)
    await until(lambda: listed(people[0], "?status=over"), [table])
    await table_service.write(table, ResultCorrected(1, ("1", "-1", "0"), "operator:desk", "why"))
    assert (await people[0].get(f"/tables/{table}"))["status"] == "over"
    assert await table_progress.status_now(table_service.log, table) == "over"
    await table_service.write(table, PulkaAnnulled("operator:desk", "why"))
    await until(lambda: listed(people[0], "?status=annulled"), [table])
    assert await listed(people[0], "?status=over") == []
    assert (await people[0].get(f"/tables/{table}"))["status"] == "annulled"


async def test_a_restart_goes_on(lobby, sign_up, table_service, monkeypatch):
    """A lobby that starts again shows the same rows and goes on following."""
    people = [await sign_up(name) for name in ("Anna", "Boris", "Vera")]
    table = await begun(people, monkeypatch)
    await table_service.open(table)
    await until(lambda: listed(people[0], "?status=playing"), [table])
    before = await people[0].get("/tables")
    await lobby.stop()
    assert (await people[0].ask("GET", "/tables")).status_code == 503
    await table_service.close(table)
    await lobby.start()
    await until(lambda: listed(people[0], "?status=over"), [table])
    after = await people[0].get("/tables")
    assert after["tables"] == [before["tables"][0] | {"status": "over"}]


@pytest.mark.parametrize(
    ("known", "status"),
    [
        ((None, None), "starting"),
        (("playing", None), "playing"),
        ((None, "playing"), "playing"),
        (("playing", "over"), "over"),
        (("annulled", "over"), "annulled"),
        (("refused", "playing"), "refused"),
    ],
)
def test_the_highest_rank_holds(known, status):
    """A status is merged by rank, whoever brings it and in whatever order."""
    assert status_of(Table("0-x", status="starting"), *known) == status


@pytest.mark.parametrize(
    "damaged", [b'{"PulkaClosed"', b'{"type":"PulkaOpened","x":' + b"[" * 100_000], ids=["cut off", "brackets without end"]
)
async def test_f20_a_table_with_a_damaged_commit_is_shown_all_the_same(damaged):
    """F20: bytes that look like an end and are no commit say nothing of a table, and are no error of ours."""
    event_log, where = MemoryLog(MemoryStore()), address.table("0-" + "b" * 26)
    event_log.store.store(where, damaged, 0)
    assert await table_progress.status_now(event_log, where.id) == "playing"
    assert await table_progress.status_when_begun(event_log, where.id, 0.1) is None
