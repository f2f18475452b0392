"""Where players keep the sheet by hand, the score file brings `pulka score`, an import and an export to the sheet as they kept it."""

from __future__ import annotations

import json

import pytest

from services.ledger.audit.verify import verify_table
from shared.rules.language.moves import Bid
from shared.rules.language.refusal import Malformed
from shared.rules.pulka import decider as match
from shared.rules.pulka.imported import imported
from shared.rules.score_files.deal_record import replay_document
from shared.rules.score_files.score_file import score_document
from shared.web.auth import OPERATE
from tests.services.ledger.played import BEGAN, PlayedTable
from tests.services.ledger.views.test_adjudicated import TERMS, Misplayed
from tests.services.ledger.views.test_members import joins

pytestmark = pytest.mark.servers

BY_HAND = {"terms": TERMS | {"entries": "by_hand", "stake": "1/3"}}


async def told(site, played):
    """Sheet, settlement and score file as the ledger tells them, which `pulka score` and the export say as well."""
    shown, file = await site.read(played, "/sheet"), await site.read(played, "/score-file")
    exported = (await site.get("/export/score-files", headers=site.token("boss", OPERATE))).text.splitlines()
    own = [row["score_file"] for row in map(json.loads, exported) if row.get("table_id") == played.id]
    assert own == ([file] if file["deals"] else [])
    assert shown["sheet"] == played.pulka.sheet.document()
    scored = score_document(json.dumps(file))
    for due, wrote in zip(shown["deals"], scored["deals"], strict=True):
        assert wrote["entries"][: len(due["entries"])] == due["entries"]  # each deal was scored on the sheet that lay there
    if file["deals"]:
        assert (scored["sheet"], scored["settlement"]) == (shown["sheet"], shown["settlement"])
    return shown, file


@pytest.mark.parametrize(("convention", "players", "seed"), [("sochi", 3, 61), ("rostov", 4, 62), ("leningrad", 3, 63), ("sochi", 3, 215)])
async def test_at_any_moment_the_score_file_comes_to_the_sheet_as_it_was_kept(site, log, connection, convention, players, seed):
    """Whatever is forgotten, wrong, fined or written late, between two deals and in the auction of the next one (4.2.4-4.2.10); when it is
    over, the pulka that is imported from the file shows the same sheet, and its own score file is the same again.
    """
    played = Misplayed(log, seed, convention=convention, players=players, target=3, **BY_HAND)
    moments = 0
    while await played.step() is not None and len(played.commits) < 900:
        between = match.phase(played.pulka) in ("between_deals", "auction", "cut")
        if played.pulka.number and len(played.commits) % (3 if between else 17) == 0:
            moments += 1
            await told(site, played)
    shown, file = await told(site, played)
    assert moments > 10
    assert len(file["deals"]) > 1
    assert (await verify_table(log, played.address, connection))["problems"] == []
    for number in [deal["number"] for deal in (await site.read(played, "/deals", limit=200))["deals"]]:
        record = await site.read(played, f"/deals/{number}")
        assert not hasattr(replay_document(json.dumps(record)), "refused"), number
    table = PlayedTable(log, seed + 100, players=players)
    await table.commit("operator:desk", (imported(file, table.seats, "public", "operator:desk"),))
    again = await site.read(table, "/sheet")
    assert (again["sheet"], again["settlement"], len(again["deals"])) == (shown["sheet"], shown["settlement"], len(shown["deals"]))
    assert await site.read(table, "/score-file") == file
    assert (await verify_table(log, table.address, connection))["problems"] == []


