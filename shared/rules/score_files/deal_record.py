"""`pulka replay`: a whole deal, card by card, played through the rules (deploy/docs/deal-record.md). Pure.

A record is read strictly; its first refused move ends it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Annotated, Any, Literal, TypeAlias, get_args

import msgspec

from shared.rules.adjudicated import offering, replaying
from shared.rules.adjudicated.court import DEFAULT_ORDER_PAUSE_MS, Court, CourtTerms
from shared.rules.convention.options import resolve
from shared.rules.deal.decider import (
    HAND_SIZE,
    PREVENTED,
    TALON_SIZE,
    WRONG_TALON_SIZES,
    Deal,
    decide,
    evolve,
    first_events,
    offer,
    open_deal,
)
from shared.rules.deck.cards import mask_of
from shared.rules.deck.seats import FEWEST, MOST, hand_count, hands_at_play
from shared.rules.language.documents import convert, decode
from shared.rules.language.game_events import Event
from shared.rules.language.irregular_events import FineWritten
from shared.rules.language.moves import DealMove, IrregularMove
from shared.rules.language.refusal import Malformed, Refused
from shared.rules.score_files.deal_document import MOST_INFRACTIONS
from shared.rules.score_files.score_file import Bomb, Points
from shared.rules.scoring.infraction_document import InfractionDocument, infraction_document, read_infractions
from shared.rules.scoring.series import dark_deals_in_row, plays_dark
from shared.rules.scoring.settlement import pulka_closed
from shared.rules.scoring.sheet import empty_sheet, write
from shared.rules.scoring.sheet_document import SheetDocument, read_sheet

IRREGULAR_TYPES = tuple(kind.__struct_config__.tag for kind in get_args(IrregularMove))  # no set: a record's `type` can be a list
#: How many cards a live table may have dealt in place of ten to a hand (at most a pair too many), and of two to the talon.
DEALT_WRONGLY = {HAND_SIZE: range(1, HAND_SIZE + 3), TALON_SIZE: WRONG_TALON_SIZES}
MOST_MOVES = 1_000  # a deal has about sixty; more is no deal
Document: TypeAlias = dict[str, Any]


class DealRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A deal record; `convention` and `moves` are read apart. What stands after `moves` is the pulka's state before this deal; `forced`
    says that nobody is asked for a call (3.7.9).

    `entries`: with "by_hand" the players keep the sheet, which may look ended before a deal that was dealt all the same (4.2.4).
    `infractions`: entries of the deal before that stood at the end of this auction though they were wrong, and fines for them (4.2.9).
    """

    convention: str | Document
    players: Annotated[int, msgspec.Meta(ge=FEWEST, le=MOST)]
    dealer: Annotated[int, msgspec.Meta(ge=0, le=MOST - 1)]
    hands: tuple[str, ...]
    talon: str
    moves: Annotated[tuple[Document, ...], msgspec.Meta(max_length=MOST_MOVES)] = ()
    target: Points | None = None
    sheet: SheetDocument | None = None
    all_pass_in_row: Annotated[int, msgspec.Meta(ge=0, le=1_000)] = 0  # no pulka has more
    dark_in_row: Annotated[int, msgspec.Meta(ge=0, le=1_000)] | None = None  # no pulka has more; left out where all of them were dark
    bombs: tuple[tuple[Bomb, ...], ...] = ()
    forced: bool = False
    mode: Literal["enforced", "adjudicated"] = "enforced"
    attention: Literal["players", "server"] = "players"
    entries: Literal["automatic", "by_hand"] = "automatic"
    order_pause_s: Annotated[int, msgspec.Meta(ge=0, le=60)] = DEFAULT_ORDER_PAUSE_MS // 1000  # as a table's terms have it (3.4.8)
    infractions: Annotated[tuple[InfractionDocument, ...], msgspec.Meta(max_length=MOST_INFRACTIONS)] = ()
    entropy: Annotated[str, msgspec.Meta(max_length=64)] = ""  # the server's seed, once revealed; cards drawn blind come from it
    format: Literal[1] = 1  # the only one there has been


