"""Whose move a match waits for, in which phase, and what is on offer: everything that is asked of a `Pulka` and changes nothing."""

from __future__ import annotations

from typing import Any

import msgspec

from shared.rules.adjudicated import offering
from shared.rules.adjudicated.court import Court
from shared.rules.deal import decider as deals
from shared.rules.deck.shuffle import ABSENT_CUT
from shared.rules.language.amount import written
from shared.rules.language.moves import AnyMove, Cut, Draw, Remedy, WriteEntry
from shared.rules.pulka.state import Pulka


def phase(pulka: Pulka) -> str:
    """`waiting`, `draw`, `links`, `between_deals`, `cut`, the deal's own phase, or `over`; `scored`: a result waits to be confirmed."""
    if pulka.status != "playing":
        return "over" if pulka.status == "over" else "waiting"
    if pulka.kept_sheet is not None and pulka.kept_sheet.asked is not None:
        return "remedy"
    if pulka.deal is not None:
        return "scored" if awaits_confirmation(pulka) else pulka.deal.phase
    if pulka.chains.asked:
        return "links"
    if pulka.draw is not None:
        return "draw"
    return "cut" if pulka.commitment else "between_deals"


def deal_is_due(pulka: Pulka) -> bool:
    """Whether the next deal is to begin: not while the pulka is adjourned."""
    return phase(pulka) == "between_deals" and not pulka.members.adjourned


def cutter(pulka: Pulka) -> int:
    """The dealer's right neighbour (3.2.5)."""
    return (pulka.dealer - 1) % pulka.players


def to_act(pulka: Pulka) -> int | None:
    """The seat whose move the table waits for, if it waits for a seat."""
    if pulka.kept_sheet is not None and pulka.kept_sheet.asked is not None:
        return pulka.kept_sheet.asked.waiting[0]
    if pulka.deal is not None:
        return pulka.deal.to_act
    if pulka.chains.asked:
        return None
    if pulka.draw is not None:
        return pulka.draw.to_act
    return cutter(pulka) if phase(pulka) == "cut" else None


def waits_for_answer(pulka: Pulka) -> bool:
    """Whether somebody must answer before the game goes on (`incidents.py`)."""
    return pulka.deal is not None and pulka.deal.pending is not None


def awaits_confirmation(pulka: Pulka) -> bool:
    """Whether the deal is over and waits to be confirmed by all, or for the pause after it to end (adjudicated tables only)."""
    return isinstance(pulka.deal, Court) and pulka.deal.awaits_confirmation


def entries_due(pulka: Pulka, seat: int) -> tuple[WriteEntry, ...]:
    """What `seat` has still to write for the last deal, where each keeps their own columns (4.2.4)."""
    kept = pulka.kept_sheet
    if kept is None or not kept.open or kept.asked is not None or pulka.status != "playing":
        return ()
    wrote = dict(kept.wrote)
    return tuple(
        WriteEntry(column, written(number), on)  # type: ignore[arg-type]  # the columns of a score's entries
        for (owner, column, on), number in kept.due
        if owner == seat and number and (owner, column, on) not in wrote
    )


def legal_moves(pulka: Pulka, seat: int) -> tuple[AnyMove, ...]:
    """Every move that `seat` may make now; of the cuts, and of the cards to draw, one. Links are no moves that could be told here."""
    if pulka.kept_sheet is not None and pulka.kept_sheet.asked is not None:
        return (Remedy("accept"), Remedy("pass")) if to_act(pulka) == seat else ()
    if pulka.chains.asked:
        return ()
    if isinstance(pulka.deal, Court):
        return offering.legal_moves(pulka.deal, seat)
    if pulka.deal is not None:
        return deals.legal_moves(pulka.deal, seat)
    return (default_move(pulka),) if to_act(pulka) == seat else ()


def offer(pulka: Pulka, seat: int) -> list[dict[str, Any]]:
    """`legal_moves` as documents; a discard without its cards, which are free (deploy/docs/deal-record.md), and a link without its digits,
    which only its player knows.
    """
    if pulka.kept_sheet is not None and pulka.kept_sheet.asked is not None:
        return [msgspec.to_builtins(move) for move in legal_moves(pulka, seat)]
    if pulka.chains.asked:
        return [{"type": "link"}] if seat in pulka.chains.waiting else []
    if isinstance(pulka.deal, Court):
        return offering.offer(pulka.deal, seat)
    if pulka.deal is not None:
        return deals.offer(pulka.deal, seat)
    return [msgspec.to_builtins(move) for move in legal_moves(pulka, seat)]


def default_move(pulka: Pulka) -> AnyMove:
    """The move that is made for the seat on turn when its time runs out."""
    if pulka.kept_sheet is not None and pulka.kept_sheet.asked is not None:
        return Remedy("pass")
    if isinstance(pulka.deal, Court):
        return offering.default_move(pulka.deal)
    if pulka.draw is not None:
        return Draw(pulka.draw.free)
    return deals.default_move(pulka.deal) if pulka.deal is not None else Cut(ABSENT_CUT)
