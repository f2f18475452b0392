"""Rows that somebody changed in Postgres: every column of every view, one after another, is held against the log."""

from __future__ import annotations

import asyncpg
import pytest

from services.ledger.audit.verify import verify_table
from shared.events.commit import hash_of
from tests.services.ledger.played import PlayedTable
from tests.services.ledger.views.test_adjudicated import TERMS, Misplayed
from tests.services.ledger.views.test_members import with_newcomer

pytestmark = pytest.mark.servers

OF_THE_LOOP = frozenset(
    {"checkpoint", "lease", "heads", "parked", "skipped", "parking_orders"}
)  # the follow loop's own: it checks them itself
DERIVED = frozenset({"ratings_due"})  # what the ratings have still to be made of; they are made again behind the books
CHANGED = {
    "text": "coalesce({0}, '') || 'x'",
    "bigint": "coalesce({0}, 0) + 1",
    "integer": "coalesce({0}, 0) + 1",
    "numeric": "coalesce({0}, 0) + 1",
    "double precision": "coalesce({0}, 0) + 1",
    "jsonb": "'0'::jsonb",
    "boolean": "NOT coalesce({0}, false)",
    "ARRAY": "array_append({0}, NULL)",
}
REFUSED = (asyncpg.IntegrityConstraintViolationError, asyncpg.RaiseError)  # what the database itself keeps right


async def columns(connection, schema):
    """Table, column and type of everything that tells of one table."""
    rows = await connection.fetch(
        """
        SELECT table_name, column_name, data_type
        FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
        WHERE table_schema = $1 AND table_type = 'BASE TABLE' ORDER BY table_name, ordinal_position
        """,
        schema,
    )
    of_tables = {row["table_name"] for row in rows if row["column_name"] == "table_id"}
    return [tuple(row) for row in rows if row["table_name"] in of_tables - OF_THE_LOOP - DERIVED]


def changed(table, column, value, where):
    """The statement that gives a row another value."""
    quoted = f'"{column}"'
    return f'UPDATE "{table}" SET {quoted} = {value.format(quoted)} WHERE {where}'


async def noticed(log, played, connection, statement):
    """Whether the verification finds the change, or the database refuses it; None when there was no row to change. It is undone again."""
    transaction = connection.transaction(isolation="repeatable_read")
    await transaction.start()
    try:
        async with connection.transaction():
            done = await connection.execute(statement)
        return None if done.endswith(" 0") else not (await verify_table(log, played.address, connection))["verified"]
    except REFUSED:
        return True
    finally:
        await transaction.rollback()


async def closed(log):
    """A pulka to its end, with a settlement and whists that were posted."""
    return await PlayedTable(log, 61, target=4, players=4).play()


async def by_hand(log):
    """A table whose players keep the sheet themselves."""
    terms = TERMS | {"entries": "by_hand", "seating": "chosen"}
    return await Misplayed(log, 62, target=6, terms=terms).play(deals=4)


ALWAYS = frozenset({"tables", "audit_trail", "scores", "revealed"})


@pytest.mark.parametrize(("play", "rows"), [(closed, {"accounts", "postings"}), (with_newcomer, {"sections"}), (by_hand, {"own_entries"})])
async def test_every_column_of_every_row_is_verified(log, projector, connection, schema, play, rows):
    """A value that is not what the commits say is noticed, in whichever view; likewise a row that was taken out."""
    played = await play(log)
    assert await projector.at_least.wait(played.commits[-1].position)
    assert (await verify_table(log, played.address, connection))["problems"] == []
    found = await columns(connection, schema)
    one = {table: f'ctid = (SELECT max(ctid) FROM "{table}")' for table, _, _ in found}
    changes = [(table, name, changed(table, name, CHANGED[kind], one[table])) for table, name, kind in found]
    changes += [(table, "a row less", f'DELETE FROM "{table}" WHERE {where}') for table, where in one.items()]
    results = {(table, what): await noticed(log, played, connection, statement) for table, what, statement in changes}
    assert [change for change, result in results.items() if result is False] == []
    assert {table for (table, _), result in results.items() if result is not None} >= ALWAYS | rows


async def test_a_changed_row_is_no_damage_of_the_log(log, projector, connection):
    """A hash in the audit trail that is not the commit's is named as a row: the next commit proves the bytes of the log."""
    played = await closed(log)
    assert await projector.at_least.wait(played.commits[-1].position)
    await connection.execute("UPDATE audit_trail SET hash = reverse(hash) WHERE table_id = $1 AND revision = 20", played.id)
    verdict = await verify_table(log, played.address, connection)
    assert [(problem["revision"], problem["code"]) for problem in verdict["problems"]] == [(20, "rows_differ")]
    assert verdict["head"] == hash_of(played.commits[-1].data)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE heads SET revision = revision - 1 WHERE aggregate = $1",
        "UPDATE heads SET hash = reverse(hash) WHERE aggregate = $1",
        "DELETE FROM heads WHERE aggregate = $1",
        "UPDATE postings SET place = place + 7 WHERE $1 LIKE '%.' || table_id",
    ],
)
async def test_heads_and_places_are_verified(log, projector, connection, statement):
    """Where the books go on from a table, and the places of its postings, once the database's own guard is taken away."""
    played = await closed(log)
    assert await projector.at_least.wait(played.commits[-1].position)
    await connection.execute("ALTER TABLE postings DISABLE TRIGGER ALL")
    await connection.execute(statement, played.address.subject)
    verdict = await verify_table(log, played.address, connection)
    assert {problem["code"] for problem in verdict["problems"]} == {"rows_differ"}