class ReplayRefused(msgspec.Struct, frozen=True):
    """The rules refused move number `move`, counted from 0."""

    refused: Refused
    move: int

    def document(self) -> Document:
        """The `error` object of the command's answer."""
        return {"code": self.refused.code, "rule": self.refused.rule, "move": self.move, "message": self.refused.message}


def replay_document(document: bytes | str | Document) -> Document | ReplayRefused:
    """The answer of `pulka replay` to one deal record, as JSON text or already read: where the deal stands, or the first refusal.

    Raises `NotJson` for text that is not JSON, `Malformed` with the place of what is wrong.
    """
    record = convert(document, DealRecord) if isinstance(document, dict) else decode(document, DealRecord)
    deal = dealt(record)
    if record.mode == "adjudicated":
        return _adjudicated(record, deal)
    events = list(first_events(deal))
    deal = reduce(evolve, events, deal)
    for index, (seat, move) in enumerate(
        [_read_move(entry, record.players, f"moves[{index}]") for index, entry in enumerate(record.moves)]
    ):
        decided = PREVENTED if isinstance(move, IrregularMove) else decide(deal, seat, move)
        if isinstance(decided, Refused) and decided.code == "malformed":
            raise Malformed(f"moves[{index}]", decided.message)
        if deal.phase in ("auction", "scored") and pulka_over(deal):
            return ReplayRefused(Refused("pulka_over", "4.2.15", "The pulka had ended on this sheet before the move."), index)
        if isinstance(decided, Refused):
            return ReplayRefused(decided, index)
        for event in decided:
            deal = evolve(deal, event)
        events += decided
    return replayed(deal, events)


def _adjudicated(record: DealRecord, deal: Deal) -> Document | ReplayRefused:
    """The same for a deal of the other mode, whose moves may break rules."""
    moves = tuple(replaying.read_move(entry, record.players, f"moves[{index}]") for index, entry in enumerate(record.moves))
    if moves and record.entries == "automatic" and pulka_over(deal):
        return ReplayRefused(Refused("pulka_over", "4.2.15", "The pulka had ended on this sheet before the move."), 0)
    terms = CourtTerms(
        attention=record.attention,
        order_pause_ms=1000 * record.order_pause_s,
        recorded=True,
        unchecked=deal.setup.convention.version == 1,  # what a table of that time heard is replayed as it was heard
    )
    noted = _noted(record)
    court, events, index, refused = replaying.play_through(deal, terms, moves, record.entropy or f"{record.hands} {record.talon}", noted)
    if refused is not None and refused.code == "malformed":
        raise Malformed(f"moves[{index}]", refused.message)
    return ReplayRefused(refused, index) if refused is not None else replayed(court, events, by_hand=record.entries == "by_hand")


def _noted(record: DealRecord) -> tuple[Event, ...]:
    """The record's infractions as the events that they were. Raises `Malformed`."""
    read = read_infractions(record.infractions, record.players, "infractions").infractions
    return tuple(FineWritten(one.rule, one.seat, (), infraction_document(one, record.players)) for one in read)


def pulka_over(deal: Deal | Court) -> bool:
    """Whether the pulka has ended by its sheet, before this deal or with it; a record does not tell how many deals were played."""
    setup, score = deal.setup, deal.score
    sheet = setup.sheet if score is None else write(setup.sheet, score.entries)
    return pulka_closed(setup.convention, setup.target, sheet, 0)


def replayed(deal: Deal | Court, events: Iterable[Event], *, by_hand: bool = False) -> Document:
    """Where `deal` stands after `events`, as the command shows it: `tricks` taken by seat, `score` None until the deal is over.

    `by_hand`: its players keep the sheet, and judge themselves whether the pulka is over.
    """
    over = not by_hand and deal.phase == "auction" and pulka_over(deal)
    to_act = None if over else deal.to_act
    return {
        "phase": "over" if over else deal.phase,
        "to_act": to_act,
        "legal": [] if to_act is None else _offered(deal, to_act),
        "tricks": list(deal.tricks),
        "contract": deal.contract,
        "declarer": deal.declarer,
        "events": [event_document(event) for event in events],
        "score": score_document(deal),
    }


def _offered(deal: Deal | Court, seat: int) -> list[Document]:
    return offering.offer(deal, seat) if isinstance(deal, Court) else offer(deal, seat)


