"""`pulka audit verify`: with nothing but two connections, it finds what was changed behind the services' back."""

import asyncio
import json

import asyncpg
import nats
import pytest
from click.testing import CliRunner

from services.cli.operator.audit import audit
from services.ledger import main as ledger
from services.ledger.books import Books
from shared.eventlog.jetstream.log import open_log
from shared.eventlog.jetstream.streams import Namespace
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events import address
from shared.events.commit import hash_of
from shared.projections.versions.versions import Versions
from shared.web.service import CannotStart
from shared.web.settings import Settings
from tests.services.cli.processes import until_async
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers


def played(seed, length):
    """A table's id, and its first `length` commits as they are stored."""

    async def play():
        table = PlayedTable(MemoryLog(MemoryStore()), seed)
        return table.id, [(await table.step()).data for _ in range(length)]

    return asyncio.run(play())


TABLE, COMMITS = played(1, 6)
OTHER, OTHERS = played(2, 3)


class System:
    """A log and the ledger's rows, as far as a test has them filled."""

    def __init__(self, nats_urls, settings):
        self._urls, self._settings = nats_urls, settings

    def store(self, table, commits):
        """Append `commits` to the log as they are."""

        async def run():
            log = await open_log(self._settings.nats_url, self._settings.namespace)
            sequence = 0
            for data in commits:
                sequence = (await log.append(address.table(table), data, sequence)).sequence
            await log.close()

        asyncio.run(run())

    def read(self, commits=0):
        """Let a ledger run until its rows hold so many commits."""

        async def run():
            service = ledger.create(self._settings)
            await service.start()
            connection = await asyncpg.connect(self._settings.postgres_dsn, server_settings={"search_path": self._schema})
            seen = []

            async def count():
                while not seen or seen[-1] < commits:
                    seen.append(await connection.fetchval("SELECT count(*) FROM audit_trail"))

            counting = asyncio.create_task(count())
            await until_async(counting.done)
            await connection.close()
            await service.stop()

        asyncio.run(run())

    def change(self, statement):
        """Change the rows behind the ledger's back."""

        async def run():
            connection = await asyncpg.connect(self._settings.postgres_dsn, server_settings={"search_path": self._schema})
            await connection.execute(statement)
            await connection.close()

        asyncio.run(run())

    def purge(self, table):
        """Take a table out of the log, as only the operator can."""

        async def run():
            client = await nats.connect(self._urls.operator)
            place, names = address.table(table), Namespace(self._settings.namespace)
            body = json.dumps({"filter": names.subject(place)}).encode()
            answer = await client.request(f"$JS.API.STREAM.PURGE.{names.stream(place.stream)}", body, timeout=5)
            assert json.loads(answer.data)["success"]
            await client.close()

        asyncio.run(run())

    def verify(self, *arguments):
        """Run `pulka audit verify --json`: status and what it says."""
        names = ("nats_url", "postgres_dsn", "namespace")
        environment = {f"PULKA_{name.upper()}": getattr(self._settings, name) for name in names}
        done = CliRunner().invoke(audit, ["verify", "--json", *arguments], env=environment)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, json.loads(done.stdout)

    @property
    def _schema(self):
        return Versions(Books.name, self._settings.namespace).schema(1)


@pytest.fixture
def system(nats_urls, postgres_dsn, namespace, tmp_path):
    """Servers with nothing in them but the ledger's empty tables."""
    system = System(nats_urls, Settings(nats_url=nats_urls.service, postgres_dsn=postgres_dsn, namespace=namespace, home=str(tmp_path)))
    system.read()
    return system


def verdicts(said):
    """By table: the revisions of its problems."""
    return {one["table_id"]: [wrong["revision"] for wrong in one["problems"]] for one in said["tables"]}


def test_every_table_is_checked(system):
    """Each table's commits are counted and its head is named; one table can be asked for alone; it needs no key."""
    assert system.verify() == (0, {"verified": True, "tables": [], "ratings": {"checked": True, "problems": []}})
    system.store(TABLE, COMMITS)
    system.store(OTHER, OTHERS)
    system.read(9)
    status, said = system.verify()
    assert (status, said["verified"]) == (0, True)
    assert {(one["table_id"], one["commits"], one["head"]) for one in said["tables"]} == {
        (TABLE, 6, hash_of(COMMITS[-1])),
        (OTHER, 3, hash_of(OTHERS[-1])),
    }
    status, said = system.verify(OTHER)
    assert (status, said["verified"], said["head"]) == (0, True, hash_of(OTHERS[-1]))


def test_a_changed_commit_is_found(system):
    """Some bytes of a commit in the middle, and the chain does not hold; the other tables still verify."""
    changed = COMMITS[1].replace(b'"actor":"service"', b'"actor":"Service"')
    assert changed != COMMITS[1]
    system.store(TABLE, [COMMITS[0], changed, *COMMITS[2:]])
    system.store(OTHER, OTHERS)
    status, said = system.verify()
    assert (status, said["verified"]) == (1, False)
    assert verdicts(said) == {TABLE: [2], OTHER: []}


def test_a_log_that_is_not_the_one_the_ledger_has_read_is_found(system):
    """A chain that holds in itself, but under another hash than was read."""
    system.store(TABLE, COMMITS)
    system.read(6)
    system.change("UPDATE audit_trail SET hash = repeat('f', 64) WHERE revision = 6")
    status, said = system.verify(TABLE)
    assert (status, said["verified"]) == (1, False)
    assert 6 in {wrong["revision"] for wrong in said["problems"]}


def test_a_table_that_vanished_from_the_log_is_found(system):
    """What the ledger has read must lie in the log."""
    system.store(TABLE, COMMITS)
    system.store(OTHER, OTHERS)
    system.read(9)
    system.purge(TABLE)
    status, said = system.verify()
    assert (status, said["verified"]) == (1, False)
    assert verdicts(said)[TABLE]
    assert not verdicts(said)[OTHER]


def test_an_unknown_table_is_bad_input(system):
    """Asking for a table that is not there is a mistake of the asker (status 2), not a failed verification."""
    for table in (TABLE, "nonsense"):
        with pytest.raises(CannotStart, match=table):
            system.verify(table)
