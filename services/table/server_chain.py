"""The server's own chain at each table: its links are the seeds of the deals, and it has promised them all before the first.

Its beginning lies in the log in a box, so that every instance finds the link of every round, and nobody without a master key does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

import msgspec

from shared.events.address import Address
from shared.events.sealed import Sealed
from shared.events.sealing import TableCodec
from shared.rules.deck.chain import link_at
from shared.rules.deck.shuffle import CHAINED
from shared.rules.language.chain_events import ChainsCommitted
from shared.rules.pulka.decider import Pulka, StartDeal
from shared.rules.pulka.links import DRAW

LENGTH: Final = 256  # links of one chain: hashed in 0.3 ms, once a deal, and few pulkas have as many deals; then the next chain begins


class ServerChains:
    """Makes chains, and finds their links. `beginning()` gives 64 hex digits that nobody knows."""

    def __init__(self, codec: TableCodec, beginning: Callable[[], str]) -> None:
        self._codec = codec
        self._beginning = beginning

    def begin(self, where: Address, players: tuple[str, ...], first: int = DRAW) -> tuple[ChainsCommitted, str]:
        """A new chain from round `first` on, with the ends of the players' chains, `""` for who has none; and its link of that round."""
        beginning = self._beginning()
        end = link_at(where.id, beginning, LENGTH)
        box = self._codec.seal_beginning(where, beginning, first, hashlib.sha256(f"pulka chain box {beginning}".encode()).digest())
        return ChainsCommitted(CHAINED, end, msgspec.to_builtins(box), players, first, LENGTH), link_at(where.id, beginning, LENGTH - 1)

    def deal(self, where: Address, pulka: Pulka, number: int) -> StartDeal:
        """The command that starts deal `number` of a pulka with chains. Raises `UnknownKey`, `TamperedBox`."""
        chains = pulka.chains
        if number - chains.began >= chains.length:
            renewed, link = self.begin(where, (), number)
            return StartDeal(number, link, renewed)
        beginning = self._codec.open_beginning(where, msgspec.convert(chains.root, Sealed), chains.began)
        return StartDeal(number, link_at(where.id, beginning, chains.length - 1 - (number - chains.began)))
