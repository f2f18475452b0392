"""A wall clock that was ahead: the log keeps its times, which never go back, and no turn may wait until the wall clock catches up.

A turn whose beginning still lies in the future was written by a clock that was ahead. It is taken to have begun when it was first looked
at, and lasts as long as agreed from there.
"""

from __future__ import annotations

from typing import Final

import msgspec

TELL: Final = 1_000  # milliseconds between two clocks that are worth a word: a machine with NTP keeps below a tenth of that
_LEEWAY: Final = 500  # milliseconds that instances' clocks may differ without a turn being measured anew


class _Began(msgspec.Struct, frozen=True):
    """A turn by its revision and the time since which its clock runs by the log, and when it was first looked at."""

    revision: int
    at: int
    seen: int


class Skew:
    """What one instance knows of clocks that differ from its own."""

    def __init__(self) -> None:
        self._turns: dict[str, _Began] = {}
        self._newest: dict[str, int] = {}
        self._postgres = 0

    def began(self, table_id: str, revision: int, at: int, now: int) -> int:
        """When turn `revision`, whose clock runs since `at` by the log, began by the clock that says `now`; milliseconds since 1970."""
        if at <= now + _LEEWAY:
            self._turns.pop(table_id, None)
            return at
        known = self._turns.get(table_id)
        if known is None or (known.revision, known.at) != (revision, at):
            known = self._turns[table_id] = _Began(revision, at, now)
        return known.seen

    def measures(self, table_id: str) -> bool:
        """Whether the table's present turn, as far as it was looked at, is measured from its first look on."""
        return table_id in self._turns

    def note(self, table_id: str, at: int, now: int) -> None:
        """The table's newest commit is of the time `at`."""
        if at > now + TELL:
            self._newest[table_id] = at
        else:
            self._newest.pop(table_id, None)

    def forget(self, table_id: str) -> None:
        """The pulka is over."""
        self._turns.pop(table_id, None)
        self._newest.pop(table_id, None)

    def compare(self, now: int, postgres: int) -> None:
        """What this clock and that of Postgres said at the same moment."""
        self._postgres = now - postgres

    def told(self, now: int) -> dict[str, float]:
        """For `/health`, in seconds: by how much this clock is ahead of that of Postgres (below zero: behind), and the log's newest times
        of this clock; only what is worth a word.
        """
        ahead = max((now, *self._newest.values())) - now  # what a clock has caught up with is no news, though no look has noted it
        found = {"ahead_of_postgres_s": self._postgres, "behind_the_log_s": ahead}
        return {name: round(value / 1000, 1) for name, value in found.items() if abs(value) > TELL}
