"""Frames that many see alike: made once, encoded once a form, and sent to one connection after the other, behind whatever else there is
to do.

A connection is a place in a short row of encoded frames. One that does not take a frame at once leaves the round and delays nobody; what
it misses waits for it in the row, within bounds, and beyond them it goes back to the log by itself.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeAlias

import structlog
from litestar.types import HTTPResponseBodyEvent

from shared.web.streams.frames import Frame

log = structlog.get_logger("web")

Encode: TypeAlias = "Callable[[Frame], bytes]"

SLICE: Final = 0.000_1  # seconds of sending at a stretch, some fifteen deliveries: what a request that comes meanwhile waits at most
REST: Final = 0.001  # seconds between two slices while somebody who moves waits for an answer; a loop's timers are no finer


class Member(Protocol):
    """A connection in a channel. `place` is the number of the next entry that it gets, `last` the revision of the last one that it got."""

    place: int
    last: int | None

    @property
    def caller(self) -> Any:
        """Whose it is: what `Broadcast.sift` asks about."""
        ...

    def take(self, message: HTTPResponseBodyEvent) -> bool:
        """Begin to send; False when the connection does not take it at once: then it is finished beside the round, and `enter`s again."""
        ...

    def dismiss(self) -> None:
        """Go on alone, from the log, after `last`."""
        ...

    def finish(self) -> None:
        """Nothing comes any more."""
        ...


class Deliveries:
    """Serves the channels of one process in turns, a slice at a time."""

    def __init__(self) -> None:
        self._answering = 0  # commands
        self._waiting: deque[Channel] = deque()
        self._armed = False

    @contextmanager
    def behind(self) -> Iterator[None]:
        """While a command is being answered: deliveries keep to the gaps that it leaves."""
        self._answering += 1
        try:
            yield
        finally:
            self._answering -= 1

    def ask(self, channel: Channel) -> None:
        """Serve `channel` soon; it asks once until it has been served."""
        self._waiting.append(channel)
        self._arm()

    def _arm(self) -> None:
        if self._armed:
            return
        self._armed = True
        loop = asyncio.get_running_loop()
        if self._answering:
            loop.call_later(REST, self._slice)
        else:
            loop.call_soon(self._slice)

    def _slice(self) -> None:
        self._armed = False
        until = time.perf_counter() + SLICE
        while self._waiting:
            channel = self._waiting.popleft()
            if not channel.serve(until):
                self._waiting.append(channel)
                break
        if self._waiting:
            self._arm()


class Channel:
    """One form of a broadcast: the encoded frames that somebody has still to get, and who gets them.

    `keep` bounds how many entries wait for those who are behind; what the round has not brought to everybody yet is there in any case.
    """

    def __init__(self, encode: Encode, deliveries: Deliveries, keep: int, revision: int | None) -> None:
        self.live: dict[Member, None] = {}  # an ordered set: whom the rounds serve
        self.behind: set[Member] = set()
        self.end = 0
        self._encode = encode
        self._deliveries = deliveries
        self._keep = keep
        self._revision = revision  # of the last entry
        self._entries: deque[bytes] = deque()  # the last of them is number `end` - 1
        self._round: list[Member] = []
        self._turn = 0
        self._round_end = 0  # `end` when the round began
        self._asked = False
        self._ended = False
        self._message: tuple[int, int, HTTPResponseBodyEvent] | None = None  # from, to, and what is sent for it

    def publish(self, frame: Frame) -> None:
        """Give a frame to everybody."""
        self._entries.append(self._encode(frame))
        self.end += 1
        if frame.id is not None:
            self._revision = frame.id
        if not self.live:
            self._trim(self.end)  # no round does it
        self._ask()

    def close(self) -> None:
        """Nothing comes any more; each member finishes once it has got all there is."""
        self._ended = True
        self._ask()

    def begin(self, member: Member) -> None:
        """Keep from now on for `member` what comes; it is served by itself until it enters the round."""
        member.place = self.end
        self.behind.add(member)

    def enter(self, member: Member) -> bool:
        """Take `member` into the round, if it has got all there is."""
        if member.place != self.end:
            return False
        self.behind.discard(member)
        self.live[member] = None
        if self._ended:
            self._ask()
        return True

    def leave(self, member: Member) -> None:
        """`member` gets nothing any more from here."""
        self.behind.discard(member)
        self.live.pop(member, None)

    def next_for(self, member: Member) -> HTTPResponseBodyEvent | None:
        """All that `member` has not got yet, as one message; None when it is no longer here. It counts as sent."""
        if member.place < self.end - len(self._entries):
            return None
        message = self._from(member.place)
        member.place, member.last = self.end, self._revision
        return message

    def serve(self, until: float) -> bool:
        """Send until everybody in the round has got everything, or till the time `until`; whether everybody has."""
        clock = time.perf_counter
        while True:
            while self._turn < len(self._round):
                member = self._round[self._turn]
                self._turn += 1
                if member in self.live:  # else it has left since the round began
                    self._serve(member)
                if clock() >= until:
                    return False
            self._trim(self._round_end)
            if self._round_end == self.end and not (self._ended and self.live):
                self._round, self._asked = [], False
                return True
            self._round, self._turn, self._round_end = list(self.live), 0, self.end

    def _serve(self, member: Member) -> None:
        if member.place != self.end:
            message = self.next_for(member)
            if message is None:
                member.dismiss()
                return
            if not member.take(message):
                if member in self.live:  # else it has gone
                    del self.live[member]
                    self.behind.add(member)
                return
        if self._ended and member in self.live:
            del self.live[member]
            member.finish()

    def _ask(self) -> None:
        if not self._asked and self.live:
            self._asked = True
            self._deliveries.ask(self)

    def _from(self, place: int) -> HTTPResponseBodyEvent:
        """The entries from number `place` on, as the message that sends them; most members are at the same place."""
        made = self._message
        if made is None or made[0] != place or made[1] != self.end:
            skipped = place - (self.end - len(self._entries))
            body = self._entries[-1] if place == self.end - 1 else b"".join(list(self._entries)[skipped:])
            made = self._message = place, self.end, {"type": "http.response.body", "body": body, "more_body": True}
        return made[2]

    def _trim(self, served: int) -> None:
        """Let go of what everybody in the round has got, and nobody who is behind may still get."""
        for member in self.behind:
            if self.end - self._keep <= member.place < served:
                served = member.place
        while self.end - len(self._entries) < served:
            self._entries.popleft()
        if not self._entries:
            self._message = None


class Broadcast:
    """What a group of streams sees alike from `revision` on. `heartbeat` makes a frame from the last revision that was shown.

    `entered` and `left` are told of each stream that joins and leaves.
    """

    def __init__(
        self, revision: int, heartbeat: Callable[[int | None], Awaitable[Frame]], entered: Callable[[], None], left: Callable[[], None]
    ) -> None:
        self.revision = revision
        self._heartbeat = heartbeat
        self._entered, self._left = entered, left
        self._channels: dict[Encode, Channel] = {}
        self._members: dict[Member, Channel] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._beating: asyncio.Task[None] | None = None
        self._ended = False

    def __len__(self) -> int:
        return len(self._members)

    def join(self, member: Member, encode: Encode, deliveries: Deliveries, keep: int, beat: float) -> Channel:
        """`member` gets everything from now on, in the form of `encode`; a heartbeat comes every `beat` seconds."""
        channel = self._channels.get(encode)
        if channel is None:
            channel = self._channels[encode] = Channel(encode, deliveries, keep, self.revision)
        self._members[member] = channel
        channel.begin(member)
        self._entered()
        if self._timer is None:
            self._wait(beat)
        return channel

    def leave(self, member: Member) -> None:
        """`member` goes, whether it has got everything or not."""
        channel = self._members.pop(member, None)
        if channel is None:
            return
        channel.leave(member)
        if not self._members and self._timer is not None:
            self._timer.cancel()
        self._left()

    def publish(self, frame: Frame) -> None:
        """Show `frame` to everybody."""
        if frame.id is not None:
            self.revision = frame.id
        for channel in self._channels.values():
            channel.publish(frame)

    def sift(self, stays: Callable[[Any], bool]) -> None:
        """Dismiss each member whose caller does not stay."""
        for member in tuple(self._members):
            if not stays(member.caller):
                member.dismiss()

    @property
    def closed(self) -> bool:
        """Whether nothing comes any more."""
        return self._ended

    def close(self) -> None:
        """What has been published was all."""
        if self._timer is not None:
            self._timer.cancel()
        self._ended = True
        for channel in self._channels.values():
            channel.close()

    def _wait(self, beat: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(beat, self._begin_beat, beat)

    def _begin_beat(self, beat: float) -> None:
        self._wait(beat)
        if self._beating is None or self._beating.done():  # else the log is slow to answer; one heartbeat that waits for it is enough
            self._beating = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        try:
            while True:
                shown = self.revision
                frame = await self._heartbeat(shown)
                if shown == self.revision:  # else it speaks of less than has been shown meanwhile
                    break
        except Exception as wrong:  # noqa: BLE001 - as for a stream alone: whatever it was, the clients must come back with their cursors
            log.warning("stream_ended", reason=type(wrong).__name__, last=self.revision)
            self.close()
            return
        if not self._ended:
            self.publish(frame)
