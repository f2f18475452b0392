"""What an adjudicated table shows besides the game: what was said and shown against the rules, what it will cost, who has confirmed."""

from __future__ import annotations

from typing import Any

from shared.rules.adjudicated.court import Court
from shared.rules.adjudicated.sheet_entries import Lines
from shared.rules.deal.ending import outcome_document
from shared.rules.language.amount import written
from shared.rules.pulka.decider import Pulka
from shared.rules.scoring.infraction_document import infraction_document


def court_view(pulka: Pulka) -> dict[str, Any] | None:
    """The same for everybody (deploy/docs/http.md: Table); None where the rules are enforced. Nothing in it tells of an act that only its
    cards show, like a revoke: to call attention is the players' affair (3.9.19).
    """
    if pulka.terms.get("mode") != "adjudicated":
        return None
    court = pulka.deal if isinstance(pulka.deal, Court) else None
    seats = range(pulka.players)
    shown: dict[str, Any] = {
        "attention": pulka.terms.get("attention", "players"),
        "entries": pulka.terms.get("entries", "automatic"),
        "arbiter": pulka.terms.get("arbiter"),
        "waiting_calls": [],
        "excluded": [],
        "infractions": [],
        "result": None,
        "confirmed": [False for _ in seats],
        "paper": _paper(pulka),
    }
    if court is None:
        return shown
    return shown | {
        "waiting_calls": [{"seat": seat, "bid": bid} for seat, bid, _ in court.early],
        "excluded": [seat for seat in seats if court.excluded >> seat & 1],
        "infractions": [infraction_document(one, pulka.players) for one in court.infractions],
        "result": outcome_document(court.ended, pulka.players) if court.ended is not None and court.awaits_confirmation else None,
        "confirmed": [bool(court.confirmed >> seat & 1) for seat in seats],
    }


def _paper(pulka: Pulka) -> dict[str, Any] | None:
    """The last deal's entries where each keeps their own columns: what is due and what was written; until when nobody knows before."""
    kept = pulka.kept_sheet
    if kept is None:
        return None
    return {"deal": kept.deal, "open": kept.open, "due": _lines(kept.due), "written": _lines(kept.wrote)}


def _lines(lines: Lines) -> list[dict[str, Any]]:
    return [
        {"seat": seat, "column": column, "amount": written(number)} | ({} if on is None else {"on": on})
        for (seat, column, on), number in lines
        if number
    ]


def talon(pulka: Pulka) -> str:
    """The talon as it lies, or lay before the declarer took it: where an early taker's cards were shuffled, the one of these (3.3.17)."""
    return pulka.secrets.returned.get("talon") or pulka.secrets.talon
