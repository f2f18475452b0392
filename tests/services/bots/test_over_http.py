"""Built-in players and the bot host against real services: everything they do goes through HTTP."""

import asyncio
import time

import pytest
from litestar import Litestar, get
from litestar.params import FromPath, FromQuery
from litestar.response import Stream

from services.bots.client import Api, ApiProblem, ApiUnreachable, connect
from services.bots.seated import Seated
from shared.web.streams.frames import Frame, as_ndjson, leaving
from tests.contracts.proxy import Proxy
from tests.served import served

pytestmark = pytest.mark.servers


class Watch:
    """What one seat's stream told: revisions in order, and what happened."""

    def __init__(self, then=lambda _revision: None):
        self.revisions, self.events, self._then = [], [], then

    def __call__(self, commit):
        self.revisions.append(commit["revision"])
        self.events += commit["events"]
        self._then(commit["revision"])

    def kinds(self, kind):
        return [event for event in self.events if event["type"] == kind]


async def play(apis, table, watches):
    """All seats to the end of the pulka; their last views."""
    async with asyncio.TaskGroup() as group:
        seats = [
            group.create_task(Seated(api, table, str(number), watch).play())
            for number, (api, watch) in enumerate(zip(apis, watches, strict=True))
        ]
        for api in apis:
            await api.ready(table)
    return [seat.result() for seat in seats]


async def test_a_pulka_is_played_through_http_alone(club, http):
    """Three players finish a pulka; nobody's time runs out, and every stream shows every commit once."""
    table, apis = await club.open(http, 3, convention="sochi", players=3, target=2)
    watches = [Watch() for _ in apis]
    views = await play(apis, table, watches)
    assert {view["status"] for view in views} == {"over"}
    assert sum(views[0]["settlement"]["rounded"]) == 0
    for watch in watches:
        assert watch.revisions == list(range(1, views[0]["revision"] + 1))
        assert not watch.kinds("TurnTimedOut")


async def test_cut_wires_cost_nothing(club):
    """With all connections cut again and again, the players resume where they were; no move is lost or made twice."""
    proxy = Proxy("127.0.0.1", club.settings.port)
    await proxy.open()
    cuts = asyncio.Queue()
    watch = Watch(lambda revision: cuts.put_nowait(revision) if revision % 15 == 0 else None)

    async def cut_and_mend():
        while await cuts.get():
            await proxy.cut()
            await proxy.open()

    cutting = asyncio.create_task(cut_and_mend())
    async with connect(f"http://127.0.0.1:{proxy.port}") as http:
        table, apis = await club.open(http, 3, convention="sochi", players=3, target=3)
        views = await play(apis, table, [watch, Watch(), Watch()])
    cutting.cancel()
    await proxy.cut()
    assert views[0]["status"] == "over"
    assert watch.revisions == list(range(1, views[0]["revision"] + 1))
    assert len(watch.revisions) > 30  # cut twice at least
    played = [(event["seat"], event["card"]) for event in watch.kinds("CardPlayed")]
    tricks = watch.kinds("TrickWon")
    assert len(played) == 3 * len(tricks)


async def test_a_lost_answer_is_asked_for_again(club, http):
    """A move whose answer never came is repeated under its key: it was made once, and the answer is the first one's."""
    table, apis = await club.open(http, 3, convention="sochi", players=3, clock={"move_s": 60, "cut_s": 60})
    for api in apis:
        await api.ready(table)
    async for frame in apis[0].frames(table):
        if frame.kind == "commit" and frame.data["events"][-1]["type"] == "DealStarted":
            break
    view = next(view for view in [await api.view(table) for api in apis] if view["legal"])
    proxy = Proxy("127.0.0.1", club.settings.port)
    await proxy.open()
    async with connect(f"http://127.0.0.1:{proxy.port}") as wire:
        behind = Api(wire, apis[view["seat"]].token)
        await behind.view(table)
        proxy.mute = True
        moving = asyncio.create_task(behind.move(table, {"type": "cut", "at": 9}, view["revision"]))
        await proxy.swallowed.wait()
        await proxy.cut()
        await proxy.open()
        assert await moving == view["revision"] + 1
    await proxy.cut()
    assert (await apis[0].view(table))["revision"] == view["revision"] + 1


