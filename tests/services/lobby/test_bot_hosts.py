"""What bot hosts ask the lobby for: leases, by the contract, on Postgres and over HTTP; seats of built-in players, and tokens for them."""

from __future__ import annotations

import time
from typing import NamedTuple

import pytest

from services.bots.client import Api, ApiProblem
from services.bots.leases import LobbyLeases
from services.bots.share import BUCKETS, NAMES, Share, bucket_of
from services.lobby.bot_leases import BotLeases
from services.lobby.database import Database
from shared.leases.memory import MemoryLeaseRows, MemoryLeases
from shared.leases.port import LeaseStore
from shared.leases.shares import LEASE_S
from shared.web import auth
from tests.leases.lease_contract import LeaseContract
from tests.services.lobby.conftest import Person
from tests.token_keys import ISSUER, verifier


class World(NamedTuple):
    """Two clients of the same rows."""

    store: LeaseStore
    other: LeaseStore


class TestPostgres(LeaseContract):
    """The lobby's rows."""

    @pytest.fixture
    async def world(self, settings):
        databases = [Database(settings.postgres_dsn) for _ in range(2)]
        stores = [BotLeases(database, settings.namespace) for database in databases]
        for database, store in zip(databases, stores, strict=True):
            await database.open(store.ddl)
        yield World(*stores)
        for database in databases:
            await database.close()


class TestOverHttp(LeaseContract):
    """As a host has them."""

    @pytest.fixture
    def world(self, client, host_token):
        return World(*(LobbyLeases(Api(client, host_token, patience=0.0)) for _ in range(2)))


class Stood:
    """Two hosts' shares on the given store, on a clock that the test moves."""

    def __init__(self, stores):
        self.now = 0.0
        self.told = [[], []]
        self.shares = [
            Share(store, f"host {place}", lambda: self.now, told.append, told.append)
            for place, (store, told) in enumerate(zip(stores, self.told, strict=True))
        ]

    async def rounds(self, count, *places):
        for _ in range(count):
            self.now += 0.25
            for place in places:
                await self.shares[place].attend()


