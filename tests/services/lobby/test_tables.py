"""Tables over HTTP: opened on terms that hold, filled seat by seat, ready, begun."""

from __future__ import annotations

import asyncio

from services.lobby.tables import address_of
from shared.events.address import is_id
from shared.events.commit import decode
from shared.events.lobby_events import TableFilled
from shared.events.upcast import stored_lobby_events
from shared.rules.convention.rules_digest import rules_digest

DEFAULTS = {
    "status": "open",
    "players": 3,
    "target": 10,
    "clock": {"move_s": 30, "cut_s": 5},
    "mode": "enforced",
    "visibility": "public",
    "spectators": {"allowed": True, "delay_deals": 0},
    "seating": "chosen",
    "stake": None,
    "rated": True,
    "bots": 0,
}


async def opened(host, **terms):
    return (await host.post("/tables", terms))["id"]


async def filled(people, **terms):
    table = await opened(people[0], **terms)
    for person in people:
        await person.post(f"/tables/{table}/seats")
    return table


async def test_a_table_on_the_usual_terms(sign_up, stranger):
    """An empty order opens a table on the published defaults; anybody may read it; its convention is the resolved record."""
    anna = await sign_up("Anna")
    table = await anna.post("/tables", {})
    assert is_id(table["id"])
    assert {name: table[name] for name in DEFAULTS} == DEFAULTS
    assert table["convention"]["preset"] == "sochi"
    assert table["convention"]["single_whister"] == "greedy"
    assert table["host"] == {"id": anna.id, "name": "Anna"}
    assert table["seats"] == [{"seat": seat, "player": None, "ready": False, "for_bot": False} for seat in range(3)]
    shown = await stranger.get(f"/tables/{table['id']}")
    assert shown == table | {"position": None}


async def test_5_4_4_a_table_on_terms_of_its_own(sign_up):
    """Every term can be given and is agreed before the start; what differs from a preset is merged into it (5.4.4)."""
    terms = {
        "convention": {"preset": "leningrad", "pair_8_9": "both", "all_pass": {"prices": [2, 4]}},
        "players": 4,
        "target": 3,
        "clock": {"move_s": 60},
        "visibility": "private",
        "spectators": {"allowed": False},
        "seating": "drawn",
        "stake": "1/2",
        "bots": 2,
    }
    table = await (await sign_up()).post("/tables", terms)
    assert (table["players"], table["target"], table["clock"], table["bots"]) == (4, 3, {"move_s": 60, "cut_s": 5}, 2)
    assert (table["seating"], table["stake"]) == ("drawn", "1/2")
    assert (table["convention"]["pair_8_9"], table["convention"]["all_pass"]["prices"]) == ("both", [2, 4])
    assert [seat["for_bot"] for seat in table["seats"]] == [False, False, True, True]


WRONG_TERMS = [
    ({"convention": "marseille"}, "convention"),
    ({"convention": {"preset": "sochi", "hats": "on"}}, "convention.hats"),
    ({"convention": {"preset": "sochi", "remise_factor": 3}}, "convention.remise_factor"),
    ({"convention": {"preset": "leningrad", "help": "largest"}}, "convention.help"),
    ({"convention": 7}, "convention"),
    ({"players": 6}, "players"),
    ({"players": 1}, "players"),
    ({"players": "3"}, "players"),
    ({"target": 0}, "target"),
    ({"clock": {"move_s": 0}}, "clock.move_s"),
    ({"clock": {"blitz": 1}}, "clock.blitz"),
    ({"mode": "anarchy"}, "mode"),
    ({"visibility": True}, "visibility"),
    ({"spectators": {"delay_deals": -1}}, "spectators.delay_deals"),
    ({"bots": 3}, "bots"),
    ({"hats": 100}, "hats"),
    ({"stake": 0}, "stake"),
    ({"stake": "0.1"}, "stake"),
    ({"seating": "best"}, "seating"),
    ({"attention": "server"}, "attention"),
    ({"mode": "enforced", "pause_s": 5}, "pause_s"),
    ({"mode": "adjudicated", "attention": "nobody"}, "attention"),
    ({"mode": "adjudicated", "arbiter": "somebody"}, "arbiter"),
    ({"mode": "adjudicated", "pause_s": 0}, "pause_s"),
    ({"mode": "adjudicated", "order_pause_s": 61}, "order_pause_s"),
]


