"""Is a table's log what it claims to be: nothing changed, every deal dealt as committed, every event what the rules make of the moves?

Needs no key: cards are read from `DealRevealed`, after which everybody may know them. A deal in progress is checked by its hashes only.
With the read tables at hand their rows are held against the log too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, nullcontext
from typing import Any

import msgspec

from services.ledger.audit.against import GenuineCheckpoint
from services.ledger.audit.rules_check import by_the_rules
from services.ledger.books import Books
from services.ledger.own.own_events import OwnEvents
from services.ledger.own.parked import ParkingChronicle
from services.ledger.players import player_rows
from services.ledger.players.player_rows import PlayerRows
from services.ledger.views import audit_trail, deal_history, kept_entries, score_sheet, sections, tables, who_played
from services.ledger.views.audit_trail import Step
from services.ledger.views.deal_history import Revealed
from services.ledger.views.kept_entries import Own
from services.ledger.views.score_sheet import Score
from services.ledger.views.sections import Section
from services.ledger.views.tables import Line, Table
from services.ledger.views.who_played import Occupant
from services.ledger.whists import postings, statement
from services.ledger.whists.postings import Transaction
from services.ledger.whists.statement import Account
from shared.eventlog.aggregates.copies import split_copies
from shared.eventlog.port import EventLog, NotInArchive, Stored
from shared.events.address import Address
from shared.events.chain import ChainReport, Finding, verify_chain
from shared.events.checkpoint_document import Leaf, leaf_of
from shared.events.commit import revision_in
from shared.events.deal_proof import verify_deals
from shared.events.draw_proof import verify_draw
from shared.projections.core import checkpoint, history
from shared.projections.core.projection import UNAPPLICABLE, Connection
from shared.projections.parking import parking, skipping
from shared.projections.parking.parking import Parked
from shared.projections.parking.skipping import Skip

ANY_DEAL = 1 << 30  # above every deal's number: no limit


class Rows(msgspec.Struct, frozen=True):
    """Everything that the read tables hold about one table; `applied` is how far its stream has been read into them.

    `parked`: the commit at which they stopped; `skipped`: commits that were left out of them, `said`: those of which the log says so too.
    """

    applied: int
    table: Table | None
    steps: Sequence[Step]
    scores: Sequence[Score]
    own: Sequence[Own]
    sections: Sequence[Section]
    parts: Sequence[Occupant]
    revealed: Sequence[Revealed]
    accounts: Sequence[Account]
    transactions: Sequence[Transaction]
    parked: Parked | None = None
    skipped: Sequence[Skip] = ()
    said: Sequence[Skip] = ()
    players: PlayerRows | None = None
    head: tuple[int, str] | None = None  # revision and hash at which the follow loop goes on; None: not asked
    misplaced: Sequence[int] = ()  # revisions whose postings are not numbered from 1 on


async def read_rows(connection: Connection, address: Address) -> Rows:
    """What the rows say, as of one moment: of the transaction that is open, else of one of its own."""
    moment = nullcontext() if connection.is_in_transaction() else connection.transaction(isolation="repeatable_read", readonly=True)
    async with moment:
        return Rows(
            (await checkpoint.read(connection, address.stream)).sequence,
            (await tables.load(connection, [address.id])).get(address.id),
            await audit_trail.read(connection, address.id, ANY_DEAL),
            await score_sheet.read(connection, address.id, ANY_DEAL),
            await kept_entries.read(connection, address.id, ANY_DEAL),
            await sections.written(connection, [address.id]),
            await who_played.of_table(connection, address.id),
            await deal_history.read(connection, address.id, ANY_DEAL),
            await statement.of_table(connection, address.id),
            await postings.read(connection, [address.id]),
            parked=next(iter(await parking.parked_of(connection, address.subject)), None),
            skipped=await skipping.skipped(connection, address.subject),
            players=await player_rows.read(connection, address.id),
            head=await history.head(connection, address.subject),
            misplaced=await postings.misplaced(connection, address.id),
        )


async def verify_table(
    log: EventLog,
    address: Address,
    connection: Connection | None = None,
    last_revision: int | None = None,
    kept: GenuineCheckpoint | None = None,
) -> dict[str, Any]:
    """`{"verified", "commits", "head", "problems"}` of one table, as far as `last_revision` if that is given.

    `connection` has the ledger's schema as its search path; without one only the log is checked. `head` is the last commit's hash.
    With a kept checkpoint the table must be as it was signed too.
    Each problem is `{"revision", "code", "message"}`; of an archived table that is not to be had `not_in_archive`. Raises `Unavailable`.
    """
    try:
        rows = None if connection is None else await read_rows(connection, address)
    except (ValueError, TypeError, LookupError) as garbage:  # msgspec's errors are ValueErrors: no program wrote such rows
        message = f"The rows of this table cannot be read ({type(garbage).__name__})."
        return {"verified": False, "commits": 0, "head": "", "problems": [msgspec.to_builtins(Finding(0, "rows_differ", message))]}
    if rows and rows.skipped:  # the log decides what is left out: rows that were taken away would otherwise be explained by one more row
        rows = msgspec.structs.replace(rows, said=await ParkingChronicle(OwnEvents(log), Books.name).skips())
    try:
        records = await log.read(address, until=rows.table.sequence if rows and rows.table else 0)
    except NotInArchive as away:
        return {"verified": False, "commits": 0, "head": "", "problems": [msgspec.to_builtins(Finding(1, "not_in_archive", str(away)))]}
    if last_revision is not None:
        records = _as_far_as(records, last_revision)
        rows = _until(rows, last_revision) if rows else None
    report = await asyncio.to_thread(
        check, address, records, rows, last_revision is None, kept
    )  # some 0.3 s for a long pulka: others are served meanwhile
    return {
        "verified": report.verified,
        "commits": report.commits,
        "head": report.head,
        "problems": [msgspec.to_builtins(problem) for problem in report.problems],
    }


def _as_far_as(records: Sequence[Stored], last_revision: int) -> list[Stored]:
    """The commits up to `last_revision`; bytes that are no commit lie at the revision that was to come, as the chain's findings say it."""
    found: list[Stored] = []
    revision = 0
    for stored in records:
        revision = stored.revision or revision + 1
        if revision <= last_revision:
            found.append(stored)
    return found


