"""What a player won and lost: one line a pulka, settled when it closes, corrected or annulled since (4.2.14, 4.2.16).

The result of a seat belongs to whoever sits there at the end. A substitute takes over the sheet with the seat; a replaced player has no
line [conv]. What they owe each other for their parts is between them. `accounts` holds what stands now, `postings` how it came
about, transaction by transaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Final

import msgspec

from services.ledger.views import score_sheet
from services.ledger.views.score_sheet import Score
from services.ledger.views.tables import Line
from services.ledger.whists import postings
from services.ledger.whists.postings import Kind, Posting, Transaction
from shared.events.catalogue import StoredTableEvent
from shared.projections.core.projection import Connection
from shared.rules.language.amount import Amount, exact, written
from shared.rules.language.correction_events import PulkaAnnulled, ResultCorrected
from shared.rules.language.game_events import PulkaClosed, PulkaOpened
from shared.rules.language.member_events import NewcomerSeated, SeatsDrawn, SubstituteSeated
from shared.rules.pulka.corrections import ANNULLED
from shared.rules.pulka.imported import PulkaRecorded
from shared.rules.scoring.settlement import first_of_equals, rounded

DDL: Final = (
    """
CREATE TABLE IF NOT EXISTS accounts (
    player text NOT NULL,
    table_id text NOT NULL,
    seat int NOT NULL,
    opened_at bigint NOT NULL,
    closed_at bigint,
    net text,
    rounded bigint,
    payment text,
    PRIMARY KEY (player, table_id)
);
CREATE INDEX IF NOT EXISTS accounts_by_table ON accounts (table_id);
"""
    + postings.DDL
)

_COLUMNS: Final = "player, table_id, seat, opened_at, closed_at, net, rounded, payment"


class Account(msgspec.Struct, frozen=True):
    """A player's part in one pulka: `net` whists as an exact number in text, `rounded` for show; None until the pulka is closed.

    `payment`: what they get at the agreed stake, an exact number as text; None without a stake (4.2.13). All of it as it stands now:
    settled, corrected since, or nothing because the pulka was annulled.
    """

    player: str
    table_id: str
    seat: int
    opened_at: int
    closed_at: int | None = None
    net: str | None = None
    rounded: int | None = None
    payment: str | None = None


Accounts = dict[tuple[str, str], Account]

Settled = PulkaClosed | PulkaRecorded
Booked = Settled | ResultCorrected | PulkaAnnulled  # whatever changes a result


def booked(known: Iterable[Account], lines: Iterable[Line], dealers: Mapping[str, int]) -> tuple[list[Account], list[Transaction]]:
    """The accounts of some tables after `lines`, by table and seat, and the transactions that these made; `known` are theirs before.

    `dealers`: by table, who dealt the last deal on its sheet; what was corrected after it is rounded anew (Decision 16).

    Raises `ValueError` for a result that does not sum to zero: it is not posted.
    """
    accounts: Accounts = {(account.table_id, account.player): account for account in known}
    made: list[Transaction] = []
    for line in lines:
        for event in line.events:
            _seat(accounts, line, event)
            if isinstance(event, Booked):
                transaction = _book(accounts, line, event, dealers.get(line.table.table_id))
                made += () if _unsettled(event) else (transaction,)
    return sorted(accounts.values(), key=lambda account: (account.table_id, account.seat)), made


def _seat(accounts: Accounts, line: Line, event: StoredTableEvent) -> None:
    """Whose account is whose after `event`."""
    table_id = line.table.table_id
    match event:
        case PulkaOpened(seats=seats) | PulkaRecorded(seats=seats):
            accounts |= {(table_id, player): Account(player, table_id, seat, line.commit.at) for seat, player in enumerate(seats)}
        case SeatsDrawn(seats=seats):
            for seat, player in enumerate(seats):
                accounts[table_id, player] = msgspec.structs.replace(accounts[table_id, player], seat=seat)
        case NewcomerSeated(player=player, seat=seat, moved=moved):
            for known_one in [one for one in accounts.values() if one.table_id == table_id]:
                accounts[table_id, known_one.player] = msgspec.structs.replace(known_one, seat=moved[known_one.seat])
            accounts[table_id, player] = Account(player, table_id, seat, line.commit.at)
        case SubstituteSeated(player=player, replaced=replaced, seat=seat):
            del accounts[table_id, replaced]
            accounts[table_id, player] = Account(player, table_id, seat, line.commit.at)
        case _:
            pass


class Result(msgspec.Struct, frozen=True):
    """What the seats of a table have won: exact whists, whole ones for show, payments if there is a stake. All of them sum to zero."""

    net: tuple[Amount, ...]
    rounded: tuple[int, ...]
    payments: tuple[Amount, ...] | None


def _book(accounts: Accounts, line: Line, event: Booked, dealer: int | None) -> Transaction:
    """Bring the accounts of the table to what they are by `event`, and tell what is posted for that: the difference."""
    players = line.table.seats
    if not players:  # recorded without names: nobody has won or lost
        return _transaction(line, event, ())
    parts = [accounts[line.table.table_id, player] for player in players]
    before = Result(*zip(*((_number(one.net), one.rounded or 0, _number(one.payment)) for one in parts), strict=True))
    after = _result(line, before, event, dealer)
    if sum(after.rounded) != 0:
        raise ValueError(f"the result of {line.table.table_id} sums to {sum(after.rounded)}")
    posted = list(postings.postings("whists", players, _differences(before.net, after.net)))
    if after.payments is not None:
        posted += postings.postings("money", players, _differences(before.payments or (), after.payments))
    for seat, part in enumerate(parts):
        accounts[part.table_id, part.player] = msgspec.structs.replace(
            part,
            closed_at=line.commit.at if isinstance(event, Settled) else part.closed_at,
            net=str(written(after.net[seat])),
            rounded=after.rounded[seat],
            payment=None if after.payments is None else str(written(after.payments[seat])),
        )
    return _transaction(line, event, tuple(posted))


def _transaction(line: Line, event: Booked, posted: tuple[Posting, ...]) -> Transaction:
    where, at = (line.table.table_id, line.commit.revision), line.commit.at
    if isinstance(event, Settled):
        return Transaction(*where, "settlement", at, None, None, posted)
    kind: Kind = "correction" if isinstance(event, ResultCorrected) else "annulment"
    return Transaction(*where, kind, at, event.author, event.reason, posted)


def _result(line: Line, before: Result, event: Booked, dealer: int | None) -> Result:
    """What the seats have won by `event`: as it was settled, with a correction added, or nothing."""
    if isinstance(event, Settled) and not _unsettled(event):
        settled = event.settlement
        paid = None if settled.get("payments") is None else tuple(map(_number, settled["payments"]))
        return Result(tuple(map(_number, settled["net"])), tuple(settled["rounded"]), paid)
    if isinstance(event, ResultCorrected):
        net = tuple(exact(won + _number(more)) for won, more in zip(before.net, event.amounts, strict=True))
    else:
        net = (0,) * len(before.net)
    whole, stake = rounded(net, first_of_equals(line.table.rules, len(net), dealer)), line.table.whist_stake
    return Result(net, whole, None if stake is None else tuple(exact(whists * stake) for whists in whole))


def _unsettled(event: Booked) -> bool:
    """Whether the pulka closed because it is annulled: then it was never settled, and there is nothing to take back."""
    return isinstance(event, PulkaClosed) and event.reason == ANNULLED


def _number(text: int | str | None) -> Amount:
    """A number as events and rows have it, however long; nothing is none."""
    return exact(Fraction(text or 0))


def _differences(before: Sequence[Amount], after: Sequence[Amount]) -> list[Amount]:
    return [exact(now - then) for then, now in zip(before, after, strict=True)]


#: Whatever opens, moves or changes an account.
CHANGES: Final = (PulkaOpened, SeatsDrawn, NewcomerSeated, SubstituteSeated, *Booked.__args__)


async def apply(connection: Connection, lines: Sequence[Line]) -> None:
    """Bring the accounts of a batch's tables up to it, and post what it settled; most batches change none."""
    changing = [line for line in lines if any(isinstance(event, CHANGES) for event in line.events)]
    if not changing:
        return
    ids = sorted({line.table.table_id for line in changing})
    known = await connection.fetch(f"SELECT {_COLUMNS} FROM accounts WHERE table_id = ANY($1)", ids)  # noqa: S608 - a constant of ours
    found, made = booked([Account(*row) for row in known], changing, await score_sheet.last_dealers(connection, ids))
    await connection.execute("DELETE FROM accounts WHERE table_id = ANY($1)", ids)
    if found:  # else recorded without names
        await connection.execute(
            f"""
            INSERT INTO accounts ({_COLUMNS})
            SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[], $8::text[])
            """,  # noqa: S608 - a constant of ours
            *map(list, zip(*map(msgspec.structs.astuple, found), strict=True)),
        )
    await postings.write(connection, made)


