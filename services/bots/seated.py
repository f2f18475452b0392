"""A player at one table: watches the stream, and moves whenever it is their turn, until the pulka is over."""

from __future__ import annotations

import contextlib
import hashlib
import random
from collections.abc import Callable
from typing import Any, Final

import msgspec
import structlog

from services.bots.attention import calls
from services.bots.chain import OwnChain
from services.bots.client import Api, ApiProblem
from services.bots.player import choose
from services.bots.recollection import Memory

OVER: Final = ("over", "refused")
#: Refusals that leave the game as it is: by a rule or a lost race (409), or since the turn has moved on (412). The player looks again.
_LOOK_AGAIN: Final = frozenset({409, 412})
MOVES_SEATS: Final = frozenset({"SeatsDrawn", "NewcomerSeated", "SubstituteSeated"})
_ATTEMPTS: Final = 3  # at one turn: more refusals than races explain mean that the players and the rules disagree; then the clock decides

log = structlog.get_logger("bots")


class Seated:
    """One seat of one table, played to the end by `play`. `watch` is told every commit frame's data, in order.

    What it does follows from `seed`, the revision at which it looked and what the stream told, and so does the key under which it does
    it: two that play one seat, each from the table's first commit, do the same once.
    """

    def __init__(
        self, api: Api, table: str, seed: str, watch: Callable[[dict[str, Any]], None] | None = None, chain: OwnChain | None = None
    ) -> None:
        self._api = api
        self._table = table
        self._seed = seed
        self._watch = watch
        self._chain = chain
        self._opened = 0  # the revision at which our link was last acknowledged
        self._memory = Memory()
        self._seat: int | None = None
        self._turn: dict[str, Any] | None = None  # a view in which it is our turn
        self._looked = 0  # the revision of the last look at the table: what is not newer brings nothing

    async def play(self) -> dict[str, Any]:
        """Play until the pulka is over; the last view. Raises what `Api` raises for a table that cannot be played."""
        heard = 0  # the revision up to which the stream has told everything
        async for frame in self._api.frames(self._table):
            match frame.kind:
                case "view" if frame.data["status"] in OVER:
                    return frame.data
                case "view":
                    self._seat = frame.data["seat"]
                    if self._turn is None and frame.data["revision"] > self._looked:
                        await self._look()
                case "commit":
                    heard = frame.data["revision"]
                    if self._hear(frame.data):
                        break
                    await self._call_attention(frame.data)
                    if self._turn is None and heard > self._looked and self._may_have_turn(frame.data):
                        await self._look()
                case "heartbeat":  # a quiet table: whatever a lost answer has left open is found again
                    await self._look()
            # a turn is taken once the stream has told all that led to it, so that nothing played is missing from memory
            if self._turn is not None and self._turn["revision"] <= heard:
                await self._act()
        return await self._api.view(self._table)

    def _hear(self, commit: dict[str, Any]) -> bool:
        """Remember a commit; whether it ended the pulka."""
        self._memory = self._memory.after(commit["events"])
        self._left_out(commit)
        if any(event["type"] in MOVES_SEATS for event in commit["events"]):
            self._seat = None  # known again by the next look
        if self._watch is not None:
            self._watch(commit)
        return any(event["type"] in ("PulkaClosed", "PulkaRefused") for event in commit["events"])

    def _may_have_turn(self, commit: dict[str, Any]) -> bool:
        events = commit["events"]
        return self._seat is None or not events or self._memory.may_have_turn(self._seat, events[-1])

    async def _call_attention(self, commit: dict[str, Any]) -> None:
        """Point out what the other side did wrong; somebody else may have been faster, or it is too late: then nothing happens."""
        for move in calls(commit["events"], self._memory, self._seat) if self._seat is not None else ():
            try:
                await self._move(move, None, commit["revision"])
            except ApiProblem as problem:
                if problem.status not in _LOOK_AGAIN:
                    raise
                log.info("bot_call_refused", table=self._table, code=problem.code)

    async def _look(self) -> None:
        view = await self._api.view(self._table)
        self._seat, self._looked = view["seat"], view["revision"]
        if view["status"] == "playing" and view["seat"] is not None:
            await self._oblige(view)
        if self._chain is not None and view["seat"] is not None and view["status"] == "playing":
            await self._take_part(view, self._chain)
        self._turn = view if view["seat"] is not None and view["legal"] and view["phase"] != "links" else None

    async def _oblige(self, view: dict[str, Any]) -> None:
        """A built-in player consents to whatever the others want, and is always ready to go on."""
        asked = view["consent"] is not None and view["seat"] in view["consent"]["waiting"]
        waited_for = view["adjourned"] and not view["ready"][view["seat"]]
        for wanted, move in ((asked, {"type": "answer", "accept": True}), (waited_for, {"type": "ready"})):
            if wanted:
                with contextlib.suppress(ApiProblem):  # somebody has refused meanwhile, or it was agreed
                    await self._move(move, view["revision"], view["revision"])

    async def _take_part(self, view: dict[str, Any], chain: OwnChain) -> None:
        """Promise the chain where the table does not know it, and open the link that it asks for."""
        link = chain.link(view) if view["phase"] == "links" and view["legal"] else None
        if link is None and not chain.wanted(view):
            return
        move = {"type": "commit", "end": chain.end} if link is None else {"type": "link", "link": link}
        with contextlib.suppress(ApiProblem):  # the time is over, or it is known already; the next look tells
            revision = await self._move(move, None, view["revision"])
            self._opened = revision if link else self._opened

    def _left_out(self, commit: dict[str, Any]) -> None:
        """Whoever opened their link and is named as silent was wronged, and can show it."""
        missed = any(event["type"] == "LinkMissed" and event["seat"] == self._seat for event in commit["events"])
        if missed and self._opened:
            log.error("link_left_out", table=self._table, revision=commit["revision"], acknowledged=self._opened)
        if any(event["type"] in ("CardsDealt", "DealerDrawn") for event in commit["events"]):
            self._opened = 0

    async def _act(self) -> None:
        """Move until it is done or the turn is another's; the commit comes back by the stream and shows what is next."""
        attempts = 0
        while self._turn is not None:
            view = self._turn
            chance = random.Random(f"{self._seed} {view['revision']} {attempts}")  # noqa: S311 - a game
            move = choose(view, chance, self._memory) if attempts < _ATTEMPTS - 1 else dict(view["legal"][0])
            attempts += 1
            try:
                await self._move(move, view["revision"], view["revision"])
            except ApiProblem as problem:
                if problem.status not in _LOOK_AGAIN:
                    raise
                log.info("bot_move_refused", table=self._table, code=problem.code, phase=view["phase"])
                await self._look()
                if attempts >= _ATTEMPTS:
                    self._turn = None
            else:
                self._turn = None

    async def _move(self, move: dict[str, Any], seen: int | None, at: int) -> int:
        """Make a move as seen at a revision; the same move `at` the same revision has the same key. The revision that it made."""
        told = f"{self._api.player} {at} ".encode() + msgspec.json.encode(move, order="sorted")
        return await self._api.move(self._table, move, seen, f"bot-{hashlib.sha256(told).hexdigest()[:40]}")
