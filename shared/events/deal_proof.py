"""The proof of a deal: from what `DealRevealed` tells, everybody recomputes commitment, shuffle and every box's digest. SHA-256 and HMAC
only, no key.

It shows that the server chose its seed before the players' seeds and the cut, that the cards follow from all of them, and that what was
played with is what had been sealed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from shared.events import address
from shared.events.catalogue import (
    SealedCardsDealt,
    SealedCardsDiscarded,
    SealedDarkTalonTaken,
    SealedDealStarted,
    SealedHandSeen,
    SealedTalonReturned,
)
from shared.events.chain import Finding
from shared.events.chain_proof import FollowedChains
from shared.events.commit import Commit
from shared.events.sealed import Opened, Sealed, matches
from shared.events.upcast import stored_table_events
from shared.rules.deck import shuffle
from shared.rules.deck.chain import link_after
from shared.rules.language.chain_events import LinkOpened
from shared.rules.language.game_events import DealRevealed, DeckCut, PulkaClosed, PulkaOpened, SeedAdded
from shared.rules.language.member_events import NewcomerSeated


class DealReport(msgspec.Struct, frozen=True):
    """One deal. `verified`: it is revealed and everything fits. A deal that still goes on is not verified and has no problems."""

    number: int
    verified: bool
    revealed: bool
    commitment: str
    server_seed: str | None
    problems: tuple[Finding, ...]


class RecomputedDeal(msgspec.Struct, frozen=True):
    """A revealed deal with all that it follows from, and what follows: anybody can do the sum again (deploy/docs/events.md, its proof).

    `seeds`, `links` are (seat, text) as in the log; `hands` (by seat, `""` for who rests) and `talon` are recomputed, not those that were
    revealed; `problems` say where the two differ, or a promise or a box does not fit.
    """

    table: str
    number: int
    algorithm: int
    rules_digest: str
    players: int
    dealer: int
    commitment: str
    server_seed: str
    seeds: tuple[tuple[int, str], ...]
    links: tuple[tuple[int, str], ...]
    cut_at: int
    hands: tuple[str, ...]
    talon: str
    verified: bool
    problems: tuple[Finding, ...]


class _Deal(msgspec.Struct):
    """What the log says about a deal before it is revealed."""

    table_id: str
    opened: PulkaOpened
    started: SealedDealStarted
    revision: int
    seeds: tuple[tuple[int, str], ...] = ()
    links: tuple[tuple[int, str], ...] = ()
    cut: DeckCut | None = None
    dealt: SealedCardsDealt | None = None
    taken: SealedDarkTalonTaken | None = None
    discarded: SealedCardsDiscarded | None = None
    seen: tuple[SealedHandSeen, ...] = ()
    returned: SealedTalonReturned | None = None
    chained: bool = False
    of_chains: list[tuple[str, str]] = []


ALGORITHMS: Final = (shuffle.ALGORITHM, shuffle.CHAINED)  # every one that was ever dealt with stays recomputable


def verify_deals(commits: Iterable[Commit]) -> tuple[DealReport, ...]:
    """Checks every deal in one table's commits, given from the first on. Raises `NewerSchema`, `msgspec.ValidationError`."""
    return tuple(_reports(commits))


def verify_deal(commits: Iterable[Commit], number: int) -> DealReport | None:
    """Checks deal `number`, `None` when the table has not come to it. Raises as `verify_deals`."""
    return next((report for report in _reports(commits) if report.number == number), None)


def recompute(commits: Iterable[Commit], number: int) -> RecomputedDeal | None:
    """Shuffles and deals deal `number` once more, from one table's commits; None while it is not revealed.

    Raises as `verify_deals`, and `ValueError` for a revealed deal that no sum leads to (it lacks a cut, or has a seed that is none).
    """
    for deal, revealed, report in _proofs(commits):
        if deal.started.number == number:
            return None if revealed is None else _recomputed(deal, revealed, report)
    return None


