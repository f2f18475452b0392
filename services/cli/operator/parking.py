"""`pulka ledger parked`, `retry`, `skip`: tables whose commits the ledger could not apply. Needs NATS and Postgres, no key."""

from __future__ import annotations

import asyncio
import datetime as dt
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

import click
import msgspec
from rich.console import Console

from services.cli.console.authors import author_of, sentence
from services.cli.console.logs import log_to
from services.cli.console.plural import counted
from services.cli.operator.connections import books_of, connections, told_in_words
from services.ledger.books import Books
from services.ledger.own.own_events import OwnEvents
from services.ledger.own.parked import LeftOut, NotAnswered, ParkedTable, ParkingChronicle, left_out, order_about, ordered, parked_tables
from shared.events.address import is_id
from shared.projections.core.history import RefusedToRun
from shared.projections.core.projection import Connection
from shared.projections.parking.orders import RETRY, SKIP, Order, Outcome
from shared.projections.versions.versions import Versions
from shared.web.log_connection import connected_log
from shared.web.service import CannotStart, ServersUnreachable
from shared.web.settings import Settings

STILL_PARKED: Final = 1  # exit status: what was asked for could not be done


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def parked(*, as_json: bool) -> None:
    """List the tables that wait because a commit could not be applied, and commits that were left out for good."""
    waiting, skipped = _run(_listed)
    if as_json:
        click.echo(msgspec.json.encode({"parked": waiting, "skipped": skipped}))
        return
    for table in waiting:
        since = "" if table.since is None else f" since {_time(table.since)}"
        follow = f", {table.follow} more follow" if table.follow else ""
        click.echo(f"{table.table_id}: revision {table.revision} ({table.position}): {table.reason}{since}{follow}")
    for skip in skipped:
        click.echo(f"{skip.table_id}: revision {skip.revision} left out by {skip.by} at {_time(skip.at)}: {skip.why}")
    if not waiting:
        click.echo("nothing is parked")


@click.command()
@click.argument("table_id", metavar="[TABLE]", required=False)
@click.option("--all", "every", is_flag=True, help="All tables that wait.")
@click.option("--by", "author", metavar="NAME", help="Who asks.  [default: the user's name]")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def retry(table_id: str | None, author: str | None, *, every: bool, as_json: bool) -> None:
    """Apply the parked commits of TABLE, all or none. Run it after you have installed a fixed program.

    Exit status 1 when something is still parked.
    """
    if every == (table_id is not None):
        raise click.UsageError("either TABLE or --all")
    author = author_of(author)
    _known(table_id)
    answers = _run(lambda settings: _retried(settings, table_id, author))
    if as_json:
        click.echo(msgspec.json.encode({"tables": answers}))
    for answer in () if as_json else answers:
        click.echo(f"{answer['table_id']}: {_told(answer)}")
    if not as_json and not answers:
        click.echo("nothing is parked")
    sys.exit(STILL_PARKED if any(answer["reason"] for answer in answers) else 0)


@click.command()
@click.argument("table_id", metavar="TABLE")
@click.option("--why", required=True, metavar="TEXT", help="The reason; recorded in the log.")
@click.option("--by", "author", metavar="NAME", help="Who decides; recorded in the log.  [default: the user's name]")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def skip(table_id: str, why: str, author: str | None, *, as_json: bool) -> None:
    """Leave the first parked commit of TABLE out of the ledger for good, and apply the rest.

    The commit stays in the log, every rebuild leaves it out, and `pulka audit verify` tells who left it out and why. Exit status 1 when
    the rest is still parked.
    """
    author, why = author_of(author), sentence("--why", why)
    _known(table_id)
    answer = _run(lambda settings: _skipped(settings, table_id, author, why))
    if as_json:
        click.echo(msgspec.json.encode(answer))
    else:
        left = "" if answer["skipped"] is None else f"revision {answer['skipped']} is left out, "
        click.echo(f"{answer['table_id']}: {left}{_told(answer)}")
    sys.exit(STILL_PARKED if answer["reason"] else 0)


