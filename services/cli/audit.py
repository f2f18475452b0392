"""`pulka audit`: whether the log and the books are what they claim to be. Needs the two servers, no key and no home."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import aclosing
from typing import Any, Final

import asyncpg
import click
import msgspec
from rich.console import Console
from rich.progress import Progress

from services.cli.composition import require_reachable
from services.cli.logs import log_to
from services.ledger.books import Books
from services.ledger.verify import tables_in, verify_table
from shared.eventlog.port import EventLog, LogError
from shared.events.address import TABLE_STREAMS, is_id, table
from shared.projections.projection import Connection, schema_of
from shared.web.log_connection import connected_log
from shared.web.service import CannotStart, ServersUnreachable
from shared.web.settings import Settings, masked, read_settings, variable

FAILED: Final = 1  # exit status: a verification failed
Verdict = dict[str, Any]


@click.group()
def audit() -> None:
    """Check the log: hashes, deals, rules, and the rows made from them."""


@audit.command()
@click.argument("table_id", metavar="[TABLE]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Answer by one JSON object.")
def verify(table_id: str | None, *, as_json: bool) -> None:
    """Verify TABLE, or every table of PULKA_NATS_URL against PULKA_POSTGRES_DSN.

    Exit status 1 when something is wrong; each problem names its revision.
    """
    settings = read_settings(os.environ)
    for name in ("nats_url", "postgres_dsn"):
        if not getattr(settings, name):
            raise CannotStart(f"{variable(name)} is not set; `pulka up --json` tells both connections")
    if table_id is not None and not is_id(table_id):
        raise CannotStart(f"{table_id!r} is no table's id")
    require_reachable(settings)
    log_to(sys.stderr, "warning")  # standard output is the verdict's; retries and the like are no news
    verdicts = asyncio.run(_verified(settings, table_id))
    well = all(verdict["verified"] for verdict in verdicts)
    if as_json:
        click.echo(msgspec.json.encode(verdicts[0] if table_id is not None else {"verified": well, "tables": verdicts}))
    else:
        _say(verdicts, every=table_id is not None)
    sys.exit(0 if well else FAILED)


def _say(verdicts: list[Verdict], *, every: bool) -> None:
    for verdict in verdicts:
        if every or not verdict["verified"]:
            word = "verified" if verdict["verified"] else "NOT VERIFIED"
            click.echo(f"{verdict['table_id']}: {word}, {verdict['commits']} commits, head {verdict['head'][:16]}")
        for problem in verdict["problems"]:
            click.echo(f"  revision {problem['revision']}: {problem['code']}: {problem['message']}")
    if not every:
        commits = sum(verdict["commits"] for verdict in verdicts)
        wrong = sum(not verdict["verified"] for verdict in verdicts)
        tables = "1 table" if len(verdicts) == 1 else f"{len(verdicts)} tables"
        click.echo(f"{tables}, {commits} commits, {f'{wrong} not verified' if wrong else 'all verified'}")


async def _verified(settings: Settings, table_id: str | None) -> list[Verdict]:
    """One verdict a table. Raises `ServersUnreachable`, `CannotStart`."""
    log = await connected_log(settings, "pulka audit", on_closed=None)
    try:
        connection = await _books(settings)
        try:
            return await (_one(log, connection, table_id) if table_id is not None else _all(log, connection))
        finally:
            await connection.close()
    except LogError as wrong:
        raise ServersUnreachable(f"NATS at {masked(settings.nats_url)}: {wrong}") from wrong
    except asyncpg.UndefinedTableError:
        raise CannotStart("this database has no books of the ledger; start it once") from None
    except (OSError, asyncpg.PostgresError) as wrong:
        raise ServersUnreachable(f"Postgres at {masked(settings.postgres_dsn)}: {type(wrong).__name__}") from wrong
    finally:
        await log.close()


async def _books(settings: Settings) -> Connection:
    return await asyncpg.connect(settings.postgres_dsn, server_settings={"search_path": schema_of(Books(), settings.namespace)})


async def _one(log: EventLog, connection: Connection, table_id: str) -> list[Verdict]:
    verdict = await verify_table(log, table(table_id), connection)
    if not verdict["commits"] and not verdict["problems"]:
        raise CannotStart(f"the log knows no table {table_id}")
    return [{"table_id": table_id, **verdict}]


async def _all(log: EventLog, connection: Connection) -> list[Verdict]:
    """Every table that the log or the books know, the log's first."""
    verdicts: list[Verdict] = []
    seen: set[str] = set()
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("tables", total=await connection.fetchval("SELECT count(*) FROM tables"))
        async with aclosing(tables_in(log, TABLE_STREAMS)) as addresses:
            async for address in addresses:
                seen.add(address.id)
                verdicts.append({"table_id": address.id, **await verify_table(log, address, connection)})
                bar.advance(task)
        lost = await connection.fetch("SELECT table_id FROM tables WHERE table_id <> ALL($1) ORDER BY table_id", list(seen))
        verdicts += [{"table_id": row["table_id"], **await verify_table(log, table(row["table_id"]), connection)} for row in lost]
    return verdicts
