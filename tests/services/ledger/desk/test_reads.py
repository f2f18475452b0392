"""What the ledger answers about a table: every number from its events, every record good for a replay, nothing hidden told."""

import asyncio
import hashlib
import json
import re

import pytest

from services.ledger.desk.readers import POOL
from shared.projections.versions.filling import somebody_reads
from shared.rules.pulka.decider import phase
from shared.rules.score_files.deal_record import replay_document
from shared.rules.score_files.score_file import score_document
from shared.web.auth import HOST, OPERATE, OPERATOR, PLAY
from shared.web.paging import to_cursor
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers

CLUB = {"preset": "classic", "shared_misere": True, "misere_no_talon": True, "silent_take": True}
TABLES = [("sochi", 3), ("sochi", 4), ("leningrad", 4), ("rostov", 3), ("sochi", 2), ("leningrad", 5), ("classic", 3), (CLUB, 4)]
HIDDEN = {"terms": {"visibility": "private"}}


def late(deals):
    return {"terms": {"spectators": {"allowed": True, "delay_deals": deals}}}


@pytest.mark.parametrize(("convention", "players"), TABLES)
async def test_the_sheet_is_that_of_the_pulka(site, log, convention, players):
    """`/sheet` shows the pulka's own sheet, deal by deal, as `pulka score` makes it of `/score-file`; its settlement sums to zero."""
    played = await PlayedTable(log, 11, players=players, convention=convention).play(deals=9)
    shown = await site.read(played, "/sheet")
    assert shown["sheet"] == played.pulka.sheet.document()
    assert len(shown["deals"]) == played.pulka.number
    assert (shown["as_of"], shown["position"]) == (1_700_000_000_000 + 1000 * len(played.commits), played.commits[-1].position)
    scored = score_document(json.dumps(await site.read(played, "/score-file")))
    assert scored == {name: value for name, value in shown.items() if name not in ("as_of", "position")}
    assert sum(shown["settlement"]["rounded"]) == 0


@pytest.mark.parametrize(("convention", "players"), TABLES)
async def test_every_deal_record_replays_to_its_score(site, log, convention, players):
    """`/deals/{n}` is a deal record that the rules bring, from the sheet it started from, to the same entries."""
    played = await PlayedTable(log, 7, players=players, convention=convention, target=20).play(deals=12)
    sheet = await site.read(played, "/sheet")
    kinds = set()
    for number, written in enumerate(sheet["deals"], start=1):
        record = await site.read(played, f"/deals/{number}")
        replayed = replay_document(json.dumps(record))
        assert replayed["score"] == written, number
        kinds.add(replayed["contract"])
    assert {"all_pass"} < kinds


async def test_an_empty_sheet(site, log):
    """A pulka whose first deal is not over yet has an empty sheet and a settlement of nothing."""
    played = await PlayedTable(log, 1).play(commits=3)
    shown = await site.read(played, "/sheet")
    assert shown["deals"] == []
    assert shown["sheet"] == {"pool": [0, 0, 0], "mountain": [0, 0, 0], "whists": []}
    assert (shown["closed"], shown["settlement"]["rounded"]) == (False, [0, 0, 0])
    assert (await site.get(f"/tables/{played.id}/deals/1")).json()["code"] == "no_such_deal"


async def test_the_drawn_sheet(site, log):
    """`Accept: image/svg+xml` gets the drawing, with the same numbers in their places; JSON before it gets JSON."""
    played = await PlayedTable(log, 2, players=4).play(deals=5)
    shown = await site.read(played, "/sheet")
    drawn = await site.get(f"/tables/{played.id}/sheet", headers={"Accept": "image/svg+xml"})
    assert drawn.headers["content-type"] == "image/svg+xml"
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", drawn.text)
    for points in [*shown["sheet"]["pool"], *shown["sheet"]["mountain"], *(amount for _, _, amount in shown["sheet"]["whists"])]:
        assert str(points) in texts
    both = await site.get(f"/tables/{played.id}/sheet", headers={"Accept": "application/json, image/svg+xml"})
    assert both.json() == shown


