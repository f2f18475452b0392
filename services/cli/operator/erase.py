"""`pulka erase`: make a person's data unreadable for ever, in every copy of the log."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Final

import click
import httpx
import msgspec

from services.cli.console.server_url import BY_DEFAULT, SERVER_URL, server_away, server_named
from shared.web.auth import OPERATE, issuing
from shared.web.service import CannotStart
from shared.web.settings import read_settings

PATIENCE: Final = 10.0  # seconds: one append and one row
LIFETIME: Final = 60  # seconds: the token serves this one request
OPERATOR: Final = "operator"  # subject of the command's token; no player id looks like it
ABSENT: Final = 404


@click.command()
@click.argument("player")
@click.option("--url", type=SERVER_URL, help=f"The server.  {BY_DEFAULT}")
@click.option("--home", type=click.Path(path_type=Path), help="Folder with the keys.  [default: PULKA_HOME or .pulka]")
@click.option("--yes", is_flag=True, help="Do not ask: it cannot be undone.")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def erase(player: str, url: str | None, home: Path | None, *, yes: bool, as_json: bool) -> None:
    """Erase PLAYER (an id): destroy the key of the personal data, and prove it in the log.

    Games, scores and the audit stay; nobody can tell whose they were. Needs the private token key of the server's home.
    """
    settings = read_settings(os.environ)
    if home is not None:
        settings = msgspec.structs.replace(settings, home=str(home))
    token = issuing(settings).issue(OPERATOR, (OPERATE,), int(time.time()), LIFETIME)
    if not yes:
        _ask(player)
    answer = _erased(server_named(url, os.environ, home), player, token)
    if as_json:
        click.echo(msgspec.json.encode(answer))
    else:
        click.echo(f"{player} is erased; the proof is revision {answer['revision']} of lobby.{player[0]}.player.{player}")


def _ask(player: str) -> None:
    """Returns for a yes. Ends the command for a no, for Ctrl-C and where nobody can answer."""
    try:
        agreed = click.confirm(f"Erase {player}? Name and password can never be read again", err=True)
    except click.Abort:
        click.echo(err=True)
        agreed = False
    if not agreed:
        raise CannotStart("not erased; give --yes to erase without a question")


def _erased(url: str, player: str, token: str) -> dict[str, Any]:
    try:
        answer = httpx.post(
            f"{url.rstrip('/')}/v1/lobby/players/{player}/erasure",
            headers={"Authorization": f"Bearer {token}"},
            timeout=PATIENCE,
            trust_env=False,  # the token goes to this server and to no proxy
        )
    except (httpx.TransportError, httpx.InvalidURL) as away:
        raise server_away(url, away) from away
    if answer.is_success:
        erased: dict[str, Any] = answer.json()
        return erased
    if answer.status_code == ABSENT:
        raise CannotStart(f"there is no player {player!r}")
    raise CannotStart(f"the server refused: {_told(answer)}")


def _told(answer: httpx.Response) -> str:
    """What a problem document says, or the status of anything else."""
    try:
        problem = answer.json()
        return f"{problem['code']}: {problem['detail']}"
    except (ValueError, KeyError, TypeError):
        return str(answer.status_code)
