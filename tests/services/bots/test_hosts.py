"""Bot hosts beside each other, with a limit, with a token from a file, and with tables elsewhere than the lobby."""

import asyncio
import time

import jwt
import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from services.bots.client import Api, connect
from services.bots.host_token import FiledToken, MadeToken
from services.bots.roster import Roster
from services.bots.seated import Seated
from services.bots.share import BUCKETS
from shared.events import key_files
from shared.events.token_keys import TokenSigner
from shared.web.application import build
from shared.web.auth import Issuer
from shared.web.service import CannotStart
from tests.served import served
from tests.services.bots.test_over_http import Watch, play
from tests.token_keys import ISSUER

pytestmark = pytest.mark.servers

ENOUGH = 30.0  # seconds for what takes one or three


async def until(true, seconds=ENOUGH):
    async with asyncio.timeout(seconds):
        while not (found := await true()):  # noqa: ASYNC110 - the host tells nobody
            await asyncio.sleep(0.02)  # the interval of a poll
    return found


async def test_a_bot_whose_account_is_gone_is_dropped(http):
    """Its token is refused, it gets no other one, and the next seat is another bot's: nobody waits for it for ever."""
    roster = Roster(http, http, Api(http, ISSUER.issue_host(int(time.time()))))
    bot = await roster.free("one table")
    assert await roster.free("another") is bot
    await bot.api.send("DELETE", "/v1/lobby/me", None)
    roster.forget(bot)
    other = await roster.free("a third")
    assert other.api.player != bot.api.player
    assert roster.size == 1


async def test_two_that_play_one_seat_play_it_once(club, http):
    """Every seat is played twice at the same time: equal moves under equal keys, so none is refused, and nothing happens twice."""
    table, apis = await club.open(http, 3, convention="sochi", players=3, target=2)
    twins = [Api(http, api.token, api.player) for api in apis]
    watches = [Watch() for _ in range(6)]
    with capture_logs() as logs:
        async with asyncio.TaskGroup() as group:
            for place, api in enumerate([*apis, *twins]):
                group.create_task(Seated(api, table, f"{table} {api.player}", watches[place]).play())
            for api in apis:
                await api.ready(table)
    assert [line["event"] for line in logs if line["event"].startswith("bot_")] == []
    played = watches[0]
    assert {tuple(watch.revisions) for watch in watches} == {tuple(range(1, played.revisions[-1] + 1))}
    assert len(played.kinds("CardPlayed")) == 3 * len(played.kinds("TrickWon"))
    assert not played.kinds("TurnTimedOut")


