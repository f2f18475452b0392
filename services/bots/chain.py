"""A player's part in a deal that nobody can choose: their own chain at one table, and its links (deploy/docs/fair-deal.md)."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from shared.rules.deck.chain import link_after

LENGTH: Final = 256  # links, one a deal; a player who has used them up promises another chain


class OwnChain:
    """One chain at one table, made of a secret `beginning` (64 hex digits)."""

    def __init__(self, table: str, beginning: str) -> None:
        self._links = [beginning]
        for _ in range(LENGTH):
            self._links.append(link_after(table, self._links[-1]))

    @classmethod
    def of(cls, table: str, secret: str) -> OwnChain:
        """The chain at `table` that a player's lasting `secret` makes: after a restart it is the same."""
        return cls(table, hashlib.sha256(f"pulka chain of {table} {secret}".encode()).hexdigest())

    @property
    def end(self) -> str:
        """What is published of it."""
        return self._links[-1]

    def link(self, view: dict[str, Any]) -> str | None:
        """The link that the table asks for, as `view` shows it; None where this chain is not the one that was promised, or is used up."""
        own = self.promised(view)
        if own is None or own["known"] not in self._links:
            return None
        place = self._links.index(own["known"]) - (view["chains"]["round"] - own["round"])
        return self._links[place] if place >= 0 else None

    def wanted(self, view: dict[str, Any]) -> bool:
        """Whether the table deals with chains and knows none of this player's."""
        return view.get("chains") is not None and view["phase"] != "links" and self.promised(view) is None

    @staticmethod
    def promised(view: dict[str, Any]) -> dict[str, Any] | None:
        """What the table knows of the viewer's chain."""
        seats = view["chains"]["seats"] if view.get("chains") else []
        own: dict[str, Any] | None = seats[view["seat"]] if view["seat"] is not None and view["seat"] < len(seats) else None
        return own
