"""Ratings and standings as they are read: which pulkas are rated, how each change is explained, and who stands where."""

from __future__ import annotations

from fractions import Fraction

import asyncpg
import pytest

from services.ledger.books import Books
from services.ledger.players import pulka_results, rating_rows
from services.ledger.players.glicko import START_RATING
from services.ledger.players.pulka_results import PulkaResult
from services.ledger.views import tables
from services.ledger.views.tables import Table
from shared.projections.versions.rebuild import fingerprint, rebuild
from shared.web.paging import to_cursor
from tests.partitions import TABLE_STREAMS
from tests.services.ledger.played import PlayedTable
from tests.services.ledger.views.test_imported import recorded_table
from tests.services.ledger.views.test_members import joins, until_auction

pytestmark = pytest.mark.servers

DAY = 24 * 3600 * 1000


async def ratings(site, played, player, **parameters):
    answer = await site.get(f"/players/{player}/ratings", at_least=played.commits[-1].position, **parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def standings(site, **parameters):
    answer = await site.get("/standings", **parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("players", [3, 4])
async def test_a_closed_pulka_rates_its_players_against_each_other(site, log, players):
    """Each change names every opponent, the score that was expected and the one that was made; its points sum to the change."""
    played = await PlayedTable(log, 71, players=players, target=4).play()
    net = [Fraction(text) for text in (await site.read(played, "/sheet"))["settlement"]["net"]]
    for seat, player in enumerate(played.seats):
        found = await ratings(site, played, player)
        (change,) = found["changes"]
        assert (change["table_id"], change["rated"], change["restated"], found["unrated"]) == (played.id, True, [], {})
        assert change["before"]["rating"] == START_RATING
        assert {game["opponent"] for game in change["games"]} == set(played.seats) - {player}
        for game in change["games"]:
            other = net[played.seats.index(game["opponent"])]
            assert game["score"] == (1 if net[seat] > other else 0.5 if net[seat] == other else 0)
            assert game["expected"] == 0.5
        assert sum(game["points"] for game in change["games"]) == pytest.approx(
            change["after"]["rating"] - change["before"]["rating"], abs=0.02
        )
        now = found["rating"]
        assert (now["rating"], now["pulkas"], now["provisional"]) == (change["after"]["rating"], 1, True)
        assert now["interval_95"] == pytest.approx(
            [now["rating"] - 1.96 * now["deviation"], now["rating"] + 1.96 * now["deviation"]], abs=0.01
        )
        assert found["complete"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"players": 2}, {"players": 1}),
        ({"players": 5}, {"players": 1}),
        ({"terms": {"bots": 2}}, {"bots": 1}),
        ({"terms": {"rated": False}}, {"agreed": 1}),  # F36: the tables of `pulka demo`
        ({"terms": {"visibility": "private"}}, {}),
        ({"terms": {"spectators": {"allowed": False}}}, {}),
    ],
)
async def test_what_is_not_rated(site, log, options, why):
    """Two and five players, tables with built-in players, tables not open to all; those that everybody may know of are counted with why."""
    played = await PlayedTable(log, 72, target=4, **options).play()
    found = await ratings(site, played, played.seats[0])
    assert (found["rating"], found["changes"], found["unrated"]) == (None, [], why)
    assert (await standings(site, provisional=True))["standings"] == []


async def test_a_pulka_whose_people_changed_is_not_rated(site, log):
    """The result of a seat that two have played says nothing of either."""
    played = await PlayedTable(log, 53, target=4).play(deals=1)
    await until_auction(played)
    await joins(played, "eve", 1)
    await played.play()
    for player in ("eve", played.seats[0], played.seats[1]):
        assert (await ratings(site, played, player))["unrated"] == {"changed": 1}


