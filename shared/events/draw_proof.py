"""The proof of a draw for seats: from what `SeatsDrawn` tells, everybody recomputes commitment, cards and seats. SHA-256 and HMAC only.

It shows that the server chose its seed before anybody drew, and that cards and seats follow from it and from the places that were named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from shared.events import address
from shared.events.catalogue import SealedSeatDrawStarted
from shared.events.chain import Finding
from shared.events.commit import Commit
from shared.events.sealed import Opened, matches
from shared.events.upcast import stored_table_events
from shared.rules.deck import shuffle
from shared.rules.language.game_events import DealRevealed, PulkaOpened
from shared.rules.language.member_events import SeatCardDrawn, SeatsDrawn
from shared.rules.pulka.seat_draw import NO_DEAL, cards_of, lowest_first


class _Draw(msgspec.Struct):
    """What the log says of a draw before its cards are told."""

    table_id: str
    opened: PulkaOpened
    started: SealedSeatDrawStarted
    drawn: tuple[tuple[int, int], ...] = ()


def verify_draw(commits: Iterable[Commit]) -> tuple[Finding, ...]:
    """What is wrong with the draw in one table's commits, given from the first on; nothing where nobody drew, or the draw goes on.

    Raises `NewerSchema`, `msgspec.ValidationError`.
    """
    opened: PulkaOpened | None = None
    draw: _Draw | None = None
    for commit in commits:
        for event in stored_table_events(commit):
            match event:
                case PulkaOpened():
                    opened = event
                case SealedSeatDrawStarted() if opened is not None:
                    draw = _Draw(address.from_subject(commit.aggregate).id, opened, event)
                case SeatCardDrawn(seat=seat, place=place) if draw is not None:
                    draw.drawn += ((seat, place),)
                case SeatsDrawn() if draw is not None:
                    return tuple(Finding(commit.revision, code, message) for code, message in _complaints(draw, event))
                case SeatsDrawn():
                    return (Finding(commit.revision, "draw", "Seats were drawn for, and no draw had begun."),)
                case DealRevealed():
                    return ()  # the draw comes before the first deal; a log of thousands of commits need not be read on
                case _:
                    pass
    return ()


def _complaints(draw: _Draw, told: SeatsDrawn) -> Iterator[tuple[str, str]]:
    digest, seed = draw.opened.rules_digest, told.server_seed
    try:
        promised = shuffle.commitment(seed, draw.table_id, NO_DEAL, digest)
        cards = cards_of(seed, draw.table_id, digest, draw.drawn)
    except (ValueError, IndexError) as error:  # a seed or a place that no rule allows
        yield "malformed", f"The draw cannot be recomputed: {error}."
        return
    if promised != draw.started.commitment:
        yield "commitment", "The server's seed in the draw is not the one that it had committed to."
    if not matches(draw.started.server_seed.digest, Opened(seed, shuffle.salt(seed, shuffle.SERVER_SEED))):
        yield "digest", "The seed that was told is not the one that had been sealed."
    if cards != told.cards:
        yield "draw", "The cards are not those that lay on the places that were named."
    elif tuple(draw.opened.seats[seat] for seat in lowest_first(cards)) != told.seats:
        yield "draw", "The seats are not in the order of the cards."
