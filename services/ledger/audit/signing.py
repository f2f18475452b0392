"""Signing checkpoints: one a day by whoever leads, one now by an operator's command; each an event of the ledger's own, then rows.

Which instance signs does not matter: the append is expected under the checkpoint's number, so of two the first one stands and the other
finds it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import asyncpg
import msgspec
import structlog

from services.ledger.audit.against import signed_in
from services.ledger.audit.gathering import NotToBeSigned, Progress, ends_of, gathered
from services.ledger.audit.proofs import Proofs
from services.ledger.desk.readers import Readers
from services.ledger.own.own_events import ARCHIVE, CHECKPOINTS, OwnEvents
from shared.eventlog.aggregates.aggregates import Mismatch
from shared.eventlog.port import EventLog, LogError
from shared.events.chain import Finding
from shared.events.checkpoint_document import Leaf, Signed, in_order, leaf_of, root_over, sign, wrong_in_row
from shared.events.key_files import KeyFileError
from shared.events.keys import SigningKey
from shared.events.ledger_events import CheckpointSigned, TableArchived
from shared.projections.core import checkpoint
from shared.projections.core.projection import Connection
from shared.web.problems import Problem as Unreadable  # of the readers, while there are no books to read
from shared.web.service import CannotStart
from shared.web.settings import Settings

DAY_MS: Final = 24 * 60 * 60 * 1000
STATEMENT_S: Final = 60.0  # seconds for a statement: over all leaves of a large club one takes a few
AGAIN_S: Final = 5.0  # seconds before the next look after one for which log or database was away
LOOK_S: Final = 60.0  # seconds between looks whether a new day has begun: nobody waits for a checkpoint to the minute

log = structlog.get_logger(__name__)


class Checkpoints:
    """What has been signed: the log's word, and rows made to agree with it."""

    def __init__(
        self, event_log: EventLog, readers: Readers, proofs: Proofs, dsn: str, progress: Progress = lambda _done, _all: None
    ) -> None:
        """`progress(done, all)` counts sequences of the streams while the log is read."""
        self._log = event_log
        self._own = OwnEvents(event_log)
        self._readers = readers
        self._proofs = proofs
        self._dsn = dsn
        self._progress = progress

    async def signed(self) -> list[CheckpointSigned]:
        """All of them from the first on, as the log has them. Raises `Unavailable`."""
        return await signed_in(self._log)

    async def sign(self, key: SigningKey, now: int) -> tuple[Signed, list[Leaf]]:
        """Sign what the log holds now (`now`: milliseconds since 1970); the checkpoint and all its leaves.

        Raises `NotToBeSigned`, `Mismatch` when another instance signed this number first, `LogError`, and what asyncpg raises.
        """
        connection = await asyncpg.connect(self._dsn, command_timeout=STATEMENT_S)
        try:
            number = await self._proofs.newest(connection)
            before = await self.signed()  # after the rows: they follow it
            row = [Signed(event.signed, event.signature) for event in before]
            if wrong := wrong_in_row(row, frozenset()):
                raise NotToBeSigned("checkpoints", wrong[0])
            known = await self._caught_up(connection, number, before)
            after = before[-1].cut if before else {}
            cut = after | await ends_of(self._log)  # of a stream that this instance does not know yet, what was signed stays
            changed, leaves = await self._leaves(known, after, cut, signed=False)
            at = max(now, row[-1].header.at) if row else now
            made = await asyncio.to_thread(sign, key, len(row) + 1, at, leaves, row[-1] if row else None)
            event = CheckpointSigned(len(row) + 1, made.signed, made.signature, key.public, cut)
            await self._own.append(CHECKPOINTS, f"checkpoint:{event.number}", at, event)
            await self._proofs.write(connection, event, changed)
        finally:
            await checkpoint.close(connection)
        log.info("checkpoint_signed", number=event.number, tables=len(leaves), root=made.header.root, key=key.id)
        return made, leaves

    async def catch_up(self) -> None:
        """Make the rows of every checkpoint that the log has and they do not. Raises as `sign`, but for `Mismatch`."""
        async with self._readers.reading() as connection:
            number = await self._proofs.newest(connection)
        before = await self.signed()
        if number == len(before):
            return
        connection = await asyncpg.connect(self._dsn, command_timeout=STATEMENT_S)
        try:
            await self._caught_up(connection, number, before)
        finally:
            await checkpoint.close(connection)

    async def _caught_up(self, connection: Connection, number: int, before: Sequence[CheckpointSigned]) -> list[Leaf]:
        """The leaves of the last of `before`; those after `number` have no rows: they are made again, and must have the signed roots."""
        if number > len(before):
            raise NotToBeSigned("checkpoints", Finding(len(before) + 1, "missing", f"the rows know {number}, the log {len(before)}"))
        known = await self._proofs.leaves(connection, number)
        for place in range(number, len(before)):
            event = before[place]
            changed, known = await self._leaves(known, before[place - 1].cut if place else {}, event.cut, signed=True)
            if root_over(known) != Signed(event.signed, event.signature).header.root:
                message = "the commits that the log holds are not those that were signed"
                raise NotToBeSigned("checkpoints", Finding(event.number, "checkpoint_root", message))
            await self._proofs.write(connection, event, changed)
        if before and root_over(known) != Signed(before[-1].signed, before[-1].signature).header.root:
            message = "the rows of its leaves are not those that were signed"
            raise NotToBeSigned("checkpoints", Finding(len(before), "checkpoint_root", message))
        return known

    async def _leaves(
        self, known: Sequence[Leaf], after: dict[str, int], cut: dict[str, int], *, signed: bool
    ) -> tuple[list[Leaf], list[Leaf]]:
        """The leaves of the tables that went on between two cuts, and all, in order. `signed`: the caller has their root."""
        archived = {event.table for _, event in await self._own.read(ARCHIVE) if isinstance(event, TableArchived)}
        proved = None if signed else {one.table: one for one in known}
        found = await gathered(self._log, self._readers, after, cut, archived, proved, self._progress)
        changed = await asyncio.to_thread(lambda: [leaf_of(table, hashes) for table, hashes in found.items()])
        return changed, in_order(({one.table: one for one in known} | {one.table: one for one in changed}).values())


