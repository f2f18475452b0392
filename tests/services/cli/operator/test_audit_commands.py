"""`pulka audit checkpoint`, `verify --against`, `deal`, `export` on real servers: what is signed, and what was changed since is named."""

import asyncio
import json

import asyncpg
import nats
import pytest
from click.testing import CliRunner

from services.cli.operator.audit import audit
from services.ledger.books import Books
from shared.eventlog.jetstream.log import open_log
from shared.eventlog.jetstream.streams import Namespace
from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events import address
from shared.events.checkpoint_document import read_kept
from shared.events.commit import hash_of
from shared.events.export_file import ExportedTable, lines_of, read_export
from shared.events.keys import SigningKey
from shared.projections.versions.live_version import LiveVersion
from shared.projections.versions.versions import Versions
from shared.web.service import CannotStart
from tests.audit import stranger
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers


def played(seed, **options):
    """A whole pulka's id and commits."""
    table = PlayedTable(MemoryLog(MemoryStore()), seed, target=2, **options)
    asyncio.run(table.play())
    return table.id, [recorded.data for recorded in table.commits]


ONE, COMMITS = played(1)
TWO, OTHERS = played(2, players=4)
AGAIN, GOING_ON = played(4)
HIDDEN, SECRETS = played(3, terms={"visibility": "private"})


class Club:
    """Servers, a key, and the commands."""

    def __init__(self, nats_urls, postgres_dsn, namespace, folder):
        self.folder = folder
        self.key = SigningKey.create(folder / "signing_key", "s1", b"e" * 32)
        self._urls, self._dsn, self._namespace = nats_urls, postgres_dsn, namespace
        self.environment = {
            "PULKA_NATS_URL": nats_urls.service,
            "PULKA_POSTGRES_DSN": postgres_dsn,
            "PULKA_NAMESPACE": namespace,
            "PULKA_SIGNING_KEY_FILE": str(folder / "signing_key"),
            "PULKA_HOME": str(folder / "home"),
        }

    def store(self, tables):
        """Append, and let the books be written."""

        async def run():
            log = await open_log(self._urls.service, self._namespace)
            last = []
            for table, commits in tables.items():
                head = await log.head(address.table(table))
                sequence = head.sequence if head is not None else 0
                for data in commits:
                    last.append(recorded := await log.append(address.table(table), data, sequence))
                    sequence = recorded.sequence
            projector = LiveVersion(log, Books(), TABLE_STREAMS, self._dsn, Versions(Books.name, self._namespace))
            await projector.start()
            for recorded in last:
                assert await projector.at_least.wait(recorded.position)
            await projector.stop()
            await log.close()

        asyncio.run(run())

    def rewrite(self, tables):
        """Purge tables from the log, as only an operator can, and store something else of them."""

        async def run():
            client = await nats.connect(self._urls.operator)
            for table in tables:
                place, names = address.table(table), Namespace(self._namespace)
                body = json.dumps({"filter": names.subject(place)}).encode()
                answer = await client.request(f"$JS.API.STREAM.PURGE.{names.stream(place.stream)}", body, timeout=5)
                assert json.loads(answer.data)["success"]
            await client.close()
            log = await open_log(self._urls.service, self._namespace)
            for table, commits in tables.items():
                sequence = 0
                for data in commits:
                    sequence = (await log.append(address.table(table), data, sequence)).sequence
            await log.close()

        asyncio.run(run())

    def run(self, *arguments, **environment):
        done = CliRunner().invoke(audit, list(map(str, arguments)), env=self.environment | environment)
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    def told(self, *arguments, status=0, **environment):
        done = self.run(*arguments, "--json", **environment)
        assert done.exit_code == status, done.output
        return json.loads(done.stdout)


@pytest.fixture
def club(nats_urls, postgres_dsn, namespace, tmp_path):
    club = Club(nats_urls, postgres_dsn, namespace, tmp_path)
    club.store({ONE: COMMITS, TWO: OTHERS, HIDDEN: SECRETS})
    return club


def found(said):
    """By table what is wrong with it."""
    return {one["table_id"]: [(wrong["revision"], wrong["code"]) for wrong in one["problems"]] for one in said["tables"] if one["problems"]}


