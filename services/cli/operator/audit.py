"""`pulka audit`: check the log and the ledger's rows against each other. Needs NATS and Postgres, no key and no home."""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from rich.console import Console
from rich.progress import Progress

from services.cli.console.documents import read_document
from services.cli.console.plural import counted
from services.cli.console.progress import how_far
from services.cli.operator.audit_access import Access, access, audit_settings, require_id
from services.cli.operator.audit_checkpoint import checkpoint
from services.cli.operator.audit_deal import deal
from services.cli.operator.audit_export import export
from services.ledger.audit.against import GenuineCheckpoint, held_to, signed_in, wrong_with_file, wrong_with_signed
from services.ledger.audit.verify import tables_in, verify_table
from services.ledger.players import ratings_check
from services.ledger.players.ratings_check import RatingsChecked
from shared.events.address import table
from shared.events.chain import Finding
from shared.events.checkpoint_document import KeptCheckpoint, key_id, read_kept
from shared.rules.language.refusal import Malformed
from shared.web.service import CannotStart
from shared.web.settings import Settings

FAILED: Final = 1  # exit status: a verification failed
LARGEST_CHECKPOINT: Final = 1 << 28  # bytes of a kept checkpoint: a million tables have a leaf of 200 bytes each
KEY_DIGITS: Final = 64  # of a public key, hex
Verdict = dict[str, Any]


class Outcome(msgspec.Struct):
    """What was found: a verdict a table; what is wrong with the checkpoints in log and rows; and about a kept one."""

    tables: list[Verdict]
    checkpoints: list[Finding]
    signed: int
    kept: Verdict | None
    ratings: RatingsChecked | None = None  # None: one table was asked for

    @property
    def well(self) -> bool:
        """Whether nothing is wrong."""
        fine = self.kept is None or self.kept["verified"]
        rated = self.ratings is None or not self.ratings.problems
        return fine and rated and not self.checkpoints and all(verdict["verified"] for verdict in self.tables)


@click.group()
def audit() -> None:
    """Check the log: hashes, deals, rules, and the rows made from them; sign checkpoints, and export tables for outsiders to check."""


for command in (checkpoint, deal, export):
    audit.add_command(command)


@audit.command()
@click.argument("table_id", metavar="[TABLE]", required=False)
@click.option("--against", type=click.Path(path_type=Path), help="A checkpoint file that you kept.")
@click.option("--key", "keys", multiple=True, help="The club's public key in hex; repeat for several. Any other signer is an error.")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def verify(table_id: str | None, against: Path | None, keys: tuple[str, ...], *, as_json: bool) -> None:
    """Verify TABLE, or every table of PULKA_NATS_URL against PULKA_POSTGRES_DSN, and against a kept checkpoint.

    Exit status 1 when something is wrong; each problem names its table and revision.
    """
    if table_id is not None:
        require_id(table_id)
    trusted = frozenset(map(_public_key, keys))
    kept = None if against is None else _read(against)
    outcome = asyncio.run(_verified(audit_settings(), table_id, kept, trusted))
    if as_json:
        click.echo(msgspec.json.encode(_told(outcome, single=table_id is not None)))
    else:
        _say(outcome, every=table_id is not None)
    sys.exit(0 if outcome.well else FAILED)


def _public_key(text: str) -> str:
    try:
        if len(bytes.fromhex(text)) * 2 == KEY_DIGITS == len(text):
            return text.lower()
    except ValueError:
        pass
    raise click.BadParameter("a public key is 64 hex digits", param_hint="--key")


def _read(path: Path) -> KeptCheckpoint:
    try:
        return read_kept(read_document(str(path), LARGEST_CHECKPOINT))
    except Malformed as wrong:
        raise CannotStart(str(wrong)) from None
    except msgspec.DecodeError as wrong:
        raise CannotStart(f"{path} is not a checkpoint file: {wrong}") from None


def _told(outcome: Outcome, *, single: bool) -> Verdict:
    told: Verdict = dict(outcome.tables[0]) if single else {"verified": outcome.well, "tables": outcome.tables}
    if outcome.signed and not single:
        problems = msgspec.to_builtins(outcome.checkpoints)
        told["checkpoints"] = {"verified": not problems, "signed": outcome.signed, "problems": problems}
    if outcome.ratings is not None:
        told["ratings"] = msgspec.to_builtins(outcome.ratings)
    if outcome.kept is not None:
        told |= {"verified": outcome.well, "against": outcome.kept}
    return told


