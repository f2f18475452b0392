"""The streams as they are, held against what they should be. A start makes what is missing and changes nothing that is there; only an
operator's command does (`pulka streams apply`), and it lowers nothing unasked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar

import msgspec
import structlog

from shared.eventlog.jetstream.connection import ApiError, Connection, NoResponders, Unanswered, Unsent, check_answer
from shared.eventlog.jetstream.streams import Namespace, configurations
from shared.eventlog.jetstream.survey import COSTS_TIME_ONLY, Found, Survey, changed_in, compared, copies_in_words
from shared.eventlog.port import LogError, NotPermitted, Unavailable
from shared.events.address import FEWEST, Partitions, size_for

log = structlog.get_logger()

ANSWER_SECONDS: Final = 0.5  # for one try; a fresh cluster answers late or never to the first, so short tries come ready sooner
CHANGE_SECONDS: Final = 2.0  # for one try of a change: the servers write it down together before they answer; to try again does no harm
PAUSE_SECONDS: Final = 0.05  # between two tries
GATHER_SECONDS: Final = 3.0  # that a first start waits for three nodes to be seen: those of a cluster find each other in one
LARGE: Final = 3  # nodes from which on every commit lies on as many, unless a setting says otherwise
NOT_READY: Final = frozenset({10005, 10008, 10009, 10023})  # err_codes of a cluster that has no leader or not all its peers yet
NO_STREAM: Final = 10059  # err_code: no stream of that name
TAKEN: Final = 10058  # err_code: made by somebody else meanwhile, with other limits


_Found = TypeVar("_Found")


class StreamDrift(LogError):
    """A stream exists with another configuration, or holds what this instance does not know; a person has to look."""


class Wanted(msgspec.Struct, frozen=True):
    """What the settings say. `partitions`: how many are known, 0 for as many as the log has; `used`: in how many new ids are made, 0 for
    those that hold something, or all of a new log; `replicas`: copies of a stream, 0 for three where there are three nodes, else one;
    `max_bytes`: room of a stream, None for no limit of its own.
    """

    partitions: int = 0
    used: int = 0
    replicas: int = 0
    max_bytes: int | None = None


class Upkeep:
    """The streams of one namespace, asked over one connection. All raise `Unavailable` when no server answers in time."""

    def __init__(self, connection: Connection, namespace: Namespace, wanted: Wanted) -> None:
        self._connection = connection
        self._namespace = namespace
        self._wanted = wanted
        self._not_ready = ""  # why the servers could not do what was asked last

    async def start(self, seconds: float) -> Survey:
        """Make what is missing, and nothing else; what is there afterwards.

        Raises `StreamDrift` for another configuration, or when the log holds partitions that this instance does not know, and `Unavailable`
        when it is not done in `seconds`.
        """
        try:
            async with asyncio.timeout(seconds):
                found = await self._found()
                partitions = self._partitions(found)
                lacking = [one for one in self._configurations(partitions, self._connection.nodes) if one["name"] not in found]
                if lacking:
                    await self._gather()
                    names = {one["name"] for one in lacking}
                    lacking = [one for one in self._configurations(partitions, self._connection.nodes) if one["name"] in names]
                    found |= await self._each({one["name"]: self._make(one) for one in lacking})
        except TimeoutError:
            raise self._too_late(seconds) from None
        survey = self._survey(found, partitions)
        if drift := [f"{self._namespace.stream(stream.name)}: {one}" for stream in survey.streams for one in stream.drift]:
            raise StreamDrift("; ".join(drift))
        return survey

    async def look(self, partitions: Partitions, seconds: float) -> Survey:
        """What is there now, for an instance that knows these `partitions`."""
        try:
            async with asyncio.timeout(seconds):
                return self._survey(await self._found(), partitions)
        except TimeoutError:
            raise self._too_late(seconds) from None

    async def survey(self, seconds: float) -> Survey:
        """What is there now, for an instance that would start now. Raises `StreamDrift` as `start`, but for drift, which it tells of."""
        try:
            async with asyncio.timeout(seconds):
                found = await self._found()
                return self._survey(found, self._partitions(found))
        except TimeoutError:
            raise self._too_late(seconds) from None

    async def apply(self, survey: Survey, seconds: float, *, lower: bool) -> AsyncIterator[tuple[str, str]]:
        """Bring the streams of `survey` to what they should be, one after the other; by stream in words what was done.

        What there is more of is left, unless it is to `lower`.

        Raises `NotPermitted` where this user may not, `StreamDrift` where the servers refuse.
        """
        try:
            async with asyncio.timeout(seconds):
                found = await self._found()
                wanted = {one["name"]: one for one in self._configurations(survey.partitions, survey.nodes)}
                for stream in survey.streams:
                    name = self._namespace.stream(stream.name)
                    if name not in found:
                        await self._make(wanted[name])
                        yield stream.name, f"made, {copies_in_words(stream.copies_wanted)}"
                    elif stream.less or (lower and stream.more):
                        changed, said = changed_in(stream, lower=lower)
                        config = {**found[name].config, **changed}
                        if config.get(COSTS_TIME_ONLY) and config["num_replicas"] > 1:
                            await self._replace(wanted[name])
                            yield stream.name, f"{said}, emptied"
                            continue
                        await self._change(config)
                        yield stream.name, said
        except TimeoutError:
            raise self._too_late(seconds) from None

    def _too_late(self, seconds: float) -> Unavailable:
        return Unavailable(f"JetStream is not done in {seconds:.0f} s" + (f": {self._not_ready}" if self._not_ready else ""))

    # ---- What is there, and what should be ------------------------------------------------------------------------------

    def _configurations(self, partitions: Partitions, nodes: int) -> list[dict[str, Any]]:
        replicas = self._wanted.replicas or (LARGE if nodes >= LARGE else 1)
        return configurations(self._namespace, replicas, self._wanted.max_bytes, partitions.known)

    def _partitions(self, found: Mapping[str, Found]) -> Partitions:
        """How far an instance goes that starts on such a log. Raises `StreamDrift`."""
        there, begun = self._reach(found)
        known = self._wanted.partitions or there or FEWEST
        used = self._wanted.used or (min(begun, known) if there else known)
        if begun > known:
            raise StreamDrift(f"the log has commits in {begun} partitions, and PULKA_PARTITIONS is {known}: it is never lowered")
        if used > known:
            raise StreamDrift(f"PULKA_PARTITIONS_USED is {used}, and {known} partitions are known: raise PULKA_PARTITIONS everywhere first")
        return Partitions(known, used)

    def _reach(self, found: Mapping[str, Found]) -> tuple[int, int]:
        """How many partitions have streams, 0 on a new log; and how many have to be known to read every commit."""
        begin = len(self._namespace.stream(""))
        there = begun = 0
        for name, one in found.items():
            kind, _, partition = name[begin:].partition("_")
            if kind in {"TABLE", "LOBBY"} and partition.isdecimal():
                there = max(there, int(partition) + 1)
                begun = max(begun, int(partition) + 1 if one.state.last_seq else 0)
        try:
            return size_for(there) if there else 0, size_for(begun)
        except ValueError as too_many:  # of a newer program
            raise StreamDrift(f"the log has {too_many}") from None

    def _survey(self, found: Mapping[str, Found], partitions: Partitions) -> Survey:
        there, begun = self._reach(found)
        nodes = self._connection.nodes
        begin = len(self._namespace.stream(""))
        streams = tuple(
            compared(one["name"][begin:], found.get(one["name"]), one, at_least=not self._wanted.replicas)
            for one in self._configurations(partitions, nodes)
        )
        return Survey(nodes, there, begun, partitions, streams)

    async def _found(self) -> dict[str, Found]:
        """The streams that there are, by the servers' names."""
        try:
            names = [name async for name in self._names()]
        except ApiError as refused:  # no JetStream for this account
            raise StreamDrift(str(refused)) from refused
        found = await self._each({name: self._info(name) for name in names})
        return {name: one for name, one in found.items() if one is not None}

    async def _names(self) -> AsyncIterator[str]:
        offset = 0
        while True:
            page = await self._ask("STREAM.NAMES", {"subject": f"{self._namespace.name}.>", "offset": offset})
            for name in page.get("streams") or ():
                yield name
                offset += 1
            if offset >= page.get("total", 0) or not page.get("streams"):
                return

    async def _info(self, name: str) -> Found | None:
        try:
            return msgspec.convert(await self._ask(f"STREAM.INFO.{name}", None), Found)
        except ApiError as absent:
            if absent.err_code == NO_STREAM:
                return None
            raise StreamDrift(f"{name}: {absent}") from absent

    async def _gather(self) -> None:
        """A cluster's nodes find each other one by one: wait a moment for a third to be seen before that decides about copies."""
        if self._wanted.replicas or self._connection.nodes == 1:
            return
        deadline = asyncio.get_running_loop().time() + GATHER_SECONDS
        while self._connection.nodes < LARGE and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - told to nobody
            await asyncio.sleep(PAUSE_SECONDS)

    @staticmethod
    async def _each(asked: Mapping[str, Coroutine[Any, Any, _Found]]) -> dict[str, _Found]:
        """All at once; of several that fail the first, one line for a person: the next start names the next."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {name: group.create_task(asking) for name, asking in asked.items()}
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        return {name: task.result() for name, task in tasks.items()}

    async def _make(self, wanted: dict[str, Any]) -> Found:
        name = wanted["name"]
        try:
            return msgspec.convert(await self._ask(f"STREAM.CREATE.{name}", wanted), Found)
        except ApiError as refused:
            if refused.err_code == TAKEN and (there := await self._info(name)) is not None:
                return there
            raise StreamDrift(f"{name}: {refused}") from refused

    async def _replace(self, wanted: dict[str, Any]) -> None:
        """Delete a stream that loses nothing by it, and make it again: how it is kept cannot be changed. Raises as `_change`."""
        await self._operate("DELETE", wanted["name"], None)
        await self._make(wanted)

    async def _change(self, config: dict[str, Any]) -> None:
        """Raises `NotPermitted`, `StreamDrift`."""
        await self._operate("UPDATE", config["name"], config)

    async def _operate(self, what: str, name: str, body: dict[str, Any] | None) -> None:
        """What only an operator may do with a stream, tried until the servers are ready for it. Raises `NotPermitted`, `StreamDrift`."""
        denials = self._connection.denials
        try:
            await self._ask(f"STREAM.{what}.{name}", body, CHANGE_SECONDS, lambda: self._connection.denials > denials)
        except Unanswered as cause:
            raise NotPermitted(f"this user may not change {name}") from cause
        except ApiError as refused:
            if (what, refused.err_code) != ("DELETE", NO_STREAM):  # an earlier try has deleted it
                raise StreamDrift(f"{name}: {refused}") from refused

    async def _ask(
        self, request: str, body: dict[str, Any] | None, seconds: float = ANSWER_SECONDS, hopeless: Callable[[], bool] = lambda: False
    ) -> dict[str, Any]:
        """One request to JetStream's API, again and again until the servers are ready for it; the caller bounds the time.

        Raises `ApiError`, and `Unanswered` once it is `hopeless`.
        """
        payload = b"" if body is None else msgspec.json.encode(body)
        while True:
            try:
                answer = await self._connection.request(f"$JS.API.{request}", payload, seconds)
                decoded: dict[str, Any] = msgspec.json.decode(check_answer(answer.data))
            except (Unsent, NoResponders, Unanswered) as cause:
                if hopeless():
                    raise Unanswered(request) from cause
                self._not_ready = str(cause)
                log.debug("jetstream_not_ready", request=request, cause=str(cause))
            except ApiError as refused:
                if refused.err_code not in NOT_READY:
                    raise
                self._not_ready = str(refused)
            else:
                return decoded
            await asyncio.sleep(PAUSE_SECONDS)
