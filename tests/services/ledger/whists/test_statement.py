"""Double entry: settlements, corrections and annulments as postings that the database keeps balanced, and what players read of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from services.ledger.audit.verify import verify_table
from shared.rules.scoring.settlement import rounded
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
