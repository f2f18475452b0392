"""Moving a settled table to the archive: write it, read it back, mark it, record the file, and only then purge the log.

1. Its commits are verified, as everybody can, and held against the books; the last of them must be in a signed checkpoint, where any was
ever signed. 2. They are written to a file of their own, with that proof; it is synced and read back. 3. `PulkaArchived` is appended to the
table: its last commit, which stays, so that the table has a history for ever and nothing begins there anew. 4. The books are waited for,
until they have read it and it is on their disk. 5. `TableArchived` tells the ledger's own log where the file is. 6. What lies before the
last commit is purged.

Killed between any two steps, the next run begins at the first again and finds what is done: nothing is written twice, nothing is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from services.ledger.archive import archive_files
from services.ledger.archive.archive_files import ArchivedTable, BadArchive
from services.ledger.audit.proofs import Proofs
from services.ledger.audit.verify import check, read_rows
from services.ledger.own.own_events import ARCHIVE, CHECKPOINTS, OwnEvents
from services.ledger.views import tables
from services.ledger.views.tables import Table
from shared.eventlog.port import Conflict, EventLog, Stored
from shared.events import address, merkle
from shared.events.address import Address
from shared.events.archive_mark import is_mark
from shared.events.catalogue import encode_event
from shared.events.checkpoint_document import Signed, path_in, tree_of
from shared.events.commit import SCHEMA, Commit, decode, encode, hash_of
from shared.events.export_file import ExportedProof
from shared.events.ledger_events import TableArchived
from shared.events.sealing import name_of
from shared.projections.core.projection import Connection
from shared.projections.parking import skipping
from shared.rules.pulka.imported import PulkaArchived

TABLES_A_PAGE: Final = 100  # that are looked for at a time
BOOKS_S: Final = 10.0  # seconds for the books to read one commit; it takes milliseconds
LOOK_S: Final = 0.02  # seconds between two looks at them
NOT_SIGNED_YET: Final = "No signed checkpoint holds its last commit yet; the ledger signs one a day, `pulka audit checkpoint` one now."
ANNULLED: Final = "PulkaAnnulled"  # the last event of a pulka that counts for nothing (4.2.16)

_IN_PLAY: Final = "SELECT table_id FROM tables WHERE status <> 'over' AND at < $1 ORDER BY table_id"

_PARKED: Final = "SELECT DISTINCT aggregate FROM parked WHERE $1::text IS NULL OR aggregate = $1"

#: `$1`: untouched since then, `$2`: but those.
_DUE: Final = """
FROM tables t JOIN audit_trail a USING (table_id, revision)
WHERE t.status = 'over' AND t.at < $1 AND a.events <> 'PulkaArchived' AND t.table_id <> ALL($2)
"""

State = Literal["archived", "left"]
Told = Callable[[str, str], None]


class Moved(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a table: `archived`, or `left` where it was and why (one word, and a sentence)."""

    table: str
    state: State
    commits: int = 0
    reason: str = ""
    detail: str = ""
    proved: bool = True  # its file has the way to a signed checkpoint; it may lack that only where nobody ever signed one


async def told_archived(own: OwnEvents) -> dict[str, TableArchived]:
    """What the ledger's own log says was archived, by table: the newest word of each. Raises `Unavailable`."""
    return {event.table: event for _, event in await own.read(ARCHIVE) if isinstance(event, TableArchived)}


