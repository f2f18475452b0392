"""Recompute every event from the moves: the rules decide again, from the cut to the settlement, and the log must agree.

Cards are those of `DealRevealed`; what is not revealed yet is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any, Final

from msgspec.structs import replace

from services.ledger.audit.signed_moves import wrong_signature
from services.ledger.views.tables import Line
from shared.events.catalogue import (
    SealedCardsDealt,
    SealedCardsDiscarded,
    SealedDarkTalonTaken,
    SealedDealerDrawStarted,
    SealedDealStarted,
    SealedEvent,
    SealedHandSeen,
    SealedPeeked,
    SealedSeatDrawStarted,
    SealedTalonReturned,
    SealedTalonTakenEarly,
    StoredTableEvent,
    encode_event,
)
from shared.events.chain import Finding
from shared.events.commit import Commit
from shared.events.sealed import Opened, Sealed, matches
from shared.projections.core.projection import UNAPPLICABLE
from shared.rules.adjudicated import moves_of_events
from shared.rules.adjudicated.court import ARBITER, Court, Maker
from shared.rules.convention.rules_digest import rules_digest
from shared.rules.deck.cards import hand_text, mask_of
from shared.rules.deck.shuffle import DISCARD, RETURNED_HAND, RETURNED_TALON, TALON, hand_label, seen_label
from shared.rules.language import amount, moves
from shared.rules.language import chain_events as chained
from shared.rules.language import correction_events as correction
from shared.rules.language import game_events as game
from shared.rules.language import irregular_events as irregular
from shared.rules.language import member_events as member
from shared.rules.language.game_events import DealRevealed, Event
from shared.rules.language.member_events import SeatsDrawn
from shared.rules.language.moves import AnyMove
from shared.rules.language.refusal import Refused
from shared.rules.pulka import corrections, rounds
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import Pulka, StartDeal
from shared.rules.pulka.imported import PulkaArchived, PulkaRecorded, imported_again
from shared.rules.scoring.settlement import is_time_up
from shared.web.auth import OPERATOR

OWN_ACTORS: Final = frozenset({"service", "clock"})  # who acts for a seat without sitting there


REVEALS: Final = (DealRevealed, SeatsDrawn, chained.DealerDrawn)
HIDES_A_SEED: Final = (SealedDealStarted, SealedSeatDrawStarted, SealedDealerDrawStarted)


def by_the_rules(table_id: str, lines: Iterable[Line]) -> Iterator[Finding]:
    """What in a table's commits, given from the first on, the rules would not have made of the moves. The first one ends the check."""
    pulka, opened = Pulka(table_id=table_id), 0
    for deal in _deals(lines):
        reveal = next(
            (event for line in deal for event in line.events if isinstance(event, DealRevealed | SeatsDrawn | chained.DealerDrawn)), None
        )
        if reveal is None and any(
            isinstance(event, SealedDealStarted | SealedSeatDrawStarted | SealedDealerDrawStarted) for event in deal[0].events
        ):
            return  # it goes on, or was never revealed, which the deal's proof complains of
        for line in deal:
            try:
                events = tuple(_opened(event, reveal) for event in line.events)
                opened = opened or line.commit.at
                wrong = _wrong(pulka, line, events, opened)
                pulka = reduce(match.evolve, events, pulka)
            except UNAPPLICABLE as error:
                yield Finding(line.commit.revision, "not_by_the_rules", f"It cannot be replayed ({type(error).__name__}).")
                return
            if wrong is not None:
                yield wrong
                return


