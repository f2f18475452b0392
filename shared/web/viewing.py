"""Who may look at a table: one answer for its view, its stream and its books (5.5; docs/http.md)."""

from __future__ import annotations

from collections.abc import Sequence

from shared.web.auth import READ, Caller, missing_token
from shared.web.problems import Problem


def viewing_seat(caller: Caller | None, seats: Sequence[str], *, open_to_all: bool) -> int | None:
    """The seat from which `caller` (None: without a token) looks, by the player ids in `seats`; None for a spectator.

    Raises 401 or 403 `not_seated` where only the seated may look, 403 when his token does not carry `read`.
    """
    if caller is not None:
        caller.require(READ)
        if caller.player in seats:
            return seats.index(caller.player)
    if open_to_all:
        return None
    if caller is None:
        raise missing_token("Only its players may look at this table.")
    raise Problem(403, "not_seated", "Only its players may look at this table.", rule="5.5")
