"""How commits reach one stream: one by one while there are few, together when there are many.

A single append costs the server one sync (0.2 ms and up). An atomic batch costs about 3 ms however small, and then nearly nothing a commit:
from about 15 commits on it pays. Every commit keeps its own expectation, so a batch is refused whole when one of them is stale; its
members are then sent singly and each gets its own answer.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from typing import Final

import msgspec
import structlog

from shared.eventlog.jetstream.connection import ApiError, Connection, NoResponders, Unanswered, Unsent, check_answer

log = structlog.get_logger()

SINGLY: Final = 16  # commits on their way one by one; more would only queue in the server
WORTH: Final = 15  # commits that are cheaper together than one by one
LARGEST: Final = 400  # members of a batch: 44,000 commits a second were measured with it; the server allows 1,000
LARGEST_BYTES: Final = 4 * 1024 * 1024  # of a batch: the server holds it in memory until its last member
ACK_SECONDS: Final = 2.0  # a healthy server takes milliseconds; then the leader is asked what became of it

EXPECTED: Final = "Nats-Expected-Last-Subject-Sequence"
BATCH_ID: Final = "Nats-Batch-Id"
BATCH_SEQUENCE: Final = "Nats-Batch-Sequence"
BATCH_COMMIT: Final = "Nats-Batch-Commit"


class PubAck(msgspec.Struct):
    """The server's word that something is stored, the last of it at `seq`."""

    seq: int = 0
    duplicate: bool = False
    count: int = 0


_decode_ack = msgspec.json.Decoder(PubAck).decode


class _Member:
    """A commit that waits. `turn` becomes its sequence, or None when it shall be sent alone."""

    __slots__ = ("data", "expected", "subject", "turn")

    def __init__(self, subject: str, data: bytes, expected: int) -> None:
        self.subject = subject
        self.data = data
        self.expected = expected
        self.turn: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()


class GroupCommit:
    """The writer of one stream within this instance. One batch is open at a time, far below the 50 a stream takes from all instances."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: deque[_Member] = deque()
        self._alone = 0
        self._batch: asyncio.Task[None] | None = None

    async def store(self, subject: str, data: bytes, expected: int) -> int:
        """The sequence at which the commit lies now. Raises `ApiError` (refused), `Unsent`, `NoResponders`, `Unanswered`."""
        if self._alone < SINGLY and not self._waiting and self._batch is None:
            self._alone += 1
        else:
            member = _Member(subject, data, expected)
            self._waiting.append(member)
            self._pump()
            sequence = await self._turn(member)
            if sequence is not None:
                return sequence
        try:
            return await self._send(subject, data, {EXPECTED: str(expected)})
        finally:
            self._alone -= 1
            self._pump()

    async def _turn(self, member: _Member) -> int | None:
        try:
            return await member.turn
        except asyncio.CancelledError:
            if member.turn.done() and not member.turn.cancelled() and member.turn.exception() is None and member.turn.result() is None:
                self._alone -= 1  # it was called up to go alone and will not
                self._pump()
            raise

    def _pump(self) -> None:
        """Send on what can go now."""
        if self._batch is None and len(self._waiting) >= WORTH:
            self._batch = asyncio.create_task(self._send_batch())
            self._batch.add_done_callback(self._batch_ended)
        while self._waiting and self._batch is None and self._alone < SINGLY:
            self._release(self._waiting.popleft())

    def _release(self, member: _Member) -> None:
        if not member.turn.done():  # else its caller has gone
            self._alone += 1
            member.turn.set_result(None)

    def _gather(self) -> list[_Member]:
        """The next batch, in order of arrival; a second commit of one aggregate waits for the next, since it would be refused in this."""
        members: list[_Member] = []
        later: list[_Member] = []
        subjects: set[str] = set()
        room = LARGEST_BYTES
        while self._waiting and len(members) < LARGEST and room > 0:
            member = self._waiting.popleft()
            if member.turn.done():
                continue
            if member.subject in subjects:
                later.append(member)
                continue
            subjects.add(member.subject)
            members.append(member)
            room -= len(member.data)
        self._waiting.extendleft(reversed(later))
        return members

    def _batch_ended(self, batch: asyncio.Task[None]) -> None:
        self._batch = None
        if batch.cancelled():
            return
        failure = batch.exception()
        if failure is not None and not isinstance(failure, Unanswered):
            log.error("batch_failed", error=repr(failure))
        self._pump()

    async def _send_batch(self) -> None:
        members = self._gather()  # here and not in _pump: whoever came in the same turn of the loop comes along
        try:
            last = await self._publish_batch(members)
        except (ApiError, NoResponders, Unsent) as refused:  # nothing of it is stored
            log.debug("batch_refused", members=len(members), reason=str(refused))
            for member in members:
                self._release(member)
        else:
            for place, member in enumerate(members, last - len(members) + 1):
                if not member.turn.done():
                    member.turn.set_result(place)
        finally:
            for member in members:
                if not member.turn.done():  # no answer came, or something failed that nobody foresaw: none may be left waiting
                    member.turn.set_exception(Unanswered("the batch was not answered"))

    async def _publish_batch(self, members: list[_Member]) -> int:
        """The sequence of the last member; the others lie just before it."""
        name = secrets.token_hex(16)  # unique among all instances
        for number, member in enumerate(members[:-1], 1):
            headers = {BATCH_ID: name, BATCH_SEQUENCE: str(number), EXPECTED: str(member.expected)}
            await self._connection.publish(member.subject, member.data, headers)
        final = members[-1]
        headers = {BATCH_ID: name, BATCH_SEQUENCE: str(len(members)), BATCH_COMMIT: "1", EXPECTED: str(final.expected)}
        return await self._send(final.subject, final.data, headers, len(members))

    async def _send(self, subject: str, data: bytes, headers: dict[str, str], count: int = 0) -> int:
        answer = await self._connection.request(subject, data, ACK_SECONDS, headers)
        ack = _decode_ack(check_answer(answer.data))
        if ack.duplicate or ack.count != count:  # nothing here carries what could be a duplicate: whoever answers so is not to be believed
            raise Unanswered(f"{subject}: unexpected ack {answer.data!r}")
        return ack.seq
