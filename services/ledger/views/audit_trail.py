"""Who did what, when, at which revision, under which hash. A commit's bytes stay in the log, and leave it once their deal is revealed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from services.ledger.views.tables import Line, Table
from shared.eventlog.port import EventLog
from shared.events import address
from shared.events.catalogue import SealedCardsDiscarded, SealedHandSeen, StoredTableEvent
from shared.events.commit import hash_of
from shared.projections.core.projection import Connection
from shared.rules.adjudicated import moves_of_events, sheet_entries
from shared.rules.adjudicated.replaying import RecordedMove, write_move
from shared.rules.language import game_events as game

DDL: Final = """
CREATE TABLE IF NOT EXISTS audit_trail (
    table_id text NOT NULL,
    revision bigint NOT NULL,
    sequence bigint NOT NULL,
    deal int NOT NULL,
    at bigint NOT NULL,
    actor text NOT NULL,
    command_id text NOT NULL,
    cause text,
    hash text NOT NULL,
    events text NOT NULL,
    moves text NOT NULL,
    PRIMARY KEY (table_id, revision)
);
"""

_encode: Final = msgspec.json.Encoder(order="deterministic").encode
NO_MOVES: Final = "[]"


class Step(msgspec.Struct, frozen=True):
    """One commit: `deal` is the number of the deal it belongs to (0 before the first), `at` milliseconds since 1970, `events` type names
    with spaces between them, `moves` a JSON list of what the seats did, as a deal record has it, an unrevealed discard's cards null.
    """

    table_id: str
    revision: int
    sequence: int
    deal: int
    at: int
    actor: str
    command_id: str
    cause: str | None
    hash: str
    events: str
    moves: str


def move_of(event: StoredTableEvent) -> dict[str, Any] | None:
    """The move whose commit begins with `event`, as a deal record has it; None for what the rules did by themselves, and before a deal."""
    if isinstance(event, game.CardPlayed):
        other = {} if event.by == event.seat else {"hand": event.seat}
        return {"seat": event.by, "type": "play", "card": event.card, **other}
    fields = _MOVES.get(type(event))
    return None if fields is None else {"seat": event.seat} | fields(event)  # type: ignore[union-attr] # every event of `_MOVES` has a seat


_MOVES: Final[dict[type, Callable[[Any], dict[str, Any]]]] = {
    game.BidMade: lambda event: {"type": "bid", "bid": event.bid} | {name: True for name in ("dark", "no_talon") if getattr(event, name)},
    game.MisereInvited: lambda _: {"type": "invite"},
    game.InvitationAnswered: lambda event: {"type": "answer", "accept": event.accept},
    game.AuctionWon: lambda _: {"type": "take"},  # at the head of a commit only where it was won in the dark (3.3.19)
    SealedCardsDiscarded: lambda _: {"type": "discard", "cards": None},
    game.ContractDeclared: lambda event: {"type": "contract", "contract": event.contract} | _said(at=event.at),
    game.WhistCalled: lambda event: {"type": "whist", "call": event.call},
    game.PlayChosen: lambda event: {"type": "lay", "open": event.open},
    SealedHandSeen: lambda event: {"type": "look"} | ({} if event.hand == event.seat else {"hand": event.hand}),
    game.GaveUpWithoutThree: lambda _: {"type": "without_three"},
    game.Conceded: lambda _: {"type": "concede"},
    game.ClaimMade: lambda event: {"type": "claim", "tricks": event.tricks} | ({"line": event.line.split()} if event.line else {}),
    game.ClaimAnswered: lambda event: {"type": "answer", "accept": event.accept},
    game.ProposalAnswered: lambda event: {"type": "answer", "accept": event.accept},
    game.ProposalMade: lambda event: {"type": "propose", "what": event.what} | _said(tricks=list(event.tricks), trick=event.trick),
    # the seat that a choice names would stand under the mover's own name: only `replaying.write_move` tells it
    game.RemedyChosen: lambda event: {"type": "remedy"} | _said(choice=event.choice, card=event.card, suit=event.suit),
}


def _said(**fields: Any) -> dict[str, Any]:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value}


def moves_in(table: Table, events: Sequence[StoredTableEvent]) -> list[dict[str, Any]]:
    """The move that a commit came from, as a deal record has it, if it came from one: its first event, after a time-out, tells it."""
    acts = tuple(events[1:] if events and isinstance(events[0], game.TurnTimedOut) else events)
    if not acts:
        return []
    own = moves_of_events.move_behind(acts[0]) if table.adjudication is not None else None
    move = move_of(acts[0]) if own is None else write_move(RecordedMove(*own))
    return [] if move is None else [move]


def steps(lines: Iterable[Line]) -> list[Step]:
    """One step a commit."""
    found: list[Step] = []
    for line in lines:
        table, commit = line.table, line.commit
        moves = moves_in(table, line.events)
        found.append(
            Step(
                table.table_id,
                commit.revision,
                table.sequence,
                table.deal,
                commit.at,
                commit.actor,
                commit.command_id,
                commit.cause,
                table.hash,
                " ".join([str(event.__struct_config__.tag) for event in line.events]),
                _encode(moves).decode() if moves else NO_MOVES,
            )
        )
    return found


async def apply(connection: Connection, lines: Sequence[Line]) -> None:
    """Write a batch's commits."""
    await connection.execute(
        """
        INSERT INTO audit_trail (table_id, revision, sequence, deal, at, actor, command_id, cause, hash, events, moves)
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::int[], $5::bigint[], $6::text[], $7::text[], $8::text[],
                             $9::text[], $10::text[], $11::text[])
        """,
        *map(list, zip(*map(msgspec.structs.astuple, steps(lines)), strict=True)),
    )


