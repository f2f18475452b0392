"""F38: what rows say of their pulkas, the double entry in bulk, and names for who asks for them."""

from __future__ import annotations

import json
from fractions import Fraction

import httpx
import pytest

from services.ledger.exports.export_api import export_routes
from services.ledger.exports.export_columns import COLUMNS
from shared.web import application
from shared.web.auth import OPERATE
from shared.web.service import Service
from shared.web.settings import Settings
from tests.services.ledger.exports.test_exports import exported, rows, settled
from tests.services.ledger.played import PlayedTable
from tests.services.ledger.views.test_imported import recorded_table
from tests.token_keys import token_files

pytestmark = pytest.mark.servers

DAY = "2023-11-14"  # on which all of it is entered: `BEGAN` of the tests' clock


async def test_a_row_tells_what_its_pulka_was_and_whether_it_counts(site, log):
    """Stake, convention, annulled, the day of play and that of entry stand in entries and statement lines of every form."""
    staked = PlayedTable(log, 91, convention="leningrad", terms={"stake": "7/100"})
    gone = PlayedTable(log, 92)
    await settled(site, staked, gone)
    await gone.annul()
    await site.read(gone, "/statement")
    for what in ("entries", "statement"):
        found = rows((await exported(site, what)).text)
        assert all(set(row) == set(COLUMNS[what]) for row in found)
        told = {
            (row["table_id"], row["stake"], row["convention"], row["annulled"], row["played_on"], row["entered_on"], row["name"])
            for row in found
        }
        assert told == {
            (staked.id, "7/100", "leningrad", False, DAY, DAY, None),
            (gone.id, None, "sochi", True, DAY, DAY, None),
        }


async def test_an_annulment_after_the_mark_is_none_yet(site, log):
    """An export that was begun before says what stood then, to the byte."""
    played = PlayedTable(log, 93)
    await settled(site, played)
    whole = (await exported(site, "entries")).content
    first = whole[: whole.index(b"\n") + 1]
    await played.annul()
    await site.read(played, "/statement")
    again = (await exported(site, "entries", cursor=json.loads(first)["export"]["cursor"])).content
    assert first + again == whole
    assert b'"annulled":true' in (await exported(site, "entries")).content


async def test_the_day_of_play_of_an_import_is_the_one_that_was_told(site, log):
    """Beside the day of entry; where nobody told it there is none."""
    told, untold = await recorded_table(log, 3, played_on="1987-02-28"), await recorded_table(log, 4)
    for table in (told, untold):
        await site.read(table, "/sheet")
    found = {(row["table_id"], row["played_on"], row["recorded"]) for row in rows((await exported(site, "entries")).text)}
    assert found == {(told.id, "1987-02-28", True), (untold.id, None, True)}


async def test_the_double_entry_comes_whole(site, log):
    """Transactions, postings and corrections are those of the table's statement; postings add up to the lines, a player gets his own."""
    played = PlayedTable(log, 94, terms={"stake": 2})
    other = PlayedTable(log, 95)
    await settled(site, played, other)
    await played.correct(5, "-5/3", "-10/3", reason="entered twice")
    await played.correct(0, 1, -1)
    await other.annul()
    for table in (played, other):
        statement = await site.read(table, "/statement")
        made = statement["transactions"]
        heads = [row for row in rows((await exported(site, "transactions")).text) if row["table_id"] == table.id]
        told = ("transaction", "kind", "revision", "at", "author", "reason")
        assert [[row[name] for name in told] for row in heads] == [[one[name] for name in told] for one in made]
        posted = [row for row in rows((await exported(site, "postings")).text) if row["table_id"] == table.id]
        assert [(row["transaction"], row["unit"], row["from"], row["to"], row["amount"]) for row in posted] == [
            (one["transaction"], posting["unit"], posting["from"], posting["to"], posting["amount"])
            for one in made
            for posting in one["postings"]
        ]
        assert {row["entered_on"] for row in heads + posted} == {DAY}
        for result in statement["results"]:
            got, gave = (
                sum(Fraction(row["amount"]) for row in posted if row["unit"] == "whists" and row[side] == result["player"])
                for side in ("to", "from")
            )
            assert got - gave == Fraction(result["net"])
    corrected = rows((await exported(site, "corrections")).text)
    assert [(row["seat"], row["player"], row["amount"], row["reason"]) for row in corrected] == [
        *zip(range(3), played.seats, ("5", "-5/3", "-10/3"), ["entered twice"] * 3, strict=True),
        *zip(range(3), played.seats, ("0", "1", "-1"), [corrected[-1]["reason"]] * 3, strict=True),
    ]
    him = played.seats[1]
    for what, sides in (("postings", ("from", "to")), ("corrections", ("player",))):
        own = rows((await site.get(f"/export/{what}?player={him}")).text)
        assert own
        assert all(him in {row[side] for side in sides} for row in own)
    assert {row["table_id"] for row in rows((await site.get(f"/export/transactions?player={him}")).text)} == {played.id}


