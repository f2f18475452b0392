"""A pulka that was played elsewhere and is written down whole: its score file, scored once and for all. And one that was moved away."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import msgspec

from shared.rules.convention.options import from_document, to_document
from shared.rules.convention.rules_digest import rules_digest
from shared.rules.deal.ending import outcome_document
from shared.rules.language.amount import LARGEST, LONGEST, Amount, written
from shared.rules.language.documents import convert, decode
from shared.rules.language.game_events import Event
from shared.rules.language.refusal import Malformed
from shared.rules.pulka.state import Pulka
from shared.rules.score_files.deal_document import deal_document
from shared.rules.score_files.score_file import Scored, ScoredDeal, ScoreFile, scored
from shared.rules.scoring.series import Series
from shared.rules.scoring.settlement import settlement
from shared.rules.scoring.sheet import Sheet, empty_sheet, write
from shared.rules.scoring.sheet_document import read_sheet


class PulkaRecorded(Event, frozen=True, tag="PulkaRecorded"):
    """A pulka was written down that had been played elsewhere; the table's first event, and no move follows it.

    `score_file` with its convention resolved, its dealers named and nothing in it that says nothing. `seats` are player ids clockwise, none
    where nobody is known by one. `terms`: `visibility`, `stake` where one was agreed, the day `played_on` (`2026-11-01`) where it was told;
    `rules_digest` covers them as in `PulkaOpened`.
    `deals`: of each what `DealScored` would hold, `outcome` and `entries`, the outcome with `kept` where the file has it;
    `settlement` as in `PulkaClosed`. `author` wrote it down.
    """

    score_file: dict[str, Any]
    rules_digest: str
    players: int
    target: int | None
    seats: tuple[str, ...]
    terms: dict[str, Any]
    deals: tuple[dict[str, Any], ...]
    settlement: dict[str, Any]
    author: str


class PulkaArchived(Event, frozen=True, tag="PulkaArchived"):
    """The commits before this one, so many `commits` with `head` as the hash of the last, lie in an archive and may leave the log.

    It stays there, the table's last one: the table has a history, and nothing can be added to it. `annulled`: it had been (4.2.16).
    """

    commits: int
    head: str
    author: str
    annulled: bool = False


def imported(document: object, seats: tuple[str, ...], visibility: str, author: str, played_on: str | None = None) -> PulkaRecorded:
    """The event that a score file makes, JSON text or already read; `played_on`: the day, where it is known, as `2026-11-01`.

    Raises `NotJson` and `Malformed` as `scored` does, and for `seats`.
    """
    pulka = scored(document)
    for place, deal in enumerate(pulka.deals):
        _require_readable(_numbers(deal), f"deals[{place}]")
    said = {"visibility": visibility} | ({} if played_on is None else {"played_on": played_on})
    event = _imported(pulka, document, seats, said, author)
    _require_readable(list(map(Fraction, event.settlement["net"])), "deals")
    return event


def _imported(pulka: Scored, document: object, seats: tuple[str, ...], said: dict[str, Any], author: str) -> PulkaRecorded:
    """`said`: the terms that stand in no score file."""
    if seats and len(seats) != pulka.players:
        raise Malformed("seats", f"has {len(seats)} values, must have {pulka.players}")
    if len(set(seats)) != len(seats):
        raise Malformed("seats", "nobody has two seats")
    if said["visibility"] == "private" and not seats:
        raise Malformed("visibility", "only its players may look at a private pulka, and seats names none")
    convention = to_document(pulka.convention)
    terms = dict(said)
    file: dict[str, Any] = {
        "format": 1,
        "convention": convention,
        "players": pulka.players,
        "deals": [deal_document(deal.outcome, pulka.players) | _kept(deal) for deal in pulka.deals],
    }
    if pulka.target is not None:
        file["target"] = pulka.target
    if start := _start(document):
        file["start"] = start
    if pulka.stake is not None:
        terms["stake"] = file["stake"] = written(pulka.stake)
    return PulkaRecorded(
        file,
        rules_digest(convention, pulka.players, pulka.target, terms),
        pulka.players,
        pulka.target,
        seats,
        terms,
        tuple(_scored(deal, pulka.players) for deal in pulka.deals),
        settlement(pulka.convention, pulka.target, pulka.end.sheet, pulka.stake, pulka.last_dealer),
        author,
    )


def imported_again(event: PulkaRecorded) -> PulkaRecorded:
    """What the rules make of the event's score file now, whatever a new one may hold. Raises `Malformed` when they make nothing of it."""
    said = {"visibility": event.terms.get("visibility", "")} | {name: event.terms[name] for name in ("played_on",) if name in event.terms}
    return _imported(scored(event.score_file, stored=True), event.score_file, event.seats, said, event.author)


