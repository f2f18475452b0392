"""The decider of an adjudicated deal, over the same events as the enforced one: `open_court`, `decide`, `evolve`, and what is on offer.

What is lawful happens as at an enforced table; what is not happens too, if this mode has a row for it (deploy/docs/rules.md: Adjudicated
mode).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from msgspec.structs import replace

from shared.rules.adjudicated import (
    advice,
    attention,
    auction_acts,
    damages,
    dealing_faults,
    disputes,
    finishing,
    looks,
    order_acts,
    placing,
    play_acts,
    remedies,
    rulings,
)
from shared.rules.adjudicated.court import ADVICE, ARBITER, DAMAGES, NAMED_SUIT, REPLAY, Act, Court, CourtTerms, Maker
from shared.rules.adjudicated.play_acts import Decided
from shared.rules.deal import exposed
from shared.rules.deal.decider import HAND_SIZE, Deal
from shared.rules.deal.decider import decide as deal_decides
from shared.rules.deal.decider import evolve as deal_after
from shared.rules.deal.incidents import Question
from shared.rules.deal.position import bit
from shared.rules.language.game_events import (
    ActTakenBack,
    BidMade,
    CardExposed,
    CardPlayed,
    CardsDiscarded,
    ContractDeclared,
    DealScored,
    Event,
    RemedyChosen,
    TalonCardOpened,
    TrickShown,
    TrickWon,
)
from shared.rules.language.irregular_events import (
    AttentionCalled,
    BidderExcluded,
    CallTakenBack,
    CardGiven,
    CardNamed,
    CardsShown,
    Confirmed,
    ContractTakenBack,
    DealEnded,
    DealStopped,
    FineWritten,
    LeadRestricted,
    OrderRefused,
    Peeked,
    PlansDisputed,
    Redealt,
    RestForfeited,
    Ruled,
    TalonReturned,
    TalonTakenEarly,
    TrickForfeited,
    TricksTakenBack,
)
from shared.rules.language.moves import (
    Bid,
    CallAttention,
    Confirm,
    CourtMove,
    Declare,
    Discard,
    Expose,
    Peek,
    Play,
    Propose,
    Remedy,
    Ruling,
    Take,
    WriteEntry,
)
from shared.rules.language.refusal import Refused

MOST_CONSEQUENCES = 200  # of one move; a guard against rules that call each other for ever, far above what a deal can hold


def open_court(deal: Deal, terms: CourtTerms | None = None, entropy: str = "") -> Court:
    """The deal before its first call, at an adjudicated table. `entropy`: the deal's secret, for cards drawn blind (3.3.17)."""
    wrong = tuple(Act("dealt", "3.2.16", seat, seat, deal) for seat in deal.setup.order if deal.held(seat).bit_count() != HAND_SIZE)
    return Court(deal, terms or CourtTerms(), entropy, wrong)


# ---- evolve ------------------------------------------------------------------------------------------------------------


def evolve(court: Court, event: Event) -> Court:
    """The court after `event`; total, never refuses."""
    own = _EVOLVE.get(type(event))
    return replace(court, deal=deal_after(court.deal, event)) if own is None else own(court, event)


def _remedy_chosen(court: Court, event: RemedyChosen) -> Court:
    """The game goes on where it was; a question that was answered is not put again at this turn."""
    asked = court.deal.pending
    after = replace(court, deal=deal_after(court.deal, event))
    if not isinstance(asked, Question) or after.deal.pending is not None:
        return after
    if asked.about == NAMED_SUIT:
        others = tuple(one for one in court.named if asked.of not in auction_acts.other_defenders(court.deal, one.seat))
        return replace(after, named=others)
    if asked.about == DAMAGES:
        return replace(after, heard=after.heard | bit(event.seat))
    if asked.about in (REPLAY, ADVICE):
        return advice.answered(after, asked.of, asked.about)
    return after


_EVOLVE: dict[type[Event], Callable[[Court, Any], Court]] = {
    BidMade: auction_acts.bid_made,
    CallTakenBack: auction_acts.call_taken_back,
    TalonTakenEarly: auction_acts.talon_taken_early,
    TalonReturned: auction_acts.talon_returned,
    BidderExcluded: auction_acts.bidder_excluded,
    CardsDiscarded: order_acts.cards_discarded,
    ContractDeclared: order_acts.contract_declared,
    ContractTakenBack: order_acts.contract_taken_back,
    OrderRefused: order_acts.order_refused,
    DealStopped: order_acts.deal_stopped,
    CardPlayed: placing.card_played,
    TrickWon: placing.trick_won,
    TalonCardOpened: placing.talon_card_opened,
    TricksTakenBack: play_acts.tricks_taken_back,
    LeadRestricted: play_acts.lead_restricted,
    PlansDisputed: disputes.plans_disputed,
    CardNamed: play_acts.card_named,
    RestForfeited: play_acts.rest_forfeited,
    Peeked: looks.peeked,
    TrickShown: looks.trick_shown,
    CardExposed: looks.card_exposed,
    CardsShown: looks.cards_shown,
    AttentionCalled: attention.attention_called,
    RemedyChosen: _remedy_chosen,
    FineWritten: finishing.fine_written,
    TrickForfeited: finishing.trick_forfeited,
    DealEnded: finishing.deal_ended,
    ActTakenBack: finishing.act_taken_back,
    Confirmed: finishing.confirmed,
    Ruled: rulings.ruled,
    Redealt: rulings.redealt,
    CardGiven: dealing_faults.card_given,
}


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide(court: Court, maker: Maker, move: CourtMove, now: int | None = None) -> tuple[Event, ...] | Refused:
    """What the move causes, to the last consequence, or why not. `maker` is a seat, or `ARBITER`; `now` milliseconds since 1970, None where
    nobody knows: then a second contract counts as spoken at once if no word fell in between (3.4.8).
    """
    decided = _decide(court, maker, move, now)
    if isinstance(decided, Refused):
        return decided
    if isinstance(move, Confirm):
        return decided
    return consequences(court, tuple(_awaiting(event) for event in decided))


