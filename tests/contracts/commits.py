"""Commits to put into a log, and the little that tests ask of a log again and again."""

import secrets
from contextlib import aclosing
from itertools import chain

import msgspec

from shared.eventlog.port import Conflict
from shared.events.address import Address, new_id
from shared.events.commit import FIRST_PREV_HASH, SCHEMA, Commit, encode

PATIENCE = 10.0  # seconds for what takes milliseconds on a healthy machine


def some_table(partition: int | None = None) -> Address:
    """A table that nobody else has."""
    table_id = new_id(secrets.token_bytes(33))
    return Address("table", "table", table_id if partition is None else f"{partition}{table_id[1:]}")


def some_commit(address: Address, revision: int, command_id: str | None = None, *, size: int = 0) -> bytes:
    """An encoded commit of `address`; with no command id given, one of its own."""
    return encode(
        Commit(
            aggregate=address.subject,
            revision=revision,
            schema=SCHEMA,
            at=revision,
            actor="player",
            command_id=command_id or secrets.token_hex(8),
            command_digest="0" * 64,
            cause=None,
            correlation=None,
            prev_hash=FIRST_PREV_HASH,
            events=(msgspec.Raw(b'{"type":"Happened","what":"' + b"x" * size + b'"}'),),
        )
    )


async def fill(log, address, count, *, size=0):
    """`count` commits one after another on a new aggregate."""
    records = []
    for revision in range(1, count + 1):
        expected = records[-1].sequence if records else 0
        records.append(await log.append(address, some_commit(address, revision, size=size), expected))
    return records


async def insist(log, address, command_id):
    """Append one commit to whatever is the head, as often as somebody else is first."""
    head = await log.head(address)
    while True:
        revision, expected = (head.revision + 1, head.sequence) if head else (1, 0)
        try:
            return await log.append(address, some_commit(address, revision, command_id), expected)
        except Conflict as conflict:
            head = conflict.head


async def take(watched, count):
    """The next `count` commits of a `watch`."""
    found = []
    while len(found) < count:
        found.append(await anext(watched))
    return found


async def follow_all(log, stream, after, count):
    """The first `count` commits that `follow` gives."""
    return flat(await follow_batches(log, stream, after, count, 500))


def flat(lists):
    """What is in all of them, in order."""
    return list(chain.from_iterable(lists))


async def follow_batches(log, stream, after, count, batch):
    """The first `count` commits that `follow` gives, as the batches they came in."""
    batches = []
    async with aclosing(log.follow(stream, after, batch)) as followed:
        async for commits in followed:
            if commits:
                batches.append(commits)
            if sum(map(len, batches)) >= count:
                return batches
    return batches
