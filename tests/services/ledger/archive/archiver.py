"""`pulka archive` in a process of its own that asks before each step.

`python -m tests.services.ledger.archive.archiver NATS NAMESPACE POSTGRES SCHEMA DIR` prints `<table> <step>` and goes on when it is sent a
line; a test may kill it instead.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import asyncpg

from services.ledger.archive.archiving import Archiver
from services.ledger.audit.proofs import Proofs
from services.ledger.own.own_events import OwnEvents
from shared.eventlog.jetstream.log import open_log

NOW = 1_800_000_000_000
NEVER = 1 << 60  # milliseconds: every table is older


def ask(table: str, step: str) -> None:
    """Say what comes next, and wait."""
    sys.stdout.write(f"{table} {step}\n")
    sys.stdout.flush()
    sys.stdin.readline()


async def archive(nats_url: str, namespace: str, postgres_dsn: str, schema: str, folder: str) -> None:
    """Move everything that is settled."""
    log = await open_log(nats_url, namespace)
    connection = await asyncpg.connect(postgres_dsn, server_settings={"search_path": schema})
    own, proofs = OwnEvents(log), Proofs(namespace)
    archiver = Archiver(log, connection, own, proofs, Path(folder), author="operator:test", clock=lambda: NOW, told=ask)
    async for table_id, _ in archiver.due(NEVER):
        print((await archiver.move(table_id)).state, flush=True)  # noqa: T201 - the test reads it
    await connection.close()
    await log.close()


if __name__ == "__main__":
    asyncio.run(archive(*sys.argv[1:]))