def _deals(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Commits by deal: from the one that starts it to the one before the next start; first the opening with its draw."""
    deal: list[Line] = []
    for line in lines:
        if deal and any(isinstance(event, SealedDealStarted) for event in line.events):
            yield deal
            deal = []
        deal.append(line)
    if deal:
        yield deal


def _opened(event: StoredTableEvent, reveal: DealRevealed | SeatsDrawn | chained.DealerDrawn | None) -> Event:
    """The event as it was decided, its cards and seeds from the reveal. Raises `ValueError` for a box of no deal."""
    if isinstance(event, SealedSeatDrawStarted) and isinstance(reveal, SeatsDrawn):
        return member.SeatDrawStarted(event.commitment, event.algorithm, reveal.server_seed)
    if isinstance(event, SealedDealerDrawStarted) and isinstance(reveal, chained.DealerDrawn):
        return chained.DealerDrawStarted(event.commitment, reveal.server_seed)
    if not isinstance(event, SealedEvent):
        return event
    if not isinstance(reveal, DealRevealed) or isinstance(event, SealedSeatDrawStarted | SealedDealerDrawStarted):
        raise ValueError("a sealed event outside of a deal")  # noqa: TRY004 - what is wrong is the log, not a type
    match event:
        case SealedDealStarted():
            return game.DealStarted(event.number, event.dealer, event.commitment, event.algorithm, reveal.server_seed)
        case SealedCardsDealt():
            own = [reveal.salts[hand_label(seat)] if box else "" for seat, box in enumerate(event.hands)]  # who rests has no cards to hide
            return game.CardsDealt(reveal.hands, reveal.talon, event.deal, (*own, reveal.salts[TALON]), event.dark)
        case SealedDarkTalonTaken():
            cards, salt = _fitting(event.cards, _talons(reveal), reveal)
            return game.DarkTalonTaken(event.seat, cards, event.deal, salt)
        case SealedCardsDiscarded():
            return game.CardsDiscarded(event.seat, reveal.discard, event.deal, reveal.salts[DISCARD], event.irregular)
        case SealedHandSeen(hand=hand):
            return game.HandSeen(event.seat, hand, reveal.hands[hand], event.deal, reveal.salts[seen_label(hand)])
        case _:
            return _irregular_opened(event, reveal)


def _irregular_opened(event: SealedPeeked | SealedTalonTakenEarly | SealedTalonReturned, reveal: DealRevealed) -> Event:
    """What an adjudicated table hid; a talon may be the one that was dealt or the one that was drawn (3.3.17), as its digest tells."""
    if isinstance(event, SealedTalonReturned):
        salts = (reveal.salts[RETURNED_HAND], reveal.salts[RETURNED_TALON])
        hand, talon = (
            next((text for text in reveal.returned.values() if matches(box.digest, Opened(text, salt))), "")
            for box, salt in zip((event.hand, event.talon), salts, strict=True)
        )
        return irregular.TalonReturned(event.seat, hand, talon, event.deal, salts)
    discard = hand_text(mask_of(reveal.discard or ""))  # as it lies, whichever card was put away first
    places = [*_talons(reveal), (DISCARD, discard)]
    cards, salt = (event.cards, "") if isinstance(event.cards, str) else _fitting(event.cards, places, reveal)
    if isinstance(event, SealedTalonTakenEarly):
        return irregular.TalonTakenEarly(event.seat, cards, event.irregular, event.deal, salt)
    return irregular.Peeked(event.seat, event.what, cards, event.trick, event.show, event.irregular, event.deal, salt)


def _talons(reveal: DealRevealed) -> list[tuple[str, str]]:
    """Label and cards of every talon that the deal had."""
    return [(TALON, reveal.talon), *((RETURNED_TALON, text) for text in reveal.returned.values())]


def _fitting(box: Sealed, places: list[tuple[str, str]], reveal: DealRevealed) -> tuple[str, str]:
    """Which of the revealed cards are in the box, as its digest tells, and their salt; empty when none are."""
    found = [(text, reveal.salts[label]) for label, text in places if label in reveal.salts]
    return next((one for one in found if matches(box.digest, Opened(*one))), ("", ""))


def _wrong(pulka: Pulka, line: Line, events: tuple[Event, ...], opened: int) -> Finding | None:
    """What is wrong with one commit on top of `pulka`, whose first one has the time `opened`."""
    revision = line.commit.revision
    timed_out = isinstance(events[0], game.TurnTimedOut) if events else False
    acts = events[1:] if timed_out else events
    if not acts:
        return Finding(revision, "not_by_the_rules", "A commit without an event.")
    match acts[0]:
        case game.PulkaOpened() | game.PulkaRefused() | PulkaRecorded() if revision != 1:
            return Finding(revision, "not_by_the_rules", "The pulka is opened a second time.")
        case game.PulkaOpened() as opening:
            return _wrong_opening(pulka, revision, opening, acts)
        case game.PulkaRefused():
            return None
        case PulkaRecorded() as recorded:
            return _wrong_record(line.commit, recorded, acts)
        case PulkaArchived() as archived:
            told = (pulka.status, archived.commits, archived.head, archived.annulled, len(acts))
            fits = told == ("over", revision - 1, line.commit.prev_hash, pulka.annulled is not None, 1)
            return None if fits else Finding(revision, "not_by_the_rules", "It archives what is not over, or something else.")
    why = _otherwise(_decided(pulka, line.commit, acts, opened), acts)
    if why and pulka.convention.version == 1 and isinstance(pulka.deal, Court):
        why = _otherwise(_decided(_unchecked(pulka, pulka.deal), line.commit, acts, opened), acts)
    if why:
        return Finding(revision, "not_by_the_rules", why)

    def made(seat: int, move: AnyMove) -> bool:
        time_up = is_time_up(pulka.convention, opened, line.commit.at)
        return not _otherwise(match.decide(pulka, seat, move, line.commit.at, time_up=time_up), acts)

    return wrong_signature(pulka, line.commit, acts, made)


def _otherwise(decided: tuple[Event, ...] | Refused | str, acts: tuple[Event, ...]) -> str:
    """Why `acts` are not what was `decided`; nothing where they are."""
    if isinstance(decided, str):
        return decided
    if isinstance(decided, Refused):
        return f"The rules refuse it: {decided.code} ({decided.rule})."
    same = list(map(encode_event, decided)) == list(map(encode_event, acts))
    return "" if same else "The rules make other events of this move."


def _unchecked(pulka: Pulka, court: Court) -> Pulka:
    """The match as it heard calls of attention in version 1, when some that came to nothing, or reopened a deal, were not refused."""
    return replace(pulka, deal=replace(court, terms=replace(court.terms, unchecked=True)))


def _decided(pulka: Pulka, commit: Commit, acts: tuple[Event, ...], opened: int) -> tuple[Event, ...] | Refused | str:
    """What the rules make of the command behind the first of `acts`; a sentence when there is none, or not from the commit's actor."""
    actor, first = commit.actor, acts[0]
    match first:
        case game.DealStarted(number=number, server_seed=seed):
            return match.start_deal(pulka, StartDeal(number, seed or ""))
        case chained.ChainsCommitted() | chained.LinkMissed() | chained.LinkOpened() if actor in OWN_ACTORS:
            return _of_chains(pulka, first, acts)
        case member.ConsentAsked(what="newcomer" | "substitute", player=player, seat=seat):
            return match.decide_join(pulka, player, moves.Join(seat)) if actor == player else "Only the player can ask for this seat."
        case game.PulkaClosed() if actor in OWN_ACTORS and (match.settles_next(pulka) or pulka.annulling is not None):
            return match.start_deal(pulka, StartDeal(pulka.number + 1, ""))
        case correction.ResultCorrected() | correction.AnnulmentOrdered() | correction.PulkaAnnulled():
            return _by_organisers(pulka, actor, first)
    time_up = is_time_up(pulka.convention, opened, commit.at)
    if actor in OWN_ACTORS and match.awaits_confirmation(pulka) and type(first).__name__ in moves_of_events.PAUSE_OVER:
        return match.pause_over(pulka, time_up=time_up)
    done = move_behind(first)
    if done is None:
        return f"No move makes {type(first).__name__} first."
    maker, move = done
    if actor not in OWN_ACTORS and _player(pulka, maker) != actor:
        return f"Seat {maker} is not that of whoever moved."
    return match.decide(pulka, maker, move, commit.at, time_up=time_up)


def _of_chains(
    pulka: Pulka, first: chained.ChainsCommitted | chained.LinkMissed | chained.LinkOpened, acts: tuple[Event, ...]
) -> tuple[Event, ...] | Refused | str:
    """What the rules make of what the service does about chains: its next one, links that came together, the end of the time for them."""
    if isinstance(first, chained.LinkMissed):
        return match.links_over(pulka)
    if isinstance(first, chained.LinkOpened):
        return match.open_links(pulka, tuple((event.seat, event.link) for event in acts if isinstance(event, chained.LinkOpened)))
    started = acts[1] if len(acts) > 1 else None
    if not isinstance(started, game.DealStarted):
        return "Chains begin with the pulka, or with a deal."
    try:
        return match.start_deal(pulka, StartDeal(started.number, started.server_seed or "", first))
    except ValueError as wrong:
        return f"{wrong}."


def _by_organisers(
    pulka: Pulka, actor: str, event: correction.ResultCorrected | correction.AnnulmentOrdered | correction.PulkaAnnulled
) -> tuple[Event, ...] | Refused | str:
    """What the rules make of a correction or an annulment, which only an operator or the arbiter decides."""
    if not actor.startswith(OPERATOR) and actor != pulka.terms.get("arbiter"):
        return "Neither an operator nor the arbiter of this table."
    if not isinstance(event, correction.ResultCorrected):
        return corrections.annul(pulka, actor, event.reason)
    amounts = [amount.read(text, "amounts") for text in event.amounts]
    return corrections.correct(pulka, actor, amounts, event.reason)


def _player(pulka: Pulka, maker: Maker) -> str | None:
    """Whose moves those of a seat, or of the arbiter, are."""
    if maker == ARBITER:
        return pulka.terms.get("arbiter")
    return pulka.seats[maker] if isinstance(maker, int) and maker < len(pulka.seats) else None


def _wrong_record(commit: Commit, recorded: PulkaRecorded, acts: tuple[Event, ...]) -> Finding | None:
    if not commit.actor.startswith(OPERATOR) or commit.actor != recorded.author:
        return Finding(commit.revision, "not_by_the_rules", "Somebody who is no operator recorded it.")
    if list(map(encode_event, acts)) != [encode_event(imported_again(recorded))]:
        return Finding(commit.revision, "not_by_the_rules", "The rules score this file in another way.")
    return None


def _wrong_opening(pulka: Pulka, revision: int, opened: game.PulkaOpened, acts: tuple[Event, ...]) -> Finding | None:
    if opened.rules_digest != rules_digest(opened.convention, opened.players, opened.target, opened.terms):
        return Finding(revision, "rules_digest", "The digest in every commitment is not that of these terms.")
    secret = member.SeatDrawStarted | chained.DealerDrawStarted | chained.DealerDrawn
    seed = next((event.server_seed or "" for event in acts if isinstance(event, secret)), "")
    chains = next((event for event in acts if isinstance(event, chained.ChainsCommitted)), None)
    keys = next((event.keys for event in acts if isinstance(event, chained.KeysRegistered)), ())
    begun = (opened, *rounds.opened(pulka.table_id, opened, seed, chains, keys))
    if list(map(encode_event, begun)) != list(map(encode_event, acts)):
        return Finding(revision, "not_by_the_rules", "The rules open a pulka on these terms in another way.")
    return None


def move_behind(event: Event) -> tuple[Maker, AnyMove] | None:
    """Who moved, and what, when a commit's first event is `event`; None when that is no move's."""
    irregular_move = moves_of_events.move_behind(event)
    if irregular_move is not None:
        return irregular_move
    if isinstance(event, game.CardPlayed):
        return event.by, moves.Play(event.card, None if event.seat == event.by else event.seat)
    make = _MOVES.get(type(event))
    return None if make is None else (event.seat, make(event))  # type: ignore[attr-defined] # every event of `_MOVES` has a seat


_MOVES: Final[dict[type[Event], Callable[[Any], AnyMove]]] = {
    member.SeatCardDrawn: lambda event: moves.Draw(event.place),
    game.SeedAdded: lambda event: moves.Seed(event.seed),
    chained.ChainCommitted: lambda event: moves.CommitChain(event.end),
    chained.LinkOpened: lambda event: moves.OpenLink(event.link),
    game.DeckCut: lambda event: moves.Cut(event.at),
    game.BidMade: lambda event: moves.Bid(event.bid, event.dark, event.no_talon),
    game.MisereInvited: lambda _: moves.Invite(),
    game.InvitationAnswered: lambda event: moves.Answer(event.accept),
    game.AuctionWon: lambda _: moves.Take(),  # first in its commit only when the winner takes the talon in the dark (3.3.19)
    game.CardsDiscarded: lambda event: moves.Discard(tuple(event.cards.split())),
    game.ContractDeclared: lambda event: moves.Declare(event.contract),
    game.WhistCalled: lambda event: moves.Whist(event.call),
    game.PlayChosen: lambda event: moves.Lay(event.open),
    game.HandSeen: lambda event: moves.Look(None if event.hand == event.seat else event.hand),
    game.GaveUpWithoutThree: lambda _: moves.WithoutThree(),
    game.Conceded: lambda _: moves.Concede(),
    game.ClaimMade: lambda event: moves.Claim(event.tricks, tuple(event.line.split()) or None),
    game.ClaimAnswered: lambda event: moves.Answer(event.accept),
    game.ProposalMade: lambda event: moves.Propose(event.what, event.tricks or None, event.trick or None),
    game.ProposalAnswered: lambda event: moves.Answer(event.accept),
    game.RemedyChosen: lambda event: moves.Remedy(event.choice, event.suit, event.card, event.hand),
    member.ConsentAsked: lambda _: moves.Propose("adjourn"),
    member.ConsentAnswered: lambda event: moves.Answer(event.accept),
    member.PlayerLeaves: lambda _: moves.Leave(),
    member.SettlementDemanded: lambda _: moves.Settle(),
    member.SeatReady: lambda _: moves.Ready(),
}
