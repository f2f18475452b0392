"""`pulka import`: import a pulka that was played elsewhere, from a scorer's file."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sys
import time
from datetime import datetime
from typing import Any, Final

import click
import httpx
import msgspec

from services.cli.console.documents import REFUSED, document_or_exit, exit_unread
from services.cli.console.server_url import BY_DEFAULT, SERVER_URL, server_away, server_named
from services.cli.operator.token import BAD_NAME, NAME
from shared.rules.language.refusal import Malformed
from shared.rules.pulka.imported import imported
from shared.web.auth import issuing
from shared.web.service import CannotStart
from shared.web.settings import Settings, read_settings

PATIENCE: Final = 20.0  # seconds: one append, and a log that recovers
KEY: Final = re.compile(r"[!-~]{1,128}")  # what the header Idempotency-Key takes
LIFETIME: Final = 60  # seconds: the token serves this one request

_encode = msgspec.json.Encoder(order="sorted").encode


@click.command("import")
@click.argument("file")
@click.option("--seats", help="Player ids clockwise, commas between them.  [default: nobody is named, nobody gets a line]")
@click.option("--private", is_flag=True, help="Only its players may look at it.")
@click.option("--played-on", type=click.DateTime(["%Y-%m-%d"]), metavar="DAY", help="The day on which it was played, as 2026-11-01.")
@click.option("--url", type=SERVER_URL, help=f"The server.  {BY_DEFAULT}")
@click.option("--name", default="operator", show_default=True, help="Who imports it; recorded in the log.")
@click.option("--key", help="Identifies this import.  [default: made from FILE and the seats, so a repeat imports nothing]")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def import_command(  # noqa: PLR0913 - a parameter an option
    file: str, seats: str | None, played_on: datetime | None, url: str | None, name: str, key: str | None, *, private: bool, as_json: bool
) -> None:
    """Import the pulka in FILE ("-": standard input), a score file as `pulka score` reads it.

    It gets a table of its own, with sheet, deals and settlement, marked as imported; it changes no rating. Needs the private token key of
    the server's home. Exit status 1: this pulka was imported before and annulled since.
    """
    if NAME.fullmatch(name) is None:
        raise click.BadParameter(BAD_NAME, param_hint="--name")
    if key is not None and KEY.fullmatch(key) is None:
        raise click.BadParameter("1 to 128 visible ASCII characters", param_hint="--key")
    settings = read_settings(os.environ)
    text = document_or_exit(file)
    players = tuple(seats.split(",")) if seats else ()
    visibility = "private" if private else "public"
    try:
        imported(text, players, visibility, name)  # what is wrong with it is said here as `pulka score` says it
    except Malformed as wrong:
        exit_unread(wrong)
    day = {} if played_on is None else {"played_on": played_on.date().isoformat()}
    body = msgspec.json.encode({"score_file": msgspec.Raw(text), "seats": players, "visibility": visibility} | day)
    answer = _sent(settings, server_named(url, os.environ), name, key or _key_of(text, players, *day.values()), body)
    if as_json:
        click.echo(msgspec.json.encode(answer))
    elif (annulled := answer.get("annulled")) is None:
        click.echo(answer["table_id"])
    else:
        told = f"recorded already, and annulled since by {annulled['author']}: {annulled['reason']}"
        click.echo(f"{answer['table_id']} was {told}; another --key records it once more", err=True)
    if answer.get("annulled") is not None:
        sys.exit(REFUSED)


def _key_of(text: bytes, players: tuple[str, ...], *day: str) -> str:
    """The same for the same paper, however it is spaced and ordered and its players are called, whoever sends it and for whose eyes."""
    paper = {name: value for name, value in msgspec.json.decode(text).items() if name != "names"}  # which are not imported
    return hashlib.sha256(_encode((paper, players, *day))).hexdigest()


def _sent(settings: Settings, url: str, name: str, key: str, body: bytes) -> dict[str, Any]:
    """What the server answers. Raises `CannotStart`, `ServersUnreachable`."""
    token = issuing(settings).issue_operator(name, int(time.time()), LIFETIME, secrets.token_hex(8))
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key, "Content-Type": "application/json"}
    try:
        answer = httpx.post(
            f"{url.rstrip('/')}/v1/tables/recorded", content=body, headers=headers, timeout=PATIENCE, trust_env=False
        )  # the token goes to this server and to no proxy
    except (httpx.TransportError, httpx.InvalidURL) as away:
        raise server_away(url, away) from away
    if answer.is_success:
        done: dict[str, Any] = answer.json()
        return done
    raise CannotStart(f"the server refused: {_told(answer)}")


def _told(answer: httpx.Response) -> str:
    """What a problem document says, with the place of what is wrong, or the status of anything else."""
    try:
        problem = answer.json()
        path, detail = problem.get("path") or "", problem["detail"]
        return f"{problem['code']}{f' at {path}' if path else ''}: {detail.removeprefix(f'{path}: ')}"
    except (ValueError, KeyError, TypeError):
        return str(answer.status_code)