def event_document(event: Event) -> Document:
    """The event as JSON has it; number of the deal and salts, which only a running pulka has, are left out where they are not set."""
    plain: Document = msgspec.json.decode(msgspec.json.encode(event))
    return {name: value for name, value in plain.items() if value or name not in ("deal", "salt", "salts")}


def score_document(deal: Deal | Court) -> Document | None:
    """What the deal wrote, as one of the `deals` of `pulka score`."""
    if deal.score is None:
        return None
    entries = deal.score.entries
    return write(empty_sheet(deal.setup.players), entries).document() | {"entries": [dict(entry) for entry in entries]}


def dealt(record: DealRecord) -> Deal:
    """The deal before its first call. Raises `Malformed` for cards that are no deal, a dealer that is no seat, a sheet of other players."""
    players = record.players
    convention = resolve(record.convention, record.target)
    if record.dealer >= players:
        raise Malformed("dealer", f"must be 0 to {players - 1}")
    if record.bombs and len(record.bombs) != players:
        raise Malformed("bombs", f"has {len(record.bombs)} values, must have {players}")
    if record.dark_in_row is not None and record.dark_in_row > record.all_pass_in_row:
        raise Malformed("dark_in_row", f"is more than all_pass_in_row, {record.all_pass_in_row}")
    if not plays_dark(convention):
        if record.dark_in_row:
            raise Malformed("dark_in_row", "dark calls are not in force: the option `dark` is false")
        if record.forced:
            raise Malformed("forced", "nobody is forced to pass: the option `dark` is false (3.7.9)")
    _check_cards(record, counted=record.mode == "enforced")
    sheet = read_sheet(record.sheet or SheetDocument(), players, "sheet")
    dark_in_row = dark_deals_in_row(convention, record.all_pass_in_row, record.dark_in_row)
    return open_deal(
        convention,
        players,
        record.target,
        record.dealer,
        sheet,
        record.all_pass_in_row,
        record.hands,
        record.talon,
        record.bombs,
        dark_in_row=dark_in_row,
        forced=record.forced,
        counted=record.mode == "enforced",
    )


def _check_cards(record: DealRecord, *, counted: bool) -> None:
    """Ten cards to each player, of two to the dummy too, two to the talon, every card once (3.2.8).

    Not `counted`: a live table may have dealt a player too many or too few, but for none at all, and the talon one too many or too few.
    """
    if len(record.hands) != hand_count(record.players):
        raise Malformed("hands", f"has {len(record.hands)} hands, must have {hand_count(record.players)}")
    at_play = hands_at_play(record.players, record.dealer)
    places = [(f"hands[{seat}]", hand, HAND_SIZE if seat in at_play else 0) for seat, hand in enumerate(record.hands)]
    seen = 0
    for path, text, size in (*places, ("talon", record.talon, TALON_SIZE)):
        cards = _read_cards(text, path)
        may_be = range(size, size + 1) if counted else DEALT_WRONGLY.get(size, (size,))
        if cards.bit_count() not in may_be:
            raise Malformed(path, f"has {cards.bit_count()} cards, must have {size}")
        if cards & seen:
            raise Malformed(path, "has a card that stands before it too")
        seen |= cards


def _read_cards(text: str, path: str) -> int:
    try:
        return mask_of(text)
    except KeyError as error:
        raise Malformed(path, f"{error.args[0]!r} is no card") from None
    except ValueError as error:
        raise Malformed(path, f"{error.args[0]} stands twice") from None


def _read_move(entry: Document, players: int, path: str) -> tuple[int, DealMove | IrregularMove]:
    """`entry` as a seat and its move; one that only the other mode knows is read as there, and its maker does not matter."""
    if entry.get("type") in IRREGULAR_TYPES:
        return 0, replaying.read_move(entry, players, path).move
    fields = dict(entry)
    if "seat" not in fields:
        raise Malformed(f"{path}.seat", "is required")
    seat = fields.pop("seat")
    if type(seat) is not int or not 0 <= seat < players:
        raise Malformed(f"{path}.seat", f"must be 0 to {players - 1}")
    move: DealMove = convert(fields, DealMove, path)  # type: ignore[arg-type]  # a union of structs is a type to msgspec, not to mypy
    return seat, move
