"""The sheet where each player keeps their own columns (4.2.4, terms `entries: by_hand`): what is due, what was written, and wrong entries
(4.2.7-4.2.10). State · evolve · decide.

A deal's entries may be written and corrected until the end of the next auction. `match` (`pulka.py`) writes on its sheet what the events
here say; nothing else changes it then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from shared.rules.adjudicated.court import SERVER, Maker
from shared.rules.deal.position import bit
from shared.rules.deck.seats import clockwise_from
from shared.rules.language import amount as amounts
from shared.rules.language.amount import Amount, exact, written
from shared.rules.language.game_events import Event, RemedyAsked, RemedyChosen
from shared.rules.language.irregular_events import (
    AttentionCalled,
    EntriesClosed,
    EntryCorrected,
    EntryFined,
    EntryWritten,
    FineWritten,
    LateEntryAsked,
    WarningGiven,
)
from shared.rules.language.moves import CallAttention, Remedy, WriteEntry
from shared.rules.language.refusal import Malformed, Refused
from shared.rules.scoring.infraction_document import infraction_document
from shared.rules.scoring.outcome import Infraction
from shared.rules.scoring.sheet import Entry, Sheet, write

WRONG, LATE, FORGOTTEN = "4.2.7", "4.2.9", "4.2.10"
#: Rules under which entries stand on the sheet already when the deal that records them is scored.
ON_THE_SHEET: Final = (WRONG, LATE, FORGOTTEN)
NAMES: Final = (WRONG, "4.2.8", LATE, FORGOTTEN)
#: What a question of the sheet is about.
FINE, CORRECTION, ENTRY = "entry_fine", "late_correction", "late_entry"

#: A place on the sheet: seat, column, and for whists on whom.
Place: TypeAlias = tuple[int, str, int | None]
Lines: TypeAlias = tuple[tuple[Place, Amount], ...]
Decided: TypeAlias = tuple[Event, ...] | Refused


class AwaitedChoice(msgspec.Struct, frozen=True):
    """A choice that the sheet waits for: `waiting` are asked in turn, each must accept a late entry; `of` is whose entry it is."""

    about: str
    of: int
    waiting: tuple[int, ...]
    rule: str


class KeptSheet(msgspec.Struct, frozen=True):
    """Deal `deal`, 0 before the first: what is `due` and what was `wrote` of it by place; `open` until the end of the next auction.

    `warned` is the mask of seats that have had their warning; `fines` of whists that the partners have still to be asked about; `late` an
    entry that waits for the others' consent; `fined` what was written as fines for this deal. `watched`: the server calls wrong entries.
    """

    deal: int = 0
    due: Lines = ()
    wrote: Lines = ()
    open: bool = False
    warned: int = 0
    asked: AwaitedChoice | None = None
    fines: Lines = ()
    late: tuple[Place, Amount] | None = None
    fined: Lines = ()
    watched: bool = False


def kept_sheet_of(terms: dict[str, Any]) -> KeptSheet | None:
    """The sheet of a table on these terms, where its players write for themselves."""
    by_hand = terms.get("mode") == "adjudicated" and terms.get("entries") == "by_hand"
    return KeptSheet(watched=terms.get("attention") == "server") if by_hand else None


# ---- evolve ------------------------------------------------------------------------------------------------------------


def deal_scored(kept: KeptSheet, number: int, entries: Iterable[dict[str, Any]]) -> KeptSheet:
    """What each has to write now; fines for the deal before stand on the sheet already."""
    due = _summed((_place(one), amounts.read(one["amount"], "amount")) for one in entries if one["rule"] not in ON_THE_SHEET)
    return KeptSheet(deal=number, due=due, open=True, warned=kept.warned, watched=kept.watched)


def _place(entry: dict[str, Any]) -> Place:
    return entry["seat"], entry["column"], entry.get("on")


def _summed(lines: Iterable[tuple[Place, Amount]]) -> Lines:
    total: dict[Place, Amount] = {}
    for place, number in lines:
        total[place] = exact(total.get(place, 0) + number)
    return tuple(total.items())


def evolve(kept: KeptSheet, event: Event) -> KeptSheet:
    """The kept after an event of the sheet; others leave it as it is."""
    match event:
        case EntryWritten() | EntryCorrected():
            line = ((event.seat, event.column, event.on), amounts.read(event.amount, "amount"))
            after = replace(kept, wrote=_summed((*kept.wrote, line)), late=None)
            return replace(after, fines=(*kept.fines, _owed(line))) if _is_fined(kept, event) else after
        case WarningGiven(seat=seat):
            return replace(kept, warned=kept.warned | bit(seat))
        case EntryFined():
            line = ((event.seat, event.column, event.on), amounts.read(event.amount, "amount"))
            return replace(kept, fined=_summed((*kept.fined, line)), fines=kept.fines[1:] if event.column == "whists" else kept.fines)
        case LateEntryAsked():
            return replace(kept, late=((event.seat, event.column, event.on), amounts.read(event.amount, "amount")))
        case RemedyAsked(about=about) if about in (FINE, CORRECTION, ENTRY):
            return replace(kept, asked=AwaitedChoice(about, event.of, event.seats, event.rule))
        case RemedyChosen() if kept.asked is not None:
            return _chosen(kept, kept.asked, event.choice)
        case EntriesClosed():
            return replace(kept, open=False)
    return kept


def _is_fined(kept: KeptSheet, event: EntryWritten | EntryCorrected) -> bool:
    """Whether the partner may write as many whists on who wrote too many: not the first time."""
    return isinstance(event, EntryCorrected) and event.rule == WRONG and event.column == "whists" and bool(kept.warned & bit(event.seat))


def _owed(line: tuple[Place, Amount]) -> tuple[Place, Amount]:
    place, change = line
    return place, exact(-change)


def _chosen(kept: KeptSheet, asked: AwaitedChoice, choice: str) -> KeptSheet:
    if choice == "accept" and len(asked.waiting) > 1:
        return replace(kept, asked=replace(asked, waiting=asked.waiting[1:]))
    refused = choice != "accept"
    late = None if asked.about == ENTRY and refused else kept.late
    fines = kept.fines[1:] if asked.about == FINE and refused else kept.fines
    return replace(kept, asked=None, late=late, fines=fines)


def concerns(kept: KeptSheet, event: Event) -> bool:
    """Whether an event is the sheet's alone, and no deal's."""
    match event:
        case RemedyAsked(about=about):
            return about in (FINE, CORRECTION, ENTRY)
        case AttentionCalled(rule=rule):
            return rule in NAMES
        case RemedyChosen():
            return kept.asked is not None
    return isinstance(event, EntryWritten | EntryCorrected | EntryFined | WarningGiven | LateEntryAsked | EntriesClosed)


def on_sheet(sheet: Sheet, event: Event) -> Sheet:
    """The sheet with what the event writes on it."""
    match event:
        case EntryWritten() | EntryCorrected() | EntryFined():
            number = amounts.read(event.amount, "amount")
            return write(sheet, (Entry(event.seat, event.column, event.on, number, WRONG, ""),))  # type: ignore[arg-type]  # columns of `Entry`
    return sheet


# ---- what is wrong -----------------------------------------------------------------------------------------------------


def faults(kept: KeptSheet, seat: int) -> Lines:
    """By place how much `seat` wrote in their own favour: above what is due, or too little in the mountain (4.2.7). What they have not
    written is no wrong entry, only a missing one (4.2.8, 4.2.10).
    """
    found: list[tuple[Place, Amount]] = []
    for place, wrote in kept.wrote:
        owner, column, _ = place
        due = dict(kept.due).get(place, 0)
        over = due - wrote if column == "mountain" else wrote - due
        if owner == seat and over > 0:
            found.append((place, exact(over)))
    return tuple(found)


def _by_place(kept: KeptSheet) -> Iterator[tuple[Place, Amount]]:
    wrote = dict(kept.wrote)
    for place in dict.fromkeys((*(place for place, _ in kept.wrote), *(place for place, _ in kept.due))):
        yield place, wrote.get(place, 0)


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide(kept: KeptSheet, players: int, maker: Maker, move: object) -> Decided | None:
    """What a move about the sheet causes; None for a move that is not about the sheet, which goes on as if there were none."""
    if isinstance(move, Remedy) and kept.asked is not None and isinstance(maker, int):
        return decide_answer(kept, maker, move)
    about = isinstance(move, WriteEntry) or (isinstance(move, CallAttention) and move.rule in NAMES)
    if kept.asked is not None:
        return Refused("claim_pending", kept.asked.rule, f"Seat {kept.asked.waiting[0]} is asked about the sheet.")
    if not about:
        return None
    if isinstance(move, CallAttention):
        return decide_attention(kept, maker, move)
    if isinstance(move, WriteEntry) and isinstance(maker, int):
        return decide_entry(kept, players, maker, move)
    return Refused("not_your_turn", "4.2.4", "Each player keeps their own columns.")


def decide_entry(kept: KeptSheet, players: int, seat: int, move: WriteEntry) -> Decided:
    """A player's own entry; after the end of the next auction only with everybody's consent (4.2.10)."""
    if (move.column == "whists") != (move.on is not None) or move.on == seat or (move.on or 0) >= players:
        return Refused("malformed", "4.2.1", "Whists are written `on` another seat, pool and mountain on nobody.")
    try:
        number = amounts.read(move.amount, "amount")
    except Malformed as error:
        return Refused("malformed", "4.2.1", error.message)
    if not kept.deal:
        return Refused("wrong_phase", "4.2.6", "No deal has been played yet, so there is nothing to write down.")
    if kept.open:
        wrote = EntryWritten(seat, move.column, move.on, written(number), kept.deal)
        return (wrote, *_seen_by_the_server(evolve(kept, wrote), seat))
    late = LateEntryAsked(seat, move.column, move.on, written(number), kept.deal)
    return late, RemedyAsked(ENTRY, clockwise_from(players, seat), seat, ("accept", "pass"), "", FORGOTTEN)


def _seen_by_the_server(kept: KeptSheet, seat: int) -> tuple[Event, ...]:
    """Where the server watches it calls a wrong entry at once (4.2.8)."""
    if not kept.watched or not faults(kept, seat):
        return ()
    called = decide_attention(kept, SERVER, CallAttention(WRONG, seat))
    return () if isinstance(called, Refused) else called


def decide_attention(kept: KeptSheet, maker: Maker, move: CallAttention) -> Decided:
    """A wrong entry is corrected; the second time it costs as much again (4.2.7). After the end of the next auction its writer decides."""
    wrong = [seat for seat in ([move.seat] if move.seat is not None else range(5)) if faults(kept, seat)]
    if not wrong:
        return Refused("call_not_allowed", move.rule, "No entry of the last deal is wrong in its writer's favour.")
    seat = wrong[0]
    if not kept.open:
        called = AttentionCalled(LATE, seat, maker)
        return called, RemedyAsked(CORRECTION, (seat,), seat, ("accept", "pass"), "", LATE)
    corrected = _corrected(kept, seat, WRONG)
    if not kept.warned & bit(seat):
        return AttentionCalled(WRONG, seat, maker), *corrected, WarningGiven(seat, WRONG)
    fined = tuple(
        EntryFined(seat, "mountain", None, written(number), WRONG) for (_, column, _), number in faults(kept, seat) if column != "whists"
    )
    after = reduce(evolve, (*corrected, *fined), kept)
    return AttentionCalled(WRONG, seat, maker), *corrected, *fined, *_next_partner(after)


def _corrected(kept: KeptSheet, seat: int, rule: str) -> tuple[Event, ...]:
    return tuple(
        EntryCorrected(seat, column, on, written(number if column == "mountain" else exact(-number)), kept.deal, rule)
        for (_, column, on), number in faults(kept, seat)
    )


def _next_partner(kept: KeptSheet) -> tuple[Event, ...]:
    """Of partners on whom too many whists had been written the next is asked whether they write as many."""
    for (seat, _, on), _ in kept.fines[:1]:
        if on is not None:
            return (RemedyAsked(FINE, (on,), seat, ("accept", "pass"), "", WRONG),)
    return ()


def decide_answer(kept: KeptSheet, seat: int, move: Remedy) -> Decided:
    """What the asked seat chose; a late entry needs everybody."""
    asked = kept.asked
    if asked is None:
        return Refused("wrong_phase", WRONG, "No question about the sheet is open.")
    if seat != asked.waiting[0]:
        return Refused("not_your_turn", asked.rule, f"It is seat {asked.waiting[0]} that is asked.")
    if move.choice not in ("accept", "pass"):
        return Refused("call_not_allowed", asked.rule, "The choice is between accept and pass.")
    chosen = RemedyChosen(seat, move.choice)
    if asked.about == FINE:
        fine = () if move.choice == "pass" else (EntryFined(seat, "whists", asked.of, written(kept.fines[0][1]), WRONG),)
        return chosen, *fine, *_next_partner(reduce(evolve, (chosen, *fine), kept))
    if move.choice == "pass" or len(asked.waiting) > 1:
        return (chosen,)
    if asked.about == CORRECTION:
        return chosen, *_corrected(kept, asked.of, LATE)
    if kept.late is None:
        return (chosen,)
    (owner, column, on), number = kept.late
    return chosen, EntryWritten(owner, column, on, written(number), kept.deal)


def closing(kept: KeptSheet, players: int) -> tuple[Event, ...]:
    """The end of the next auction: what was written otherwise than due stands; it is noted for the score of the deal that goes on."""
    if not kept.open:
        return ()
    due = dict(kept.due)
    lines = [(place, exact(wrote - due.get(place, 0)), LATE if wrote else FORGOTTEN) for place, wrote in _by_place(kept)]
    lines += [(place, number, WRONG) for place, number in kept.fined]
    noted = [_noted(place, number, rule, players) for place, number, rule in lines if number]
    return EntriesClosed(kept.deal), *noted


_WHY: Final = {WRONG: "a fine for a wrong entry", LATE: "an entry that nobody called in time", FORGOTTEN: "an entry that was forgotten"}


def _noted(place: Place, number: Amount, rule: str, players: int) -> FineWritten:
    seat, column, on = place
    one = Infraction(
        rule,
        seat,
        ruled=True,
        whists=((seat, on, number),) if on is not None else (),
        mountain=((seat, number),) if column == "mountain" else (),
        pool=((seat, number),) if column == "pool" else (),
        reason=_WHY[rule],
    )
    return FineWritten(rule, seat, (), infraction_document(one, players))