def pause_over(court: Court) -> tuple[Event, ...]:
    """The score of a deal that awaits confirmation, at the end of the pause after it; nothing in any other state."""
    return finishing.settle(court) if court.awaits_confirmation else ()


def consequences(court: Court, events: tuple[Event, ...]) -> tuple[Event, ...]:
    """`events` and all that follows from them by itself: what the server calls, early calls whose turn has come, questions."""
    after: Court = reduce(evolve, events, court)
    for _ in range(MOST_CONSEQUENCES):
        more = _following(after)
        if not more:
            return events
        more = tuple(_awaiting(event) for event in more)
        events = (*events, *more)
        after = reduce(evolve, more, after)
    raise AssertionError("the rules call each other for ever")


def _following(court: Court) -> tuple[Event, ...]:
    if court.over or court.pending is not None:
        return ()
    seen = attention.seen_by_the_server(court)
    if seen:
        return seen
    if court.ended is not None:
        claimed = damages.question(court)
        return () if claimed is None else (claimed,)
    if court.deal.phase == "auction":
        return auction_acts.early_call_due(court)
    if court.deal.phase != "play":
        return ()
    lying = looks.lying_from_now(court)
    if lying:
        return lying
    asked = auction_acts.lead_question(court) or exposed.question(court.deal) or advice.naming_question(court)
    return () if asked is None else (asked,)


def _awaiting(event: Event) -> Event:
    """The game's own end is only a result here, which waits to be confirmed."""
    if not isinstance(event, DealScored):
        return event
    return DealEnded({name: value for name, value in event.outcome.items() if name not in ("all_pass_in_row", "bombs")})


def _decide(court: Court, maker: Maker, move: CourtMove, now: int | None) -> Decided:
    if maker != ARBITER and not (isinstance(maker, int) and 0 <= maker < court.setup.players):
        return Refused("not_seated", "5.5.1", "Only the players at this table and its arbiter may act.")
    if isinstance(move, Ruling):
        return rulings.decide_ruling(court, maker, move)
    if isinstance(move, CallAttention):
        return attention.decide(court, maker, move)
    if not isinstance(maker, int):
        return Refused("not_your_turn", "4.2.16", "The arbiter calls attention and gives rulings; they do not play.")
    return _of_a_seat(court, maker, move, now)


def _of_a_seat(court: Court, maker: int, move: CourtMove, now: int | None) -> Decided:
    if court.pending is not None:
        return _answer(court, maker, move)
    if isinstance(move, Confirm):
        return finishing.decide_confirm(court, maker)
    if court.over or court.ended is not None:
        return Refused("wrong_phase", "3.9.17", "The deal has been played: confirm its result, or call attention.")
    if isinstance(move, Propose) and move.what == "takeback" and court.acts:
        return Refused("call_not_allowed", "5.4.22", "Something irregular has happened: call attention; nothing can be taken back.")
    if isinstance(move, WriteEntry):
        return Refused("wrong_phase", "4.2.6", "Players write entries by hand only after a deal, and only if the table's terms say so.")
    if isinstance(move, Declare):
        return order_acts.decide_contract(court, maker, move, now)
    act = _ACTS.get(type(move))
    return deal_decides(court.deal, maker, move) if act is None else act(court, maker, move)  # type: ignore[arg-type]  # the game's own moves


#: Moves that may be irregular, or are made only here.
_ACTS: dict[type[CourtMove], Callable[[Court, int, Any], Decided]] = {
    Bid: auction_acts.decide_bid,
    Discard: order_acts.decide_discard,
    Play: play_acts.decide_play,
    Peek: looks.decide_peek,
    Expose: looks.decide_expose,
    Take: auction_acts.decide_take,
}


def _answer(court: Court, seat: int, move: CourtMove) -> Decided:
    """Only what is asked for is taken while a remedy, a claim or a proposal waits."""
    asked = court.pending
    if isinstance(move, (Peek, Expose, Take, Confirm, WriteEntry)):
        return Refused("claim_pending", "3.9.14", f"Seat {court.to_act} must answer before anything else happens.")
    if not isinstance(asked, Question) or not isinstance(move, Remedy) or asked.about == exposed.EXPOSED:
        return deal_decides(court.deal, seat, move)  # type: ignore[arg-type]  # what is left are the game's own moves
    return remedies.decide(court, evolve, asked, seat, move)


__all__ = ["ARBITER", "Court", "CourtTerms", "consequences", "decide", "evolve", "open_court", "pause_over"]
