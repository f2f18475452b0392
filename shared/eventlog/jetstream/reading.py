"""Reading one aggregate: the leader for what must be true now, direct batches from any replica for what must be fast.

A direct get may lag (15 of 4,500 were stale on three nodes); so whoever knows from the leader how far an aggregate goes says so, and
the rest is asked at the leader.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from nats.aio.msg import Msg

from shared.eventlog.jetstream.connection import ApiError, Connection, NoResponders, Unanswered, Unsent, check_answer, header, status_of
from shared.eventlog.jetstream.streams import Namespace
from shared.eventlog.port import LastCommits, NotPermitted, Stored, Unavailable
from shared.events.address import Address
from shared.events.commit import revision_in

BATCH: Final = 1000  # commits of one direct get; a whole pulka fits
BATCH_BYTES: Final = 2 * 1024 * 1024  # of one direct get: it comes without flow control; a whole pulka has under one
BATCHES_AT_ONCE: Final = 8  # direct gets: far below the 64 MB unread after which NATS drops the connection, and every stream with it
DIRECT_SECONDS: Final = 2.0  # for one direct get; a thousand commits take 40 ms
LEADER_SECONDS: Final = 1.0  # for one leader read; it takes under a millisecond, and a fallen leader's successor seconds
PURGE_SECONDS: Final = 5.0  # for a purge; it takes milliseconds, and longer while the server compacts a block of its file
PAUSE_SECONDS: Final = 0.05  # before the next try
PATIENCE_SECONDS: Final = 3.0  # for a read with all its tries; then 503, and the client comes back
NOT_FOUND: Final = 10037  # err_code: no message found
SEQUENCE: Final = "Nats-Sequence"
SUBJECT: Final = "Nats-Subject"
AS_OF: Final = "Nats-UpTo-Sequence"  # the stream's last, as the answer was made
PREVIOUS: Final = "Nats-Last-Sequence"  # of the same subject, on live messages; of the same answer, on direct ones


class _Stored(msgspec.Struct):
    subject: str
    seq: int
    data: str = ""


class _Message(msgspec.Struct):
    message: _Stored


class _Info(msgspec.Struct):
    state: _State


class _State(msgspec.Struct):
    last_seq: int


class _Purged(msgspec.Struct):
    purged: int = 0


_decode_message = msgspec.json.Decoder(_Message).decode
_decode_info = msgspec.json.Decoder(_Info).decode
_decode_purged = msgspec.json.Decoder(_Purged).decode


class Reader:
    """Reads of one aggregate or one stream's end. All raise `Unavailable` when nobody answers in time."""

    def __init__(self, connection: Connection, namespace: Namespace) -> None:
        self._connection = connection
        self._namespace = namespace
        self._batches = asyncio.Semaphore(BATCHES_AT_ONCE)

    async def head(self, address: Address, seconds: float = PATIENCE_SECONDS) -> Stored | None:
        """The aggregate's last commit, asked at the stream's leader."""
        return await self._at_leader(address, {"last_by_subj": self._namespace.subject(address)}, seconds)

    async def heads(self, addresses: Sequence[Address], after: int) -> LastCommits:
        """See `EventLog.heads`: one direct get for all, which brings only what lies above `after`."""
        if not addresses:
            return LastCommits({})
        found: dict[Address, Stored] = {}
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        known = {self._namespace.subject(address): address for address in addresses}
        query = {"multi_last": list(known), "seq": after + 1, "batch": len(known), "max_bytes": BATCH_BYTES}
        last = 0

        def deliver(message: Msg) -> None:
            nonlocal last
            status = status_of(message)
            if done.done():
                return
            if status in {"", "204"} and int(header(message, PREVIOUS) or 0) != last:
                last = -1  # see `_direct`; what was lost is not missed, but nothing is concluded from what is not there
            if not status:
                address = known[header(message, SUBJECT)]
                found[address] = head = self._stored(address, message)
                last = last if last < 0 else head.sequence
            elif status == "204":  # the end
                whole = last >= 0 and not int(header(message, "Nats-Num-Pending"))
                done.set_result(int(header(message, AS_OF)) if whole else 0)
            elif status == "404":  # not one of them has a commit
                done.set_result(0)
            else:
                done.set_exception(Unanswered(f"direct get: status {status}"))

        stream = self._namespace.stream(addresses[0].stream)
        try:
            await self._connection.collect(f"$JS.API.DIRECT.GET.{stream}", msgspec.json.encode(query), DIRECT_SECONDS, done, deliver)
        except (Unsent, NoResponders, Unanswered) as cause:
            raise Unavailable(str(cause)) from cause
        return LastCommits(found, done.result())

    async def last_sequence(self, stream: str) -> int:
        """The sequence of the stream's newest message, asked at its leader."""
        answer = await self._patiently(f"$JS.API.STREAM.INFO.{self._namespace.stream(stream)}", b"", PATIENCE_SECONDS)
        return _decode_info(answer).state.last_seq

    async def next_after(self, stream: str, after: int) -> int:
        """The sequence of the stream's first message above `after`, asked at its leader; 0: none."""
        message = await self._message(stream, {"seq": after + 1, "next_by_subj": ">"}, PATIENCE_SECONDS)
        return 0 if message is None else message.seq

    async def read(self, address: Address, after: int, until: int) -> list[Stored]:
        """The aggregate's commits above sequence `after`, in order, at least up to `until`."""
        found: list[Stored] = []
        while True:
            part, more = await self._in_turn(address, after)
            found += part
            after = part[-1].sequence if part else after
            if not more:
                break
        subject = self._namespace.subject(address)
        while after < until:
            lagging = await self._at_leader(address, {"seq": after + 1, "next_by_subj": subject}, PATIENCE_SECONDS)
            if lagging is None:
                break  # purged in the meantime
            found.append(lagging)
            after = lagging.sequence
        return found

    async def purge(self, address: Address, before: int) -> int:
        """See `EventLog.purge`."""
        subject = self._namespace.subject(address)
        there = await self._at_leader(address, {"seq": before, "next_by_subj": subject}, PATIENCE_SECONDS)
        if there is None or there.sequence != before:
            raise ValueError(f"{address.subject} has no commit at {before}")
        request = msgspec.json.encode({"filter": subject, "seq": before})  # "up to, and not with it"
        denials = self._connection.denials
        try:
            answer = await self._connection.request(
                f"$JS.API.STREAM.PURGE.{self._namespace.stream(address.stream)}", request, PURGE_SECONDS
            )
            return _decode_purged(check_answer(answer.data)).purged
        except (Unanswered, NoResponders) as cause:
            if self._connection.denials > denials:
                raise NotPermitted(f"this user may not purge {address.subject}") from cause
            raise Unavailable(str(cause)) from cause
        except (ApiError, Unsent) as cause:
            raise Unavailable(str(cause)) from cause

    async def _at_leader(self, address: Address, query: dict[str, Any], seconds: float) -> Stored | None:
        message = await self._message(address.stream, query, seconds)
        if message is None:
            return None
        data = b64decode(message.data)
        return Stored(address, address.stream, message.seq, revision_in(data), data)

    async def _message(self, stream: str, query: dict[str, Any], seconds: float) -> _Stored | None:
        try:
            answer = await self._patiently(f"$JS.API.STREAM.MSG.GET.{self._namespace.stream(stream)}", msgspec.json.encode(query), seconds)
        except ApiError as refused:
            if refused.err_code == NOT_FOUND:
                return None
            raise Unavailable(str(refused)) from refused
        return _decode_message(answer).message

    async def _patiently(self, subject: str, payload: bytes, seconds: float) -> bytes:
        """The answer of a stream's leader, across a change of leaders, not across a lost connection. Raises `ApiError`, `Unavailable`."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            try:
                answer = await self._connection.request(subject, payload, min(LEADER_SECONDS, seconds))
                return check_answer(answer.data)
            except Unsent as cause:
                raise Unavailable(str(cause)) from cause
            except (NoResponders, Unanswered) as cause:
                if loop.time() >= deadline or not self._connection.is_connected:
                    raise Unavailable(str(cause)) from cause
            except ApiError as refused:
                if refused.code != 503 or loop.time() >= deadline:
                    raise
            await asyncio.sleep(PAUSE_SECONDS)

    async def _in_turn(self, address: Address, after: int) -> tuple[list[Stored], bool]:
        """One direct get, when there is room for what it brings."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._batches.acquire()
        except TimeoutError:
            raise Unavailable("too many reads at once") from None
        try:
            return await self._direct_patiently(address, after)
        finally:
            self._batches.release()

    async def _direct_patiently(self, address: Address, after: int) -> tuple[list[Stored], bool]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + PATIENCE_SECONDS
        while True:
            try:
                return await self._direct(address, after)
            except Unsent as cause:
                raise Unavailable(str(cause)) from cause
            except (NoResponders, Unanswered) as cause:
                if loop.time() >= deadline or not self._connection.is_connected:
                    raise Unavailable(str(cause)) from cause
            await asyncio.sleep(PAUSE_SECONDS)

    async def _direct(self, address: Address, after: int) -> tuple[list[Stored], bool]:
        """One batch from any replica, and whether there is more."""
        query = {"seq": after + 1, "next_by_subj": self._namespace.subject(address), "batch": BATCH, "max_bytes": BATCH_BYTES}
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        found: list[Stored] = []
        whole = True  # each message names the one before it in this answer, and so does the end: revisions prove nothing in a damaged log

        def deliver(message: Msg) -> None:
            nonlocal whole
            status = status_of(message)
            if done.done():
                return
            if status in {"", "204"}:
                whole = whole and int(header(message, PREVIOUS) or 0) == (found[-1].sequence if found else 0)
            if not status:
                found.append(self._stored(address, message))
            elif status == "404":  # nothing there
                done.set_result(False)
            elif status == "204":  # the end of the batch
                done.set_result(int(header(message, "Nats-Num-Pending")) > 0 and bool(found))
            else:
                done.set_exception(Unanswered(f"direct get: status {status}"))

        subject = f"$JS.API.DIRECT.GET.{self._namespace.stream(address.stream)}"
        await self._connection.collect(subject, msgspec.json.encode(query), DIRECT_SECONDS, done, deliver)
        if not whole:
            raise Unanswered(f"{subject}: a part of the answer was lost")
        return found, done.result()

    @staticmethod
    def _stored(address: Address, message: Msg) -> Stored:
        return Stored(address, address.stream, int(header(message, SEQUENCE)), revision_in(message.data), message.data)
