"""The arbiter's rulings: entries, tricks, or a redeal, instead of what a rule alone would bring."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from shared.rules.adjudicated.court import ARBITER, Court, Maker
from shared.rules.adjudicated.play_acts import Decided
from shared.rules.deal.ending import outcome, outcome_document
from shared.rules.deck.contract import TRICKS
from shared.rules.language import amount as amounts
from shared.rules.language.game_events import Event
from shared.rules.language.irregular_events import DealEnded, Redealt, Ruled
from shared.rules.language.moves import RuledEntry, Ruling
from shared.rules.language.refusal import Malformed, Refused
from shared.rules.scoring.outcome import DealOutcome, Infraction

# ---- evolve ------------------------------------------------------------------------------------------------------------


def ruled(court: Court, event: Ruled) -> Court:
    """It stands instead of the fines of that rule and seat, and of a remedy that waits for a choice."""
    kept = tuple(one for one in court.infractions if (one.rule, one.seat) != (event.rule, event.seat))
    deal, pending = court.deal, court.deal.pending
    if pending is not None:
        deal = replace(deal, pending=None, phase=pending.phase, to_act=pending.turn if court.ended is None else None)
    added = (_infraction(event),) if event.entries or not event.tricks else ()
    return replace(court, deal=deal, infractions=(*kept, *added), confirmed=0)


def _infraction(event: Ruled) -> Infraction:
    columns: dict[str, list[Any]] = {"whists": [], "mountain": [], "pool": []}
    for entry in event.entries:
        number = amounts.read(entry["amount"], "amount")
        one = (entry["seat"], entry["on"], number) if entry["column"] == "whists" else (entry["seat"], number)
        columns[entry["column"]].append(one)
    whists, mountain, pool = (tuple(columns[name]) for name in ("whists", "mountain", "pool"))
    return Infraction(event.rule, event.seat, ruled=True, whists=whists, mountain=mountain, pool=pool, reason=event.reason)


def redealt(court: Court, _: Redealt) -> Court:
    """The deal is void."""
    return replace(court, redealt=True, deal=replace(court.deal, to_act=None, pending=None))


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide_ruling(court: Court, maker: Maker, move: Ruling) -> Decided:
    """Only the arbiter rules, until the deal is scored."""
    if maker != ARBITER:
        return Refused("not_your_turn", move.rule, "Only the arbiter gives rulings.")
    if court.over:
        return Refused("wrong_phase", "3.9.17", "The deal is scored.")
    players = court.setup.players
    entries: list[dict[str, Any]] = []
    for entry in move.entries or ():
        refused = _objection(entry, players)
        if refused is not None:
            return refused
        on = {} if entry.on is None else {"on": entry.on}
        entries.append({"seat": entry.seat, "column": entry.column, **on, "amount": entry.amount})
    tricks = move.tricks or ()
    if tricks and (len(tricks) != players or sum(tricks) != TRICKS or not court.game.contract):
        return Refused("malformed", move.rule, f"`tricks` are {players} numbers that sum to {TRICKS}, of a deal with a contract.")
    said = Ruled(move.rule, ARBITER, move.reason, move.seat, tuple(entries), tuple(tricks), move.redeal)
    if move.redeal:
        return said, Redealt(move.rule, move.seat, court.setup.dealer)
    return (said, *_ended(ruled(court, said), tuple(tricks))) if tricks else (said,)


def _objection(entry: RuledEntry, players: int) -> Refused | None:
    if (entry.on is None) == (entry.column == "whists") or entry.seat == entry.on:
        return Refused("malformed", "4.2.1", "Whists are written `on` another seat, pool and mountain on nobody.")
    if entry.seat >= players or (entry.on or 0) >= players:
        return Refused("malformed", "4.2.1", f"Seats are 0 to {players - 1}.")
    try:
        amounts.read(entry.amount, "amount")
    except Malformed as error:
        return Refused("malformed", "4.2.1", error.message)
    return None


def _ended(court: Court, tricks: tuple[int, ...]) -> tuple[Event, ...]:
    """The deal ends with these tricks, those of a sole whister's side at that whister's seat or wherever the arbiter put them."""
    result: DealOutcome = replace(outcome(court.deal, tricks), tricks=tricks, conceded=False)
    return (DealEnded(outcome_document(result, court.setup.players)),)