async def test_hosts_have_a_fair_share():
    """One has all; of two each has half, and no bucket has two; one that stops gives back at once, one that dies is replaced in 3 s."""
    rows = MemoryLeaseRows()
    stood = Stood([MemoryLeases(rows), MemoryLeases(rows)])
    one, two = stood.shares
    await stood.rounds(1, 0)
    assert set(one.held) == set(NAMES)
    await stood.rounds(4, 0, 1)
    assert (len(one.held), len(two.held)) == (BUCKETS // 2, BUCKETS // 2)
    assert set(one.held).isdisjoint(two.held)
    await one.give_back()
    await stood.rounds(1, 1)
    assert set(two.held) == set(NAMES)
    assert one.held == {}
    await stood.rounds(4, 0, 1)
    before, died = stood.now, set(one.held)
    while len(two.held) < BUCKETS:
        await stood.rounds(1, 1)
    assert len(died) == BUCKETS // 2
    assert LEASE_S <= stood.now - before <= 3.0
    assert stood.told[1][-1] == died
    await stood.rounds(1, 0)  # who was only stopped learns that it was overtaken
    assert one.held == {} or set(one.held).isdisjoint(two.held)


async def test_a_store_that_is_away_takes_nothing():
    """A host plays on with what it has, and whoever reads first after that takes nothing from the others."""
    rows = MemoryLeaseRows()
    stores = [MemoryLeases(rows), MemoryLeases(rows)]
    stood = Stood(stores)
    await stood.rounds(5, 0, 1)
    for store in stores:
        store.away = True
    held = dict(stood.shares[0].held)
    with pytest.raises(ConnectionError):
        await stood.rounds(1, 0)
    assert stood.shares[0].held == held
    stood.now += 60
    for store in stores:
        store.away = False
    await stood.rounds(2, 0)
    assert stood.shares[0].held == held


def test_a_table_is_in_one_bucket():
    """The same for hosts of every version that shares with this one; and tables spread over all of them."""
    assert [bucket_of(f"{number}-" + letter * 26) for number, letter in ((0, "a"), (5, "b"), (31, "z"))] == ["62", "50", "5"]
    assert {bucket_of(f"table {number}") for number in range(1000)} == set(NAMES)


async def test_only_a_host_may_ask(client, sign_up, sign_up_bot, stranger):
    """Leases, seats and bots' tokens are for holders of a host's token: not for people, bots, operators or strangers."""
    bot = await sign_up_bot()
    operator = Person(client, token=ISSUER.issue_operator("desk", int(time.time()), 60, "x"))
    asked = [
        ("GET", "/bots/leases", None),
        ("POST", "/bots/leases", {"holder": "one", "seen": {"name": "0", "holder": "", "epoch": 0, "renewals": 0}}),
        ("POST", "/bots/leases/released", {"held": {"0": 1}}),
        ("PUT", "/bots/hosts/one", {"names": ["0"], "held": {}}),
        ("DELETE", "/bots/hosts/one", None),
        ("GET", "/bots/seats", None),
        ("POST", f"/bots/{bot.id}/tokens", None),
    ]
    for who in (await sign_up(), bot, operator):
        for method, path, body in asked:
            answer = await who.ask(method, path, body)
            assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing"), (path, answer.text)
    for method, path, body in asked:
        assert (await stranger.ask(method, path, body)).status_code == 401


async def test_a_host_gets_tokens_for_bots_alone(client, sign_up, sign_up_bot, host_token):
    """A token of a built-in player is the lobby's to give, to a host: for a person there is none, nor for anybody unknown or erased."""
    host, person, bot, gone = Person(client, token=host_token), await sign_up("Vera"), await sign_up_bot(), await sign_up_bot()
    told = await host.post(f"/bots/{bot.id}/tokens")
    caller = verifier().verify(told["token"], int(time.time()))
    assert (caller.player, caller.scopes) == (bot.id, {auth.PLAY, auth.READ, auth.BOT})
    refused = await host.post(f"/bots/{person.id}/tokens", status=403)
    assert refused["code"] == "not_a_bot"
    await gone.delete("/me")
    for unknown in (gone.id, "0-" + "a" * 26, "operator:desk", "bot-host"):
        assert (await host.post(f"/bots/{unknown}/tokens", status=404))["code"] == "no_such_player"


async def test_seats_of_bots(client, sign_up, sign_up_bot, host_token, table_service):
    """Those at tables that wait or play, page after page; not people's, nor those of tables that are over or given up."""
    host, anna = Person(client, token=host_token), await sign_up("Anna")
    bots = [await sign_up_bot() for _ in range(2)]
    tables = [(await anna.post("/tables", {"convention": "sochi", "players": 3, "target": 10, "bots": 2}))["id"] for _ in range(3)]
    for table in tables:
        await anna.post(f"/tables/{table}/seats", {})
        for seat, bot in enumerate(bots, 1):
            await bot.post(f"/tables/{table}/seats", {"seat": seat})
    playing, over, waiting = tables
    for table in (playing, over):
        for who in (anna, *bots):
            await who.post(f"/tables/{table}/ready", status=200)
        await table_service.open(table)
    await table_service.close(over)

    async def seats(limit):
        found, cursor = [], ""
        while True:
            page = await host.get(f"/bots/seats?limit={limit}{cursor}")
            found += page["seats"]
            if page["cursor"] is None:
                return found
            cursor = f"&cursor={page['cursor']}"

    wanted = [
        {"table": table, "seat": seat, "player": bot.id, "ready": table == playing}
        for table in sorted((playing, waiting))
        for seat, bot in enumerate(bots, 1)
    ]
    deadline = time.monotonic() + 30.0  # seconds; the rows follow within milliseconds
    while (found := await seats(1)) != wanted:
        assert time.monotonic() < deadline, found
    assert await seats(1000) == wanted
    malformed = await host.get("/bots/seats?cursor=x", status=400)
    assert malformed["path"] == "cursor"


LONG = "x" * 121
SEEN = {"name": "0", "holder": "", "epoch": 0, "renewals": 0}


@pytest.mark.parametrize(
    ("method", "path", "body", "place"),
    [
        ("PUT", "/bots/hosts/one", {"names": ["a b"], "held": {}}, "names[0]"),
        ("PUT", "/bots/hosts/one", {"names": ["x"] * 257, "held": {}}, "names"),
        ("PUT", "/bots/hosts/one", {"names": [], "held": {"0": 2**63}}, "held[...]"),
        ("PUT", "/bots/hosts/one", {"names": [], "held": {"0": -1}}, "held[...]"),
        ("PUT", "/bots/hosts/one", {"names": [], "held": {"0\n": 1}}, "held"),
        ("PUT", "/bots/hosts/a%20b", {"names": [], "held": {}}, "holder"),
        ("PUT", "/bots/hosts/a%0A", {"names": [], "held": {}}, "holder"),
        ("DELETE", "/bots/hosts/%00", None, "holder"),
        ("DELETE", f"/bots/hosts/{LONG}", None, "holder"),
        ("POST", "/bots/leases/released", {"held": {"0": 2**63}}, "held[...]"),
        ("POST", "/bots/leases/released", {"held": {LONG: 1}}, "held"),
        ("POST", "/bots/leases", {"holder": "one\n", "seen": SEEN}, "holder"),
        ("POST", "/bots/leases", {"holder": "", "seen": SEEN}, "holder"),
        ("POST", "/bots/leases", {"holder": "one", "seen": SEEN | {"name": LONG}}, "seen.name"),
        ("POST", "/bots/leases", {"holder": "one", "seen": SEEN | {"name": "\x00"}}, "seen.name"),
        ("POST", "/bots/leases", {"holder": "one", "seen": SEEN | {"holder": "\x00"}}, "seen.holder"),
        ("POST", "/bots/leases", {"holder": "one", "seen": SEEN | {"epoch": -1}}, "seen.epoch"),
        ("POST", "/bots/leases", {"holder": "one", "seen": SEEN | {"epoch": 2**53 + 1}}, "seen.epoch"),
        ("POST", "/bots/leases", {"holder": "one", "seen": SEEN | {"renewals": 2**63}}, "seen.renewals"),
    ],
)
async def test_a_lease_is_asked_for_in_order(client, host_token, method, path, body, place):
    """Names that are none, more of them than there are shares, counts that none can be: refused with the place, and nothing is kept."""
    host = Person(client, token=host_token)
    answer = await host.ask(method, path, body)
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed"), answer.text
    assert answer.json()["path"].startswith(place), answer.text
    assert await host.get("/bots/leases") == {"leases": [], "hosts": []}


@pytest.mark.parametrize("count", [2**31, 2**53])
async def test_counts_may_be_large(client, host_token, count):
    """A count that a lease could have is no error, though none has it."""
    host = Person(client, token=host_token)
    assert await host.post("/bots/leases", {"holder": "one", "seen": SEEN | {"epoch": count, "renewals": count}}, status=200) == {
        "lease": None
    }
    await host.post("/bots/leases/released", {"held": {"0": count}}, status=200)
    assert await host.ask("PUT", "/bots/hosts/one", {"names": ["0"], "held": {"0": count}}, status=200) == {"held": []}
    assert (await host.get("/bots/leases"))["leases"] == []


async def test_a_lease_needs_a_token(client):
    """Nobody is nobody's host."""
    with pytest.raises(ApiProblem) as refused:
        await LobbyLeases(Api(client, patience=0.0)).standing()
    assert refused.value.status == 401
