"""A deal as a scorer writes it down (deploy/docs/score-file.md), and the outcome that it means."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, TypeVar

import msgspec

from shared.rules.convention.options import Convention
from shared.rules.deck.contract import RANK
from shared.rules.language.refusal import Malformed
from shared.rules.score_files.deal_checks import check, check_dark_bid, check_scorable
from shared.rules.scoring.infraction_document import InfractionDocument, infraction_document, read_infractions
from shared.rules.scoring.outcome import Call, DealOutcome
from shared.rules.scoring.sheet_document import SheetDocument

T = TypeVar("T")
Seat: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=4)]
Tricks: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=10)]
MOST_INFRACTIONS = 100  # of one deal: no table finds more, and each is looked at


class DealDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `deals`; the fields as in `DealOutcome`, null or left out where nothing is to be said; `dark` may name the bid.

    `kept`: the sheet as the players kept it after this deal, where they do that themselves (4.2.4).
    """

    contract: str | None = None
    dealer: Seat | None = None
    declarer: Seat | None = None
    calls: tuple[Call | None, ...] | None = None
    tricks: tuple[Tricks, ...] | None = None
    talon_tricks: Annotated[int, msgspec.Meta(ge=0, le=3)] | None = None  # two aces, the most a talon can hold, count three (3.4.11)
    shared: bool = False
    without_three: bool = False
    dark: bool | str = False
    dark_pass: tuple[Seat, ...] = ()
    infractions: Annotated[tuple[InfractionDocument, ...], msgspec.Meta(max_length=MOST_INFRACTIONS)] = ()
    kept: SheetDocument | None = None


def read_deal(document: DealDocument, convention: Convention, players: int, dealer: int, path: str, *, stored: bool = False) -> DealOutcome:
    """The outcome of `document`, dealt by `dealer`. Raises `Malformed` for what could not have happened.

    `stored`: it was accepted when it was written down, and is held only to what it takes to score it; checks that came later do not
    make a history unreadable.
    """
    offences = read_infractions(document.infractions, players, f"{path}.infractions")
    outcome = DealOutcome(
        dealer=dealer,
        contract=document.contract,
        declarer=document.declarer,
        calls=_by_seat(document.calls, players, f"{path}.calls"),
        tricks=_by_seat(document.tricks, players, f"{path}.tricks"),
        conceded=offences.conceded is not None,
        without_three=document.without_three,
        shared=document.shared,
        talon_tricks=document.talon_tricks or 0,
        talon_refused=offences.talon_refused,
        dark=_dark(document.dark, f"{path}.dark"),
        dark_pass=document.dark_pass,
        infractions=offences.infractions,
    )
    (check_scorable if stored else check)(convention, players, outcome, path)
    refused_order = any(one.rule == "3.4.4" for one in document.infractions) and outcome.conceded
    if not stored and refused_order and {"whist", "half"} & set(outcome.calls):
        raise Malformed(f"{path}.calls", "calls on a refused order are void, and nobody writes whists: leave them out (3.4.4)")
    if not stored and isinstance(document.dark, str):
        check_dark_bid(outcome, document.dark, f"{path}.dark")
    if offences.conceded is not None and (not outcome.is_game or offences.conceded != outcome.declarer):
        raise Malformed(f"{path}.infractions", "only the declarer of a trick game can be without all (3.4.4, 3.5.4)")
    return outcome


def _dark(value: bool | str, path: str) -> bool:  # noqa: FBT001 - a flag, or the bid that it was said of
    if isinstance(value, str) and value not in RANK:
        raise Malformed(path, f"must be true, false or the dark bid, not {value!r}")
    return bool(value)


def _by_seat(values: tuple[T, ...] | None, players: int, path: str) -> tuple[T, ...]:
    if values is None:
        return ()
    if len(values) != players:
        raise Malformed(path, f"has {len(values)} values, must have {players}")
    return values


def deal_document(outcome: DealOutcome, players: int | None = None) -> dict[str, Any]:
    """`outcome` as an entry of `deals` that `read_deal` reads back to the same score, dealer included.

    `players` may be left out where calls or tricks tell it; a deal that ended before its contract has neither.
    """
    fields: dict[str, Any] = {"dealer": outcome.dealer}
    if outcome.contract is not None:
        fields["contract"] = outcome.contract
    if outcome.declarer is not None:
        fields["declarer"] = outcome.declarer
    if any(outcome.calls):
        fields["calls"] = list(outcome.calls)
    if outcome.tricks:
        fields["tricks"] = list(outcome.tricks)
    if outcome.talon_tricks:
        fields["talon_tricks"] = outcome.talon_tricks
    fields |= {field: True for field in ("shared", "without_three", "dark") if getattr(outcome, field)}
    if outcome.dark_pass:
        fields["dark_pass"] = list(outcome.dark_pass)
    seats = players or len(outcome.calls or outcome.tricks)
    infractions = [infraction_document(one, seats) for one in outcome.infractions]
    if outcome.conceded:
        infractions.append({"rule": "3.5.4", "seat": outcome.declarer})
    if outcome.talon_refused:
        infractions.append({"rule": "3.4.10", "seat": outcome.dealer})
    if infractions:
        fields["infractions"] = infractions
    return fields
