"""`pulka streams` on one node: what it shows, what it changes, and whom it lets."""

import asyncio
import json

import pytest
from click.testing import CliRunner

from services.cli.operator.streams import streams
from shared.eventlog.jetstream.log import open_log
from shared.web.service import CannotBeDone, CannotStart, ServersUnreachable
from tests.contracts.commits import fill, some_table

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("begun")]

ROOM = 1 << 20


@pytest.fixture
def run(nats_urls, namespace, tmp_path):
    """The command with these words and settings, as a person with the operator's password types it."""

    def run(*words, **settings):
        environment = {
            "PULKA_NATS_URL": nats_urls.service,
            "PULKA_NATS_OPERATOR_URL": nats_urls.operator,
            "PULKA_NAMESPACE": namespace,
            "PULKA_HOME": str(tmp_path),
        }
        return CliRunner().invoke(streams, words, env=environment | settings, catch_exceptions=False)

    return run


@pytest.fixture
def begun(nats_urls, namespace):
    """A log with room of 1 MiB a stream, and something in it."""

    async def begin():
        log = await open_log(nats_urls.service, namespace, max_bytes=ROOM)
        await fill(log, some_table(partition=2), 3)
        await log.close()

    asyncio.run(begin())


def test_what_is_and_what_should_be(run):
    """A line a stream, and one about all; status 0 where nothing differs, else 1."""
    done = run("check", PULKA_STREAM_BYTES=str(ROOM))
    assert (done.exit_code, done.stderr) == (0, "1 node; 8 partitions are there, 8 known, 8 used; as it should be\n")
    assert "TABLE_2" in done.stdout
    document = json.loads(run("check", "--json", PULKA_STREAM_BYTES=str(ROOM)).stdout)
    assert (document["as_wanted"], document["nodes"]) == (True, 1)
    assert document["partitions"] == {"there": 8, "known": 8, "used": 8}
    (table,) = [one for one in document["streams"] if one["stream"] == "TABLE_2"]
    assert table.pop("bytes") > 0
    assert table == {
        "stream": "TABLE_2",
        "copies": {"is": 1, "should_be": 1},
        "room": {"is": ROOM, "should_be": ROOM},
        "behind": [],
        "differs": [],
    }
    done = run("check")
    assert done.exit_code == 1
    assert done.stderr.endswith("not as it should be: `pulka streams apply` changes that\n")


def test_apply_says_each_change_and_lowers_nothing_unasked(run):
    """Room grows; then there is nothing to change; less room is told and left without `--lower`."""
    done = run("apply", PULKA_STREAM_BYTES=str(2 * ROOM))
    assert done.exit_code == 0
    assert f"TABLE_2: room of {ROOM} bytes -> room of {2 * ROOM} bytes\n" in done.stdout
    assert run("apply", PULKA_STREAM_BYTES=str(2 * ROOM)).stderr == "nothing to change\n"
    left = run("apply", PULKA_STREAM_BYTES=str(ROOM))
    assert (left.exit_code, left.stdout) == (0, "")
    assert f"TABLE_2: room of {2 * ROOM} bytes, room of {ROOM} bytes are wanted: left as it is without --lower\n" in left.stderr
    assert run("check", PULKA_STREAM_BYTES=str(ROOM)).exit_code == 1
    assert run("apply", "--lower", PULKA_STREAM_BYTES=str(ROOM)).exit_code == 0
    assert run("check", PULKA_STREAM_BYTES=str(ROOM)).exit_code == 0


def test_partitions_can_be_made_before_any_service_knows_them(run):
    """The streams of partitions 8 to 15, each said; they are not used by that."""
    settings = {"PULKA_PARTITIONS": "16", "PULKA_STREAM_BYTES": str(ROOM)}
    before = run("check", **settings)
    assert before.exit_code == 1
    assert "is missing" in before.stdout
    done = run("apply", **settings)
    assert done.exit_code == 0
    assert set(done.stdout.splitlines()) == {f"{kind}_{n}: made, 1 copy" for kind in ("TABLE", "LOBBY") for n in range(8, 16)}
    assert json.loads(run("check", "--json", **settings).stdout)["partitions"] == {"there": 16, "known": 16, "used": 8}


def test_whoever_may_not_is_told_which_setting_is_missing(run, nats_urls):
    """A service's user changes nothing: status 2 and the variable that names another."""
    if nats_urls.service == nats_urls.operator:
        pytest.skip("this server has one user for everything")
    with pytest.raises(CannotStart, match=r"may not change .*: set PULKA_NATS_OPERATOR_URL"):
        run("apply", PULKA_NATS_OPERATOR_URL=nats_urls.service)


def test_what_cannot_be_is_a_sentence(run):
    """Fewer partitions than hold something, more used than known, and a server that is not there."""
    with pytest.raises(CannotBeDone, match="PULKA_PARTITIONS_USED is 16, and 8 partitions are known"):
        run("check", PULKA_PARTITIONS="8", PULKA_PARTITIONS_USED="16")
    with pytest.raises(ServersUnreachable, match="NATS does not answer"):
        run("check", PULKA_NATS_URL="nats://127.0.0.1:1")
