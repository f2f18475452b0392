"""The clocks of all tables: every instance looks after some streams, ends the turns that ran out there, and so no table hangs.

Three things go on beside each other and never wait for one another. Each stream's leader is asked every second whether it answers. The
heartbeat writes that down, keeps the leases on the streams that are this instance's share, and reads what outages there were. The sweep
looks at the tables whose time has come, many at once and never too many of one stream. So a sweep that is late is only late: an outage is
a silence of the log (`pulse`).

Two sweeps of one table, or a sweep and a late move, are decided by the table's log and by nothing else. A lease saves work; it makes
nothing right or wrong.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final

import structlog

from services.table.clocks import figures
from services.table.clocks.looks import Looks
from services.table.clocks.outages import Outages
from services.table.clocks.pulse import Pulse, WentBack
from services.table.clocks.schedule import Entry, Schedule
from services.table.clocks.store import AT_A_TIME, ClockStore, Running, Silence
from services.table.tables import Result, Tables
from shared.eventlog.port import LastCommits, LogError, Stored
from shared.events import address
from shared.leases.shares import Sharing
from shared.projections.core.status import PASSING, classify
from shared.projections.following.follow import new_holder

log = structlog.get_logger(__name__)

SWEEP: Final = 0.25  # seconds between sweeps, and between looks at the leases: a turn may last that much longer than agreed
BEAT: Final = 1.0  # seconds between two questions to a stream's leader, and between two signs of life
GIVE_BACK: Final = 0.5  # seconds that a stop takes to give back what is held; Postgres takes milliseconds
RETRY: Final = 1.0  # seconds before Postgres is asked again
AT_ONCE: Final = 8  # tables of one stream that are folded or written at once: some thousand a second, and moves get their turn in between
TOGETHER: Final = 16  # tables of one stream that are looked at together, by one question to the log: half a millisecond of the processor
PAUSE: Final = 0.004  # seconds between two such looks: some 4,000 tables a second, and whoever moves hardly waits for any
IN_HAND: Final = 256  # tables of one stream whose look has begun and not ended: so many may wait for the log, and no more
WAITS: Final = "wait for the log"  # a state


class Clocks:
    """Ends turns whose time is up at the tables of `streams`, as far as they are this instance's share. `made` is told of what it did;
    `steady` counts seconds and is never set; `outages` learns what turns get back.
    """

    def __init__(  # noqa: PLR0913 - two that say what time it is and who one is, for simulations, besides what it works on
        self, tables: Tables, store: ClockStore, streams: Sequence[str], clock: Callable[[], int], made: Callable[[Result], None],
        steady: Callable[[], float] = time.monotonic, outages: Outages | None = None, *, holder: str = "",
    ) -> None:  # fmt: skip
        self._log = tables.log
        self._store = store
        self._streams = tuple(streams)
        self._clock = clock
        self._steady = steady
        self._outages = outages or Outages()
        self._holder = holder or new_holder()
        self._pulse = Pulse(self._holder, self._streams, steady)
        self._sharing = Sharing(self._holder, self._streams, steady)
        self._looks = Looks(tables, clock, self._outages, made, self._pulse.not_stored)
        self._schedule = Schedule()
        self._held: dict[str, int] = {}  # the epochs of the leases, by stream
        self._others: set[str] = set()  # who lived when the leases were last looked at
        self._found: dict[str, Running] = {}  # what is to be written down, by table
        self._over: set[str] = set()
        self._beat_at = float("-inf")  # the last sign of life, by the steady clock
        self._counted_at = float("-inf")
        self._at_once = {stream: asyncio.Semaphore(AT_ONCE) for stream in self._streams}
        self._in_hand: Counter[str] = Counter()  # tables that are being looked at, by stream
        self._sweeping: set[asyncio.Task[None]] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._trouble = "stopped"  # why the store is not asked now; empty: it is
        self._defect = ""

    # ---- its life ------------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Write down, and learn, what outage has just ended, before the first request asks; then sweep. With Postgres away, later."""
        await asyncio.gather(*(self._ask(stream) for stream in self._streams))
        try:
            await self._store.open()
            await self._attend()
        except PASSING as wrong:
            self._trouble = f"down: {classify(wrong)}"
            log.warning("outages_not_known", reason=classify(wrong), kind=type(wrong).__name__)
        self.start()

    def start(self) -> None:
        """Begin to sweep; with Postgres or the log away it waits for them."""
        for running in (*(self._ask_on(stream) for stream in self._streams), self._attend_on(), self._sweep_on()):
            task = asyncio.create_task(running, name="clocks")
            task.add_done_callback(self._ended)
            self._tasks.append(task)

    async def stop(self) -> None:
        """End after the commits in hand; another instance takes over at once."""
        ending = [*self._tasks, *self._sweeping]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        if not self._trouble:
            try:
                async with asyncio.timeout(GIVE_BACK):
                    await self._note()
                    await self._store.release(self._held)
                    await self._store.leave(self._holder)
            except PASSING as wrong:
                log.warning("clocks_not_given_back", reason=classify(wrong), kind=type(wrong).__name__)  # others take them in three seconds
        await self._store.close()
        for stream in list(self._held):
            self._drop(stream)
        self._tasks, self._trouble = [], "stopped"

    @property
    def state(self) -> str:
        """For `/health`: `sweeping`, `standby` (others look after all streams), or why no turn ends now."""
        if self._defect or self._trouble:
            return self._defect or self._trouble
        return WAITS if self._pulse.silent() else "sweeping" if self._held else "standby"

    def skew(self) -> dict[str, float]:
        """For `/health`: see `Skew.told`."""
        return self._looks.skew.told(self._clock())

    async def round(self) -> None:
        """Ask each stream, beat and sweep once, and wait for all that comes of it: what goes on by itself after `start`."""
        await asyncio.gather(*(self._ask(stream) for stream in self._streams))
        await self._attend()
        await self._sweep_all()
        self._count()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A part that ends unforeseen is a defect of ours; `/health` must not go on saying that it sweeps."""
        wrong = None if task.cancelled() else task.exception()
        if wrong is not None:
            self._defect = f"ended: {type(wrong).__name__}"
            log.critical("clocks_ended", reason=type(wrong).__name__)

    async def _ask_on(self, stream: str) -> None:
        while True:
            await self._ask(stream)
            await asyncio.sleep(BEAT)

    async def _attend_on(self) -> None:
        connected = not self._trouble
        while True:
            try:
                if not connected:
                    await self._store.open()
                    connected = True
                await self._attend()
                await asyncio.sleep(SWEEP)
            except PASSING as wrong:
                connected = False
                self._trouble = f"down: {classify(wrong)}"
                log.warning("clocks_without_store", reason=classify(wrong), kind=type(wrong).__name__)
                await asyncio.sleep(RETRY)

    async def _sweep_on(self) -> None:
        while True:
            more = self._sweep()
            self._count()
            await asyncio.sleep(PAUSE if more else SWEEP)

    # ---- the heartbeat -------------------------------------------------------------------------------------------------

    async def _ask(self, stream: str) -> None:
        """Whether moves can be made at the tables of a stream."""
        try:
            await self._log.confirm(stream)  # no read says it: a leader that is cut off answers for seconds
        except LogError as away:
            if self._pulse.failed(stream):
                log.warning("clocks_wait", stream=stream, reason=type(away).__name__)
        else:
            self._pulse.answered(stream)

    async def _attend(self) -> None:
        """Write down who lives and what answers, learn what others have written, and look after this instance's share."""
        if self._steady() - self._beat_at >= BEAT or self._pulse.was_set(self._clock()):
            await self._beat()
            await self._note()
            self._beat_at = self._steady()
        await self._share()
        if self._held and (fresh := await self._store.tables(list(self._held), fresh=True)):
            self._schedule.add(fresh)
            await self._store.note(self._held, fresh, ())
        self._trouble = ""

    async def _beat(self) -> None:
        kept = await self._store.renew(self._holder, self._heard(), self._held)
        for stream in set(self._held) - kept:
            log.warning("clocks_lost", stream=stream)
            self._drop(stream)
        silences = await self._silences()
        if silences is None:
            silences = await self._silences()
            if silences is None:  # another clock is ahead just now
                return
        moved = await self._store.beat(self._holder, silences) if silences else frozenset()
        for one in silences:
            if one.until and one.stream in moved:
                log.warning("clock_outage", stream=one.stream, began=one.was, ended=one.until)
                figures.OUTAGES.labels(one.stream).inc((one.until - one.was) / 1000)
        self._outages.learn(await self._store.outages())
        self._pulse.settle(moved)
        self._looks.skew.compare(self._clock(), await self._store.time())

    async def _silences(self) -> list[Silence] | None:
        """What is to be written down; `None` after a clock was ahead: what it wrote down counts for nothing, each turn is measured anew."""
        beats, now = await self._store.beats(), self._clock()
        try:
            return self._pulse.silences(beats, now)
        except WentBack:
            log.warning("clock_went_back", was=max(beat.at for beat in beats.values()), now=now)
            await self._store.strike(now)
            await self._store.beat(self._holder, self._pulse.back(beats, now))
            self._schedule.anew()
            return None

    def _heard(self) -> list[str]:
        """The streams that this instance can look after: not those that others hear and it does not."""
        return [stream for stream in self._streams if not self._pulse.is_cut_off(stream)]

    async def _share(self) -> None:
        leases, instances = await self._store.standing()
        epochs = {lease.name: lease.epoch for lease in leases if lease.holder == self._holder}
        for stream in [stream for stream, epoch in self._held.items() if epochs.get(stream) != epoch]:
            log.warning("clocks_lost", stream=stream)
            self._drop(stream)
        take, give, dead = self._sharing.decide(leases, instances, self._held, self._heard())
        if give:
            await self._note()
            giving = {stream: self._held[stream] for stream in give}
            for stream in give:
                self._drop(stream)
            await self._store.release(giving)
        for seen in take:
            lease = await self._store.take(self._holder, seen)
            if lease is not None:
                self._held[lease.name] = lease.epoch
                self._schedule.hold(lease.name)
                self._schedule.add(await self._store.tables([lease.name]), orphaned=True)
                log.info("clocks_taken", stream=lease.name, epoch=lease.epoch, of=seen.holder)
        there = {instance.holder for instance in instances} - dead
        if self._others - there:
            self._schedule.all_now()  # there may be tables between two deals whose next deal one would have started who is gone
        self._others = there
        for holder in dead:
            await self._store.leave(holder)
        figures.STREAMS.set(len(self._held))

    async def _note(self) -> None:
        """What was found since, for whoever takes over; what is too much now, or cannot be written, is written the next time."""
        found, over = dict(islice(self._found.items(), AT_A_TIME)), self._over
        self._found, self._over = dict(islice(self._found.items(), AT_A_TIME, None)), set()
        try:
            if found or over:
                await self._store.note(self._held, list(found.values()), over)
        except PASSING:
            self._found, self._over = found | self._found, over | self._over
            raise

    def _drop(self, stream: str) -> None:
        self._held.pop(stream, None)
        for table_id in self._schedule.drop(stream):
            self._looks.skew.forget(table_id)
        self._found = {table_id: row for table_id, row in self._found.items() if row.stream != stream}
        figures.STREAMS.set(len(self._held))

    # ---- the sweep -----------------------------------------------------------------------------------------------------

    def _sweep(self) -> bool:
        """Begin to look at some tables of one stream whose time has come, each time of the next stream; returns whether there are any. A
        stream whose outages are not known waits, and all do when the wall clock was set, until that is written down.
        """
        now = self._clock()
        if self._pulse.was_set(now):
            return False
        for stream in list(self._held):
            self._held[stream] = self._held.pop(stream)  # it comes last the next time
            due = self._schedule.due(stream, now, min(TOGETHER, IN_HAND - self._in_hand[stream])) if self._pulse.knows(stream) else []
            if due:
                self._in_hand[stream] += len(due)
                task = asyncio.create_task(self._look_at(stream, due), name="clocks sweep")
                self._sweeping.add(task)
                task.add_done_callback(self._swept)
                return True
        return False

    def _count(self) -> None:
        """For `/metrics`, once a second."""
        if self._steady() - self._counted_at >= BEAT:
            now, entries = self._clock(), list(self._schedule.entries())
            figures.TABLES.set(len(entries))
            figures.OVERDUE.set(sum(1 for entry in entries if 0 < entry.ends_at <= now))
            self._counted_at = self._steady()

    def _swept(self, task: asyncio.Task[None]) -> None:
        self._sweeping.discard(task)
        self._ended(task)

    async def _sweep_all(self) -> None:
        while self._sweep() or self._sweeping:
            if self._sweeping:
                await asyncio.wait(set(self._sweeping))

    async def _look_at(self, stream: str, due: list[Entry]) -> None:
        now = self._clock()
        over = {entry.table_id for entry in due if entry.left and 0 < entry.ends_at <= now}  # where most likely nobody is, the append asks
        asked = [entry for entry in due if entry.table_id not in over]
        heads = LastCommits({})
        try:
            heads = await self._log.heads(
                [address.table(entry.table_id) for entry in asked], min((entry.as_of for entry in asked), default=0)
            )
        except Exception as wrong:  # noqa: BLE001 - the log is away, or has what nobody foresaw: each table is asked for by itself
            log.debug("heads_not_told", stream=stream, reason=type(wrong).__name__)
        looks = []
        for entry in due:
            head, before = heads.found.get(address.table(entry.table_id)), entry.ends_at
            again = None if entry.table_id in over else self._unchanged(entry, head, heads.as_of)
            if again is None:
                looks.append(self._look(entry, head))
            else:  # at once, without a task: thousands a second are as they were
                self._in_hand[stream] -= 1
                self._put(entry, again, changed=entry.ends_at != before)
        await asyncio.gather(*looks)

    def _unchanged(self, entry: Entry, head: Stored | None, as_of: int) -> int | None:
        """When to look again, if the log's answer tells of nothing new."""
        try:
            entry.hear(head, as_of)
            return self._looks.unchanged(entry)
        except Exception as defect:  # noqa: BLE001 - a defect met at one table must not keep the others of this look
            return self._looks.defect(entry, defect)

    async def _look(self, entry: Entry, head: Stored | None) -> None:
        before = (entry.revision, entry.ends_at)
        try:
            async with self._at_once[entry.stream]:
                again = await self._looks.look(entry, head)
        except Exception as defect:  # noqa: BLE001 - a defect met at one table; its text may hold a card
            again = self._looks.defect(entry, defect)
        finally:
            self._in_hand[entry.stream] -= 1
        if again is None:
            self._schedule.over(entry)
            self._found.pop(entry.table_id, None)
            self._over.add(entry.table_id)
            return
        self._put(entry, again, changed=(entry.revision, entry.ends_at) != before)

    def _put(self, entry: Entry, again: int, *, changed: bool) -> None:
        """Look at a table again then; what is known of it is written down, if it has changed."""
        if changed and entry.stream in self._held:
            self._found[entry.table_id] = entry.row()
        self._schedule.put(entry, again)
