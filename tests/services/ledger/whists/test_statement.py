"""Double entry: settlements, corrections and annulments as postings that the database keeps balanced, and what players read of them."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.ledger.audit.verify import verify_table
from services.ledger.books import Books
from services.ledger.whists.postings import postings
from shared.projections.versions.rebuild import fingerprint, rebuild
from shared.rules.scoring.settlement import rounded
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.audit.test_verify import codes
from tests.services.ledger.played import PlayedTable
from tests.services.ledger.views.test_imported import recorded_table

pytestmark = pytest.mark.servers

STAKE = {"terms": {"stake": "1/10"}}


async def settled(log, seed, *, convention="sochi", players=3, **options):
    return await PlayedTable(log, seed, convention=convention, players=players, target=2, **options).play()


async def statement(site, player, reader=None, **query):
    answer = await site.get(f"/players/{player}/statement", reader, **query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def exact(texts):
    return [Fraction(text) for text in texts]


def gained(transaction, players, unit="whists"):
    """What each player gained by a transaction's postings."""
    sums = dict.fromkeys(players, Fraction(0))
    for posting in transaction["postings"]:
        if posting["unit"] == unit:
            sums[posting["from"]] -= Fraction(posting["amount"])
            sums[posting["to"]] += Fraction(posting["amount"])
    return list(sums.values())


# ---- what is posted ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("convention", "players"), [("sochi", 3), ("leningrad", 4), ("rostov", 5), ("sochi", 2)])
async def test_4_2_14_a_settlement_is_posted_exactly(site, log, convention, players):
    """One transaction: what its postings give and take is the net of the settlement to the last fraction; nobody is its author."""
    played = await settled(log, 71, convention=convention, players=players)
    shown = await site.read(played, "/statement")
    (one,) = shown["transactions"]
    assert (one["transaction"], one["kind"]) == (f"{played.id}:{len(played.commits)}", "settlement")
    assert (one["author"], one["reason"], one["revision"]) == (None, None, len(played.commits))
    net = played.pulka.settlement["net"]
    assert gained(one, played.seats) == exact(net)
    assert {posting["unit"] for posting in one["postings"]} == {"whists"}
    assert [(line["player"], line["net"]) for line in shown["results"]] == list(zip(played.seats, net, strict=True))


async def test_4_2_13_at_a_stake_money_is_posted_too(site, log):
    """By the rounded whists, as the settlement says; whists and money balance each for itself."""
    played = await settled(log, 72, **STAKE)
    (one,) = (await site.read(played, "/statement"))["transactions"]
    assert gained(one, played.seats) == exact(played.pulka.settlement["net"])
    assert gained(one, played.seats, "money") == [Fraction(shown, 10) for shown in played.pulka.settlement["rounded"]]


async def test_a_correction_is_a_further_transaction(site, log):
    """Of exactly the amounts that were decided, with author and reason; at a stake what is paid now and was not before."""
    played = await settled(log, 73, **STAKE)
    net, whole = exact(played.pulka.settlement["net"]), played.pulka.settlement["rounded"]
    await played.correct("184/3", "-91/3", -31, author="operator:desk", reason="a deal was entered twice")
    shown = await site.read(played, "/statement")
    first, second = shown["transactions"]
    assert (second["kind"], second["author"], second["reason"]) == ("correction", "operator:desk", "a deal was entered twice")
    assert gained(first, played.seats) == net
    assert gained(second, played.seats) == exact(["184/3", "-91/3", "-31"])
    now = [won + more for won, more in zip(net, exact(["184/3", "-91/3", "-31"]), strict=True)]
    assert [Fraction(line["net"]) for line in shown["results"]] == now
    assert [line["rounded"] for line in shown["results"]] == list(rounded(now))
    paid = [Fraction(after - before, 10) for before, after in zip(whole, rounded(now), strict=True)]
    assert gained(second, played.seats, "money") == paid
    assert [Fraction(line["payment"]) for line in shown["results"]] == [Fraction(one, 10) for one in rounded(now)]


