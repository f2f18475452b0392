"""Zero sum: what is posted gives what it takes, the database holds it so, a rebuild makes it again, tampering is noticed."""

from __future__ import annotations

import random
from fractions import Fraction

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.ledger.audit.verify import verify_table
from services.ledger.books import Books
from services.ledger.whists.postings import postings
from shared.projections.versions.rebuild import fingerprint, rebuild
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.audit.test_verify import codes
from tests.services.ledger.whists.test_statement import STAKE, gained, settled

pytestmark = pytest.mark.servers

POSTING = "INSERT INTO postings VALUES ('{table}', {revision}, 'whists', {place}, {payer}, {payee}, {numerator}, {denominator})"


whists = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=840)


@given(st.lists(whists, min_size=1, max_size=4))
def test_4_2_14_whatever_is_posted_gives_what_it_takes(parts):
    """Postings bring every account exactly its part, each gives something from one to another, with fewer of them than accounts."""
    amounts = [*parts, -sum(parts, Fraction(0))]
    accounts = [f"player-{seat}" for seat in range(len(amounts))]
    posted = list(postings("whists", accounts, amounts))
    sums = dict.fromkeys(accounts, Fraction(0))
    for one in posted:
        assert one.payer != one.payee
        assert one.amount > 0
        sums[one.payer] -= one.amount
        sums[one.payee] += one.amount
    assert list(sums.values()) == amounts
    assert len(posted) < len(accounts)


@given(st.lists(whists, min_size=1, max_size=5).filter(lambda amounts: sum(amounts) != 0))
def test_4_2_14_whists_out_of_nothing_are_not_posted(amounts):
    """Amounts that do not sum to zero are refused whole."""
    with pytest.raises(ValueError, match="sum to"):
        list(postings("whists", [str(seat) for seat in range(len(amounts))], amounts))


async def test_large_corrections_are_booked(site, log):
    """As large as a document allows, back and again: what the table service accepts (together no more than that) the books can hold."""
    played = await settled(log, 79)
    before = [Fraction(line["net"]) for line in (await site.read(played, "/statement"))["results"]]
    for whists in (10**12, -(10**12), 10**12):
        await played.correct(whists, -whists, 0)
    shown = await site.read(played, "/statement")
    assert "parked" not in shown
    moved = [Fraction(line["net"]) - was for line, was in zip(shown["results"], before, strict=True)]
    assert moved == [10**12, -(10**12), 0]


