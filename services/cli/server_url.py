"""`--url` of the commands that ask a server."""

from __future__ import annotations

from urllib.parse import urlsplit

import click


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
