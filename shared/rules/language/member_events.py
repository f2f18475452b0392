"""Who sits at a table, as events: seats drawn for, people who come, stand in, leave, adjourn and go on (3.1, 5.4).

Past tense; names and fields are part of the storage contract (frozen, additive), as those of `game_events`.
"""

from __future__ import annotations

from typing import Any

from shared.rules.language.game_events import Event


class SeatDrawStarted(Event, frozen=True, tag="SeatDrawStarted"):
    """The cards were spread out to draw for seats (3.1.1); `commitment` binds the server to its seed before anybody draws."""

    commitment: str
    algorithm: int
    server_seed: str | None


class SeatCardDrawn(Event, frozen=True, tag="SeatCardDrawn"):
    """`seat`, as in the lobby, drew the card on `place`, 1..32."""

    seat: int
    place: int


class SeatsDrawn(Event, frozen=True, tag="SeatsDrawn"):
    """All have drawn: the server's seed, the card of each seat of the lobby, and the players' new `seats`, clockwise, lowest card first."""

    server_seed: str
    cards: tuple[str, ...]
    seats: tuple[str, ...]


class ConsentAsked(Event, frozen=True, tag="ConsentAsked"):
    """`player` asks the seats in `asked` for their consent: to `adjourn` (`seat` is their own), to sit down as a `newcomer` (no seat yet),
    or as a `substitute` at `seat` (5.4.18, 3.1.2, 5.4.7).
    """

    what: str
    player: str
    seat: int | None
    asked: tuple[int, ...]


class ConsentAnswered(Event, frozen=True, tag="ConsentAnswered"):
    """`seat` consents or does not; the first refusal ends it, with the last consent it is agreed."""

    seat: int
    accept: bool


class NewcomerSeated(Event, frozen=True, tag="NewcomerSeated"):
    """`player` sat down at `seat`, left of the last dealer, and deals next (3.1.2). A section of the pulka begins.

    `seats` are all player ids, clockwise, and `moved` the new seat of each old one; `rules_digest` (hex) covers the terms with one player
    more. `start` is the sheet and series from which it goes on, as a score file has it.
    """

    player: str
    seat: int
    seats: tuple[str, ...]
    moved: tuple[int, ...]
    rules_digest: str
    start: dict[str, Any]


class SubstituteSeated(Event, frozen=True, tag="SubstituteSeated"):
    """`player` took over the seat of `replaced`, with its cards and its sheet (5.4.7)."""

    seat: int
    player: str
    replaced: str


class PlayerLeaves(Event, frozen=True, tag="PlayerLeaves"):
    """The player at `seat` has to leave (5.4.18); their turns run out until somebody sits there, or they are ready again."""

    seat: int


class SettlementDemanded(Event, frozen=True, tag="SettlementDemanded"):
    """Another has gone, and `seat` demands that the pulka be settled when the deal is over (5.4.18)."""

    seat: int


class PulkaAdjourned(Event, frozen=True, tag="PulkaAdjourned"):
    """No deal begins until all are ready (5.4.18). `reason`: `agreed` by all, or somebody `left`."""

    reason: str


class SeatReady(Event, frozen=True, tag="SeatReady"):
    """The player at `seat` is there, and ready to go on."""

    seat: int


class PulkaResumed(Event, frozen=True, tag="PulkaResumed"):
    """All are ready; the next deal begins."""
