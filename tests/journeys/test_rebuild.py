"""The books are made anew during `pulka demo --pulkas 8`: no read is empty, mixed, or older than one before it.

Also a program: `python -m tests.journeys.test_rebuild [PULKAS TARGET]` plays, rebuilds and reads on servers of its own; tells the count.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
import msgspec

from services.cli.embedded import EmbeddedServers
from tests.journeys.club import Club

PULKA = [sys.executable, "-c", "from services.cli.main import main; main()"]
READERS = 4  # at once; each reads what there is, table after table
PATIENCE = 600.0  # seconds for the whole: eight pulkas on a busy machine


class Watched:
    """What readers have seen of each table, by address: nothing of it may ever be taken back."""

    def __init__(self, url: str) -> None:
        self.url, self.reads, self.versions = url, 0, set[int]()
        self._shown: dict[str, tuple[int, int]] = {}  # by table: the sequence of the newest position that was shown, and how many deals

    async def read(self, http: httpx.AsyncClient) -> None:
        """Every table of the lobby, its sheet and its deals, and how the ledger is."""
        health = (await http.get("/health")).json()["services"]["ledger"]
        assert health["status"] == "ok", health
        self.versions.add(health["books"]["version"])
        listed = (await http.get("/v1/lobby/tables", params={"limit": 50})).json()["tables"]
        for table in (table["id"] for table in listed if table["status"] in {"playing", "over"}):
            await self._one(http, table)

    async def _one(self, http: httpx.AsyncClient, table: str) -> None:
        before = self._shown.get(table)
        answer = await http.get(f"/v1/ledger/tables/{table}/sheet")
        if answer.status_code == 404 and before is None:
            return  # its pulka has not reached the books yet
        assert answer.status_code == 200, answer.text  # a table that was there once is never gone
        sheet = answer.json()
        shown = (int(sheet["position"].rpartition(":")[2]), len(sheet["deals"]))
        assert before is None or (shown[0] >= before[0] and shown[1] >= before[1]), (table, before, shown)
        self._shown[table] = max(shown, self._shown.get(table, shown))
        deals = await http.get(f"/v1/ledger/tables/{table}/deals", params={"limit": 200, "at_least": sheet["position"]})
        assert deals.status_code == 200, deals.text
        numbers = [deal["number"] for deal in deals.json()["deals"]]
        assert numbers == list(range(1, len(numbers) + 1))  # every deal of a series played through has a number of its own
        assert len(numbers) >= shown[1]
        assert [deal["written"] for deal in deals.json()["deals"][: shown[1]]] == sheet["deals"]  # the sheet is of those very deals
        self.reads += 2

    async def until(self, ended: asyncio.Event) -> None:
        async with httpx.AsyncClient(base_url=self.url, timeout=20, trust_env=False) as http:
            while not ended.is_set():
                await self.read(http)
                await asyncio.sleep(0)


async def run(*arguments: str, environment: dict[str, str]) -> dict:
    """A command of its own process; the object that it prints."""
    process = await asyncio.create_subprocess_exec(
        *PULKA, *arguments, "--json", env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()[-2000:]
    return msgspec.json.decode(out)


async def rebuild_until(ended: asyncio.Event, environment: dict[str, str]) -> list[dict]:
    """One rebuild after another while there is play, at least two."""
    done: list[dict] = []
    while not ended.is_set() or len(done) < 2:
        done.append(await run("ledger", "rebuild", "--by", "the journey", environment=environment))
    return done


async def journey(club: Club, pulkas: int, target: int) -> tuple[Watched, list[dict], dict]:
    """Play, rebuild and read at once; raises what a reader objects to."""
    watched, ended = Watched(club.url), asyncio.Event()
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
        for _ in range(READERS):
            group.create_task(watched.until(ended))
        rebuilds = group.create_task(rebuild_until(ended, club.environment))
        try:
            played = await run("demo", "--url", club.url, "--pulkas", str(pulkas), "--target", str(target), environment=club.environment)
        finally:
            ended.set()
    return watched, rebuilds.result(), played


def test_the_books_are_made_anew_while_eight_pulkas_are_played(club):
    """Every read of every table goes on from the one before it, whichever version answered; every pulka is verified in the end."""
    watched, rebuilds, played = asyncio.run(journey(club, 8, 1))
    assert len(played["tables"]) == 8
    assert all(table["audit"]["verified"] for table in played["tables"])
    assert [done["version"] for done in rebuilds] == list(range(2, 2 + len(rebuilds)))
    assert {done["parked"] for done in rebuilds} == {0}
    assert len(watched.versions) > 1
    assert watched.reads > 100


def main() -> None:
    """Play on servers of its own."""
    pulkas, target = (int(given) for given in (*sys.argv[1:], *("8", "10")[len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory() as folder, EmbeddedServers(Path(folder) / "home") as servers, contextlib.ExitStack() as stack:
        club = stack.enter_context(Club(servers.nats_url, servers.postgres_dsn, "journey", Path(folder)))
        watched, rebuilds, played = asyncio.run(journey(club, pulkas, target))
    commits = sum(table["audit"]["commits"] for table in played["tables"])
    sys.stdout.write(
        f"{len(played['tables'])} pulkas, {commits} commits; {len(rebuilds)} rebuilds (versions {sorted(watched.versions)} were read); "
        f"{watched.reads} reads, none empty, mixed or older than one before it\n"
    )


if __name__ == "__main__":
    main()
