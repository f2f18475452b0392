"""Everybody's part in a deal that nobody can choose: the players' chains, and their links, which are opened after the cut (3.2.3-3.2.6).

A **round** is what links are opened for: round 0 is the draw for the first dealer, and for seats where that is agreed; round n is deal n.
Who has committed to a chain is asked for the link of each round, once there is nothing left to choose: after the cut, or after the last
one has drawn. Only one link fits (`shared.rules.deck.chain`), so to open it or not is all that is left, and the log names who did not. A
chain whose link was missed has ended; its player may commit to another one.

The records · what they ask for · evolve · decide.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from shared.rules.deck import chain
from shared.rules.deck.shuffle import framed
from shared.rules.language.chain_events import ChainCommitted, ChainsCommitted, DealerDrawn, LinkMissed, LinkOpened
from shared.rules.language.game_events import Event
from shared.rules.language.member_events import NewcomerSeated, SubstituteSeated
from shared.rules.language.refusal import Refused

RULE: Final = "3.2.3"  # the deck is shuffled by all, as it were
DRAW: Final = 0  # the round before the first deal

#: Who opened which link, by seat.
Opened = tuple[tuple[int, str], ...]


class Chain(msgspec.Struct, frozen=True, gc=False):
    """A chain as everybody knows it: `known` is its end, or the link that was opened last; `round` the round of that link, of an end the
    one before the first for which a link is opened. `told`: it is a link, not the end.
    """

    known: str
    round: int
    told: bool = False

    def fits(self, table_id: str, link: str, round: int) -> bool:  # noqa: A002 - the word of the documents
        """Whether `link` is this chain's of `round`."""
        steps = round - self.round
        return 0 < steps <= chain.MOST_ROUNDS and chain.is_link(link) and chain.link_at(table_id, link, steps) == self.known


class Chains(msgspec.Struct, frozen=True):
    """All chains of a match. `server` is None in a match that began without; `root` is the beginning of the server's chain, sealed, and
    nothing to the rules; it has `length` links, the first for round `began`. `asked` are the seats whose links were asked for in the
    present round, `opened` the links that came.
    """

    server: Chain | None = None
    root: dict[str, Any] = {}
    began: int = DRAW
    length: int = 0
    seats: tuple[Chain | None, ...] = ()
    asked: tuple[int, ...] = ()
    opened: Opened = ()

    @property
    def waiting(self) -> tuple[int, ...]:
        """The seats whose links have not come."""
        there = {seat for seat, _ in self.opened}
        return tuple(seat for seat in self.asked if seat not in there)

    @property
    def committed(self) -> tuple[int, ...]:
        """The seats that have a chain."""
        return tuple(seat for seat, own in enumerate(self.seats) if own is not None)

    @property
    def dealer_due(self) -> bool:
        """Whether the first dealer is not drawn yet."""
        return self.server is not None and self.server.round < DRAW

    def next_round(self, number: int, *, cut_due: bool) -> int:
        """The first round of a chain that is committed to now, in or after deal `number`, whose cut may be due."""
        if self.dealer_due and not self.asked:
            return DRAW
        return number if cut_due else number + 1


def first_dealer(server_seed: str, table_id: str, rules_digest: str, players: int, opened: Opened) -> int:
    """Who deals first (3.2.1), from the server's link and the players' of round 0: the first eight bytes, big end first, of
    `HMAC-SHA-256(server seed, framed("pulka dealer 2", table id, rules digest, seat, link, …))`, modulo the number of players, so that
    none is likelier by more than one in 10^18. Raises `ValueError` for a seed that is not hex.
    """
    named = [part for pair in sorted(opened) for part in pair]
    drawn = hmac.digest(bytes.fromhex(server_seed), framed("pulka dealer 2", table_id, rules_digest, *named), hashlib.sha256)
    return int.from_bytes(drawn[:8], "big") % players


# ---- evolve ------------------------------------------------------------------------------------------------------------


def began(event: ChainsCommitted, chains: Chains) -> Chains:
    """The chains that a match begins with; or the server's next one, the players' going on."""
    server = Chain(event.server, event.first - 1)
    if chains.server is not None:
        return msgspec.structs.replace(chains, server=server, root=event.root, began=event.first, length=event.length)
    return Chains(server, event.root, event.first, event.length, tuple(Chain(end, event.first - 1) if end else None for end in event.seats))


def asked(chains: Chains) -> Chains:
    """There is nothing left to choose: whoever has a chain is asked for their link."""
    return msgspec.structs.replace(chains, asked=chains.committed, opened=()) if chains.committed else chains


