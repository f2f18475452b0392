"""What the contract tests of projections project: a tally that any repeated, lost or reordered commit changes."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence

import msgspec

from shared.eventlog.port import EventLog, Stored
from shared.events.address import FEWEST, Address, new_id
from shared.events.commit import FIRST_PREV_HASH, SCHEMA, Commit, decode, encode, hash_of
from shared.projections.core.projection import Connection

POISON = "Poison"


class Tally:
    """Counts commits and folds their order into a digest; `poisoned` says whether it chokes on commits that hold a `Poison`."""

    name = "tally"
    version = 1
    ddl = "CREATE TABLE IF NOT EXISTS tally (aggregate text PRIMARY KEY, commits bigint NOT NULL, digest text NOT NULL);"

    def __init__(self, *, poisoned: bool = True) -> None:
        self.poisoned = poisoned

    async def apply(self, connection: Connection, batch: Sequence[Stored]) -> None:
        for stored in batch:
            commit = decode(stored.data)
            subject = commit.aggregate
            if self.poisoned and any(POISON.encode() in bytes(raw) for raw in commit.events):
                raise ValueError("cannot be applied")
            before = await connection.fetchrow("SELECT commits, digest FROM tally WHERE aggregate = $1", subject)
            commits, digest = (before["commits"], before["digest"]) if before else (0, "")
            digest = hashlib.sha256(digest.encode() + stored.data).hexdigest()
            await connection.execute(
                "INSERT INTO tally VALUES ($1, $2, $3) ON CONFLICT (aggregate) DO UPDATE SET commits = $2, digest = $3",
                subject,
                commits + 1,
                digest,
            )


class Writer:
    """Appends chained commits to lobby aggregates of one partition."""

    def __init__(self, log: EventLog, partition: int = 0, seed: int = 1) -> None:
        self._log = log
        self._random = random.Random(seed)
        self._partition = partition
        self._heads: dict[Address, tuple[int, int, str]] = {}
        self.stream = f"LOBBY_{partition}"

    def aggregate(self) -> Address:
        """A fresh aggregate."""
        assert self._partition < FEWEST
        return Address("lobby", "club", new_id(bytes([self._partition]) + self._random.randbytes(17)))

    async def append(self, address: Address, event: str = "Happened") -> Stored:
        """One more commit of `address`."""
        revision, sequence, head = self._heads.get(address, (0, 0, FIRST_PREV_HASH))
        data = encode(
            Commit(
                aggregate=address.subject, revision=revision + 1, schema=SCHEMA, at=1_700_000_000_000 + revision, actor="service",
                command_id=f"c{revision + 1}", command_digest="", cause=None, correlation=None, prev_hash=head,
                events=(msgspec.Raw(msgspec.json.encode({"type": event, "n": self._random.random()})),),
            )
        )  # fmt: skip
        stored = await self._log.append(address, data, sequence)
        self._heads[address] = (revision + 1, stored.sequence, hash_of(data))
        return stored

    async def spread(self, commits: int, aggregates: int) -> list[Stored]:
        """`commits` commits over `aggregates` fresh aggregates, in random order."""
        addresses = [self.aggregate() for _ in range(aggregates)]
        return [await self.append(self._random.choice(addresses)) for _ in range(commits)]
