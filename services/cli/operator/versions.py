"""`pulka ledger rebuild`, `status`, `drop`: the versions of the ledger's rows. Needs NATS and Postgres, no key, and no running service."""

from __future__ import annotations

import datetime as dt
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import asyncpg
import click
import msgspec
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column, Table

from services.cli.console.authors import author_of
from services.cli.console.logs import log_to
from services.cli.console.plural import counted
from services.cli.operator.connections import connections, told_in_words
from services.cli.serving.process import settle_memory
from services.ledger.archive import archive_files
from services.ledger.archive.archiving import told_archived
from services.ledger.archive.whole_log import archive_folder, archived_in
from services.ledger.books import VIEWS, Books
from services.ledger.desk.readers import live_books
from services.ledger.own.own_events import OwnEvents
from services.ledger.own.parked import ParkingChronicle
from services.ledger.own.switches import announce
from services.ledger.players import rating_rows
from shared.eventlog.port import LogError
from shared.projections.core.history import RefusedToRun
from shared.projections.parking.parking import StillFails
from shared.projections.versions.next_version import AlreadyFilling, NextVersion, RightLost, Switched
from shared.projections.versions.report import Report, Stream, report
from shared.projections.versions.versions import Versions
from shared.web.log_connection import connected_log
from shared.web.service import CannotBeDone, CannotStart, ServersUnreachable
from shared.web.settings import Settings

NICENESS: Final = 10  # of a rebuild: the services on the same machine have people waiting
TELL_S: Final = 5.0  # seconds between two lines of progress where there is no terminal
RATING: Final = "rating"  # what is computed from a version's rows, and can be computed anew without the rest
NAMES: Final = (*(view.__name__.rpartition(".")[2] for view in VIEWS), RATING)  # what VIEW can be


@click.command()
@click.argument("view", metavar="[VIEW]", required=False)
@click.option("--by", "author", metavar="NAME", help="Who orders it; recorded in the log.  [default: the user of the operating system]")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def rebuild(view: str | None, author: str | None, *, as_json: bool) -> None:
    """Fill a new version of the ledger's rows from the log, beside the one that is read, then switch readers to it.

    People may play meanwhile. All views are rebuilt together, since they share rows, so VIEW only has to be one of them. The version before
    stays, and older ones are dropped. One that was read a few seconds ago stays until the next rebuild. VIEW `rating` is computed from the
    other rows: naming it computes the ratings again, in the version that is read.
    """
    if view is not None and view not in NAMES:
        raise CannotStart(f"there is no view {view!r}; the views are {', '.join(NAMES)}")
    by = author_of(author)
    settings = _settings()
    if view == RATING:
        _computed(_run(settings, lambda: _rated(settings)), as_json=as_json)
        return
    began = time.monotonic()
    with suppress(OSError):  # not a matter to stop for
        os.nice(NICENESS)
    settle_memory()
    done: Switched = _run(settings, lambda: _rebuilt(settings, by))
    seconds = time.monotonic() - began
    if as_json:
        click.echo(msgspec.json.encode(_switched(done, seconds)))
        return
    now = done.version
    click.echo(f"version {now.number} is read now, {f'before it was {now.previous}' if now.previous else 'the first'}; ", nl=False)
    click.echo(f"{counted(done.sequences, 'commit')} in {seconds:.1f} s, {done.parked} parked")
    for number in done.dropped:
        click.echo(f"version {number} was dropped")
    if now.previous:
        click.echo(f"version {now.previous} is kept until the next rebuild, or `pulka ledger drop {now.previous}`")


@click.command()
@click.option("--streams", is_flag=True, help="Show each stream of each version, with who works on it.")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object, with the streams.")
def status(*, streams: bool, as_json: bool) -> None:
    """Show every version of the ledger's rows: its position, its lag, what is parked, who works on it, what is wrong."""
    settings = _settings()
    found: list[Report] = _run(settings, lambda: _reported(settings))
    if as_json:
        click.echo(msgspec.json.encode({"projection": Books.name, "rows": Books.version, "versions": [_document(one) for one in found]}))
    else:
        _show(found, streams=streams)


