"""The leaves of every checkpoint, as the rows have them, held against the roots that were signed; and which of them are wrong.

A root proves all leaves of its checkpoint at once: whoever changed one would have to find another that gives the same hash. So nothing of
the log is read while the roots come out. Where one does not, what changed since the checkpoint before, whose leaves are proved, is made
again from the log; if that gives the signed root, the rows that differ from it are exactly the wrong ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing

from services.ledger.audit.gathering import NotToBeSigned, Progress, gathered
from services.ledger.audit.proofs import Proofs
from services.ledger.desk.readers import Readers
from services.ledger.own.own_events import ARCHIVE, OwnEvents
from shared.eventlog.port import EventLog
from shared.events import merkle
from shared.events.chain import Finding
from shared.events.checkpoint_document import Leaf, Signed, leaf_of
from shared.events.ledger_events import CheckpointSigned, TableArchived


class _Leaves:
    """All leaves of one checkpoint, each with its hash in the tree: of one checkpoint after the other few change."""

    def __init__(self, of: Mapping[str, Leaf]) -> None:
        self.of = dict(of)
        self._hashes = {table: merkle.leaf(leaf.entry) for table, leaf in of.items()}
        self._order = sorted(of)

    def put(self, leaves: Iterable[Leaf]) -> None:
        """What changed."""
        for leaf in leaves:
            self.of[leaf.table] = leaf
            self._hashes[leaf.table] = merkle.leaf(leaf.entry)
        if len(self._order) != len(self.of):
            self._order = sorted(self.of)  # as their bytes are in order

    def root(self) -> str:
        """Over all of them, hex."""
        return merkle.root_above(self._hashes[table] for table in self._order).hex()


async def wrong_leaves(
    log: EventLog,
    readers: Readers,
    proofs: Proofs,
    events: Sequence[CheckpointSigned],
    progress: Progress = lambda _done, _all: None,
) -> list[Finding]:
    """What is wrong with the rows of the leaves of `events`: all that the log has, nothing being wrong with them; as far as there are rows.

    In a problem `revision` is a checkpoint's number and the code `rows_differ`. It names one table, but where the log cannot tell what was
    signed: then the checkpoints after that one are not looked at. `progress(done, all)` counts checkpoints. Raises what the log raises.
    """
    async with readers.reading() as connection:
        known = await proofs.newest(connection)
        problems = [
            Finding(number, "rows_differ", f"The rows have a leaf of table {leaf.table} in it, and there is no such checkpoint.")
            for number, leaf in await proofs.strays(connection, known)
        ]
        newest = min(known, len(events))
        leaves, root = _Leaves({}), merkle.NOTHING.hex()
        async with aclosing(proofs.changes(connection, newest)) as rows, aclosing(_by_number(rows, newest)) as checkpoints:
            async for number, changed in checkpoints:
                before, signed = dict(leaves.of) if changed else leaves.of, _root(events[number - 1])
                leaves.put(changed)
                if (leaves.root() if changed else root) != signed:
                    true, found = await _named(log, readers, events[:number], before, changed)
                    problems += found
                    if true is None:
                        break
                    leaves = true
                root = signed
                progress(number, newest)
                await asyncio.sleep(0)  # the connections to both servers have their turn
    return problems


async def _by_number(rows: AsyncGenerator[tuple[int, Leaf], None], newest: int) -> AsyncGenerator[tuple[int, list[Leaf]], None]:
    """Every checkpoint up to `newest` with its rows, of which there may be none."""
    number, own = 1, list[Leaf]()
    async for of, leaf in rows:
        while number < of:
            yield number, own
            number, own = number + 1, []
        own.append(leaf)
    while number <= newest:
        yield number, own
        number, own = number + 1, []


async def _named(
    log: EventLog, readers: Readers, events: Sequence[CheckpointSigned], before: Mapping[str, Leaf], changed: Sequence[Leaf]
) -> tuple[_Leaves | None, list[Finding]]:
    """The leaves of the last of `events` as they were signed, None where that cannot be known; and the rows `changed` held against them.

    `before` are the leaves of the checkpoint before it, which are proved.
    """
    number, event, after = len(events), events[-1], events[-2].cut if len(events) > 1 else {}
    archived = {one.table for _, one in await OwnEvents(log).read(ARCHIVE) if isinstance(one, TableArchived)}
    try:
        hashes = await gathered(log, readers, after, event.cut, archived, None)  # None: held against the signed root
    except NotToBeSigned as broken:
        return None, [_unknown(number, str(broken))]
    made = {table: leaf_of(table, own) for table, own in hashes.items()}
    true = _Leaves({**before, **made})
    if true.root() != _root(event):
        return None, [_unknown(number, "what the log holds is not what was signed")]
    return true, list(_differ(number, made, {leaf.table: leaf for leaf in changed}))


def _differ(number: int, made: Mapping[str, Leaf], rows: Mapping[str, Leaf]) -> Iterator[Finding]:
    for table in sorted({*made, *rows}):
        if table not in rows:
            yield Finding(number, "rows_differ", f"The leaf of table {table} in it is missing from the rows.")
        elif table not in made:
            yield Finding(number, "rows_differ", f"The rows have a new leaf of table {table} in it, which had not changed.")
        elif made[table] != rows[table]:
            yield Finding(number, "rows_differ", f"The row of the leaf of table {table} in it is not what was signed.")


def _unknown(number: int, why: str) -> Finding:
    message = f"The rows of its leaves are not those that were signed, nor can the log tell which of them are wrong ({why})."
    return Finding(number, "rows_differ", message)


def _root(event: CheckpointSigned) -> str:
    return Signed(event.signed, event.signature).header.root
