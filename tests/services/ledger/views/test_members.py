"""A pulka whose people come and go, in the books: sections, sheets, deal records, score files, statements, and the verification."""

from __future__ import annotations

import msgspec
import pytest

from services.ledger.audit.verify import verify_table
from shared.rules.language.moves import Answer, Join, Leave, Propose, Ready, Settle
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.score_files.deal_record import replay_document
from shared.rules.score_files.score_file import score_document
from tests.services.ledger.audit.test_verify import codes, copied, with_event
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers

YES = Answer(accept=True)


async def does(played, seat, move):
    """A request of the player at `seat`, committed under his name."""
    events = match.decide(played.pulka, seat, move)
    assert not isinstance(events, Refused), events
    await played.commit(played.pulka.seats[seat], events)


async def joins(played, player, seat=None):
    """Somebody asks for a seat, and all who are asked consent."""
    events = match.decide_join(played.pulka, player, Join(seat))
    assert not isinstance(events, Refused), events
    await played.commit(player, events)
    while played.pulka.members.motion is not None:
        await does(played, played.pulka.members.motion.waiting[0], YES)


async def until_auction(played):
    while match.phase(played.pulka) != "auction":
        await played.step()


async def with_newcomer(log, seed=51, **options):
    """Two deals of three, in whose second somebody asks to join; then two of four, and what follows."""
    played = await PlayedTable(log, seed, target=12, **options).play(deals=1)
    await until_auction(played)
    await joins(played, "eve")
    return await played.play(deals=2)


async def verified(played, log, projector, connection):
    assert await projector.at_least.wait(played.commits[-1].position)
    verdict = await verify_table(log, played.address, connection)
    assert verdict["problems"] == []


async def test_3_1_2_each_section_has_sheet_score_file_and_records_of_its_own(site, projector, log, connection):
    """Both score files come to the sheets of their sections, the second from the newcomer's start; every record replays to its score."""
    played = await with_newcomer(log)
    assert played.pulka.players == 4
    empty = await site.read(played, "/sheet")
    assert (empty["section"], empty["deals"], empty["sheet"]) == (2, [], played.pulka.sheet.document())
    await played.play(deals=4)
    sheet = await site.read(played, "/sheet")
    assert sheet["sheet"] == played.pulka.sheet.document()
    assert sheet["sections"] == [{"section": 1, "first_deal": 1, "players": 3}, {"section": 2, "first_deal": 3, "players": 4}]
    former = await site.read(played, "/sheet", section=1)
    assert (former["section"], len(former["deals"]), len(former["sheet"]["pool"])) == (1, 2, 3)
    for number, shown in ((1, former), (2, sheet)):
        again = score_document(msgspec.json.encode(await site.read(played, "/score-file", section=number)))
        assert {name: again[name] for name in ("deals", "sheet", "settlement")} == {
            name: shown[name] for name in ("deals", "sheet", "settlement")
        }
        for deal, written in enumerate(shown["deals"], 1 if number == 1 else 3):
            record = await site.read(played, f"/deals/{deal}")
            assert record["players"] == number + 2
            assert replay_document(msgspec.json.encode(record))["score"] == written
    assert [deal["number"] for deal in (await site.read(played, "/deals"))["deals"]] == [1, 2, 3, 4]
    for wrong in (0, 3):
        answer = await site.get(f"/tables/{played.id}/sheet", section=wrong)
        assert (answer.status_code, answer.json()["path"]) == (400, "section")
    await verified(played, log, projector, connection)


async def test_3_1_2_statement_and_deals_follow_the_people(site, projector, log, connection):
    """Everybody's line is that of his last seat, his deals those that he played from the seat that he had then; the lines sum to zero."""
    played = await with_newcomer(log, 52)
    await played.play()
    assert played.pulka.status == "over"
    settlement = (await site.read(played, "/sheet"))["settlement"]
    lines = [(await site.get(f"/players/{player}/statement")).json()["pulkas"] for player in played.pulka.seats]
    assert [one[0]["net"] for one in lines] == settlement["net"]
    assert sum(one[0]["rounded"] for one in lines) == 0
    deals = {player: (await site.get(f"/players/{player}/deals", limit=200)).json()["deals"] for player in (*played.seats, "eve")}
    assert min(deal["number"] for deal in deals["eve"]) == 3
    for seat, player in enumerate(played.seats):
        assert [deal["seat"] for deal in deals[player] if deal["number"] <= 2] == [seat, seat]
        assert {deal["seat"] for deal in deals[player] if deal["number"] > 2} == {played.pulka.seats.index(player)}
    await verified(played, log, projector, connection)


