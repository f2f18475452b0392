"""`pulka archive`: moves what is old enough, says what it left and why, and tells whether an archive holds."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from click.testing import CliRunner

from services.cli.operator.archive import archive
from services.cli.operator.audit import audit
from services.cli.operator.versions import rebuild
from services.ledger import main as ledger
from services.ledger.archive import archive_files
from services.ledger.archive.whole_log import WholeLog
from services.ledger.audit.proofs import Proofs
from services.ledger.books import Books
from services.ledger.players import rating_rows
from shared.eventlog.jetstream.log import open_log
from shared.eventlog.memory import MemoryLog
from shared.eventlog.port import NotInArchive
from shared.events.commit import hash_of
from shared.projections.versions.live_version import LiveVersion
from shared.web.problems import problem_of
from shared.web.service import CannotBeDone, CannotStart, ServersUnreachable
from shared.web.settings import Settings
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.played import PlayedTable
from tests.services.ledger.views.test_imported import recorded_table

pytestmark = pytest.mark.servers

DAY = 24 * 60 * 60 * 1000
VERIFY = Path(__file__).resolve().parents[4] / "deploy" / "verify" / "verify.py"


@pytest.fixture
async def log(nats_url, namespace):
    log = await open_log(nats_url, namespace, heartbeat=0.2)
    yield log
    await log.close()


@pytest.fixture
async def projector(log, postgres_dsn, versions, connection):  # noqa: ARG001 - the connection clears away afterwards
    projector = LiveVersion(log, Books(), TABLE_STREAMS, postgres_dsn, versions)
    await projector.start()
    yield projector
    await projector.stop()


@pytest.fixture
def settings(nats_urls, postgres_dsn, namespace, tmp_path):
    return {
        "PULKA_NATS_URL": nats_urls.service,
        "PULKA_NATS_OPERATOR_URL": nats_urls.operator,
        "PULKA_POSTGRES_DSN": postgres_dsn,
        "PULKA_NAMESPACE": namespace,
        "PULKA_HOME": str(tmp_path / "home"),
        "PULKA_ARCHIVE_DIR": str(tmp_path / "archive"),
    }


@pytest.fixture
def run(settings):
    async def invoke(*arguments, command=archive, **changed):
        environment = settings | changed
        return await asyncio.to_thread(CliRunner(env=environment).invoke, command, [str(one) for one in arguments])

    return invoke


@pytest.fixture
async def played(log, projector):
    """Two pulkas that are over and one in play."""
    tables = [await PlayedTable(log, 51, target=2).play(), await PlayedTable(log, 52, partition=3, target=2).play()]
    tables.append(await PlayedTable(log, 53, target=40).play(deals=1))
    for table in tables:
        assert await projector.at_least.wait(table.commits[-1].position, 10.0)
    return tables


async def test_old_tables_go_and_the_audit_goes_on(run, played, log, tmp_path):
    """A dry run only tells; the run moves the two that are over; the archive and the audit of everything hold; a second run has nothing."""
    one, two, going = played
    folder = tmp_path / "archive"
    commits = len(one.commits) + len(two.commits)
    dry = await run("--older-than", 1, "--to", folder, "--dry-run", "--json")
    moved = json.loads(dry.stdout)["tables"]
    assert set(moved) == {one.id, two.id}
    answer = {"archived": 0, "due": 2, "commits": commits, "tables": moved, "left": [], "in_play": [going.id]}
    assert (dry.exit_code, json.loads(dry.stdout)) == (0, answer)
    told = await run("--older-than", 0, "--to", folder, "--dry-run")
    assert (dry.stderr, told.stderr) == ("", "")
    lines = [f"{going.id}: stays in the log: it is in play", *(f"{table_id}: would be archived" for table_id in moved)]
    assert told.stdout.splitlines() == [*lines, f"2 tables with {commits} commits would be archived"]
    assert not folder.exists()
    done = await run("--older-than", 1, "--to", folder, "--json")
    assert (done.exit_code, json.loads(done.stdout)) == (0, answer | {"archived": 2}), done.output
    assert "only copy" in done.stderr
    assert "PULKA_ARCHIVE_DIR" not in done.stderr
    assert [len(await log.read(table.address)) for table in played] == [1, 1, len(going.commits)]
    listed = json.loads((await run("list", folder, "--json")).stdout)["tables"]
    assert {(table["table"], table["commits"]) for table in listed} == {(one.id, len(one.commits)), (two.id, len(two.commits))}
    assert one.id in (await run("list", folder)).stdout
    checked = await run("verify", folder, "--json")
    assert checked.exit_code == 0, checked.output
    assert [table["verified"] for table in json.loads(checked.stdout)["tables"]] == [True, True]
    everything = await run("verify", "--json", command=audit)
    assert everything.exit_code == 0, everything.output
    assert len(json.loads(everything.stdout)["tables"]) == 3
    assert "0 tables with 0 commits archived" in (await run("--older-than", 1, "--to", folder)).stdout


async def test_young_tables_stay(run, played, log, tmp_path):
    """What was played within those days is not touched."""
    days = (time.time() * 1000 - 1_700_000_000_000) // DAY + 10
    done = await run("--older-than", int(days), "--to", tmp_path / "archive")
    assert (done.exit_code, "0 tables" in done.stdout) == (0, True)
    assert [len(await log.read(table.address)) for table in played] == [len(table.commits) for table in played]


async def test_without_the_archive_the_audit_says_what_is_missing(run, played, tmp_path):
    """An audit that is not told where the archive is does not verify what lies there, and names it; the others hold."""
    await run("--older-than", 1, "--to", tmp_path / "archive")
    blind = await run("verify", "--json", command=audit, PULKA_ARCHIVE_DIR="")
    assert blind.exit_code == 1
    verdicts = {table["table_id"]: table for table in json.loads(blind.stdout)["tables"]}
    assert [verdicts[table.id]["verified"] for table in played] == [False, False, True]
    assert verdicts[played[0].id]["problems"][0]["code"] == "not_in_archive"


async def test_what_is_read_there_without_the_archive_is_refused_by_its_name(run, played, log, tmp_path):
    """`pulka audit export` and `deal` end with status 2 and the table's id; over HTTP it is 503 `not_in_archive`, not a server away."""
    await run("--older-than", 1, "--to", tmp_path / "archive")
    table = played[0]
    for arguments in (("export", table.id, tmp_path / "file"), ("deal", table.id, 1)):
        blind = await run(*arguments, command=audit, PULKA_ARCHIVE_DIR="")
        assert isinstance(blind.exception, CannotStart)
        assert (blind.exception.exit_code, str(blind.exception).startswith(f"table {table.id} lies in the archive")) == (2, True)
    with pytest.raises(NotInArchive) as away:
        await WholeLog(log, None).read(table.address)
    answer = problem_of(away.value)
    assert (answer.status_code, answer.code) == (503, "not_in_archive")


