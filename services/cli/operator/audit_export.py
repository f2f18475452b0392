"""`pulka audit export`: write tables to a file that an outsider can check with `deploy/verify/verify.py`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.progress import Progress

from services.cli.console.plural import counted
from services.cli.operator.audit_access import Access, access, audit_settings, require_id
from services.ledger.audit.open_part import open_part
from services.ledger.audit.proofs import goes_along
from services.ledger.audit.verify import tables_in
from services.ledger.views import tables
from shared.eventlog.aggregates.copies import without_copies
from shared.eventlog.port import Stored
from shared.events import address
from shared.events.address import Address
from shared.events.checkpoint_document import Leaf, Signed, leaf_of, path_in, tree_of
from shared.events.commit import hash_of
from shared.events.export_file import ExportWriter, written_to
from shared.web.service import CannotStart
from shared.web.settings import Settings


@click.command()
@click.argument("what", metavar="[TABLE] FILE", nargs=-1, required=True)
@click.option("--all", "every", is_flag=True, help="Every table that is open to all.")
@click.option("--private", is_flag=True, help="With --all: the private tables too.")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def export(what: tuple[str, ...], *, every: bool, private: bool, as_json: bool) -> None:
    """Write TABLE, or with --all all tables, to a new FILE (.ndjson, or compressed .ndjson.gz).

    Each table's commits as they are stored, as far as all its deals are revealed; with the newest checkpoint and the tables' proofs.
    """
    if len(what) != (1 if every else 2) or (private and not every):
        raise click.UsageError("give a table and a file, or --all and a file; --private goes with --all")
    settings, path = audit_settings(), Path(what[-1])
    if not every:
        require_id(what[0])
    if path.exists():
        raise CannotStart(f"{path} exists; an export never overwrites a file")
    try:
        told = asyncio.run(_exported(settings, path, None if every else what[0], private=private))
    except BaseException:
        path.unlink(missing_ok=True)  # half a file is no export
        raise
    if as_json:
        click.echo(msgspec.json.encode(told))
    else:
        held = f"{counted(told['tables'], 'table')}, {counted(told['commits'], 'commit')}"
        click.echo(f"{held}, {told['proofs']} proved by checkpoint {told['checkpoint']}: {path}")


async def _exported(settings: Settings, path: Path, table_id: str | None, *, private: bool) -> dict[str, Any]:
    writer, written, cut, commits = ExportWriter(), list[Leaf](), set[str](), 0
    console = Console(stderr=True)
    async with access(settings) as at:
        with written_to(path) as file, Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
            file.write(writer.header(int(time.time() * 1000)))
            task = bar.add_task("tables", total=await _count(at) if table_id is None else 1)
            async with aclosing(_chosen(at, table_id, private=private)) as chosen:
                async for place, records, hidden in chosen:
                    file.write(writer.table(place.id, [one.data for one in records], hidden=hidden))
                    written.append(leaf_of(place.id, [hash_of(recorded.data) for recorded in records]))
                    cut |= {place.id} if hidden else set()
                    commits += len(records)
                    bar.advance(task)
            signed, proofs = await _proofs(at, written, cut)
            if signed is not None:
                file.write(writer.checkpoint(signed))
                for proof in proofs:
                    file.write(writer.proof(*proof))
            file.write(writer.end())
    number, ends = None if signed is None else signed.header.number, {one.table: one.revision for one in written}
    proved = sum(goes_along(leaf, ends[leaf.table]) for leaf, _ in proofs)
    return {"file": str(path), "tables": len(written), "commits": commits, "checkpoint": number, "proofs": proved}


async def _count(at: Access) -> int:
    async with at.readers.reading() as connection:
        found: int = await connection.fetchval("SELECT count(*) FROM tables")
    return found


async def _chosen(at: Access, table_id: str | None, *, private: bool) -> AsyncGenerator[tuple[Address, list[Stored], bool], None]:
    """The tables with what of them is open now, and whether there is more. Raises `CannotStart` for one table of which nothing is."""
    if table_id is not None:
        records = without_copies(await at.log.read(address.table(table_id)))
        shown = open_part(records)
        if not shown:
            raise CannotStart(f"the log knows no table {table_id}")
        yield address.table(table_id), shown, len(shown) < len(records)
        return
    async with aclosing(tables_in(at.log, at.log.partitions.table_streams)) as found:
        async for place in found:
            async with at.readers.reading() as connection:
                known = (await tables.load(connection, [place.id])).get(place.id)
            if known is None or not (known.open_to_all or private):
                continue
            records = without_copies(await at.log.read(place))
            if shown := open_part(records):
                yield place, shown, len(shown) < len(records)


async def _proofs(at: Access, written: list[Leaf], cut: set[str]) -> tuple[Signed | None, list[Any]]:
    """The newest checkpoint, and the proofs that go along with the tables as they were written; of those in `cut` the rest is hidden."""
    async with at.readers.reading() as connection:
        newest = await at.proofs.newest(connection)
        if not newest:
            return None, []
        signed = await at.proofs.one(connection, newest)
        leaves = await at.proofs.leaves(connection, newest)
    if signed is None:
        return None, []
    tree, places = tree_of(leaves), {leaf.table: place for place, leaf in enumerate(leaves)}
    kept = [leaves[places[one.table]] for one in written if one.table in places]
    ends = {one.table: one.revision for one in written}
    fitting = [leaf for leaf in kept if goes_along(leaf, ends[leaf.table], hidden=leaf.table in cut)]
    return signed, [(leaf, path_in(tree, places[leaf.table])) for leaf in fitting]