async def test_terms_that_cannot_be(sign_up):
    """Terms that cannot be read or contradict each other are 400 with the path of what is wrong; no table is opened."""
    anna = await sign_up()
    for terms, path in WRONG_TERMS:
        document = await anna.post("/tables", terms, status=400)
        assert (document["code"], document["path"]) == ("malformed", path)
    assert (await anna.get("/tables"))["tables"] == []


async def test_a_body_that_cannot_be_read_is_said_before_the_token(stranger):
    """The order of refusals (refusals.md), here as at a table: first what cannot be read, then who asks."""
    assert (await stranger.post("/tables", {"nonsense": 1}, status=400))["code"] == "malformed"
    assert (await stranger.post("/tables", {"convention": "sochi", "players": 3}, status=401))["code"] == "token_missing"


async def test_an_adjudicated_table_shows_what_it_agrees_on(sign_up):
    """Who watches, who judges, how entries are made and how long the pauses are, each with its default; null where rules are enforced."""
    anna, judge = await sign_up("Anna"), await sign_up("Judge")
    usual = {"attention": "players", "entries": "automatic", "arbiter": None, "pause_s": 10, "order_pause_s": 3}
    assert (await anna.post("/tables", {"mode": "adjudicated"}))["adjudication"] == usual
    wanted = {"attention": "server", "arbiter": judge.id, "pause_s": 5, "order_pause_s": 0}
    table = await anna.post("/tables", {"mode": "adjudicated", **wanted})
    assert (table["mode"], table["adjudication"]) == ("adjudicated", usual | wanted)
    assert (await anna.post("/tables", {}))["adjudication"] is None


async def test_the_arbiter_takes_no_seat(sign_up):
    """Who judges does not play (4.2.16)."""
    anna, judge = await sign_up("Anna"), await sign_up("Judge")
    table = await anna.post("/tables", {"mode": "adjudicated", "arbiter": judge.id})
    assert (await judge.post(f"/tables/{table['id']}/seats", {}, status=409))["code"] == "arbiter_has_no_seat"
    assert (await anna.post(f"/tables/{table['id']}/seats", {}))["seat"] == 0


async def test_opening_twice_under_one_key(sign_up):
    """The same key gives the same table; with other terms it is 422; another player's same key is another table."""
    anna, boris = await sign_up("Anna"), await sign_up("Boris")
    first = await anna.post("/tables", {"target": 4}, key="one")
    assert await anna.post("/tables", {"target": 4}, key="one") == first
    assert (await anna.post("/tables", {"target": 5}, key="one", status=422))["code"] == "idempotency_mismatch"
    assert (await boris.post("/tables", {"target": 4}, key="one"))["id"] != first["id"]


async def test_sitting_down(sign_up, stranger):
    """One takes the first free seat, or the one asked for, once; a stranger takes none."""
    people = [await sign_up(name) for name in ("Anna", "Boris", "Vera", "Gleb")]
    table = await opened(people[0])
    await stranger.post(f"/tables/{table}/seats", status=401)
    assert (await people[0].post(f"/tables/{table}/seats", {"seat": 1}))["seat"] == 1
    assert (await people[1].post(f"/tables/{table}/seats"))["seat"] == 0
    again = await people[1].post(f"/tables/{table}/seats")
    assert (again["seat"], again["table"]["revision"]) == (0, 3)
    assert (await people[1].post(f"/tables/{table}/seats", {"seat": 2}, status=409))["code"] == "already_seated"
    assert (await people[2].post(f"/tables/{table}/seats", {"seat": 1}, status=409))["code"] == "seat_taken"
    assert (await people[2].post(f"/tables/{table}/seats", {"seat": 3}, status=409))["code"] == "no_such_seat"
    assert (await people[2].post(f"/tables/{table}/seats", {"seat": 5}, status=400))["path"] == "seat"
    last = await people[2].post(f"/tables/{table}/seats", {})
    assert (last["seat"], last["table"]["status"]) == (2, "full")
    assert [seat["player"]["name"] for seat in last["table"]["seats"]] == ["Boris", "Anna", "Vera"]
    refused = await people[3].post(f"/tables/{table}/seats", status=409)
    assert (refused["code"], refused["revision"]) == ("table_full", 4)