@click.command()
@click.argument("version", type=click.IntRange(1, 2**31 - 1))
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def drop(version: int, *, as_json: bool) -> None:
    """Drop the rows of a VERSION that nobody reads any more or that was left half filled."""
    settings = _settings()
    _run(settings, lambda: _dropped(settings, version))
    if as_json:
        click.echo(msgspec.json.encode({"dropped": version}))
    else:
        click.echo(f"version {version} was dropped")


# ---- what is said ----------------------------------------------------------------------------------------------------


def _computed(version: int, *, as_json: bool) -> None:
    if as_json:
        click.echo(msgspec.json.encode({"projection": Books.name, "version": version, "view": RATING}))
    else:
        click.echo(f"{RATING} was computed anew in version {version}")


def _switched(done: Switched, seconds: float) -> dict[str, Any]:
    now = done.version
    return {
        "projection": Books.name, "version": now.number, "previous": now.previous, "rows": now.rows, "commits": done.sequences,
        "seconds": round(seconds, 3), "parked": done.parked, "marks": now.marks, "author": now.author, "dropped": done.dropped,
    }  # fmt: skip


def _document(one: Report) -> dict[str, Any]:
    version = one.version
    return {
        "version": version.number, "state": one.state, "rows": version.rows, "author": version.author, "began": version.began,
        "switched": version.switched, "previous": version.previous, "position": one.position, "lag_commits": one.lag_commits,
        "lag_seconds": one.lag_seconds, "parked": one.parked, "reason": one.reason, "derived": one.derived,
        "streams": one.streams,
    }  # fmt: skip


def _show(found: list[Report], *, streams: bool) -> None:
    if not found:
        click.echo("the ledger has no tables here yet; start it once, or run `pulka ledger rebuild`")
        return
    left_at = {one.version.previous: one.version.switched for one in found if one.version.switched}
    for one in found:
        version = one.version
        since = left_at.get(version.number) if one.state == "retired" else version.switched
        click.echo(f"{Books.name} {version.number}: {one.state}{f' since {_time(since)}' if since else ''}, rows {version.rows}")
        click.echo(f"  position {one.position}, {one.lag_commits} commits behind, {one.lag_seconds:.1f} s, {one.parked} parked")
        workers = Counter(stream.worker for stream in one.streams)
        click.echo(f"  streams: {', '.join(f'{count} {worker}' for worker, count in workers.items())}")
        for name, due in one.derived.items():
            click.echo(f"  {name}: {'due' if any(due.values()) else 'up to date'}")
        if one.reason:
            click.echo(f"  {one.reason}")
        for stream in one.streams:
            if stream.detail:
                click.echo(f"  {stream.stream}: {stream.detail}")
        if streams:
            _show_streams(one.streams)


def _show_streams(streams: Sequence[Stream]) -> None:
    numbers = [Column(name, justify="right") for name in ("position", "lag", "seconds", "parked")]
    table = Table(Column("stream"), *numbers, Column("worker", overflow="fold"))
    for one in streams:
        worker = f"{one.worker} {one.holder} epoch {one.epoch}" if one.worker == "following" else one.worker
        table.add_row(one.stream, str(one.position), str(one.lag_commits), f"{one.lag_seconds:.1f}", str(one.parked), worker)
    Console(width=None if sys.stdout.isatty() else 200).print(table)  # a pipe has no width; nothing shall be cut there