async def test_another_folder_must_be_meant(run, played, log, projector, tmp_path):
    """With tables archived in one folder a run into another is refused; with --elsewhere it is done, and says what the ledger needs."""
    assert played
    await run("--older-than", 1, "--to", tmp_path / "archive")
    late = await PlayedTable(log, 55, target=2).play()
    assert await projector.at_least.wait(late.commits[-1].position, 10.0)
    other = ("--older-than", 1, "--to", tmp_path / "other")
    refused = await run(*other)
    assert isinstance(refused.exception, CannotStart)
    assert "2 archived tables" in str(refused.exception)
    assert not (tmp_path / "other").exists()
    done = await run(*other, "--elsewhere", "--json")
    assert (done.exit_code, json.loads(done.stdout)["tables"]) == (0, [late.id])
    assert f"PULKA_ARCHIVE_DIR={tmp_path / 'other'}" in done.stderr


async def test_a_damaged_archive_is_named(run, played, tmp_path):
    """A file that is gone, one that was changed, one that was written anew: each with its table; exit status 1."""
    one, two, _ = played
    folder = tmp_path / "archive"
    await run("--older-than", 1, "--to", folder)
    path = archive_files.file_of(folder, one.id)
    kept = archive_files.read(path)

    async def problems(**settings):
        told = await run("verify", folder, "--json", **settings)
        return told.exit_code, {
            table["table"]: [problem["code"] for problem in table["problems"]] for table in json.loads(told.stdout)["tables"]
        }

    archive_files.write(folder, 1, kept)
    assert await problems() == (1, {one.id: ["changed"], two.id: []})
    assert await problems(PULKA_NATS_URL="") == (0, {one.id: [], two.id: []})
    assert "the files were not compared with the log" in (await run("verify", folder, PULKA_NATS_URL="")).stderr
    assert (await run("list", folder)).exit_code == 0
    path.write_bytes(path.read_bytes()[:-30])
    assert await problems() == (1, {one.id: ["damaged"], two.id: []})
    assert "damaged" in (await run("verify", folder)).stdout
    listed = await run("list", folder, "--json")
    assert listed.exit_code == (await run("list", folder)).exit_code == 1
    assert json.loads(listed.stdout)["tables"][0]["problems"][0]["code"] == "damaged"
    path.unlink()
    assert await problems() == (1, {one.id: ["missing"], two.id: []})


