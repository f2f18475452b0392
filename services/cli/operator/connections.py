"""Which NATS and Postgres the commands use: those of the settings, else those of the `pulka up` that runs in PULKA_HOME."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import asyncpg
import msgspec

from services.cli.embedded.home import Home, load_ports
from services.cli.embedded.nats_server import nats_url
from services.cli.embedded.postgres_server import postgres_dsn
from services.cli.serving.composition import require_reachable
from services.ledger.books import Books
from services.ledger.desk.readers import NoBooks, live_books
from shared.eventlog.port import LogError, NotInArchive, NotPermitted
from shared.projections.core.projection import Connection
from shared.projections.versions.versions import Versions
from shared.web.postgres_connection import postgres_away
from shared.web.service import CannotStart, ServersUnreachable
from shared.web.settings import Settings, home_of, masked, read_settings, variable

BOTH: Final = ("nats_url", "postgres_dsn")
NO_BOOKS: Final = "this database has no books of the ledger; start it once"

_AWAY: Final = (  # what asking Postgres raises
    ConnectionError,
    TimeoutError,
    socket.gaierror,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)


def connections(needed: Sequence[str] = BOTH) -> Settings:
    """The settings, once the servers that are `needed` are named and answer.

    Raises `BadSetting`, `CannotStart` when neither a variable nor a running home tells where one is, `ServersUnreachable`.
    """
    settings = completed(read_settings(os.environ))
    for name in needed:
        if not getattr(settings, name):
            raise CannotStart(
                f"{variable(name)} is not set, and no `pulka up` with such a server runs in {home_of(settings)}: set it, or PULKA_HOME"
            )
    if settings.nats_url and "://" not in settings.nats_url:
        raise CannotStart(f"{variable('nats_url')}: nats://user:password@host:port is expected")
    require_reachable(settings)
    return settings


def completed(settings: Settings) -> Settings:
    """The settings with what the running `pulka up` of their home has; a variable that is set stands.

    Nothing is taken when a variable names another server instead of one that this home runs: log and database belong together.
    """
    home = Home(home_of(settings))
    if all(getattr(settings, name) for name in BOTH) or not home.held:
        return settings
    ports = load_ports(home)
    there: dict[str, Any] = {}
    if ports.nats and (home.run / "nats.pid").exists():  # the file goes when the server is stopped; a port is kept
        there["nats_url"] = nats_url(home, ports.nats, "service")
    if ports.postgres and (home.run / "postgres.pid").exists():
        there["postgres_dsn"] = postgres_dsn(home, ports.postgres)
    if any(getattr(settings, name) not in ("", found) for name, found in there.items()):
        return settings
    if not settings.lobby_url and (address := home.address()) is not None:
        there["lobby_url"] = address  # `pulka up` serves the lobby too, and the lobby has the names
    if "nats_url" in there:
        there["nats_durable"] = True  # ours syncs every append
        there["nats_operator_url"] = settings.nats_operator_url or nats_url(home, ports.nats, "operator")
    return msgspec.structs.replace(settings, **there)


async def books_of(settings: Settings) -> Connection:
    """A connection of one's own to the books that are read now. Raises `CannotStart` where there are none, and what asyncpg raises."""
    try:
        return await live_books(settings.postgres_dsn, Versions(Books.name, settings.namespace))
    except LookupError:
        raise CannotStart(NO_BOOKS) from None


@contextmanager
def told_in_words(settings: Settings) -> Iterator[None]:
    """What comes of asking the two servers becomes `ServersUnreachable`, or `CannotStart` where they answer and lack something.

    Not every `OSError` is theirs: a full disk is another matter, and `main` tells of it.
    """
    try:
        yield
    except NotPermitted:  # the command knows which right it lacks
        raise
    except NotInArchive as wrong:  # both servers are there
        raise CannotStart(str(wrong)) from wrong
    except LogError as wrong:
        raise ServersUnreachable(f"NATS at {masked(settings.nats_url)}: {wrong}") from wrong
    except NoBooks:
        raise CannotStart("the database has no rows that this program can read: see `pulka ledger status`") from None
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
        raise CannotStart(NO_BOOKS) from None
    except _AWAY as wrong:
        raise postgres_away(settings, wrong) from wrong
