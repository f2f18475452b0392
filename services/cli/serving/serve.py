"""`pulka serve`: one service, or all, against servers that others run."""

from __future__ import annotations

import os
import sys
from typing import Any, Final

import click
import msgspec

from services.cli.console.logs import log_to
from services.cli.serving.composition import SERVICES, require_reachable, require_servers, serve, serve_bots
from services.cli.serving.process import listen
from shared.web.settings import read_settings

BOTS: Final = "bots"


@click.command("serve")
@click.argument("service", type=click.Choice([*SERVICES, BOTS, "all"]))
@click.option("--port", type=click.IntRange(0, 65535), help="Port of the API; 0 takes a free one.  [default: PULKA_PORT or 8080]")
@click.option("--host", help="Address to listen on.  [default: PULKA_HOST or 127.0.0.1]")
@click.option("--json", "as_json", is_flag=True, help="Report that everything is ready as one JSON object.")
def serve_command(service: str, port: int | None, host: str | None, *, as_json: bool) -> None:
    """Run SERVICE against PULKA_NATS_URL and PULKA_POSTGRES_DSN; logs go to standard error.

    `bots` needs neither: it asks the lobby at PULKA_LOBBY_URL, and plays at the tables of PULKA_TABLE_URL.
    """
    given: dict[str, Any] = {name: value for name, value in (("port", port), ("host", host)) if value is not None}
    settings = msgspec.structs.replace(read_settings(os.environ), **given)
    if service != BOTS:
        require_servers(settings)
        require_reachable(settings)
    log_to(sys.stderr, settings.log_level)
    with listen(settings.host, settings.port) as listener:
        complete = msgspec.structs.replace(settings, port=listener.getsockname()[1])

        def say_ready() -> None:
            click.echo(msgspec.json.encode({"url": complete.url, "pids": {"pulka": os.getpid()}}) if as_json else complete.url)

        if service == BOTS:
            serve_bots(complete, listener, say_ready)
            return
        serve(complete, list(SERVICES) if service == "all" else [service], listener, say_ready)