async def test_an_archive_of_another_club_is_none_of_this_log_s(run, played, namespace, tmp_path):
    """Beside a log that knows none of its tables it is refused, though others are missing; alone it is verified; nothing is moved there."""
    assert played
    folder, other = tmp_path / "archive", tmp_path / "other"
    foreign = await PlayedTable(MemoryLog(), 99, target=2).play()
    path = archive_files.write(other, 1, archive_files.ArchivedTable(tuple(foreign.commits), hash_of(foreign.commits[-1].data)))
    mixing = await run("--older-than", 1, "--to", other)
    assert isinstance(mixing.exception, CannotStart)
    assert "does not belong to the log" in str(mixing.exception)
    await run("--older-than", 1, "--to", folder)
    refused = await run("verify", other, "--json")
    assert isinstance(refused.exception, CannotStart)
    assert refused.exception.exit_code == 2
    assert refused.stdout == ""
    message = str(refused.exception)
    assert f"{other} does not belong to the log at nats://" in message
    assert f"(PULKA_NAMESPACE {namespace}), which knows none of the tables there (1)" in message
    assert "--files-only" in message
    alone = await run("verify", other, "--files-only", "--json")
    assert (alone.exit_code, [table["verified"] for table in json.loads(alone.stdout)["tables"]]) == (0, [True])
    assert "as --files-only wants: the files were not compared with the log" in alone.stderr
    mixed = path.replace(folder / "0" / path.name)
    found = await run("verify", folder, "--json")
    assert found.exit_code == 1
    codes = {table["table"]: [problem["code"] for problem in table["problems"]] for table in json.loads(found.stdout)["tables"]}
    assert codes == {played[0].id: [], played[1].id: [], foreign.id: ["unknown"]}
    assert mixed.exists()


async def test_a_table_that_is_just_being_archived_is_no_stranger(run, played, tmp_path):
    """Its file is there before the log tells of it: the log still has the table."""
    folder = tmp_path / "archive"
    records = tuple(played[0].commits)
    archive_files.write(folder, 1, archive_files.ArchivedTable(records, hash_of(records[-1].data)))
    found = await run("verify", folder, "--json")
    assert (found.exit_code, json.loads(found.stdout)["tables"][0]["problems"]) == (0, [])


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
@pytest.mark.parametrize(("place", "file"), [("file/archive", "file"), ("archive", "archive/3")])
async def test_a_folder_that_cannot_be_written_is_named_though_no_table_is_due(run, played, log, tmp_path, place, file, dry):
    """A path below a file, a partition that is one: status 2 before any table is looked at, and nothing is made."""
    wrong = tmp_path / file
    wrong.parent.mkdir(exist_ok=True)
    wrong.write_text("")
    for days in (1, 30_000):  # all of them are due, and none
        refused = await run("--older-than", days, "--to", tmp_path / place, *dry)
        assert isinstance(refused.exception, CannotStart)
        assert (refused.exception.exit_code, str(wrong) in str(refused.exception)) == (2, True)
        assert "nothing was archived: fix that, or choose another --to" in str(refused.exception)
    assert [len(await log.read(table.address)) for table in played] == [len(table.commits) for table in played]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [wrong]


async def test_a_disk_that_takes_no_byte_is_noticed_at_once(run, played, monkeypatch, tmp_path):
    """Full, or mounted to be read only: whatever the permissions say, a byte is tried first."""
    assert played

    def refuses(**_where):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(archive_files.tempfile, "TemporaryFile", refuses)
    refused = await run("--older-than", 30_000, "--to", tmp_path / "archive")
    assert isinstance(refused.exception, CannotStart)
    assert f"{tmp_path / 'archive'} cannot be written (No space left on device)" in str(refused.exception)


