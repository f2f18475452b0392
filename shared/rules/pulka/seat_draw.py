"""The draw for seats: everybody draws a card, and the lowest takes the first seat, the others follow clockwise (3.1.1).

Like the shuffle it can be checked by everybody. The server binds itself to a seed (`shuffle.commitment` of "deal" 0) before anybody draws.
To draw is to name one of the 32 places of the cards that lie spread out; which card lies where follows from the seed and from all places
that were named, in their order, so nobody knows a card before the last one has drawn. Then the seed is told.

Algorithm 1: `key = HMAC-SHA-256(server seed, framed("pulka draw 1", table id, rules digest, seat, place, seat, place, …))`; the deck is
`shuffle.shuffled(key)`, its top card on place 1. Algorithm 2, of a match with chains: the seed is the server's link of round 0, the
commitment the end of its chain; when the last one has drawn the players open their links, and the key, with `pulka draw 2`, has seat and
link of each behind the places. The Code lets the lowest choose a seat; here each takes the first free one, as at a
table on a screen all seats are alike [conv].
"""

from __future__ import annotations

import hmac
from typing import Final

import msgspec

from shared.rules.deck import shuffle
from shared.rules.deck.cards import CARD_NUMBER, CARDS
from shared.rules.deck.shuffle import framed, shuffled
from shared.rules.language.game_events import Event, PulkaOpened
from shared.rules.language.member_events import SeatCardDrawn, SeatDrawStarted, SeatsDrawn
from shared.rules.language.moves import AnyMove, Draw
from shared.rules.language.refusal import Refused

RULE: Final = "3.1.1"
NO_DEAL: Final = 0  # the number under which the commitment and the sealed seed stand; deals count from 1
PLACES: Final = len(CARDS)

#: Seats as in the lobby, each with the place that they named, in the order of the log.
Drawn = tuple[tuple[int, int], ...]
Links = tuple[tuple[int, str], ...]


class SeatDraw(msgspec.Struct, frozen=True, gc=False):
    """A draw that goes on; seats are those of the lobby, who draw one after another."""

    commitment: str
    server_seed: str
    drawn: Drawn = ()
    chained: bool = False  # algorithm 2: the players' links come after the last card

    @property
    def to_act(self) -> int:
        """Who draws next."""
        return len(self.drawn)

    @property
    def free(self) -> int:
        """The lowest place from which nobody has drawn: a fixed one for whoever lets their time pass, so that the server cannot choose."""
        taken = {place for _, place in self.drawn}
        return next(place for place in range(1, PLACES + 1) if place not in taken)


def opened(table_id: str, event: PulkaOpened, server_seed: str, promise: str = "") -> tuple[SeatDrawStarted, ...]:
    """What follows the opening of a pulka in the same commit: the draw for seats, where that is agreed; with chains `promise` is the end of
    the server's.
    """
    if event.terms.get("seating") != "drawn":
        return ()
    if promise:
        return (SeatDrawStarted(promise, shuffle.CHAINED, server_seed),)
    return (start(server_seed, table_id, event.rules_digest),)


def evolve(draw: SeatDraw | None, event: SeatDrawStarted | SeatCardDrawn) -> SeatDraw | None:
    """The draw after `event`."""
    match event:
        case SeatDrawStarted():
            return SeatDraw(event.commitment, event.server_seed or "", chained=event.algorithm == shuffle.CHAINED)
        case SeatCardDrawn() if draw is not None:
            return msgspec.structs.replace(draw, drawn=(*draw.drawn, (event.seat, event.place)))
    return draw


def start(server_seed: str, table_id: str, rules_digest: str) -> SeatDrawStarted:
    """The cards are spread out; `server_seed` is 64 hex digits."""
    return SeatDrawStarted(shuffle.commitment(server_seed, table_id, NO_DEAL, rules_digest), shuffle.ALGORITHM, server_seed)


def decide(
    draw: SeatDraw | None, table_id: str, rules_digest: str, seats: tuple[str, ...], seat: int, move: AnyMove
) -> tuple[Event, ...] | Refused:
    """`seat` draws; the last one's card ends the draw, and all sit down."""
    if draw is None:
        return Refused("wrong_phase", RULE, "No draw for seats is under way.")
    if not isinstance(move, Draw):
        return Refused("wrong_phase", RULE, "The players are drawing for seats; the first deal comes after that.")
    if seat != draw.to_act:
        return Refused("not_your_turn", RULE, "The cards are drawn one after another, in the order of the lobby's seats.")
    if any(move.place == place for _, place in draw.drawn):
        return Refused("call_not_allowed", RULE, f"The card on place {move.place} has been drawn.")
    drawn = (*draw.drawn, (seat, move.place))
    event = SeatCardDrawn(seat, move.place)
    if len(drawn) < len(seats):
        return (event,)
    return event, *(() if draw.chained else (drawn_for(draw.server_seed, table_id, rules_digest, seats, drawn),))


def drawn_for(
    server_seed: str, table_id: str, rules_digest: str, seats: tuple[str, ...], drawn: Drawn, links: Links | None = None
) -> SeatsDrawn:
    """The end of the draw: cards and seats, as they follow from the places and, with chains, from the links."""
    cards = cards_of(server_seed, table_id, rules_digest, drawn, links)
    return SeatsDrawn(server_seed, cards, tuple(seats[one] for one in lowest_first(cards)))


def cards_of(server_seed: str, table_id: str, rules_digest: str, drawn: Drawn, links: Links | None = None) -> tuple[str, ...]:
    """The card of each who drew, in the order of `drawn`; `links` as in `shuffle.deal_cards`. Raises `ValueError` for a seed that is not 64
    hex digits.
    """
    named: list[int | str] = [number for pair in drawn for number in pair]
    for pair in sorted(links or ()):
        named += pair
    label = "pulka draw 1" if links is None else "pulka draw 2"
    seed = bytes.fromhex(server_seed)
    deck = shuffled(hmac.digest(seed, framed(label, table_id, rules_digest, *named), "sha256"))
    return tuple(CARDS[deck[place - 1]] for _, place in drawn)


def lowest_first(cards: tuple[str, ...]) -> tuple[int, ...]:
    """Who drew which of `cards`, the lowest card first: the ace is the lowest here, of equals spades, then clubs (3.1.1)."""
    return tuple(sorted(range(len(cards)), key=lambda one: _height(cards[one])))


def _height(card: str) -> tuple[int, int]:
    suit, rank = divmod(CARD_NUMBER[card], 8)
    return (rank + 1) % 8, suit