def test_a_checkpoint_is_signed_and_kept(club):
    """With the key of the settings or of HOME; each names the one before; a file is never written over; without a key it is refused."""
    kept = club.folder / "kept"
    first = club.told("checkpoint", "--out", kept)
    assert (first["number"], first["tables"], first["key"], first["file"]) == (1, 3, club.key.public, str(kept))
    assert {leaf.table: leaf.revision for leaf in read_kept(kept.read_bytes()).leaves} == {
        ONE: len(COMMITS),
        TWO: len(OTHERS),
        HIDDEN: len(SECRETS),
    }
    with pytest.raises(CannotStart, match="never overwrites a file"):
        club.run("checkpoint", "--out", kept)
    (club.folder / "home" / "keys").mkdir(parents=True)
    with pytest.raises(CannotStart, match="no signing key"):
        club.run("checkpoint", PULKA_SIGNING_KEY_FILE="")
    (club.folder / "signing_key").rename(club.folder / "home" / "keys" / "signing_key")
    second = club.run("checkpoint", PULKA_SIGNING_KEY_FILE="")
    assert second.stdout.startswith(f"checkpoint 2: 3 tables, {len(COMMITS) + len(OTHERS) + len(SECRETS)} commits")
    said = club.told("verify", "--against", kept)
    assert said["verified"]
    assert said["checkpoints"] == {"verified": True, "signed": 2, "problems": []}
    assert (said["against"]["number"], said["against"]["key"]) == (1, club.key.public)
    assert club.told("verify", ONE, "--against", kept, "--key", club.key.public)["verified"]


def test_a_leaf_of_an_old_checkpoint_is_compared_too(club, postgres_dsn, namespace):
    """Changed in the rows, it is named with its table, and the exit status is 1, though newer checkpoints hold."""
    for _ in range(2):
        club.told("checkpoint")

    async def tamper():
        connection = await asyncpg.connect(postgres_dsn)
        await connection.execute(f'UPDATE "{namespace}_proofs".leaves SET head = reverse(head) WHERE table_id = $1', TWO)
        await connection.close()

    asyncio.run(tamper())
    message = f"The row of the leaf of table {TWO} in it is not what was signed."
    said = club.told("verify", status=1)
    assert said["checkpoints"] == {
        "verified": False,
        "signed": 2,
        "problems": [{"revision": 1, "code": "rows_differ", "message": message}],
    }
    assert found(said) == {}
    assert f"checkpoint 1: rows_differ: {message}" in club.run("verify").stdout


def test_damage_that_no_chain_shows_is_named_by_the_kept_checkpoint(club):
    """A last commit that was dropped, a table that is gone, one rewritten from some commit on, and one that was smuggled in."""
    kept = club.folder / "kept"
    club.told("checkpoint", "--out", kept)
    smuggled, commits = played(4)
    rewritten = stranger.rechained([*OTHERS[:9], OTHERS[9].replace(b'"actor":"', b'"actor":"x', 1), *OTHERS[10:]])
    club.rewrite({ONE: COMMITS[:-1], TWO: rewritten, HIDDEN: []})
    said = club.told("verify", "--against", kept, status=1)
    wrong = found(said)
    assert wrong[ONE] == [(len(COMMITS), "missing")]
    assert (10, "changed") in wrong[TWO], "the books know each revision"
    assert wrong[HIDDEN] == [(1, "missing")]
    club.rewrite({ONE: COMMITS, TWO: OTHERS, HIDDEN: SECRETS, smuggled: commits})
    assert found(club.told("verify", "--against", kept, status=1)) == {smuggled: [(1, "added")]}


def test_a_forged_checkpoint_is_named(club):
    """Another root, signature, key, predecessor or number, leaves that were not signed, and one that the log does not know."""
    kept = club.folder / "kept"
    club.told("checkpoint")
    club.told("checkpoint", "--out", kept)
    document = json.loads(kept.read_text())
    header = json.loads(document["signed"])
    stranger_key = SigningKey("s9", b"9" * 32)

    def judged(*options, sign=None, leaves=None, signature=None, **changes):
        text = json.dumps({**header, **changes}, separators=(",", ":"))
        made = signature or (document["signature"] if sign is None else sign.sign(text.encode()))
        (club.folder / "forged").write_text(json.dumps({"signed": text, "signature": made, "leaves": leaves or document["leaves"]}))
        said = club.told("verify", "--against", club.folder / "forged", *options, status=1)
        assert found(said) == {}
        return [problem["code"] for problem in said["against"]["problems"]]

    assert judged(root="0" * 64) == ["checkpoint_signature"]
    assert judged(signature="0" * 128) == ["checkpoint_signature"]
    assert judged(key=stranger_key.public, sign=stranger_key) == ["checkpoint_key"]
    assert judged("--key", "0" * 64) == ["checkpoint_key"]
    assert judged(leaves=document["leaves"][1:]) == ["checkpoint_root"]
    assert judged(sign=club.key, root="0" * 64) == ["checkpoint_root"]
    assert judged(sign=club.key, previous="0" * 64) == ["checkpoint_other"]
    assert judged(sign=club.key, number=3) == ["checkpoint_unknown"]
    for text in ("{}", "no json"):
        (club.folder / "forged").write_text(text)
        with pytest.raises(CannotStart, match="not a checkpoint file"):
            club.run("verify", "--against", club.folder / "forged")
    assert club.run("verify", "--key", "abc").exit_code == 2


