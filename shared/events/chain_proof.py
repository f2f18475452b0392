"""The proof of chains: every link that was opened leads to what was known before, the server's as the players' (`shared.rules.deck.chain`).

SHA-256 alone. It shows that whoever committed to a chain had nothing to choose any more when a deck was cut.
"""

from __future__ import annotations

from collections.abc import Iterator

from shared.rules.deck.shuffle import CHAINED
from shared.rules.language.chain_events import ChainCommitted, ChainsCommitted, DealerDrawn, LinkMissed, LinkOpened
from shared.rules.language.game_events import DealRevealed, PulkaOpened
from shared.rules.language.member_events import NewcomerSeated, SeatsDrawn, SubstituteSeated
from shared.rules.pulka import links
from shared.rules.pulka.links import Chains

#: A code of deploy/docs/events.md and a sentence.
Complaint = tuple[str, str]


class FollowedChains:
    """The chains of one table, as its events tell of them, from the first on; `opened` are the links of the round under way."""

    def __init__(self, table_id: str) -> None:
        self._table_id = table_id
        self._chains = Chains()
        self._players: tuple[str, ...] = ()
        self.opened: links.Opened = ()

    @property
    def chained(self) -> bool:
        """Whether this table deals by algorithm 2."""
        return self._chains.server is not None

    def take(self, event: object, round: int) -> Iterator[Complaint]:  # noqa: A002 - the word of the documents
        """What is wrong with `event`, which is one of `round` (the deal, or 0 before the first)."""
        match event:
            case PulkaOpened(seats=seats):
                self._players = seats
            case ChainsCommitted():
                self._chains = links.began(event, self._chains)
                if event.algorithm != CHAINED:
                    yield "unknown_algorithm", f"This program does not know shuffle {event.algorithm}."
            case LinkOpened(seat=seat, link=link):
                own = self._chains.seats[seat] if seat < len(self._chains.seats) else None
                if own is None or not own.fits(self._table_id, link, round):
                    yield "link", f"The link that seat {seat} opened is not that of its chain for round {round}."
                self.opened += ((seat, link),)
                self._chains = links.evolve(self._chains, event, round)
            case ChainCommitted() | LinkMissed() | NewcomerSeated() | SubstituteSeated():
                self._chains = links.evolve(self._chains, event, round)
            case SeatsDrawn(seats=seats):
                self._chains = links.reseated(self._chains, self._players, seats)
            case DealerDrawn(server_seed=seed) | DealRevealed(server_seed=seed) if self.chained:
                if not links.server_fits(self._chains, self._table_id, seed, round):
                    yield "commitment", f"The server's seed is not the link of its chain for round {round}."
                self._chains, self.opened = links.closed(self._chains, seed, round), ()
