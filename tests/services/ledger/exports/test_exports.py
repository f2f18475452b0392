"""Exports over HTTP: every row once, in each form; nothing that the reader may not see."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime
from fractions import Fraction

import pyarrow.parquet
import pytest

from services.ledger.exports.export_columns import COLUMNS
from shared.rules.pulka import decider as match
from shared.rules.score_files.deal_record import replay_document
from shared.rules.score_files.score_file import score_document
from shared.web.auth import OPERATE, PLAY, READ
from shared.web.paging import to_cursor
from tests.services.ledger.played import PlayedTable
from tests.services.ledger.views.test_adjudicated import TERMS, Misplayed

pytestmark = pytest.mark.servers

PRIVATE = {"terms": {"visibility": "private"}}
WHATS = ("entries", "deals", "score-files", "statement", "transactions", "postings")
NO_MARKS = (0,) * 8


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def rows(text):
    """The rows of an NDJSON export, which must have a beginning and an end."""
    found = lines(text)
    assert set(found[0]) == {"export"}
    data = [line for line in found[1:-1] if set(line) != {"cursor"}]
    assert found[-1] == {"end": {"rows": len(data)}}
    return data


def said(value):
    """A value as a cell of CSV."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


async def settled(site, *tables):
    """Pulkas played to their end, and read by the books."""
    for played in tables:
        await played.play()
        await site.read(played, "/sheet", played.seats[0])
    return tables


async def exported(site, what, player=None, scopes=(READ,), **parameters):
    headers = site.token(player, *scopes) if player else {}
    answer = await site.get(f"/export/{what}", headers=headers, **parameters)
    assert answer.status_code == 200, answer.text
    return answer


async def test_entries_are_those_of_the_sheets(site, log):
    """Each entry of each deal stands in the export once, in order, with the player who had the seat; their sums are the sheets."""
    tables = await settled(site, PlayedTable(log, 3), PlayedTable(log, 4, players=4, convention="leningrad"))
    found = rows((await exported(site, "entries")).text)
    for played in tables:
        own = [row for row in found if row["table_id"] == played.id]
        deals = (await site.read(played, "/sheet"))["deals"]
        told = [(row["deal"], row["entry"], row["seat"], row["column"], row["on"], row["amount"], row["rule"], row["why"]) for row in own]
        assert told == [
            (number, place, entry["seat"], entry["column"], entry.get("on"), entry["amount"], entry["rule"], entry["why"])
            for number, deal in enumerate(deals, 1)
            for place, entry in enumerate(deal["entries"], 1)
        ]
        assert all(row["player"] == played.seats[row["seat"]] for row in own)
        for seat, points in enumerate(played.pulka.sheet.pool):
            assert sum(Fraction(row["amount"]) for row in own if (row["seat"], row["column"]) == (seat, "pool")) == points
    assert {row["table_id"] for row in found} == {played.id for played in tables}


async def test_deal_records_and_score_files_are_good_for_the_rules(site, log):
    """Every exported record replays, every score file scores to the sheet that the ledger shows."""
    (played,) = await settled(site, PlayedTable(log, 5))
    sheet = await site.read(played, "/sheet")
    records = rows((await exported(site, "deals")).text)
    assert [record["number"] for record in records] == list(range(1, len(sheet["deals"]) + 1))
    for record, written in zip(records, sheet["deals"], strict=True):
        assert replay_document(json.dumps(record["record"]))["score"] == written
    (file,) = rows((await exported(site, "score-files")).text)
    assert (file["table_id"], file["section"], file["status"]) == (played.id, 1, "over")
    assert score_document(json.dumps(file["score_file"]))["sheet"] == sheet["sheet"]


async def test_the_statement_sums_to_zero(site, log):
    """One line a player and pulka, as `/statement` tells them."""
    tables = await settled(site, PlayedTable(log, 6), PlayedTable(log, 7, players=4))
    found = rows((await exported(site, "statement")).text)
    assert len(found) == 7
    for played in tables:
        assert sum(row["rounded"] for row in found if row["table_id"] == played.id) == 0
        assert sum(Fraction(row["net"]) for row in found if row["table_id"] == played.id) == 0
    one = (await site.get(f"/players/{tables[0].seats[1]}/statement")).json()["pulkas"][0]
    (same,) = rows((await site.get(f"/export/statement?player={tables[0].seats[1]}")).text)
    told = {name: value for name, value in same.items() if name in one and name != "annulled"}
    assert told == {name: one[name] for name in told}
    assert (same["player"], same["annulled"], one["annulled"]) == (tables[0].seats[1], False, None)


