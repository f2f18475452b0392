"""A table in a world of instances that race, fall and come again; players who insist, clocks, viewers; and what must hold at the end."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Coroutine
from contextlib import aclosing
from itertools import count
from typing import Any

from services.bots.chain import OwnChain
from services.table.clocks.clocks import Clocks
from services.table.clocks.memory import MemoryClockStore, MemoryRows
from services.table.clocks.outages import Outages
from services.table.link_gathering import LinkGathering
from services.table.next_deals import NextDeals
from services.table.table import deadline, fold, initial
from services.table.tables import Tables
from services.table.viewer_stream import Reader
from shared.eventlog.aggregates.aggregates import Committed, Nothing, QueueFull, Request
from shared.eventlog.memory import MemoryStore
from shared.eventlog.port import LogError, Stored
from shared.events import address
from shared.events.address import new_id
from shared.events.chain import verify_chain
from shared.events.commit import decode, hash_of
from shared.events.deal_proof import verify_deals
from shared.events.keys import MasterKeys
from shared.events.redaction import PublicCodec
from shared.events.sealing import TableCodec
from shared.rules.convention.options import resolve
from shared.rules.language.chain_events import LinkMissed, LinkOpened
from shared.rules.language.game_events import TurnTimedOut
from shared.rules.language.moves import OpenLink
from shared.rules.pulka import decider as match
from shared.rules.pulka import links, rounds
from shared.rules.pulka.decider import OpenPulka
from shared.web.auth import Caller
from tests.simulation.faulty import FaultyLog
from tests.simulation.loop import SimulatedLoop, in_part

KEYS = MasterKeys((("tests", bytes(range(32))),))
KNOWN = TableCodec(KEYS)
TABLE_ID = new_id(bytes(range(17)))
WHERE = address.table(TABLE_ID)
PLAYERS = ("ann", "ben", "cid")
BEGAN = 1_764_000_000_000  # milliseconds since 1970, when a world begins
PATIENCE = 4.0  # seconds after which a player sends the same move again
STEPS = 400_000  # of a world at the most
FAULTS = (0.02, 0.1, 0.25)  # of a world each: a bad day, a worse one, and one that no set-up survives for long
PASSING = (LogError, QueueFull, TimeoutError)


class Instance:
    """One life of a table service."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        lot = random.Random(f"{world.seed} {name}")
        capacity = lot.choice((0, 1 << 20))
        self.tables = Tables(
            FaultyLog(world.store, lot, world.faults),
            TableCodec(KEYS),
            capacity,
            server_seed=lambda: lot.randbytes(32).hex(),
            entropy=lambda: lot.randbytes(32),
        )
        outages = Outages()
        self.next_deals = NextDeals(self.tables, world.now)
        self.links = LinkGathering(self.tables, world.now)
        self.reader = Reader(self.tables, PublicCodec(KEYS), world.now, outages.credit)
        store = MemoryClockStore(world.rows)
        self.clocks = Clocks(self.tables, store, (WHERE.stream,), world.now, self.next_deals.after, world.loop.time, outages, holder=name)

    async def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What `work` comes to as a step of this instance, as far as somebody outside hears of it within his patience."""
        async with asyncio.timeout(PATIENCE):
            return await asyncio.shield(in_part(self.world.loop, self.name, work))


class World:
    """All of it. `faults`: the chance that a request to the log meets one."""

    def __init__(self, seed: int, *, deals: int = 2, faults: float = 0.05) -> None:
        self.seed = seed
        self.rows = MemoryRows(self.now)
        self.lot = random.Random(seed)
        self.loop = SimulatedLoop(random.Random(seed + 1))
        self.store = MemoryStore()
        self.faults = faults
        self.deals = deals
        self.acknowledged: dict[str, Committed[Any, Any]] = {}
        self.opened: set[tuple[int, str]] = set()  # links that were acknowledged
        self.chains = [OwnChain.of(TABLE_ID, f"{seed} {player}") for player in PLAYERS] if seed % 2 else []
        self.frames: dict[int, dict[int, bytes]] = {}
        self.kills = 0
        self._names = count()
        self.instances = [self.life(place) for place in range(2)]

    @property
    def stored(self) -> list[Stored]:
        """The table's commits."""
        return self.store.aggregate(WHERE)

    @property
    def commits(self) -> int:
        """How many there are."""
        return len(self.stored)

    def now(self) -> int:
        """Milliseconds since 1970."""
        return BEGAN + int(1000 * self.loop.time())

    def life(self, place: int) -> Instance:
        """A new life of the instance at one place."""
        return Instance(self, f"instance {place}, life {next(self._names)}")

    def run(self) -> None:
        """Play, then check."""
        try:
            self.loop.run(self.play(), STEPS)
            self.check()
        finally:
            self.loop.end()

    async def play(self) -> None:
        """Until so many deals are over."""
        opening = OpenPulka(resolve("sochi", 50), "00" * 32, 3, 50, PLAYERS, {"clock": {"move_s": 5, "cut_s": 5}}, self.lot.randrange(12))
        await self.insist(lambda instance: self.begun(instance, opening))
        self.rows.runs(TABLE_ID, 5_000)
        for instance in self.instances:
            in_part(self.loop, instance.name, instance.clocks.begin())
        doing = [self.loop.create_task(self.player(seat)) for seat in range(3)]
        doing += [self.loop.create_task(one) for one in (self.killer(), self.forgetter(), self.silencer())]
        doing += [self.loop.create_task(self.viewer(seat)) for seat in range(3)]
        while match_of(self.store).number <= self.deals:
            await asyncio.sleep(1.0)
            broken = [task for task in doing if task.done()]
            assert not broken, broken[0].exception()
        viewers = doing[-3:]
        for task in doing[:-3]:
            task.cancel()
        for instance in self.instances:
            instance.tables.log.calm()
        await asyncio.sleep(20.0)  # what is under way ends
        async with asyncio.timeout(60.0):  # viewers have seen all, and nothing is left hanging
            while any(len(seen) < self.commits for seen in self.frames.values()):  # noqa: ASYNC110 - of simulated time
                await asyncio.sleep(1.0)
        for task in viewers:
            task.cancel()

    async def begun(self, instance: Instance, opening: OpenPulka) -> Any:
        """The pulka, in every second world with chains, of all players or of two."""
        ends = tuple(chain.end if self.seed % 4 == 1 or seat else "" for seat, chain in enumerate(self.chains))
        terms = instance.tables.promised(TABLE_ID, opening, ends) if ends else opening
        outcome = await instance.tables.open(TABLE_ID, terms, self.now(), None)
        instance.next_deals.after(outcome)
        return outcome

    async def link(self, seat: int, number: int) -> None:
        """Opens the link that is asked for; what was acknowledged is in the log."""
        pulka = match_of(self.store)
        shown = {"chains": links.document(pulka.chains, rounds.present(pulka)), "seat": seat}
        link = self.chains[seat].link(shown)
        if link is None:
            return
        sent = Request(f"{PLAYERS[seat]}-{number}", PLAYERS[seat], link, self.now())
        answer = await self.insist(lambda at: self.linked(at, seat, OpenLink(link), sent))
        if isinstance(answer, Committed | Nothing):
            self.opened.add((seat, link))

    async def linked(self, instance: Instance, seat: int, wanted: OpenLink, sent: Request) -> Any:
        """One link at one instance, and what is due after it."""
        outcome = await instance.links.open(TABLE_ID, PLAYERS[seat], wanted, sent)
        instance.next_deals.after(outcome)
        return outcome

    async def insist(self, make: Any) -> Any:
        """Send until an answer comes that is sure, each time to some instance."""
        while True:
            instance = self.lot.choice(self.instances)
            try:
                return await instance.call(make(instance))
            except PASSING:
                await asyncio.sleep(self.lot.random())

    async def player(self, seat: int) -> None:
        """Moves when it is their turn, by what the log says; sends the same again until the answer is sure; now and then is away."""
        for number in count():
            await asyncio.sleep(self.lot.random())
            if self.lot.random() < 0.02:
                await asyncio.sleep(self.lot.random() * 12)  # long enough for a turn to run out
            pulka = match_of(self.store)
            if seat in pulka.chains.waiting:
                await self.link(seat, number)
                continue
            if match.phase(pulka) in {"between_deals", "over"} or match.to_act(pulka) != seat:
                continue
            wanted = self.lot.choice(match.legal_moves(pulka, seat))
            key = f"{PLAYERS[seat]}-{number}"
            sent = Request(key, PLAYERS[seat], repr(wanted), self.now())
            answers = [await self.insist(lambda at, wanted=wanted, sent=sent: self.moved(at, seat, wanted, sent))]
            if self.lot.random() < 0.2:  # once more, as a client does that has not seen the answer
                answers.append(await self.insist(lambda at, wanted=wanted, sent=sent: self.moved(at, seat, wanted, sent)))
            for answer in answers:
                if isinstance(answer, Committed):
                    known = self.acknowledged.setdefault(key, answer)
                    assert (known.stored, known.hash) == (answer.stored, answer.hash), key
            accepted = [isinstance(answer, Committed) for answer in answers]
            assert accepted == sorted(accepted), key  # a refusal is not remembered; what was accepted stays so

    async def moved(self, instance: Instance, seat: int, wanted: Any, sent: Request) -> Any:
        """One move at one instance, and the deal that is due after it."""
        outcome = await instance.tables.move(TABLE_ID, PLAYERS[seat], wanted, None, sent)
        instance.next_deals.after(outcome)
        return outcome

    async def killer(self) -> None:
        """Ends an instance between any two steps, and begins a new life of it."""
        while True:
            await asyncio.sleep(self.lot.expovariate(1 / 8))
            place = self.lot.randrange(len(self.instances))
            self.loop.kill(self.instances[place].name)
            self.kills += 1
            self.instances[place] = self.life(place)
            in_part(self.loop, self.instances[place].name, self.instances[place].clocks.begin())

    async def silencer(self) -> None:
        """Cuts one instance, or all, off the log for a while; nobody can move then, and turns get that time back."""
        while True:
            await asyncio.sleep(self.lot.expovariate(1 / 15))
            cut = self.instances if self.lot.random() < 0.3 else [self.lot.choice(self.instances)]
            logs = [instance.tables.log for instance in cut]
            for log in logs:
                log.disconnect()
            await asyncio.sleep(self.lot.random() * 8)
            for log in logs:
                log.reconnect()

    async def forgetter(self) -> None:
        """Loses snapshots."""
        kept = self.store.snapshots.kept
        while True:
            await asyncio.sleep(self.lot.expovariate(1 / 5))
            for part in [part for part in kept if self.lot.random() < 0.5]:
                del kept[part]

    async def viewer(self, seat: int) -> None:
        """Follows the table from one seat, resuming at some instance whenever the stream ends or its instance falls."""
        seen = self.frames.setdefault(seat, {})
        while True:
            instance = self.lot.choice(self.instances)
            try:
                await instance.call(self.watched(instance, seat, seen))
            except PASSING:
                await asyncio.sleep(self.lot.random())

    async def watched(self, instance: Instance, seat: int, seen: dict[int, bytes]) -> None:
        """One stream of one viewer: each commit comes once and in order."""
        last = max(seen, default=0)
        frames = await instance.reader.frames(TABLE_ID, caller_at(seat), last, follow=True)
        async with aclosing(frames):
            async for frame in frames:
                if frame.event == "commit":
                    assert frame.id == last + 1, (frame.id, last)
                    last = frame.id
                    assert seen.setdefault(last, frame.data) == frame.data

    # ---- what must hold --------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Nothing acknowledged is lost or doubled, a turn runs out once and not before its time, every viewer saw the log."""
        assert not self.loop.wrong, self.loop.wrong[0]
        lying = self.stored
        assert verify_chain([stored.data for stored in lying], WHERE.subject).problems == ()
        commits = [decode(stored.data) for stored in lying]
        assert [finding for report in verify_deals(commits) for finding in report.problems] == []
        keys = Counter((commit.actor, commit.command_id) for commit in commits)
        assert keys.most_common(1)[0][1] == 1, keys.most_common(1)
        by_key = {commit.command_id: stored for commit, stored in zip(commits, lying, strict=True)}
        for key, answer in self.acknowledged.items():
            assert by_key[key] == answer.stored
            assert hash_of(answer.stored.data) == answer.hash
        told = {(event.seat, event.link) for commit in commits for event in KNOWN.open(commit) if isinstance(event, LinkOpened)}
        assert told >= self.opened
        self.check_time_outs(commits)
        self.check_viewers()

    def check_time_outs(self, commits: list[Any]) -> None:
        """Each at or after the deadline that it names, which is its turn's; a turn has one culprit at most."""
        table, codec, turns = initial(WHERE), TableCodec(KEYS), Counter[int]()
        for commit in commits:
            events = codec.open(commit)
            for event in events:
                if isinstance(event, LinkMissed):
                    assert deadline(table) <= commit.at
                if isinstance(event, TurnTimedOut):
                    assert event.deadline == deadline(table)
                    assert event.deadline + event.credit <= commit.at
                    assert event.seat == match.to_act(table.pulka)
                    turns[table.turn_revision] += 1
            table = fold(table, commit, events)
        assert max(turns.values(), default=1) == 1

    def check_viewers(self) -> None:
        """The frames of each are what a world without faults shows of the same log."""
        quiet = World(self.seed, faults=0.0)
        quiet.store = self.store

        async def shown(seat: int) -> dict[int, bytes]:
            frames = await Instance(quiet, "quiet").reader.frames(TABLE_ID, caller_at(seat), 0, follow=False)
            return {frame.id: frame.data async for frame in frames if frame.event == "commit"}

        for seat, seen in self.frames.items():
            whole = quiet.loop.run(shown(seat), STEPS)
            assert seen == {revision: whole[revision] for revision in range(1, len(seen) + 1)}
        assert json.loads(whole[1])["revision"] == 1


def deals_of(seed: int) -> int:
    """How many deals the world of a seed plays."""
    return 1 + seed % 4


def match_of(store: MemoryStore) -> Any:
    """The pulka as the log has it now: what a player knows who follows it."""
    table, codec = initial(WHERE), TableCodec(KEYS)
    for stored in store.aggregate(WHERE):
        commit = decode(stored.data)
        table = fold(table, commit, codec.open(commit))
    return table.pulka


def caller_at(seat: int) -> Caller:
    """The player who sits there, reading."""
    return Caller(PLAYERS[seat], frozenset({"play", "read"}), 1 << 40)
