"""Which streams there are, what they are called and how they are configured, all in this one place; `upkeep` makes them so.

Every property here carries a promise: another value would let commits vanish, grow old or be taken twice without an error.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from shared.events.address import FEWEST, Address, from_subject

DEFAULT_NAMESPACE: Final = "pulka"
MAX_MESSAGE_BYTES: Final = 256 * 1024  # the largest commit is some 20 KB; a bound keeps a bug from filling the log
DUPLICATE_WINDOW_NS: Final = 100_000_000  # the least there is: nothing carries a Nats-Msg-Id, so the window only costs memory
MAX_SNAPSHOT_BYTES: Final = 16 * 1024  # a part has at most half of it; the rest is for growth
SNAPSHOTS: Final = "SNAPSHOTS"  # the stream of them; a cache, so what it may forget and lose is no promise
UNSYNCED: Final = "async"  # snapshots are not synced: the log's own syncs need the disk. NATS knows that for streams of one copy alone
SNAPSHOT_PARTS: Final = 256 * 1024  # of all snapshots, 8 KB each at most: two gigabytes; of more the oldest go, and are folded from the log
SNAPSHOT_AGE_NS: Final = 30 * 24 * 3600 * 1_000_000_000  # a table that nobody has touched for a month may take a moment longer
_NAMESPACE: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")  # what fits into stream names, subjects and schema names alike


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


def configurations(namespace: Namespace, replicas: int, max_bytes: int | None, partitions: int = FEWEST) -> list[dict[str, Any]]:
    """All streams of the system, as JetStream's API spells them. `max_bytes` bounds one stream; None: `max_file_store` bounds all."""
    streams = {f"TABLE_{p}": ("table", f"{namespace.name}.table.{p}.*") for p in range(partitions)}
    streams |= {f"LOBBY_{p}": ("lobby", f"{namespace.name}.lobby.{p}.*.*") for p in range(partitions)}
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
            "max_msgs": SNAPSHOT_PARTS,
            "max_msgs_per_subject": 1,  # each is put in place of the one before
            "max_bytes": -1 if max_bytes is None else max_bytes,  # NATS sets a bound aside at once: no small volume has a gigabyte
            "max_msg_size": MAX_SNAPSHOT_BYTES,
            "num_replicas": replicas,
            "duplicate_window": DUPLICATE_WINDOW_NS,
            "allow_direct": True,
            **({"persist_mode": UNSYNCED} if replicas == 1 else {}),
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
