"""Outages, and the time that a turn gets back for them: in the sweep that ends it, in the view and in the stream, by one sum.

An outage is a time in which the log's answer was missing, and so nobody could move at the tables of one stream or of all. It is written
down once, with the beat that ends it, and struck out when a clock that was ahead had made it up. Every instance reads them again each
second. An instance of an earlier version beside this one may write the same silence down too: what overlaps counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from services.table.clocks.store import Outage
from shared.events import address

LATEST: Final = 500  # rows that are kept at hand: each of more than three seconds, and every stream has its own; no turn lives through more


class Outages:
    """The outages that are known here."""

    def __init__(self) -> None:
        self._known: list[Outage] = []
        self._merged: dict[str, list[tuple[int, int]]] = {}  # by stream, the latest first, none overlapping another

    def learn(self, known: Sequence[Outage]) -> None:
        """Know what is written down now, and nothing else."""
        if known != self._known:
            self._known, self._merged = list(known), {}

    def credit(self, table_id: str, since: int) -> int:
        """For how long nobody could move at a table since a time; both in milliseconds, the time since 1970."""
        if not self._known:
            return 0
        stream, lost = address.table(table_id).stream, 0
        if stream not in self._merged:
            self._merged[stream] = _merged(one for one in self._known if one.streams is None or stream in one.streams)
        for began, ended in self._merged[stream]:
            if ended <= since:
                break
            lost += ended - max(began, since)
        return lost


def _merged(outages: Iterable[Outage]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for one in sorted(outages, key=lambda one: one.began):
        if found and one.began <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], one.ended))
        else:
            found.append((one.began, one.ended))
    return found[::-1]