class _Left(Exception):
    """A table that is not archived now."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class Archiver:
    """One run, and nobody else's at the same time (`Versions.alone`).

    `connection` reads the books that everybody reads now; `log` is the operator's; `author` stands in the log. `told` hears of each step
    that is about to be done: table and one word.
    """

    def __init__(  # noqa: PLR0913 - what to read, where to write, and who says so
        self, log: EventLog, connection: Connection, own: OwnEvents, proofs: Proofs, folder: Path,
        *, author: str, clock: Callable[[], int], told: Told = lambda _table, _step: None,
    ) -> None:  # fmt: skip
        self._log = log
        self._books = connection
        self._own = own
        self._proofs = proofs
        self._tree: tuple[Signed, merkle.Tree, dict[str, int]] | None = (
            None  # the last checkpoint's that was needed, with each table's place
        )
        self._folder = folder
        self._author = author
        self._clock = clock
        self._told = told
        self._archived: set[tuple[str, str]] | None = None  # what the ledger's own log knows, once it was read

    async def count(self, older_than: int) -> int:
        """How many tables `due` gives, about."""
        begun = await asyncio.to_thread(archive_files.begun, self._folder)
        over: int = await self._books.fetchval(f"SELECT count(*) {_DUE}", older_than, begun)
        return len(begun) + over

    async def in_play(self, older_than: int) -> list[str]:
        """The tables that nobody has touched since `older_than` either, and that stay because they are not settled."""
        return [row["table_id"] for row in await self._books.fetch(_IN_PLAY, older_than)]

    async def due(self, older_than: int) -> AsyncIterator[tuple[str, int]]:
        """The tables that a run would take, with how many commits each: those begun, then those over and untouched since `older_than`
        (milliseconds since 1970), the longest first.
        """
        begun = await asyncio.to_thread(archive_files.begun, self._folder)
        for table_id, table in sorted((await tables.load(self._books, begun)).items()):
            yield table_id, table.revision
        after = (0, "")
        while True:
            rows = await self._books.fetch(
                f"SELECT t.table_id, t.at, t.revision {_DUE} AND (t.at, t.table_id) > ($3, $4) ORDER BY t.at, t.table_id LIMIT $5",
                older_than,
                begun,
                *after,
                TABLES_A_PAGE,
            )
            for row in rows:
                yield row["table_id"], row["revision"]
            if len(rows) < TABLES_A_PAGE:
                return
            after = (rows[-1]["at"], rows[-1]["table_id"])

    async def held_back(self, where: Address | None = None) -> dict[str, Moved]:
        """The tables, or only `where`, that stay because the books do not have all of them, by id: parked, or a commit was left out."""
        found: dict[str, Moved] = {}
        for skip in await skipping.skipped(self._books, None if where is None else where.subject):
            table_id = address.from_subject(skip.aggregate).id
            found[table_id] = Moved(
                table_id,
                "left",
                reason="commit_skipped",
                detail=f"Revision {skip.revision} was left out of the books by {skip.author}: {skip.why}; the log keeps what they lack.",
            )
        for row in await self._books.fetch(_PARKED, None if where is None else where.subject):
            table_id = address.from_subject(row["aggregate"]).id
            found[table_id] = Moved(table_id, "left", reason="parked", detail="Some of its commits are parked; see to them first.")
        return found

    async def move(self, table_id: str) -> Moved:
        """Archive one table, or finish what was begun. Raises what the log and Postgres raise when they are away, and `OSError`."""
        where = address.table(table_id)
        try:
            return await self._moved(where)
        except _Left as left:
            return Moved(table_id, "left", reason=left.reason, detail=left.detail)
        except Conflict:
            return Moved(table_id, "left", reason="in_use", detail="Somebody added to it just now.")

    async def _moved(self, where: Address) -> Moved:
        there = await self._records(where)
        self._told(where.id, "verify")
        table = await self._verified(where, there)
        marked = is_mark(there[-1].data)
        records = there[:-1] if marked else there
        proved = await self._proved(where.id, hash_of(records[-1].data), marked=marked) if records else None
        await asyncio.to_thread(archive_files.begin, self._folder, where.id)
        if proved:
            kept = ArchivedTable(tuple(records), hash_of(records[-1].data), *proved)
            self._told(where.id, "write")
            await self._written(kept, marked=marked)
        else:
            kept = await self._read_back(where)
        digest = await asyncio.to_thread(archive_files.digest_of, archive_files.file_of(self._folder, where.id))
        self._told(where.id, "mark")
        mark = there[-1] if marked else await self._marked(table, kept)
        self._told(where.id, "books")
        await self._books_have(where, mark)
        self._told(where.id, "tell")
        await self._tell(where, kept, digest)
        self._told(where.id, "purge")
        await self._log.purge(where, mark.sequence)
        self._told(where.id, "finish")
        await asyncio.to_thread(archive_files.finish, self._folder, where.id)
        return Moved(where.id, "archived", len(kept.records), proved=kept.proof is not None)

    async def _records(self, where: Address) -> list[Stored]:
        """What of the table lies in the log, as the leader has it."""
        head = await self._log.head(where)
        if head is None:
            raise _Left("not_in_log", "The log has nothing of it.")
        return await self._log.read(where, until=head.sequence)

    async def _verified(self, where: Address, there: Sequence[Stored]) -> Table:
        """The table's row, once it is sure that the books have read all of the table, that it is over, and that everything holds."""
        if held := (await self.held_back(where)).get(where.id):
            raise _Left(held.reason, held.detail)
        if is_mark(there[-1].data):  # an interrupted run's, which the books may be just about to read
            await self._books_have(where, there[-1])
        table = (await tables.load(self._books, [where.id])).get(where.id)
        if table is None or table.revision != there[-1].revision or table.hash != hash_of(there[-1].data):
            raise _Left("books_behind", "The books have not read all of it.")
        if table.status != "over":
            raise _Left("in_play", "It is not settled.")
        if there[0].revision == 1 or not is_mark(there[0].data):
            rows = await read_rows(self._books, where)
            report = await asyncio.to_thread(check, where, there, rows)
            if not report.verified:
                first = report.problems[0]
                raise _Left("not_verified", f"revision {first.revision}: {first.code}: {first.message}")
        return table

    async def _proved(self, table_id: str, head: str, *, marked: bool) -> tuple[Signed | None, ExportedProof | None]:
        """The newest checkpoint that holds the table just up to `head`, and the way to it: what goes to the archive takes its proof along.

        Neither where nobody ever signed one, and of a table that had its mark without. Raises `_Left` when none holds it yet.
        """
        found = await self._proofs.holding(self._books, table_id, head)
        if found is None:
            if marked or await self._log.head(CHECKPOINTS) is None:
                return None, None
            raise _Left("not_signed_yet", NOT_SIGNED_YET)
        number, leaf = found
        if self._tree is None or self._tree[0].header.number != number:
            signed = await self._proofs.one(self._books, number)
            if signed is None:
                raise _Left("not_verified", f"Checkpoint {number} is missing from the rows of the proofs.")
            leaves = await self._proofs.leaves(self._books, number)
            tree = await asyncio.to_thread(tree_of, leaves)
            self._tree = signed, tree, {one.table: place for place, one in enumerate(leaves)}
        signed, tree, places = self._tree
        if tree.root.hex() != signed.header.root:
            raise _Left("not_verified", f"The leaves of checkpoint {number} are not those that were signed.")
        return signed, ExportedProof(leaf, path_in(tree, places[table_id]))

    async def _written(self, kept: ArchivedTable, *, marked: bool) -> None:
        """Let the file hold `kept`. Once the table is marked the file of before must hold its commits already, unless it is not there any
        more; before that, one with another proof or none is written anew.
        """
        path = archive_files.file_of(self._folder, kept.records[0].address.id)
        if path.exists():
            try:
                before = await asyncio.to_thread(archive_files.read, path)
                if before.records == kept.records and (marked or before == kept):
                    return
            except BadArchive:
                if marked:
                    raise _Left("archive_differs", f"{path} is damaged; the log still has the table. Remove the file.") from None
            if marked:
                raise _Left("archive_differs", f"{path} does not hold what the log does. Remove the file.")
        await asyncio.to_thread(archive_files.write, self._folder, self._clock(), kept)
        again = await asyncio.to_thread(archive_files.read, path)
        if again.records != kept.records or again.head != kept.head:
            raise _Left("archive_differs", f"{path} does not hold what was written to it.")

    async def _read_back(self, where: Address) -> ArchivedTable:
        """What an earlier run has written of a table that has left the log already."""
        path = archive_files.file_of(self._folder, where.id)
        try:
            return await asyncio.to_thread(archive_files.read, path)
        except (BadArchive, FileNotFoundError) as wrong:
            raise _Left("archive_differs", f"It has left the log, and its file is not in order: {wrong}") from wrong

    async def _marked(self, table: Table, kept: ArchivedTable) -> Stored:
        """Append the commit that stays."""
        last = kept.records[-1]
        annulled = any(name_of(event) == ANNULLED for event in decode(last.data).events)
        event = PulkaArchived(len(kept.records), kept.head, self._author, annulled)
        commit = Commit(
            aggregate=last.address.subject,
            revision=last.revision + 1,
            schema=SCHEMA,
            at=max(self._clock(), table.at),
            actor=self._author,
            command_id=f"archive:{last.address.id}",
            command_digest="",
            cause=None,
            correlation=None,
            prev_hash=kept.head,
            events=(msgspec.Raw(encode_event(event)),),
        )
        return await self._log.append(last.address, encode(commit), last.sequence)

    async def _books_have(self, where: Address, mark: Stored) -> None:
        """Wait until the books have read the mark, and until that is on their disk: a checkpoint must not lie on a commit that is gone."""
        try:
            async with asyncio.timeout(BOOKS_S):
                while True:
                    found = (await tables.load(self._books, [where.id])).get(where.id)
                    if found is not None and found.hash == hash_of(mark.data):
                        break
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            raise _Left("books_behind", "The books have not read its last commit; the next run goes on here.") from None
        await self._books.execute("SET synchronous_commit = on")
        await self._books.execute("SELECT pg_current_xact_id()")  # a commit that waits for the disk, and with it for all before it

    async def _tell(self, where: Address, kept: ArchivedTable, digest: str) -> None:
        file = f"{where.id[0]}/{where.id}{archive_files.ENDING}"
        event = TableArchived(where.id, file, digest, len(kept.records), kept.head, self._author)
        if self._archived is None:
            self._archived = {(one.table, one.digest) for _, one in await self._own.read(ARCHIVE) if isinstance(one, TableArchived)}
        if (where.id, digest) not in self._archived:
            await self._own.append(ARCHIVE, f"archived:{where.id}:{digest}", self._clock(), event)
            self._archived.add((where.id, digest))