async def test_4_2_16_a_correction_that_changes_who_won_is_rated_anew(site, log):
    """The rating is that of the corrected result; what it was before the correction stands beside it."""
    played = await PlayedTable(log, 73, target=4).play()
    player = played.seats[0]
    (before,) = (await ratings(site, played, player))["changes"]
    won = sum(game["score"] for game in before["games"])
    await played.correct(*((-1000, 500, 500) if won else (1000, -500, -500)))
    (after,) = (await ratings(site, played, player))["changes"]
    assert [game["score"] for game in after["games"]] == ([0, 0] if won else [1, 1])
    (why,) = after["restated"]
    assert (why["because"], why["table_id"], why["was"]["after"], why["became"]["after"]) == (
        "corrected", played.id, before["after"], after["after"],
    )  # fmt: skip
    place = {one["player"]: one["whists"] for one in (await standings(site, by="whists"))["standings"]}
    assert abs(Fraction(place[player]) - Fraction((await site.read(played, "/sheet"))["settlement"]["net"][0])) == 1000


async def test_4_2_16_an_annulled_pulka_counts_for_nothing(site, log):
    """Neither in ratings nor in figures nor in standings; the rating says what it was and why it went."""
    played = await PlayedTable(log, 74, target=4).play()
    player = played.seats[0]
    (before,) = (await ratings(site, played, player))["changes"]
    await played.annul()
    found = await ratings(site, played, player)
    (after,) = found["changes"]
    assert found["rating"] is None
    assert (after["rated"], after["games"], after["after"]["rating"]) == (False, [], START_RATING)
    assert after["restated"][0]["was"]["after"] == before["after"]
    assert (await standings(site, by="whists"))["standings"] == []
    assert (await standings(site, provisional=True))["standings"] == []
    assert (await site.get(f"/players/{player}/stats")).json()["whists"]["deals"] == 0


async def test_a_rebuild_gives_the_same_bytes(site, log, postgres_dsn, schema, connection):
    """Read from nothing and computed once at the end, figures, results and ratings are those that were computed as they came."""
    played = [await PlayedTable(log, 75, target=4).play(), await PlayedTable(log, 76, players=4, target=4).play()]
    again = PlayedTable(log, 77, target=4)
    again.seats = played[0].seats
    await again.play()
    await ratings(site, again, again.seats[0])
    await played[0].annul()
    await played[1].correct(500, -500, 300, -300)
    await ratings(site, played[1], again.seats[0])
    other = f"{schema}_rebuilt"
    await rebuild(log, Books(), TABLE_STREAMS[:1], postgres_dsn, other)
    filled = await asyncpg.connect(postgres_dsn, server_settings={"search_path": other})
    try:
        assert (await rating_rows.due(filled))["pulkas"] == 3
        await rating_rows.recompute(filled)
    finally:
        await filled.close()
    live, rebuilt = await fingerprint(connection, schema), await fingerprint(connection, other)
    mine = ["player_deals", "pulka_results", "rating_changes", "rating_restated", "ratings", "ratings_due", "ratings_restated_due"]
    assert {name: live[name] for name in mine} == {name: rebuilt[name] for name in mine}
    assert await connection.fetchval("SELECT count(*) FROM rating_restated") > 0


async def test_a_recorded_pulka_is_counted_and_not_rated(site, log):
    """What was played elsewhere is in figures and standings, marked as unrated; without names it is in neither."""
    await recorded_table(log, 2, seats=False)
    table = await recorded_table(log)
    player = table.seats[0]
    found = await ratings(site, table, player)
    assert (found["rating"], found["unrated"]) == (None, {"recorded": 1})
    figures = (await site.get(f"/players/{player}/stats")).json()
    assert [(one["contract"], one["made"]) for one in figures["contracts"]] == [("6S", 1)]
    assert (figures["whists"]["deals"], figures["all_pass"]["deals"]) == (3, 0)
    assert len((await standings(site, by="whists"))["standings"]) == 4


