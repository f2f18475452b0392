"""`pulka archive`: move settled tables out of the log to files, list the archive, and verify it."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import click
import msgspec

from services.cli.console.logs import log_to
from services.cli.console.plural import counted
from services.cli.console.progress import how_far
from services.cli.operator.connections import books_of, completed, connections, told_in_words
from services.cli.operator.token import BAD_NAME, NAME
from services.ledger.archive import archive_files
from services.ledger.archive.archive_files import BadArchive
from services.ledger.archive.archiving import Archiver, Moved, told_archived
from services.ledger.archive.belonging import Belonging, belonging
from services.ledger.archive.whole_log import archive_folder
from services.ledger.audit.proofs import Proofs
from services.ledger.audit.verify import check
from services.ledger.books import Books
from services.ledger.own.own_events import OwnEvents
from shared.eventlog.port import NotPermitted
from shared.events import address
from shared.events.checkpoint_document import wrong_with
from shared.events.ledger_events import TableArchived
from shared.projections.versions.versions import Versions
from shared.web.application import now_ms
from shared.web.auth import OPERATOR
from shared.web.log_connection import connected_log
from shared.web.service import CannotStart
from shared.web.settings import Settings, home_of, masked, read_settings, variable

FAILED: Final = 1  # exit status: a table was left where it is, or a file is not in order
DAY_MS: Final = 24 * 60 * 60 * 1000
_USER: Final = re.compile(r"://(?:[^@/]*@)?")  # in a URL, up to the host

FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


@click.group(invoke_without_command=True)
@click.option(
    "--older-than",
    "days",
    type=click.IntRange(0, 100_000),
    metavar="DAYS",
    help="Settled tables unchanged for this many days; 0: all that are settled.",
)
@click.option("--to", "folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR", help="Folder of the archive.")
@click.option("--name", default="operator", show_default=True, help="Who archives; recorded in the log.")
@click.option("--elsewhere", is_flag=True, help="Use DIR although the files of tables archived before are not there.")
@click.option("--dry-run", is_flag=True, help="Only list these tables.")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
@click.pass_context
def archive(ctx: click.Context, days: int | None, folder: Path | None, name: str, *, elsewhere: bool, dry_run: bool, as_json: bool) -> None:
    """Move settled tables older than DAYS out of the log to files in DIR; finish an interrupted run.

    Needs a running ledger and a NATS user that may purge: PULKA_NATS_OPERATOR_URL, or the keys of PULKA_HOME. Exit status 1
    when a table had to be left in the log.
    """
    if ctx.invoked_subcommand is not None:
        if days is not None or folder is not None or dry_run or elsewhere:
            raise click.UsageError("--older-than, --to, --elsewhere and --dry-run go with `pulka archive` itself")
        return
    if days is None or folder is None:
        raise click.UsageError("--older-than DAYS and --to DIR are needed")
    if NAME.fullmatch(name) is None:
        raise click.BadParameter(BAD_NAME, param_hint="--name")
    settings = connections()
    log_to(sys.stderr, "warning")
    since = int(time.time() * 1000) - days * DAY_MS
    try:
        author = OPERATOR + name
        work = (
            _listed(settings, folder, since, elsewhere=elsewhere)
            if dry_run
            else _moved(settings, folder, since, author, elsewhere=elsewhere)
        )
        done = asyncio.run(work)
    except NotPermitted as wrong:
        raise CannotStart(f"{wrong}: set {variable('nats_operator_url')}") from wrong
    if as_json:
        click.echo(msgspec.json.encode(done))
    else:
        _say(done, dry_run=dry_run)
    if done["archived"]:
        _say_next(settings, folder)
    sys.exit(FAILED if done["left"] else 0)


@archive.command("list")
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def list_command(folder: Path, *, as_json: bool) -> None:
    """List the tables in DIR, with their commits and sizes. Exit status 1 when a file is damaged."""
    count = damaged = 0

    def described() -> Iterator[dict[str, Any]]:
        nonlocal count, damaged
        for one in _each(folder, _described):
            count += 1
            damaged += "problems" in one
            yield one

    if as_json:
        _one_object(described())
    else:
        for one in described():
            whole = "head" in one
            size = f"{counted(one['commits'], 'commit')}, {counted(one['bytes'], 'byte')}" if whole else ""
            told = f"{size}, head {one['head'][:16]}" if whole else one["problems"][0]["message"]
            click.echo(f"{one['table']}: {told}")
        click.echo(counted(count, "table"), err=True)
    sys.exit(FAILED if damaged else 0)


@archive.command()
@click.argument("folder", type=FOLDER, metavar="DIR")
@click.option("--files-only", is_flag=True, help="Check the files alone, without the log.")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def verify(folder: Path, *, files_only: bool, as_json: bool) -> None:
    """Verify every table in DIR: bytes, hashes, deals, rules. With a log, check also that every file is there, unchanged.

    Exit status 1 when something is wrong; 2 when the log knows none of these tables, since it then belongs to another club.
    """
    settings = completed(read_settings(os.environ))
    log_to(sys.stderr, "warning")
    asks = bool(settings.nats_url) and not files_only
    told, strangers = asyncio.run(_told_by_the_log(settings, folder)) if asks else ({}, frozenset[str]())
    if not asks:
        why = "as --files-only wants" if files_only else f"{variable('nats_url')} is not set"
        click.echo(f"{why}: the files were not compared with the log", err=True)
    seen: set[str] = set()
    wrong = 0

    def verdicts() -> Iterator[dict[str, Any]]:
        nonlocal wrong
        for one in _each(folder, lambda path: _verified(path, told, strangers)):
            seen.add(one["table"])
            wrong += not one["verified"]
            yield one
        for table_id in sorted(told.keys() - seen):
            wrong += 1
            yield {"table": table_id, "verified": False, "problems": [_problem("missing", "it was archived, and no file of it is here")]}

    if as_json:
        _one_object(verdicts())
    else:
        count = 0
        for one in verdicts():
            count += 1
            for problem in one["problems"]:
                click.echo(f"{one['table']}: revision {problem['revision']}: {problem['code']}: {problem['message']}")
        click.echo(f"{counted(count, 'table')}, {f'{wrong} not verified' if wrong else 'all verified'}")
    sys.exit(FAILED if wrong else 0)


# ---- moving ------------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _archiver(settings: Settings, folder: Path, author: str, *, elsewhere: bool, writes: bool) -> AsyncIterator[Archiver]:
    """An archiver on connections of its own, into the folder of before unless `elsewhere` is meant; `writes`: the folder is there then.

    Raises `CannotStart`, `ServersUnreachable`.
    """
    log = await connected_log(_as_operator(settings), "pulka archive", on_closed=None)
    versions = Versions(Books.name, settings.namespace)
    try:
        with told_in_words(settings):
            connection = await books_of(settings)
            try:
                if not await versions.alone(connection):  # whoever fills a version reads what we take out of the log
                    raise CannotStart("another `pulka archive` is under way, or a rebuild is running (see `pulka ledger status`)")
                own = OwnEvents(log)
                told = await told_archived(own)
                if not told and (found := await belonging(log, folder, told)).elsewhere:
                    raise CannotStart(f"{_not_of(settings, folder, found)}: choose another --to")
                away = [] if elsewhere else archive_files.not_there(folder, told)
                if away:
                    raise CannotStart(
                        f"{len(away)} archived tables, the first {away[0]}, have no file in {folder}; choose theirs, or give --elsewhere"
                    )
                _require_writable(folder, make=writes)
                yield Archiver(log, connection, own, Proofs(settings.namespace), folder, author=author, clock=now_ms)
            finally:
                await connection.close()
    finally:
        await log.close()


async def _listed(settings: Settings, folder: Path, older_than: int, *, elsewhere: bool) -> dict[str, Any]:
    """Which tables a run would take, and which it would leave, as far as the books alone tell."""
    tables: list[str] = []
    left: list[Moved] = []
    commits = 0
    async with _archiver(settings, folder, OPERATOR, elsewhere=elsewhere, writes=False) as archiver:
        held = await archiver.held_back()
        async for table_id, revision in archiver.due(older_than):
            if table_id in held:
                left.append(held[table_id])
                continue
            tables.append(table_id)
            commits += revision
        in_play = await archiver.in_play(older_than)
    return {"archived": 0, "due": len(tables) + len(left), "commits": commits, "tables": tables, "left": left, "in_play": in_play}


async def _moved(settings: Settings, folder: Path, older_than: int, author: str, *, elsewhere: bool) -> dict[str, Any]:
    """Move what is due; what had to be left is told one by one."""
    totals: Counter[str] = Counter()
    left: list[Moved] = []
    tables: list[str] = []
    async with _archiver(settings, folder, author, elsewhere=elsewhere, writes=True) as archiver:
        with how_far("tables", await archiver.count(older_than)) as told:
            async for table_id, _ in archiver.due(older_than):
                moved = await archiver.move(table_id)
                totals[moved.state] += 1
                totals["commits"] += moved.commits
                if moved.state == "left":
                    left.append(moved)
                else:
                    tables.append(table_id)
                    totals["unproved"] += not moved.proved
                told(totals["archived"] + totals["left"])
        in_play = await archiver.in_play(older_than)
    if totals["unproved"]:
        click.echo(
            f"{counted(totals['unproved'], 'table')} went without a proof: {variable('signing_key_file')} and a checkpoint give one",
            err=True,
        )
    due = totals["archived"] + totals["left"]
    return {"archived": len(tables), "due": due, "commits": totals["commits"], "tables": tables, "left": left, "in_play": in_play}


def _require_writable(folder: Path, *, make: bool) -> None:
    """Raises `CannotStart` for a folder into which nothing can be written, before any table is looked at."""
    try:
        archive_files.require_room(folder, make=make)
    except OSError as wrong:
        raise CannotStart(
            f"{wrong.filename or folder} cannot be written ({wrong.strerror}), so nothing was archived: fix that, or choose another --to"
        ) from wrong


def _as_operator(settings: Settings) -> Settings:
    """The settings with the log's user that may purge. Raises `CannotStart` when it is not known."""
    if settings.nats_operator_url:
        return msgspec.structs.replace(settings, nats_url=settings.nats_operator_url)
    secret = home_of(settings) / "keys" / "nats_operator"
    try:
        password = secret.read_text(encoding="utf-8").strip()
    except OSError as wrong:
        raise CannotStart(
            f"purging needs the operator's user of NATS: set {variable('nats_operator_url')} ({secret}: {wrong.strerror})"
        ) from None
    user = f"://operator:{quote(password, safe='')}@"
    return msgspec.structs.replace(settings, nats_url=_USER.sub(lambda _: user, settings.nats_url))