async def test_what_was_left_is_told(run, played, connection, tmp_path):
    """A table that does not verify stays, its reason is printed, and the exit status is 1."""
    await connection.execute("UPDATE scores SET written = replace(written, ':', ': ') WHERE table_id = $1", played[0].id)
    done = await run("--older-than", 1, "--to", tmp_path / "archive")
    assert done.exit_code == 1
    assert f"{played[0].id}: left in the log: not_verified" in done.stdout
    assert "1 table with" in done.stdout


async def test_a_table_with_a_commit_left_out_stays_and_the_dry_run_says_so(run, played, connection, tmp_path):
    """The reason is what an operator decided, not that the books are late; dry and real run name the same tables and end alike."""
    one, two, _ = played
    skip = "INSERT INTO skipped (aggregate, revision, hash, author, why, at) VALUES ($1, 3, '', 'boris', 'torn page', 1)"
    await connection.execute(skip, one.address.subject)
    arguments = ("--older-than", 1, "--to", tmp_path / "archive")
    answer = json.loads((await run(*arguments, "--dry-run", "--json")).stdout)
    assert (answer["due"], answer["tables"], [left["reason"] for left in answer["left"]]) == (2, [two.id], ["commit_skipped"])
    for more, stays, goes in ((("--dry-run",), "stays", "would be archived"), ((), "left", "archived")):
        done = await run(*arguments, *more)
        assert done.exit_code == 1
        assert f"{one.id}: {stays} in the log: commit_skipped: Revision 3 was left out of the books by boris: torn page" in done.stdout
        assert f"1 table with {len(two.commits)} commits {goes}" in done.stdout


async def test_the_home_has_the_operator_s_password(run, played, nats_urls, tmp_path):
    """Without PULKA_NATS_OPERATOR_URL the password is read where `pulka up` keeps it; the services' user may not purge."""
    if nats_urls.service == nats_urls.operator:
        pytest.skip("this server has one user for everything")
    arguments = ("--older-than", 1, "--to", tmp_path / "archive")
    unknown = await run(*arguments, PULKA_NATS_OPERATOR_URL="")
    assert isinstance(unknown.exception, CannotStart)
    assert "PULKA_NATS_OPERATOR_URL" in str(unknown.exception)
    forbidden = await run(*arguments, PULKA_NATS_OPERATOR_URL=nats_urls.service)
    assert isinstance(forbidden.exception, CannotStart)
    assert "may not purge" in str(forbidden.exception)
    keys = tmp_path / "home" / "keys"
    keys.mkdir(parents=True)
    (keys / "nats_operator").write_text(unquote(urlsplit(nats_urls.operator).password) + "\n")
    done = await run(*arguments, "--json", PULKA_NATS_OPERATOR_URL="")
    assert (done.exit_code, json.loads(done.stdout)["archived"]) == (0, len(played) - 1)


async def test_the_books_are_written_anew_from_archive_and_log(run, played, connection, versions, tmp_path):
    """`pulka ledger rebuild` reads the archive of PULKA_ARCHIVE_DIR first; without it, it refuses, and readers stay where they are."""
    await run("--older-than", 1, "--to", tmp_path / "archive")
    before = await versions.known(connection)
    blind = await run(command=rebuild, PULKA_ARCHIVE_DIR="")
    assert isinstance(blind.exception, CannotBeDone)
    assert "2 tables lie in the archive" in str(blind.exception)
    assert blind.stderr == ""
    elsewhere = await run(command=rebuild, PULKA_ARCHIVE_DIR=str(tmp_path))
    assert "set PULKA_ARCHIVE_DIR" in str(elsewhere.exception)
    assert await versions.known(connection) == before
    done = await run("--json", command=rebuild)
    assert done.exit_code == 0, done.output
    assert (await versions.live(connection)).number == json.loads(done.stdout)["version"]
    everything = await run("verify", "--json", command=audit)
    assert everything.exit_code == 0, everything.output
    assert {table["table_id"] for table in json.loads(everything.stdout)["tables"]} == {table.id for table in played}


