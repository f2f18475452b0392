"""What the ledger itself decided: which version is read, what was parked and given up, what was signed, what was moved to an archive. Past
tense; names and fields are the storage contract (frozen, additive).

They lie in the stream `LEDGER`, an aggregate a question: `ledger.versions.<projection>`, `ledger.parking.<projection>`,
`ledger.checkpoints.club`, `ledger.archive.club`. `author` is who gave the order, under the name they gave.
"""

from __future__ import annotations

import msgspec


class LedgerEvent(msgspec.Struct, frozen=True, tag_field="type", gc=False):
    """One thing that happened to the books."""


class VersionSwitched(LedgerEvent, frozen=True, tag="VersionSwitched"):
    """Readers of `projection` read `version` from now on, before that `previous` (0: none). `marks`: by stream the sequence up to which the
    new version was filled when they did.
    """

    projection: str
    version: int
    previous: int
    marks: dict[str, int]
    author: str


class CommitParked(LedgerEvent, frozen=True, tag="CommitParked"):
    """A commit could not be applied to the live version, and waits with all that follows it. `reason`: the kind of error."""

    aggregate: str
    position: str
    revision: int
    hash: str
    reason: str


class ParkedRetried(LedgerEvent, frozen=True, tag="ParkedRetried"):
    """What was parked of `aggregate`, so many `commits`, has been applied after all."""

    aggregate: str
    commits: int
    author: str


class ParkedSkipped(LedgerEvent, frozen=True, tag="ParkedSkipped"):
    """One parked commit is left out of the books for good; it stays in the log. `why`: in the author's words."""

    aggregate: str
    position: str
    revision: int
    hash: str
    author: str
    why: str


class CheckpointSigned(LedgerEvent, frozen=True, tag="CheckpointSigned"):
    """The heads of all tables were signed: `signed` is the text that was, to the byte, `signature` (hex) that of `key` (public, hex).

    `cut`: by stream the sequence up to which commits are in it.
    """

    number: int
    signed: str
    signature: str
    key: str
    cut: dict[str, int] = {}


class TableArchived(LedgerEvent, frozen=True, tag="TableArchived"):
    """The commits of a settled table lie in an archive file and may leave the log. `digest`: SHA-256 of the file, hex; `head`: of the last
    commit.
    """

    table: str
    file: str
    digest: str
    commits: int
    head: str
    author: str


AnyLedgerEvent = VersionSwitched | CommitParked | ParkedRetried | ParkedSkipped | CheckpointSigned | TableArchived
