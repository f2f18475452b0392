"""The proof of a draw for seats and for the first dealer: from what is told, everybody recomputes commitment, cards, seats and dealer.
SHA-256 and HMAC only.

It shows that the server chose its seed before anybody drew, and that cards and seats follow from it, from the places that were named, and
from the players' links where they have chains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from shared.events import address
from shared.events.catalogue import SealedDealStarted, SealedSeatDrawStarted
from shared.events.chain import Finding
from shared.events.chain_proof import Complaint, FollowedChains
from shared.events.commit import Commit
from shared.events.sealed import Opened, matches
from shared.events.upcast import stored_table_events
from shared.rules.deck import shuffle
from shared.rules.deck.chain import link_after
from shared.rules.language.chain_events import DealerDrawn, LinkOpened
from shared.rules.language.game_events import PulkaOpened
from shared.rules.language.member_events import SeatCardDrawn, SeatsDrawn
from shared.rules.pulka import links
from shared.rules.pulka.seat_draw import NO_DEAL, cards_of, lowest_first


class _Draw(msgspec.Struct):
    """What the log says of a draw before its cards are told; `started` is None where only the first dealer is drawn."""

    table_id: str
    opened: PulkaOpened
    chains: FollowedChains
    started: SealedSeatDrawStarted | None = None
    drawn: tuple[tuple[int, int], ...] = ()
    links: tuple[tuple[int, str], ...] = ()


def verify_draw(commits: Iterable[Commit]) -> tuple[Finding, ...]:
    """What is wrong with the draw for seats and for the first dealer in one table's commits, given from the first on; nothing where nobody
    drew, or the draw goes on.

    Raises `NewerSchema`, `msgspec.ValidationError`.
    """
    draw: _Draw | None = None
    found: list[Finding] = []
    for commit in commits:
        for event in stored_table_events(commit):
            if isinstance(event, SealedDealStarted):
                return tuple(found)  # the draw comes before the first deal; a log of thousands of commits need not be read on
            if isinstance(event, PulkaOpened):
                table_id = address.from_subject(commit.aggregate).id
                draw = _Draw(table_id, event, FollowedChains(table_id))
            complaints = [] if draw is None else [*draw.chains.take(event, NO_DEAL), *_complaints(draw, event)]
            found += [Finding(commit.revision, code, message) for code, message in complaints]
    return tuple(found)


def _complaints(draw: _Draw, event: object) -> Iterator[Complaint]:
    match event:
        case SealedSeatDrawStarted():
            draw.started = event
        case SeatCardDrawn(seat=seat, place=place):
            draw.drawn += ((seat, place),)
        case LinkOpened(seat=seat, link=link):
            draw.links += ((seat, link),)
        case SeatsDrawn() if draw.started is None:
            yield "draw", "Seats were drawn for, and no draw had begun."
        case SeatsDrawn() if draw.started is not None:
            yield from _of_seats(draw, draw.started, event)
        case DealerDrawn():
            yield from _of_dealer(draw, event)


def _of_seats(draw: _Draw, started: SealedSeatDrawStarted, told: SeatsDrawn) -> Iterator[Complaint]:
    digest, seed, chained = draw.opened.rules_digest, told.server_seed, draw.chains.chained
    try:
        promised = link_after(draw.table_id, seed) if chained else shuffle.commitment(seed, draw.table_id, NO_DEAL, digest)
        cards = cards_of(seed, draw.table_id, digest, draw.drawn, draw.links if chained else None)
        sealed = Opened(seed, shuffle.salt(seed, shuffle.SERVER_SEED))
    except (ValueError, IndexError) as error:  # a seed or a place that no rule allows
        yield "malformed", f"The draw cannot be recomputed: {error}."
        return
    if promised != started.commitment:
        yield "commitment", "The server's seed in the draw is not the one that it had committed to."
    if not matches(started.server_seed.digest, sealed):
        yield "digest", "The seed that was told is not the one that had been sealed."
    if cards != told.cards:
        yield "draw", "The cards are not those that lay on the places that were named."
    elif tuple(draw.opened.seats[seat] for seat in lowest_first(cards)) != told.seats:
        yield "draw", "The seats are not in the order of the cards."


def _of_dealer(draw: _Draw, told: DealerDrawn) -> Iterator[Complaint]:
    try:
        seat = links.first_dealer(told.server_seed, draw.table_id, draw.opened.rules_digest, draw.opened.players, draw.links)
    except ValueError as error:
        yield "malformed", f"The draw cannot be recomputed: {error}."
        return
    if seat != told.seat:
        yield "draw", "The first dealer is not the one that follows from the links."