async def test_csv_and_parquet_say_the_same_as_ndjson(site, log):
    """CSV has a header and lines that end in CR LF; Parquet has exact numbers as text and as numerator and denominator."""
    await settled(site, PlayedTable(log, 8, convention={"preset": "sochi", "help": "largest"}))
    for what in ("entries", "statement", "transactions", "postings"):
        found = rows((await exported(site, what)).text)
        assert found
        text = (await exported(site, what, format="csv")).content.decode()
        assert text.count("\r\n") == len(found) + 1
        read = list(csv.DictReader(io.StringIO(text, newline="")))
        assert [{name: row[name] for name in found[0]} for row in read] == [
            {name: said(value) for name, value in row.items()} for row in found
        ]
        for row, cells in zip(found, read, strict=True):
            for name in (name for name, kind in COLUMNS[what].items() if kind == "exact"):
                parts = [cells[f"{name}_{part}"] for part in ("numerator", "denominator")]
                assert parts == ["", ""] if row[name] is None else Fraction(*map(int, parts)) == Fraction(row[name])
        table = pyarrow.parquet.read_table(io.BytesIO((await exported(site, what, format="parquet")).content))
        assert table.schema.metadata[b"pulka.export"] == what.encode()
        for row, packed in zip(found, table.to_pylist(), strict=True):
            for name, kind in COLUMNS[what].items():
                if kind == "time":
                    assert packed[name] == datetime.fromtimestamp(row[name] / 1000, UTC)
                elif kind == "day":
                    assert packed[name] == date.fromisoformat(row[name])
                elif kind == "exact" and row[name] is not None:
                    assert packed[name] == str(row[name])
                    assert Fraction(packed[f"{name}_numerator"], packed[f"{name}_denominator"]) == Fraction(row[name])
                else:
                    assert packed[name] == row[name]


@pytest.mark.parametrize("what", WHATS)
async def test_pages_come_to_the_same_rows(site, log, what):
    """With `limit` the next place stands in the header, until there is none; the pages of a CSV put together are the whole file."""
    await settled(site, PlayedTable(log, 15), PlayedTable(log, 16))
    form = "csv" if what in COLUMNS else "ndjson"
    whole = (await exported(site, what, format=form)).content
    pages, cursor = [], {}
    while True:
        answer = await exported(site, what, format=form, limit=3, **cursor)
        pages.append(answer.content)
        if "pulka-cursor" not in answer.headers:
            break
        cursor = {"cursor": answer.headers["pulka-cursor"]}
    assert len(pages) > 1
    if form == "csv":
        assert b"".join(pages) == whole
    else:
        told = [line for page in pages for line in lines(page.decode()) if not {"export", "cursor", "end"} & set(line)]
        assert told == rows(whole.decode())


@pytest.mark.parametrize("form", ["ndjson", "csv"])
@pytest.mark.parametrize("size", [1, 2, 4])
async def test_a_result_is_told_as_it_stood_when_the_export_began(site, log, form, size):
    """Page by page, with corrections and an annulment between any two lines, it tells what it told whole before them, and sums to zero."""
    plain, staked, corrected = PlayedTable(log, 51), PlayedTable(log, 52, terms={"stake": "1/3"}), PlayedTable(log, 53)
    await settled(site, plain, staked, corrected)
    await corrected.correct("5/3", "-4/3", "-1/3")
    await site.read(corrected, "/statement")
    whole = await exported(site, "statement", format=form)
    changes = [
        lambda: plain.correct(100, -50, -50),
        lambda: staked.correct("-7/2", "7/2", 0),
        corrected.annul,
        plain.annul,
        lambda: staked.correct(1, 1, -2),
    ]
    pages, cursor = [], {}
    while True:
        page = await exported(site, "statement", format=form, limit=size, **cursor)
        pages.append(page.content)
        if "pulka-cursor" not in page.headers:
            break
        cursor = {"cursor": page.headers["pulka-cursor"]}
        if changes:
            await changes.pop(0)()
            for played in (plain, staked, corrected):
                await site.read(played, "/statement")
    if form == "csv":
        assert b"".join(pages) == whole.content
        found = list(csv.DictReader(io.StringIO(b"".join(pages).decode(), newline="")))
    else:
        found = [line for page in pages for line in lines(page.decode()) if not {"export", "cursor", "end"} & set(line)]
        assert found == rows(whole.text)
    for played in (plain, staked, corrected):
        own = [row for row in found if row["table_id"] == played.id]
        assert len(own) == 3
        for column in ("net", "rounded", "payment"):
            assert sum(Fraction(row[column] or 0) for row in own) == 0
    assert (await exported(site, "statement", format=form)).content != whole.content


async def test_one_player_s_results_are_as_they_stood_too(site, log):
    """His lines alone come to the bytes of before: whole whists are rounded among all seats, of which he has one."""
    played = PlayedTable(log, 54, terms={"stake": 2})
    await settled(site, played)
    await played.correct("1/3", "1/3", "-2/3")
    await site.read(played, "/statement")
    before = [await exported(site, f"statement?player={player}") for player in played.seats]
    start = [lines(answer.text)[0]["export"]["cursor"] for answer in before]
    await played.correct("1/2", "-1/4", "-1/4")
    await played.annul()
    await site.read(played, "/statement")
    for player, answer, cursor in zip(played.seats, before, start, strict=True):
        head = answer.content[: answer.content.index(b"\n") + 1]
        assert head + (await exported(site, f"statement?player={player}&cursor={cursor}")).content == answer.content