@pytest.mark.parametrize("version", [1, 2])
async def test_decision_16_of_equals_the_seat_left_of_the_last_dealer(site, log, connection, version):
    """F10: a corrected result is rounded as the settlement is: whoever dealt last comes last, in version 1 seat 2; the audit agrees."""
    played = await settled(log, 75, convention={"preset": "sochi", "version": version})
    net, dealer = exact(played.pulka.settlement["net"]), played.pulka.last_dealer
    await played.correct(*(str(now - then) for now, then in zip((Fraction(1, 3), Fraction(1, 3), Fraction(-2, 3)), net, strict=True)))
    shown = await site.read(played, "/statement")
    first = 0 if version == 1 else (dealer + 1) % 3
    assert [line["rounded"] for line in shown["results"]] == [[1, 0, -1], [0, 1, -1], [0, 0, 0]][first]
    assert (await verify_table(log, played.address, connection))["problems"] == []


async def test_an_annulment_takes_everything_back(site, log):
    """Settlement and corrections are reversed by one transaction; what stands is nothing, and the sheet stays what was played."""
    played = await settled(log, 74, **STAKE)
    before = await site.read(played, "/sheet")
    assert not before.keys() & {"annulled", "corrections"}
    await played.correct(7, -3, -4)
    await played.annul(reason="two players were one")
    shown = await site.read(played, "/statement")
    for unit in ("whists", "money"):
        sums = [gained(one, played.seats, unit) for one in shown["transactions"]]
        assert [sum(parts) for parts in zip(*sums, strict=True)] == [0, 0, 0]
    assert {(line["net"], line["rounded"], line["payment"]) for line in shown["results"]} == {("0", 0, "0")}
    after = await site.read(played, "/sheet")
    last = len(played.commits)
    assert after["annulled"] == {
        "revision": last, "at": after["as_of"], "author": "operator:desk", "reason": "two players were one",
    }  # fmt: skip
    assert [(one["amounts"], one["revision"]) for one in after["corrections"]] == [(["7", "-3", "-4"], last - 1)]
    since = ("as_of", "position", "annulled", "corrections")
    assert {name: value for name, value in after.items() if name not in since} == {
        name: value for name, value in before.items() if name not in since
    }


@pytest.mark.parametrize("named", [True, False])
async def test_a_pulka_that_was_recorded_is_posted_like_any_other(site, log, connection, named):
    """Its settlement, a correction and an annulment; where nobody is known by name there is nobody to pay or to be paid."""
    table = await recorded_table(log, seats=named)
    net = exact(table.pulka.settlement["net"])
    await table.correct(5, -5, 0, 0)
    shown = await site.read(table, "/statement")
    settled, corrected = shown["transactions"]
    assert [settled["kind"], corrected["kind"]] == ["settlement", "correction"]
    assert gained(settled, table.seats) == (net if named else [])
    assert gained(corrected, table.seats) == ([5, -5, 0, 0] if named else [])
    await table.annul()
    assert {line["net"] for line in (await site.read(table, "/statement"))["results"]} == ({"0"} if named else set())
    assert (await verify_table(log, table.address, connection))["problems"] == []


async def test_nothing_is_posted_before_the_settlement(site, log):
    """A pulka that goes on has neither transactions nor results."""
    played = await PlayedTable(log, 75, target=40).play(deals=2)
    shown = await site.read(played, "/statement")
    assert (shown["transactions"], shown["results"], shown["cursor"]) == ([], [], None)


async def test_transactions_page_to_the_end(site, log):
    """Pages of a table's statement run through all of them in order, each once."""
    played = await settled(log, 76)
    for amount in range(1, 6):
        await played.correct(amount, -amount, 0)
    found, cursor = [], {}
    while True:
        page = await site.read(played, "/statement", limit=2, **cursor)
        found += [one["revision"] for one in page["transactions"]]
        if page["cursor"] is None:
            break
        cursor = {"cursor": page["cursor"]}
    assert found == list(range(len(played.commits) - 5, len(played.commits) + 1))


