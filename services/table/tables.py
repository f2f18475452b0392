"""Commands on tables: load, decide, append. What they decide is `table.py`'s and the rules'; what stands here is how it becomes durable."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable

import msgspec

from services.table import signed_moves
from services.table.server_chain import ServerChains
from services.table.table import ARCHIVED, RECORDED, Table, TableBooks, Turn, fold, initial, move, stands_alone, time_out
from shared.eventlog.aggregates.aggregates import CAPACITY, Aggregates, Committed, Loaded, Nothing, RefusedAt, Request
from shared.eventlog.port import EventLog
from shared.events import address
from shared.events.sealing import TableCodec
from shared.rules.convention.options import Convention
from shared.rules.deck.shuffle import framed
from shared.rules.language.game_events import Event, PulkaRefused
from shared.rules.language.moves import AnyMove
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka, StartDeal
from shared.rules.pulka.imported import PulkaRecorded
from shared.rules.pulka.links import Opened

Result = Committed[Table, Event] | RefusedAt | Nothing[Table]


def new_server_seed() -> str:
    """The server's part in a deal: 32 bytes as hex, which nobody can know beforehand."""
    return secrets.token_hex(32)


def digest_of(opened: Opened) -> str:
    """A name for links that are opened together: any instance that has the same gives them the same."""
    return hashlib.sha256(framed(*(part for pair in sorted(opened) for part in pair))).hexdigest()[:32]


class Tables:
    """Commands on tables. Every answer is about what the log has stored; a repeat of a command gives the first answer again."""

    def __init__(
        self, log: EventLog, codec: TableCodec, capacity: int = CAPACITY, *,
        server_seed: Callable[[], str] = new_server_seed, entropy: Callable[[], bytes] | None = None,
    ) -> None:  # fmt: skip
        self.log = log
        self.codec = codec
        self._server_seed = server_seed
        self._chains = ServerChains(codec, server_seed)
        self._aggregates: Aggregates[Table, Event] = Aggregates(
            log, codec, initial, fold, books=TableBooks(codec), capacity=capacity, shared=(Convention,), entropy=entropy, alone=stands_alone
        )
        self.cache = self._aggregates.cache
        self.kept = self._aggregates.kept

    async def load(self, table_id: str, *, at_leader: bool = False, confirmed: bool = False) -> Loaded[Table]:
        """The table now, from the cache or the log; `revision` 0 when there is none. See `Aggregates.load`."""
        return await self._aggregates.load(address.table(table_id), at_leader=at_leader, confirmed=confirmed)

    async def open(self, table_id: str, terms: OpenPulka, now: int, cause: str | None) -> Result:
        """Begin the pulka of a table that the lobby filled; done already counts as done."""
        request = self._own_request(f"open:{table_id}", now, cause)
        return await self._aggregates.transact(
            address.table(table_id), request, lambda loaded, _: match.open_pulka(loaded.state.pulka, terms)
        )

    def promised(self, table_id: str, terms: OpenPulka, ends: tuple[str, ...]) -> OpenPulka:
        """`terms` with the chains by which nobody can choose a deck: the server's, and those of the players whose `ends` are known."""
        chains, link = self._chains.begin(address.table(table_id), ends)
        return msgspec.structs.replace(terms, draw_seed=link, chains=chains)

    async def refuse(self, table_id: str, refused: Refused, now: int, cause: str | None) -> Result:
        """Record that the pulka cannot begin on these terms."""
        request = self._own_request(f"open:{table_id}", now, cause)
        event = PulkaRefused(refused.code, refused.message)
        return await self._aggregates.transact(address.table(table_id), request, lambda loaded, _: () if loaded.revision else (event,))

    async def import_pulka(self, table_id: str, event: PulkaRecorded, request: Request) -> Result:
        """Write down a pulka that was played elsewhere, at a table that has no commit yet; anything else it refuses."""
        return await self._aggregates.transact(
            address.table(table_id),
            request,
            lambda loaded, _: ARCHIVED if loaded.state.archived else RECORDED if loaded.revision else (event,),
        )

    async def start_deal(self, table_id: str, number: int, now: int) -> Result:
        """Start deal `number`, if it is the next one and none is in progress; or settle the pulka, if that is what comes next."""
        request = self._own_request(f"deal:{number}", now, None)
        where, seed = address.table(table_id), self._server_seed()

        def decided(loaded: Loaded[Table], _: int) -> tuple[Event, ...]:
            pulka = loaded.state.pulka
            due = pulka.chains.server is not None and match.deal_is_due(pulka) and number == pulka.number + 1
            return match.start_deal(pulka, self._chains.deal(where, pulka, number) if due else StartDeal(number, seed))

        return await self._aggregates.transact(where, request, decided)

    async def open_links(self, table_id: str, opened: Opened, now: int) -> Result:
        """Links that came together, in one commit; refused where one of them does not fit."""
        request = self._own_request(f"links:{digest_of(opened)}", now, None)
        return await self._aggregates.transact(
            address.table(table_id), request, lambda loaded, _: match.open_links(loaded.state.pulka, opened)
        )

    async def move(
        self, table_id: str, player: str, wanted: AnyMove, if_match: int | None, request: Request, signature: str = ""
    ) -> Result:
        """One move of `player`, with their signature if they sign. At an adjudicated table it is decided ahead, beside the loop: what open
        cards prove can take seconds.
        """
        where = address.table(table_id)
        loaded = await self._aggregates.load(where)
        given = signed_moves.signed(loaded.state, player, wanted, signature)
        command = request if given is None else msgspec.structs.replace(request, signed=given)
        before, then, ahead = loaded.state, max(request.now, loaded.at), None
        if before.terms.mode != "enforced":
            ahead = await asyncio.to_thread(move, before, player, wanted, if_match, then)

        def decided(now: Loaded[Table], at: int) -> tuple[Event, ...] | Refused:
            refused = signed_moves.refusal(now, player, wanted, given)
            if refused is not None:
                return refused
            return ahead if ahead is not None and now.state is before and at == then else move(now.state, player, wanted, if_match, at)

        return await self._aggregates.transact(where, command, decided)

    async def after_the_end(self, table_id: str, decide: Callable[[Pulka], tuple[Event, ...] | Refused], request: Request) -> Result:
        """What somebody who is entitled to it decides about a settled pulka (`shared.rules.pulka.corrections`)."""
        return await self._aggregates.transact(
            address.table(table_id), request, lambda loaded, _: ARCHIVED if loaded.state.archived else decide(loaded.state.pulka)
        )

    async def time_out(self, table_id: str, turn: Turn, now: int) -> Result:
        """Make the default move for a turn, if it still waits."""
        request = self._own_request(f"timeout:{turn.revision}", now, None, actor="clock")
        return await self._aggregates.transact(address.table(table_id), request, lambda loaded, at: time_out(loaded.state, turn, at))

    async def drain(self) -> None:
        """Wait for the commands that have begun."""
        await self._aggregates.drain()

    def _own_request(self, command_id: str, now: int, cause: str | None, actor: str = "service") -> Request:
        """A command of the service itself: its id says all there is to it, so that any instance may send it twice."""
        return Request(command_id=command_id, actor=actor, digest="", now=now, cause=cause)
