"""The log on NATS JetStream. `open_log` connects, converges the streams and returns an `EventLog`."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, Final

import structlog

from shared.eventlog.jetstream import pull
from shared.eventlog.jetstream.connection import ApiError, Connection, NoResponders, Unanswered, Unsent
from shared.eventlog.jetstream.group_commit import GroupCommit
from shared.eventlog.jetstream.live import Live
from shared.eventlog.jetstream.majority import Majority
from shared.eventlog.jetstream.reading import PATIENCE_SECONDS, Reader
from shared.eventlog.jetstream.snapshots import JetStreamSnapshots
from shared.eventlog.jetstream.streams import DEFAULT_NAMESPACE, Namespace
from shared.eventlog.jetstream.survey import Survey
from shared.eventlog.jetstream.upkeep import Upkeep, Wanted
from shared.eventlog.port import (
    FOLLOW_BATCH,
    HEARTBEAT_SECONDS,
    MAX_COMMIT_BYTES,
    NO_ACK,
    STORAGE_FULL,
    CommitTooLarge,
    Conflict,
    LastCommits,
    LogError,
    OutcomeUnknown,
    StorageFull,
    Stored,
    Unavailable,
    is_repeat,
)
from shared.eventlog.snapshots import Snapshots
from shared.events.address import Address
from shared.events.commit import CommitHead, decode_head

log = structlog.get_logger()

APPEND_SECONDS: Final = 10.0  # for an append with all its tries: a leader's successor is elected in 4 to 8
LOOK_SECONDS: Final = 15.0  # between two looks at the streams for `/health`: some dozens of small questions
OPEN_SECONDS: Final = 15.0  # to connect and to make the streams; a fresh cluster needs half a second, a loaded one more
LEAST_PAUSE, LONGEST_PAUSE = 0.02, 0.5  # seconds before the next try, doubling, with chance in it so that instances do not march in step
CONFLICT: Final = frozenset({10071, 10164})  # err_codes: wrong last sequence, on one node and in a cluster
FULL: Final = frozenset({10002, 10023, 10028, 10047, 10077})  # account, server and stream out of room; the store could not write
NO_LEADER: Final = 503  # code: not now


class _Attempts:
    """How long and how often one append may still be tried, and whether one of its tries may have been written."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds  # the loop's own clock is the same, and dearer to ask
        self._pause = LEAST_PAUSE
        self.unknown = False

    @property
    def left(self) -> float:
        """Seconds."""
        return self._deadline - time.monotonic()

    async def pause(self) -> None:
        """Wait before the next try; raises `OutcomeUnknown` or `Unavailable` when there is no time for one."""
        if self.left <= 0:
            raise OutcomeUnknown("the leader could not be asked in time") if self.unknown else Unavailable("no leader took it in time")
        await asyncio.sleep(min(self._pause * (0.5 + random.random()), max(self.left, 0)))  # noqa: S311 - spread, no secret
        self._pause = min(2 * self._pause, LONGEST_PAUSE)


