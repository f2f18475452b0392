"""Corrections and annulments in the books: they follow from the rules and from who is entitled to them, or the audit finds it."""

from __future__ import annotations

import pytest

from services.ledger.audit.verify import verify_table
from shared.rules.language.correction_events import PulkaAnnulled, ResultCorrected
from shared.rules.language.game_events import PulkaClosed
from tests.services.ledger.audit.test_verify import codes, copied, with_event
from tests.services.ledger.played import BEGAN, PlayedTable
from tests.services.ledger.views.test_adjudicated import Misplayed

pytestmark = pytest.mark.servers

DESK = "operator:desk"
JUDGE = "0-" + "j" * 26
WHY = "a trick was counted twice"


class Orderly(Misplayed):
    """An adjudicated table where nobody breaks a rule."""

    wild = 0.0


async def test_corrected_and_annulled_it_is_verified(projector, log, connection):
    """Every commit after the settlement is one that the rules make, and the rows are what it says."""
    played = await PlayedTable(log, 61, target=4).play()
    for step in (lambda: played.correct(5, "-5/3", "-10/3"), lambda: played.correct(-1, 1, 0), played.annul):
        await step()
        assert await projector.at_least.wait(played.commits[-1].position)
        assert (await verify_table(log, played.address, connection))["problems"] == []


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("ResultCorrected", {"amounts": lambda amounts: [*amounts[:2], "0"]}),
        ("ResultCorrected", {"amounts": lambda amounts: ["10/2", *amounts[1:]]}),
        ("ResultCorrected", {"amounts": lambda amounts: amounts[:2]}),
        ("ResultCorrected", {"amounts": lambda _: ["moon", "0", "0"]}),
        ("ResultCorrected", {"number": lambda number: number + 1}),
        ("ResultCorrected", {"author": lambda _: "operator:other"}),
        ("PulkaAnnulled", {"author": lambda _: JUDGE}),
    ],
)
async def test_a_forged_correction_is_noticed(log, event, fields):
    """Whists out of nothing, an amount in another spelling, a number left out, another author than the commit's: none is the rules'."""
    played = await PlayedTable(log, 62, target=4).play()
    await played.correct(5, -3, -2)
    await played.annul()
    forgery = with_event(None, event, **fields)
    verdict = await verify_table(await copied(played, forgery, rechain=True), played.address)
    assert forgery.done
    assert {found for _, found in codes(verdict)} == {"not_by_the_rules"}


@pytest.mark.parametrize(("author", "well"), [(DESK, True), (JUDGE, True), ("service", False), ("0-player-63", False)])
async def test_who_is_not_entitled_to_it_is_noticed(log, author, well):
    """An operator and the arbiter may; a player, the service, or somebody else in a log that was written past the service may not."""
    terms = {"mode": "adjudicated", "attention": "server", "arbiter": JUDGE, "pause_s": 10, "order_pause_s": 3}
    played = await Orderly(log, 63, target=2, terms=terms).play()
    await played.correct(5, -3, -2, author=author)
    await played.annul(author)
    verdict = await verify_table(log, played.address)
    assert codes(verdict) == (set() if well else {(len(played.commits) - 1, "not_by_the_rules")})


@pytest.mark.parametrize(("terms", "commits"), [({}, 9), ({}, 30), ({"seating": "drawn"}, 2), ({"stake": 3}, 40)])
async def test_5_4_18_annulled_in_play_it_is_verified(projector, log, connection, terms, commits):
    """During a draw, a deal, or between two: what follows is what the rules make of it, and the books have a result of nothing."""
    played = await PlayedTable(log, 67, target=40, terms=terms).play(commits=commits)
    await played.annul()
    await played.play()
    assert (played.pulka.status, played.pulka.annulled.reason) == ("over", "two players were one")
    assert await projector.at_least.wait(played.commits[-1].position)
    assert (await verify_table(log, played.address, connection))["problems"] == []
    rows = await connection.fetch("SELECT net, rounded, payment, closed_at FROM accounts")
    payment = "0" if "stake" in terms else None
    assert [tuple(row) for row in rows] == [("0", 0, payment, BEGAN + 1000 * len(played.commits))] * 3
    assert await connection.fetchval("SELECT count(*) FROM postings") == 0
    assert await connection.fetchval("SELECT array_agg(kind) FROM transactions") == ["annulment"]


async def test_an_end_that_nobody_ordered_is_noticed(log):
    """A pulka closed as annulled that was not, or annulled without having been closed."""
    for seed, events in ((68, (PulkaClosed("annulled", {}), PulkaAnnulled(DESK, WHY))), (69, (PulkaAnnulled(DESK, WHY),))):
        played = await PlayedTable(log, seed, target=40).play(deals=1)
        await played.commit(DESK, events)
        assert codes(await verify_table(log, played.address)) == {(len(played.commits), "not_by_the_rules")}


async def test_nothing_comes_after_an_annulment(log):
    """A second one, or a correction after it, is not the rules'."""
    for seed, event in ((64, PulkaAnnulled(DESK, WHY)), (66, ResultCorrected(1, ("1", "-1", "0"), DESK, WHY))):
        played = await PlayedTable(log, seed, target=2).play()
        await played.annul()
        await played.commit(DESK, (event,))
        assert codes(await verify_table(log, played.address)) == {(len(played.commits), "not_by_the_rules")}


async def test_a_pulka_that_goes_on_is_not_corrected(log):
    """Before the settlement it would be an invention (4.2.14)."""
    played = await PlayedTable(log, 65, target=40).play(deals=2)
    await played.commit(DESK, (ResultCorrected(1, ("1", "-1", "0"), DESK, WHY),))
    assert codes(await verify_table(log, played.address)) == {(len(played.commits), "not_by_the_rules")}
