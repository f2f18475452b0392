"""Who is asking: bearer tokens that name a player and carry scopes, and that any service verifies by itself.

A token is a JWT signed with Ed25519 by the one service that holds the private key, the lobby (`token_keys`). It says who somebody is, never
which seat they have: that follows from the table's log.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import jwt
import msgspec
from litestar import Request
from litestar.di import Provide

from shared.events.key_files import KeyFileError
from shared.events.keys import MasterKeys
from shared.events.token_keys import BY_HMAC, EDDSA, HMAC, PublicKeys, TokenHeader, TokenSigner, hmac_key
from shared.web.problems import Problem
from shared.web.service import CannotStart
from shared.web.settings import Settings, home_of

PLAY: Final = "play"  # sit, ready, move: to act in the player's name
READ: Final = "read"  # see what the player may see
OPERATE: Final = "operate"  # correct, annul, erase; never handed out over HTTP
OPERATOR: Final = "operator:"  # what the subject of an operator's token begins with; no player id looks like it
BOT: Final = "bot"  # the account is a built-in player's; takes only seats that a table keeps for bots
HOST: Final = "host"  # sign up bots, get tokens for bots, share out their seats; never handed out over HTTP
SCOPES: Final = frozenset({PLAY, READ, OPERATE, BOT, HOST})

LIFETIME: Final = 365 * 24 * 3600  # seconds; an account without a password lives as long as its token, and anybody may ask for a fresh one
_LEEWAY: Final = 60  # seconds between the clocks of two instances
_LONGEST: Final = 2048  # characters; ours have about 330
_REMEMBERED: Final = 10_000  # verified tokens kept, some 5 MB: a signature of 130 µs and two JSON parses less a request
_ISSUER: Final = "pulka"
CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="pulka"'}  # what a 401 must carry (RFC 9110)
_CHECKS: Final[Any] = {
    "require": ["exp", "iat", "sub", "scope"],
    "verify_exp": False,  # judged on every use, by `verify`
    "verify_iat": False,  # another instance's clock may be ahead
}
_Loaded = TypeVar("_Loaded")
_header: Final = msgspec.json.Decoder(TokenHeader).decode
BOT_HOST: Final = "bot-host"  # subject of a host's own token; no player id looks like it
DAY: Final = 24 * 3600  # seconds: a host beside the lobby, in one process with it, makes its token anew twice a day


class Caller(msgspec.Struct, frozen=True):
    """Whom the token names, what it allows, until when (seconds since 1970), and which `key` signed it ("" for one of former times)."""

    player: str
    scopes: frozenset[str]
    expires: int
    key: str = ""

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


def _from_file(what: str, path: Path, load: Callable[[Path], _Loaded]) -> _Loaded:
    try:
        return load(path)
    except OSError as wrong:
        raise CannotStart(f"cannot read the {what} in {path}: {wrong.strerror}; `pulka keys new` makes what is missing") from None
    except (KeyFileError, ValueError) as wrong:  # ValueError: 32 bytes that are no public key
        raise CannotStart(str(wrong) if isinstance(wrong, KeyFileError) else f"{path}: not the {what}") from None


def token_keys_file(settings: Settings) -> Path:
    """Where the private keys of tokens are."""
    return Path(settings.token_key_file) if settings.token_key_file else home_of(settings) / "keys" / "token_key"


def token_public_keys_file(settings: Settings) -> Path:
    """Where the public keys of tokens are."""
    given = settings.token_public_keys_file
    return Path(given) if given else home_of(settings) / "keys" / "token_public_keys"


def verifying(settings: Settings) -> Tokens:
    """What verifies tokens with the public keys that `settings` name, which every service has. Raises `CannotStart` without them."""
    public = _from_file("public token keys", token_public_keys_file(settings), PublicKeys.load)
    return Tokens(public, _old_keys(settings, public))


def issuing(settings: Settings) -> Issuer:
    """What makes tokens with the private key that `settings` name: the lobby's and the operator's.

    Raises `CannotStart` without it, and when the public keys, where there are any, do not have its public half: nobody would take its
    tokens.
    """
    where = token_public_keys_file(settings)
    public = _from_file("public token keys", where, PublicKeys.load) if where.exists() else None
    old = None if public is None else _old_keys(settings, public)
    before = 0 if public is None else public.hmac_before
    signer = _from_file("private token key", token_keys_file(settings), lambda path: TokenSigner.load(path, before, old))
    key_id, half = signer.public
    known = None if public is None else public.key(key_id)
    if public is not None and (known is None or known.public_bytes_raw() != half):
        raise CannotStart(f"{where} lacks the public half of {key_id}, the first key of {token_keys_file(settings)}: run `pulka keys new`")
    return Issuer(signer)


def _old_keys(settings: Settings, public: PublicKeys) -> MasterKeys | None:
    """The keys of the tokens of former times, where there still may be some. A ledger may have none: it takes no such tokens then."""
    if not public.hmac_before:
        return None
    try:
        return master_keys(settings)
    except CannotStart:
        return None


class Issuer:
    """Makes tokens; nobody else does."""

    def __init__(self, signer: TokenSigner) -> None:
        self.signer = signer

    def issue(self, player: str, scopes: Iterable[str], now: int, lifetime: int = LIFETIME, token_id: str = "") -> str:
        """A token for `player`; `now` and `lifetime` in seconds, `token_id` its public id. The same arguments give the same token."""
        claims = {"iss": _ISSUER, "sub": player, "scope": " ".join(sorted(scopes)), "iat": now, "exp": now + lifetime, "jti": token_id}
        return self.signer.sign(claims)

    def issue_host(self, now: int, lifetime: int = DAY, token_id: str = "") -> str:
        """A bot host's own token, with which it asks the lobby for all that it needs; whoever holds the private key may make one."""
        return self.issue(BOT_HOST, (HOST,), now, lifetime, token_id)

    def issue_operator(self, name: str, now: int, lifetime: int, token_id: str) -> str:
        """A token of the operator called `name`: for `operate` and nothing else; whoever holds the private key may make one."""
        return self.issue(OPERATOR + name, (OPERATE,), now, lifetime, token_id)


