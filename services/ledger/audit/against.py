"""Holding log and rows against what was signed: a checkpoint's file that was kept elsewhere, and the row of all checkpoints in the log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from services.ledger.audit.gathering import Progress
from services.ledger.audit.proofs import Proofs, Row, row_of
from services.ledger.audit.signed_leaves import wrong_leaves
from services.ledger.desk.readers import Readers
from services.ledger.own.own_events import CHECKPOINTS, OwnEvents
from shared.eventlog.port import EventLog
from shared.events.chain import Finding, verify_chain
from shared.events.checkpoint_document import KeptCheckpoint, Leaf, Signed, wrong_in_row, wrong_with_kept
from shared.events.ledger_events import CheckpointSigned

UNDER_WAY_MS: Final = 60_000  # before a checkpoint, in which a table's first commit may have been dated and not yet stored


class GenuineCheckpoint(msgspec.Struct, frozen=True):
    """A kept checkpoint that was found to be genuine, its leaves by table."""

    number: int
    at: int
    key: str
    leaves: Mapping[str, Leaf]

    def should_hold(self, began: int) -> bool:
        """Whether a table whose first commit is of `began` (milliseconds since 1970) must be among the leaves."""
        return began < self.at - UNDER_WAY_MS


async def signed_in(log: EventLog) -> list[CheckpointSigned]:
    """All checkpoints that the log has. Raises `Unavailable`."""
    return [event for _, event in await OwnEvents(log).read(CHECKPOINTS) if isinstance(event, CheckpointSigned)]


async def wrong_with_signed(
    log: EventLog, readers: Readers, proofs: Proofs, keys: frozenset[str], progress: Progress = lambda _done, _all: None
) -> list[Finding]:
    """What is wrong with the checkpoints in log and rows; `revision` in a problem is a checkpoint's number.

    Codes: those of `wrong_in_row`, of the chain of their commits, and `rows_differ`. Every column of every checkpoint's row is held against
    the log, and, once the log's own are in order, the leaves of every one of them against what was signed (`wrong_leaves`). `keys` (public,
    hex): none, then whichever they name. `progress(done, all)` counts checkpoints.
    """
    async with readers.reading() as connection:  # before the log: the rows follow it, and one may be signed in this moment
        known = {row.number: row for row in await proofs.rows(connection)} if await proofs.newest(connection) else {}
    chain = verify_chain([stored.data for stored in await log.read(CHECKPOINTS)], CHECKPOINTS.subject)
    if not chain.verified:
        return list(chain.problems)
    events = await signed_in(log)
    wrong = wrong_in_row([Signed(event.signed, event.signature) for event in events], keys)
    problems = list(wrong)
    newest = max(known, default=0)
    for number, event in enumerate(events[:newest], 1):
        if number not in known:
            problems.append(Finding(number, "rows_differ", f"The rows do not have checkpoint {number}."))
        elif not _is_row_of(event, known[number]):
            problems.append(Finding(number, "rows_differ", f"The rows have another checkpoint {number} than the log."))
    problems += [
        Finding(number, "missing" if number > 0 else "rows_differ", f"The rows have a checkpoint {number}, the log has {len(events)}.")
        for number in sorted(known)
        if not 0 < number <= len(events)
    ]
    if not wrong:
        problems += await wrong_leaves(log, readers, proofs, events, progress)
    return problems


def _is_row_of(event: CheckpointSigned, row: Row) -> bool:
    try:
        return row == row_of(event)
    except msgspec.DecodeError:  # what was signed is no header, which is told already
        return (row.text, row.signature) == (event.signed, event.signature)


def wrong_with_file(kept: KeptCheckpoint, events: list[CheckpointSigned], keys: frozenset[str]) -> list[Finding]:
    """Whether a kept file is a checkpoint of this club's: signed by one of `keys`, with the leaves that were, and the one in the log.

    Without `keys` it must be signed by a key that signed one in the log, where there are any. Codes: those of `wrong_with_kept`;
    `checkpoint_unknown`: the log does not have it, so that either is not what it claims to be; `checkpoint_other`: it has another.
    """
    if problems := wrong_with_kept(kept, keys or frozenset(event.key for event in events)):
        return problems
    number = kept.checkpoint.header.number
    if number > len(events):
        return [Finding(number, "checkpoint_unknown", f"The log has {len(events)} checkpoints, and not number {number}.")]
    if events[number - 1].signed != kept.signed:
        return [Finding(number, "checkpoint_other", f"The log has another checkpoint {number} than this file.")]
    return []


def held_to(kept: KeptCheckpoint) -> GenuineCheckpoint:
    """A file in which nothing was found to be wrong."""
    header = kept.checkpoint.header
    return GenuineCheckpoint(header.number, header.at, header.key, {leaf.table: leaf for leaf in kept.leaves})