def _recomputed(deal: _Deal, revealed: DealRevealed, report: DealReport) -> RecomputedDeal:
    if deal.cut is None or deal.started.algorithm not in ALGORITHMS:
        raise ValueError(f"deal {deal.started.number} was not cut, or dealt in a way that is not known here")
    hands, talon = _dealt_again(deal, deal.cut.at, revealed.server_seed)
    return RecomputedDeal(
        table=deal.table_id,
        number=deal.started.number,
        algorithm=deal.started.algorithm,
        rules_digest=deal.opened.rules_digest,
        players=deal.opened.players,
        dealer=deal.started.dealer,
        commitment=deal.started.commitment,
        server_seed=revealed.server_seed,
        seeds=deal.seeds,
        links=deal.links,
        cut_at=deal.cut.at,
        hands=hands,
        talon=talon,
        verified=report.verified,
        problems=report.problems,
    )


def _reports(commits: Iterable[Commit]) -> Iterator[DealReport]:
    return (report for _, _, report in _proofs(commits))


def _proofs(commits: Iterable[Commit]) -> Iterator[tuple[_Deal, DealRevealed | None, DealReport]]:
    opened: PulkaOpened | None = None
    deal: _Deal | None = None
    chains: FollowedChains | None = None
    for commit in commits:
        chains = chains or FollowedChains(address.from_subject(commit.aggregate).id)
        for event in stored_table_events(commit):
            wrong = chains.take(event, deal.started.number if deal else 0)
            (deal.of_chains if deal else []).extend(wrong)
            match event:
                case PulkaOpened() | NewcomerSeated():
                    opened = _agreed(opened, event)
                case SealedDealStarted() if opened is not None:
                    if deal is not None:
                        yield deal, None, _never_revealed(deal)
                    deal = _Deal(address.from_subject(commit.aggregate).id, opened, event, commit.revision, chained=chains.chained)
                case DealRevealed() if deal is not None:
                    yield deal, event, _proved(deal, event, commit.revision)
                    deal = None
                case PulkaClosed() if deal is not None:
                    yield deal, None, _never_revealed(deal)
                    deal = None
                case _ if deal is not None:
                    _collect(deal, event)
                case _:
                    pass
    if deal is not None:
        yield deal, None, _report(deal, None, ())


def _agreed(before: PulkaOpened | None, event: PulkaOpened | NewcomerSeated) -> PulkaOpened | None:
    """By what the deals from now on are dealt: with a newcomer there is one player more, and another digest."""
    if isinstance(event, PulkaOpened):
        return event
    return before and msgspec.structs.replace(before, players=len(event.seats), rules_digest=event.rules_digest)


def _collect(deal: _Deal, event: object) -> None:
    match event:
        case SeedAdded(seat=seat, seed=seed):
            deal.seeds += ((seat, seed),)
        case LinkOpened(seat=seat, link=link):
            deal.links += ((seat, link),)
        case DeckCut():
            deal.cut = event
        case SealedCardsDealt():
            deal.dealt = event
        case SealedDarkTalonTaken():
            deal.taken = event
        case SealedCardsDiscarded():
            deal.discarded = event
        case SealedHandSeen():
            deal.seen += (event,)
        case SealedTalonReturned():
            deal.returned = event
        case _:
            pass


def _never_revealed(deal: _Deal) -> DealReport:
    return _report(deal, None, (Finding(deal.revision, "not_revealed", f"Deal {deal.started.number} is over and was not revealed."),))


def _report(deal: _Deal, revealed: DealRevealed | None, problems: tuple[Finding, ...]) -> DealReport:
    return DealReport(
        number=deal.started.number,
        verified=revealed is not None and not problems,
        revealed=revealed is not None,
        commitment=deal.started.commitment,
        server_seed=None if revealed is None else revealed.server_seed,
        problems=problems,
    )


def _proved(deal: _Deal, revealed: DealRevealed, revision: int) -> DealReport:
    if deal.started.algorithm not in ALGORITHMS:
        complaints = [("unknown_algorithm", f"This program does not know shuffle {deal.started.algorithm}.")]
    elif deal.started.number != revealed.number or deal.dealt is None or deal.cut is None:
        complaints = [("incomplete", "A deal was revealed that was not started, cut and dealt.")]
    else:
        try:
            complaints = [
                *deal.of_chains,
                *_commitment(deal, revealed),
                *_salts(revealed),
                *_digests(deal, deal.dealt, revealed),
                *_cards(deal, deal.cut.at, revealed),
            ]
        except (ValueError, IndexError) as error:  # a seed, salt, cut or seat that no rule allows
            complaints = [("malformed", f"What was revealed cannot be recomputed: {error}.")]
    return _report(deal, revealed, tuple(Finding(revision, code, message) for code, message in complaints))


