"""Commits that lie in the log twice: somebody published the stored bytes once more, past the club.

A copy right behind its original, byte for byte the same, changes nothing: revision and hash say that it is the same commit. Whoever reads
passes it over and goes on behind it; only the audit tells of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from shared.eventlog.port import Stored


def is_copy(stored: Stored, before: Stored | None) -> bool:
    """Whether `stored` is the commit `before` of its aggregate once more."""
    return before is not None and stored.data == before.data


def split_copies(commits: Iterable[Stored]) -> tuple[list[Stored], list[Stored]]:
    """One aggregate's commits in the order of the log, without the copies, and the copies."""
    kept: list[Stored] = []
    copies: list[Stored] = []
    for stored in commits:
        (copies if is_copy(stored, kept[-1] if kept else None) else kept).append(stored)
    return kept, copies


def without_copies(commits: Iterable[Stored]) -> list[Stored]:
    """One aggregate's commits in the order of the log, each once."""
    return split_copies(commits)[0]