class Tokens:
    """Verifies tokens. What was verified is remembered by the token's hash, within a number, to the token's end."""

    def __init__(self, public: PublicKeys, old: MasterKeys | None = None) -> None:
        """`old` are the master keys, in a club that has tokens of former times."""
        self.public = public
        self._old = old
        self._verified: OrderedDict[bytes, Caller] = OrderedDict()
        self._changes = public.changes

    def verify(self, token: str, now: int) -> Caller:
        """Whom `token` names; raises 401 `token_invalid` with the challenge when it is not ours or has expired."""
        self.public.refresh()
        if self._changes != self.public.changes:
            self._changes = self.public.changes
            self._verified.clear()  # a key that is gone has signed nothing any more
        digest = hashlib.sha256(token.encode()).digest()  # looking up a digest tells a clock nothing about the token
        caller = self._verified.get(digest)
        if caller is None:
            caller = self._decode(token)
            self._verified[digest] = caller
            if len(self._verified) > _REMEMBERED:
                self._verified.popitem(last=False)
        else:
            self._verified.move_to_end(digest)  # who plays is not forgotten for those who only came by
        if caller.expires + _LEEWAY < now:
            self._verified.pop(digest, None)
            raise invalid_token("The token has expired.")
        return caller

    def holds(self, caller: Caller, now: int) -> bool:
        """Whether the token that `caller` came with would be taken now: it has not ended, nor has its key gone."""
        known = self.public.key(caller.key) is not None if caller.key else self._old is not None and self.public.hmac_before > 0
        return known and caller.expires + _LEEWAY >= now

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
        try:
            head = token.partition(".")[0]
            header = _header(urlsafe_b64decode(head + "=" * (-len(head) % 4)))
            claims, allowed = self._proved(token, header)
            return Caller(claims["sub"], allowed.intersection(claims["scope"].split()), int(claims["exp"]), header.kid)
        except (jwt.PyJWTError, msgspec.MsgspecError, AttributeError, TypeError, ValueError, OverflowError):
            raise invalid_token("The token is none of ours.") from None

    def _proved(self, token: str, header: TokenHeader) -> tuple[dict[str, Any], frozenset[str]]:
        """The claims, once the signature holds, and the scopes that they can give. The header names the key; which algorithm that key is
        for, we know: a public key is never taken for the secret of an HMAC.
        """
        if header.alg == EDDSA and (key := self.public.key(header.kid)) is not None:
            return jwt.decode(token, key, algorithms=[EDDSA], issuer=_ISSUER, options=_CHECKS), SCOPES
        if header.alg == HMAC and not header.kid and self._old is not None:
            return self._proved_by_hmac(token, self._old), BY_HMAC
        raise jwt.InvalidKeyError

    def _proved_by_hmac(self, token: str, old: MasterKeys) -> dict[str, Any]:
        """The claims of a token of former times. A stolen table could make one, so it is never an operator's or a host's; it says that it
        was made before that time ended; and it ends within the longest life that a token had then.
        """
        before = self.public.hmac_before
        for key_id in old.ids:
            try:
                claims: dict[str, Any] = jwt.decode(token, hmac_key(old, key_id), algorithms=[HMAC], issuer=_ISSUER, options=_CHECKS)
            except jwt.InvalidSignatureError:
                continue  # another of the master keys may have signed it
            if claims["iat"] < before and claims["exp"] <= before + LIFETIME and BY_HMAC.issuperset(claims["scope"].split()):
                return claims
            break
        raise jwt.InvalidSignatureError


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