def _say_next(settings: Settings, folder: Path) -> None:
    """What is to be done now that the log has them no more."""
    click.echo(f"{folder} now holds the only copy of these tables: back it up", err=True)
    known, here = archive_folder(settings), folder.expanduser().resolve()
    if known is None or known.resolve() != here:
        click.echo(f"to let the ledger read them, set {variable('archive_dir')}={here} and restart it", err=True)


def _say(done: dict[str, Any], *, dry_run: bool) -> None:
    for table_id in done["in_play"]:
        click.echo(f"{table_id}: stays in the log: it is in play")
    for left in done["left"]:
        click.echo(f"{left.table}: {'stays' if dry_run else 'left'} in the log: {left.reason}: {left.detail}")
    if dry_run:
        for table_id in done["tables"]:
            click.echo(f"{table_id}: would be archived")
        click.echo(f"{counted(len(done['tables']), 'table')} with {counted(done['commits'], 'commit')} would be archived")
        return
    click.echo(
        f"{counted(done['archived'], 'table')} with {counted(done['commits'], 'commit')} archived, {len(done['left'])} left in the log"
    )


# ---- looking -----------------------------------------------------------------------------------------------------------


def _each(folder: Path, look: Any) -> Iterator[dict[str, Any]]:
    """What `look` says of every file, with a bar."""
    with how_far("tables", sum(1 for _ in archive_files.files_in(folder))) as told:
        for done, path in enumerate(archive_files.files_in(folder), start=1):
            yield look(path)
            told(done)


