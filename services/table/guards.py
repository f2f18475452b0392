"""What every move passes before it is decided: one ordered list of guards, run by the framework's route and by the fast path alike.

A guard looks at a request as `Asked` shows it, and raises the `Problem` that the request is answered with; what it learns it writes down
there. A new one belongs into `Desk.further`, or into `move_guards` when no table can do without it, and both ways obey it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from shared.web.auth import PLAY, Caller, Tokens, missing_token, token_in
from shared.web.idempotency import idempotency_key, if_match


class Asked(msgspec.Struct):
    """A request to move, once its body could be read: four of its headers (None: not sent), whence it came, when (milliseconds since
    1970), and what the guards have found out: who sends it, under which key, and what revision they have seen.
    """

    authorization: str | None
    idempotency: str | None
    tag: str | None
    address: str
    request_id: str
    now: int
    signature: str | None = None
    caller: Caller = Caller("", frozenset(), 0)
    key: str = ""
    seen: int | None = None


Guard: TypeAlias = Callable[[Asked], None]


class Sender(msgspec.Struct, frozen=True):
    """Who sends a command: a player, the idempotency key, the revision they have seen, the request's id, when (milliseconds since 1970),
    and their signature, "" without one.
    """

    player: str
    key: str
    seen: int | None
    request_id: str
    now: int
    signature: str = ""


def move_guards(tokens: Tokens, further: Iterable[Guard] = ()) -> tuple[Guard, ...]:
    """The guards of a move in their order: first who it is, then what they may, then what makes the request safe to repeat."""

    def authenticated(asked: Asked) -> None:
        if asked.authorization is None:
            raise missing_token("This needs a token.")
        asked.caller = tokens.verify(token_in(asked.authorization), asked.now // 1000)

    return (authenticated, may_play, has_a_key, says_what_was_seen, *further)


def may_play(asked: Asked) -> None:
    """The token is for acting in the player's name, else 403 `scope_missing`."""
    asked.caller.require(PLAY)


def has_a_key(asked: Asked) -> None:
    """A repeat can be told from a new move, else 400 `idempotency_key_missing`."""
    asked.key = idempotency_key(asked.idempotency)


def says_what_was_seen(asked: Asked) -> None:
    """`If-Match`, if it is there, can be read, else 400 `malformed`."""
    asked.seen = None if asked.tag is None else if_match(asked.tag)


def admitted(guards: Iterable[Guard], asked: Asked) -> Sender:
    """The sender of a request that all guards let through. Raises the `Problem` of the first that does not."""
    for guard in guards:
        guard(asked)
    return Sender(asked.caller.player, asked.key, asked.seen, asked.request_id, asked.now, asked.signature or "")
