"""What a table agrees on before its pulka: the body of `POST /v1/lobby/tables`, and the terms that it is frozen into."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from shared.events.address import is_id
from shared.events.terms import ORDER_PAUSE_S, PAUSE_S, Clock, OrderPause, Seconds, Spectators
from shared.rules.convention import options as conventions
from shared.rules.deck.seats import FEWEST, MOST
from shared.rules.language.amount import written
from shared.rules.language.refusal import Malformed, Refused
from shared.rules.scoring.settlement import agreed_ending, ends_by_target, minutes_to_play
from shared.rules.scoring.stakes import read_stake

TARGET: Final = 10  # points a player: an evening's short pulka; the Code's own example (4.2.2) is 50
#: Terms of adjudicated tables, with what they are where the host says nothing.
ADJUDICATED: Final[dict[str, Any]] = {
    "attention": "players",
    "entries": "automatic",
    "arbiter": None,
    "pause_s": PAUSE_S,
    "order_pause_s": ORDER_PAUSE_S,
}

Target = Annotated[int, Meta(ge=1, le=500)]  # ten times the Code's own example


class OpenTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table as its host wants it (deploy/docs/http.md: Lobby). No `target`: 10 where the convention plays to one. `bots`: seats for bots.

    `attention`, `entries`, `arbiter`, `pause_s` and `order_pause_s` are terms of adjudicated tables only.
    """

    convention: str | dict[str, Any] = "sochi"
    players: Annotated[int, Meta(ge=FEWEST, le=MOST)] = 3
    target: Target | None = None
    clock: Clock = Clock()
    mode: Literal["enforced", "adjudicated"] = "enforced"
    attention: Literal["players", "server"] | None = None
    entries: Literal["automatic", "by_hand"] | None = None
    arbiter: str | None = None
    pause_s: Seconds | None = None
    order_pause_s: OrderPause | None = None
    visibility: Literal["public", "private"] = "public"
    spectators: Spectators = Spectators()
    seating: Literal["chosen", "drawn"] = "chosen"
    stake: int | str | None = None
    rated: bool = True
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
    if target is None and ends_by_target(convention):
        target = TARGET
        convention = conventions.resolve(wanted.convention, target)
    adjudicated = _adjudicated(wanted)
    if adjudicated.get("entries") == "by_hand" and minutes_to_play(convention) is not None:
        raise Malformed("entries", f"are not made by hand where the pulka ends by its time ({agreed_ending(convention)})")
    terms: dict[str, Any] = {
        "clock": msgspec.to_builtins(wanted.clock),
        "mode": wanted.mode,
        "visibility": wanted.visibility,
        "spectators": msgspec.to_builtins(wanted.spectators),
        "bots": wanted.bots,
        "seating": wanted.seating,
        **adjudicated,
    }
    if wanted.stake is not None:
        terms["stake"] = written(read_stake(wanted.stake, "stake"))
    if not wanted.rated:
        terms["rated"] = False  # said only then, so that terms of before there was a choice have the digest that they had
    return Terms(_as_stored(conventions.to_document(convention)), wanted.players, target, _as_stored(terms), wanted.bots)


def _as_stored(document: dict[str, Any]) -> dict[str, Any]:
    """The document as the log gives it back, so that an answer is the same to the byte when it is repeated after a restart."""
    read: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document, order="deterministic"))
    return read


def _adjudicated(wanted: OpenTable) -> dict[str, Any]:
    """What is agreed at an adjudicated table only, under its defaults. Raises `Malformed` where the rules are enforced instead."""
    agreed = {name: getattr(wanted, name) for name in ADJUDICATED}
    if wanted.mode != "adjudicated":
        given = next((name for name, value in agreed.items() if value is not None), None)
        if given is not None:
            raise Malformed(given, "is a term of adjudicated tables")
        return {}
    if wanted.arbiter is not None and not is_id(wanted.arbiter):
        raise Malformed("arbiter", "must be a player's id")
    return {name: ADJUDICATED[name] if value is None else value for name, value in agreed.items()}
