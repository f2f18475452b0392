"""What is written in each field of the paper, one total after another: the last one stands, the earlier ones are struck through (4.2.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from shared.rules.language import amount as amounts
from shared.rules.language.amount import Amount, exact

#: A place on the paper: whose, which column, and for whists on whom.
Field: TypeAlias = tuple[int, str, int | None]
Totals: TypeAlias = dict[Field, tuple[Amount, ...]]

POOL, MOUNTAIN, WHISTS = "pool", "mountain", "whists"
NUMBER: Final = "amount"  # names the place of a number that is none; no document of ours has one


def fields_of(players: int) -> tuple[Field, ...]:
    """Every field of a sheet: by seat the pool, the mountain, and the whists on each other clockwise."""
    return tuple(
        field
        for seat in range(players)
        for field in ((seat, POOL, None), (seat, MOUNTAIN, None), *((seat, WHISTS, on) for on in clockwise(seat, players)))
    )


def clockwise(seat: int, players: int) -> list[int]:
    """The other seats, the left neighbour first."""
    return [(seat + step) % players for step in range(1, players)]


def running_totals(score: Mapping[str, Any]) -> Totals:
    """The totals of every field, in the order in which they were written; none in a field where nothing was.

    `score` is the object of `pulka score`. A deal makes one total of all that it writes into a field. What stood on the paper before is
    what the sheet has besides them. Where the players keep the sheet themselves (`kept`), each of their entries makes a total, so that a
    wrong one and its correction both stand there.
    """
    final = dict(_numbers(score["sheet"]))
    writings = [_entry(one) for one in score["kept"]] if "kept" in score else [dict(_numbers(deal)) for deal in score["deals"]]
    found: dict[Field, list[Amount]] = {}
    for field in fields_of(len(score["sheet"]["pool"])):
        changes = [change for writing in writings if (change := writing.get(field, 0))]
        total = exact(final.get(field, 0) - sum(changes))
        found[field] = [total] if total else []
        for change in changes:
            total = exact(total + change)
            found[field].append(total)
    return {field: tuple(totals) for field, totals in found.items()}


def _numbers(document: Mapping[str, Any]) -> Iterator[tuple[Field, Amount]]:
    """What a document with three columns, a sheet or what a deal wrote, has in its fields."""
    for column in (POOL, MOUNTAIN):
        yield from _column(column, document[column])
    for writer, on, number in document[WHISTS]:
        yield (writer, WHISTS, on), amounts.read(number, NUMBER)


def _column(column: str, numbers: Iterable[int | str]) -> Iterator[tuple[Field, Amount]]:
    for seat, number in enumerate(numbers):
        yield (seat, column, None), amounts.read(number, NUMBER)


def _entry(one: Mapping[str, Any]) -> dict[Field, Amount]:
    return {(one["seat"], one["column"], one.get("on")): amounts.read(one["amount"], NUMBER)}