async def test_a_stream_whose_instance_leaves_goes_on_elsewhere():
    """Whoever follows waits as long as they are asked to, and asks for what follows the last commit that came."""
    asked = []

    @get("/v1/tables/{table:str}/events")
    async def events(table: FromPath[str], after: FromQuery[int]) -> Stream:
        asked.append((table, after, time.monotonic()))
        frames = (
            [Frame("view", b'{"revision":0}', 0), Frame("commit", b'{"revision":1}', 1), leaving(None, 300)]
            if len(asked) == 1
            else [Frame("over", b'{"revision":1}')]
        )
        return Stream(as_ndjson(frame) for frame in frames)

    async with served(Litestar([events])) as running, connect(f"http://127.0.0.1:{running.port}") as wire:
        frames = [(frame.kind, frame.data["revision"]) async for frame in Api(wire).frames("0-a")]
    assert frames == [("view", 0), ("commit", 1), ("over", 1)]
    (*first, then), (*second, now) = asked
    assert (first, second) == (["0-a", 0], ["0-a", 1])
    assert 0.3 <= now - then < 3


@pytest.mark.parametrize(("players", "target"), [(2, 2), (3, 2), (5, 1)])
async def test_the_bot_host_fills_the_table_and_plays(club, http, players, target):
    """Somebody alone opens a private table of any size with bots; they sit down, are ready, and play it to the end."""
    service = club.host()
    await service.start()
    table, apis = await club.open(http, 1, convention="sochi", players=players, target=target, bots=players - 1, visibility="private")
    watch = Watch()
    views = await play(apis, table, [watch])
    assert views[0]["status"] == "over"
    assert not watch.kinds("TurnTimedOut")
    assert (await service.health())["status"] == "ok"
    await service.stop()


async def test_a_restarted_host_finds_its_seats(club, http):
    """A host that is stopped in mid-deal is gone within a second; the next one takes the same seats and plays on."""
    hosts = [club.host()]
    await hosts[0].start()
    table, apis = await club.open(http, 1, convention="sochi", players=3, target=2, bots=2)
    reached = asyncio.Event()
    watch = Watch(lambda revision: reached.set() if revision == 20 else None)
    playing = asyncio.create_task(play(apis, table, [watch]))
    await reached.wait()
    began = time.monotonic()
    await hosts[0].drain()
    await hosts[0].stop()
    assert time.monotonic() - began < 1.0
    hosts.append(club.host())
    await hosts[1].start()
    views = await playing
    await hosts[1].stop()
    assert views[0]["status"] == "over"
    assert len(watch.kinds("PulkaOpened")) == 1


async def test_a_problem_document_becomes_an_exception(club, http):
    """What the API refuses comes with status and code, and is not asked again."""
    _, (api,) = await club.open(http, 1, convention="sochi", players=3)
    with pytest.raises(ApiProblem) as refused:
        await api.open_table({"convention": "no such"})
    assert (refused.value.status, refused.value.code) == (400, "malformed")
    with pytest.raises(ApiProblem) as unknown:
        await anext(api.frames("0-" + "a" * 26))
    assert unknown.value.status == 404


async def test_nobody_there_is_said_so():
    """A client asks again for as long as it is patient, then says who does not answer."""
    async with connect("http://127.0.0.1:9") as http:  # discard: nothing listens there
        with pytest.raises(ApiUnreachable, match="does not answer"):
            await Api(http, patience=0.0).get("/v1/lobby/tables")
        with pytest.raises(ApiUnreachable, match="does not answer"):
            await anext(Api(http, patience=0.0).frames("0-" + "a" * 26))
