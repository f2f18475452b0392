"""Writes `log.jsonl.gz`: what former versions of the services stored when people played at them over HTTP. Was run once; see the README.

`python -m tests.journeys.former.write CHECKOUT…`: folders with former versions, the oldest first. Each serves the same servers, one after
the other, as in a club that is upgraded.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import asyncpg
import msgspec
import nats

from services.cli.embedded import EmbeddedServers
from tests.journeys.club import Club, Party, Person

FILE = Path(__file__).with_name("log.jsonl.gz")
NAMESPACE = "former"
CLOCK = {"move_s": 3600, "cut_s": 3600}  # seconds, the longest there is: while the log is written nobody's turn runs out
ELSEWHERE = {
    "convention": "sochi",
    "players": 3,
    "deals": [{"dealer": 2, "declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "tricks": [6, 2, 2]}],
}


class FormerClub(Club):
    """A club that a former version serves, from its checkout."""

    checkout = Path()

    def start(self):
        before = Path.cwd()
        os.chdir(self.checkout)  # `-c` imports what lies where it is run
        try:
            super().start()
        finally:
            os.chdir(before)

    def imports(self, people, folder):
        """Import a pulka from elsewhere by the former version's command; its table."""
        file = folder / "elsewhere.json"
        file.write_text(json.dumps(ELSEWHERE))
        command = [sys.executable, "-c", "from services.cli.main import main; main()", "import", str(file), "--json"]
        environment = self.environment | {"PULKA_PORT": str(self.port), "PULKA_HOME": str(folder / "nowhere")}
        seats = ["--seats", ",".join(person.id for person in people)]
        done = subprocess.run([*command, *seats], env=environment, cwd=self.checkout, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["table_id"]


class Court(Party):
    """A party whose results are confirmed by everybody as soon as they stand."""

    def waiting_view(self, *phases):
        """See `Party.waiting_view`."""
        for seat in range(3) if self.view()["phase"] == "scored" else ():
            answer = self.people[seat].move(self.table, {"type": "confirm"})
            assert answer.status_code == 200, answer.text
        return super().waiting_view(*phases)


def moved(party, steps):
    """So many moves, the last of them to be repeated some day: who made it, under what key, and what they were answered."""
    for _ in range(steps):
        party.step()
    seat = party.waiting_view()["to_act"]
    move = party.choice(seat)
    answer = party.people[seat].move(party.table, move, key="the-last-one")
    assert answer.status_code == 200, answer.text
    return {"seat": seat, "move": move, "key": "the-last-one", "answer": answer.json()}


def told(party, what, **more):
    """A table as its people see it at the end."""
    return {
        "table": party.table,
        "what": what,
        "people": [{"id": person.id, "token": person.token} for person in party.people],
        "frames": [party.history(seat) for seat in range(len(party.people))],
        "view": party.view(),
        **more,
    }


def play(club, folder, name):
    """What is played at one version: tables in the middle of a deal, one of them adjudicated, one that is over, and one from elsewhere."""
    begun = Party(club, seed=1, clock=CLOCK, target=2)
    begun.until("play")
    yield told(begun, f"{name}: in the middle of a deal", repeat=moved(begun, 3))
    four = Party(club, seed=2, clock=CLOCK, players=4, target=2, convention="leningrad")
    while four.view()["deal"] < 3:
        four.step()
    yield told(four, f"{name}: in its third deal", repeat=moved(four, 2))
    court = Court(club, seed=3, clock=CLOCK, target=2, mode="adjudicated", pause_s=3600)
    court.until("play")
    yield told(court, f"{name}: adjudicated, in the middle of a deal", repeat=moved(court, 2))
    over = Party(club, seed=4, clock=CLOCK, target=1)
    over.play_out()
    sheet = over.people[0].get(f"/v1/ledger/tables/{over.table}/sheet", params={"at_least": over.acknowledged[-1]["position"]}).json()
    yield told(over, f"{name}: over", sheet=sheet)
    people = [Person(club, f"absent {place}") for place in range(3)]
    yield {
        "table": club.imports(people, folder),
        "what": f"{name}: imported",
        "people": [{"id": one.id, "token": one.token} for one in people],
    }


async def stored(url, dsn):
    """Every stream of the log: its configuration, and its messages in their order; and the wrapped keys of persons."""
    client, prefix = await nats.connect(url), f"{NAMESPACE.upper()}_"

    async def asked(subject, body=b""):
        return msgspec.json.decode((await client.request(f"$JS.API.{subject}", body, timeout=5)).data)

    lines = []
    for name in sorted((await asked("STREAM.NAMES"))["streams"]):
        info = await asked(f"STREAM.INFO.{name}")
        lines.append({"stream": name.removeprefix(prefix), "config": info["config"]})
        for sequence in range(1, info["state"]["last_seq"] + 1):
            message = (await asked(f"STREAM.MSG.GET.{name}", msgspec.json.encode({"seq": sequence})))["message"]
            lines.append({"subject": message["subject"].removeprefix(f"{NAMESPACE}."), "data": base64.b64decode(message["data"]).decode()})
    await client.close()
    connection = await asyncpg.connect(dsn)
    rows = await connection.fetch(f'SELECT person, wrapped FROM "{NAMESPACE}_vault".person_keys ORDER BY person')
    await connection.close()
    return [*lines, *({"person": row["person"], "wrapped": row["wrapped"].decode()} for row in rows)]


def main():
    tables = []
    with tempfile.TemporaryDirectory() as folder, EmbeddedServers(Path(folder) / "servers") as servers:
        for checkout in map(Path, sys.argv[1:]):
            FormerClub.checkout = checkout.absolute()
            name = subprocess.run(
                ["git", "rev-parse", "--short", "HEAD"], cwd=checkout, capture_output=True, text=True, check=True
            ).stdout.strip()
            with FormerClub(servers.nats_url, servers.postgres_dsn, NAMESPACE, Path(folder)) as club:
                tables += play(club, Path(folder), name)
        keys = (Path(folder) / "master_keys").read_text()
        lines = asyncio.run(stored(servers.nats_operator_url, servers.postgres_dsn))
    text = b"".join(msgspec.json.encode(line) + b"\n" for line in [{"master_keys": keys}, *lines, *tables])
    FILE.write_bytes(gzip.compress(text, mtime=0))
    sys.stdout.write(f"{len(tables)} tables, {len(lines)} lines, {len(text)} bytes, {FILE.stat().st_size} in {FILE.name}\n")


if __name__ == "__main__":
    main()
