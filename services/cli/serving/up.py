"""`pulka up`: everything on this machine, in the foreground, until SIGINT or SIGTERM."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
import msgspec

from services.cli.console.logs import log_file, log_to
from services.cli.embedded import EmbeddedServers
from services.cli.embedded.keys import GivenFiles
from services.cli.embedded.log_room import SMALL_ROOM
from services.cli.serving.composition import SERVICES, require_reachable, serve
from services.cli.serving.process import listen, stand_by
from shared.web.service import CannotStart
from shared.web.settings import Settings, home_of, read_settings


@click.command()
@click.option("--home", type=click.Path(path_type=Path), help="Folder for all data, keys and logs.  [default: PULKA_HOME or .pulka]")
@click.option("--port", type=click.IntRange(0, 65535), help="Port of the API; 0 takes a free one.  [default: PULKA_PORT or 8080]")
@click.option("--host", help="Address to listen on.  [default: PULKA_HOST or 127.0.0.1]")
@click.option("--servers-only", is_flag=True, help="Start only NATS and Postgres, for a restore or to look at the rows.")
@click.option("--json", "as_json", is_flag=True, help="Report that everything is ready as one JSON object.")
def up(home: Path | None, port: int | None, host: str | None, *, servers_only: bool, as_json: bool) -> None:
    """Start NATS, Postgres, all services and the bot host under one port.

    When ready it prints one line: its address, or with --servers-only that of Postgres. With PULKA_NATS_URL or
    PULKA_POSTGRES_DSN those servers are used instead.
    Stop it with Ctrl-C or SIGTERM; started again with the same home, it goes on where it was.
    """
    settings = _with_options(read_settings(os.environ), home, port, host)
    if servers_only:
        _servers_alone(settings, as_json=as_json)
        return
    listener = listen(settings.host, settings.port)
    require_reachable(settings)
    with (
        listener,
        _servers_of(settings) as servers,
        log_file(servers.logs) as log,
    ):
        log_to(log, settings.log_level)
        complete = _complete(settings, servers, listener.getsockname()[1])
        serve(complete, list(SERVICES), listener, lambda: _say_ready(complete, servers, as_json=as_json), beside=[servers.watch])


def _servers_alone(settings: Settings, *, as_json: bool) -> None:
    """Run the servers of the home until a signal, also where no service would start on what they hold."""
    if settings.nats_url and settings.postgres_dsn:
        raise CannotStart("--servers-only: PULKA_NATS_URL and PULKA_POSTGRES_DSN name servers that others run; there is none to start")
    with _servers_of(settings) as servers, log_file(servers.logs) as log:
        log_to(log, settings.log_level)
        ready = {"nats": settings.nats_url or servers.nats_url, "postgres": settings.postgres_dsn or servers.postgres_dsn}
        if as_json:
            click.echo(msgspec.json.encode({**ready, "home": str(servers.home), "pids": {"pulka": os.getpid(), **servers.pids}}))
        else:
            click.echo(ready["postgres"])
            click.echo(f"NATS and Postgres of {servers.home} are ready, and no service runs. Ctrl-C stops both.", err=True)
        stand_by(servers.watch)


def _servers_of(settings: Settings) -> EmbeddedServers:
    """The servers that no variable names, not yet started."""
    return EmbeddedServers(
        home_of(settings),
        nats=not settings.nats_url,
        postgres=not settings.postgres_dsn,
        keys=GivenFiles(
            master_keys=_path(settings.master_keys_file),
            signing_key=_path(settings.signing_key_file),
            token_key=_path(settings.token_key_file),
            token_public_keys=_path(settings.token_public_keys_file),
        ),
    )


def _with_options(settings: Settings, home: Path | None, port: int | None, host: str | None) -> Settings:
    given: dict[str, Any] = {"home": None if home is None else str(home), "port": port, "host": host}
    return msgspec.structs.replace(settings, **{name: value for name, value in given.items() if value is not None})


def _complete(settings: Settings, servers: EmbeddedServers, port: int) -> Settings:
    """The settings as the services need them: real port, key files, and the servers that were started."""
    return msgspec.structs.replace(
        settings,
        port=port,
        home=str(servers.home),
        nats_url=settings.nats_url or servers.nats_url,
        nats_durable=settings.nats_durable or not settings.nats_url,  # ours syncs every append
        postgres_dsn=settings.postgres_dsn or servers.postgres_dsn,
        master_keys_file=str(servers.keys.master_keys),
        signing_key_file=str(servers.keys.signing_key),
        token_key_file=str(servers.keys.token_key),
        token_public_keys_file=str(servers.keys.token_public_keys),
    )


def _say_ready(settings: Settings, servers: EmbeddedServers, *, as_json: bool) -> None:
    servers.tell_address(settings.url)
    if servers.log_room is not None and servers.log_room.left < SMALL_ROOM:
        click.echo(f"The log has room for {servers.log_room.megabytes} MB more: its volume is small or nearly full.", err=True)
    if as_json:
        ready = {
            "url": settings.url,
            "nats": settings.nats_url,
            "postgres": settings.postgres_dsn,
            "home": settings.home,
            "pids": {"pulka": os.getpid(), **servers.pids},
        }
        click.echo(msgspec.json.encode(ready))
    else:
        click.echo(settings.url)
        click.echo(f"Pulka is ready. Data, keys and logs: {settings.home}. Ctrl-C stops everything.", err=True)


def _path(file: str) -> Path | None:
    return Path(file) if file else None
