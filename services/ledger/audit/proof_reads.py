"""Proofs that a commit is in a signed checkpoint, deals dealt once more, and whole tables for strangers: read from rows, log and trees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final

import msgspec

from services.ledger.audit.proofs import Proofs, goes_along
from services.ledger.desk.desk import Desk, Seen
from services.ledger.views import audit_trail
from services.ledger.views.tables import Table
from shared.eventlog.aggregates.copies import without_copies
from shared.eventlog.port import Stored
from shared.events import address, merkle
from shared.events.checkpoint_document import Leaf, Path, Proof, Signed, path_in, tree_of
from shared.events.commit import decode, hash_of
from shared.events.deal_proof import RecomputedDeal, recompute
from shared.events.export_file import ExportWriter
from shared.projections.core.projection import Connection
from shared.web.problems import Problem

TREES: Final = 2  # checkpoints whose trees are kept: today's, and yesterday's for who asks for it; 20 MB each for a club of 100,000 tables


class _Grown(msgspec.Struct, frozen=True):
    """A checkpoint's tree, and where each table stands in it."""

    tree: merkle.Tree
    places: Mapping[str, int]


class ProofReads:
    """What the handlers ask for; raises what a client is told as `Problem`."""

    def __init__(self, desk: Desk, proofs: Proofs) -> None:
        self.desk = desk
        self.proofs = proofs
        self._trees: dict[int, _Grown] = {}
        self._growing = asyncio.Lock()

    async def proof(self, connection: Connection, seen: Seen, revision: int, number: int | None) -> Proof:
        """That `revision` of the table is in checkpoint `number`, by default the newest. Raises 404."""
        table = seen.sight.table.table_id
        chosen = await self.proofs.newest(connection) if number is None else number
        signed = await self.proofs.one(connection, chosen)
        if signed is None:
            raise Problem(404, "no_such_checkpoint", "There is no such checkpoint.")
        leaf = await self.proofs.leaf(connection, table, chosen)
        if leaf is None or not 0 < revision <= leaf.revision or (leaf.revision > seen.revision and not seen.sight.whole):
            raise Problem(404, "not_in_checkpoint", f"Checkpoint {chosen} does not hold revision {revision} of this table.")
        hashes = await self._hashes(connection, leaf)
        in_table = path_in(merkle.Tree(hashes), revision - 1)
        return Proof(revision, hashes[revision - 1].hex(), in_table, leaf, await self._path(connection, leaf, signed), signed)

    async def covering(self, connection: Connection, table: Table) -> tuple[Signed, Leaf] | None:
        """The newest checkpoint and the table's leaf in it, if that goes into the table's export."""
        newest = await self.proofs.newest(connection)
        signed = await self.proofs.one(connection, newest)
        leaf = await self.proofs.leaf(connection, table.table_id, newest)
        return (signed, leaf) if signed is not None and leaf is not None and goes_along(leaf, table.revision) else None

    async def deal(self, table: Table, number: int) -> RecomputedDeal:
        """A revealed deal, shuffled and dealt once more. Raises 404, 500 `log_differs`."""
        commits = await self._whole(table)
        try:
            found = await asyncio.to_thread(lambda: recompute(map(decode, (stored.data for stored in commits)), number))
        except (ValueError, msgspec.MsgspecError):  # the first also for a deal that no sum leads to
            raise Problem(500, "log_differs", "The log has a deal that cannot be reproduced; see the verification.") from None
        if found is None:
            raise Problem(404, "no_such_deal", "There is no such deal, or it is not revealed.")
        return found

    async def export(self, connection: Connection, table: Table) -> AsyncIterator[bytes]:
        """The export file of a table that is over, with its proof if it is in a checkpoint. Raises 500 `log_differs`."""
        commits = await self._whole(table)
        covering = await self.covering(connection, table)
        path = None if covering is None else await self._path(connection, covering[1], covering[0])
        return _pieces(table, commits, covering, path)

    async def _whole(self, table: Table) -> list[Stored]:
        commits = await self.desk.log.read(address.table(table.table_id), until=table.sequence)
        commits = without_copies(stored for stored in commits if stored.sequence <= table.sequence)
        if len(commits) != table.revision or hash_of(commits[-1].data) != table.hash:
            raise Problem(500, "log_differs", "The log differs from what the ledger read of this table; see the verification.")
        return commits

    async def _hashes(self, connection: Connection, leaf: Leaf) -> list[bytes]:
        found = await audit_trail.hashes(connection, leaf.table, leaf.revision)
        if len(found) == leaf.revision:
            return [bytes.fromhex(one) for one in found]
        commits = without_copies(
            await self.desk.log.read(address.table(leaf.table))
        )  # a commit was left out of the books; the tree is over all
        return [bytes.fromhex(hash_of(stored.data)) for stored in commits[: leaf.revision]]

    async def _path(self, connection: Connection, leaf: Leaf, signed: Signed) -> Path:
        grown = await self._grown(connection, signed)
        return path_in(grown.tree, grown.places[leaf.table])

    async def _grown(self, connection: Connection, signed: Signed) -> _Grown:
        number = signed.header.number
        async with self._growing:
            if number not in self._trees:
                leaves = await self.proofs.leaves(connection, number)
                tree = await asyncio.to_thread(tree_of, leaves)
                if tree.root.hex() != signed.header.root:
                    raise Problem(500, "log_differs", f"The leaves of checkpoint {number} are not those that were signed.")
                while len(self._trees) >= TREES:
                    del self._trees[next(iter(self._trees))]  # the one that was grown first
                self._trees[number] = _Grown(tree, {leaf.table: place for place, leaf in enumerate(leaves)})
            return self._trees[number]


async def _pieces(table: Table, commits: list[Stored], covering: tuple[Signed, Leaf] | None, path: Path | None) -> AsyncIterator[bytes]:
    writer = ExportWriter()
    yield writer.header(table.at)
    yield writer.table(table.table_id, [stored.data for stored in commits])
    if covering is not None and path is not None:
        yield writer.checkpoint(covering[0])
        yield writer.proof(covering[1], path)
    yield writer.end()
