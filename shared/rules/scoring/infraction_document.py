"""Irregularities as a scorer writes them (deploy/docs/score-file.md: Infractions): a fine that the rule fixes, or a ruling in figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec

from shared.rules.deck.seats import MOST
from shared.rules.language import amount as amounts
from shared.rules.language.amount import Amount, written
from shared.rules.language.refusal import Malformed
from shared.rules.scoring.game_result import ONE_TRICK
from shared.rules.scoring.infractions import IN_POINTS
from shared.rules.scoring.outcome import Infraction
from shared.rules.scoring.sheet_document import MOST_WHISTS, Number, Triple, by_seat, read_whists

#: Rules that say what follows in undertricks, which the others may prove to be more.
PROVABLE = ("3.4.6", "3.9.18")
#: "Without all": a refused order, or the declarer's own admission.
WITHOUT_ALL = ("3.4.4", "3.5.4")
REFUSED_TALON = "3.4.10"
FINEST = 1_000  # the largest denominator of a ruling: shares are of a few players, and sums of any number of them stay short


class InfractionDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One infraction; `mountain` and `pool` are a number for the offender, or one a seat."""

    rule: Annotated[str, msgspec.Meta(min_length=1, max_length=40)]  # "3.9.16.2", "FN72": the longest citations are far shorter
    seat: Annotated[int, msgspec.Meta(ge=0, le=4)]
    points: Annotated[int, msgspec.Meta(ge=0, le=1_000)] | None = None  # agreed points; the limit only keeps numbers readable
    proved: Annotated[int, msgspec.Meta(ge=0, le=10)] | None = None  # undertricks, of ten
    whists: Annotated[tuple[Triple, ...], msgspec.Meta(max_length=MOST_WHISTS)] | None = None
    mountain: Number | tuple[Number, ...] | None = None
    pool: Number | tuple[Number, ...] | None = None
    reason: Annotated[str, msgspec.Meta(max_length=1_000)] = ""  # a sentence or a few


class Offences(msgspec.Struct, frozen=True):
    """The infractions to be scored, and what some of them say of the deal itself: who was `conceded` without all, and a refused talon."""

    infractions: tuple[Infraction, ...] = ()
    conceded: int | None = None
    talon_refused: bool = False


def read_infractions(documents: tuple[InfractionDocument, ...], players: int, path: str) -> Offences:
    """The infractions of one deal. Raises `Malformed` where a rule lacks what it needs or has what it does not."""
    infractions: list[Infraction] = []
    conceded, talon_refused = None, False
    for index, document in enumerate(documents):
        place = f"{path}[{index}]"
        if document.seat >= players:
            raise Malformed(f"{place}.seat", f"must be 0 to {players - 1}")
        ruled = document.whists is not None or document.mountain is not None or document.pool is not None
        if ruled:
            infractions.append(_ruling(document, players, place))
            continue
        _check_fields(document, place)
        if document.rule in WITHOUT_ALL:
            conceded = document.seat
        elif document.rule == REFUSED_TALON:
            talon_refused = True
        else:
            infractions.append(
                Infraction(document.rule, document.seat, points=document.points, proved=document.proved, reason=document.reason)
            )
    return Offences(tuple(infractions), conceded, talon_refused)


def _check_fields(document: InfractionDocument, place: str) -> None:
    known = (*IN_POINTS, *ONE_TRICK, *PROVABLE, *WITHOUT_ALL, REFUSED_TALON)
    if document.rule not in known:
        raise Malformed(place, f"{document.rule} needs whists, mountain or pool as ruled, with a reason")
    if document.points is not None and document.rule not in IN_POINTS:
        raise Malformed(f"{place}.points", f"{document.rule} is not a fine in points")
    if document.proved is not None and document.rule not in PROVABLE:
        raise Malformed(f"{place}.proved", f"nothing is to be proved under {document.rule}")


def _ruling(document: InfractionDocument, players: int, place: str) -> Infraction:
    for field in ("points", "proved"):
        if getattr(document, field) is not None:
            raise Malformed(f"{place}.{field}", "a ruling is given in whists, mountain and pool alone")
    if not document.reason.strip():
        raise Malformed(f"{place}.reason", "a ruling needs its reason")
    whists = read_whists(document.whists or (), players, f"{place}.whists")
    mountain = _column(document.mountain, document.seat, players, f"{place}.mountain")
    pool = _column(document.pool, document.seat, players, f"{place}.pool")
    ruled = {"whists": [number for _, _, number in whists], "mountain": dict(mountain).values(), "pool": dict(pool).values()}
    for field, numbers in ruled.items():
        if any(number.denominator > FINEST for number in numbers):
            raise Malformed(f"{place}.{field}", f"a ruling is given in parts of at most {FINEST}")
    return Infraction(document.rule, document.seat, ruled=True, whists=whists, mountain=mountain, pool=pool, reason=document.reason)


def _column(value: Number | tuple[Number, ...] | None, offender: int, players: int, path: str) -> tuple[tuple[int, Amount], ...]:
    if value is None:
        return ()
    if not isinstance(value, tuple):
        return ((offender, amounts.read(value, path)),)
    return tuple(enumerate(by_seat(value, players, path)))


def infractions_of(documents: Iterable[dict[str, Any]]) -> tuple[Infraction, ...]:
    """The infractions that `infraction_document` wrote."""
    found: list[Infraction] = []
    for document in documents:
        columns = [column for column in (document.get("mountain"), document.get("pool")) if column is not None]
        players = len(columns[0]) if columns else MOST
        found += read_infractions((msgspec.convert(document, InfractionDocument),), players, "infractions").infractions
    return tuple(found)


def infraction_document(one: Infraction, players: int) -> dict[str, Any]:
    """The infraction as `read_infractions` reads it."""
    fields: dict[str, Any] = {"rule": one.rule, "seat": one.seat}
    if one.points is not None:
        fields["points"] = written(one.points)
    if one.proved is not None:
        fields["proved"] = one.proved
    if one.ruled:
        fields["whists"] = [[i, j, written(n)] for i, j, n in one.whists]
        for column in ("mountain", "pool"):
            numbers: dict[int, Amount] = dict(getattr(one, column))
            if numbers:
                fields[column] = [written(numbers.get(seat, 0)) for seat in range(players)]
    if one.reason:
        fields["reason"] = one.reason
    return fields
