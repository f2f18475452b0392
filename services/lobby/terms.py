"""What a table agrees on before its pulka: the body of `POST /v1/lobby/tables`, and the terms that it is frozen into."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from shared.events.terms import Clock, Spectators
from shared.rules import convention as conventions
from shared.rules.amount import written
from shared.rules.refusal import Malformed, Refused
from shared.rules.seats import FEWEST, MOST
from shared.rules.stakes import read_stake

TARGET: Final = 10  # points a player: an evening's short pulka; the Code's own example (4.2.2) is 50
ENDS_BY_TARGET: Final = frozenset({"all_closed", "pool_sum"})  # values of `ends_when` that need a target

Target = Annotated[int, Meta(ge=1, le=500)]  # ten times the Code's own example


class OpenTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table as its host wants it (docs/formats.md). No `target`: 10 where the convention plays to one. `bots`: seats kept for bots."""

    convention: str | dict[str, Any] = "sochi"
    players: Annotated[int, Meta(ge=FEWEST, le=MOST)] = 3
    target: Target | None = None
    clock: Clock = Clock()
    mode: Literal["enforced", "adjudicated"] = "enforced"
    visibility: Literal["public", "private"] = "public"
    spectators: Spectators = Spectators()
    seating: Literal["chosen", "drawn"] = "chosen"
    stake: int | str | None = None
    bots: Annotated[int, Meta(ge=0, lt=MOST)] = 0  # one seat is the host's


class Terms(msgspec.Struct, frozen=True):
    """The agreed terms, resolved: `convention` the full record, `terms` what is agreed besides it."""

    convention: dict[str, Any]
    players: int
    target: int | None
    terms: dict[str, Any]
    bots: int


def agree(wanted: OpenTable) -> Terms | Refused:
    """The terms that `wanted` comes to. Raises `Malformed` with the path of what cannot be; refuses what is not offered yet."""
    if wanted.bots >= wanted.players:
        raise Malformed("bots", f"at most {wanted.players - 1} of {wanted.players} seats may be kept for bots")
    convention = conventions.resolve(wanted.convention, wanted.target)
    target = wanted.target
    if target is None and convention.ends_when in ENDS_BY_TARGET:
        target = TARGET
        convention = conventions.resolve(wanted.convention, target)
    if wanted.mode == "adjudicated":
        return Refused("mode_not_offered", "", "Adjudicated tables are not offered yet; the rules are enforced at every table.")
    terms: dict[str, Any] = {
        "clock": msgspec.to_builtins(wanted.clock),
        "mode": wanted.mode,
        "visibility": wanted.visibility,
        "spectators": msgspec.to_builtins(wanted.spectators),
        "bots": wanted.bots,
        "seating": wanted.seating,
    }
    if wanted.stake is not None:
        terms["stake"] = written(read_stake(wanted.stake, "stake"))
    return Terms(conventions.record(convention), wanted.players, target, terms, wanted.bots)