async def test_a_stranger_gets_an_archived_table_like_any_other(run, played, log, projector, tmp_path):
    """`pulka audit export` reads the archive too, and writes a recorded pulka as well; a stranger's program accepts both."""
    recorded_one = await recorded_table(log, 54)
    assert await projector.at_least.wait(recorded_one.commits[-1].position, 10.0)
    await run("--older-than", 1, "--to", tmp_path / "archive")
    for table in (played[0], recorded_one):
        file = tmp_path / f"{table.id}.ndjson"
        done = await run("export", table.id, file, "--json", command=audit)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["commits"] == len(table.commits) + 1
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(sys.executable, VERIFY, file, stdout=pipe, stderr=asyncio.subprocess.STDOUT)
        told, _ = await process.communicate()
        assert process.returncode == 4, told.decode()


async def test_a_new_database_is_filled_from_archive_and_log(run, played, projector, connection, namespace, settings, tmp_path):
    """A ledger whose database is lost reads the archive, then the log, by itself; one that is not told where it is refuses to run."""
    await run("--older-than", 1, "--to", tmp_path / "archive")
    await projector.stop()
    for row in await connection.fetch("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, $1)", namespace):
        await connection.execute(f'DROP SCHEMA "{row["nspname"]}" CASCADE')
    servers = {"nats_url": settings["PULKA_NATS_URL"], "postgres_dsn": settings["PULKA_POSTGRES_DSN"], "namespace": namespace}
    blind = ledger.create(Settings(**servers))
    with pytest.raises(CannotStart, match="refuses"):
        await blind.start()
    await blind.stop()
    service = ledger.create(Settings(**servers, archive_dir=settings["PULKA_ARCHIVE_DIR"]))
    await service.start()
    assert (await service.health())["status"] == "ok"
    everything = await run("verify", "--json", command=audit)
    assert everything.exit_code == 0, everything.output
    assert {table["table_id"] for table in json.loads(everything.stdout)["tables"]} == {table.id for table in played}
    await service.stop()


async def test_two_runs_do_not_meet(run, played, connection, versions, tmp_path):
    """While somebody archives, or fills a version of the books, another run does not begin."""
    assert played
    assert await versions.alone(connection)
    other = await run("--older-than", 1, "--to", tmp_path / "archive")
    assert isinstance(other.exception, CannotStart)
    assert "under way" in str(other.exception)


async def test_bad_usage_is_named(run, tmp_path):
    """Both options are needed, a folder must be there to be looked at, servers must be named and answer."""
    folder = tmp_path / "archive"
    assert (await run()).exit_code == 2
    assert (await run("--older-than", 1)).exit_code == 2
    assert (await run("--older-than", -1, "--to", folder)).exit_code == 2
    assert (await run("--older-than", 1, "--to", folder, "--name", "two words")).exit_code == 2
    assert (await run("--older-than", 1, "list", folder)).exit_code == 2
    assert (await run("list", folder)).exit_code == 2
    no_books = await run("--older-than", 1, "--to", folder)
    assert isinstance(no_books.exception, CannotStart)
    assert isinstance((await run("--older-than", 1, "--to", folder, PULKA_POSTGRES_DSN="")).exception, CannotStart)
    away = await run("--older-than", 1, "--to", folder, PULKA_POSTGRES_DSN="postgresql://nobody@127.0.0.1:1/none")
    assert isinstance(away.exception, ServersUnreachable)


async def test_the_audit_of_everything_holds_the_ratings_too(run, played, connection, namespace, postgres_dsn):
    """While some are due it says so; computed they hold; a changed one is named, with exit status 1."""
    await Proofs(namespace).prepare(postgres_dsn)
    waiting = await run("verify", "--json", command=audit)
    assert (waiting.exit_code, json.loads(waiting.stdout)["ratings"]) == (0, {"checked": False, "problems": []})
    assert "not checked" in (await run("verify", command=audit)).stdout
    await rating_rows.recompute(connection)
    well = await run("verify", "--json", command=audit)
    assert (well.exit_code, json.loads(well.stdout)["ratings"]) == (0, {"checked": True, "problems": []})
    await connection.execute("UPDATE ratings SET rating = rating + 1 WHERE player = $1", played[0].seats[0])
    wrong = await run("verify", command=audit)
    assert (wrong.exit_code, f"present rating of {played[0].seats[0]}" in wrong.stdout) == (1, True)
    assert "ratings" not in json.loads((await run("verify", played[0].id, "--json", command=audit)).stdout)
