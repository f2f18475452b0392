"""Which server the commands over HTTP ask: that of `--url`, of PULKA_PORT, or the `pulka up` that runs in PULKA_HOME."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from services.cli.embedded.home import Home
from shared.web.service import ServersUnreachable
from shared.web.settings import home_of, read_settings, variable
from shared.web.unanswered import why_unanswered

BY_DEFAULT: Final = "[default: the port of PULKA_PORT on this machine, else the `pulka up` that runs in PULKA_HOME, else port 8080]"


class ServerUrl(click.ParamType[str]):
    """The address of a server; what no request can be sent to is wrong usage, not a server that is away."""

    name = "url"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """`value`, or ends the command with status 2."""
        try:
            parts = urlsplit(value)
            well = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is no number, a bracket that is not closed
            well = False
        if not well:
            self.fail(f"{value!r} is no http://host:port", param, ctx)
        return value


SERVER_URL = ServerUrl()


def server_named(url: str | None, environment: Mapping[str, str], home: Path | None = None) -> str:
    """The address to ask: `url` if it was given; what PULKA_PORT says; that of the process that has `home`, by default PULKA_HOME.

    Where none has it, the port that `pulka up` takes by itself. Raises `BadSetting`.
    """
    if url is not None:
        return url
    settings = read_settings(environment)
    if settings.port and environment.get(variable("port")):  # 0 lets `pulka up` choose, and names no port to ask
        return settings.url
    with suppress(PermissionError):  # another user's home
        if (address := Home(home or home_of(settings)).address()) is not None:
            return address
    return settings.url


def server_away(url: str, away: Exception) -> ServersUnreachable:
    """What to raise where nothing that can be read answers at `url`."""
    return ServersUnreachable(f"{url}: {why_unanswered(away)}; is the server running? Another is named by --url, PULKA_PORT or PULKA_HOME")
