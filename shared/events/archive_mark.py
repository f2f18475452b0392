"""The last commit of an archived table, which stays in the log alone when what came before it is taken out."""

from __future__ import annotations

from typing import Final

from shared.events.commit import decode
from shared.events.sealing import name_of

MARK: Final = "PulkaArchived"  # the event of an archived table's last commit


def is_mark(data: bytes) -> bool:
    """Whether a commit is an archived table's last one. That its bytes hold the word says nothing: the word may be somebody's text."""
    return MARK.encode() in data and any(name_of(event) == MARK for event in decode(data).events)