async def test_a_correction_after_the_mark_is_in_the_next_export(site, log):
    """Begun before it, an export of transactions goes on to the bytes of then, page by page too."""
    played = PlayedTable(log, 96)
    await settled(site, played)
    whole = (await exported(site, "transactions")).content
    first = whole[: whole.index(b"\n") + 1]
    await played.correct(1, -1, 0)
    await site.read(played, "/statement")
    cursor = json.loads(first)["export"]["cursor"]
    assert first + (await exported(site, "transactions", cursor=cursor)).content == whole
    page = await exported(site, "transactions", limit=1)
    rest = await exported(site, "transactions", limit=1, cursor=page.headers["pulka-cursor"])
    assert b"settlement" in page.content
    assert b"correction" in rest.content


async def test_a_stranger_sees_no_money_of_a_private_pulka(site, log):
    """Its players and operators do."""
    hidden = PlayedTable(log, 97, terms={"visibility": "private"})
    await settled(site, hidden)
    for what in ("transactions", "postings"):
        assert rows((await exported(site, what)).text) == []
        assert rows((await exported(site, what, "somebody")).text) == []
        assert rows((await exported(site, what, hidden.seats[0])).text)
        assert rows((await exported(site, what, "boss", (OPERATE,))).text)


async def test_names_come_for_who_asks_for_them(site, log, tmp_path):
    """Attached to the answer, at whatever place they stand; whose is not known has none, and without `names` nobody's is there."""
    played = PlayedTable(log, 98)
    await settled(site, played)
    await played.correct(1, -1, 0)
    await site.read(played, "/statement")
    known = {played.seats[0]: "Анна", played.seats[1]: "Boris"}

    async def names(players):
        return {player: known[player] for player in players if player in known}

    async def nothing():
        """Started and stopped by the fixtures."""

    async def health():
        return {"status": "ok"}

    service = Service(name="ledger", routes=export_routes(lambda: site.desk, names), start=nothing, stop=nothing, health=health)
    app = application.build([service], Settings(master_keys_file=str(tmp_path / "master_keys"), **token_files(tmp_path)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://ledger") as client:

        async def asked(what, **parameters):
            return (await client.get(f"/v1/ledger/export/{what}", params=parameters)).text

        for what, columns in (
            ("entries", ("player",)),
            ("statement", ("player",)),
            ("corrections", ("player",)),
            ("postings", ("from", "to")),
        ):
            found = rows(await asked(what, names="true"))
            assert found
            for row in found:
                for column in columns:
                    name = row["name" if column == "player" else f"{column}_name"]
                    assert name == known.get(row[column]), what
            assert "Boris" not in await asked(what)
        assert "Boris" in await asked("statement", names="true", format="csv", limit="1000")
        assert "Boris" not in await asked("transactions", names="true")