async def test_hosts_share_the_tables_and_one_that_stops_gives_its_own_back(club, http):
    """Each plays at the tables of its buckets; the seats of one that stops go to the other at once, in mid-deal, and it plays them on."""
    hosts = [club.host(), club.host()]
    for host in hosts:
        await host.start()

    async def shared():
        return [(await host.health())["buckets"] for host in hosts] == [BUCKETS // 2] * 2

    await until(shared)
    opened = [await club.open(http, 1, convention="sochi", players=3, target=1, bots=2) for _ in range(6)]
    reached = asyncio.Event()
    watches = [Watch(lambda revision: reached.set() if revision == 15 else None) for _ in opened]
    async with asyncio.TaskGroup() as group:
        playing = [group.create_task(play(apis, table, [watch])) for (table, apis), watch in zip(opened, watches, strict=True)]
        await reached.wait()
        seats = [(await host.health())["seats"] for host in hosts]
        assert sum(seats) <= 12
        await hosts[0].drain()
        await hosts[0].stop()
        began = time.monotonic()

        async def taken():
            return (await hosts[1].health())["buckets"] == BUCKETS

        await until(taken)
        assert time.monotonic() - began < 1.5  # at the next look; a dead one's would take two seconds
    assert {task.result()[0]["status"] for task in playing} == {"over"}
    assert not any(watch.kinds("TurnTimedOut") for watch in watches)
    await hosts[1].stop()


async def test_a_host_plays_as_many_seats_as_it_may(club, http):
    """The second table waits, `/health` and the figures say so; when the first is over it is played too."""
    host = club.host(bot_seats=2)
    await host.start()
    first, apis = await club.open(http, 1, convention="sochi", players=3, target=1, bots=2, clock={"move_s": 300, "cut_s": 300})

    async def seated():
        return all(seat["player"] for seat in (await apis[0].get(f"/v1/lobby/tables/{first}"))["seats"])

    await until(seated)
    second, others = await club.open(http, 1, convention="sochi", players=3, target=1, bots=2)

    async def full():
        told = await host.health()
        return told if told["seats_waiting"] else None

    told = await until(full)
    assert (told["status"], told["reason"], told["seats"], told["seats_most"], told["seats_waiting"]) == ("degraded", "full", 2, 2, 2)
    figures = [REGISTRY.get_sample_value(name) for name in ("pulka_bot_seats", "pulka_bot_seats_most", "pulka_bot_seats_waiting")]
    assert figures == [2, 2, 2]
    assert [seat["player"] for seat in (await others[0].get(f"/v1/lobby/tables/{second}"))["seats"][1:]] == [None, None]
    for table, seats in ((first, apis), (second, others)):
        assert (await play(seats, table, [Watch()]))[0]["status"] == "over"

    async def free():
        told = await host.health()
        return told["status"] == "ok" and told["seats"] == 0

    await until(free)
    await host.stop()


async def test_seats_that_nobody_plays_are_taken_up_whenever_a_bucket_comes(club, http):
    """Not only at the start: a host that was there all the while plays the seats of one that died, with tokens that the lobby gives it."""
    dies, stays = club.host(), club.host()
    await dies.start()
    table, apis = await club.open(http, 1, convention="sochi", players=3, target=1, bots=2)

    async def seated():
        return (await dies.health())["seats"] == 2

    await until(seated)
    await stays.start()
    watch = Watch()
    playing = asyncio.create_task(play(apis, table, [watch]))
    host = dies.start.__self__  # killed: it neither plays nor says good-bye
    for task in [*host._tasks, *host._seats.values()]:
        task.cancel()
    views = await playing
    assert views[0]["status"] == "over"
    assert not watch.kinds("TurnTimedOut")
    assert (await stays.health())["bots"] >= 2
    await stays.stop()
    await dies.stop()


async def test_tables_and_lobby_at_two_addresses(club):
    """The host speaks to each where it is."""
    apps = {name: build([service], club.settings) for name, service in club.services.items()}
    async with served(apps["lobby"]) as lobby, served(apps["table"]) as table:
        urls = {name: f"http://127.0.0.1:{app.port}" for name, app in (("lobby_url", lobby), ("table_url", table))}
        host = club.host(**urls)
        await host.start()
        async with connect(urls["lobby_url"]) as http, connect(urls["table_url"]) as tables:
            person = Api(http, tables=tables)
            await person.sign_up("Vera")
            opened = await person.open_table({"convention": "sochi", "players": 3, "target": 1, "bots": 2})
            await person.sit(opened)
            views = await play([person], opened, [Watch()])
        assert views[0]["status"] == "over"
        assert (await host.health())["status"] == "ok"
        await host.drain()
        await host.stop()


def test_a_token_from_a_file(tmp_path, monkeypatch):
    """It is read at the start, and followed: another one counts from the next look on; what cannot be read changes nothing."""
    path, now = tmp_path / "bot_token", [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with pytest.raises(CannotStart, match="pulka token --scope host"):
        FiledToken(path)
    path.write_text("two words\n")
    with pytest.raises(CannotStart, match="not a bot host's token"):
        FiledToken(path)
    path.write_text("first\n")
    token = FiledToken(path)
    assert token() == "first"
    for text, held in (("second\n", "second"), ("", "second"), ("third", "third")):
        path.write_text(text)
        now[0] += 2.0
        assert token() == held
    path.unlink()
    now[0] += 2.0
    assert token() == "third"


def test_a_token_made_beside_the_lobby(tmp_path):
    """It is the same for half of a day; another key that signs makes another one, since the old key may be forgotten."""
    path, now = tmp_path / "token_key", [1_764_000_000_000]
    key_files.create(path, key_files.lines([("k1", bytes(range(32)))]))
    signer = TokenSigner.load(path)
    token = MadeToken(Issuer(signer), lambda: now[0])
    first = token()
    now[0] += 11 * 3600 * 1000
    assert token() == first
    now[0] += 2 * 3600 * 1000
    second = token()
    assert second != first
    key_files.replace(path, key_files.lines([("k2", bytes(range(1, 33)))]))
    signer._file._next = 0.0  # the second after which it looks at the file again
    assert jwt.get_unverified_header(token())["kid"] == "k2"


async def test_bots_whose_key_is_forgotten_get_new_tokens(club, http):
    """`pulka keys rotate token --forget` ends their tokens too: the same players sit down at the next table, with new ones."""
    service = club.host()
    await service.start()
    host = service.start.__self__
    table, apis = await club.open(http, 1, convention="sochi", players=3, target=1, bots=2)
    assert (await play(apis, table, [Watch()]))[0]["status"] == "over"
    bots = list(host._roster._bots.values())
    assert bots
    for bot in bots:
        bot.api.token = ISSUER.issue(bot.api.player, ("play", "read", "bot"), 0, lifetime=1)
    table, apis = await club.open(http, 1, convention="sochi", players=3, target=1, bots=2)
    watch = Watch()
    assert (await play(apis, table, [watch]))[0]["status"] == "over"
    assert not watch.kinds("TurnTimedOut")
    assert len(host._roster._bots) == len(bots)
    await service.drain()
    await service.stop()


def test_an_address_is_needed(club):
    """Without one the host says which variable is missing."""
    with pytest.raises(CannotStart, match="PULKA_LOBBY_URL"):
        club.host(lobby_url="")
