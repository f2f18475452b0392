"""A round of links in the match: what it waits for, and what follows when the last link has come or its time is over.

The chains themselves are `links.py`'s; here they meet the match, whose `evolve` comes in as an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Final, TypeAlias

import msgspec

from shared.rules.adjudicated.court import Maker, game_of
from shared.rules.deal import decider as deals
from shared.rules.deck import shuffle
from shared.rules.deck.chain import link_after
from shared.rules.deck.shuffle import ABSENT_CUT
from shared.rules.language.chain_events import (
    ChainCommitted,
    ChainsCommitted,
    DealerDrawn,
    DealerDrawStarted,
    KeysRegistered,
    LinkMissed,
    LinkOpened,
)
from shared.rules.language.game_events import DealStarted, Event, PulkaOpened
from shared.rules.language.moves import CommitChain, OpenLink
from shared.rules.language.refusal import Refused
from shared.rules.pulka import cutting, links, seat_draw
from shared.rules.pulka.state import Pulka, Secrets, StartDeal
from shared.rules.pulka.turns import phase

Evolve: TypeAlias = "Callable[[Pulka, Event], Pulka]"

CHAIN_MOVES: Final = (CommitChain, OpenLink)


def present(pulka: Pulka) -> int:
    """The round for which links are opened now, or were opened last: the deal, or 0 for the draw."""
    return links.DRAW if pulka.chains.dealer_due else pulka.number


def opened(
    table_id: str, opening: PulkaOpened, seed: str, promised: ChainsCommitted | None, keys: tuple[str, ...] = ()
) -> tuple[Event, ...]:
    """What follows the opening of a match in the same commit: chains and draw, as far as they are agreed. With chains of which nobody has
    one but the server, and seats as they are, the first dealer is drawn at once.
    """
    registered = (KeysRegistered(keys),) if any(keys) else ()
    if promised is None:
        return *registered, *seat_draw.opened(table_id, opening, seed)
    drawing: tuple[Event, ...] = seat_draw.opened(table_id, opening, seed, promised.server)
    if not drawing and any(promised.seats):
        drawing = (DealerDrawStarted(promised.server, seed),)
    if drawing:
        return *registered, promised, *drawing
    return *registered, promised, links.dealer_drawn(links.Chains(), table_id, opening.rules_digest, opening.players, seed)


def start(pulka: Pulka, command: StartDeal) -> tuple[Event, ...]:
    """The server is bound to its seed. Raises `ValueError` in a match with chains for another than its link of this round: the server has
    nothing to choose.
    """
    number, seed = command.number, command.seed
    if pulka.chains.server is None:
        promise = shuffle.commitment(seed, pulka.table_id, number, pulka.rules_digest)
        return (DealStarted(number, pulka.next_dealer, promise, shuffle.ALGORITHM, seed),)
    renewed = () if command.renewed is None else (command.renewed,)
    chains = pulka.chains if command.renewed is None else links.began(command.renewed, pulka.chains)
    if not links.server_fits(chains, pulka.table_id, seed, number):
        raise ValueError(f"not the link of the server's chain for deal {number}")
    return *renewed, DealStarted(number, pulka.next_dealer, link_after(pulka.table_id, seed), shuffle.CHAINED, seed)


def decide(pulka: Pulka, seat: Maker, move: CommitChain | OpenLink, evolve: Evolve) -> tuple[Event, ...] | Refused:
    """What it causes that `seat` commits to a chain or opens a link."""
    if not isinstance(seat, int):
        return Refused("wrong_phase", links.RULE, "The arbiter has no part in the deal.")
    if isinstance(move, CommitChain):
        return links.commit(pulka.chains, seat, move.end, pulka.chains.next_round(pulka.number, cut_due=phase(pulka) == "cut"))
    return open_links(pulka, ((seat, move.link),), evolve)


def open_links(pulka: Pulka, opened: links.Opened, evolve: Evolve) -> tuple[Event, ...] | Refused:
    """What it causes that seats open their links, and the cards when they are the last; nothing where all were opened before."""
    if pulka.status != "playing" or pulka.chains.server is None:
        return Refused("wrong_phase", links.RULE, "Nobody opens links at this table now.")
    events = links.open_links(pulka.chains, pulka.table_id, present(pulka), opened)
    return events if isinstance(events, Refused) or not events else with_what_follows(pulka, events, evolve)


def with_what_follows(pulka: Pulka, events: tuple[Event, ...], evolve: Evolve) -> tuple[Event, ...]:
    """Links that came, or will not come; with the last the round is over."""
    after = reduce(evolve, events, pulka)
    if after.chains.waiting:
        return events
    if after.chains.dealer_due:
        return *events, *_draw_over(after)
    return *events, *dealt_and_begun(after, (cutting.deal_cards(after, ABSENT_CUT if after.cut_at is None else after.cut_at),), evolve)


def drawn(pulka: Pulka, events: tuple[Event, ...], evolve: Evolve) -> tuple[Event, ...]:
    """A card that was drawn for seats; with the last one the draw is over, where nobody's link is waited for."""
    after = reduce(evolve, events, pulka)
    over = after.draw is not None and len(after.draw.drawn) == pulka.players and not after.chains.waiting
    return (*events, *_draw_over(after)) if over else events


def dealt_and_begun(pulka: Pulka, dealt: tuple[Event, ...], evolve: Evolve) -> tuple[Event, ...]:
    """The cards, with the cut if it dealt them, and what follows from them by itself."""
    begun = reduce(evolve, dealt, pulka).deal
    return dealt if begun is None else (*dealt, *deals.first_events(game_of(begun)))


def _draw_over(pulka: Pulka) -> tuple[Event, ...]:
    """Seats, where they are drawn for, and the first dealer."""
    about = (pulka.table_id, pulka.rules_digest)
    if pulka.draw is None:
        return (links.dealer_drawn(pulka.chains, *about, pulka.players, pulka.secrets.server_seed),)
    seats = seat_draw.drawn_for(pulka.draw.server_seed, *about, pulka.seats, pulka.draw.drawn, pulka.chains.opened)
    return seats, links.dealer_drawn(pulka.chains, *about, pulka.players, pulka.draw.server_seed)


# ---- evolve ------------------------------------------------------------------------------------------------------------


def _chains_committed(pulka: Pulka, event: ChainsCommitted) -> Pulka:
    return msgspec.structs.replace(pulka, chains=links.began(event, pulka.chains))


def _dealer_draw_started(pulka: Pulka, event: DealerDrawStarted) -> Pulka:
    return msgspec.structs.replace(pulka, secrets=Secrets(server_seed=event.server_seed or ""), chains=links.asked(pulka.chains))


def _of_chains(pulka: Pulka, event: ChainCommitted | LinkOpened | LinkMissed) -> Pulka:
    return msgspec.structs.replace(pulka, chains=links.evolve(pulka.chains, event, present(pulka)))


def _dealer_drawn(pulka: Pulka, event: DealerDrawn) -> Pulka:
    chains = links.closed(pulka.chains, event.server_seed, links.DRAW)
    return msgspec.structs.replace(pulka, dealer=event.seat, next_dealer=event.seat, secrets=Secrets(), chains=chains)


EVOLVE: Final[dict[type[Event], Callable[[Pulka, Any], Pulka]]] = {
    ChainsCommitted: _chains_committed,
    KeysRegistered: lambda pulka, event: msgspec.structs.replace(pulka, keys=event.keys),
    DealerDrawStarted: _dealer_draw_started,
    ChainCommitted: _of_chains,
    LinkOpened: _of_chains,
    LinkMissed: _of_chains,
    DealerDrawn: _dealer_drawn,
}
