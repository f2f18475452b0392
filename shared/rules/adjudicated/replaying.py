"""`pulka replay` of an adjudicated deal: its moves, each by a seat or the arbiter, by the adjudicated decider (deploy/docs/deal-record.md).

A move that has a `seat` field of its own (`call_attention`, `remedy`, `ruling`) names who made it under `by`; without `by`, `seat` is the
maker and the field is left out. There is no clock: `at` (milliseconds) may stand with any move, and a deal whose moves end when its result
waits to be confirmed is scored, as after the pause.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, TypeAlias

import msgspec

from shared.rules.adjudicated.court import ARBITER, Court, CourtTerms, Maker
from shared.rules.adjudicated.decider import decide, evolve, open_court, pause_over
from shared.rules.deal.decider import Deal, first_events
from shared.rules.language.documents import convert
from shared.rules.language.game_events import AllPassed, AuctionWon, Event
from shared.rules.language.moves import CallAttention, CourtMove, Remedy, Ruling
from shared.rules.language.refusal import Malformed, Refused

Document: TypeAlias = dict[str, Any]
LATEST = 10**15  # milliseconds since 1970: thirty thousand years


class RecordedMove(msgspec.Struct, frozen=True):
    """A move of a record, who made it, and when, if somebody knows."""

    maker: Maker
    move: CourtMove
    at: int | None = None


def read_move(entry: Document, players: int, path: str) -> RecordedMove:
    """`entry` of a record. Raises `Malformed` with the place of what is wrong."""
    fields = dict(entry)
    at = fields.pop("at", None)
    if at is not None and (type(at) is not int or not 0 <= at <= LATEST):
        raise Malformed(f"{path}.at", "must be milliseconds")
    has_seat = fields.get("type") in _WITH_SEAT
    name = "by" if "by" in fields else "seat"
    if name == "seat" and fields.get("type") == "ruling":
        maker: Any = ARBITER
    elif name not in fields:
        raise Malformed(f"{path}.seat", "is required")
    else:
        maker = fields.pop(name)
    if name == "by" and not has_seat:
        raise Malformed(f"{path}.by", "stands only with a move that has a `seat` of its own")
    if maker != ARBITER and (type(maker) is not int or not 0 <= maker < players):
        raise Malformed(f"{path}.{name}", f'must be 0 to {players - 1}, or "{ARBITER}"')
    move: CourtMove = convert(fields, CourtMove, path)  # type: ignore[arg-type]  # a union of structs is a type to msgspec, not to mypy
    if isinstance(move, _MOVES_WITH_SEAT) and move.seat is not None and move.seat >= players:
        raise Malformed(f"{path}.seat", f"must be 0 to {players - 1}")
    return RecordedMove(maker, move, at)


_MOVES_WITH_SEAT = (CallAttention, Remedy, Ruling)
_WITH_SEAT = ("call_attention", "remedy", "ruling")


def write_move(recorded: RecordedMove) -> Document:
    """The entry that `read_move` reads."""
    fields: Document = msgspec.to_builtins(recorded.move)
    name = "by" if isinstance(recorded.move, _MOVES_WITH_SEAT) else "seat"
    return {name: recorded.maker, **fields} | ({} if recorded.at is None else {"at": recorded.at})


def play_through(
    deal: Deal, terms: CourtTerms, moves: tuple[RecordedMove, ...], entropy: str, noted: tuple[Event, ...] = ()
) -> tuple[Court, list[Event], int, Refused | None]:
    """The court after the moves, all events, and where and why one was refused, if it was.

    `noted` happens with the end of the auction: how the sheet of the deal before stands then (4.2.9, 4.2.10).
    """
    events: list[Event] = list(first_events(deal))
    court = reduce(evolve, events, open_court(deal, terms, entropy))
    for index, recorded in enumerate(moves):
        decided = decide(court, recorded.maker, recorded.move, recorded.at)
        if isinstance(decided, Refused):
            return court, events, index, decided
        if any(isinstance(event, AuctionWon | AllPassed) for event in decided):
            decided = (*decided, *noted)
        for event in decided:
            court = evolve(court, event)
        events += decided
    scored = pause_over(court)
    for event in scored:
        court = evolve(court, event)
    return court, [*events, *scored], len(moves), None
