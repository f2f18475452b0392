"""A pulka whose seats were drawn for, and one that is played for money, in the books (3.1.1, 4.2.13)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from services.ledger.audit.verify import verify_table
from shared.rules.convention.options import to_document
from shared.rules.convention.rules_digest import rules_digest
from tests.services.ledger.audit.test_verify import codes, copied, with_event
from tests.services.ledger.played import PlayedTable

pytestmark = pytest.mark.servers

DRAWN = {"terms": {"seating": "drawn"}}


async def test_3_1_1_a_drawn_table_is_verified_and_its_players_sit_where_the_cards_say(site, projector, log, connection):
    """Draw, deals and rows are verified; sheet, deals and statement of each player are those of the seat that his card gave him."""
    played = await PlayedTable(log, 41, target=4, **DRAWN).play()
    assert played.pulka.seats != played.seats
    assert await projector.at_least.wait(played.commits[-1].position)
    assert await verify_table(log, played.address, connection) == {
        "verified": True,
        "commits": len(played.commits),
        "head": (await site.read(played, "/audit/verify"))["head"],
        "problems": [],
    }
    settlement = (await site.read(played, "/sheet"))["settlement"]
    for seat, player in enumerate(played.pulka.seats):
        (line,) = (await site.get(f"/players/{player}/statement")).json()["pulkas"]
        assert (line["seat"], line["net"], line["payment"]) == (seat, settlement["net"][seat], None)
        assert {deal["seat"] for deal in (await site.get(f"/players/{player}/deals")).json()["deals"]} == {seat}


@pytest.mark.parametrize("commits", [1, 2, 3])
async def test_3_1_1_a_draw_that_goes_on_is_verified_as_far_as_it_went(log, commits):
    """Before the last card nothing is told, and nothing is amiss."""
    played = await PlayedTable(log, 42, **DRAWN).play(commits=commits)
    assert (await verify_table(log, played.address))["verified"]


@pytest.mark.parametrize(
    ("event", "fields", "code"),
    [
        ("SeatDrawStarted", {"commitment": lambda _: "0" * 64}, "commitment"),
        ("SeatsDrawn", {"server_seed": lambda _: "5f" * 32}, "digest"),
        ("SeatsDrawn", {"server_seed": lambda _: "no seed"}, "malformed"),
        ("SeatsDrawn", {"cards": lambda cards: [*cards[1:], cards[0]]}, "draw"),
        ("SeatsDrawn", {"seats": lambda seats: [*seats[1:], seats[0]]}, "draw"),
        ("SeatCardDrawn", {"place": lambda place: place % 32 + 1}, "draw"),
    ],
)
async def test_3_1_1_a_forged_draw_is_noticed_though_its_hashes_fit(log, event, fields, code):
    """Whoever would have liked to sit elsewhere is found out by recomputing the draw."""
    played = await PlayedTable(log, 43, target=4, **DRAWN).play(commits=6)
    forgery = with_event(None, event, **fields)
    verdict = await verify_table(await copied(played, forgery, rechain=True), played.address)
    assert forgery.done
    assert code in {found for _, found in codes(verdict)}


@pytest.mark.parametrize("seating", ["chosen", "drawn"])
async def test_3_1_1_a_draw_is_in_the_log_exactly_where_it_is_agreed(log, seating):
    """A draw that nobody agreed on, and one that was left out, are not by the rules."""
    played = await PlayedTable(log, 44, terms={"seating": seating}).play(commits=6)
    other = {"seating": {"chosen": "drawn", "drawn": "chosen"}[seating]}
    digest = rules_digest(to_document(played.pulka.convention), 3, played.pulka.target, other)
    forgery = with_event(1, "PulkaOpened", terms=lambda _: other, rules_digest=lambda _: digest)
    verdict = await verify_table(await copied(played, forgery, rechain=True), played.address)
    assert (1, "not_by_the_rules") in codes(verdict)


async def test_4_2_13_the_stake_is_in_sheet_score_file_and_statement(site, log):
    """Sheet and statement show what is owed at the agreed stake; the score file carries it (4.2.13)."""
    played = await PlayedTable(log, 45, target=4, terms={"stake": "1/2"}).play()
    settlement = (await site.read(played, "/sheet"))["settlement"]
    assert settlement == played.pulka.settlement
    assert [Fraction(amount) for amount in settlement["amounts"]] == [Fraction(whists) / 2 for whists in settlement["net"]]
    assert (await site.read(played, "/score-file"))["stake"] == "1/2"
    paid = [(await site.get(f"/players/{player}/statement")).json()["pulkas"][0]["payment"] for player in played.pulka.seats]
    assert [Fraction(payment) for payment in paid] == [Fraction(payment) for payment in settlement["payments"]]
    assert sum(map(Fraction, paid)) == 0