class JetStreamLog:
    """An `EventLog`; made by `open_log`."""

    def __init__(
        self, connection: Connection, namespace: Namespace, upkeep: Upkeep, survey: Survey, *, durable: bool, heartbeat: float,
        append_seconds: float,
    ) -> None:  # fmt: skip
        self.partitions = survey.partitions
        self._upkeep = upkeep
        self._survey = survey
        self._surveyed = time.monotonic()
        self._looking: asyncio.Task[None] | None = None
        self._connection = connection
        self._namespace = namespace
        self._durable = durable
        self._heartbeat = heartbeat
        self._append_seconds = append_seconds
        self._reader = Reader(connection, namespace)
        self.snapshots: Snapshots = JetStreamSnapshots(connection, namespace)
        self._majority = Majority(connection, namespace)
        self._live = Live(connection, namespace, self._reader)
        self._writers: dict[str, GroupCommit] = {}
        self._troubles: dict[str, str] = {}  # by stream, from its last append that failed on to the next that was stored
        connection.on_reconnected.append(self._troubles.clear)  # a server that was started anew has to be tried anew

    async def append(self, address: Address, data: bytes, expected: int) -> Stored:
        """See `EventLog.append`."""
        own = decode_head(data)
        if len(data) > MAX_COMMIT_BYTES:
            raise CommitTooLarge(f"{len(data)} bytes")
        self._require(address)
        attempts = _Attempts(self._append_seconds)
        while True:
            try:
                sequence = await self._try(address, data, expected)
                return Stored(address, address.stream, sequence, own.revision, data)
            except ApiError as refused:
                self._weigh(refused, attempts)
                lost_race = refused.err_code in CONFLICT
            except Unanswered:
                attempts.unknown = True
                lost_race = False
            except (NoResponders, Unsent) as cause:
                if not attempts.unknown and not self._connection.is_connected:
                    raise Unavailable(str(cause)) from cause
                lost_race = False
            if lost_race or attempts.unknown:
                found = await self._look_up(address, own, expected, attempts)
                if found is not None:
                    return found
            await attempts.pause()

    def _require(self, address: Address) -> None:
        """Raise `Unavailable` where nothing can be appended."""
        if not self.partitions.know(address):
            raise Unavailable(f"{address.stream} is not known to this instance")
        if not self._connection.is_connected:
            raise Unavailable("not connected")

    async def _try(self, address: Address, data: bytes, expected: int) -> int:
        """One try, after which it is known whether the stream takes commits. Returns the sequence, and raises what the server answers."""
        try:
            sequence = await self._writer(address).store(self._namespace.subject(address), data, expected)
        except ApiError as refused:
            if refused.err_code in FULL:
                self._troubles[address.stream] = STORAGE_FULL
            raise
        except Unanswered:
            if self._connection.is_connected:
                self._troubles[address.stream] = NO_ACK
            raise
        self._troubles.pop(address.stream, None)
        return sequence

    @staticmethod
    def _weigh(refused: ApiError, attempts: _Attempts) -> None:
        """Raise what a refusal means for the caller; return when it means to look or to try again."""
        if refused.err_code in FULL:
            if not attempts.unknown:
                raise StorageFull(str(refused)) from refused
        elif refused.err_code not in CONFLICT and refused.code != NO_LEADER:
            raise Unavailable(f"refused: {refused}") from refused  # a fault of the set-up: a foreign stream, a missing right

    async def _look_up(self, address: Address, own: CommitHead, expected: int, attempts: _Attempts) -> Stored | None:
        """What became of a try: the stored commit, `Conflict`, or None when it is not there (yet) and the same bytes may be sent again.

        Sending them again is safe: the expectation lets one of the copies in, whenever they arrive.
        """
        while True:
            try:
                await self._wait_connected(attempts)
                head = await self._reader.head(address, max(attempts.left, LEAST_PAUSE))
            except Unavailable as cause:
                attempts.unknown = True  # even after a lost race: an earlier try of the same command may be what won it
                if self._connection.is_closed:
                    raise OutcomeUnknown("closed") from cause
                await attempts.pause()
                continue
            if is_repeat(head, own):
                return head
            if (head.sequence if head else 0) != expected:
                raise Conflict(head)
            return None

    async def _wait_connected(self, attempts: _Attempts) -> None:
        try:
            async with asyncio.timeout(max(attempts.left, 0)):
                await self._connection.wait_connected()
        except TimeoutError:
            raise Unavailable("not connected") from None

    def _writer(self, address: Address) -> GroupCommit:
        writer = self._writers.get(address.stream)
        if writer is None:
            writer = self._writers[address.stream] = GroupCommit(self._connection)
        return writer

    async def head(self, address: Address) -> Stored | None:
        """See `EventLog.head`."""
        if not self.partitions.know(address):
            return None
        return await self._reader.head(address)

    async def newest(self, address: Address) -> Stored | None:
        """See `EventLog.newest`."""
        if not self.partitions.know(address):
            return None
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE_SECONDS
        while True:
            head = await self._reader.head(address)
            try:
                count = await self._majority.messages(address.stream, self._namespace.subject(address))
                if count is None or await self._is_last_of(address, head, count):
                    return head
                why = "the log's servers differ"
            except Unavailable as cause:
                why = str(cause)
            if loop.time() >= deadline:
                raise Unavailable(f"{address.subject}: {why}")
            await asyncio.sleep(LEAST_PAUSE)

    async def _is_last_of(self, address: Address, head: Stored | None, count: int) -> bool:
        """Whether `head` is the last of `count` messages: each is a revision, but for copies, and for what has gone into an archive."""
        if head is None:
            return count == 0
        if count == head.revision:
            return True
        known = await self._reader.read(address, 0, head.sequence)
        return len(known) == count and known[-1] == head

    async def confirm(self, stream: str) -> None:
        """See `EventLog.confirm`."""
        await self._majority.confirm(stream)

    async def heads(self, addresses: Sequence[Address], after: int = 0) -> LastCommits:
        """See `EventLog.heads`."""
        return await self._reader.heads([address for address in addresses if self.partitions.know(address)], after)

    async def read(self, address: Address, after: int = 0, until: int = 0) -> list[Stored]:
        """See `EventLog.read`."""
        if not self.partitions.know(address):
            return []
        return await self._reader.read(address, after, until)

    def follow(self, stream: str, after: int = 0, batch: int = FOLLOW_BATCH) -> AsyncGenerator[list[Stored], None]:
        """See `EventLog.follow`."""
        return pull.follow(self._connection, self._namespace, stream, after, batch, self._heartbeat)

    def watch(self, address: Address, after: int = 0) -> AsyncGenerator[Stored, None]:
        """See `EventLog.watch`."""
        return self._live.watch(address, after)

    async def hear(self, address: Address, heard: Callable[[Stored], None]) -> Callable[[], Awaitable[None]]:
        """See `EventLog.hear`."""
        return await self._live.hear(address, heard)

    def connected(self) -> bool:
        """See `EventLog.connected`."""
        return self._connection.is_connected and not self._connection.is_closed

    def trouble(self) -> str | None:
        """See `EventLog.trouble`."""
        return max(self._troubles.values(), default=None)  # of several the refusal, which is sure

    def durability(self) -> str:
        """See `EventLog.durability`: a client cannot see how often a server syncs, so the word of whoever set it up is taken."""
        return "verified" if self._durable else "unverified"

    async def last_sequence(self, stream: str) -> int:
        """See `EventLog.last_sequence`."""
        try:
            return await self._reader.last_sequence(stream)
        except ApiError as refused:
            raise Unavailable(str(refused)) from refused

    async def next_after(self, stream: str, after: int) -> int:
        """See `EventLog.next_after`."""
        return await self._reader.next_after(stream, after)

    async def purge(self, address: Address, before: int) -> int:
        """See `EventLog.purge`."""
        return await self._reader.purge(address, before)

    def streams_health(self) -> dict[str, Any]:
        """For `/health`: how many partitions and copies there are and should be, as of a moment ago; answers at once.

        Whoever asks lets the next look begin, which the one after it hears of.
        """
        due = time.monotonic() - self._surveyed >= LOOK_SECONDS
        if due and self.connected() and (self._looking is None or self._looking.done()):
            self._surveyed = time.monotonic()
            self._looking = asyncio.create_task(self._look(), name="look at the streams")
        return self._survey.health()

    async def _look(self) -> None:
        try:
            self._survey = await self._upkeep.look(self.partitions, OPEN_SECONDS)
        except LogError as away:
            log.debug("streams_not_seen", reason=str(away))  # what is wrong with the log itself is told elsewhere

    async def close(self) -> None:
        """See `EventLog.close`."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        await self._connection.close()


async def open_log(  # noqa: PLR0913 - settings, each a keyword with a default
    nats_url: str,
    namespace: str = DEFAULT_NAMESPACE,
    *,
    durable: bool = False,
    partitions: int = 0,
    used: int = 0,
    replicas: int = 0,
    max_bytes: int | None = None,
    heartbeat: float = HEARTBEAT_SECONDS,
    append_seconds: float = APPEND_SECONDS,
    open_seconds: float = OPEN_SECONDS,
    on_closed: Callable[[], None] | None = None,
    name: str = "pulka",
) -> JetStreamLog:
    """Connect, make the streams that are missing, and return the log.

    `nats_url`: one or several, comma-separated, with user and password inside. `durable`: the server is known to sync every append (the
    embedded one, or `PULKA_NATS_DURABLE=yes`). `partitions`, `used`, `replicas`, `max_bytes`: as in `Wanted`. `heartbeat`,
    `append_seconds`, `open_seconds`: seconds. `on_closed` is called when the connection ended for ever without `close`: the process should
    end. `name` shows in the server's list of clients.
    Raises `Unavailable`, `StreamDrift`, and `ValueError` for an impossible namespace.
    """
    spaced = Namespace(namespace)
    connection = Connection()
    await connection.open(nats_url, name, open_seconds, on_closed)
    try:
        upkeep = Upkeep(connection, spaced, Wanted(partitions, used, replicas, max_bytes))
        survey = await upkeep.start(open_seconds)
    except BaseException:
        await connection.close()
        raise
    if problems := survey.health()["problems"]:
        log.warning("streams_differ", problems=problems)
    return JetStreamLog(connection, spaced, upkeep, survey, durable=durable, heartbeat=heartbeat, append_seconds=append_seconds)
