"""What a table agrees on besides the rules of the game (5.4.4), as it stands in `TableOpened`, `TableFilled` and `PulkaOpened`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

Seconds = Annotated[int, msgspec.Meta(ge=1, le=3600)]  # under a second nobody can answer; over an hour a table only waits
DelayDeals = Annotated[int, msgspec.Meta(ge=0, le=10)]  # whole deals; ten deals are an hour


class Clock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds for a move, and for the cut, before the default move is made for whoever sleeps."""

    move_s: Seconds = 30  # a long think at a real table
    cut_s: Seconds = 5  # nothing to think about


class Spectators(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether others may watch, and by how many whole deals they lag."""

    allowed: bool = True
    delay_deals: DelayDeals = 0


class Terms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The terms of a table. `visibility` private: only its players may look, under `spectators` otherwise everybody.

    `seating`: each sits where he sat down, or a draw decides (3.1.1). `stake`: what a whist is worth, exact (4.2.13); None: nothing.
    """

    clock: Clock = Clock()
    mode: Literal["enforced", "adjudicated"] = "enforced"
    visibility: Literal["public", "private"] = "public"
    spectators: Spectators = Spectators()
    seating: Literal["chosen", "drawn"] = "chosen"
    stake: int | str | None = None

    @property
    def open_to_all(self) -> bool:
        """Whether somebody without a seat may look."""
        return self.visibility == "public" and self.spectators.allowed


def read(record: dict[str, Any]) -> Terms:
    """The terms in an event; fields that are not ours are passed over, since an event may say more than this version knows.

    Raises `msgspec.ValidationError`.
    """
    known = {name: value for name, value in record.items() if name in Terms.__struct_fields__}
    return msgspec.convert(known, Terms)
