"""A ledger in a process of its own until it is killed: `python -m tests.services.ledger.follower NATS NAMESPACE POSTGRES SCHEMA`."""

from __future__ import annotations

import asyncio
import sys

from services.ledger.books import Books
from shared.eventlog.jetstream import open_log
from shared.events.address import TABLE_STREAMS
from shared.projections.projector import Projector


async def follow(nats_url: str, namespace: str, postgres_dsn: str, schema: str) -> None:
    """Project until the end of the process; says so on standard output as soon as it does."""
    log = await open_log(nats_url, namespace)
    projector = Projector(log, Books(), TABLE_STREAMS[:1], postgres_dsn, schema)
    await projector.start()
    sys.stdout.write("following\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(follow(*sys.argv[1:]))
