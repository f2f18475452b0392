"""F30: names on a sheet's page are the lobby's, attached to the answer; without it the seats stand there."""

from __future__ import annotations

import httpx
import pytest

from services.ledger.desk.player_names import AT_ONCE, LobbyNames, by_seat, nobody
from services.ledger.sheet.sheet_api import sheet_routes
from services.ledger.sheet.sheet_reading import HTML, JSON, SVG
from shared.web import application
from shared.web.service import Service
from shared.web.settings import Settings
from tests.served import served
from tests.services.ledger.played import PlayedTable
from tests.token_keys import token_files

SEATS = ("a", "b", "c")


def seat(number):
    return f"seat {number}"


@pytest.mark.parametrize(
    ("names", "players", "shown"),
    [
        ({"a": "Anna", "b": "Boris", "c": "Vera"}, 3, ["Anna", "Boris", "Vera"]),
        ({"a": "Anna", "c": "Vera"}, 3, ["Anna", "seat 1", "Vera"]),  # who was erased
        ({}, 3, None),
        ({"x": "Xenia"}, 3, None),
        ({"a": "Anna"}, 2, None),  # an earlier section, whose seats are other ones
    ],
)
def test_names_by_seat(names, players, shown):
    """Each by their name, one that is not known by the seat; where nobody's is known there are no names at all."""
    assert by_seat(SEATS, names, players, seat) == shown


async def test_a_lobby_that_is_away_names_nobody():
    """A page does not fail, and does not wait long, because names are not to be had."""
    for url in ("http://127.0.0.1:9", ""):
        names = LobbyNames(url)
        assert await names(SEATS) == {}
        await names.close()
    assert await nobody(SEATS) == {}


@pytest.mark.servers
async def test_picture_and_page_have_names_and_json_has_none(site, log, tmp_path):
    """Asked anew for each answer; an erased name is a seat in the next one."""
    played = await PlayedTable(log, 77, target=4).play()
    await site.read(played, "/sheet")
    known = dict(zip(played.seats, ("Анна <1>", "Boris", "Vera"), strict=True))

    async def names(players):
        return {player: known[player] for player in players if player in known}

    async def nothing():
        """Started and stopped by the fixtures."""

    async def health():
        return {"status": "ok"}

    service = Service(name="ledger", routes=sheet_routes(lambda: site.desk, names), start=nothing, stop=nothing, health=health)
    app = application.build([service], Settings(master_keys_file=str(tmp_path / "master_keys"), **token_files(tmp_path)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://ledger") as client:

        async def answer(form):
            return (await client.get(f"/v1/ledger/tables/{played.id}/sheet", headers={"Accept": form})).text

        for form in (SVG, HTML):
            told = await answer(form)
            assert "Анна &lt;1&gt;" in told
            assert "Boris" in told
            assert "seat 0" not in told
        assert await answer(JSON) == (await site.get(f"/tables/{played.id}/sheet")).text
        del known[played.seats[1]]
        told = await answer(HTML)
        assert "Boris" not in told
        assert "seat 1" in told


@pytest.mark.servers
async def test_no_more_ids_a_question_than_the_lobby_takes(site):
    """Many players are asked for in several questions; an answer that is none names nobody."""
    async with served(site.app) as server:  # a ledger without a lobby beside it answers 404
        names = LobbyNames(f"http://127.0.0.1:{server.port}/")
        assert await names([str(one) for one in range(AT_ONCE + 1)]) == {}
        await names.close()
