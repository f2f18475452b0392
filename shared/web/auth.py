"""Who is asking: bearer tokens that name a player and carry scopes, and that any service verifies by itself.

A token is a JWT signed by HMAC-SHA-256 under a key derived from the master key, so the key that signs tokens opens nothing else. It says
who somebody is, never which seat they have: that follows from the table's log.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import jwt
import msgspec
from litestar import Request
from litestar.di import Provide

from shared.events.keys import KeyFileError, MasterKeys
from shared.web.problems import Problem
from shared.web.service import CannotStart
from shared.web.settings import Settings, home_of

PLAY: Final = "play"  # sit, ready, move: to act in the player's name
READ: Final = "read"  # see what the player may see
OPERATE: Final = "operate"  # correct, annul, erase; never handed out over HTTP
OPERATOR: Final = "operator:"  # what the subject of an operator's token begins with; no player id looks like it
BOT: Final = "bot"  # the account is a built-in player's; takes only seats that a table keeps for bots
HOST: Final = "host"  # sign up bots; never handed out over HTTP
SCOPES: Final = frozenset({PLAY, READ, OPERATE, BOT, HOST})

LIFETIME: Final = 365 * 24 * 3600  # seconds; an account without a password lives as long as its token, and anybody may ask for a fresh one
_LEEWAY: Final = 60  # seconds between the clocks of two instances
_LONGEST: Final = 2048  # characters; ours have about 250
_REMEMBERED: Final = 10_000  # verified tokens kept, some 5 MB: one HMAC and two JSON parses less a request
_ISSUER: Final = "pulka"
CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="pulka"'}  # what a 401 must carry (RFC 9110)
_CHECKS: Final[Any] = {
    "require": ["exp", "sub", "scope"],
    "verify_exp": False,  # judged on every use, by `verify`
    "verify_iat": False,  # another instance's clock may be ahead
}
_BOT_HOST: Final = "bot-host"  # subject of the host's own token; no player id looks like it


class Caller(msgspec.Struct, frozen=True):
    """Whom the token names, what it allows, and until when (seconds since 1970)."""

    player: str
    scopes: frozenset[str]
    expires: int

    @property
    def is_bot(self) -> bool:
        """Whether this is a built-in player's account."""
        return BOT in self.scopes

    @property
    def is_operator(self) -> bool:
        """Whether this is an operator, under a name that no player has."""
        return OPERATE in self.scopes and self.player.startswith(OPERATOR)

    def require(self, scope: str) -> None:
        """Raises 403 `scope_missing` unless the token carries `scope`."""
        if scope not in self.scopes:
            raise Problem(403, "scope_missing", f"This token lacks the scope {scope!r}.")


def master_keys(settings: Settings) -> MasterKeys:
    """The master keys that `settings` name; raises `CannotStart` when they are missing or cannot be read."""
    path = Path(settings.master_keys_file) if settings.master_keys_file else home_of(settings) / "keys" / "master_keys"
    try:
        return MasterKeys.load(path)
    except OSError as wrong:
        raise CannotStart(f"cannot read the master keys in {path}: {wrong.strerror}") from None
    except KeyFileError as wrong:
        raise CannotStart(str(wrong)) from None


