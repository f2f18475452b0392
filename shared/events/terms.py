"""What a table agrees on besides the rules of the game (5.4.4), as it stands in `TableOpened`, `TableFilled` and `PulkaOpened`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec

Seconds = Annotated[int, msgspec.Meta(ge=1, le=3600)]  # under a second nobody can answer; over an hour a table only waits
OrderPause = Annotated[int, msgspec.Meta(ge=0, le=60)]  # a slip of the tongue is noticed at once; 0: never corrected freely
DelayDeals = Annotated[int, msgspec.Meta(ge=0, le=10)]  # whole deals; ten deals are an hour

PAUSE_S: Final = 10  # to look at a result before it is scored; whoever is content confirms, and then it is over at once
ORDER_PAUSE_S: Final = 3  # the pause that tells a slip of the tongue from a change of mind (3.4.8)


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

    `seating`: each sits where they sat down, or a draw decides (3.1.1). `stake`: what a whist is worth, exact (4.2.13); None: nothing.
    `bots`: how many seats built-in players have. `rated`: the pulka counts in ratings and standings, where nothing else speaks against it.

    At adjudicated tables: who calls `attention`, whether `entries` are written by hand, the `arbiter`'s player id, and the pauses after a
    deal (`pause_s`, then it is scored) and after a contract (`order_pause_s`, within which another may replace it, 3.4.8).
    """

    clock: Clock = Clock()
    mode: Literal["enforced", "adjudicated"] = "enforced"
    attention: Literal["players", "server"] = "players"
    entries: Literal["automatic", "by_hand"] = "automatic"
    arbiter: str | None = None
    pause_s: Seconds = PAUSE_S
    order_pause_s: OrderPause = ORDER_PAUSE_S
    visibility: Literal["public", "private"] = "public"
    spectators: Spectators = Spectators()
    seating: Literal["chosen", "drawn"] = "chosen"
    stake: int | str | None = None
    bots: int = 0
    rated: bool = True

    @property
    def open_to_all(self) -> bool:
        """Whether somebody without a seat may look."""
        return self.visibility == "public" and self.spectators.allowed


def adjudication(terms: Terms) -> dict[str, Any] | None:
    """What an adjudicated table has agreed on besides: `attention`, `entries`, `arbiter`, `pause_s`, `order_pause_s`; else None."""
    if terms.mode != "adjudicated":
        return None
    names = ("attention", "entries", "arbiter", "pause_s", "order_pause_s")
    return {name: getattr(terms, name) for name in names}


def read(record: dict[str, Any]) -> Terms:
    """The terms in an event; fields that are not ours are passed over, since an event may say more than this version knows.

    Raises `msgspec.ValidationError`.
    """
    known = {name: value for name, value in record.items() if name in Terms.__struct_fields__}
    return msgspec.convert(known, Terms)
