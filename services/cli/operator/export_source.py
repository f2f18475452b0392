"""Where `pulka export` gets its lines from: a server, or the rows themselves; lines of NDJSON, whole ones, to the last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Final

import httpx
import msgspec

from services.cli.operator.connections import told_in_words
from services.ledger.books import Books
from services.ledger.desk.player_names import LobbyNames, nobody
from services.ledger.desk.readers import Readers
from services.ledger.exports import export_files, export_rows
from services.ledger.exports.export_columns import What
from services.ledger.exports.export_forms import Ndjson
from services.ledger.exports.export_rows import Place, Scope
from shared.projections.versions.versions import Versions
from shared.web.paging import from_cursor
from shared.web.service import CannotStart, ServersUnreachable
from shared.web.settings import Settings, home_of, variable
from shared.web.unanswered import why_unanswered

TIMEOUT: Final = httpx.Timeout(30.0, connect=5.0)  # a part takes milliseconds, and the longest wait is for a server under load
TRIES: Final = 5  # connections to a server that goes away in the middle, each from where the one before got to
PAUSE: Final = 1.0  # seconds between two of them: a service is back from a restart in about that
CONTROL: Final = (b'{"export":', b'{"cursor":', b'{"end":')  # lines that are no rows; every row begins with its table

Fetch = Callable[[str | None], AsyncGenerator[bytes, None]]
"""Lines after a cursor, None: from the beginning."""


class Control(msgspec.Struct):
    """A line that is no row: the first, one where one can go on, or the last."""

    export: dict[str, Any] | None = None
    cursor: str | None = None
    end: dict[str, int] | None = None

    @property
    def place(self) -> str | None:
        """The cursor after this line, if it tells one."""
        return self.cursor if self.export is None else self.export.get("cursor")


class _BrokenOff(Exception):
    """The server went away in the middle."""


_decode = msgspec.json.Decoder(Control).decode


def control_in(line: bytes) -> Control | None:
    """What a line says about the export; None for a row. Raises `msgspec.DecodeError`."""
    return _decode(line) if line.startswith(CONTROL) else None


def from_server(url: str, token: str | None, what: What, player: str | None, *, names: bool = False) -> Fetch:
    """Lines over HTTP. Raises `_BrokenOff` in the middle, `ServersUnreachable` before the first, `CannotStart` when it refuses."""

    async def fetch(cursor: str | None) -> AsyncGenerator[bytes, None]:
        given = (("player", player), ("cursor", cursor), ("names", "true" if names else None))
        parameters = {name: value for name, value in given if value is not None}
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        begun = False
        try:
            async with (
                httpx.AsyncClient(base_url=url.rstrip("/"), timeout=TIMEOUT, trust_env=False) as client,  # the token goes to no proxy
                client.stream("GET", f"/v1/ledger/export/{what}", params=parameters, headers=headers) as answer,
            ):
                if not answer.is_success:
                    raise CannotStart(f"the server refused: {_told(await answer.aread(), answer.status_code)}")
                async for line in _lines(answer):
                    begun = True
                    yield line
        except (httpx.TransportError, httpx.InvalidURL) as away:
            if begun:
                raise _BrokenOff(why_unanswered(away)) from away
            raise ServersUnreachable(f"{url}: {why_unanswered(away)}; is the server running?") from away

    return fetch


async def _lines(answer: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Whole lines with their ends; what is behind the last of them was cut off."""
    rest = b""
    async for piece in answer.aiter_bytes():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            yield line + b"\n"


def _told(body: bytes, status: int) -> str:
    """What a problem document says, or the status of anything else."""
    try:
        problem = msgspec.json.decode(body)
        return f"{problem['code']}: {problem['detail']}"
    except (msgspec.DecodeError, KeyError, TypeError):
        return str(status)


def from_database(settings: Settings, what: What, player: str | None, *, names: bool = False) -> Fetch:
    """Lines from the rows themselves: who may read the database may read all of it. Raises `ServersUnreachable`, `CannotStart`."""
    if not settings.postgres_dsn:
        raise CannotStart(f"give --url, or set {variable('postgres_dsn')}; no `pulka up` with a Postgres runs in {home_of(settings)}")

    if names and not settings.lobby_url:
        raise CannotStart(f"the lobby has the names: give --url, or set {variable('lobby_url')}")

    async def fetch(cursor: str | None) -> AsyncGenerator[bytes, None]:
        known = LobbyNames(settings.lobby_url)
        readers = Readers(settings.postgres_dsn, Versions(Books.name, settings.namespace), Books.version)
        try:
            with told_in_words(settings):
                await readers.open()
                async with readers.reading() as connection:
                    place = await export_rows.beginning(connection) if cursor is None else from_cursor(cursor, Place)
                form = Ndjson(what, player, resumed=cursor is not None, names=names)
                scope = Scope(everything=True, player=player)
                async with aclosing(export_files.written(readers.reading, what, scope, place, form, known if names else nobody)) as pieces:
                    async for piece in pieces:
                        for line in piece.splitlines(keepends=True):
                            yield line
        finally:
            await readers.close()
            await known.close()

    return fetch


async def whole(fetch: Fetch, cursor: str | None) -> AsyncGenerator[bytes, None]:
    """Lines to the end, from one connection after another; none is told twice. Raises `ServersUnreachable`, `CannotStart`."""
    tries, told = TRIES, 0  # `told`: lines since `cursor`
    while True:
        number, broken = 0, "it ended too early"
        try:
            async with aclosing(fetch(cursor)) as lines:
                async for line in lines:
                    number += 1
                    if number <= told:
                        continue
                    told = number
                    yield line
                    control = control_in(line)
                    if control is not None and control.end is not None:
                        return
                    if control is not None and control.place is not None:
                        cursor, tries, told, number = control.place, TRIES, 0, 0
        except _BrokenOff as wrong:
            broken = str(wrong)
        tries -= 1
        if not tries:
            raise ServersUnreachable(f"the server went away in the middle ({broken}); run the command again with --resume")
        await asyncio.sleep(PAUSE)
