"""Whists as double entry: each posting takes from one account exactly what it gives to another, so that none come out of nothing.

A *transaction* is what one commit of a table did to its result: the settlement (4.2.14), a correction, an annulment, the latter two with
author and reason. Its *postings* are rows that name both accounts and one amount; a row that would not balance cannot be written, so every
set of rows sums to zero. They are never changed and never removed, which the database sees to.

An account is a player's id; nothing else has one in this version. Who pays whom when several win and lose is ours [conv]: the lowest seat
first. Amounts are exact: a fraction in lowest terms, of which no column of a database can hold all digits, is two whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Final, Literal

import msgspec

from shared.projections.core.projection import Connection
from shared.rules.language.amount import Amount, exact

Unit = Literal["whists", "money"]  # money: whists at the agreed stake (4.2.13), in whatever unit the club reckons in
Kind = Literal["settlement", "correction", "annulment"]

DDL: Final = """
CREATE TABLE IF NOT EXISTS transactions (
    table_id text NOT NULL,
    revision bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('settlement', 'correction', 'annulment')),
    at bigint NOT NULL,
    author text,
    reason text,
    PRIMARY KEY (table_id, revision),
    CONSTRAINT somebody_answers_for_it CHECK (
        CASE WHEN kind = 'settlement' THEN author IS NULL AND reason IS NULL ELSE author IS NOT NULL AND reason IS NOT NULL END
    )
);
CREATE UNIQUE INDEX IF NOT EXISTS transactions_that_come_once ON transactions (table_id, kind) WHERE kind <> 'correction';
CREATE TABLE IF NOT EXISTS postings (
    table_id text NOT NULL,
    revision bigint NOT NULL,
    unit text NOT NULL CHECK (unit IN ('whists', 'money')),
    place int NOT NULL CHECK (place > 0),
    payer text NOT NULL,
    payee text NOT NULL,
    numerator numeric NOT NULL,
    denominator numeric NOT NULL,
    PRIMARY KEY (table_id, revision, unit, place),
    FOREIGN KEY (table_id, revision) REFERENCES transactions,
    CONSTRAINT between_two_accounts CHECK (payer <> payee),
    CONSTRAINT an_amount_is_taken_and_given CHECK (numerator > 0 AND denominator > 0),
    CONSTRAINT an_amount_is_exact CHECK (
        numerator = trunc(numerator) AND denominator = trunc(denominator) AND gcd(numerator, denominator) = 1
    )
);
CREATE INDEX IF NOT EXISTS postings_by_payer ON postings (payer);
CREATE INDEX IF NOT EXISTS postings_by_payee ON postings (payee);
DO $once$ BEGIN  -- asked first, since making these anew would lock the tables of running ledgers
    IF to_regclass('entries') IS NULL THEN
        CREATE VIEW entries AS
            SELECT table_id, revision, unit, place, payer AS account, payee AS counter, -numerator AS numerator, denominator FROM postings
            UNION ALL
            SELECT table_id, revision, unit, place, payee, payer, numerator, denominator FROM postings;
        CREATE FUNCTION refuse_a_change() RETURNS trigger LANGUAGE plpgsql AS $refusal$ BEGIN
            RAISE EXCEPTION 'what is posted stays posted; a further transaction corrects it' USING ERRCODE = 'restrict_violation';
        END $refusal$;
        CREATE TRIGGER posted_for_good BEFORE UPDATE OR DELETE OR TRUNCATE ON postings
            FOR EACH STATEMENT EXECUTE FUNCTION refuse_a_change();
        CREATE TRIGGER posted_for_good BEFORE UPDATE OR DELETE OR TRUNCATE ON transactions
            FOR EACH STATEMENT EXECUTE FUNCTION refuse_a_change();
    END IF;