async def test_4_2_11_deals_page_to_the_end(site, log):
    """Pages of the deals, each with contract and result (4.2.11), run to the end without a gap or a repeat, whatever is played on."""
    played = await PlayedTable(log, 3, target=40).play(deals=7)
    numbers, cursor = [], {}
    while True:
        page = await site.read(played, "/deals", limit=3, **cursor)
        numbers += [deal["number"] for deal in page["deals"]]
        assert all(deal["contract"] and deal["written"]["entries"] for deal in page["deals"])
        assert all(deal["column"].startswith(f"{deal['contract']} / ") for deal in page["deals"])
        if page["cursor"] is None:
            break
        cursor = {"cursor": page["cursor"]}
    assert numbers == [1, 2, 3, 4, 5, 6, 7]


async def test_audit_shows_every_commit_with_its_hash(site, log):
    """`/audit` lists all commits in order; what it shows of a commit is the very JSON whose SHA-256 is its hash."""
    played = await PlayedTable(log, 4).play(deals=2)
    commits, cursor = [], {}
    while True:
        page = await site.read(played, "/audit", limit=20, **cursor)
        commits += page["commits"]
        if page["cursor"] is None:
            break
        cursor = {"cursor": page["cursor"]}
    assert [commit["revision"] for commit in commits] == list(range(1, len(played.commits) + 1))
    for shown, recorded in zip(commits, played.commits, strict=True):
        again = json.dumps(shown["commit"], separators=(",", ":"), ensure_ascii=False).encode()
        assert again == recorded.data
        assert hashlib.sha256(again).hexdigest() == shown["hash"]


async def test_no_answer_holds_a_hidden_card(site, log):
    """While a deal goes on, no answer to anybody holds its hands, talon, discard or seed, or the bytes of a commit that seals them."""
    played = await PlayedTable(log, 6, target=40).play(deals=1)
    while phase(played.pulka) != "play":
        await played.step()
        if phase(played.pulka) == "between_deals":
            await played.step()
    paths = ("/sheet", "/deals", "/deals/1", "/score-file", "/audit?limit=200", "/audit/verify")
    answers = [(await site.get(f"/tables/{played.id}{path}", who)).text for path in paths for who in (None, *played.seats)]
    secrets = played.pulka.secrets
    sealed = [secrets.server_seed, secrets.talon, *secrets.hands, *filter(None, [secrets.discard])]
    for answer in answers:
        assert not any(secret in answer for secret in sealed)
    audit = await site.read(played, "/audit", limit=200)
    of_this_deal = [commit for commit in audit["commits"] if commit["deal"] == played.pulka.number]
    assert of_this_deal
    assert all(commit["commit"] is None for commit in of_this_deal)
    assert all(commit["commit"] is not None for commit in audit["commits"] if commit["deal"] < played.pulka.number)


async def test_a_private_table_is_its_players(site, log):
    """A private table's books are read by those who sit there; others are refused, on every path (5.5)."""
    played = await PlayedTable(log, 8, **HIDDEN).play(deals=1)
    for path in ("/sheet", "/deals", "/deals/1", "/score-file", "/audit", "/audit/verify"):
        await site.read(played, path, played.seats[1])
        stranger = await site.get(f"/tables/{played.id}{path}", "0-somebody")
        assert (stranger.status_code, stranger.json()["code"]) == (403, "not_seated")
        nobody = await site.get(f"/tables/{played.id}{path}")
        assert nobody.status_code == 401
        assert "www-authenticate" in nobody.headers
    for path in (f"/players/{played.seats[0]}/deals", f"/players/{played.seats[0]}/statement"):
        answer = (await site.get(path)).json()
        assert (answer.get("deals"), answer.get("pulkas")) in ((None, []), ([], None))
    assert (await site.get(f"/players/{played.seats[0]}/deals", played.seats[2])).json()["deals"]


async def test_a_token_of_fewer_scopes_reads_what_everybody_may(site, log):
    """F34: an operator's token, or one that only plays, shows of a public table what no token shows, on every path."""
    played = await PlayedTable(log, 8, target=4, **late(1)).play(deals=2)
    await site.read(played, "/sheet")
    tokens = [site.token(OPERATOR + "desk", OPERATE), site.token(played.seats[0], PLAY), site.token("0-bot", HOST)]
    paths = [f"/tables/{played.id}{path}" for path in ("/sheet", "/statement", "/deals", "/deals/1", "/score-file", "/audit")]
    paths += [f"/players/{played.seats[0]}{path}" for path in ("/deals", "/statement", "/stats")]
    for path in paths:
        whole = await site.get(path)
        assert whole.status_code == 200, path
        for token in tokens:
            answer = await site.get(path, headers=token)
            assert (answer.status_code, answer.json()) == (200, whole.json()), path