class Tokens:
    """Signs under the first master key, verifies under all."""

    def __init__(self, keys: MasterKeys) -> None:
        self._keys = [keys.digest_key("tokens", key_id) for key_id in keys.ids]  # no aggregate is called so: these keys sign nothing else
        self._verified: OrderedDict[bytes, Caller] = OrderedDict()

    def issue(self, player: str, scopes: Iterable[str], now: int, lifetime: int = LIFETIME, token_id: str = "") -> str:
        """A token for `player`; `now` and `lifetime` in seconds, `token_id` its public id. The same arguments give the same token."""
        claims = {"iss": _ISSUER, "sub": player, "scope": " ".join(sorted(scopes)), "iat": now, "exp": now + lifetime, "jti": token_id}
        return jwt.encode(claims, self._keys[0], algorithm="HS256")

    def issue_host(self, now: int) -> str:
        """The bot host's own token, with which it signs up its players; whoever holds the master key may be a host."""
        return self.issue(_BOT_HOST, (HOST,), now, lifetime=24 * 3600)  # a day: made anew at each start, and when it is refused

    def issue_operator(self, name: str, now: int, lifetime: int, token_id: str) -> str:
        """A token of the operator called `name`: for `operate` and nothing else; whoever holds the master key may make one."""
        return self.issue(OPERATOR + name, (OPERATE,), now, lifetime, token_id)

    def verify(self, token: str, now: int) -> Caller:
        """Whom `token` names; raises 401 `token_invalid` with the challenge when it is not ours or has expired."""
        digest = hashlib.sha256(token.encode()).digest()  # looking up a digest tells a clock nothing about the token
        caller = self._verified.get(digest)
        if caller is None:
            caller = self._decode(token)
            self._verified[digest] = caller
            if len(self._verified) > _REMEMBERED:
                self._verified.popitem(last=False)
        if caller.expires + _LEEWAY < now:
            self._verified.pop(digest, None)
            raise invalid_token("The token has expired.")
        return caller

    def viewer(self, request: Request[Any, Any, Any], now: int) -> Caller | None:
        """Who sent `request`, None without a token; `now` in milliseconds. Raises 401 for a token that does not hold."""
        token = bearer(request)
        return None if token is None else self.verify(token, now // 1000)

    def caller(self, request: Request[Any, Any, Any], now: int) -> Caller:
        """Who sent `request`; raises 401 also without a token."""
        known = self.viewer(request, now)
        if known is None:
            raise missing_token("This needs a token.")
        return known

    def _decode(self, token: str) -> Caller:
        if len(token) > _LONGEST:
            raise invalid_token("The token is none of ours.")
        for key in self._keys:
            try:
                claims: dict[str, Any] = jwt.decode(token, key, algorithms=["HS256"], issuer=_ISSUER, options=_CHECKS)
                return Caller(claims["sub"], SCOPES.intersection(claims["scope"].split()), int(claims["exp"]))
            except jwt.InvalidSignatureError:
                continue  # another of the master keys may have signed it
            except (jwt.PyJWTError, AttributeError, TypeError, ValueError, OverflowError):
                break
        raise invalid_token("The token is none of ours.")


def missing_token(detail: str) -> Problem:
    """401 for a request that says nothing of who sends it."""
    return Problem(401, "token_missing", detail, headers=CHALLENGE)


def invalid_token(detail: str) -> Problem:
    """401 for a token that proves nothing."""
    return Problem(401, "token_invalid", detail, headers={"WWW-Authenticate": 'Bearer realm="pulka", error="invalid_token"'})


def bearer(request: Request[Any, Any, Any]) -> str | None:
    """The token in `Authorization: Bearer …`, None without the header; raises 401 for another scheme or an empty token."""
    header = request.headers.get("authorization")
    return None if header is None else token_in(header)


def token_in(header: str) -> str:
    """The token in the value of `Authorization`; raises 401 for another scheme or an empty token."""
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip() or not token.isascii():
        raise invalid_token("The header Authorization must read: Bearer <token>.")
    return token.strip()


def dependencies(tokens: Tokens, clock: Callable[[], int]) -> dict[str, Provide]:
    """`viewer: NamedDependency[Caller | None]` and `caller: NamedDependency[Caller]` (401 without a token).

    `clock()` is milliseconds since 1970.
    """

    def viewer(request: Request[Any, Any, Any]) -> Caller | None:
        return tokens.viewer(request, clock())

    def caller(request: Request[Any, Any, Any]) -> Caller:
        return tokens.caller(request, clock())

    return {"viewer": Provide(viewer, sync_to_thread=False), "caller": Provide(caller, sync_to_thread=False)}
