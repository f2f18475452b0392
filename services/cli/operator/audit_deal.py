"""`pulka audit deal`: shuffle, cut and deal a revealed deal again from the seeds in the log."""

from __future__ import annotations

import asyncio
import sys

import click
import msgspec

from services.cli.operator.audit_access import access, audit_settings, require_id
from shared.events import address
from shared.events.commit import decode
from shared.events.deal_proof import RecomputedDeal, recompute
from shared.events.upcast import NewerSchema
from shared.web.service import CannotStart
from shared.web.settings import Settings

FAILED = 1  # exit status: it was dealt otherwise than promised


@click.command()
@click.argument("table_id", metavar="TABLE")
@click.argument("number", metavar="N", type=click.IntRange(min=1))
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def deal(table_id: str, number: int, *, as_json: bool) -> None:
    """Recompute deal N of TABLE: the server's commitment, the seeds, the cut, and the cards that follow from them.

    Exit status 1 when the cards or the commitment differ; 2 when there is no such deal or it is not revealed yet.
    """
    require_id(table_id)
    found = asyncio.run(_found(audit_settings(), table_id, number))
    if as_json:
        click.echo(msgspec.json.encode(found))
    else:
        _say(found)
    sys.exit(0 if found.verified else FAILED)


async def _found(settings: Settings, table_id: str, number: int) -> RecomputedDeal:
    async with access(settings) as at:
        records = await at.log.read(address.table(table_id))
    if not records:
        raise CannotStart(f"the log knows no table {table_id}")
    try:
        found = recompute((decode(recorded.data) for recorded in records), number)
    except (ValueError, NewerSchema) as unreadable:
        raise CannotStart(f"{table_id}: its log cannot be read ({type(unreadable).__name__}); see `pulka audit verify`") from None
    if found is None:
        raise CannotStart(f"deal {number} of {table_id} was not played, or is not revealed yet")
    return found


def _say(deal: RecomputedDeal) -> None:
    click.echo(f"table {deal.table}, deal {deal.number}, {deal.players} players, dealer {deal.dealer}, shuffle {deal.algorithm}")
    click.echo(f"promised before the cut: {deal.commitment}")
    click.echo(f"the server's seed:       {deal.server_seed}")
    click.echo(f"the rules' digest:       {deal.rules_digest}")
    for seat, seed in deal.seeds:
        click.echo(f"seed of seat {seat}: {seed}")
    click.echo(f"cut at {deal.cut_at}")
    for seat, link in deal.links:
        click.echo(f"link of seat {seat}: {link}")
    for seat, hand in enumerate(deal.hands):
        click.echo(f"seat {seat}: {hand or 'rests'}")
    click.echo(f"talon: {deal.talon}")
    for problem in deal.problems:
        click.echo(f"revision {problem.revision}: {problem.code}: {problem.message}")
    click.echo("as promised" if deal.verified else "NOT AS PROMISED")