async def read(connection: Connection, table_id: str, last_deal: int, *, after: int = 0, limit: int | None = None) -> list[Step]:
    """A table's commits of deals up to `last_deal` with a revision above `after`, in order, at most `limit`."""
    rows = await connection.fetch(
        """
        SELECT table_id, revision, sequence, deal, at, actor, command_id, cause, hash, events, moves FROM audit_trail
        WHERE table_id = $1 AND revision > $2 AND deal <= $3 ORDER BY revision LIMIT $4
        """,
        table_id,
        after,
        last_deal,
        limit,
    )
    return [Step(*row) for row in rows]


async def last(connection: Connection, table_id: str, last_deal: int) -> Step | None:
    """A table's newest commit of deals up to `last_deal`."""
    row = await connection.fetchrow(
        """
        SELECT table_id, revision, sequence, deal, at, actor, command_id, cause, hash, events, moves FROM audit_trail
        WHERE table_id = $1 AND deal <= $2 ORDER BY revision DESC LIMIT 1
        """,
        table_id,
        last_deal,
    )
    return None if row is None else Step(*row)


async def hashes(connection: Connection, table_id: str, last_revision: int) -> list[str]:
    """The hashes of a table's commits up to a revision, in order."""
    rows = await connection.fetch(
        "SELECT hash FROM audit_trail WHERE table_id = $1 AND revision <= $2 ORDER BY revision", table_id, last_revision
    )
    return [row["hash"] for row in rows]


async def moves_of(connection: Connection, table_id: str, deal: int, *, of_the_sheet: bool = True) -> list[dict[str, Any]]:
    """The moves of one deal in order, an unrevealed discard's cards null; with or without those about the sheet that players keep."""
    rows = await connection.fetch(
        "SELECT moves, events FROM audit_trail WHERE table_id = $1 AND deal = $2 AND moves <> $3 ORDER BY revision",
        table_id,
        deal,
        NO_MOVES,
    )
    done = [(move, row["events"].split()) for row in rows for move in msgspec.json.decode(row["moves"])]
    return [move for move, _ in done] if of_the_sheet else list(_of_the_deal(done))


def _of_the_deal(done: Iterable[tuple[dict[str, Any], list[str]]]) -> Iterator[dict[str, Any]]:
    """Of moves with the names of what they caused those that are not about the sheet of the deal before (4.2.7-4.2.10).

    A question about the sheet lets nothing happen before it is answered: until it is, every move is an answer to it.
    """
    asked = False
    for move, events in done:
        if asked:
            asked = "RemedyAsked" in events or (move.get("choice") == "accept" and _WRITTEN.isdisjoint(events))
        elif move["type"] == "entry" or (move["type"] == "call_attention" and move["rule"] in sheet_entries.NAMES):
            asked = "RemedyAsked" in events
        else:
            yield move


_WRITTEN: Final = frozenset({"EntryWritten", "EntryCorrected", "EntryFined"})


async def dealt_at(connection: Connection, table_id: str, deal: int) -> int | None:
    """The revision with which the cards of a deal were dealt."""
    found: int | None = await connection.fetchval(
        "SELECT min(revision) FROM audit_trail WHERE table_id = $1 AND deal = $2 AND events LIKE '%CardsDealt%'", table_id, deal
    )
    return found


async def all_dealt(connection: Connection, table_id: str) -> dict[int, int]:
    """By the number of a deal the revision with which its cards were dealt."""
    rows = await connection.fetch(
        "SELECT deal, min(revision) AS revision FROM audit_trail WHERE table_id = $1 AND events LIKE '%CardsDealt%' GROUP BY deal", table_id
    )
    return {row["deal"]: row["revision"] for row in rows}


async def with_bytes(log: EventLog, table: Table, found: Sequence[Step], revealed: frozenset[int]) -> list[dict[str, Any]]:
    """The steps as the API shows them, `commit` the exact JSON that is hashed, null while the commit's deal is not among `revealed`.

    Raises `Unavailable`, and `LookupError` when the log does not hold what the rows were written from.
    """
    if not found:
        return []
    there = await log.read(address.table(table.table_id), after=found[0].sequence - 1, until=found[-1].sequence)
    stored = {one.sequence: one.data for one in there}
    shown: list[dict[str, Any]] = []
    for step in found:
        data = stored.get(step.sequence)
        if data is None or hash_of(data) != step.hash:
            raise LookupError(f"the log does not hold revision {step.revision} of {table.table_id} as it was read")
        open_now = step.deal == 0 or step.deal in revealed or table.recorded  # no card was ever dealt there
        shown.append(
            {
                "revision": step.revision,
                "position": f"{table.stream}:{step.sequence}",
                "deal": step.deal,
                "at": step.at,
                "actor": step.actor,
                "hash": step.hash,
                "events": step.events.split(),
                "moves": msgspec.Raw(step.moves.encode()),
                "commit": msgspec.Raw(data) if open_now else None,
            }
        )
    return shown
