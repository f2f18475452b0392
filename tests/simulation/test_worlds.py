"""Two hundred worlds hold; and the simulation itself is one: the same seed is the same world, a fault that is put in is found."""

import pytest
import structlog

from services.table import clocks
from services.table import table as tables
from services.table.clocks import looks  # noqa: F401 - reached as `clocks.looks`
from shared.eventlog.memory import MemoryLog
from tests.simulation.world import FAULTS, World, deals_of

SEEDS = 200
AT_ONCE = 20  # a test: small enough that one names the seed soon, large enough that fixtures do not count


@pytest.fixture(autouse=True)
def quiet():
    """Instances fall by the hundred here: that is no news."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    structlog.configure(**before)


def breaks(world):
    """Whether a world does not hold."""
    try:
        world.run()
    except (AssertionError, TimeoutError):
        return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_worlds_hold(first):
    """Nothing acknowledged lost or doubled, one culprit a time-out, every viewer's frames are the log's: whatever falls, races or lags."""
    kills = 0
    for seed in range(first, first + AT_ONCE):
        world = World(seed, deals=deals_of(seed), faults=FAULTS[seed % len(FAULTS)])
        try:
            world.run()
        except Exception as wrong:
            raise AssertionError(f"see it again: python -m tests.simulation --first {seed} --seeds 1") from wrong
        kills += world.kills
    assert kills > AT_ONCE


def test_a_seed_is_a_world():
    """Run twice it is the same to the byte; another seed is another."""
    worlds = [World(seed) for seed in (7, 7, 8)]
    for world in worlds:
        world.run()
    one, again, other = ([stored.data for stored in world.stored] for world in worlds)
    assert one == again != other
    assert worlds[0].loop.steps == worlds[1].loop.steps


def test_a_log_that_stores_twice_is_found(monkeypatch):
    """A repeat that is stored once more: were the log to let it in, the check would say so."""
    honest = MemoryLog.append

    async def twice(self, address, data, expected):
        stored = await honest(self, address, data, expected)
        if stored.revision == 9:
            self.store.store(address, data, stored.revision)
        return stored

    monkeypatch.setattr(MemoryLog, "append", twice)
    assert breaks(World(3))


def test_a_time_out_before_its_time_is_found(monkeypatch):
    """A clock that ends turns three seconds early."""
    honest = clocks.looks.deadline
    monkeypatch.setattr(clocks.looks, "deadline", lambda table: None if honest(table) is None else honest(table) - 3_000)
    monkeypatch.setattr(tables, "deadline", lambda table: None if honest(table) is None else honest(table) - 3_000)
    assert any(breaks(World(seed)) for seed in range(10))