@pytest.mark.parametrize("what", WHATS[:4])  # the double entry begins when a pulka is over: see test_exported_money
async def test_what_is_played_on_changes_nothing_below_the_mark(site, log, what):
    """An export has the same bytes when the pulka is over and annulled, wherever in it the export was begun; the players keep the sheet.

    Begun at every seventh commit, and between deals.
    """
    terms = TERMS | {"entries": "by_hand"}
    played = Misplayed(log, 55, players=3, target=2, terms=terms)
    headers = site.token("boss", OPERATE)
    begun = {}
    while await played.step() is not None:
        if not played.pulka.number or (len(played.commits) % 7 and match.phase(played.pulka) != "between_deals"):
            continue
        await site.read(played, "/audit", played.seats[0])
        whole = (await site.get(f"/export/{what}", headers=headers)).content
        begun[json.loads(whole[: whole.index(b"\n")])["export"]["cursor"]] = whole
    await played.annul()
    await site.read(played, "/audit", played.seats[0])
    assert len(begun) > 5
    for cursor, whole in begun.items():
        again = (await site.get(f"/export/{what}", headers=headers, cursor=cursor)).content
        assert whole[: whole.index(b"\n") + 1] + again == whole
    final = (await site.get(f"/export/{what}", headers=headers)).content
    assert final not in begun.values()


async def test_a_reader_gets_what_he_may_see(site, log):
    """Strangers get public pulkas that are over; a player his own besides, also in play; an operator all; each `player` only his."""
    open_one, hidden = PlayedTable(log, 17), PlayedTable(log, 18, **PRIVATE)
    going = PlayedTable(log, 19, target=40)
    await settled(site, open_one, hidden)
    await going.play(deals=2)
    await site.read(going, "/sheet")

    async def seen(player=None, scopes=(READ,), **parameters):
        return {row["table_id"] for row in rows((await exported(site, "entries", player, scopes, **parameters)).text)}

    assert await seen() == {open_one.id}
    assert await seen("somebody") == {open_one.id}
    assert await seen(hidden.seats[0], (PLAY,)) == {open_one.id}  # F34: no less than without a token
    assert await seen(hidden.seats[0]) == {open_one.id, hidden.id}
    assert await seen(going.seats[1]) == {open_one.id, going.id}
    assert await seen("boss", (OPERATE,)) == {open_one.id, hidden.id, going.id}
    headers = site.token("boss", OPERATE)
    for what in WHATS:
        own = rows((await site.get(f"/export/{what}?player={hidden.seats[0]}", headers=headers)).text)
        assert own
        assert {row["table_id"] for row in own} == {hidden.id}
    assert rows((await site.get(f"/export/deals?player={hidden.seats[0]}")).text) == []


async def test_no_unrevealed_card_leaves(site, log):
    """Of a deal in progress an operator too gets nothing: neither record nor entry."""
    going = await PlayedTable(log, 20, target=40).play(deals=1)
    await going.play(commits=len(going.commits) + 5)
    await site.read(going, "/sheet")
    headers = site.token("boss", OPERATE)
    for what in ("deals", "entries"):
        found = rows((await site.get(f"/export/{what}", headers=headers)).text)
        assert {row.get("number", row.get("deal")) for row in found} == {1}


@pytest.mark.parametrize(
    ("path", "parameters", "at"),
    [
        ("entries", {"format": "xml"}, "format"),
        ("deals", {"format": "csv"}, "format"),
        ("score-files", {"format": "parquet"}, "format"),
        ("entries", {"cursor": "x"}, "cursor"),
        ("entries", {"cursor": to_cursor([[1, 2], 0, 0, 0, 0])}, "cursor"),
        ("entries", {"cursor": to_cursor([[0] * 8, 0, 9, 0, 0])}, "cursor"),
        ("entries", {"cursor": to_cursor([[1 << 70] * 8, 0, 0, 0, 0])}, "cursor"),
        ("entries", {"limit": "0"}, "limit"),
        ("entries", {"limit": "1001"}, "limit"),
        ("entries?player=a%00b", {}, "player"),
        ("entries", {"at_least": "LOBBY_0:1"}, "at_least"),
        ("entries", {"from": "1"}, "from"),
    ],
)
async def test_a_bad_request_is_named(site, path, parameters, at):
    """400 `malformed` with the parameter that is wrong."""
    answer = await site.get(f"/export/{path}", **parameters)
    assert (answer.status_code, answer.json()["code"], answer.json()["path"]) == (400, "malformed", at)


async def test_what_is_not_exported_is_not_there(site):
    """Another word than those that there are is no export."""
    assert (await site.get("/export/secrets")).json()["path"] == "what"
