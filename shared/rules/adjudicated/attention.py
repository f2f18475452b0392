"""Calling attention: who points out what, whether it is in time, and which remedy follows: one table by kind of act."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from shared.rules.adjudicated import advice, auction_acts, dealing_faults, disputes, looks, order_acts, play_acts
from shared.rules.adjudicated.court import SERVER, Act, ActKind, Court, Maker
from shared.rules.adjudicated.play_acts import Decided
from shared.rules.deal import insurance
from shared.rules.deal.position import NOBODY
from shared.rules.deck.cards import CARD_NUMBER, CARDS
from shared.rules.language.game_events import Event
from shared.rules.language.irregular_events import AttentionCalled
from shared.rules.language.moves import CallAttention
from shared.rules.language.refusal import Refused

Remedy = Callable[[Court, Maker, int, Act], Decided]

#: By kind of act: what attention brings about.
REMEDIES: Final[dict[ActKind, Remedy]] = {
    "peek_talon": auction_acts.saw_talon,
    "show_talon": auction_acts.showed_talon,
    "take": auction_acts.taken_early,
    "early_call": auction_acts.early_call,
    "call": auction_acts.insufficient,
    "contract": order_acts.wrong_order,
    "count": order_acts.wrong_hand,
    "peek_discard": looks.looked,
    "peek_trick": looks.looked,
    "turn": play_acts.out_of_turn,
    "surplus": play_acts.out_of_turn,
    "revoke": play_acts.revoke,
    "expose": looks.shown,
    "dealt": dealing_faults.found_in_play,
}

#: By kind of act: the rules under which it may be called, besides its own; a rule stands for its parts too ("3.9.16" for "3.9.16.2").
NAMES: Final[dict[ActKind, tuple[str, ...]]] = {
    "peek_talon": ("3.2.19", "3.2.21", "3.3.16.1"),
    "show_talon": ("3.2.19", "3.2.21", "3.3.16.2", "3.3.16.3"),
    "take": ("3.2.20", "3.3.17"),
    "early_call": ("3.3.18", "FN27"),
    "call": ("3.3.8", "3.3.9", "FN22"),
    "contract": ("3.4.4", "3.3.9"),
    "count": ("3.4.6", "3.9.18", "FN15"),
    "peek_discard": ("3.4.9", "FN33", "3.9.11.2"),
    "peek_trick": ("3.9.8", "3.9.11.2", "3.9.12"),
    "turn": ("3.9.14.1", "3.9.14.2", "3.9.14.3", "3.9.15"),
    "surplus": ("3.9.18", "3.9.14.1", "3.9.14.2", "3.9.14.3"),
    "revoke": ("3.9.16.1", "3.9.16.2", "3.9.17", "3.9.3", "3.6.7", "3.7.5"),
    "expose": ("3.9.15",),
    "dealt": ("3.9.18", "FN69"),
}

#: What still costs something when a remedy has ended the deal: points, a trick, a wrong number of cards. Nothing else is heard then.
HEARD_AT_THE_END: Final[frozenset[ActKind]] = frozenset({"peek_talon", "peek_discard", "peek_trick", "surplus", "dealt"})

# ---- evolve ------------------------------------------------------------------------------------------------------------


def attention_called(court: Court, event: AttentionCalled) -> Court:
    """The act is remedied from now on; whoever had confirmed the result is asked again."""
    after = auction_acts.acts_settled(court, event)
    if event.rule == order_acts.ADVICE_ON_ORDER:
        return order_acts.order_fixed(after, event)
    if event.rule == dealing_faults.FAULT:
        return replace(after, dealer_warned=True)
    if event.act < 0:
        return after
    match court.acts[event.act].kind:
        case "early_call":
            return auction_acts.early_call_called(after, event)
        case "revoke":
            return play_acts.revoke_called(after, event)
    return after


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide(court: Court, maker: Maker, move: CallAttention) -> Decided:
    """The remedy of the latest such act to which attention can still be called; refused if there is none."""
    if court.over:
        return Refused("wrong_phase", "3.9.17", "The deal is scored: nothing in it can be called any more.")
    if court.pending is not None:
        return Refused("claim_pending", "3.9.14", f"Seat {court.to_act} must answer first; call attention after that.")
    apart = _without_an_act(court, maker, move)
    if apart is not None:
        return apart
    refused: Refused | None = None
    for index in range(len(court.acts) - 1, -1, -1):
        act = court.acts[index]
        if not act.standing or not _meant(act, move):
            continue
        decided = _remedy(court, maker, index, act)
        if not isinstance(decided, Refused):
            return decided
        refused = refused or decided
    return refused or Refused("call_not_allowed", move.rule, "Nothing of the kind has happened, or it has been remedied.")


def _remedy(court: Court, maker: Maker, index: int, act: Act) -> Decided:
    """What attention to this act brings about; no call reopens a deal that a remedy has ended."""
    if court.stopped and act.kind not in HEARD_AT_THE_END and not court.terms.unchecked:
        return Refused("call_not_allowed", act.rule, "A remedy has ended the deal: no call reopens it.")
    return _with_card(REMEDIES[act.kind](court, maker, index, act), act)


def _with_card(decided: Decided, act: Act) -> Decided:
    """The call with the card that it is about, which tells it from others of the same seat and rule."""
    if isinstance(decided, Refused) or act.card == NOBODY or not isinstance(decided[0], AttentionCalled):
        return decided
    return replace(decided[0], card=CARDS[act.card]), *decided[1:]


def _without_an_act(court: Court, maker: Maker, move: CallAttention) -> Decided | None:
    """What the table cannot see for itself: advice from outside, and the dealer's hands."""
    deal = court.deal
    if move.rule == order_acts.ADVICE_ON_ORDER:
        return order_acts.advised(court, maker, deal.game.declarer if move.seat is None else move.seat)
    if move.rule in (advice.ADVISED, "FN72"):
        seat = move.seat if move.seat is not None else deal.to_act
        return advice.advised(court, maker, -1 if seat is None else seat)
    if move.rule == insurance.RULE:
        who = move.seat if move.seat is not None else maker
        return disputes.disputed(court, maker, who if isinstance(who, int) else NOBODY)
    if move.rule in dealing_faults.FAULTS:
        return dealing_faults.dealt_wrongly(court, maker, move.rule, move.seat)
    return None


def _meant(act: Act, move: CallAttention) -> bool:
    if move.seat is not None and move.seat not in (act.seat, act.by):
        return False
    if move.card is not None and act.card >= 0 and act.card != CARD_NUMBER[move.card]:
        return False
    return any(_covers(move.rule, name) for name in (act.rule, *NAMES[act.kind]))


def _covers(called: str, rule: str) -> bool:
    """Whether a rule is the one that was called, or one of its parts."""
    return rule == called or rule.startswith(called + ".")


def seen_by_the_server(court: Court) -> tuple[Event, ...]:
    """Where the server watches: the call of the first act that can be called now."""
    if court.terms.attention != "server" or court.pending is not None or court.over:
        return ()
    for index, act in enumerate(court.acts):
        if act.standing:
            decided = _remedy(court, SERVER, index, act)
            if not isinstance(decided, Refused):
                return decided
    return ()
