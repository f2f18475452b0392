"""What goes into a decision on an aggregate and what can come out of it; the words that `aggregates` speaks with the services."""

from __future__ import annotations

import hashlib
import hmac
from typing import Generic, Protocol, TypeVar

import msgspec

from shared.eventlog.command_keys import KEY_BYTES
from shared.eventlog.port import Stored
from shared.events.address import Address
from shared.events.commit import FIRST_PREV_HASH, Commit, SignedMove
from shared.rules.language.refusal import Refused

S = TypeVar("S")
E = TypeVar("E")


class Request(msgspec.Struct, frozen=True):
    """One command as the log is told of it.

    `command_id` is the client's idempotency key, its scope the aggregate and `actor` (a player id, `service`, `clock`); `digest` a keyed
    digest (hex) of the command's payload, so that the same key with another payload is noticed, and `former_digests` the same under older
    keys; `now` milliseconds since 1970 UTC; `cause` and `correlation` the commit or request it stems from; `signed` as in `Commit`.
    """

    command_id: str
    actor: str
    digest: str
    now: int
    cause: str | None = None
    correlation: str | None = None
    former_digests: tuple[str, ...] = ()
    signed: SignedMove | None = None

    def carries(self, digest: str) -> bool:
        """Whether `digest`, of a stored command, is of this payload; in constant time, under whichever master key it was made."""
        answers = [hmac.compare_digest(one.encode(), digest.encode()) for one in (self.digest, *self.former_digests)]
        return any(answers)

    def key(self) -> bytes:
        """What the aggregate remembers of it: 16 bytes over actor and command id."""
        return command_key(self.actor, self.command_id)


def command_key(actor: str, command_id: str) -> bytes:
    """16 bytes that stand for `command_id` within `actor`; the length in front keeps ("a", "bc") apart from ("ab", "c")."""
    return hashlib.sha256(f"{len(actor)}:{actor}{command_id}".encode()).digest()[:KEY_BYTES]


class Loaded(msgspec.Struct, Generic[S], frozen=True):
    """An aggregate as its log folds: `state` after commit `revision`.

    That commit lies at stream sequence `sequence`, hashes to `head_hash` (hex) and happened at `at` (milliseconds since 1970 UTC). A new
    one has revision 0, sequence 0, `at` 0 and the hash before the first.
    """

    address: Address
    state: S
    revision: int = 0
    sequence: int = 0
    head_hash: str = FIRST_PREV_HASH
    at: int = 0


class Committed(msgspec.Struct, Generic[S, E], frozen=True):
    """A decision that is durable: the stored commit, its hash (hex), its events in plain, and the aggregate right after it.

    `repeated`: this command had been decided before; all of it, `loaded` too, is as it was then.
    """

    stored: Stored
    commit: Commit
    hash: str
    events: tuple[E, ...]
    loaded: Loaded[S]
    repeated: bool = False


class RefusedAt(msgspec.Struct, frozen=True):
    """A refusal that holds for the aggregate at `revision`, which was its newest at the leader after the command came in."""

    refused: Refused
    revision: int


class Nothing(msgspec.Struct, Generic[S], frozen=True):
    """There was nothing to do and nothing was stored; `loaded` was the newest at the leader after the command came in."""

    loaded: Loaded[S]


class Mismatch(Exception):
    """The command id was used before, at `revision`, with another payload."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"this command id stands for another command, at revision {revision}")
        self.revision = revision


class QueueFull(Exception):
    """Too many commands wait for this aggregate; nothing was decided."""


class BrokenChain(Exception):
    """The log was cut, mixed up or changed: a commit does not follow from the one before, or acknowledged ones are gone.

    `revision`: from which one on the aggregate cannot be read; what came before it is well.
    """

    def __init__(self, told: str, revision: int) -> None:
        super().__init__(told)
        self.revision = revision


class Codec(Protocol[E]):
    """Events in plain to events as they are stored, and back: `open` undoes `seal`; the same events and entropy seal to the same bytes."""

    def seal(self, address: Address, events: tuple[E, ...], entropy: bytes) -> tuple[msgspec.Raw, ...]:
        """The stored form of what one command caused; `entropy` is fresh for every attempt, so that no nonce comes twice."""
        ...

    def open(self, commit: Commit) -> tuple[E, ...]:
        """The events of a commit, brought up to the present schema and unsealed."""
        ...