async def test_a_private_tables_statement_is_its_players(site, log):
    """What was won at a private table, others are not told (5.5)."""
    played = await settled(log, 77, terms={"visibility": "private"})
    assert (await site.read(played, "/statement", played.seats[1]))["results"]
    assert (await site.get(f"/tables/{played.id}/statement", "0-somebody")).json()["code"] == "not_seated"
    assert (await site.get(f"/tables/{played.id}/statement")).status_code == 401
    (line,) = (await statement(site, played.seats[0], played.seats[1]))["pulkas"]
    assert line["table_id"] == played.id
    strangers = await statement(site, played.seats[0], "0-somebody")
    assert (strangers["pulkas"], strangers["balance"]) == ([], {"whists": "0", "money": "0"})


# ---- what a player reads -----------------------------------------------------------------------------------------------


async def test_a_players_line_tells_how_it_came_about(site, log):
    """Result as it stands, as it was settled, each correction with author and reason, and every posting of his with whom it was."""
    played = await settled(log, 78, **STAKE)
    net = exact(played.pulka.settlement["net"])
    await played.correct("1/3", 0, "-1/3", reason="a fraction")
    await site.read(played, "/statement")
    for seat, player in enumerate(played.seats):
        (line,) = (await statement(site, player))["pulkas"]
        more = exact(["1/3", "0", "-1/3"])[seat]
        assert Fraction(line["settled"]["net"]) == net[seat]
        assert Fraction(line["net"]) == net[seat] + more
        (corrected,) = line["corrections"]
        assert (Fraction(corrected["amount"]), corrected["author"], corrected["reason"]) == (more, "operator:desk", "a fraction")
        assert line["annulled"] is None
        for unit, standing in (("whists", line["net"]), ("money", line["payment"])):
            posted = [posting for posting in line["postings"] if posting["unit"] == unit]
            assert sum(Fraction(posting["amount"]) for posting in posted) == Fraction(standing)
            assert player not in {posting["with"] for posting in posted}
        assert line["balance"] == {"whists": line["net"], "money": line["payment"]}


async def test_the_balance_runs_through_the_pages(site, log):
    """Each line's balance is the one before it and his result; pages join, the newest closing is the balance of all."""
    tables = [await settled(log, 100 + place, people=1, **(STAKE if place % 2 else {})) for place in range(7)]
    player = tables[0].seats[0]
    for place in (2, 5):
        await tables[place].correct("10/3", "-5/3", "-5/3")
    await tables[4].annul()
    await site.read(tables[4], "/sheet")
    pages, cursor = [], {}
    while True:
        page = await statement(site, player, limit=3, **cursor)
        pages.append(page)
        if page["cursor"] is None:
            break
        cursor = {"cursor": page["cursor"]}
    lines = [line for page in pages for line in page["pulkas"]]
    assert len(lines) == 7
    assert len({page["balance"]["whists"] for page in pages}) == 1
    assert pages[0]["closing"] == pages[0]["balance"]
    assert pages[-1]["opening"] == {"whists": "0", "money": "0"}
    for page, older in pairwise(pages):
        assert page["opening"] == older["closing"]
    whists = money = Fraction(0)
    for line in reversed(lines):
        whists, money = whists + Fraction(line["net"]), money + Fraction(line["payment"] or 0)
        assert (Fraction(line["balance"]["whists"]), Fraction(line["balance"]["money"])) == (whists, money)
    annulled = next(line for line in lines if line["annulled"])
    assert (annulled["table_id"], annulled["net"]) == (tables[4].id, "0")


async def test_nobody_knows_a_player_who_has_not_played(site):
    """An empty statement, no error: who exists is the lobby's to say, and it is nobody's business who sits at private tables."""
    assert await statement(site, "0-" + "z" * 26) == {
        "pulkas": [], "cursor": None, "as_of": 0,
        **{name: {"whists": "0", "money": "0"} for name in ("opening", "closing", "balance")},
    }  # fmt: skip


# ---- zero sum, rebuild, tampering --------------------------------------------------------------------------------------

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


POSTING = "INSERT INTO postings VALUES ('{table}', {revision}, 'whists', {place}, {payer}, {payee}, {numerator}, {denominator})"


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
