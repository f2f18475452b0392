"""Which services there are, and how a process runs some of them: the composition root of `pulka up` and `pulka serve`."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from services.bots import main as bots
from services.bots.host_token import MadeToken
from services.cli.serving.process import Companion, Host
from services.ledger import main as ledger
from services.lobby import main as lobby
from services.table import main as table
from shared.web.application import build, now_ms
from shared.web.auth import issuing
from shared.web.service import CannotStart, Life, ServersUnreachable, Service
from shared.web.settings import Settings, masked, variable

Create = Callable[[Settings], Service]

SERVICES: Mapping[str, Create] = {"lobby": lobby.create, "table": table.create, "ledger": ledger.create}
REACH_SECONDS = 3.0  # to open a TCP connection; a server in the same network answers in a millisecond
_DEFAULT_PORTS = {"nats": 4222, "tls": 4222, "postgresql": 5432, "postgres": 5432}


def serve(
    settings: Settings, names: Sequence[str], listener: socket.socket, ready: Callable[[], None], *, beside: Sequence[Companion] = ()
) -> None:
    """Run the services called `names` on `listener` until a signal; with all of them, the bot host too.

    `settings` have the real host and port. Raises `CannotStart`.
    """
    if not settings.lobby_url and {"lobby", "ledger"} <= set(names):
        settings = msgspec.structs.replace(settings, lobby_url=settings.url)  # the ledger's pages ask the lobby beside it
    services = [SERVICES[name](settings) for name in names]
    after = [_bots_beside(settings)] if settings.bots and set(names) == set(SERVICES) else []
    life = Life()
    Host(build([*services, *after], settings, life), services, listener, life).run(ready=ready, after=after, beside=beside)


def serve_bots(settings: Settings, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Run a bot host alone, for a lobby and tables elsewhere; `listener` answers for its health and figures. Raises `CannotStart`."""
    host = bots.create(settings)
    life = Life()
    Host(build([host], settings, life), [host], listener, life).run(ready=ready)


def _bots_beside(settings: Settings) -> Service:
    """The bot host of a process that has the lobby and the tables, and so the key by which the host's own token is made."""
    token = MadeToken(issuing(settings), now_ms)
    return bots.create(msgspec.structs.replace(settings, lobby_url=settings.url, table_url=""), token)


def require_servers(settings: Settings) -> None:
    """Raises `CannotStart` unless the settings say where both servers are."""
    for name in ("nats_url", "postgres_dsn"):
        if not getattr(settings, name):
            raise CannotStart(f"{variable(name)} is not set (`pulka up` starts servers of its own)")


def require_reachable(settings: Settings) -> None:
    """Raises `ServersUnreachable` unless something listens where the settings say that NATS and Postgres are.

    One of several addresses is enough. This is for a clear line at the start; afterwards the services wait for servers to come back.
    """
    for name, url in (("NATS", settings.nats_url), ("Postgres", settings.postgres_dsn)):
        addresses = [address for part in url.split(",") if (address := _address(part))]
        if addresses and not any(_listens(address) for address in addresses):
            raise ServersUnreachable(f"{name} does not answer at {masked(url)}")


def _address(url: str) -> tuple[str, int] | None:
    parts = urlsplit(url if "://" in url else f"nats://{url}")
    try:
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname:
        return None  # a socket in the file system
    return parts.hostname, port or _DEFAULT_PORTS.get(parts.scheme, 0)


def _listens(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, REACH_SECONDS).close()
    except OSError:
        return False
    return True