async def test_a_table_that_is_not_rated_is_in_no_standing(site, log):
    """F36: neither by rating nor by whists are its players among the club's people; those of a table beside it are."""
    demo = await PlayedTable(log, 71, target=4, terms={"rated": False}).play()
    await ratings(site, demo, demo.seats[0])
    assert (await standings(site, by="whists"))["standings"] == []
    club = await PlayedTable(log, 72, target=4).play()
    await ratings(site, club, club.seats[0])
    for by in ("whists", "rating"):
        found = (await standings(site, by=by, provisional=True))["standings"]
        assert {one["player"] for one in found} == set(club.seats), by


async def test_nobody(site):
    """Who never played has no rating, no changes and empty figures; a text that is nobody's id is 404."""
    found = (await site.get("/players/nobody/ratings")).json()
    assert (found["rating"], found["changes"], found["cursor"]) == (None, [], None)
    for path in ("ratings", "stats"):
        answer = await site.get(f"/players/%00/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "no_such_player")


def result(number, players, net, *, days=0, version=1, annulled=False, unrated=""):
    at = 1_700_000_000_000 + days * DAY
    table = f"0-{number:026d}"
    said = at if version == 1 else at + 40 * DAY
    return PulkaResult(table, version, 9, said, at, players, net, annulled=annulled, unrated=unrated)


async def booked(connection, results):
    """Results as the books would have them, with their tables open to all."""
    kept = [
        Table(
            one.table_id, "TABLE_0", 1, 9, one.at, status="over", players=len(one.players.split()), target=10,
            seats=tuple(one.players.split()), convention='{"preset":"sochi"}', open_to_all=True, deal=1,
        )
        for one in results
        if one.version == 1
    ]  # fmt: skip
    await tables.write(connection, (), kept)
    await pulka_results.write(connection, results)
    await rating_rows.recompute(connection)


async def pages(site, path, key, **parameters):
    """All pages of a list, three a page."""
    found, cursor = [], {}
    while True:
        page = (await site.get(path, limit=3, **parameters, **cursor)).json()
        found += page[key]
        if page["cursor"] is None:
            return found
        cursor = {"cursor": page["cursor"]}


async def test_changes_page_to_the_end_and_annulments_are_explained(site, connection):
    """Newest first, each once; of what an annulment recomputed each page says what it was, what it became, and which table's it was."""
    results = [result(n, "anna boris clara", ("9 0 -9", "0 9 -9", "3 3 -6")[n % 3], days=n) for n in range(8)]
    gone = result(2, "anna boris clara", results[2].net, days=2, version=2, annulled=True)
    await booked(connection, [*results, gone])
    found = await pages(site, "/players/anna/ratings", "changes")
    assert [change["table_id"] for change in found] == [one.table_id for one in reversed(results)]
    assert [change["rated"] for change in found] == [one.table_id != gone.table_id for one in reversed(results)]
    for change in found[:6]:
        (why,) = change["restated"]
        assert (why["because"], why["table_id"], why["at"]) == ("annulled", gone.table_id, gone.at)
        assert why["became"] == {name: change[name] for name in ("rated", "before", "after", "missed_periods", "games")}
        assert why["was"]["after"] != change["after"]
    assert [change["restated"] for change in found[6:]] == [[], []]
    assert found[5]["before"] == found[5]["after"]  # the annulled one


async def test_standings_by_rating_have_ties_and_pages(site, connection):
    """Ranks count everybody who is rated higher, equals share one; pages run to the end; provisional ratings only if asked for."""
    await booked(connection, [result(n, f"a{n} b{n} c{n}", "5 0 -5") for n in range(3)])
    assert (await standings(site))["standings"] == []
    shown = await pages(site, "/standings", "standings", provisional=True)
    assert [one["player"] for one in shown] == [f"{who}{n}" for who in "abc" for n in range(3)]
    assert [one["rank"] for one in shown] == [1, 1, 1, 4, 4, 4, 7, 7, 7]
    assert all(one["provisional"] for one in shown)
    (single,) = (await site.get("/players/a0/ratings")).json()["changes"]
    assert shown[0]["rating"] == single["after"]["rating"]


async def test_a_settled_rating_is_provisional_again_after_a_long_absence(site, connection):
    """The deviation grows while somebody does not play: he leaves the standings, and comes back with the flag."""
    season = [result(n, "anna boris clara", ("9 0 -9", "-9 9 0", "0 -9 9")[n % 3], days=n) for n in range(60)]
    await booked(connection, season)
    await connection.execute("INSERT INTO checkpoint (stream, sequence, at) VALUES ('TABLE_7', 1, $1)", season[-1].at)
    assert {one["player"] for one in (await standings(site))["standings"]} == {"anna", "boris", "clara"}
    await connection.execute("UPDATE checkpoint SET at = at + $1 WHERE stream = 'TABLE_7'", 5 * 365 * DAY)
    assert (await standings(site))["standings"] == []
    later = (await standings(site, provisional=True))["standings"][0]
    assert later["deviation"] > 110
    assert later["deviation"] == pytest.approx(
        (await site.get(f"/players/{later['player']}/ratings")).json()["rating"]["deviation"], abs=0.001
    )


async def test_standings_by_whists_are_exact(site, connection):
    """Sums of all pulkas as exact numbers, thirds and sevenths too; equals share a rank; annulled pulkas count for nothing."""
    await booked(
        connection,
        [
            result(1, "anna boris clara", "1/3 1/3 -2/3", days=1),
            result(2, "anna boris dora", "2/3 2/3 -4/3", days=2),
            result(3, "clara dora emil", "1/7 -1/7 0", days=3, unrated="bots"),
            result(4, "anna clara dora", "100 -50 -50", days=4),
            result(4, "anna clara dora", "100 -50 -50", days=4, version=2, annulled=True),
        ],
    )
    shown = await pages(site, "/standings", "standings", by="whists")
    assert [(one["rank"], one["player"], one["whists"], one["pulkas"]) for one in shown] == [
        (1, "anna", "1", 2), (1, "boris", "1", 2), (3, "emil", "0", 1), (4, "clara", "-11/21", 2), (5, "dora", "-31/21", 2),
    ]  # fmt: skip
    assert shown[0]["mean"] == 0.5
    first = 1_700_000_000_000
    early = await standings(site, by="whists", **{"from": first + DAY, "to": first + 2 * DAY})
    assert [(one["player"], one["whists"]) for one in early["standings"]] == [("anna", "1/3"), ("boris", "1/3"), ("clara", "-2/3")]
    assert (await standings(site, by="whists", convention="rostov"))["standings"] == []
    assert len((await standings(site, by="whists", convention="sochi", players=3))["standings"]) == 5
    rated = await standings(site, provisional=True, **{"from": first + 2 * DAY, "to": first + 3 * DAY})
    assert {one["player"] for one in rated["standings"]} == {"anna", "boris", "dora"}


@pytest.mark.parametrize(
    "query",
    ["by=luck", "from=x", "from=-1", "players=9", "convention=nobody", "provisional=perhaps", "limit=0", "cursor=%21",
     "by=whists&cursor=" + to_cursor((1.5, "a")), "by=whists&cursor=" + to_cursor(("1/0", "a")), "cursor=" + to_cursor(("1", "a"))],
)  # fmt: skip
async def test_what_is_asked_wrongly_is_refused(site, query):
    """Impossible parameters and cursors of other lists are 400 problems."""
    answer = await site.get(f"/standings?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed")


async def test_a_sum_of_many_odd_parts_is_a_cursor_too(site):
    """Corrections in parts of different primes make sums with hundreds of digits: the page behind such a one can be reached."""
    assert (await standings(site, by="whists", cursor=to_cursor(("7" * 500 + "/" + "9" * 400, "nobody"))))["standings"] == []
