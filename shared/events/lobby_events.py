"""What happened in the lobby: people, and tables before and around their pulka. Past tense; names and fields are the storage contract
(frozen, additive).

Personal data (names, password hashes) is sealed under a key of the person's own, so that a person can be erased; nothing else here says who
somebody is. A player's events lie in `lobby.<p>.player.<id>`, a table's in `lobby.<p>.table.<id>`, under the id that its pulka will have.
"""

from __future__ import annotations

from typing import Any

import msgspec

from shared.events.sealed import Sealed


class LobbyEvent(msgspec.Struct, frozen=True, tag_field="type", gc=False):
    """One thing that happened in the lobby."""


class PlayerSignedUp(LobbyEvent, frozen=True, tag="PlayerSignedUp"):
    """A new player. `name` and `password` (a hash, never the word itself; `None`: they have only tokens) are sealed under their own
    key.
    """

    player: str
    name: Sealed
    password: Sealed | None = None
    bot: bool = False


class TokenIssued(LobbyEvent, frozen=True, tag="TokenIssued"):
    """A bearer token was given out: its public id, never the token. `expires` in milliseconds since 1970, `None`: it does not."""

    player: str
    token: str
    scopes: tuple[str, ...]
    expires: int | None = None


class TableOpened(LobbyEvent, frozen=True, tag="TableOpened"):
    """`host` opened a table. `convention` is the resolved record, `terms` what the table agrees on besides: clock, mode, visibility,
    spectators; `bots` seats wait for bots.
    """

    host: str
    convention: dict[str, Any]
    players: int
    target: int | None
    terms: dict[str, Any]
    bots: int = 0


class SeatTaken(LobbyEvent, frozen=True, tag="SeatTaken"):
    """`player` sat down."""

    seat: int
    player: str


class SeatLeft(LobbyEvent, frozen=True, tag="SeatLeft"):
    """`player` stood up before the pulka began."""

    seat: int
    player: str


class PlayerReady(LobbyEvent, frozen=True, tag="PlayerReady", omit_defaults=True):
    """`player` is ready to begin; `end` is the end of the chain that they promise for the deals, "" without one; `key` the public key
    with which they sign their moves, likewise.
    """

    seat: int
    player: str
    end: str = ""
    key: str = ""


class TableFilled(LobbyEvent, frozen=True, tag="TableFilled", omit_defaults=True):
    """The last player is ready: these are the terms of the pulka, final. The table service opens it under the same id, or refuses.

    `rules_digest` (hex) covers convention and terms; `seats` are player ids clockwise, `ends` the ends of their chains, empty where nobody
    has promised one, `keys` their public keys likewise.
    """

    convention: dict[str, Any]
    rules_digest: str
    players: int
    target: int | None
    seats: tuple[str, ...]
    terms: dict[str, Any]
    ends: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


class TableOver(LobbyEvent, frozen=True, tag="TableOver"):
    """The pulka is closed and settled, or the table was given up before it began (`abandoned`)."""

    reason: str


class TableElsewhere(LobbyEvent, frozen=True, tag="TableElsewhere"):
    """The command that would have opened this table has opened `table` instead, in a partition that everybody used then: no table is ever
    opened here.
    """

    table: str


class PlayerErased(LobbyEvent, frozen=True, tag="PlayerErased"):
    """The key under which the personal data of `player` was sealed is destroyed: nobody can read them any more, in no copy of the log.

    `author`: who asked for it, a player id or `operator`; `key_digest`: SHA-256 (hex) of the wrapped key that was destroyed, empty when
    there was none any more.
    """

    player: str
    author: str
    key_digest: str


AnyLobbyEvent = (
    PlayerSignedUp
    | PlayerErased
    | TokenIssued
    | TableOpened
    | SeatTaken
    | SeatLeft
    | PlayerReady
    | TableFilled
    | TableOver
    | TableElsewhere
)