def _numbers(deal: ScoredDeal) -> list[Amount]:
    """What a deal writes and leaves."""
    sheet = deal.after.sheet
    return [*sheet.pool, *sheet.mountain, *(whists for row in sheet.whists for whists in row), *(entry.amount for entry in deal.entries)]


def _require_readable(numbers: Sequence[Amount], path: str) -> None:
    """Refuse a number that no document may hold: nobody could read it again. Raises `Malformed`."""
    if any(not -LARGEST <= number <= LARGEST for number in numbers):
        raise Malformed(path, f"brings a number of the sheet over {LARGEST}")
    if any(len(str(written(number))) > LONGEST for number in numbers):
        raise Malformed(path, f"brings a number of the sheet to more than {LONGEST} characters")


def _start(document: object) -> dict[str, Any]:
    """What the file says about the time before it, as far as it says anything."""
    file = decode(document, ScoreFile) if isinstance(document, (bytes, str)) else convert(document, ScoreFile)
    said: dict[str, Any] = {} if file.start is None else msgspec.json.decode(msgspec.json.encode(file.start))
    return {name: value for name, value in said.items() if value}


def _scored(deal: ScoredDeal, players: int) -> dict[str, Any]:
    outcome = outcome_document(deal.outcome, players) | _series(deal.after.series) | _kept(deal)
    return {"outcome": outcome, "entries": [entry.document() for entry in deal.entries]}


def _kept(deal: ScoredDeal) -> dict[str, Any]:
    """The sheet that the players kept, where the file has it."""
    return {} if deal.kept is None else {"kept": deal.after.sheet.document()}


def _series(series: Series) -> dict[str, Any]:
    """What a deal leaves to the next, as `DealScored` has it."""
    left: dict[str, Any] = {"all_pass_in_row": series.all_pass_in_row}
    if series.dark_in_row:
        left["dark_in_row"] = series.dark_in_row
    if series.bombs:
        left["bombs"] = [list(bombs) for bombs in series.bombs]
    return left


def sheet_before(event: PulkaRecorded) -> Sheet:
    """What stood on the paper before the first deal."""
    start = convert(event.score_file, ScoreFile).start
    return empty_sheet(event.players) if start is None else read_sheet(start, event.players, "start")


# ---- evolve ------------------------------------------------------------------------------------------------------------


def evolve_imported(pulka: Pulka, event: PulkaRecorded) -> Pulka:
    """A match that is over and settled."""
    sheet = sheet_before(event)
    for deal in event.deals:
        sheet = write(sheet, deal["entries"])
    last = event.deals[-1]["outcome"] if event.deals else {"dealer": event.players - 1}
    return Pulka(
        table_id=pulka.table_id,
        status="over",
        convention=from_document(event.score_file["convention"]),
        rules_digest=event.rules_digest,
        players=event.players,
        target=event.target,
        seats=event.seats,
        terms=event.terms,
        sheet=sheet,
        dealer=last["dealer"],
        next_dealer=last["dealer"],
        last_dealer=last["dealer"] if event.deals else None,
        number=len(event.deals),
        settlement=event.settlement,
    )


def evolve_archived(pulka: Pulka, _: PulkaArchived) -> Pulka:
    """Over it was before; whoever knows nothing else of the match knows that."""
    return msgspec.structs.replace(pulka, status="over")
