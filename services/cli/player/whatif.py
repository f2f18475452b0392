"""`pulka whatif`: what another convention would have made of the same deals, entry by entry."""

from __future__ import annotations

from typing import Final, cast

import click
import msgspec
from rich.console import Console

from services.cli.console.server_url import BY_DEFAULT, SERVER_URL
from services.cli.console.settlement_drawing import drawn_since
from services.cli.player.conventions import read_convention
from services.cli.player.sheet_source import source_named
from services.ledger.sheet.drawn_sheet import names_shown
from shared.rules.score_files.scorer_words import Lang
from shared.rules.score_files.what_if import what_if
from shared.rules.score_files.what_if_document import what_if_document
from shared.rules.score_files.what_if_words import compared_lines

CARRIED: Final = ("recorded", "corrections", "annulled")  # of a table's sheet; they are of the pulka as it was played


@click.command()
@click.argument("source", metavar="TABLE|FILE")
@click.option("--convention", required=True, help="The other convention: a preset's name, or an object as JSON.")
@click.option("--url", type=SERVER_URL, help=f"The server that has TABLE.  {BY_DEFAULT}")
@click.option("--token", envvar="PULKA_TOKEN", help="Ask as the player of this token.  [default: without a token]")
@click.option("--lang", type=click.Choice(["en", "ru"]), default="en", show_default=True, help="Language of the words.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: that of `pulka score`, with `as` and `differences`.")
def whatif(source: str, convention: str, url: str | None, token: str | None, lang: str, *, as_json: bool) -> None:
    """Score the deals of a TABLE, or of a score FILE (- for standard input), under another convention.

    Each entry stands beside what was written; then sheet and settlement there, and when the pulka would have ended. A deal that the
    other convention cannot score says why.
    """
    found = source_named(source, url, token)
    said, other = read_convention(convention, found.pulka.target, found.pulka.convention.version)
    compared = what_if(found.pulka, other)
    if as_json:
        carried = {name: found.score[name] for name in CARRIED if name in found.score}
        click.echo(msgspec.json.encode(what_if_document(compared, said) | carried))
        return
    language = cast("Lang", lang)
    names = found.named(language)
    click.echo("\n".join(compared_lines(compared, language, found.names)))
    seats = names_shown(names, found.pulka.players, language)
    if (since := drawn_since(found.score, seats, language, first=found.pulka.first_of_equals)) is not None:
        Console().print(since)
