"""A log that former versions wrote: today's services start on it, read it, verify it, and play every open table to its end."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import random
import secrets
import subprocess
import sys
import time
from pathlib import Path

import asyncpg
import httpx
import jwt
import msgspec
import nats
import pytest

from services.lobby.vault import vault_schema
from shared.eventlog.jetstream.streams import SNAPSHOTS
from shared.events import key_files
from shared.events.keys import MasterKeys
from shared.events.token_keys import hmac_key, public_text
from tests.journeys.club import Club, Party, Person
from tests.journeys.former.write import FILE, NAMESPACE, Court
from tests.token_keys import PUBLIC

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # seconds; some 40 on two cores, eight pulkas one after the other

VERIFY = Path(__file__).resolve().parents[2] / "deploy" / "verify" / "verify.py"
PULKA = [sys.executable, "-c", "from services.cli.main import main; main()"]
LINES = [json.loads(line) for line in gzip.decompress(FILE.read_bytes()).splitlines()]
TABLES = [line for line in LINES if "table" in line]
PLAYED = [table for table in TABLES if "frames" in table]
OPEN = [table for table in PLAYED if "repeat" in table]


def _ends():
    """By table the position of its last commit."""
    found, sequence, stream = {}, 0, ""
    for line in LINES:
        if "config" in line:
            stream, sequence = line["stream"], 0
        elif "subject" in line:
            sequence += 1
            found[line["subject"].rpartition(".")[2]] = f"{stream}:{sequence}" if stream.startswith("TABLE") else ""
    return found


ENDS = _ends()
ROOM = 64 * 1024 * 1024  # bytes of a stream: another room than the log was made with, and none is taken before somebody applies it


def name_of(namespace, logical):
    return f"{namespace.upper()}_{logical}"


def moved_to(namespace, config):
    """A stored configuration under another namespace; what NATS adds by itself is left out."""
    text = json.dumps({name: value for name, value in config.items() if name != "metadata"})
    return json.loads(text.replace(f"{NAMESPACE}.", f"{namespace}.").replace(f"{NAMESPACE.upper()}_", f"{namespace.upper()}_"))


async def asked(client, subject, body=b""):
    answer = msgspec.json.decode((await client.request(f"$JS.API.{subject}", body, timeout=10)).data)
    assert "error" not in answer, answer
    return answer


async def put_back(url, dsn, namespace):
    """The log as it was, each message at its sequence, and the keys of persons."""
    client, sequence = await nats.connect(url), 0
    for line in LINES:
        if "config" in line:
            config, sequence = moved_to(namespace, line["config"]), 0
            await asked(client, f"STREAM.CREATE.{config['name']}", msgspec.json.encode(config))
        elif "subject" in line:
            sequence += 1
            answer = msgspec.json.decode((await client.request(f"{namespace}.{line['subject']}", line["data"].encode(), timeout=10)).data)
            assert answer["seq"] == sequence, answer
    await client.close()
    connection = await asyncpg.connect(dsn)
    schema = vault_schema(namespace)
    await connection.execute(f'CREATE SCHEMA "{schema}"')
    await connection.execute(f'CREATE TABLE "{schema}".person_keys (person text PRIMARY KEY, wrapped bytea NOT NULL)')
    rows = [(line["person"], line["wrapped"].encode()) for line in LINES if "person" in line]
    await connection.executemany(f'INSERT INTO "{schema}".person_keys VALUES ($1, $2)', rows)
    await connection.close()


async def streams_of(url, namespace):
    """By logical name the configuration of every stream that is there now, and how many messages it has."""
    client = await nats.connect(url)
    found = {}
    for name in (await asked(client, "STREAM.NAMES"))["streams"]:
        if name.startswith(name_of(namespace, "")):
            info = await asked(client, f"STREAM.INFO.{name}")
            config = {key: value for key, value in info["config"].items() if key != "metadata"}
            found[name.removeprefix(name_of(namespace, ""))] = config, info["state"]["messages"]
    await client.close()
    return found


async def cleared(url, dsn, namespace):
    """Nothing of it is left on the servers."""
    client = await nats.connect(url)
    for stream in await streams_of(url, namespace):
        await asked(client, f"STREAM.DELETE.{name_of(namespace, stream)}")
    await client.close()
    connection = await asyncpg.connect(dsn)
    for row in await connection.fetch("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, $1)", namespace):
        await connection.execute(f'DROP SCHEMA "{row["nspname"]}" CASCADE')
    await connection.close()


@pytest.fixture(scope="module")
def upgraded(nats_urls, postgres_dsn, tmp_path_factory):
    """Today's services on the former log, with its keys: some of its tokens were made just before tokens got keys of their own."""
    folder, namespace = tmp_path_factory.mktemp("former"), f"f{secrets.token_hex(6)}"
    asyncio.run(put_back(nats_urls.operator, postgres_dsn, namespace))
    key_files.create(folder / "master_keys", LINES[0]["master_keys"])
    club = Club(
        nats_urls.service, postgres_dsn, namespace, folder, PULKA_BOTS="no", PULKA_STREAM_BYTES=str(ROOM), PULKA_HOME=str(folder / "no")
    )
    club.environment["PULKA_NATS_OPERATOR_URL"] = nats_urls.operator
    key_files.replace(folder / "token_public_keys", public_text([PUBLIC], hmac_before=int(time.time())))
    before = asyncio.run(streams_of(nats_urls.operator, namespace))
    with club:
        yield club, namespace, before
    asyncio.run(cleared(nats_urls.operator, postgres_dsn, namespace))