async def test_sitting_down_twice_under_one_key(sign_up):
    """A repeat under the same key gives the first answer, also when it comes late, after one has left; it seats nobody again."""
    anna = await sign_up()
    table = await opened(anna)
    first = await anna.post(f"/tables/{table}/seats", {"seat": 1}, key="one")
    await anna.delete(f"/tables/{table}/seats/me")
    assert await anna.post(f"/tables/{table}/seats", {"seat": 1}, key="one") == first
    assert (await anna.get(f"/tables/{table}"))["seats"][1]["player"] is None
    assert (await anna.post(f"/tables/{table}/seats", {"seat": 2}, key="one", status=422))["code"] == "idempotency_mismatch"


async def test_two_for_one_seat(sign_up):
    """Of two who want the last seat at the same time one gets it."""
    people = [await sign_up(name) for name in ("Anna", "Boris", "Vera", "Gleb")]
    table = await opened(people[0])
    for person in people[:2]:
        await person.post(f"/tables/{table}/seats")
    answers = await asyncio.gather(*(person.ask("POST", f"/tables/{table}/seats") for person in people[2:]))
    assert sorted(answer.status_code for answer in answers) == [201, 409]


async def test_standing_up(sign_up):
    """Who leaves frees his seat and is no longer ready; leaving twice changes nothing, and who never sat is told so (F17)."""
    anna, boris = await sign_up("Anna"), await sign_up("Boris")
    table = await opened(anna)
    await anna.post(f"/tables/{table}/seats")
    await anna.post(f"/tables/{table}/ready", status=200)
    left = await anna.delete(f"/tables/{table}/seats/me")
    assert left["seats"][0] == {"seat": 0, "player": None, "ready": False, "for_bot": False}
    assert (await anna.delete(f"/tables/{table}/seats/me"))["revision"] == left["revision"]
    assert (await boris.delete(f"/tables/{table}/seats/me", status=409))["code"] == "not_seated"


async def test_ready_without_a_seat(sign_up):
    """Only who sits can be ready."""
    anna = await sign_up()
    table = await opened(anna)
    assert (await anna.post(f"/tables/{table}/ready", status=403))["code"] == "not_seated"


async def test_all_are_ready(sign_up, log, table_service):
    """The last `ready` freezes terms and seats in `TableFilled`, waits for the pulka, and answers `playing`; then nobody leaves or sits."""
    people = [await sign_up(name) for name in ("Anna", "Boris", "Vera")]
    table = await filled(people, target=4)
    for person in people[:2]:
        assert (await person.post(f"/tables/{table}/ready", status=200))["status"] == "full"
    last = asyncio.create_task(people[2].post(f"/tables/{table}/ready", status=200))
    async for recorded in log.watch(address_of(table)):
        commit = decode(recorded.data)
        events = stored_lobby_events(commit)
        if isinstance(events[-1], TableFilled):
            break
    await table_service.open(table)
    answer = await last
    assert answer["status"] == answer["table"]["status"] == "playing"

    event = events[-1]
    assert event.seats == tuple(person.id for person in people)
    assert (event.players, event.target) == (3, 4)
    assert event.convention["preset"] == "sochi"
    assert event.terms == {**{name: DEFAULTS[name] for name in ("clock", "mode", "visibility", "spectators", "seating")}, "bots": 0}
    assert event.rules_digest == rules_digest(event.convention, 3, 4, event.terms)
    assert commit.correlation

    assert (await people[0].delete(f"/tables/{table}/seats/me", status=409))["code"] == "table_started"
    assert (await (await sign_up("Gleb")).post(f"/tables/{table}/seats", status=409))["code"] == "table_started"
    assert (await people[0].post(f"/tables/{table}/ready", status=200))["status"] == "playing"


