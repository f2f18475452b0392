"""What a table costs on its hundredth deal, and in memory. JSON lines.

* `first_touch_100_deals`, `first_touch_1_deal`: milliseconds until an instance that does not hold a table has it, and their ratio.
* `cached_table`: bytes that an instance's memory grows by for each table in mid-pulka that it holds.

Runs on an embedded NATS of its own in a temporary folder; the deals before are played into the log by a seeded lot.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from pathlib import Path

import structlog
import uvloop

from services.cli.embedded import EmbeddedServers
from services.cli.serving.process import settle_memory
from services.table.tables import Tables
from shared.eventlog.jetstream.log import JetStreamLog, open_log
from shared.events.sealing import TableCodec
from tests.load.figures import tell
from tests.services.ledger.played import KEYS, PlayedTable

TOUCHES = 40  # of each kind, one after the other in turns
HELD = 2_000  # tables whose memory is measured
AMONG_THEM = 6  # moves into a deal: in mid-pulka and in mid-deal


async def dealt(log: JetStreamLog, seed: int, deals: int, moves: int = 0) -> PlayedTable:
    """A table after so many deals, and so many commits of the next one."""
    played = PlayedTable(log, seed, partition=seed % 8, players=3 + seed % 2, target=10_000)
    while played.pulka.number < deals or played.pulka.deal is not None or played.pulka.commitment:
        await played.step()
    for _ in range(moves):
        await played.step()
    return played


async def touched(log: JetStreamLog, table_id: str) -> float:
    """Seconds of a first touch."""
    tables = Tables(log, TableCodec(KEYS))
    began = time.perf_counter()
    await tables.load(table_id)
    return time.perf_counter() - began


async def first_touches(log: JetStreamLog) -> None:
    """Of tables of 100 deals and of one."""
    old = [await dealt(log, 8 * number, 100, 20) for number in range(4)]
    young = [await dealt(log, 8 * number + 1, 1, 20) for number in range(4)]
    for played in (*old, *young):  # a first touch of all writes what the instance that played them would have written
        tables = Tables(log, TableCodec(KEYS))
        await tables.load(played.id)
        await tables.drain()
    took: dict[str, list[float]] = {"first_touch_100_deals": [], "first_touch_1_deal": []}
    for number in range(TOUCHES):
        took["first_touch_100_deals"].append(1000 * await touched(log, old[number % 4].id))
        took["first_touch_1_deal"].append(1000 * await touched(log, young[number % 4].id))
    for name, values in took.items():
        tell(name, "ms", values)
    many, one = (statistics.median(values) for values in took.values())
    tell("first_touch_100_deals_to_1", "ratio", [many / one])


async def memory(log: JetStreamLog) -> None:
    """Bytes of a table in mid-pulka that is held."""
    ids = [(await dealt(log, 100_000 + seed, 2, AMONG_THEM + seed % 30)).id for seed in range(HELD // 10)]
    tables = Tables(log, TableCodec(KEYS), capacity=1 << 40)
    await tables.load(ids[0])
    gc.collect()
    before = resident()
    instances = [Tables(log, TableCodec(KEYS), capacity=1 << 40) for _ in range(10)]
    for instance in instances:
        for table_id in ids:
            await instance.load(table_id)
    gc.collect()
    held = sum(len(instance.cache) for instance in instances)
    tell("cached_table", "bytes", [(resident() - before) / held], of=f"{held} tables")
    tell("cached_table_as_counted", "bytes", [sum(instance.cache.bytes for instance in instances) / held])


def resident() -> int:
    """Bytes of this process in memory."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return 1024 * int(line.split()[1])


async def run(nats_url: str) -> None:
    """All figures."""
    log = await open_log(nats_url, "bench", durable=True)
    await memory(log)
    await first_touches(log)
    await log.close()


def main() -> None:
    """Run and print."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(30))  # warnings and worse: figures only
    settle_memory()
    with tempfile.TemporaryDirectory() as home, EmbeddedServers(Path(home) / "home") as servers:
        uvloop.run(run(servers.nats_url))


if __name__ == "__main__":
    main()
