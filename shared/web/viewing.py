"""Who may look at a table: one answer for its view, its stream and its books (5.5; deploy/docs/http.md)."""

from __future__ import annotations

from collections.abc import Sequence

from shared.web.auth import READ, Caller, missing_token
from shared.web.problems import Problem


def reading(caller: Caller | None) -> Caller | None:
    """`caller` if the token may read, else nobody: what everybody may read is read with any token as without one."""
    return caller if caller is not None and READ in caller.scopes else None


def viewing_seat(caller: Caller | None, seats: Sequence[str], *, open_to_all: bool) -> int | None:
    """The seat from which `caller` (None: without a token) looks, by the player ids in `seats`; None for a spectator.

    A token without `read` looks as nobody in particular: it never shows less than no token. Raises 401 or 403 `not_seated` where only the
    seated may look, 403 `scope_missing` where the token names one of them and does not carry `read`, or could not be any player's.
    """
    reader = reading(caller)
    if reader is not None and reader.player in seats:
        return seats.index(reader.player)
    if open_to_all:
        return None
    if caller is None:
        raise missing_token("Only its players may look at this table.")
    caller.require(READ)
    raise Problem(403, "not_seated", "Only its players may look at this table.", rule="5.5")