class DailySigner:
    """Signs the first checkpoint of each day, UTC, while this instance leads."""

    def __init__(
        self,
        event_log: EventLog,
        checkpoints: Checkpoints,
        key: Callable[[], SigningKey | None],
        leads: Callable[[], bool],
        clock: Callable[[], int],
    ) -> None:
        """`key()` is asked for whenever something is due, so that a new key signs without a restart; None: it only keeps the rows up to
        date with what others sign. `clock` gives milliseconds since 1970.
        """
        self._log = event_log
        self._checkpoints = checkpoints
        self._key = key
        self._leads = leads
        self._clock = clock
        self._done = True  # the last look, whatever came of it
        self.refused: str | None = None  # what keeps it from signing until somebody has mended it

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            with suppress(Mismatch):  # another instance was first
                await self.look_and_tell()
            await asyncio.sleep(LOOK_S if self._done else AGAIN_S)

    async def look(self) -> bool:
        """Sign when it is due; whether it was. Raises as `Checkpoints.sign`, and `CannotStart` when the key cannot be read."""
        if not self._leads():
            return False
        before, now = await self._checkpoints.signed(), self._clock()
        done = before and _at(before[-1]) // DAY_MS >= now // DAY_MS
        if done or (key := self._key()) is None or not any((await ends_of(self._log)).values()):
            await self._checkpoints.catch_up()
            return False
        await self._checkpoints.sign(key, now)
        return True

    async def look_and_tell(self) -> None:
        """Look, and remember what came in the way; raises `Mismatch`."""
        self._done = True
        try:
            await self.look()
        except NotToBeSigned as refused:
            self.refused = str(refused)
            log.critical("checkpoint_refused", table=refused.table, **msgspec.structs.asdict(refused.problem))
        except CannotStart as unreadable:
            self.refused = str(unreadable)
            log.critical("checkpoint_refused", reason="signing_key")
        except (LogError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError, Unreadable) as away:
            self._done = False
            log.warning("checkpoint_put_off", reason=type(away).__name__)
        else:
            self.refused = None


def _at(event: CheckpointSigned) -> int:
    return Signed(event.signed, event.signature).header.at


def signing_key(settings: Settings) -> SigningKey | None:
    """The key that checkpoints are signed with; None where the settings name none. Raises `CannotStart`."""
    if not settings.signing_key_file:
        return None
    try:
        return SigningKey.load(Path(settings.signing_key_file))
    except KeyFileError as wrong:
        raise CannotStart(str(wrong)) from None
    except OSError as wrong:
        raise CannotStart(f"key file {wrong.filename}: {wrong.strerror}") from None