def _time(milliseconds: int) -> str:
    return dt.datetime.fromtimestamp(milliseconds / 1000, tz=dt.UTC).isoformat(timespec="seconds")


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """What a rebuild tells: a bar with time left on a terminal, else a line now and then, both on standard error."""
    console, told = Console(stderr=True), time.monotonic()

    def line(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= TELL_S:
            told = time.monotonic()
            click.echo(f"rebuild: {done} of {total} commits", err=True)

    if not console.is_terminal:
        yield line
        return
    columns = (TextColumn("rebuild"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("rebuild", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


# ---- with the servers ------------------------------------------------------------------------------------------------


def _settings() -> Settings:
    settings = connections()
    log_to(sys.stderr, "warning")  # standard output is the answer's
    return settings


def _run(settings: Settings, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Do it; what stops it is said in one line with the exit status of its kind."""
    try:
        with told_in_words(settings):
            try:
                return uvloop.run(work())
            except asyncpg.LockNotAvailableError:
                raise CannotBeDone("somebody is reading that version; try again") from None
            except RightLost as lost:
                raise ServersUnreachable(f"{lost}; nothing was switched: run the command again") from lost
    except AlreadyFilling as other:
        raise CannotBeDone(f"{other}; see `pulka ledger status`") from other
    except RefusedToRun as refused:
        raise CannotBeDone(f"the log is not the one that it was, or is damaged: {refused}; readers were not switched") from refused
    except StillFails as wrong:
        raise CannotBeDone(f"an archived commit cannot be applied: {wrong}; readers were not switched") from wrong


async def _rebuilt(settings: Settings, by: str) -> Switched:
    log = await connected_log(settings, "pulka ledger rebuild", on_closed=None)
    own, books, versions = OwnEvents(log), Books(), Versions(Books.name, settings.namespace)
    record = ParkingChronicle(own, books.name)
    try:
        away = archive_files.not_there(archive_folder(settings), await told_archived(own))
        if away:  # before a version is begun: without them it could only fail
            raise CannotBeDone(
                f"{len(away)} tables lie in the archive, the first {away[0]}, and not at hand; set PULKA_ARCHIVE_DIR to its folder"
            )
        with _progress() as progress:
            streams = log.partitions.table_streams
            filling = NextVersion(log, books, streams, settings.postgres_dsn, versions, rating_rows.recompute, chronicle=record)
            done = await filling.fill(by, progress, archived_in(log, settings))
        await _announce(settings, own, versions, done)
    finally:
        await log.close()
    return done


async def _announce(settings: Settings, own: OwnEvents, versions: Versions, done: Switched) -> None:
    """Tell the log; where that fails now, a running ledger does it."""
    try:
        await announce(own, versions.name, done.version)
        connection = await asyncpg.connect(settings.postgres_dsn)
        await versions.announced(connection, done.version)
        await connection.close()
    except LogError:
        click.echo("pulka: could not record the switch in the log; a running ledger will record it", err=True)


async def _rated(settings: Settings) -> int:
    """Compute the ratings anew; returns in which version."""
    versions = Versions(Books.name, settings.namespace)
    try:
        connection = await live_books(settings.postgres_dsn, versions)
    except LookupError:
        raise CannotStart("the ledger has no tables here yet; start it once, or run `pulka ledger rebuild`") from None
    try:
        live = await versions.live(connection)
        await rating_rows.anew(connection)
    finally:
        await connection.close()
    return live.number if live else 0


async def _reported(settings: Settings) -> list[Report]:
    log = await connected_log(settings, "pulka ledger status", on_closed=None)
    try:
        connection = await asyncpg.connect(settings.postgres_dsn)
        try:
            versions, streams = Versions(Books.name, settings.namespace), log.partitions.table_streams
            return await report(connection, log, versions, streams, Books.version, {RATING: rating_rows.due})
        finally:
            await connection.close()
    finally:
        await log.close()


async def _dropped(settings: Settings, number: int) -> None:
    """Drop one. Raises `CannotStart` for one that is not there, `CannotBeDone` for one that is needed."""
    versions = Versions(Books.name, settings.namespace)
    connection = await asyncpg.connect(settings.postgres_dsn)
    try:
        await connection.execute("SET lock_timeout = '2s'")  # a read takes milliseconds
        if not await versions.known(connection):
            raise CannotStart(f"there is no version {number}")
        half = [version.number for version in await versions.known(connection) if version.state == "filling"]
        if number in half and not await versions.alone(connection):
            raise CannotBeDone(f"version {number} is being filled")
        try:
            there = await versions.drop(connection, number)
        except ValueError as needed:
            raise CannotBeDone(f"{needed}; readers leave it after `pulka ledger rebuild`") from None
        if not there:
            raise CannotStart(f"there is no version {number}")
    finally:
        await connection.close()