END $once$;
"""


class Posting(msgspec.Struct, frozen=True):
    """`payer` gives `payee` an amount of `unit`: `numerator` / `denominator`, in lowest terms and more than nothing."""

    unit: Unit
    payer: str
    payee: str
    numerator: int
    denominator: int

    @property
    def amount(self) -> Amount:
        """How much."""
        return exact(Fraction(self.numerator, self.denominator))


class Transaction(msgspec.Struct, frozen=True):
    """What the commit `revision` of a table did to its result; `at` milliseconds since 1970; nobody is the author of a settlement."""

    table_id: str
    revision: int
    kind: Kind
    at: int
    author: str | None
    reason: str | None
    postings: tuple[Posting, ...]

    @property
    def id(self) -> str:
        """Its name: table and revision."""
        return f"{self.table_id}:{self.revision}"

    def won(self, account: str, unit: Unit = "whists") -> Amount:
        """What an account has gained by it, less than nothing if it has lost."""
        gained = sum((one.amount for one in self.postings if (one.unit, one.payee) == (unit, account)), Fraction(0))
        lost = sum((one.amount for one in self.postings if (one.unit, one.payer) == (unit, account)), Fraction(0))
        return exact(gained - lost)


def postings(unit: Unit, accounts: Sequence[str], amounts: Sequence[Amount]) -> Iterator[Posting]:
    """Who pays whom so that each of `accounts` gains its part of `amounts`: of those who pay, and of those who get, the first ones first.

    Raises `ValueError` unless the amounts sum to zero: such a result is not posted.
    """
    if sum(amounts) != 0:
        raise ValueError(f"{unit} that sum to {sum(amounts)}")
    owing = [(account, -amount) for account, amount in zip(accounts, amounts, strict=True) if amount < 0]
    due = [(account, amount) for account, amount in zip(accounts, amounts, strict=True) if amount > 0]
    while owing and due:
        (payer, debt), (payee, claim) = owing[0], due[0]
        paid = exact(min(debt, claim))
        yield Posting(unit, payer, payee, paid.numerator, paid.denominator)
        owing[:1] = [(payer, debt - paid)] if debt > paid else []
        due[:1] = [(payee, claim - paid)] if claim > paid else []


async def write(connection: Connection, made: Sequence[Transaction]) -> None:
    """Post what a batch did. Raises `asyncpg.IntegrityConstraintViolationError` for what the database does not take."""
    if not made:
        return
    heads = [(one.table_id, one.revision, one.kind, one.at, one.author, one.reason) for one in made]
    await connection.execute(
        """
        INSERT INTO transactions (table_id, revision, kind, at, author, reason)
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[])
        """,
        *map(list, zip(*heads, strict=True)),
    )
    if rows := list(_rows(made)):
        await connection.execute(
            """
            INSERT INTO postings (table_id, revision, unit, place, payer, payee, numerator, denominator)
            SELECT table_id, revision, unit, place, payer, payee, numerator::numeric, denominator::numeric
            FROM unnest($1::text[], $2::bigint[], $3::text[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[])
                 AS row (table_id, revision, unit, place, payer, payee, numerator, denominator)
            """,
            *map(list, zip(*rows, strict=True)),
        )


def _rows(made: Iterable[Transaction]) -> Iterator[tuple[object, ...]]:
    """The columns of every posting; its numbers as text, since a column of any length is no number of the driver's."""
    for one in made:
        for unit in ("whists", "money"):
            for place, posting in enumerate((posting for posting in one.postings if posting.unit == unit), 1):
                yield (
                    *(one.table_id, one.revision, unit, place),
                    *(posting.payer, posting.payee, str(posting.numerator), str(posting.denominator)),
                )


async def stands_corrected(connection: Connection, table_id: str) -> bool:
    """Whether a table's result was corrected or annulled; of nearly every pulka that is all there is to know."""
    found: bool = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM transactions WHERE table_id = $1 AND kind <> 'settlement')", table_id
    )
    return found


async def read(connection: Connection, table_ids: Sequence[str], *, after: int = 0, limit: int | None = None) -> list[Transaction]:
    """The transactions of these tables with a revision above `after`, in order, at most `limit`."""
    heads = await connection.fetch(
        """
        SELECT table_id, revision, kind, at, author, reason FROM transactions
        WHERE table_id = ANY($1) AND revision > $2 ORDER BY table_id, revision LIMIT $3
        """,
        table_ids,
        after,
        limit,
    )
    if not heads:
        return []
    rows = await connection.fetch(
        """
        SELECT table_id, revision, unit, payer, payee, numerator::text AS numerator, denominator::text AS denominator FROM postings
        WHERE table_id = ANY($1) AND revision > $2 AND revision <= $3 ORDER BY table_id, revision, unit DESC, place
        """,
        table_ids,
        after,
        max(head["revision"] for head in heads),
    )
    posted: dict[tuple[str, int], list[Posting]] = {}
    for table_id, revision, unit, payer, payee, numerator, denominator in rows:
        posted.setdefault((table_id, revision), []).append(Posting(unit, payer, payee, int(numerator), int(denominator)))
    return [Transaction(*(*head, tuple(posted.get((head["table_id"], head["revision"]), ())))) for head in heads]


async def misplaced(connection: Connection, table_id: str) -> list[int]:
    """The revisions of a table whose postings of a unit do not have the places 1, 2, … that `write` gives them."""
    rows = await connection.fetch(
        "SELECT revision FROM postings WHERE table_id = $1 GROUP BY revision, unit HAVING max(place) <> count(*) ORDER BY revision",
        table_id,
    )
    return sorted({row["revision"] for row in rows})