def _described(path: Path) -> dict[str, Any]:
    told: dict[str, Any] = {"table": path.name.removesuffix(archive_files.ENDING), "bytes": path.stat().st_size}
    try:
        kept = archive_files.read(path)
    except BadArchive as wrong:
        return told | {"problems": [_problem("damaged", str(wrong))]}
    return told | {"commits": len(kept.records), "head": kept.head, "proved": kept.proof is not None}


def _verified(path: Path, told: dict[str, TableArchived], strangers: frozenset[str]) -> dict[str, Any]:
    """One file: whether it is whole, its chain, deals and rules hold, its proof leads to its checkpoint, and it is what the log says.

    `strangers`: tables that the log does not know.
    """
    table_id = path.name.removesuffix(archive_files.ENDING)
    try:
        kept = archive_files.read(path)
    except BadArchive as wrong:
        return {"table": table_id, "verified": False, "commits": 0, "problems": [_problem("damaged", str(wrong))]}
    problems = [msgspec.to_builtins(one) for one in check(address.table(table_id), kept.records, None).problems]
    if kept.checkpoint is not None and kept.proof is not None:
        problems += [msgspec.to_builtins(one) for one in wrong_with(kept.checkpoint, frozenset())]
        leaf = kept.proof.leaf
        if (leaf.table, leaf.head) != (table_id, kept.head) or kept.proof.path.leads_to(leaf.entry) != kept.checkpoint.header.root:
            problems.append(_problem("not_in_checkpoint", "the proof does not lead from this table to the checkpoint"))
    if table_id in strangers:
        problems.append(_problem("unknown", "the log has nothing of this table: it left another log, or the end of this one is lost"))
    archived = told.get(table_id)
    if archived is not None and archived.digest != archive_files.digest_of(path):
        problems.append(_problem("changed", "it is not the file that the log tells of"))
    return {"table": table_id, "verified": not problems, "commits": len(kept.records), "problems": problems}