async def test_an_operator_checks_what_was_corrected_at_a_private_table(site, log):
    """F34: books and statement are shown to an operator as a public table's are to everybody; a name alone makes no operator."""
    played = await PlayedTable(log, 8, **HIDDEN).play(deals=1)
    await site.read(played, "/sheet", played.seats[0])
    for path in ("/sheet", "/statement", "/deals", "/score-file", "/audit"):
        answer = await site.get(f"/tables/{played.id}{path}", headers=site.token(OPERATOR + "desk", OPERATE))
        assert answer.status_code == 200, path
        assert answer.json() == (await site.get(f"/tables/{played.id}{path}", played.seats[0])).json()
        for token in (site.token(OPERATOR + "desk", HOST), site.token("0-somebody", OPERATE), site.token(played.seats[0], PLAY)):
            refused = await site.get(f"/tables/{played.id}{path}", headers=token)
            assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing")


async def test_spectators_are_whole_deals_late(site, log):
    """With `delay_deals` 1 who has no seat sees the deals before the present one; players see all; everybody all when the pulka is over."""
    played = await PlayedTable(log, 9, target=4, **late(1)).play(deals=3)
    await played.step()  # the fourth deal begins
    assert [len((await site.read(played, "/sheet", who))["deals"]) for who in (None, played.seats[0])] == [3, 3]
    played_on = await played.play(deals=4)
    assert played_on.pulka.number == 4
    own, others = await site.read(played, "/sheet", played.seats[0]), await site.read(played, "/sheet")
    assert (len(own["deals"]), len(others["deals"])) == (4, 3)
    assert others["as_of"] < own["as_of"]
    assert others["position"] != own["position"]
    assert (await site.get(f"/tables/{played.id}/deals/4")).status_code == 404
    assert (await site.read(played, "/deals/4", played.seats[0]))["players"] == 3
    audit = await site.read(played, "/audit", limit=200)
    assert max(commit["deal"] for commit in audit["commits"]) == 3
    assert [deal["number"] for deal in (await site.get(f"/players/{played.seats[0]}/deals")).json()["deals"]] == [3, 2, 1]
    verdict = await site.read(played, "/audit/verify")
    assert (verdict["verified"], verdict["commits"]) == (True, audit["commits"][-1]["revision"])
    await played.play()
    assert played.pulka.status == "over"
    assert len((await site.read(played, "/sheet"))["deals"]) == played.pulka.number


async def test_a_statement_of_closed_pulkas(site, log):
    """A closed pulka stands in its players' statements with what its settlement gave each; its lines sum to zero."""
    played = await PlayedTable(log, 10, target=4).play()
    assert played.pulka.status == "over"
    sheet = await site.read(played, "/sheet")
    assert sheet["closed"]
    lines = [(await site.get(f"/players/{player}/statement")).json()["pulkas"] for player in played.seats]
    assert [[line["rounded"] for line in one] for one in lines] == [[whists] for whists in sheet["settlement"]["rounded"]]
    assert [one[0]["net"] for one in lines] == sheet["settlement"]["net"]
    assert sum(one[0]["rounded"] for one in lines) == 0


async def test_at_least_waits_and_gives_up(site, log, projector):
    """`at_least` answers from rows that show that position, 503 with Retry-After when they do not in time, 400 when it is no position."""
    played = await PlayedTable(log, 12).play(deals=1)
    await site.read(played, "/sheet")
    stream, _, sequence = played.commits[-1].position.partition(":")
    assert projector.at_least.parse(f"{stream}:{sequence}") == (stream, int(sequence))
    early = await site.get(f"/tables/{played.id}/sheet", at_least=f"{stream}:{int(sequence) + 1}")
    assert (early.status_code, early.json()["code"]) == (503, "unavailable")
    assert early.headers["retry-after"]
    for bad in ("", "LOBBY_0:1", "TABLE_0:-1", "TABLE_0:01", "x"):
        answer = await site.get(f"/tables/{played.id}/sheet", at_least=bad)
        assert (answer.status_code, answer.json()["path"]) == (400, "at_least")


