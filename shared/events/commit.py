"""The commit: everything one command caused, one message in the log, all or nothing.

It is encoded once, and those bytes are what is stored and hashed: `hash_of(bytes)` is the next commit's `prev_hash`.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Final

import msgspec
from msgspec import Meta

FIRST_PREV_HASH: Final = "0" * 64  # of revision 1
SCHEMA: Final = 1  # of the envelope and of every event in it; older ones pass through `upcast`

_LARGEST: Final = 2**63 - 1  # what every database and every program can hold as a whole number
Revision = Annotated[int, Meta(ge=1, le=_LARGEST)]
Time = Annotated[int, Meta(ge=0, le=_LARGEST)]


class SignedMove(msgspec.Struct, frozen=True):
    """A move as its player signed it: `move` is its text, `signature` Ed25519 in hex over `signed_text` of it. A move that hides cards has
    the digest on their box in place of them.
    """

    move: str
    signature: str


def signed_text(table_id: str, revision: int, prev_hash: str, move: str) -> bytes:
    """What a player signs: the move, at the place in the table's history where it comes."""
    return f"pulka move 1 {table_id} {revision} {prev_hash} {move}".encode()


class Commit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One decision of one aggregate.

    `aggregate` is its subject without prefix (`table.3.3-…`); `revision` counts its commits from 1 without gaps; `command_id` is the
    idempotency key within aggregate and actor; `command_digest` a keyed digest of the command (never a plain hash: a discard has few
    possibilities); `actor` a player id, `service` or `clock`; `at` milliseconds since 1970 UTC, never going back within the aggregate;
    `cause` and `correlation` the commit or request it stems from; `signed` the move as its player signed it, left out where nobody did;
    `events` raw JSON objects in the form they are stored in.
    """

    aggregate: str
    revision: int
    schema: int
    at: int
    actor: str
    command_id: str
    command_digest: str
    cause: str | None
    correlation: str | None
    prev_hash: str
    signed: SignedMove | None = None
    events: tuple[msgspec.Raw, ...]


class CommitHead(msgspec.Struct, frozen=True):
    """The part of a commit by which the log recognises it; the events are not decoded."""

    aggregate: str
    revision: Revision
    command_id: str
    actor: str
    prev_hash: str


_decode = msgspec.json.Decoder(Commit).decode
_decode_head = msgspec.json.Decoder(CommitHead).decode
_encode = msgspec.json.Encoder(order="deterministic").encode


def encode(commit: Commit) -> bytes:
    """The bytes that are stored."""
    return _encode(commit)


def decode(data: bytes) -> Commit:
    """The commit in `data`; raises `msgspec.DecodeError`, of which `msgspec.ValidationError` is one."""
    _require_text(data)
    try:
        commit = _decode(data)
    except RecursionError:  # brackets without end
        raise msgspec.DecodeError("nested too deeply") from None
    if not (1 <= commit.revision <= _LARGEST and 0 <= commit.at <= _LARGEST):
        raise msgspec.DecodeError("a revision or a time that none can have")
    return commit


def decode_head(data: bytes) -> CommitHead:
    """Only what identifies the commit in `data`; raises as `decode` does."""
    try:
        return _decode_head(data)
    except RecursionError:  # brackets without end
        raise msgspec.DecodeError("nested too deeply") from None


def _require_text(data: bytes) -> None:
    """JSON is UTF-8 in its events too, which are not looked at here. Raises `msgspec.DecodeError`."""
    try:
        data.decode()
    except UnicodeDecodeError:
        raise msgspec.DecodeError("not UTF-8") from None


def revision_in(data: bytes) -> int:
    """The revision that a stored commit names; 0 for bytes that are no commit, which the chain and not the reader has to judge."""
    try:
        return decode_head(data).revision
    except msgspec.DecodeError:
        return 0


def hash_of(data: bytes) -> str:
    """SHA-256 of a commit's stored bytes, hex: a link of the chain."""
    return hashlib.sha256(data).hexdigest()