def _known(table_id: str | None) -> None:
    if table_id is not None and not is_id(table_id):
        raise CannotStart(f"{table_id!r} is not a table's id")


def _told(answer: dict[str, Any]) -> str:
    match answer["reason"]:
        case None:
            return f"{counted(answer['applied'], 'commit')} applied"
        case "not_parked":
            return "nothing of it is parked"
        case "another_commit":
            return f"not done, revision {answer['revision']} is the first that waits now"
        case "out_of_place":
            return f"not done, revision {answer['revision']} is not the books' next one: its place in the log is wrong, not what it says"
        case reason:
            applied = f"{counted(answer['applied'], 'commit')} applied, " if answer["applied"] else ""
            return f"{applied}{counted(answer['parked'], 'commit')} still parked: {reason} at revision {answer['revision']}"


def _time(milliseconds: int) -> str:
    return dt.datetime.fromtimestamp(milliseconds / 1000, tz=dt.UTC).isoformat(timespec="seconds")


# ---- with the servers ------------------------------------------------------------------------------------------------


def _run(work: Callable[[Settings], Coroutine[Any, Any, Any]]) -> Any:
    settings = connections()
    log_to(sys.stderr, "warning")  # standard output is the answer's
    console = Console(stderr=True)
    try:
        with told_in_words(settings):
            if not console.is_terminal:
                return asyncio.run(work(settings))
            with console.status("asking the ledger"):
                return asyncio.run(work(settings))
    except NotAnswered as late:
        raise ServersUnreachable(str(late)) from late
    except RefusedToRun as refused:
        raise CannotStart(f"the ledger refuses this log: {refused}") from refused


@asynccontextmanager
async def _books(settings: Settings) -> AsyncIterator[Connection]:
    connection = await books_of(settings)
    try:
        yield connection
    finally:
        await connection.close()


async def _listed(settings: Settings) -> tuple[list[ParkedTable], list[LeftOut]]:
    async with _books(settings) as connection:
        return await parked_tables(connection), await left_out(connection)


async def _retried(settings: Settings, table_id: str | None, author: str) -> list[dict[str, Any]]:
    async with _books(settings) as connection:
        waiting = [table for table in await parked_tables(connection) if table_id in (None, table.table_id)]
        if not waiting and table_id is not None:
            return [_answer(table_id, Outcome(reason="not_parked"))]
        given = {table.table_id: order_about(table, RETRY, author) for table in waiting}
        outcomes = await _ordered(settings, connection, list(given.values()))
        return [_answer(table_id, outcomes[order.id]) for table_id, order in given.items()]


async def _skipped(settings: Settings, table_id: str, author: str, why: str) -> dict[str, Any]:
    async with _books(settings) as connection:
        if not await Versions(Books.name, settings.namespace).alone(connection):  # until the command ends
            raise CannotStart("a rebuild is running and would include this commit; skip it when the rebuild is done")
        found = [table for table in await parked_tables(connection) if table.table_id == table_id]
        if not found:
            return _answer(table_id, Outcome(reason="not_parked")) | {"skipped": None}
        order = order_about(found[0], SKIP, author, why)
        outcome = (await _ordered(settings, connection, [order]))[order.id]
        revisions = [one.revision for one in await left_out(connection) if one.table_id == table_id]
        return _answer(table_id, outcome) | {"skipped": order.revision if order.revision in revisions else None}


async def _ordered(settings: Settings, connection: Connection, given: list[Order]) -> dict[str, Outcome]:
    log, books = await connected_log(settings, "pulka ledger", on_closed=None), Books()
    try:
        return await ordered(connection, log, books, ParkingChronicle(OwnEvents(log), books.name), given)
    finally:
        await log.close()


def _answer(table_id: str, outcome: Outcome) -> dict[str, Any]:
    return {"table_id": table_id} | msgspec.structs.asdict(outcome)