@pytest.mark.parametrize(
    "query",
    [
        "as=nobody",
        "limit=5.0",
        "limit=%205",
        "limit=%D9%A5",
        "limit=0",
        "limit=201",
        "limit=x",
        "cursor=%21",
        "cursor=LTE",
        "cursor=Inh4Ig",
        "limit=1&limit=2",
    ],
)
async def test_what_is_asked_wrongly_is_refused(site, log, query):
    """Unknown, repeated and impossible query parameters are 400 problems, never passed over."""
    played = await PlayedTable(log, 13).play(commits=2)
    await site.read(played, "/sheet")
    answer = await site.get(f"/tables/{played.id}/deals?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")


@pytest.mark.parametrize("table_id", ["x", "0-" + "a" * 26, "0-" + "a" * 25 + "'"])
async def test_unknown_tables(site, table_id):
    """A table that the books do not know is 404 `no_such_table`, on every path."""
    for path in ("sheet", "deals", "deals/1", "score-file", "audit", "audit/verify"):
        answer = await site.get(f"/tables/{table_id}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "no_such_table")


@pytest.mark.parametrize("player", ["%00", "0-" + "a" * 26 + "%00"])
async def test_unknown_players(site, player):
    """A text that cannot be anybody's id, nor stand in a row, is 404 `no_such_player`."""
    for path in ("deals", "statement"):
        answer = await site.get(f"/players/{player}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "no_such_player")


async def test_cursors_past_every_row(site, log):
    """A cursor whose numbers no row has, however large, is answered by an empty page or every deal, never by a fault of ours."""
    played = await PlayedTable(log, 13).play(deals=2)
    await site.read(played, "/sheet")
    past = await site.get(f"/tables/{played.id}/deals", cursor=to_cursor(1 << 40))
    assert (past.status_code, past.json()["deals"]) == (200, [])
    newest = await site.get(f"/players/{played.pulka.seats[0]}/deals", cursor=to_cursor((1 << 60, "9", 1 << 40)))
    assert (newest.status_code, len(newest.json()["deals"])) == (200, 2)


async def test_a_refused_read_leaves_no_transaction_open(site, log):
    """What is refused while the rows are read gives its connection back clean: the event loop hears of no error."""
    played = await PlayedTable(log, 3).play(commits=5)
    await site.read(played, "/sheet")
    heard = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context["message"]))
    assert (await site.get(f"/tables/{played.id}/sheet", section=9)).is_client_error
    assert (await site.get("/tables/0-abcdefghijklmnopqrstuvwxyz/sheet")).json()["code"] == "no_such_table"
    assert heard == []


async def test_a_read_that_is_cut_off_leaves_no_moment_behind(site, log):
    """Cut off anywhere, in its BEGIN too, a read's transaction is ended by us: the next read on that connection sees what is there now."""
    said = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, told: said.append(told["message"]))
    played = await PlayedTable(log, 5).play(commits=3)

    async def revision():
        async with site.desk.readers.reading() as connection:
            return await connection.fetchval("SELECT revision FROM tables WHERE table_id = $1", played.id)

    for turns in range(30):
        reads = [asyncio.create_task(revision()) for _ in range(POOL)]
        for _ in range(turns):
            await asyncio.sleep(0)
        for read in reads:
            read.cancel()
        await asyncio.gather(*reads, return_exceptions=True)
        await played.play(commits=len(played.commits) + 1)
        await site.desk.reached(played.commits[-1].position)
        assert set(await asyncio.gather(*(revision() for _ in range(POOL)))) == {len(played.commits)}
    assert said == []


async def test_a_filling_sees_who_reads(site, log, versions, connection):
    """Readers connect by the name that a filling looks for: while somebody reads, it makes room."""
    await PlayedTable(log, 6).play(commits=3)
    async with site.desk.readers.reading():
        assert await somebody_reads(connection, versions.readers)
