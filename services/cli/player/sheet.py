"""`pulka sheet`: a pulka as it is drawn on paper, in the terminal, as a picture, or as a page to print."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, cast

import click
import msgspec
from rich.console import Console

from services.cli.console.plural import counted
from services.cli.console.server_url import BY_DEFAULT, SERVER_URL
from services.cli.console.settlement_drawing import drawn_settlement, drawn_since
from services.cli.console.terminal_sheet import sheet_text
from services.cli.player.sheet_source import source_named
from services.ledger.sheet.drawn_sheet import drawn_sheet, names_shown
from services.ledger.sheet.printed_sheet import PrintedDeal, PrintedTerms, printed_sheet
from shared.rules.score_files.scorer_words import Lang
from shared.web.service import CannotStart

STDOUT: Final = "-"

_TAKEN: Final = "{} exists; a sheet is not written over anything"


@click.command()
@click.argument("source", metavar="TABLE|FILE")
@click.option("--url", type=SERVER_URL, help=f"The server that has TABLE.  {BY_DEFAULT}")
@click.option("--token", envvar="PULKA_TOKEN", help="Ask as the player of this token.  [default: without a token]")
@click.option("--svg", type=click.Path(dir_okay=False, allow_dash=True), help="Write the drawing to a new file (- for standard output).")
@click.option("--html", type=click.Path(dir_okay=False, allow_dash=True), help="Write a page to print to a new file.")
@click.option("--lang", type=click.Choice(["en", "ru"]), default="en", show_default=True, help="Language of all of it.")
@click.option("--name", "names", multiple=True, help="A player's name; once for each seat, from 0.")
@click.option("--json", "as_json", is_flag=True, help="The object of `pulka score`.")
def sheet(  # noqa: PLR0913 - a parameter an option
    source: str, url: str | None, token: str | None, svg: str | None, html: str | None, lang: str, names: tuple[str, ...], *, as_json: bool
) -> None:
    """Draw the pulka of a TABLE, or of a score FILE (- for standard input), with its running totals.

    In the terminal earlier totals are struck through and the last one stands; totals without room become "…".
    """
    language = cast("Lang", lang)
    if svg is not None and svg == html:
        raise click.UsageError("--svg and --html name the same file")
    for path in (svg, html):
        if path is not None:
            _require_free(path)
    found = source_named(source, url, token)
    score, pulka = found.score, found.pulka
    if names and len(names) != pulka.players:
        raise click.BadParameter(f"given {counted(len(names), 'time')}, there are {pulka.players} players", param_hint="--name")
    shown = list(names) or found.named(language)
    if svg is not None:
        _write(svg, drawn_sheet(score, pulka.target, shown, language))
    if html is not None:
        deals = [PrintedDeal(deal.number, deal.outcome) for deal in pulka.deals]
        terms = PrintedTerms(pulka.convention, pulka.target, pulka.stake, score.get("as_of"))
        _write(html, printed_sheet(score, deals, terms, shown, language))
    if as_json:
        click.echo(msgspec.json.encode(score))
    elif svg is None and html is None:
        console = Console()
        click.echo(sheet_text(score, pulka.target, shown, language, console.width))
        seats = names_shown(shown, pulka.players, language)
        since = drawn_since(score, seats, language, first=pulka.first_of_equals)
        console.print(drawn_settlement(score["settlement"], seats, language, changed=since is not None))
        if since is not None:
            console.print(since)


def _require_free(path: str) -> None:
    """Raises `CannotStart` for what a drawing would take the place of, before anything is read or asked."""
    if path != STDOUT and os.path.lexists(path):
        raise CannotStart(_TAKEN.format(path))


def _write(path: str, data: bytes) -> None:
    if path == STDOUT:
        click.echo(data, nl=False)
        return
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
        except BaseException:
            Path(path).unlink()  # half a drawing is none
            raise
    except FileExistsError:
        raise CannotStart(_TAKEN.format(path)) from None
    except OSError as wrong:
        raise CannotStart(f"{path}: {wrong.strerror}") from wrong
