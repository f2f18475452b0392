"""The lobby over HTTP (deploy/docs/http.md): players and tokens. Tables: `table_api`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final, Literal

import msgspec
from litestar import get, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromQuery, JSONBody
from msgspec import Meta

from services.lobby.desk import Desk
from services.lobby.players import HUMAN
from services.lobby.responses import Me, Names, Person, SignedUp, Token
from shared.eventlog.aggregates.aggregates import RefusedAt
from shared.events.address import is_id
from shared.rules.language.names import LONGEST_NAME, read_name
from shared.web import auth
from shared.web.auth import Caller
from shared.web.problems import Problem, malformed, refusal

MOST_NAMES: Final = 100  # ids a question: twenty tables' seats, in a line of 3 KB

Password = Annotated[str, Meta(min_length=8, max_length=200)]  # 8: NIST SP 800-63B; 200: a sentence, and no work for the hash


class SignUp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sign-up. `name` is shown to others and need not be unique; without `password` the account lives as long as its tokens."""

    name: Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]
    password: Password | None = None


class NewToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A further token: for who sends one that may play, or for `player` with their `password`. `lifetime_s`: seconds, a year at most."""

    player: str | None = None
    password: Annotated[str, Meta(max_length=200)] | None = None
    scopes: tuple[Literal["play", "read"], ...] = HUMAN
    lifetime_s: Annotated[int, Meta(ge=60, le=auth.LIFETIME)] = auth.LIFETIME


def player_routes(desk: Callable[[], Desk]) -> list[HTTPRouteHandler]:
    """The handlers; `desk()` raises 503 `unavailable` before the service has started."""

    @post("/v1/lobby/players", tags=["lobby"], summary="Sign up: a player and their token")
    async def sign_up(data: JSONBody[SignUp], viewer: NamedDependency[Caller | None], request_id: NamedDependency[str]) -> SignedUp:
        at = desk()
        name = read_name(data.name, "name")
        at.require_log()
        bot = viewer is not None and auth.HOST in viewer.scopes
        issued = await at.players.sign_up(name, data.password, bot=bot, now=at.clock(), request_id=request_id)
        return SignedUp(Person(issued.player, name), issued.token)

    @post("/v1/lobby/tokens", tags=["lobby"], summary="A token with fewer scopes or a new term, by token or by password")
    async def token(data: JSONBody[NewToken], viewer: NamedDependency[Caller | None], request_id: NamedDependency[str]) -> Token:
        at = desk()
        at.require_log()
        if data.password is not None or data.player is not None:
            player, allowed = await _logged_in(at, data), frozenset(HUMAN)
        elif viewer is not None:
            viewer.require(auth.PLAY)  # a token that only reads cannot make itself a longer life
            player, allowed = viewer.player, viewer.scopes
        else:
            raise auth.missing_token("Send a token, or player and password.")
        scopes = tuple(scope for scope in (*HUMAN, auth.BOT) if scope in allowed and (scope in data.scopes or scope == auth.BOT))
        if not scopes:
            raise malformed("scopes", "at least one")
        issued = await at.players.issue(player, scopes, data.lifetime_s, at.clock(), request_id)
        if isinstance(issued, RefusedAt):
            raise refusal(issued.refused, issued.revision)
        return Token(issued.token, list(issued.scopes), issued.expires)

    @get("/v1/lobby/me", tags=["lobby"], summary="Whom your token names")
    async def me(caller: NamedDependency[Caller]) -> Me:
        names = await desk().reads.names([caller.player])
        return Me(Person(caller.player, names.get(caller.player)), sorted(caller.scopes), caller.expires * 1000, caller.is_bot)

    return [sign_up, token, me]


def name_route(desk: Callable[[], Desk]) -> HTTPRouteHandler:
    """The handler that tells names; `desk` as for `player_routes`."""

    @get("/v1/lobby/names", tags=["lobby"], summary="What players are called, by their ids")
    async def names(ids: FromQuery[str]) -> Names:
        wanted = ids.split(",")
        if len(wanted) > MOST_NAMES:
            raise malformed("ids", f"at most {MOST_NAMES}, commas between them")
        if not all(map(is_id, wanted)):
            raise malformed("ids", "players' ids, commas between them")
        found = await desk().reads.names(wanted)
        return Names({player: found.get(player) for player in wanted})

    return names


async def _logged_in(at: Desk, data: NewToken) -> str:
    if data.player is None or data.password is None:
        raise malformed("password" if data.password is None else "player", "player and password go together")
    if not await at.players.knows_password(data.player, data.password):
        raise Problem(401, "wrong_password", "Player and password do not match.", headers=auth.CHALLENGE)
    return data.player
