"""A look at a table: is a turn over there, and what is done then.

The look itself is one question to the log, asked for many tables together; the answer tells of those where something came since the last
one. If a table's last commit is younger than the shortest turn, nothing can be over; only one that has been slower than that is folded,
once a turn. What is known of a turn then stays at hand, and the commit that ends it tells of the next one. At a table that everybody has
left the turn is ended without a question: the append finds out whether somebody came back.

Whatever a look takes for true may be old; the append that ends a turn finds out, since the table's log refuses it then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import structlog

from services.table.clocks import figures
from services.table.clocks.outages import Outages
from services.table.clocks.schedule import Entry, Known
from services.table.clocks.skew import Skew
from services.table.table import Table, Turn, begins_a_turn, deadline, next_deal
from services.table.tables import Result, Tables
from shared.eventlog.aggregates.aggregates import BrokenChain, Committed, Loaded, QueueFull, RefusedAt
from shared.eventlog.port import LogError, OutcomeUnknown, StorageFull, Stored
from shared.events.commit import Commit, decode
from shared.events.keys import UnknownKey
from shared.events.sealed import TamperedBox
from shared.events.sealing import name_of
from shared.projections.core.projection import UNAPPLICABLE
from shared.rules.language.game_events import (
    AuctionWon,
    BidMade,
    CardPlayed,
    CardsDealt,
    CardsDiscarded,
    ContractDeclared,
    DealStarted,
    DeckCut,
    HandsLaid,
    PlayChosen,
    TalonTaken,
    TrickWon,
    TurnTimedOut,
    WhistCalled,
)
from shared.rules.pulka import decider as match

log = structlog.get_logger(__name__)

LOOK_AGAIN: Final = 5_000  # milliseconds: the longest that a table stays between two deals when whoever should have dealt could not
LOOK_CLOSELY: Final = 1_000  # milliseconds between looks where the log's times lie in the future: a turn is measured from the first look on
AFTER_TROUBLE: Final = 1_000  # milliseconds before a table that cannot be read now is looked at again

# What is wrong with one table's own commits: its clock stops, everybody else's goes on.
UNFOLDABLE: tuple[type[Exception], ...] = (UnknownKey, TamperedBox, *UNAPPLICABLE)

#: After a commit of these alone a deal is under way, and the turn that waits lasts at least as long as the shortest.
_AMID_A_DEAL: Final = frozenset(
    kind.__name__
    for kind in (
        AuctionWon, BidMade, CardPlayed, CardsDealt, CardsDiscarded, ContractDeclared, DealStarted, DeckCut, HandsLaid, PlayChosen,
        TalonTaken, TrickWon, TurnTimedOut, WhistCalled,
    )
)  # fmt: skip


class Looks:
    """Looks at tables, one at a time. `made` is told of what is done; `not_stored` of a stream that did not store a commit."""

    def __init__(
        self, tables: Tables, clock: Callable[[], int], outages: Outages, made: Callable[[Result], None], not_stored: Callable[[str], None]
    ) -> None:
        self._tables = tables
        self._clock = clock
        self._outages = outages
        self._made = made
        self._not_stored = not_stored
        self._broken: set[str] = set()
        self.skew = Skew()

    async def look(self, entry: Entry, head: Stored | None) -> int | None:
        """Look at a table, whose last commit is as it was `told`, and seems to be `head` (`None`: it is not at hand), and do what its clock
        is for.

        Returns when to look again, `None` when the pulka is over. What is wrong with one table stops no other's clock.
        """
        try:
            glanced = None if head is None else self._glance(entry, head)
            return await self._tend(entry) if glanced is None else glanced
        except (LogError, QueueFull) as passing:
            if isinstance(passing, OutcomeUnknown | StorageFull):
                self._not_stored(entry.stream)
            log.warning("clock_waits", table=entry.table_id, reason=type(passing).__name__)
            entry.left = False
        except BrokenChain as broken:
            self._tell_broken(entry, str(broken))
        except UNFOLDABLE as defect:
            self._tell_broken(entry, type(defect).__name__)  # its text may hold a card
        return self._clock() + AFTER_TROUBLE

    def defect(self, entry: Entry, wrong: Exception) -> int:
        """What nobody foresaw stops this table's clock for a moment, and is told. Returns when to look again."""
        self._tell_broken(entry, type(wrong).__name__)
        return self._clock() + AFTER_TROUBLE

    def unchanged(self, entry: Entry) -> int | None:
        """When to look again, if the last commit is as it was and its turn is not over: so it is with nearly every table."""
        if not entry.told:
            return None
        if entry.told == entry.idle:
            return self._soon(entry)
        now = self._clock()
        if entry.told == entry.calm:
            if entry.orphaned:  # between two deals, perhaps, and whoever would have dealt is gone
                return None
            return min(entry.calm_until, now + LOOK_AGAIN) if now < entry.calm_until else None
        if entry.told != entry.revision:
            return None
        ends_at = self._ends_at(entry, entry.known, now) if entry.known else entry.ends_at
        if now >= ends_at:
            return None
        entry.ends_at = ends_at
        return self._again(entry, now)

    def _glance(self, entry: Entry, head: Stored) -> int | None:
        """When to look again, if the last commit is as it was, or so young that no turn can be over."""
        if head.revision in {entry.idle, entry.revision}:
            return self.unchanged(entry)
        now = self._clock()
        entry.forget()
        orphaned, entry.orphaned = entry.orphaned, False
        commit = decode(head.data)
        self.skew.note(entry.table_id, commit.at, now)
        amid = _amid_a_deal(commit)
        soonest = commit.at + min(entry.shortest, LOOK_AGAIN)
        if soonest > now + LOOK_AGAIN:  # by a clock that was ahead: folded, and measured anew
            return None
        if (orphaned and not amid) or not begins_a_turn(commit):
            return None
        entry.calm, entry.calm_until = head.revision, commit.at + entry.shortest if amid else soonest
        return self.unchanged(entry)

    async def _tend(self, entry: Entry) -> int | None:
        """Do what is due. What is at hand of the turn is enough, when nothing seems to have happened since; else the table is folded."""
        known, entry.orphaned = entry.known, False
        if known is None or not (entry.left or entry.told == known.revision):
            loaded = await self._tables.load(entry.table_id, at_leader=True)
            known = self._learn(entry, loaded)
            if known is None:
                return await self._between(entry, loaded.state)
        return await self._when_over(entry, known)

    async def _between(self, entry: Entry, table: Table) -> int | None:
        """No turn waits: start the deal that is due, if one is."""
        if deadline(table) is None and table.pulka.status in {"over", "refused"}:
            self.skew.forget(entry.table_id)
            return None
        number = next_deal(table)
        if number is None:
            entry.idle = table.revision
            return self._soon(entry)
        result = await self._tables.start_deal(entry.table_id, number, self._clock())
        self._made(result)
        return self._after(entry, result)

    async def _when_over(self, entry: Entry, known: Known) -> int | None:
        """End the turn if its time is up."""
        now = self._clock()
        ends_at = entry.ends_at = self._ends_at(entry, known, now)
        if now < ends_at:
            return self._again(entry, now)
        credit = self._outages.credit(entry.table_id, known.began)
        ahead = known.deadline + credit - ends_at
        if known.starts is not None:
            result = await self._tables.start_deal(entry.table_id, known.starts, now + ahead)
        else:  # the commit is not before the deadline that it names: the log's time goes on from where it is
            result = await self._tables.time_out(entry.table_id, Turn(known.turn, known.deadline, credit), now + ahead)
        if isinstance(result, Committed) and not result.repeated:
            log.info("turn_timed_out", table=entry.table_id, turn_revision=known.turn, credit=credit)
            figures.LATE.observe(max(0, self._clock() - ends_at) / 1000)
            figures.CREDIT.inc(credit / 1000)
        self._made(result)
        if ahead and isinstance(result, Committed):  # the next turn begins now, whatever the log calls this moment
            after = result.loaded.state
            self.skew.began(entry.table_id, after.turn_revision, after.runs_since, now)
        return self._after(entry, result)

    def _after(self, entry: Entry, result: Result) -> int | None:
        """When to look again after what was done, by the state that it found or made."""
        entry.forget()
        if isinstance(result, RefusedAt) or (isinstance(result, Committed) and result.repeated):
            return self._soon(entry)
        known = self._learn(entry, result.loaded)
        if known is None:
            return self._soon(entry)
        now = self._clock()
        entry.ends_at = self._ends_at(entry, known, now)
        entry.left = isinstance(result, Committed) and isinstance(result.events[0], TurnTimedOut)
        return self._again(entry, now)

    def _learn(self, entry: Entry, loaded: Loaded[Table]) -> Known | None:
        """What is known of a table's turn from now on; `None` when none waits."""
        table = loaded.state
        ends = deadline(table)
        if ends is None or next_deal(table) is not None:
            entry.forget()
            return None
        starts = table.pulka.number + 1 if match.settles_next(table.pulka) else None
        entry.revision = loaded.revision
        entry.known = Known(loaded.revision, table.turn_revision, table.turn_began, table.runs_since, ends, starts)
        return entry.known

    def _ends_at(self, entry: Entry, known: Known, now: int) -> int:
        """When a turn is over, by the clock that says `now`."""
        ahead = known.runs_since - self.skew.began(entry.table_id, known.turn, known.runs_since, now)
        return known.deadline + self._outages.credit(entry.table_id, known.began) - ahead

    def _again(self, entry: Entry, now: int) -> int:
        """When to look at a table whose turn is not over, or is ended at once: somebody may move, and the next turn may be the shortest."""
        if self.skew.measures(entry.table_id):
            return min(entry.ends_at, now + LOOK_CLOSELY)
        return min(entry.ends_at, now + min(entry.shortest, LOOK_AGAIN))

    def _soon(self, entry: Entry) -> int:
        return self._clock() + min(entry.shortest, LOOK_AGAIN)

    def _tell_broken(self, entry: Entry, reason: str) -> None:
        """Once a table, not once a second: it stays as it is until somebody mends it."""
        entry.forget()
        if entry.table_id not in self._broken:
            self._broken.add(entry.table_id)
            log.critical("table_broken", table=entry.table_id, reason=reason)


def _amid_a_deal(commit: Commit) -> bool:
    return all(name_of(event) in _AMID_A_DEAL for event in commit.events)
