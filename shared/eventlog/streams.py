"""Which streams there are, what they are called and how they are configured: made in this one place, and any drift refused.

Every property here carries a promise: another value would let commits vanish, grow old or be taken twice without an error.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

import msgspec
import structlog

from shared.eventlog.connection import ApiError, Connection, NoResponders, Unanswered, Unsent, check_answer
from shared.eventlog.port import LogError, Unavailable
from shared.events.address import PARTITIONS, Address, from_subject

log = structlog.get_logger()

DEFAULT_NAMESPACE: Final = "pulka"
MAX_MESSAGE_BYTES: Final = 256 * 1024  # the largest commit is some 20 KB; a bound keeps a bug from filling the log
DUPLICATE_WINDOW_NS: Final = 100_000_000  # the least there is: nothing carries a Nats-Msg-Id, so the window only costs memory
ANSWER_SECONDS: Final = 0.5  # for one try; a fresh cluster answers late or never to the first, so short tries come ready sooner
PAUSE_SECONDS: Final = 0.05  # between two tries
NOT_READY: Final = frozenset({10005, 10008, 10009, 10023})  # err_codes of a cluster that has no leader or not all its peers yet
CHANGEABLE: Final = ("max_bytes", "num_replicas")  # room and safety may grow; whatever else differs is drift
MAX_SNAPSHOT_BYTES: Final = 16 * 1024  # a part has at most half of it; the rest is for growth
SNAPSHOTS: Final = "SNAPSHOTS"  # the stream of them; a cache, so what it may forget and lose is no promise
SNAPSHOT_BYTES: Final = 1024 * 1024 * 1024  # of all snapshots: 100,000 tables; of more the oldest go, and are folded from the log
SNAPSHOT_AGE_NS: Final = 30 * 24 * 3600 * 1_000_000_000  # a table that nobody has touched for a month may take a moment longer
_NAMESPACE: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")  # what fits into stream names, subjects and schema names alike


class StreamDrift(LogError):
    """A stream exists with another configuration; a person has to look."""


class Namespace(msgspec.Struct, frozen=True):
    """The prefix of all names, so that several systems can share a server. `pulka` gives the plain names of the documentation."""

    name: str

    def __post_init__(self) -> None:
        if not _NAMESPACE.fullmatch(self.name):
            raise ValueError(f"namespace {self.name!r}: lower case letters, digits and _ only, a letter first, 40 at most")

    def stream(self, logical: str) -> str:
        """The server's name for stream `TABLE_3`."""
        return logical if self.name == DEFAULT_NAMESPACE else f"{self.name.upper()}_{logical}"

    def subject(self, address: Address) -> str:
        """Where an aggregate's commits are published."""
        return f"{self.name}.{address.subject}"

    def live_subject(self, address: Address) -> str:
        """Where they appear once they are stored."""
        return f"{self.live_prefix}{address.subject}"

    def address(self, subject: str) -> Address:
        """The aggregate behind a stored message's subject."""
        return from_subject(subject[len(self.name) + 1 :])

    @property
    def live_prefix(self) -> str:
        """What the republished subjects begin with."""
        return "live." if self.name == DEFAULT_NAMESPACE else f"live.{self.name}."


def configurations(namespace: Namespace, replicas: int, max_bytes: int | None) -> list[dict[str, Any]]:
    """All streams of the system, as JetStream's API spells them. `max_bytes` bounds one stream; None: `max_file_store` bounds all."""
    streams = {f"TABLE_{p}": ("table", f"{namespace.name}.table.{p}.*") for p in range(PARTITIONS)}
    streams |= {f"LOBBY_{p}": ("lobby", f"{namespace.name}.lobby.{p}.*.*") for p in range(PARTITIONS)}
    streams["LEDGER"] = ("ledger", f"{namespace.name}.ledger.*.*")
    return [
        *_logs(namespace, streams, replicas, max_bytes),
        {
            "name": namespace.stream(SNAPSHOTS),
            "subjects": [f"{namespace.name}.snapshot.>"],
            "storage": "file",
            "retention": "limits",
            "discard": "old",
            "max_age": SNAPSHOT_AGE_NS,
            "max_msgs": -1,  # as many as fit
            "max_msgs_per_subject": 1,  # each is put in place of the one before
            "max_bytes": SNAPSHOT_BYTES if max_bytes is None else min(SNAPSHOT_BYTES, max_bytes),
            "max_msg_size": MAX_SNAPSHOT_BYTES,
            "num_replicas": replicas,
            "duplicate_window": DUPLICATE_WINDOW_NS,
            "allow_direct": True,
        },
    ]