Complaints = Iterator[tuple[str, str]]


def _commitment(deal: _Deal, revealed: DealRevealed) -> Complaints:
    if deal.started.algorithm == shuffle.CHAINED:
        promised = link_after(deal.table_id, revealed.server_seed)
    else:
        promised = shuffle.commitment(revealed.server_seed, deal.table_id, revealed.number, deal.opened.rules_digest)
    if deal.chained != (deal.started.algorithm == shuffle.CHAINED):
        yield "unknown_algorithm", f"Shuffle {deal.started.algorithm} is not the one that was agreed at the beginning."
    if promised != deal.started.commitment:
        yield "commitment", "The server's seed is not the one that it had committed to."


def _salts(revealed: DealRevealed) -> Complaints:
    for label, salt in revealed.salts.items():
        if salt != shuffle.salt(revealed.server_seed, label):
            yield "salt", f"The salt of {label} does not follow from the server's seed."


def _digests(deal: _Deal, dealt: SealedCardsDealt, revealed: DealRevealed) -> Complaints:
    salts = revealed.salts | {shuffle.SERVER_SEED: shuffle.salt(revealed.server_seed, shuffle.SERVER_SEED)}
    boxes: list[tuple[str, Sealed | str, str | None]] = [(shuffle.SERVER_SEED, deal.started.server_seed, revealed.server_seed)]
    boxes += [(shuffle.hand_label(seat), box, hand) for seat, (box, hand) in enumerate(zip(dealt.hands, revealed.hands, strict=True))]
    boxes.append((shuffle.TALON, dealt.talon, revealed.talon))
    if deal.taken is not None:  # unseen: of a deal whose talon an early taker gave back, the one that was drawn for it (3.3.17)
        label, talon = (
            (shuffle.TALON, revealed.talon) if deal.returned is None else (shuffle.RETURNED_TALON, revealed.returned.get("talon"))
        )
        boxes.append((label, deal.taken.cards, talon))
    if deal.discarded is not None:
        boxes.append((shuffle.DISCARD, deal.discarded.cards, revealed.discard))
    boxes += [(shuffle.seen_label(seen.hand), seen.cards, revealed.hands[seen.hand]) for seen in deal.seen]
    if deal.returned is not None:
        boxes.append((shuffle.RETURNED_HAND, deal.returned.hand, revealed.returned.get("hand")))
        boxes.append((shuffle.RETURNED_TALON, deal.returned.talon, revealed.returned.get("talon")))
    for label, box, text in boxes:
        if not _fits(box, text, salts.get(label, "")):
            yield "digest", f"What was revealed as {label} is not what was sealed."
    if deal.discarded is None and revealed.discard is not None:
        yield "digest", "A discard was revealed that nobody made."


def _fits(box: Sealed | str, text: str | None, salt: str) -> bool:
    if isinstance(box, str):  # of a resting seat, which has no cards
        return box == text
    return text is not None and matches(box.digest, Opened(text, salt))


def _cards(deal: _Deal, cut_at: int, revealed: DealRevealed) -> Complaints:
    hands, talon = _dealt_again(deal, cut_at, revealed.server_seed)
    if (hands, talon) != (revealed.hands, revealed.talon):
        yield "shuffle", "The cards are not those that seeds and cut give."
    if deal.discarded is not None and revealed.discard is not None:
        held = {*revealed.hands[deal.discarded.seat].split(), *revealed.returned.get("talon", revealed.talon).split()}
        if not held.issuperset(revealed.discard.split()):
            yield "discard", "The discard was not in the declarer's twelve cards."


def _dealt_again(deal: _Deal, cut_at: int, server_seed: str) -> tuple[tuple[str, ...], str]:
    """Hands and talon as seeds and cut give them. Raises `ValueError`."""
    opened, started = deal.opened, deal.started
    links = deal.links if started.algorithm == shuffle.CHAINED else None
    return shuffle.deal_cards(
        server_seed, deal.table_id, started.number, opened.rules_digest, deal.seeds, cut_at, opened.players, started.dealer, links
    )
