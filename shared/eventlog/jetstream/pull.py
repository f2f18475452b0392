"""Following a whole stream: one long pull loop on an inbox of our own, with heartbeats.

Not `fetch` (it stalls after an empty one) nor an ordered consumer (it loses messages when its queue is full): here the loss of anything
shows in the consumer's own count, and a new consumer then begins after the last commit that was handed on.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import msgspec
import structlog
from nats.aio.msg import Msg

from shared.eventlog.jetstream.connection import ApiError, Connection, NoResponders, Unanswered, Unsent, check_answer, header, status_of
from shared.eventlog.jetstream.reading import Reader
from shared.eventlog.jetstream.streams import Namespace
from shared.eventlog.port import LogBehind, Stored, Unavailable
from shared.events.commit import revision_in

log = structlog.get_logger()

NANOSECONDS: Final = 1_000_000_000
PULL_SECONDS: Final = 30.0  # one request's life; long, so that an idle follower asks twice a minute
AHEAD: Final = 4  # batches asked for and not read yet, so that the server need not wait
INACTIVE_SECONDS: Final = 30.0  # after that the server forgets a consumer that nobody pulls from
ANSWER_SECONDS: Final = 2.0  # to make a consumer; milliseconds when all is well
FIRST_PAUSE_SECONDS: Final = 0.05  # before a new consumer; doubling
LONGEST_PAUSE_SECONDS: Final = 2.0  # see FIRST_PAUSE_SECONDS; a change of leaders takes 4 to 8
SILENT_BEATS: Final = 2.5  # heartbeats missed before the server is taken for gone
BEHIND_TRIES: Final = 10  # looks at a log that seems to be behind, before that is believed
BEHIND_PAUSE_SECONDS: Final = 0.1  # between two of them
HEARTBEAT_STATUS: Final = "100"  # nothing new, but alive
EXPIRED_STATUS: Final = "408"  # the request has lived its time
ACK_TOKENS: Final = 9  # $JS.ACK.stream.consumer.delivered.sequence.count.time.pending; version 2 puts domain and account before the stream


async def follow(
    connection: Connection, namespace: Namespace, stream: str, after: int, batch: int, heartbeat: float
) -> AsyncGenerator[list[Stored], None]:
    """See `EventLog.follow`. One consumer after another, each from where the one before got to."""
    reader = Reader(connection, namespace)
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            await connection.wait_connected()
            await _check_not_behind(reader, stream, after)
            async with aclosing(_Consumer(connection, namespace, stream, after, batch, heartbeat).batches()) as batches:
                async for commits in batches:
                    after = commits[-1].sequence if commits else after
                    pause = FIRST_PAUSE_SECONDS
                    yield commits
        except (ApiError, NoResponders, Unanswered, Unsent, Unavailable) as cause:
            if connection.is_closed:
                raise Unavailable("closed") from cause
            log.info("follow_restarts", stream=stream, after=after, cause=str(cause))
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


async def _check_not_behind(reader: Reader, stream: str, after: int) -> None:
    """Raise `LogBehind` unless the stream goes up to `after`; a leader that was just elected gets a moment to catch up with what it has."""
    tries = BEHIND_TRIES
    while (last := await reader.last_sequence(stream)) < after and tries:
        tries -= 1
        await asyncio.sleep(BEHIND_PAUSE_SECONDS)
    if last < after:
        raise LogBehind(f"{stream} ends at {last}, before {after}, up to which it has been read")


class _Consumer:
    """One consumer at the server, from its making to the first sign that something is wrong with it."""

    def __init__(self, connection: Connection, namespace: Namespace, stream: str, after: int, batch: int, heartbeat: float) -> None:
        self._connection = connection
        self._namespace = namespace
        self._stream = stream
        self._full = namespace.stream(stream)
        self._after = after
        self._batch = batch
        self._heartbeat = heartbeat
        self._name = f"follow_{secrets.token_hex(8)}"
        self._inbox = connection.new_inbox()
        self._arrived: deque[Msg] = deque()
        self._news = asyncio.Event()
        self._asked = 0  # messages that the server may still send unasked
        self._count = 0  # messages that this consumer has sent

    async def batches(self) -> AsyncGenerator[list[Stored], None]:
        """What comes, in order; an empty list for a heartbeat. Raises `Unanswered` when something is missing or nothing comes any more."""
        losses = self._connection.losses
        leave = await self._connection.subscribe(self._inbox, self._deliver)
        self._connection.on_lost.append(self._news.set)
        try:
            await self._make()
            while True:
                if self._asked <= AHEAD * self._batch // 2:
                    await self._ask()
                if not self._arrived:
                    await self._wait()
                if losses != self._connection.losses:
                    raise Unanswered("the connection was lost")
                commits, beat = self._take()
                if commits or beat:
                    yield commits
        finally:
            self._connection.on_lost.remove(self._news.set)
            await leave()
            await self._end()

    def _deliver(self, message: Msg) -> None:
        self._arrived.append(message)
        self._news.set()

    async def _wait(self) -> None:
        self._news.clear()
        try:
            async with asyncio.timeout(SILENT_BEATS * self._heartbeat):
                await self._news.wait()
        except TimeoutError:
            raise Unanswered("no heartbeat") from None

    def _take(self) -> tuple[list[Stored], bool]:
        """At most a batch of what has arrived, and whether there was a heartbeat."""
        commits: list[Stored] = []
        beat = False
        while self._arrived and len(commits) < self._batch:
            message = self._arrived.popleft()
            status = status_of(message)
            if not status:
                commits.append(self._stored(message))
            elif status == HEARTBEAT_STATUS:
                beat = True
            elif status == EXPIRED_STATUS:
                self._asked -= int(header(message, "Nats-Pending-Messages") or 0)
            else:
                raise Unanswered(f"the consumer ended: {status} {header(message, 'Description')}")
        return commits, beat

    def _stored(self, message: Msg) -> Stored:
        tokens = message.reply.split(".")
        place = ACK_TOKENS - 4 if len(tokens) == ACK_TOKENS else ACK_TOKENS - 2
        sequence, count = int(tokens[place]), int(tokens[place + 1])
        self._asked -= 1
        self._count += 1
        if count != self._count or sequence <= self._after:
            raise Unanswered(f"message {self._count} of the consumer is missing")
        self._after = sequence
        return Stored(self._namespace.address(message.subject), self._stream, sequence, revision_in(message.data), message.data)

    async def _make(self) -> None:
        configuration = {
            "name": self._name,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": self._after + 1,
            "ack_policy": "none",  # the reader keeps its own position, in the same transaction as its rows
            "replay_policy": "instant",
            "inactive_threshold": int(INACTIVE_SECONDS * NANOSECONDS),
            "mem_storage": True,  # a new one is made after any restart
            "num_replicas": 1,  # see mem_storage
        }
        body = msgspec.json.encode({"stream_name": self._full, "config": configuration, "action": "create"})
        answer = await self._connection.request(f"$JS.API.CONSUMER.CREATE.{self._full}.{self._name}", body, ANSWER_SECONDS)
        check_answer(answer.data)

    async def _ask(self) -> None:
        wanted = AHEAD * self._batch - self._asked
        body = {"batch": wanted, "expires": int(PULL_SECONDS * NANOSECONDS), "idle_heartbeat": int(self._heartbeat * NANOSECONDS)}
        await self._connection.publish(f"$JS.API.CONSUMER.MSG.NEXT.{self._full}.{self._name}", msgspec.json.encode(body), reply=self._inbox)
        self._asked += wanted

    async def _end(self) -> None:
        """Take the consumer away without waiting whether that worked: the server forgets it by itself a little later."""
        try:
            await self._connection.publish(f"$JS.API.CONSUMER.DELETE.{self._full}.{self._name}", b"")
        except Unsent:
            log.debug("consumer_left", consumer=self._name)