async def of_table(connection: Connection, table_id: str) -> list[Account]:
    """The accounts of one table, by seat."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM accounts WHERE table_id = $1 ORDER BY seat",  # noqa: S608 - a constant of ours
        table_id,
    )
    return [Account(*row) for row in rows]


# Whose tables a reader may know of: their own, and those open to all. `$2` is the reader, NULL without a token.
MAY_SEE: Final = "(t.open_to_all OR EXISTS (SELECT FROM accounts own WHERE own.table_id = t.table_id AND own.player = $2))"


#: A player's deals in the order of an index, newest first, from its end on or from a key on: no page costs more than its rows.
#: One condition or the other says where, since an alternative of both would hide the index from the planner;
#: and the reader's own tables are joined one by one, since a subquery is made a table of all of them first.
FROM_THE_NEWEST: Final = "true"
AFTER_A_KEY: Final = "(w.at, w.table_id, w.deal) < ($4::bigint, $5::text, $6::bigint)"
DEALS: Final = f"""
    SELECT w.seat, s.table_id, s.deal, s.revision, s.at, s.outcome, s.written, s.sheet
    FROM who_played w JOIN scores s USING (table_id, deal) JOIN tables t USING (table_id)
    LEFT JOIN accounts own ON own.player = $2 AND own.table_id = w.table_id
    WHERE w.player = $1 AND {FROM_THE_NEWEST}
      AND (own.table_id IS NOT NULL OR (t.open_to_all AND (t.status = 'over' OR s.deal + t.delay_deals <= t.deal)))
    ORDER BY w.at DESC, w.table_id DESC, w.deal DESC LIMIT $3
"""  # noqa: S608 - constants of ours


async def deals_of(
    connection: Connection, player: str, reader: str | None, before: tuple[int, str, int] | None, limit: int
) -> list[tuple[int, Score]]:
    """The scored deals of `player` that `reader` may know of, with the player's seat, newest first, those after the key `before`.

    A reader without a seat there sees them as late as the table's terms say.
    """
    query = DEALS if before is None else DEALS.replace(FROM_THE_NEWEST, AFTER_A_KEY)
    rows = await connection.fetch(query, player, reader, limit, *(before or ()))
    return [(row["seat"], Score(*list(row)[1:])) for row in rows]