async def test_random_corrections_balance_and_a_rebuild_gives_the_same_rows(site, projector, log, connection, postgres_dsn, schema):
    """Over many tables and corrections with fractions every unit of every transaction sums to zero, books are verified, bytes are equal."""
    draw, tables = random.Random(5), []
    for seed in range(80, 86):
        played = await settled(log, seed, players=draw.choice((3, 4)), **draw.choice(({}, STAKE)))
        for _ in range(draw.randrange(4)):
            parts = [Fraction(draw.randrange(-300, 300), draw.randrange(1, 13)) for _ in played.seats[1:]]
            amounts = [*map(str, parts), str(-sum(parts))]
            if any(Fraction(amount) for amount in amounts):
                await played.correct(*amounts)
        if draw.random() < 0.4:
            await played.annul()
        tables.append(played)
    for played in tables:
        shown = await site.read(played, "/statement", limit=200)
        for one in shown["transactions"]:
            assert [sum(gained(one, played.seats, unit)) for unit in ("whists", "money")] == [0, 0]
        assert sum(Fraction(line["net"]) for line in shown["results"]) == 0
        assert (await verify_table(log, played.address, connection))["problems"] == []
    assert await connection.fetchval("SELECT count(*) FROM postings") > 20
    again = f"{schema}_again"
    await projector.stop()
    await rebuild(log, Books(), TABLE_STREAMS[:1], postgres_dsn, again)
    try:
        assert await fingerprint(connection, again) == await fingerprint(connection, schema)
    finally:
        await connection.execute(f'DROP SCHEMA "{again}" CASCADE')


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"payee": "NULL"}, asyncpg.NotNullViolationError),  # nobody gets what somebody gives
        ({"payer": "NULL"}, asyncpg.NotNullViolationError),  # somebody gets what nobody gives
        ({"payee": "'ann'"}, asyncpg.CheckViolationError),  # to himself
        ({"numerator": "-5"}, asyncpg.CheckViolationError),
        ({"numerator": "0"}, asyncpg.CheckViolationError),
        ({"numerator": "1.5"}, asyncpg.CheckViolationError),
        ({"numerator": "'NaN'"}, asyncpg.CheckViolationError),
        ({"numerator": "'Infinity'"}, asyncpg.CheckViolationError),
        ({"numerator": "4", "denominator": "2"}, asyncpg.CheckViolationError),  # a second spelling of the same amount
        ({"denominator": "0"}, asyncpg.CheckViolationError),
        ({"revision": "100000"}, asyncpg.ForeignKeyViolationError),  # of no transaction
        ({"place": "1"}, asyncpg.UniqueViolationError),  # in the place of another
    ],
)
async def test_the_database_takes_no_posting_that_does_not_balance(site, log, connection, change, refusal):
    """By hand, with every right: a posting without one of its sides, of nothing or less, or apart from its transaction is refused."""
    played = await settled(log, 87)
    await site.read(played, "/sheet")
    values = {
        "table": played.id,
        "revision": len(played.commits),
        "place": 9,
        "payer": "'ann'",
        "payee": "'ben'",
        "numerator": 5,
        "denominator": 3,
    }
    with pytest.raises(refusal):
        await connection.execute(POSTING.format(**values | change))
    await connection.execute(POSTING.format(**values))  # what balances is taken: it is the change that was refused
    assert codes(await verify_table(log, played.address, connection)) == {(len(played.commits), "rows_differ")}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE postings SET numerator = numerator + 1 WHERE place = 1",
        "DELETE FROM postings WHERE place = 1",
        "TRUNCATE postings",
        "UPDATE transactions SET reason = 'another'",
        "DELETE FROM transactions",
        "TRUNCATE transactions CASCADE",
    ],
)
async def test_what_is_posted_stays_posted(site, log, connection, statement):
    """The database refuses to change or to remove postings and transactions."""
    played = await settled(log, 88)
    await played.correct(5, -5, 0)
    await site.read(played, "/sheet")
    with pytest.raises(asyncpg.RestrictViolationError, match="stays posted"):
        await connection.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO transactions VALUES ('{table}', 9001, 'correction', 0, NULL, 'why')",
        "INSERT INTO transactions VALUES ('{table}', 9001, 'correction', 0, 'operator:desk', NULL)",
        "INSERT INTO transactions VALUES ('{table}', 9001, 'settlement', 0, 'operator:desk', 'why')",
        "INSERT INTO transactions VALUES ('{table}', 9001, 'settlement', 0, NULL, NULL)",  # a second one
        "INSERT INTO transactions VALUES ('{table}', 9001, 'gift', 0, 'operator:desk', 'why')",
    ],
)
async def test_the_database_takes_no_correction_that_nobody_answers_for(site, log, connection, statement):
    """Without author or reason, or as a second settlement, a transaction is refused."""
    played = await settled(log, 89)
    await site.read(played, "/sheet")
    with pytest.raises(asyncpg.IntegrityConstraintViolationError):
        await connection.execute(statement.format(table=played.id))


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO transactions VALUES ('{table}', 9001, 'correction', 0, 'operator:desk', 'why')",
        "UPDATE accounts SET net = '1' WHERE seat = 0",
    ],
)
async def test_rows_that_no_commit_made_are_noticed(site, log, connection, statement):
    """The audit holds transactions and accounts against the log."""
    played = await settled(log, 90)
    await site.read(played, "/sheet")
    await connection.execute(statement.format(table=played.id))
    assert {code for _, code in codes(await verify_table(log, played.address, connection))} == {"rows_differ"}


async def test_postings_changed_past_the_trigger_are_noticed(site, log, connection):
    """Whoever may switch triggers off can change a posting; the audit tells which transaction it was of."""
    played = await settled(log, 91)
    await site.read(played, "/sheet")
    await connection.execute("ALTER TABLE postings DISABLE TRIGGER ALL")
    await connection.execute("UPDATE postings SET numerator = numerator + denominator WHERE place = 1")
    assert codes(await verify_table(log, played.address, connection)) == {(len(played.commits), "rows_differ")}