async def test_ready_does_not_wait_for_ever(sign_up, monkeypatch):
    """When the table service does not begin the pulka in time, the last `ready` answers `starting`."""
    monkeypatch.setattr("services.lobby.table_api.READY_S", 0.1)
    people = [await sign_up(name) for name in ("Anna", "Boris", "Vera")]
    table = await filled(people)
    statuses = [(await person.post(f"/tables/{table}/ready", status=200))["status"] for person in people]
    assert statuses == ["full", "full", "starting"]


async def test_the_pulka_is_refused(sign_up, table_service, monkeypatch):
    """A table whose pulka was refused says so."""
    monkeypatch.setattr("services.lobby.table_api.READY_S", 0.1)
    people = [await sign_up(name) for name in ("Anna", "Boris", "Vera")]
    table = await filled(people)
    for person in people:
        await person.post(f"/tables/{table}/ready", status=200)
    await table_service.refuse(table)
    assert (await people[0].get(f"/tables/{table}"))["status"] == "refused"


async def test_closing(sign_up):
    """Only the host closes his table, and only before its pulka; nobody sits down any more. Nobody else has closed it either (F17)."""
    anna, boris = await sign_up("Anna"), await sign_up("Boris")
    table = await opened(anna)
    assert (await boris.delete(f"/tables/{table}", status=409))["code"] == "not_the_host"
    assert (await anna.delete(f"/tables/{table}"))["status"] == "closed"
    assert (await anna.delete(f"/tables/{table}"))["status"] == "closed"
    assert (await boris.delete(f"/tables/{table}", status=409))["code"] == "not_the_host"
    assert (await boris.post(f"/tables/{table}/seats", status=409))["code"] == "table_closed"


WAYS = [("GET", ""), ("DELETE", ""), ("POST", "/seats"), ("DELETE", "/seats/me"), ("POST", "/ready")]


async def test_no_such_table(sign_up):
    """A table that nobody opened, or an id that is none, is 404 for everything one may want of it."""
    anna = await sign_up()
    for table in ("0-" + "a" * 26, "nonsense", "9-x", "9-" + "a" * 26, "0-" + "A" * 26):
        for method, path in WAYS:
            answer = await anna.ask(method, f"/tables/{table}{path}", status=404)
            assert answer["code"] == "no_such_table"


async def test_seats_for_bots(sign_up, sign_up_bot):
    """The last seats are for bots: a human may not take them, a bot takes no others."""
    anna, boris, robot = await sign_up("Anna"), await sign_up("Boris"), await sign_up_bot()
    table = await opened(anna, bots=2)
    assert (await boris.post(f"/tables/{table}/seats", {"seat": 2}, status=409))["code"] == "seat_reserved"
    assert (await robot.post(f"/tables/{table}/seats", {"seat": 0}, status=409))["code"] == "seat_reserved"
    assert (await robot.post(f"/tables/{table}/seats"))["seat"] == 1
    assert (await anna.post(f"/tables/{table}/seats"))["seat"] == 0
    assert (await boris.post(f"/tables/{table}/seats", status=409))["code"] == "table_full"


async def test_a_token_that_only_reads(sign_up):
    """A token without the scope to play opens and takes nothing."""
    anna = await sign_up()
    weak = await anna.post("/tokens", {"scopes": ["read"]})
    anna.token = weak["token"]
    assert (await anna.post("/tables", {}, status=403))["code"] == "scope_missing"


def test_the_digest_of_the_rules():
    """The digest covers the convention, players, target and terms, whatever order they are written in."""
    sochi, terms = {"preset": "sochi", "version": 1}, {"mode": "enforced", "bots": 0}
    digest = rules_digest(sochi, 3, 10, terms)
    assert digest == rules_digest(dict(reversed(sochi.items())), 3, 10, dict(reversed(terms.items())))
    assert len({digest, rules_digest(sochi, 4, 10, terms), rules_digest(sochi, 3, 11, terms), rules_digest(sochi, 3, 10, {})}) == 4