async def _told_by_the_log(settings: Settings, folder: Path) -> tuple[dict[str, TableArchived], frozenset[str]]:
    """What the ledger's own log says was archived, by table; and the tables with a file in `folder` of which the log has nothing.

    Raises `CannotStart` when it is not the log that they left, `ServersUnreachable`.
    """
    log = await connected_log(settings, "pulka archive", on_closed=None)
    try:
        with told_in_words(settings):
            told = await told_archived(OwnEvents(log))
            found = await belonging(log, folder, told)
    finally:
        await log.close()
    if found.elsewhere:
        raise CannotStart(f"{_not_of(settings, folder, found)}: set {variable('nats_url')} to the log they came from, or give --files-only")
    return told, found.strangers


def _not_of(settings: Settings, folder: Path, found: Belonging) -> str:
    whose = masked(settings.nats_url) + (f" ({variable('namespace')} {settings.namespace})" if settings.namespace else "")
    return f"{folder} does not belong to the log at {whose}, which knows none of the tables there ({found.tables})"


def _problem(code: str, message: str) -> dict[str, Any]:
    return {"revision": 0, "code": code, "message": message}


def _one_object(found: Iterator[dict[str, Any]]) -> None:
    """`{"tables": […]}`, table by table: an archive may be larger than memory."""
    sys.stdout.write('{"tables": [')
    for place, one in enumerate(found):
        sys.stdout.write((", " if place else "") + msgspec.json.encode(one).decode())
    sys.stdout.write("]}\n")