async def test_5_4_7_the_sheet_stays_with_the_seat(site, projector, log, connection):
    """The substitute has the seat's whole result, who was replaced none; each has the deals that he finished."""
    played = await PlayedTable(log, 53, target=4).play(deals=1)
    await until_auction(played)
    await joins(played, "eve", 1)
    assert played.pulka.seats[1] == "eve"
    await played.play()
    settlement = (await site.read(played, "/sheet"))["settlement"]
    (line,) = (await site.get("/players/eve/statement")).json()["pulkas"]
    assert (line["seat"], line["net"]) == (1, settlement["net"][1])
    assert (await site.get(f"/players/{played.seats[1]}/statement")).json()["pulkas"] == []
    assert [deal["number"] for deal in (await site.get(f"/players/{played.seats[1]}/deals")).json()["deals"]] == [1]
    assert 1 not in [deal["number"] for deal in (await site.get("/players/eve/deals", limit=200)).json()["deals"]]
    await verified(played, log, projector, connection)


async def test_5_4_18_adjourned_left_and_settled_is_verified(site, projector, log, connection):
    """An adjournment and its end, somebody who leaves, the settlement that another demands: all by the rules, closed in the books."""
    played = await PlayedTable(log, 54, target=30).play(commits=6)
    await does(played, 0, Propose("adjourn"))
    for seat in (1, 2):
        await does(played, seat, YES)
    await played.play(deals=1)
    for seat in range(3):
        await does(played, seat, Ready())
    await until_auction(played)
    await does(played, 2, Leave())
    await does(played, 0, Settle())
    await played.play(deals=2)
    assert played.pulka.status == "over"
    sheet = await site.read(played, "/sheet")
    assert (sheet["closed"], sheet["settlement"]) == (True, played.pulka.settlement)
    assert len((await site.get(f"/players/{played.seats[2]}/statement")).json()["pulkas"]) == 1
    await verified(played, log, projector, connection)


@pytest.mark.parametrize(
    ("event", "fields", "code"),
    [
        ("NewcomerSeated", {"seat": lambda seat: (seat + 1) % 4}, "not_by_the_rules"),
        ("NewcomerSeated", {"start": lambda start: start | {"pool": [9, 9, 9, 9]}}, "not_by_the_rules"),
        ("NewcomerSeated", {"rules_digest": lambda _: "0" * 64}, "not_by_the_rules"),
        ("ConsentAsked", {"player": lambda _: "mallory"}, "not_by_the_rules"),
        ("ConsentAsked", {"asked": lambda asked: asked[1:]}, "not_by_the_rules"),
        ("ConsentAnswered", {"accept": lambda _: False}, "not_by_the_rules"),
    ],
)
async def test_3_1_2_a_forged_newcomer_is_noticed_though_its_hashes_fit(log, event, fields, code):
    """Nobody gets another sheet, another seat, or in without everybody's consent."""
    played = await with_newcomer(log, 55)
    await played.play(deals=3)
    forgery = with_event(None, event, **fields)
    verdict = await verify_table(await copied(played, forgery, rechain=True), played.address)
    assert forgery.done
    assert code in {found for _, found in codes(verdict)}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE sections SET start = replace(start, '\"pool\":[', '\"pool\":[1')",
        "DELETE FROM sections",
        "UPDATE who_played SET seat = 3 - seat WHERE deal = 3",
        "DELETE FROM who_played WHERE deal = 1",
        "UPDATE accounts SET seat = 3 - seat",
    ],
)
async def test_3_1_2_tampered_rows_of_members_are_noticed(log, projector, connection, statement):
    """Who sat where, and with which sheet, is held against the log too."""
    played = await with_newcomer(log, 56)
    await played.play(deals=3)
    await verified(played, log, projector, connection)
    await connection.execute(statement)
    assert "rows_differ" in {code for _, code in codes(await verify_table(log, played.address, connection))}
