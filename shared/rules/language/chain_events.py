"""What players bring from home: chains for a deal that nobody can choose, promised, opened, missed (shared/rules/pulka/links.py); and keys
for moves that nobody else can make.
"""

from __future__ import annotations

from typing import Any

from shared.rules.language.game_events import Event


class ChainsCommitted(Event, frozen=True, tag="ChainsCommitted"):
    """The server has promised its chain, whose first link is opened in round `first`; with it, in a match's first commit, the players who
    have promised theirs.

    `algorithm` is the one by which this match deals from now on. `server` is the end of the server's chain of `length` links, `root` its
    beginning, in a box that is never opened in public. `seats` are the ends of the players' chains, `""` for who has none; it is empty
    where only the server's begins anew.
    """

    algorithm: int
    server: str
    root: dict[str, Any]
    seats: tuple[str, ...]
    first: int
    length: int


class KeysRegistered(Event, frozen=True, tag="KeysRegistered"):
    """The public keys (Ed25519, hex) with which players sign their moves in this match, by seat, `""` for who signs none."""

    keys: tuple[str, ...]


class DealerDrawStarted(Event, frozen=True, tag="DealerDrawStarted"):
    """Links are asked for to draw the first dealer, where seats are not drawn for; `commitment` is the end of the server's chain, and
    `server_seed` its link of round 0.
    """

    commitment: str
    server_seed: str | None


class ChainCommitted(Event, frozen=True, tag="ChainCommitted"):
    """The player at `seat` promised a chain by its `end`; its first link is opened in round `first`."""

    seat: int
    end: str
    first: int


class LinkOpened(Event, frozen=True, tag="LinkOpened"):
    """The player at `seat` opened the link of the present round."""

    seat: int
    link: str


class LinkMissed(Event, frozen=True, tag="LinkMissed"):
    """The player at `seat` did not open their link in time; their chain has ended, and the deck follows from the others."""

    seat: int


class DealerDrawn(Event, frozen=True, tag="DealerDrawn"):
    """`seat` deals first (3.2.1), as it follows from all links of round 0; `server_seed` is the server's."""

    seat: int
    server_seed: str