async def tables_in(log: EventLog, streams: Sequence[str]) -> AsyncGenerator[Address, None]:
    """Every table that has a commit in `streams` now, each once, as the log says it: rows that are missing would hide none."""
    for stream in streams:
        mark, found = await log.last_sequence(stream), set[Address]()
        if not mark:
            continue
        async with aclosing(log.follow(stream)) as batches:
            async for batch in batches:
                for stored in batch:
                    if stored.sequence <= mark and stored.address not in found:
                        found.add(stored.address)
                        yield stored.address
                if not batch or batch[-1].sequence >= mark:  # an empty batch: nothing more is there now
                    break


def check(
    address: Address,
    records: Sequence[Stored],
    rows: Rows | None,
    whole: bool = True,  # noqa: FBT001, FBT002 - handed to a thread
    kept: GenuineCheckpoint | None = None,
) -> ChainReport:
    """All checks of one table's commits, from the first on, in the order of the log."""
    records, copies = split_copies(records)
    twice = tuple(Finding(revision_in(one.data), "added", f"{one.position} has the same bytes once more: passed over.") for one in copies)
    known: dict[int, str] = {step.revision: step.hash for step in rows.steps} if rows else {}
    leaf = kept.leaves.get(address.id) if kept is not None else None
    if leaf is not None:
        known[leaf.revision] = leaf.head
    stored = [one.data for one in records]
    chain = verify_chain(stored, address.subject, known)
    wrong: tuple[Finding, ...] = ()
    if not chain.verified:
        sure = {revision: known[revision] for revision in (max(known, default=0), leaf.revision if leaf else 0) if revision in known}
        alone = verify_chain(stored, address.subject, sure)
        if not alone.verified:
            problems = [*twice, *chain.problems, *_parked(rows)]  # what follows from damaged commits would only repeat it
            return ChainReport(verified=False, commits=chain.commits, head=chain.head, problems=tuple(problems))
        chain, wrong = alone, chain.problems  # links up to a hash that is known prove the log: what differs is the row
    problems = list(twice)
    lines: list[Line] = []
    try:
        lines = tables.lines(records, {})
        commits = [line.commit for line in lines]
        drawn, proofs = verify_draw(commits), verify_deals(commits)
    except UNAPPLICABLE as unreadable:
        problems.append(
            Finding(_first_unreadable(records), "unreadable", f"An event is none that this program knows ({type(unreadable).__name__}).")
        )
    else:
        if kept is not None and lines:
            problems += not_as_signed(lines, leaf, kept)
        problems += [*drawn, *(problem for proof in proofs for problem in proof.problems), *by_the_rules(address.id, lines)]
    if rows and (lines or rows.skipped or rows.parked):
        problems += _books_differ(records, lines, rows, whole=whole)
    told = {problem.revision for problem in problems}
    problems += [
        Finding(one.revision, "rows_differ", "The audit trail has another hash of this revision than the log.")
        for one in wrong
        if one.revision not in told
    ]
    return ChainReport(not problems, chain.commits, chain.head, tuple(problems))


def _first_unreadable(records: Sequence[Stored]) -> int:
    """The first revision with an event that this program does not know or that cannot stand there; 0 where it is none by itself."""
    known: dict[str, Table] = {}
    for stored in records:
        try:
            tables.lines([stored], known)
        except UNAPPLICABLE:
            return stored.revision
    return 0


def not_as_signed(lines: Sequence[Line], leaf: Leaf | None, kept: GenuineCheckpoint) -> Iterator[Finding]:
    """What of a table whose chain holds, also to the signed head, is not as the checkpoint has it."""
    if leaf is None:
        if kept.should_hold(lines[0].commit.at):
            yield Finding(1, "added", f"This table says that it began before checkpoint {kept.number}, which does not have it.")
    elif leaf_of(leaf.table, [line.table.hash for line in lines[: leaf.revision]]) != leaf:
        yield Finding(leaf.revision, "checkpoint_tree", "The signed tree is not that of these commits, though the signed head is.")