class Forgetful(PlayedTable):
    """Each deal is 6S of the next of `winners`, nobody whists; all write what is due to them at once but for who `forgets` in that deal."""

    winners, forgets = (), {}

    async def step(self):
        pulka, now = self.pulka, BEGAN + 1000 * (len(self.commits) + 1)
        for seat in range(pulka.players):
            due = match.entries_due(pulka, seat)
            if due and seat not in self.forgets.get(pulka.number, ()):
                return await self.commit(pulka.seats[seat], match.decide(pulka, seat, due[0], now))
        if pulka.deal is None:
            return await super().step()
        if match.awaits_confirmation(pulka):
            return await self.commit("clock", match.pause_over(pulka))
        seat, bid = match.to_act(pulka), Bid("6S")
        move = bid if seat == self.winners[pulka.number - 1] and bid in match.legal_moves(pulka, seat) else match.default_move(pulka)
        return await self.commit(pulka.seats[seat], match.decide(pulka, seat, move, now))


class ForgetsHisPool(Forgetful):
    """Who made the first game writes nothing until the third; what was due would have ended the pulka with the second."""

    winners, forgets = (0, 1, 2, 0), {1: (0,), 2: (0,)}


class NobodyWritesTheHelp(Forgetful):
    """The first game is written; the help that the second gives is not."""

    winners, forgets = (0, 0, 1, 2, 2, 1), {2: (0, 1, 2)}


@pytest.mark.parametrize("kind", [ForgetsHisPool, NobodyWritesTheHelp])
async def test_4_2_10_a_pulka_goes_on_where_an_entry_was_forgotten(site, log, kind):
    """What was due is not what ends it; help is not reckoned again over what stands otherwise. The file is good for an import too."""
    played = kind(log, 71, target=1, **BY_HAND)
    while played.pulka.number < len(played.winners) and await played.step() is not None:
        if match.phase(played.pulka) in ("between_deals", "auction") and played.pulka.number:
            await told(site, played)
    shown, file = await told(site, played)
    assert len(file["deals"]) >= 3
    without = {"deals": [{name: value for name, value in deal.items() if name != "kept"} for deal in file["deals"]]}
    with pytest.raises(Malformed, match="had ended"):
        score_document(json.dumps(file | without))
    table = PlayedTable(log, 72)
    await table.commit("operator:desk", (imported(file, table.seats, "public", "operator:desk"),))
    assert (await site.read(table, "/sheet"))["sheet"] == shown["sheet"]
    here, there = [await site.read(one, "/sheet", **{"as": "leningrad"}) for one in (played, table)]
    assert here["differences"]["deals"] == there["differences"]["deals"]


class WithANewcomer(Forgetful):
    """All write what is due to them; somebody joins after the second deal, of which nothing is written before he sits."""

    winners = (0, 1, 2, 1, 3)


async def test_3_1_2_what_is_written_after_a_newcomer_sat_down_stands_on_his_section_s_sheet(site, log, connection):
    """The file of his section starts with the sheet as its first deal was dealt; that of the section before ends as he found it."""
    played = WithANewcomer(log, 71, target=6, **BY_HAND)
    while played.pulka.number < 2 or match.phase(played.pulka) != "auction":
        await played.step()
    await joins(played, "eve")
    moments = 0
    while played.pulka.number < len(played.winners) and await played.step() is not None:
        if played.pulka.players == 4:
            moments += 1
            files = []
            for section in (1, 2):
                shown = await site.read(played, "/sheet", section=section)
                files.append(await site.read(played, "/score-file", section=section))
                assert score_document(json.dumps(files[-1]))["sheet"] == shown["sheet"]
            assert shown["sheet"] == played.pulka.sheet.document()
            exported = (await site.get("/export/score-files", headers=site.token("boss", OPERATE))).text.splitlines()
            own = [row["score_file"] for row in map(json.loads, exported) if row.get("table_id") == played.id]
            assert own == [file for file in files if file["deals"]]
    assert moments > 10
    assert files[1]["start"]["pool"] != files[0]["deals"][-1]["kept"]["pool"]
    for deal in (await site.read(played, "/deals"))["deals"]:
        record = await site.read(played, f"/deals/{deal['number']}")
        assert replay_document(json.dumps(record))["score"] == deal["written"]
    assert (await verify_table(log, played.address, connection))["problems"] == []