def evolve(chains: Chains, event: Event, round: int) -> Chains:  # noqa: A002 - see `Chain.fits`
    """The chains after one of their events in `round`."""
    match event:
        case ChainCommitted(seat=seat, end=end, first=first):
            return _with(chains, seat, Chain(end, first - 1))
        case LinkOpened(seat=seat, link=link):
            return msgspec.structs.replace(_with(chains, seat, Chain(link, round, told=True)), opened=(*chains.opened, (seat, link)))
        case LinkMissed(seat=seat):
            return msgspec.structs.replace(_with(chains, seat, None), asked=tuple(one for one in chains.asked if one != seat))
        case SubstituteSeated(seat=seat):
            return _with(chains, seat, None)
        case NewcomerSeated(seat=seat) if chains.server is not None:
            return msgspec.structs.replace(chains, seats=(*chains.seats[:seat], None, *chains.seats[seat:]))
    return chains


def reseated(chains: Chains, before: Sequence[str], after: Sequence[str]) -> Chains:
    """The players sit in another order: each takes their chain along."""
    own = dict(zip(before, chains.seats, strict=False))
    return msgspec.structs.replace(chains, seats=tuple(own[player] for player in after)) if own else chains


def closed(chains: Chains, server_seed: str, round: int) -> Chains:  # noqa: A002 - see `Chain.fits`
    """The round is over, and the server's link of it is told."""
    if chains.server is None:
        return chains
    return msgspec.structs.replace(chains, server=Chain(server_seed, round, told=True), asked=(), opened=())


def dealt(chains: Chains) -> Chains:
    """The cards are dealt: nobody is asked any more."""
    return msgspec.structs.replace(chains, asked=(), opened=()) if chains.asked else chains


def _with(chains: Chains, seat: int, own: Chain | None) -> Chains:
    if seat >= len(chains.seats):
        return chains
    return msgspec.structs.replace(chains, seats=(*chains.seats[:seat], own, *chains.seats[seat + 1 :]))


# ---- decide ------------------------------------------------------------------------------------------------------------


def commit(chains: Chains, seat: int, end: str, first: int) -> tuple[Event, ...] | Refused:
    """`seat` promises a chain whose first link is opened in round `first`; to nothing where it has promised just that."""
    if chains.server is None:
        return Refused("wrong_phase", RULE, "This pulka began without chains; here `seed` adds a player's own randomness.")
    if chains.asked:
        return Refused("wrong_phase", RULE, "Links are being opened; commit to a chain when the cards are dealt.")
    own = chains.seats[seat]
    if own is not None and own.known == end:
        return ()
    if own is not None and not own.told and own.round == first - 1:
        return Refused("call_not_allowed", RULE, "You have committed to a chain since the last deal.")
    return (ChainCommitted(seat, end, first),)


def open_links(chains: Chains, table_id: str, round: int, links: Opened) -> tuple[LinkOpened, ...] | Refused:  # noqa: A002 - see `Chain.fits`
    """The links that seats open in `round`, each once; of those that are opened already nothing is made."""
    done: list[LinkOpened] = []
    for seat, link in links:
        own = chains.seats[seat] if seat < len(chains.seats) else None
        if own is not None and was_told(own, table_id, link):
            continue
        if seat not in chains.waiting:
            return Refused("wrong_phase", RULE, "Your link is not asked for now.")
        if own is None or not own.fits(table_id, link, round):
            return Refused("link_does_not_fit", RULE, f"This is not the link of round {round}: it does not lead to the one that is known.")
        done.append(LinkOpened(seat, link))
    return tuple(done)


def was_told(own: Chain, table_id: str, link: str) -> bool:
    """Whether `link` is the known one, or was known before: it lies behind it in the chain."""
    behind = own.known
    for _ in range(max(own.round, DRAW) + 2):  # links of earlier rounds, and the end
        if behind == link:
            return True
        behind = chain.link_after(table_id, behind)
    return False


def missing(chains: Chains) -> tuple[LinkMissed, ...]:
    """The time is over: who did not open their link is named."""
    return tuple(LinkMissed(seat) for seat in chains.waiting)


def server_fits(chains: Chains, table_id: str, seed: str, round: int) -> bool:  # noqa: A002 - see `Chain.fits`
    """Whether `seed` is the server's link of `round`."""
    return chains.server is not None and chains.server.fits(table_id, seed, round)


def dealer_drawn(chains: Chains, table_id: str, rules_digest: str, players: int, server_seed: str) -> DealerDrawn:
    """The first dealer, when all links of round 0 have come or are given up."""
    return DealerDrawn(first_dealer(server_seed, table_id, rules_digest, players, chains.opened), server_seed)


def document(chains: Chains, round: int) -> dict[str, Any] | None:  # noqa: A002 - see `Chain.fits`
    """What everybody may see of it, and what a client needs to open its next link (deploy/docs/http.md: Table); None without chains."""
    if chains.server is None:
        return None
    waiting = chains.waiting
    return {
        "server": chains.server.known,
        "round": round,
        "asked": list(waiting),
        "seats": [None if own is None else {"known": own.known, "round": own.round} for own in chains.seats],
    }