def _say(outcome: Outcome, *, every: bool) -> None:
    for verdict in outcome.tables:
        if every or not verdict["verified"]:
            word = "verified" if verdict["verified"] else "NOT VERIFIED"
            click.echo(f"{verdict['table_id']}: {word}, {counted(verdict['commits'], 'commit')}, head {verdict['head'][:16]}")
        for problem in verdict["problems"]:
            click.echo(f"  revision {problem['revision']}: {problem['code']}: {problem['message']}")
    for wrong in outcome.checkpoints:
        click.echo(f"checkpoint {wrong.revision}: {wrong.code}: {wrong.message}")
    if outcome.ratings is not None:
        _say_ratings(outcome.ratings)
    if outcome.kept is not None:
        for problem in outcome.kept["problems"]:
            click.echo(f"kept checkpoint: {problem['code']}: {problem['message']}")
        if outcome.kept["verified"]:
            click.echo(f"held against checkpoint {outcome.kept['number']}, signed by key {outcome.kept['key_id']}")
    if not every:
        _say_sum(outcome.tables)


def _say_sum(verdicts: list[Verdict]) -> None:
    commits = sum(verdict["commits"] for verdict in verdicts)
    wrong_ones = sum(not verdict["verified"] for verdict in verdicts)
    tables = counted(len(verdicts), "table")
    click.echo(f"{tables}, {counted(commits, 'commit')}, {f'{wrong_ones} not verified' if wrong_ones else 'all verified'}")


def _say_ratings(ratings: RatingsChecked) -> None:
    for wrong in ratings.problems:
        click.echo(f"ratings: {wrong.code}: {wrong.message}")
    if not ratings.checked:
        click.echo("ratings: not checked, because some are not computed yet")


async def _verified(settings: Settings, table_id: str | None, file: KeptCheckpoint | None, keys: frozenset[str]) -> Outcome:
    """Raises `ServersUnreachable`, `CannotStart`."""
    async with access(settings) as at:
        events, about, kept = await signed_in(at.log), None, None
        if file is not None:
            problems = wrong_with_file(file, events, keys)
            about = {"verified": not problems, "problems": msgspec.to_builtins(problems)}
            if not problems:  # a forged one proves nothing about tables
                kept = held_to(file)
                about |= {"number": kept.number, "at": kept.at, "key": kept.key, "key_id": key_id(kept.key)}
        if table_id is not None:
            return Outcome([await _one(at, table_id, kept)], [], len(events), about)
        with how_far("checkpoints", len(events)) as told:
            wrong = await wrong_with_signed(at.log, at.readers, at.proofs, keys, lambda done, _: told(done))
        every = await _all(at, kept)
        async with at.readers.reading() as connection:
            with how_far("pulkas rated once more") as told:
                ratings = await ratings_check.check(connection, told)
        return Outcome(every, wrong, len(events), about, ratings)


async def _one(at: Access, table_id: str, kept: GenuineCheckpoint | None) -> Verdict:
    verdict = await _table(at, table_id, kept)
    if not verdict["commits"] and not verdict["problems"]:
        raise CannotStart(f"the log knows no table {table_id}")
    return verdict


async def _all(at: Access, kept: GenuineCheckpoint | None) -> list[Verdict]:
    """Every table that the log, the books or the checkpoint know, the log's first."""
    verdicts: list[Verdict] = []
    seen: set[str] = set()
    console = Console(stderr=True)
    async with at.readers.reading() as connection:
        known = [row["table_id"] for row in await connection.fetch("SELECT table_id FROM tables ORDER BY table_id")]
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("tables", total=len(known))
        async with aclosing(tables_in(at.log, at.log.partitions.table_streams)) as addresses:
            async for address in addresses:
                seen.add(address.id)
                verdicts.append(await _table(at, address.id, kept))
                bar.advance(task)
        lost = sorted({*known, *(kept.leaves if kept is not None else ())} - seen)
        verdicts += [await _table(at, table_id, kept) for table_id in lost]
    return verdicts


async def _table(at: Access, table_id: str, kept: GenuineCheckpoint | None) -> Verdict:
    async with at.readers.reading() as connection:
        return {"table_id": table_id, **await verify_table(at.log, table(table_id), connection, kept=kept)}
