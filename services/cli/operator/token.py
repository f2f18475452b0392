"""`pulka token`: an operator's or a bot host's token, signed with the private key of a HOME. No server is asked, none hands one out."""

from __future__ import annotations

import datetime as dt
import os
import re
import secrets
import time
from typing import Final

import click
import msgspec

from shared.web.auth import BOT_HOST, HOST, OPERATE, OPERATOR, issuing
from shared.web.settings import read_settings

DAY: Final = 24 * 3600  # seconds
LONGEST: Final = 365  # days; nothing takes a token back but its end
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")  # stands in the log as it is
BAD_NAME: Final = "1 to 40 letters, digits, dots, dashes and underscores, the first a letter or digit"


@click.command("token")
@click.option(
    "--scope", type=click.Choice([OPERATE, HOST]), required=True, help="operate: an operator's commands over HTTP. host: a bot host's work."
)
@click.option(
    "--name", default="operator", show_default=True, help="Of an operator: the author in the log, for everybody to read, for ever."
)
@click.option(
    "--days", type=click.IntRange(1, LONGEST), default=1, show_default=True, help="How long the token is valid; it cannot be revoked."
)
@click.option("--home", type=click.Path(), help="Folder whose key signs; without it PULKA_TOKEN_KEY_FILE or PULKA_HOME (.pulka).")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def token(scope: str, name: str, days: int, home: str | None, *, as_json: bool) -> None:
    """Make a token for an operator, or for `pulka serve bots`, with the private token key of a HOME; whoever can read that key may.

    It goes into the header `Authorization: Bearer …`. It says nothing about seats and opens no hidden card.
    """
    if NAME.fullmatch(name) is None:
        raise click.BadParameter(BAD_NAME, param_hint="--name")
    settings = read_settings(os.environ)
    if home is not None:
        settings = msgspec.structs.replace(settings, home=home, token_key_file="", token_public_keys_file="")
    issuer, now = issuing(settings), int(time.time())
    if scope == HOST:
        author, made = BOT_HOST, issuer.issue_host(now, days * DAY, secrets.token_hex(8))
    else:
        author, made = OPERATOR + name, issuer.issue_operator(name, now, days * DAY, secrets.token_hex(8))
    expires = now + days * DAY
    if as_json:
        click.echo(msgspec.json.encode({"token": made, "author": author, "scopes": [scope], "expires": 1000 * expires}))
        return
    until = dt.datetime.fromtimestamp(expires, dt.UTC)
    click.echo(f"for {author}, until {until:%Y-%m-%d %H:%M} UTC; keep it secret", err=True)
    click.echo(made)