def test_nothing_is_signed_over_a_broken_log(club):
    """A commit that was changed: status 1, and its place."""
    changed = COMMITS[4].replace(b'"at":1', b'"at":2', 1)
    club.rewrite({ONE: [*COMMITS[:4], changed, *COMMITS[5:]]})
    said = club.told("checkpoint", status=1)
    assert (said["signed"], said["problem"]["table_id"], said["problem"]["revision"]) == (False, ONE, 6)
    assert "nothing was signed" in club.run("checkpoint").stdout


def test_a_deal_is_dealt_once_more(club):
    """As promised, status 0; the same cards that were revealed; a deal that is not there is the asker's mistake."""
    events = [event for data in COMMITS for event in json.loads(data)["events"]]
    revealed = next(event for event in events if event["type"] == "DealRevealed")
    said = club.told("deal", ONE, 1)
    assert (said["verified"], said["hands"], said["talon"]) == (True, revealed["hands"], revealed["talon"])
    words = club.run("deal", ONE, 1)
    assert (words.exit_code, words.stdout.splitlines()[-1]) == (0, "as promised")
    assert f"talon: {revealed['talon']}" in words.stdout
    for asked in ((ONE, 99), ("3-" + "z" * 26, 1), ("nonsense", 1)):
        with pytest.raises(CannotStart):
            club.run("deal", *asked)
    assert club.run("deal", ONE, 0).exit_code == 2
    forged = [data.replace(f'"talon":"{revealed["talon"]}"'.encode(), b'"talon":"7S 8S"') for data in COMMITS]
    club.rewrite({ONE: stranger.rechained(forged)})
    bad = club.run("deal", ONE, 1)
    assert (bad.exit_code, bad.stdout.splitlines()[-1]) == (1, "NOT AS PROMISED")


def test_exports_for_strangers(club, tmp_path):
    """One table, or all that are open to all, with proofs by the newest checkpoint; the private ones where it is asked for."""
    club.told("checkpoint")
    one, every, whole = tmp_path / "one.ndjson", tmp_path / "all.ndjson.gz", tmp_path / "whole.ndjson"
    assert club.told("export", ONE, one) == {"file": str(one), "tables": 1, "commits": len(COMMITS), "checkpoint": 1, "proofs": 1}
    assert club.told("export", "--all", every)["proofs"] == 2
    assert club.told("export", "--all", "--private", whole)["tables"] == 3
    for path, tables in ((one, {ONE}), (every, {ONE, TWO}), (whole, {ONE, TWO, HIDDEN})):
        with lines_of(path) as lines:
            assert {line.table for line in read_export(lines) if isinstance(line, ExportedTable)} == tables
        verdict = stranger.verify().check(str(path), keys=(club.key.public,))
        assert (verdict["problems"], verdict["checkpoint"]["tables"]) == ([], len(tables))
    with pytest.raises(CannotStart, match="never overwrites a file"):
        club.run("export", ONE, one)
    with pytest.raises(CannotStart, match="knows no table"):
        club.run("export", "3-" + "z" * 26, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    for wrong in ((ONE,), ("--all", ONE, "file"), ("--private", ONE, "file")):
        assert club.run("export", *wrong).exit_code == 2


def test_a_deal_in_progress_is_not_exported(club, tmp_path):
    """The export ends before it; a checkpoint that knows more is not given as a proof."""
    going = next(place for place, data in enumerate(COMMITS) if b'"CardPlayed"' in data)
    started = next(place for place, data in enumerate(COMMITS) if b'"DealStarted"' in data)
    table, commits = played(5)
    club.store({table: commits[: going + 3]})
    club.told("checkpoint")
    told = club.told("export", table, tmp_path / "file")
    with lines_of(tmp_path / "file") as lines:
        exported = next(line for line in read_export(lines) if isinstance(line, ExportedTable))
    assert 0 < len(exported.commits) <= started + 1
    assert not any(b"CardsDealt" in data for data in exported.commits)
    assert told["proofs"] == 0
    assert exported.head == hash_of(exported.commits[-1])


def test_a_file_whose_own_checkpoint_knows_more_says_so(club, tmp_path):
    """A table that was signed in the middle of a deal: its export leaves that deal out, and whoever checks it learns that there is more."""
    dealt = next(at for at, data in enumerate(GOING_ON, 1) if b'"CardsDealt"' in data)
    club.store({AGAIN: GOING_ON[: dealt + 2]})
    club.told("checkpoint")
    path = tmp_path / "cut.ndjson"
    told = club.told("export", AGAIN, path)
    assert (told["commits"] < dealt, told["proofs"]) == (True, 0)
    verdict = stranger.verify().check(str(path), keys=(club.key.public,))
    assert (verdict["verified"], verdict["not_compared"]) == (True, {AGAIN: dealt + 2})
