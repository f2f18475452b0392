"""`pulka streams`: what the streams of the log are and should be; bring them to it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import click
import msgspec
from rich.console import Console
from rich.table import Column, Table

from services.cli.console.logs import log_to
from services.cli.console.plural import counted
from services.cli.operator.connections import connections
from shared.eventlog.jetstream.connection import Connection
from shared.eventlog.jetstream.streams import DEFAULT_NAMESPACE, Namespace
from shared.eventlog.jetstream.survey import StreamState, Survey
from shared.eventlog.jetstream.upkeep import StreamDrift, Upkeep, Wanted
from shared.eventlog.port import LogError, NotPermitted
from shared.web.service import CannotBeDone, CannotStart, ServersUnreachable
from shared.web.settings import Settings, masked, variable

DIFFERS: Final = 1  # exit status: something is not as it should be
SEEN_SECONDS: Final = 15.0  # for a look at all streams; a cluster that elects a leader needs some seconds
CHANGE_SECONDS: Final = 120.0  # for all changes; each is written down by the servers before the next
SETTLE_SECONDS: Final = 60.0  # for new copies to hold what the old ones do; a gigabyte takes some seconds
LOOK_SECONDS: Final = 0.5  # between two looks whether they do


@click.group()
def streams() -> None:
    """Look at the streams of the log, and change them.

    A start of the services only makes streams that are missing. PULKA_REPLICAS, PULKA_PARTITIONS and PULKA_STREAM_BYTES say what should
    be.
    """


@streams.command()
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def check(*, as_json: bool) -> None:
    """Show every stream: what is, and what should be. Exit status 1 where they differ."""
    settings = connections(["nats_url"])
    log_to(sys.stderr, "warning")
    survey = asyncio.run(_seen(settings))
    differs = any(one.less or one.more or one.drift for one in survey.streams)
    if as_json:
        click.echo(msgspec.json.encode(_document(survey) | {"as_wanted": not differs}))
    else:
        _show(survey)
        click.echo(_in_a_line(survey, differs=differs), err=True)
    sys.exit(DIFFERS if differs else 0)


@streams.command()
@click.option("--lower", is_flag=True, help="Also take away copies and room that the settings do not want.")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def apply(*, lower: bool, as_json: bool) -> None:
    """Make the streams that are missing, and give the others the copies and the room that they should have; say each change.

    Needs a NATS user that may: PULKA_NATS_OPERATOR_URL, or the keys of PULKA_HOME. Tables play on. Exit status 1 where something is
    not as it should be afterwards.
    """
    settings = connections(["nats_url"])
    log_to(sys.stderr, "warning")
    try:
        done, survey = asyncio.run(_applied(settings, lower=lower, as_json=as_json))
    except NotPermitted as wrong:
        raise CannotStart(f"{wrong}: set {variable('nats_operator_url')}") from wrong
    left = any(one.less or one.drift or (lower and one.more) for one in survey.streams)
    if as_json:
        changed = [{"stream": name, "change": change} for name, change in done]
        click.echo(msgspec.json.encode({"changed": changed, **_document(survey), "as_wanted": not left}))
    else:
        if not done:
            click.echo("nothing to change", err=True)
        for one in survey.streams:
            if one.more and not lower:
                click.echo(f"{one.name}: {'; '.join(one.more)}: left as it is without --lower", err=True)
    sys.exit(DIFFERS if left else 0)


async def _seen(settings: Settings) -> Survey:
    async with _upkeep(settings, settings.nats_url) as upkeep:
        return await upkeep.survey(SEEN_SECONDS)


async def _applied(settings: Settings, *, lower: bool, as_json: bool) -> tuple[list[tuple[str, str]], Survey]:
    """What was changed, and what is there afterwards, once the new copies hold what they should or have been given time to."""
    done: list[tuple[str, str]] = []
    async with _upkeep(settings, settings.nats_operator_url or settings.nats_url) as upkeep:
        survey = await upkeep.survey(SEEN_SECONDS)
        async for name, change in upkeep.apply(survey, CHANGE_SECONDS, lower=lower):
            done.append((name, change))
            if not as_json:
                click.echo(f"{name}: {change}")
        deadline = asyncio.get_running_loop().time() + SETTLE_SECONDS
        while True:
            survey = await upkeep.survey(SEEN_SECONDS)
            if not done or not any(one.behind for one in survey.streams) or asyncio.get_running_loop().time() > deadline:
                return done, survey
            await asyncio.sleep(LOOK_SECONDS)


@asynccontextmanager
async def _upkeep(settings: Settings, url: str) -> AsyncIterator[Upkeep]:
    """Over a connection of its own. Raises `CannotBeDone`, `ServersUnreachable`; `NotPermitted` passes."""
    wanted = Wanted(settings.partitions, settings.partitions_used, settings.replicas, settings.stream_bytes or None)
    connection = Connection()
    try:
        await connection.open(url, "pulka streams", SEEN_SECONDS, None)
        try:
            yield Upkeep(connection, Namespace(settings.namespace or DEFAULT_NAMESPACE), wanted)
        finally:
            await connection.close()
    except NotPermitted:
        raise
    except StreamDrift as wrong:
        raise CannotBeDone(str(wrong)) from wrong
    except LogError as wrong:
        raise ServersUnreachable(f"NATS at {masked(url)}: {wrong}") from wrong


def _document(survey: Survey) -> dict[str, Any]:
    used = survey.partitions
    return {
        "nodes": survey.nodes,
        "partitions": {"there": survey.there, "known": used.known, "used": used.used},
        "streams": [_told(stream) for stream in survey.streams],
    }


def _told(stream: StreamState) -> dict[str, Any]:
    return {
        "stream": stream.name,
        "copies": {"is": stream.copies, "should_be": stream.copies_wanted},
        "room": {"is": stream.room, "should_be": stream.room_wanted},
        "bytes": stream.holds,
        "behind": list(stream.behind),
        "differs": [*stream.less, *stream.more, *stream.drift],
    }


def _show(survey: Survey) -> None:
    table = Table(Column("stream", no_wrap=True), "copies", "should be", "bytes", "room", "should be", Column("differs", overflow="fold"))
    for one in survey.streams:
        behind = f"; behind: {', '.join(one.behind)}" if one.behind else ""
        table.add_row(
            one.name,
            str(one.copies),
            str(one.copies_wanted),
            str(one.holds),
            _limit(one.room),
            _limit(one.room_wanted),
            "; ".join((*one.less, *one.more, *one.drift)) + behind,
        )
    Console(soft_wrap=False).print(table)


def _in_a_line(survey: Survey, *, differs: bool) -> str:
    word = "not as it should be: `pulka streams apply` changes that" if differs else "as it should be"
    there, known, used = survey.there, survey.partitions.known, survey.partitions.used
    return f"{counted(survey.nodes, 'node')}; {there} partitions are there, {known} known, {used} used; {word}"


def _limit(room: int | None) -> str:
    return "-" if room is None else str(room)
