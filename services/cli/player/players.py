"""`pulka stats` and `pulka standings`: players in figures, as the ledger of a server tells them to everybody."""

from __future__ import annotations

import os
from typing import Any, Final
from urllib.parse import quote

import click
import httpx
import msgspec
from rich.console import Console
from rich.table import Table

from services.cli.console.plural import counted
from services.cli.console.server_url import BY_DEFAULT, SERVER_URL, server_away, server_named
from shared.rules.convention.options import PRESETS
from shared.web.service import CannotStart, ServersUnreachable

PATIENCE: Final = 10.0  # seconds for an answer: it takes milliseconds, or two seconds while a server has no time
WIDTH: Final = 100  # columns where there is no terminal to ask

PLAYERS = click.option("--players", type=click.IntRange(2, 5), help="Only tables of this many players.")
CONVENTION = click.option("--convention", type=click.Choice(list(PRESETS)), help="Only tables of this preset.")
URL = click.option("--url", type=SERVER_URL, help=f"The server.  {BY_DEFAULT}")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")


@click.command()
@click.argument("player")
@CONVENTION
@PLAYERS
@URL
@AS_JSON
def stats(player: str, convention: str | None, players: int | None, url: str | None, *, as_json: bool) -> None:
    """Show the deals of PLAYER (an id) in figures, and PLAYER's rating."""
    path = f"/v1/ledger/players/{quote(player, safe='')}"
    figures = _asked(url, f"{path}/stats", convention=convention, players=players)
    rated = _asked(url, f"{path}/ratings", limit=1)["rating"]
    nothing = not figures["whists"]["deals"]
    if nothing and not rated and convention is None and players is None:
        click.echo(f"There is no deal of a player with the id {player} that everybody may see.", err=True)
        if not as_json:
            return
    if as_json:
        click.echo(msgspec.json.encode(figures | {"rating": rated}))
        return
    console = Console(width=None if Console().is_terminal else WIDTH, highlight=False)
    console.print("no deals" if nothing else f"{counted(figures['whists']['deals'], 'deal')}, whists per deal {_mean(figures['whists'])}")
    console.print(f"rating {_rating(rated)}" if rated else "no rated pulka")
    if nothing:
        return
    table = Table("", "deals", "made", "failed", "tricks", "whists per deal")
    for role in figures["roles"]:
        table.add_row(role["role"].replace("_", " "), str(role["whists"]["deals"]), "", "", _number(role["tricks"]), _mean(role["whists"]))
    table.add_section()
    for one in figures["contracts"]:
        counts = (str(one[name]) for name in ("declared", "made", "failed"))
        table.add_row(one["contract"], *counts, _number(one["tricks"]), _mean(one["whists"]))
    console.print(table)
    console.print("In brackets: the interval that holds the true mean with 95 % certainty.")


@click.command()
@click.option("--by", type=click.Choice(["rating", "whists"]), default="rating", show_default=True, help="What counts.")
@click.option("--provisional", is_flag=True, help="Show provisional ratings too.")
@CONVENTION
@PLAYERS
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="How many.")
@URL
@AS_JSON
def standings(
    by: str, convention: str | None, players: int | None, limit: int, url: str | None, *, provisional: bool, as_json: bool
) -> None:
    """Show the standings, by rating or by total whists won."""
    flag = "true" if provisional else None
    answer = _asked(url, "/v1/ledger/standings", by=by, provisional=flag, convention=convention, players=players, limit=limit)
    if as_json:
        click.echo(msgspec.json.encode(answer))
        return
    table = Table("rank", "player", by, "pulkas")
    for one in answer["standings"]:
        table.add_row(str(one["rank"]), one["player"], _rating(one) if by == "rating" else one["whists"], str(one["pulkas"]))
    Console(width=None if Console().is_terminal else WIDTH, highlight=False).print(table)
    if not answer["standings"] and by == "rating" and not provisional:
        click.echo("nobody's rating is sure yet; --provisional shows the others")


def _asked(url: str | None, path: str, **parameters: object) -> dict[str, Any]:
    """The JSON answer. Raises `CannotStart` for a problem, `ServersUnreachable`."""
    server = server_named(url, os.environ)
    given = {name: str(value) for name, value in parameters.items() if value is not None}
    try:
        answer = httpx.get(f"{server.rstrip('/')}{path}", params=given, timeout=PATIENCE)
        document: dict[str, Any] = answer.json()
    except (httpx.TransportError, httpx.InvalidURL, ValueError) as away:
        raise server_away(server, away) from away
    if answer.is_success:
        return document
    if answer.status_code >= 500:
        raise ServersUnreachable(f"{server}: {document.get('detail', answer.status_code)}")
    raise CannotStart(f"the server refused: {document.get('code')}: {document.get('detail')}")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _mean(whists: dict[str, Any]) -> str:
    """A mean with its interval."""
    if whists["mean"] is None:
        return ""
    interval = whists["interval_95"]
    return signed(whists["mean"]) + (f" ({signed(interval[0])} to {signed(interval[1])})" if interval else "")


def signed(value: float) -> str:
    """A number with its sign, which is a minus as on sheets."""
    return f"{value:+.2f}".replace("-", "−")


def _rating(rated: dict[str, Any]) -> str:
    low, high = rated["interval_95"]
    return f"{rated['rating']:.0f} ({low:.0f} to {high:.0f}{', provisional' if rated['provisional'] else ''})"
