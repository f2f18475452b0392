"""A player's deals in figures: each from its outcome, their whists from the settlement, and only those that the reader may see."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as some

from services.ledger.players.player_figures import STUDENT, Sum, per_deal
from services.ledger.players.player_stats import deal_whists, role_of
from shared.rules.convention.options import resolve
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.settlement import settle
from shared.rules.scoring.sheet import empty_sheet, write
from tests.services.ledger.played import PlayedTable

servers = pytest.mark.servers


@pytest.mark.parametrize(
    ("outcome", "players", "roles"),
    [
        (DealOutcome(dealer=2, contract="6S", declarer=0, calls=(None, "whist", "pass"), tricks=(6, 2, 2)), 3,
         ["declarer", "whister", "passer"]),
        (DealOutcome(dealer=2, contract="7H", declarer=1, calls=("half", None, "pass")), 3, ["half_whister", "declarer", "passer"]),
        (DealOutcome(dealer=3, contract="6S", declarer=0, calls=(None, "pass", "pass", "whist"), tricks=(6, 2, 2, 0)), 4,
         ["declarer", "passer", "passer", "whister"]),
        (DealOutcome(dealer=3, contract="misere", declarer=1, tricks=(5, 0, 5, 0)), 4, ["defender", "declarer", "defender", "resting"]),
        (DealOutcome(dealer=3, contract="misere", declarer=1, tricks=(5, 0, 5, 0), shared=True), 4,
         ["defender", "declarer", "defender", "partner"]),
        (DealOutcome(dealer=0, contract="all_pass", tricks=(0, 2, 5, 3)), 4, ["resting", "all_pass", "all_pass", "all_pass"]),
        (DealOutcome(dealer=1, contract="all_pass", tricks=(2, 3)), 2, ["all_pass", "all_pass"]),
        (DealOutcome(dealer=0, contract=None), 5, ["resting", "defender", "defender", "resting", "defender"]),
    ],
)  # fmt: skip
def test_roles(outcome, players, roles):
    """Everybody's role follows from the outcome: declarer, defenders by their last word, who rests, who whists though he rests."""
    assert [role_of(outcome, players, seat) for seat in range(players)] == roles


def entry(seat, column, amount, on=None):
    return {"seat": seat, "column": column, "amount": amount, "rule": "4.2.1", "why": "", **({} if on is None else {"on": on})}


entries = some.lists(
    some.builds(entry, some.integers(0, 2), some.sampled_from(["pool", "mountain"]), some.sampled_from([2, 4, 10, "5/2", -2]))
    | some.builds(
        lambda pair, amount: entry(pair[0], "whists", amount, pair[1]),
        some.permutations([0, 1, 2]),
        some.sampled_from([2, 8, "7/3"]),
    ),
    max_size=8,
)


@pytest.mark.slow
@given(some.lists(entries, min_size=1, max_size=6), some.sampled_from(["sochi", "leningrad", "rostov"]), some.integers(1, 50))
def test_4_2_14_the_whists_of_the_deals_sum_to_the_settlement(deals, preset, target):
    """What each deal changes in the settlement sums, exactly, to the settlement of the whole sheet, and each deal's to zero."""
    convention = resolve(preset, target)
    each = [deal_whists(convention, 3, deal) for deal in deals]
    assert all(sum(one) == 0 for one in each)
    sheet = write(empty_sheet(3), [one for deal in deals for one in deal])
    assert tuple(map(sum, zip(*each, strict=True))) == settle(convention, target, sheet).net


def spread(values):
    exact = [Fraction(value) for value in values]
    return Sum("declarer", "6S", len(exact), sum(exact, Fraction()), sum((one * one for one in exact), Fraction()), 0, 0, 0, 0, 0)


@pytest.mark.slow
@given(some.lists(some.fractions(-50, 50, max_denominator=6), min_size=2, max_size=60))
def test_the_interval_is_students_or_the_normal_one(values):
    """The 95 % interval is the mean and its standard error, by Student's t with less than 30 deals and 1.96 from then on."""
    told = per_deal([spread(values)])
    error = statistics.stdev(map(float, values)) / math.sqrt(len(values))
    reach = error * (1.96 if len(values) >= 30 else STUDENT[len(values) - 2])
    assert told["deals"] == len(values)
    assert Fraction(told["sum"]) == sum(values)
    assert told["mean"] == pytest.approx(float(statistics.mean(values)), abs=0.0001)
    assert told["interval_95"] == pytest.approx([told["mean"] - reach, told["mean"] + reach], abs=0.0003)


def test_less_than_two_deals_have_no_interval():
    """One deal says nothing of how sure its mean is, none has no mean."""
    assert per_deal([spread([4])]) == {"deals": 1, "sum": "4", "mean": 4.0, "interval_95": None}
    assert per_deal([]) == {"deals": 0, "sum": "0", "mean": None, "interval_95": None}


