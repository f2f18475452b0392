"""A club on real servers: a `pulka serve all` process that can be killed and started again, and people who speak HTTP to it."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import msgspec

from tests.token_keys import token_variables

READY = 60.0  # seconds; a start takes one or two, on a busy machine more
PATIENCE = 30.0  # seconds for what comes by itself: a next deal, a server that restarts


class Club:
    """`pulka serve SERVICE` against given servers, on a port that stays the same."""

    def __init__(self, nats_url: str, postgres_dsn: str, namespace: str, folder: Path, service: str = "all", **settings: str):
        keys = folder / "master_keys"
        if not keys.exists():
            keys.write_text("test:" + "5a" * 32 + "\n")
            keys.chmod(0o600)
        self.service = service
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PULKA_")},
            "PULKA_NATS_URL": nats_url,
            "PULKA_POSTGRES_DSN": postgres_dsn,
            "PULKA_NAMESPACE": namespace,
            "PULKA_NATS_DURABLE": "yes",
            "PULKA_MASTER_KEYS_FILE": str(keys),
            **token_variables(folder),
            **settings,
        }
        self.errors = folder / f"{service}.log"
        self.port = 0
        self.process: subprocess.Popen | None = None
        self.clients: list[httpx.Client] = []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        for client in self.clients:
            client.close()
        if self.process is not None:
            self.stop()

    def start(self):
        pulka = [sys.executable, "-c", "from services.cli.main import main; main()"]
        command = [*pulka, "serve", self.service, "--port", str(self.port), "--json"]
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=self.environment)
        line = self.process.stdout.readline()
        if not line:  # it would not start, and has ended
            self.process.wait(10)
            self._ended()
        assert line, self.errors.read_text()[-2000:]
        self.url = msgspec.json.decode(line)["url"]
        self.port = int(self.url.rpartition(":")[2])

    def stop(self):
        self.process.terminate()
        assert self.process.wait(10) == 0, self.errors.read_text()[-2000:]
        self._ended()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)
        self._ended()

    def _ended(self):
        self.process.stdout.close()
        self.process = None

    def client(self) -> httpx.Client:
        """An HTTP client that is closed with the club."""
        self.clients.append(httpx.Client(base_url=self.url, timeout=20, trust_env=False))
        return self.clients[-1]


class Person:
    """Somebody with a token; keeps the connection, and asks again while servers are away."""

    def __init__(self, club: Club, name: str = "somebody"):
        self.club = club
        self.http = club.client()
        answer = self.post("/v1/lobby/players", {"name": name})
        assert answer.status_code == 201, answer.text
        self.id, self.token = answer.json()["player"]["id"], answer.json()["token"]
        self.http.headers["Authorization"] = f"Bearer {self.token}"

    def get(self, path: str, **options):
        return self.http.get(path, **options)

    def post(self, path: str, body: object = None, **headers: str):
        content = None if body is None else body if isinstance(body, bytes) else msgspec.json.encode(body)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.post(path, content=content, headers={"Content-Type": "application/json", **given})

    def view(self, table: str) -> dict:
        answer = self.get(f"/v1/tables/{table}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def move(self, table: str, move: dict, key: str | None = None, **headers: str):
        return self.post(f"/v1/tables/{table}/moves", move, Idempotency_Key=key or f"k{next(_KEYS)}", **headers)


_KEYS = itertools.count()


class Party:
    """Two to five people at one table who play seeded random legal moves."""

    def __init__(self, club: Club, seed: int = 1, **terms):
        self.random = random.Random(seed)
        players = terms.get("players", 3)
        self.people = [Person(club, f"player {place}") for place in range(players)]
        opened = self.people[0].post("/v1/lobby/tables", {"convention": "sochi", "players": players, "target": 4, **terms})
        assert opened.status_code == 201, opened.text
        self.table = opened.json()["id"]
        for place, person in enumerate(self.people):
            assert person.post(f"/v1/lobby/tables/{self.table}/seats", {"seat": place}).status_code == 201
        answers = [person.post(f"/v1/lobby/tables/{self.table}/ready") for person in self.people]
        assert answers[-1].json()["status"] == "playing", answers[-1].text
        self.acknowledged: list[dict] = []

    def view(self, seat: int = 0) -> dict:
        return self.people[seat].view(self.table)

    def waiting_view(self, *phases: str) -> dict:
        """The view once somebody is to act, in one of `phases` if any are named, or the pulka is over."""
        deadline = time.monotonic() + PATIENCE
        while True:
            view = self.view()
            if view["status"] == "over" or (view["to_act"] is not None and (not phases or view["phase"] in phases)):
                return view
            assert time.monotonic() < deadline, view

    def choice(self, seat: int) -> dict:
        """A legal move of the seat on turn, with its free fields filled in."""
        view = self.view(seat)
        move = self.random.choice(view["legal"])
        if move["type"] == "discard":
            move["cards"] = self.random.sample(view["hand"].split(), 2)
        if move["type"] == "claim":
            move["tricks"] = 0 if view["contract"] == "misere" else self.random.randint(0, 10 - sum(view["tricks"]))
        return move

    def step(self) -> dict:
        """One accepted move of whoever is to act; what the server answered."""
        seat = self.waiting_view()["to_act"]
        answer = self.people[seat].move(self.table, self.choice(seat))
        assert answer.status_code == 200, answer.text
        self.acknowledged.append(answer.json())
        return answer.json()

    def until(self, *phases: str) -> dict:
        """Play until the table is in one of `phases`."""
        while (view := self.waiting_view())["phase"] not in phases:
            self.step()
        return view

    def play_out(self) -> dict:
        """Play to the end of the pulka."""
        while (view := self.waiting_view())["status"] != "over":
            self.step()
        return view

    def history(self, seat: int | None = 0, after: int = 0) -> list[dict]:
        """Every commit frame behind the cursor `after`, as the seat, or a spectator, may see it."""
        club = self.people[0].club
        client = self.people[seat].http if seat is not None else club.client()
        headers = {"Accept": "application/x-ndjson", "Last-Event-ID": str(after)}
        answer = client.get(f"/v1/tables/{self.table}/events?follow=false", headers=headers)
        assert answer.status_code == 200, answer.text
        frames = [msgspec.json.decode(line) for line in answer.text.splitlines()]
        return [frame for frame in frames if frame["frame"] == "commit"]
