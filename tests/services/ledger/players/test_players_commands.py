"""`pulka stats` and `pulka standings`: what the ledger answers, for people and as JSON."""

from __future__ import annotations

import asyncio
import json

import pytest
from click.testing import CliRunner

from services.cli.player.players import standings, stats
from shared.web.service import CannotStart, ServersUnreachable
from tests.served import served
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers


async def run(command, *arguments):
    return await asyncio.to_thread(CliRunner().invoke, command, [str(one) for one in arguments])


def document(done):
    """The one JSON object; the server, in the same process here, logs beside it."""
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(line)


@pytest.fixture
async def played(site, log):
    played = await PlayedTable(log, 91, target=4).play()
    for path in (f"/players/{played.seats[0]}/ratings", "/standings"):
        assert (await site.get(path, at_least=played.commits[-1].position)).status_code == 200
    return played


async def test_a_players_figures(site, played):
    """Deals by role and contract and the rating; with --json the server's object with the rating in it."""
    player = played.seats[0]
    async with served(site.app) as server:
        told = await run(stats, player, "--url", f"http://127.0.0.1:{server.port}")
        shown = document(await run(stats, player, "--url", f"http://127.0.0.1:{server.port}", "--json"))
        few = document(await run(stats, player, "--url", f"http://127.0.0.1:{server.port}", "--players", 4, "--json"))
    figures = (await site.get(f"/players/{player}/stats")).json()
    rating = (await site.get(f"/players/{player}/ratings")).json()["rating"]
    assert shown == figures | {"rating": rating}
    assert told.exit_code == 0
    assert f"{figures['whists']['deals']} deals" in told.stdout
    assert f"rating {rating['rating']:.0f}" in told.stdout
    assert all(one["contract"] in told.stdout for one in figures["contracts"])
    assert "95 %" in told.stdout
    assert any(role["whists"]["mean"] < 0 for role in figures["roles"] if role["whists"]["mean"] is not None)
    assert "−" in told.stdout
    assert not [word for word in told.stdout.split() if word.lstrip("(").startswith("-")]
    assert told.stderr == ""
    assert few["whists"]["deals"] == 0


async def test_a_player_without_deals(site, played):
    """One sentence instead of empty tables; of a player who has none of that kind, that there are none; with --json the object as ever."""
    async with served(site.app) as server:
        url = ("--url", f"http://127.0.0.1:{server.port}")
        nobody = await run(stats, "nobody", *url)
        listed = await run(stats, "nobody", *url, "--json")
        few = await run(stats, played.seats[0], *url, "--players", 4)
    sentence = "There is no deal of a player with the id nobody that everybody may see.\n"
    assert (nobody.exit_code, nobody.stderr) == (0, sentence)
    assert not [line for line in nobody.stdout.splitlines() if "deal" in line and "route=" not in line]
    assert document(listed)["whists"]["deals"] == 0
    assert listed.stderr == sentence
    assert "no deals" in few.stdout.splitlines()
    assert "whists per deal" not in few.stdout


async def test_the_standings(site, played):
    """By rating nobody is sure yet, with --provisional all are listed; by whists everybody is."""
    async with served(site.app) as server:
        sure = await run(standings, "--url", f"http://127.0.0.1:{server.port}")
        listed = document(await run(standings, "--url", f"http://127.0.0.1:{server.port}", "--provisional", "--json"))
        won = await run(standings, "--url", f"http://127.0.0.1:{server.port}", "--by", "whists", "--limit", 2)
    assert "--provisional" in sure.stdout
    assert {one["player"] for one in listed["standings"]} == set(played.seats)
    best = (await site.get("/standings", by="whists")).json()["standings"][0]
    assert best["player"] in won.stdout
    assert best["whists"] in won.stdout


async def test_what_stops_them(site):
    """A server that refuses is bad input, one that is not there is unreachable; each is told in a line."""
    async with served(site.app) as server:
        refused = await run(stats, "a\0b", "--url", f"http://127.0.0.1:{server.port}")
    away = await run(standings, "--url", "http://127.0.0.1:1")
    assert isinstance(refused.exception, CannotStart)
    assert "no_such_player" in str(refused.exception)
    assert isinstance(away.exception, ServersUnreachable)
    assert (await run(standings, "--by", "luck")).exit_code == 2
