"""A pulka played by lot, as what each of its commits holds."""

from __future__ import annotations

import random
from functools import reduce

from services.bots.chain import OwnChain
from services.table.server_chain import ServerChains
from shared.events import address
from shared.rules.convention.options import resolve, to_document
from shared.rules.convention.rules_digest import rules_digest
from shared.rules.language.game_events import Event
from shared.rules.language.moves import CommitChain
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka import links, rounds
from shared.rules.pulka.decider import OpenPulka, Pulka
from tests.events import story
from tests.lot import drawn_events

PLAYERS = ("0-north", "0-east", "0-south", "0-west", "0-fifth")


def play(
    convention: str | dict[str, object], players: int, lot: int, deals: int, seating: str = "chosen"
) -> tuple[Pulka, list[tuple[Event, ...]]]:
    """The state after at most `deals` deals of `story.TABLE`, and what each commit holds."""
    draw = random.Random(lot)
    terms = {"clock": {"move_s": 30, "cut_s": 5}} | ({} if seating == "chosen" else {"seating": seating})
    opening = OpenPulka(
        resolve(convention, 4), story.RULES_DIGEST, players, 4, PLAYERS[:players], terms, draw.randrange(players), story.SERVER_SEED
    )
    pulka = Pulka(table_id=story.TABLE.id)
    log = [match.open_pulka(pulka, opening)]
    pulka = reduce(match.evolve, log[-1], pulka)
    while match.phase(pulka) != "over" and not (match.phase(pulka) == "between_deals" and pulka.number == deals):
        log.append(drawn_events(pulka, draw)[1])
        pulka = reduce(match.evolve, log[-1], pulka)
    return pulka, log


def play_chained(players: int, lot: int, deals: int) -> tuple[Pulka, list[tuple[Event, ...]]]:
    """The same of a pulka with chains: all players but the last promise one before it, seat 0 is silent in deal 2 and promises another
    one afterwards.
    """
    draw = random.Random(lot)
    where, own = address.table(story.TABLE.id), [OwnChain.of(story.TABLE.id, player) for player in PLAYERS[:players]]
    server = ServerChains(story.CODEC, lambda: story.SERVER_SEED)
    chains, link = server.begin(where, (*(one.end for one in own[:-1]), ""))
    convention = resolve("sochi", 4)
    digest = rules_digest(to_document(convention), players, 4, {})
    opening = OpenPulka(convention, digest, players, 4, PLAYERS[:players], {}, 0, link, chains)
    pulka = Pulka(table_id=story.TABLE.id)
    log: list[tuple[Event, ...]] = []

    def made(events: tuple[Event, ...] | Refused) -> None:
        nonlocal pulka
        assert not isinstance(events, Refused)
        log.append(events)
        pulka = reduce(match.evolve, events, pulka)

    made(match.open_pulka(pulka, opening))
    while match.phase(pulka) != "over" and not (match.phase(pulka) == "between_deals" and pulka.number == deals):
        seats = pulka.chains.waiting
        shown = {"chains": links.document(pulka.chains, rounds.present(pulka))}
        found = [(seat, own[seat].link(shown | {"seat": seat}) or "") for seat in seats]
        if match.phase(pulka) == "between_deals":
            made(match.start_deal(pulka, server.deal(where, pulka, pulka.number + 1)))
        elif match.phase(pulka) != "links":
            made(drawn_events(pulka, draw)[1])
        elif pulka.number == 2 and len(seats) > 1:
            made(match.open_links(pulka, tuple(found[1:])))
        elif pulka.number == 2:
            made(match.links_over(pulka))
            own[0] = OwnChain.of(story.TABLE.id, "another secret")
            made(match.decide(pulka, 0, CommitChain(own[0].end)))
        else:
            made(match.open_links(pulka, tuple(found)))
    return pulka, log