def _logs(namespace: Namespace, streams: dict[str, tuple[str, str]], replicas: int, max_bytes: int | None) -> list[dict[str, Any]]:
    """The streams of the log; `streams`: whose events each holds, and its subjects."""
    return [
        {
            "name": namespace.stream(logical),
            "subjects": [subjects],
            "storage": "file",
            "retention": "limits",
            "discard": "new",  # full means refused, never the oldest dropped
            "max_age": 0,  # for ever
            "max_msgs": -1,  # as many as fit
            "max_msgs_per_subject": -1,  # see max_msgs
            "max_bytes": -1 if max_bytes is None else max_bytes,
            "max_msg_size": MAX_MESSAGE_BYTES,
            "num_replicas": replicas,
            "duplicate_window": DUPLICATE_WINDOW_NS,
            "deny_delete": True,  # no commit can be taken out of the middle
            "deny_purge": False,  # irrevocable once true, and then no settled table could ever be archived
            "allow_rollup_hdrs": False,  # a header must not purge a subject
            "allow_direct": True,  # rehydration by batches
            "allow_atomic": True,  # group commit
            "republish": {"src": f"{namespace.name}.{service}.>", "dest": f"{namespace.live_prefix}{service}.>"},
        }
        for logical, (service, subjects) in streams.items()
    ]


async def converge(connection: Connection, wanted: list[dict[str, Any]], seconds: float) -> None:
    """Make what is missing, let room and replicas follow the settings, refuse any other difference.

    Raises `StreamDrift`, and `Unavailable` when it is not done in `seconds`.
    """
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as streams:
            for configuration in wanted:
                streams.create_task(_converge_one(connection, configuration))
    except TimeoutError:
        raise Unavailable(f"JetStream does not answer in {seconds:.0f} s") from None
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None  # one line for a person; the next start names the next


async def _converge_one(connection: Connection, wanted: dict[str, Any]) -> None:
    name = wanted["name"]
    try:
        present = await _ask(connection, f"STREAM.INFO.{name}", None)
    except ApiError as absent:
        if absent.code != 404:
            raise StreamDrift(f"{name}: {absent}") from absent
        present = await _make(connection, wanted)
    found = present["config"]
    drift = [
        f"{name}: {key} is {found.get(key)!r}, must be {value!r}"
        for key, value in wanted.items()
        if key not in CHANGEABLE and found.get(key) != value
    ]
    if drift:
        raise StreamDrift("; ".join(drift))
    if any(found.get(key) != wanted[key] for key in CHANGEABLE):
        log.info("stream_changed", stream=name, **{key: wanted[key] for key in CHANGEABLE})
        await _make(connection, wanted, "UPDATE")


async def _make(connection: Connection, wanted: dict[str, Any], verb: str = "CREATE") -> dict[str, Any]:
    try:
        return await _ask(connection, f"STREAM.{verb}.{wanted['name']}", wanted)
    except ApiError as refused:
        raise StreamDrift(f"{wanted['name']}: {refused}") from refused


async def _ask(connection: Connection, request: str, body: dict[str, Any] | None) -> dict[str, Any]:
    """One request to JetStream's API, again and again until the servers are ready for it; the caller bounds the time. Raises `ApiError`."""
    payload = b"" if body is None else msgspec.json.encode(body)
    while True:
        try:
            answer = await connection.request(f"$JS.API.{request}", payload, ANSWER_SECONDS)
            decoded: dict[str, Any] = msgspec.json.decode(check_answer(answer.data))
        except (Unsent, NoResponders, Unanswered) as cause:
            log.debug("jetstream_not_ready", request=request, cause=str(cause))
        except ApiError as refused:
            if refused.err_code not in NOT_READY:
                raise
        else:
            return decoded
        await asyncio.sleep(PAUSE_SECONDS)