@pytest.mark.parametrize("degrees", [1, 2, 5, 10, 20, 28])
def test_students_t_is_the_quantile_of_its_density(degrees):
    """97.5 % of Student's distribution lies below the tabled value: its density, integrated by Simpson's rule."""
    scale = math.gamma((degrees + 1) / 2) / math.sqrt(degrees * math.pi) / math.gamma(degrees / 2)
    steps, end = 20_000, STUDENT[degrees - 1]
    points = [scale * (1 + (end * step / steps) ** 2 / degrees) ** (-(degrees + 1) / 2) for step in range(steps + 1)]
    area = end / steps / 3 * (points[0] + points[-1] + 4 * sum(points[1:-1:2]) + 2 * sum(points[2:-1:2]))
    assert area == pytest.approx(0.475, abs=0.00005)


async def stats(site, played, player, reader=None, **parameters):
    answer = await site.get(f"/players/{player}/stats", reader, at_least=played.commits[-1].position, **parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def in_his_mountain(seat, one):
    """Whether an entry puts points into the mountain of `seat`; a pool's surplus takes some off."""
    return (one["seat"], one["column"]) == (seat, "mountain") and Fraction(one["amount"]) > 0


@servers
@pytest.mark.parametrize(("convention", "players"), [("sochi", 3), ("leningrad", 4), ("rostov", 3), ("sochi", 2), ("rostov", 5)])
async def test_the_figures_are_those_of_the_sheet(site, log, convention, players):
    """Deals, contracts made and failed, tricks and whists, counted from the sheet's own deals and the pulka's settlement."""
    played = await PlayedTable(log, 61, players=players, convention=convention, target=10).play()
    sheet = await site.read(played, "/sheet")
    deals = (await site.read(played, "/deals", limit=200))["deals"]
    for seat, player in enumerate(played.seats):
        found = await stats(site, played, player)
        assert found["whists"]["deals"] == len(deals)
        assert found["whists"]["sum"] == sheet["settlement"]["net"][seat]
        assert sum(one["whists"]["deals"] for one in found["roles"]) == len(deals)
        assert sum(Fraction(one["whists"]["sum"]) for one in found["roles"]) == Fraction(sheet["settlement"]["net"][seat])
        declared = [deal for deal in deals if deal["declarer"] == seat]
        assert {one["contract"]: one["declared"] for one in found["contracts"]} == {
            contract: sum(deal["contract"] == contract for deal in declared) for contract in {deal["contract"] for deal in declared}
        }
        risen = [any(in_his_mountain(seat, one) for one in deal["written"]["entries"]) for deal in declared]
        assert sum(one["failed"] for one in found["contracts"]) == sum(risen)
        assert found["games"]["declared"] + found["misere"]["declared"] == len(declared)
        passed = [deal["tricks"][seat] for deal in deals if deal["contract"] == "all_pass" and (players <= 3 or deal["dealer"] != seat)]
        if players <= 4:
            assert found["all_pass"]["deals"] == len(passed)
            assert found["all_pass"]["tricks"] == (round(statistics.mean(passed), 4) if passed else None)


@servers
async def test_filters_and_sums_over_tables(site, log):
    """Deals of several pulkas add up; `convention` and `players` leave those of others out."""
    sochi = await PlayedTable(log, 62, target=4).play()
    four = PlayedTable(log, 66, players=4, convention="leningrad", target=4)
    four.seats = (*sochi.seats, "3-player-62")
    await four.play()
    player = sochi.seats[0]
    both = await stats(site, four, player)
    parts = [await stats(site, four, player, convention=name) for name in ("sochi", "leningrad")]
    assert [one["whists"]["deals"] for one in parts] == [sochi.pulka.number, four.pulka.number]
    assert both["whists"]["deals"] == sum(one["whists"]["deals"] for one in parts)
    assert Fraction(both["whists"]["sum"]) == sum(Fraction(one["whists"]["sum"]) for one in parts)
    assert (await stats(site, four, player, players=4)) == parts[1]
    assert (await stats(site, four, player, players=5))["whists"]["deals"] == 0
    for wrong in ({"convention": "nobody"}, {"players": 6}, {"players": "x"}, {"color": "red"}):
        answer = await site.get(f"/players/{player}/stats", **wrong)
        assert (answer.status_code, answer.json()["code"]) == (400, "malformed")


@servers
async def test_5_5_a_private_tables_deals_count_for_its_players_only(site, log):
    """What others may not look at is in no figure of theirs."""
    played = await PlayedTable(log, 63, terms={"visibility": "private"}).play(deals=2)
    player = played.seats[1]
    assert (await stats(site, played, player))["whists"]["deals"] == 0
    assert (await stats(site, played, player, "0-somebody"))["whists"]["deals"] == 0
    assert (await stats(site, played, player, played.seats[2]))["whists"]["deals"] == 2


@servers
async def test_5_5_spectators_figures_are_as_late_as_the_table(site, log):
    """With `delay_deals` 1 a spectator's figures lack the last deal until the pulka is over; its players' do not."""
    played = await PlayedTable(log, 64, target=4, terms={"spectators": {"allowed": True, "delay_deals": 1}}).play(deals=2)
    counts = [(await stats(site, played, played.seats[0], who))["whists"]["deals"] for who in (None, played.seats[2])]
    assert counts == [1, 2]
    await played.play()
    assert (await stats(site, played, played.seats[0]))["whists"]["deals"] == played.pulka.number