def pulka(club, *arguments, status=0):
    done = subprocess.run([*PULKA, *map(str, arguments)], env=club.environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == status, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def token_again(token):
    """A former token whose year has not ended: the same signature over the same claims, but for their times."""
    name, _, key = LINES[0]["master_keys"].strip().partition(":")
    keys, claims = MasterKeys(((name, bytes.fromhex(key)),)), jwt.decode(token, options={"verify_signature": False})
    header = jwt.get_unverified_header(token)
    key = hmac_key(keys, header.get("kid") or keys.ids[0])
    assert jwt.encode(claims, key, algorithm="HS256", headers=header) == token
    now = int(time.time())
    return jwt.encode(claims | {"iat": now - 3600, "exp": now + 3600}, key, algorithm="HS256", headers=header)


class Returned(Person):
    """Somebody who has an account already; their keys of today are none that they used then."""

    keys = itertools.count()

    def __init__(self, club, known):
        self.club, self.http, self.id, self.token = club, club.client(), known["id"], token_again(known["token"])
        self.http.headers["Authorization"] = f"Bearer {self.token}"

    def move(self, table, move, key=None, **headers):
        return super().move(table, move, key or f"today-{next(self.keys)}", **headers)


def back_at(club, table):
    """The people of a table, who come back to it with their tokens."""
    court = "adjudicated" in table["what"]
    party = (Court if court else Party).__new__(Court if court else Party)
    party.random, party.table, party.acknowledged = random.Random(5), table["table"], []
    party.people = [Returned(club, known) for known in table["people"]]
    return party


def read(club, path, **parameters):
    answer = httpx.get(f"{club.url}{path}", params=parameters, trust_env=False, timeout=30)
    assert answer.status_code == 200, answer.text
    return answer.json()


def proved(club, folder, exported):
    """Every table verifies here, and those that are `exported` with the stranger's program too."""
    assert json.loads(pulka(club, "audit", "verify", "--json"))["verified"]
    for table in exported:
        file = folder / f"{table['table']}.ndjson.gz"
        pulka(club, "audit", "export", table["table"], file)
        checked = subprocess.run([sys.executable, str(VERIFY), str(file)], capture_output=True, text=True, check=False)
        assert checked.returncode == 4, checked.stdout + checked.stderr


def shown_as_then(club):
    """Every frame and every view is to the byte what it was. More than an hour has gone since the log was written, so that the clocks end
    the turn that waited at a table in play: what comes after that is new.
    """
    for table in PLAYED:
        party = back_at(club, table)
        histories = [party.history(seat) for seat in range(len(party.people))]
        assert [told[: len(then)] for told, then in zip(histories, table["frames"], strict=True)] == table["frames"], table["what"]
        now = party.view()
        if now["revision"] == table["view"]["revision"]:
            lasting = {name: value for name, value in table["view"].items() if name not in {"clock", "presence"}}
            assert {name: now[name] for name in lasting} == lasting, table["what"]
        else:
            assert table in OPEN, table["what"]
            assert now["revision"] > table["view"]["revision"], table["what"]
        assert party.people[1].get("/v1/lobby/me").json()["player"]["name"] == "player 1"


def test_a_former_log_is_read_verified_and_played_on(upgraded, nats_urls, tmp_path):
    """What was shown is shown to the byte, a repeat gets its first answer, former tokens hold; played to their ends the pulkas verify, the
    books, ratings, snapshots and new partitions follow, and no stream was changed before an operator said so.
    """
    club, namespace, before = upgraded
    shown_as_then(club)
    for table in TABLES:
        sheet = read(club, f"/v1/ledger/tables/{table['table']}/sheet", at_least=ENDS[table["table"]])
        known = table.get("sheet", {}).get("sheet", sheet["sheet"])
        assert sheet["sheet"] == known, table["what"]
    proved(club, tmp_path, [table for table in TABLES if table not in OPEN])

    started = asyncio.run(streams_of(nats_urls.operator, namespace))
    assert {name: one[0] for name, one in started.items() if name in before} == {name: one[0] for name, one in before.items()}
    assert set(started) - set(before) == {SNAPSHOTS}
    pulka(club, "streams", "check", status=1)

    club.stop()
    club.environment |= {"PULKA_PARTITIONS": "16", "PULKA_PARTITIONS_USED": "16"}
    club.start()
    ends = {}
    for table in OPEN:
        party = back_at(club, table)
        repeat = table["repeat"]
        again = party.people[repeat["seat"]].move(table["table"], repeat["move"], key=repeat["key"])
        assert (again.status_code, again.json()) == (200, repeat["answer"])
        assert party.play_out()["status"] == "over"
        again = party.people[repeat["seat"]].move(table["table"], repeat["move"], key=repeat["key"])
        assert again.json() == repeat["answer"], "of many deals ago"
        ends[table["table"]] = party.view()
    later = Party(club, target=1)
    while int(later.table.partition("-")[0]) < 8:
        later = Party(club, target=1)
    later.play_out()

    for table in OPEN:
        end = ends[table["table"]]
        sheet = read(club, f"/v1/ledger/tables/{table['table']}/sheet", at_least=end["position"])
        assert (sheet["sheet"], sheet["settlement"]) == (end["sheet"], end["settlement"])
        happened = [event["type"] for frame in back_at(club, table).history() for event in frame["events"]]
        assert happened.count("TurnTimedOut") <= 1  # of the turn that waited then
    proved(club, tmp_path, OPEN)
    rated = read(club, "/v1/ledger/standings", at_least=later.view()["position"], provisional=True, limit=100)["standings"]
    assert {row["player"] for row in rated} >= {person["id"] for table in PLAYED for person in table["people"]}
    kept = asyncio.run(streams_of(nats_urls.operator, namespace))
    assert kept[SNAPSHOTS][1] >= len(OPEN)
    assert {one[0]["max_bytes"] for name, one in kept.items() if name in before} == {-1}
    pulka(club, "streams", "apply", "--lower")
    pulka(club, "streams", "check")
    applied = asyncio.run(streams_of(nats_urls.operator, namespace))
    assert {one[0]["max_bytes"] for one in applied.values()} == {ROOM}
