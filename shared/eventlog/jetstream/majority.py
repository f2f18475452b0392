"""Whether a majority of a stream's servers stands behind what its leader says: one that is cut off goes on answering for seconds.

Its successor is elected 4 s after the last sign of the old one at the soonest. So a leader that has heard of a majority within less is the
one there is. The same answer says how many messages a subject has: the question before it may have been answered by somebody else, by the
old leader on the day when the network comes back, and then the two do not fit.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from shared.eventlog.jetstream.connection import ApiError, Connection, NoResponders, Unanswered, Unsent, check_answer
from shared.eventlog.jetstream.streams import Namespace
from shared.eventlog.port import Unavailable

ANSWER_SECONDS: Final = 1.0  # for one answer, which takes under a millisecond
HEARD_NS: Final = 2_500_000_000  # since a server's last word: they speak every second, and elect another after four at the soonest
KNOWN_SECONDS: Final = 60.0  # between two questions of how many copies a stream has, while it has one: an operator may have added some


class _Config(msgspec.Struct, frozen=True):
    num_replicas: int = 1


class _Peer(msgspec.Struct, frozen=True):
    active: int = 1 << 62
    offline: bool = False


class _Cluster(msgspec.Struct, frozen=True):
    replicas: tuple[_Peer, ...] = ()


class _State(msgspec.Struct, frozen=True):
    subjects: dict[str, int] = {}


class _Info(msgspec.Struct, frozen=True):
    config: _Config
    state: _State
    cluster: _Cluster = _Cluster()


_decode_info = msgspec.json.Decoder(_Info).decode


class Majority:
    """Asks for one connection. Where a stream has one copy, what its only server says needs no second question."""

    def __init__(self, connection: Connection, namespace: Namespace) -> None:
        self._connection = connection
        self._namespace = namespace
        self._alone: dict[str, float] = {}  # by stream with one copy, until when that is believed

    async def confirm(self, stream: str) -> None:
        """Return once the stream's leader has said that a majority is with it; of one copy, that it is there. Raises `Unavailable`."""
        await self._ask(stream, b"")

    async def messages(self, stream: str, subject: str) -> int | None:
        """How many messages the leader that a majority stands behind has of `subject`; None where the stream has one copy only.

        Raises `Unavailable`, also for a leader that a majority has not been heard of by.
        """
        now = asyncio.get_running_loop().time()
        if self._alone.get(stream, 0.0) > now:
            return None
        info = await self._ask(stream, msgspec.json.encode({"subjects_filter": subject}))
        if info.config.num_replicas == 1:
            self._alone[stream] = now + KNOWN_SECONDS
            return None
        return info.state.subjects.get(subject, 0)

    async def _ask(self, stream: str, query: bytes) -> _Info:
        """What a leader says of its stream that a majority stands behind."""
        try:
            answer = await self._connection.request(f"$JS.API.STREAM.INFO.{self._namespace.stream(stream)}", query, ANSWER_SECONDS)
            info = _decode_info(check_answer(answer.data))
        except (Unsent, NoResponders, Unanswered, ApiError, msgspec.DecodeError) as cause:
            raise Unavailable(f"nobody says whether a majority of {stream} is there: {cause}") from cause
        heard = 1 + sum(peer.active <= HEARD_NS and not peer.offline for peer in info.cluster.replicas)
        if 2 * heard <= info.config.num_replicas:
            raise Unavailable(f"the leader of {stream} has heard of {heard} of {info.config.num_replicas} servers, itself included")
        return info