def _until(rows: Rows, revision: int) -> Rows:
    """The rows that commits up to `revision` wrote; those that later commits changed, of table and accounts, are left out."""
    steps = [step for step in rows.steps if step.revision <= revision]
    return Rows(
        rows.applied,
        None,
        steps,
        (scores := [score for score in rows.scores if score.revision <= revision]),
        [one for one in rows.own if one.revision <= revision],
        [section for section in rows.sections if section.revision <= revision],
        [part for part in rows.parts if part.deal <= (scores[-1].deal if scores else 0)],
        [cards for cards in rows.revealed if cards.revision <= revision],
        (),
        [one for one in rows.transactions if one.revision <= revision],
        parked=rows.parked if rows.parked and rows.parked.revision <= revision else None,
        skipped=[skip for skip in rows.skipped if skip.revision <= revision],
        said=rows.said,
        players=rows.players.until(revision, scores[-1].deal if scores else 0) if rows.players else None,
    )


def _books_differ(records: Sequence[Stored], lines: Sequence[Line], rows: Rows, *, whole: bool) -> Iterator[Finding]:
    """What the books leave out and where they stopped, by whose word and why; and rows that are not what the rest makes."""
    for skip in rows.skipped:
        if skip in rows.said:
            yield Finding(skip.revision, "skipped", f"This revision was left out of the books by {skip.author}: {skip.why}")
        else:
            yield Finding(skip.revision, "rows_differ", "The books leave this revision out, and the log does not say so.")
    yield from _parked(rows)
    if rows.skipped or rows.parked:
        left_out = {skip.revision for skip in rows.skipped}
        end = rows.parked.revision if rows.parked else records[-1].revision + 1
        lines = tables.lines([one for one in records if one.revision < end and one.revision not in left_out], {})
    yield from _rows_differ(lines, rows, whole=whole)
    if rows.players is not None:
        yield from rows.players.differences([line for line in lines if line.table.sequence <= rows.applied][: len(rows.steps)])


def _parked(rows: Rows | None) -> Iterator[Finding]:
    """Where the books stopped, and why."""
    if rows is not None and rows.parked is not None:
        why = f"This revision could not be applied ({rows.parked.reason}) and waits, with all that follow it."
        yield Finding(rows.parked.revision, "parked", why)


def _rows_differ(lines: Sequence[Line], rows: Rows, *, whole: bool) -> Iterator[Finding]:
    """Rows that are not what the log's commits make, as far as the log has been read into them."""
    read = [line for line in lines if line.table.sequence <= rows.applied]
    written = read[: len(rows.steps)]
    if len(written) < len(read):
        yield Finding(read[len(written)].commit.revision, "rows_missing", "This revision was read and has left no rows; it may be parked.")
    if not written:
        return
    last = written[-1]
    try:
        accounts, transactions = statement.booked((), written, score_sheet.last_dealers_in(written))
    except UNAPPLICABLE:
        yield Finding(last.commit.revision, "rows_differ", "What the commits settle cannot be booked.")
        return
    views: list[tuple[str, Sequence[Any], Sequence[Any]]] = [
        ("audit trail", audit_trail.steps(written), rows.steps),
        ("score sheet", score_sheet.scores(written, {}), rows.scores),
        ("players' own sheet", kept_entries.own(written), rows.own),
        ("sections", sections.sections(written), rows.sections),
        ("deal history", deal_history.revealed(written), rows.revealed),
        ("statement", transactions, rows.transactions),
    ]
    for name, expected, found in views:
        yield from _view_differs(name, expected, found, last.commit.revision)
    if who_played.parts(written) != list(rows.parts):
        yield Finding(last.commit.revision, "rows_differ", "Who played which deal is not what the commits say.")
    if whole and last.table != rows.table:
        yield Finding(last.commit.revision, "rows_differ", "The table's row is not what its commits say.")
    if whole and rows.head is not None and not rows.skipped and rows.head != (last.commit.revision, last.table.hash):
        yield Finding(
            last.commit.revision, "rows_differ", "The head from which the books go on is not the last commit that they have read."
        )
    for revision in rows.misplaced:
        yield Finding(revision, "rows_differ", "The places of this revision's postings are not those that were written.")
    if whole and accounts != list(rows.accounts):
        yield Finding(last.commit.revision, "rows_differ", "The accounts are not what was settled, corrected and annulled.")


def _view_differs(name: str, expected: Sequence[Any], found: Sequence[Any], head: int) -> Iterator[Finding]:
    """Where the rows of one view are others than the `expected` ones; `head` is the newest revision."""
    for ours, theirs in zip(expected, found, strict=False):
        if ours != theirs:
            yield Finding(ours.revision, "rows_differ", f"The {name} of this revision is not what its commit says.")
    if len(expected) != len(found):
        yield Finding(head, "rows_differ", f"The {name} has {len(found)} rows, its commits make {len(expected)}.")
