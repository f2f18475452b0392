"""The books of tables at which rules are broken: every commit follows from its move, deals are replayed, sheets scored again."""

from __future__ import annotations

import json

import msgspec
import pytest

from services.ledger.audit.verify import verify_table
from shared.rules.adjudicated.court import ARBITER
from shared.rules.deck.cards import hand_text
from shared.rules.language.game_events import TurnTimedOut
from shared.rules.language.moves import Bid, CallAttention, Confirm, Declare, Discard, Take, Whist, WriteEntry
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.score_files.deal_record import replay_document
from shared.rules.score_files.score_file import score_document
from tests.lot import drawn_move
from tests.rules.adjudicated.test_court_properties import anything
from tests.services.ledger.audit.test_verify import codes, copied, with_event
from tests.services.ledger.played import BEGAN, PlayedTable

pytestmark = pytest.mark.servers

JUDGE = "0-" + "j" * 26
TERMS = {"mode": "adjudicated", "attention": "players", "arbiter": JUDGE, "pause_s": 10, "order_pause_s": 3}


class Misplayed(PlayedTable):
    """A table whose players do anything that hands can do, `wild` of their moves; time-outs too."""

    wild, writes = 0.35, 0.4

    async def step(self):
        pulka, draw = self.pulka, self.draw
        now = BEGAN + 1000 * (len(self.commits) + 1)
        if pulka.kept_sheet is not None and pulka.status == "playing":
            maker, move = _about_the_sheet(pulka, draw)
            if pulka.kept_sheet.asked is not None:
                maker = match.to_act(pulka)
                move = draw.choice(match.legal_moves(pulka, maker))
            decided = match.decide(pulka, maker, move, now)
            if not isinstance(decided, Refused) and (pulka.kept_sheet.asked is not None or draw.random() < self.writes):
                return await self.commit(self.seats[maker], decided)
        return await (super().step() if pulka.deal is None else self._play(now))

    async def _play(self, now):
        pulka, draw = self.pulka, self.draw
        for _ in range(3):  # what is refused is tried in another way
            if draw.random() < self.wild:
                maker, move = anything(draw, pulka.deal)
            elif match.awaits_confirmation(pulka):
                maker, move = draw.randrange(pulka.players), Confirm()
            else:
                break
            decided = match.decide(pulka, maker, move, now)
            if not isinstance(decided, Refused):
                return await self.commit(JUDGE if maker == ARBITER else self.seats[maker], decided)
        if match.awaits_confirmation(pulka):
            return await self.commit("clock", match.pause_over(pulka))
        if draw.random() < 0.1:
            seat = match.to_act(pulka)
            decided = match.decide(pulka, seat, match.default_move(pulka), now)
            return await self.commit("clock", (TurnTimedOut(seat, now), *decided))
        seat = match.to_act(pulka)
        return await self.commit(self.seats[seat], match.decide(pulka, seat, drawn_move(pulka, seat, draw), now))


def _about_the_sheet(pulka, draw):
    """An entry that is due, or one that is not, or a call of attention to somebody's."""
    seat = draw.randrange(pulka.players)
    due = match.entries_due(pulka, seat)
    if due and draw.random() < 0.6:
        entry = draw.choice(due)
        return seat, entry if draw.random() < 0.7 else msgspec.structs.replace(entry, amount=draw.randrange(1, 40))
    if draw.random() < 0.2:
        return seat, WriteEntry("mountain", draw.randrange(5))
    return seat, CallAttention(draw.choice(("4.2.7", "4.2.9")), draw.choice((None, *range(pulka.players))))


@pytest.mark.parametrize("attention", ["players", "server"])
@pytest.mark.parametrize(("convention", "players"), [("sochi", 3), ("leningrad", 4), ("rostov", 3), ("classic", 3)])
async def test_an_adjudicated_table_is_verified_scored_and_replayed(projector, site, log, connection, convention, players, attention):
    """Whatever was done: the log proves itself, `/score-file` scores to the same sheet, every scored deal's record replays to its entries
    (IRREGULARITIES: nothing is ever removed from the log).
    """
    terms = {"terms": TERMS | {"attention": attention}}
    played = await Misplayed(log, 31, convention=convention, players=players, target=60, **terms).play(deals=12)
    assert await projector.at_least.wait(played.commits[-1].position)
    verdict = await verify_table(log, played.address, connection)
    assert verdict["problems"] == []
    shown = await site.read(played, "/sheet")
    assert shown["sheet"] == played.pulka.sheet.document()
    scored = score_document(json.dumps(await site.read(played, "/score-file")))
    assert scored == {name: value for name, value in shown.items() if name not in ("as_of", "position")}
    listed = (await site.read(played, "/deals"))["deals"]
    assert [deal["written"] for deal in listed] == shown["deals"]
    for deal in listed:
        record = await site.read(played, f"/deals/{deal['number']}")
        replayed = replay_document(json.dumps(record))
        assert not hasattr(replayed, "refused"), (replayed, record["moves"][replayed.move])
        assert replayed["score"] == deal["written"], deal["number"]


async def test_3_3_17_a_talon_given_back_and_taken_in_the_dark_is_by_the_rules(projector, log, connection):
    """Who has won in the dark takes the talon that was drawn for an early taker's, and the check finds it so (3.3.17, 3.3.19)."""
    dark = {"preset": "classic", "dark": {"limit": 3, "opening_rounds": 0}}
    played = await PlayedTable(log, 7, convention=dark, terms=TERMS | {"attention": "server"}).play(commits=1)
    while played.pulka.deal is None:
        await played.step()
    one, two, three = played.pulka.deal.setup.order
    for seat, move in ((one, Bid("7S", dark=True)), (three, Take()), (two, Bid("pass")), (one, Take())):
        await played.commit(played.seats[seat], match.decide(played.pulka, seat, move, 0))
    assert played.pulka.secrets.returned
    while match.to_act(played.pulka) is not None:
        seat = match.to_act(played.pulka)
        now = BEGAN + 1000 * (len(played.commits) + 1)
        await played.commit(played.seats[seat], match.decide(played.pulka, seat, match.default_move(played.pulka), now))
    await played.commit("clock", match.pause_over(played.pulka))
    assert await projector.at_least.wait(played.commits[-1].position)
    assert (await verify_table(log, played.address, connection))["problems"] == []


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("AttentionCalled", {"by": lambda by: 2 if by != 2 else 0}),
        ("FineWritten", {"infraction": lambda one: {**one, "seat": (one["seat"] + 1) % 3}}),
        ("Confirmed", {"seat": lambda seat: (seat + 1) % 3}),
        ("DealEnded", {"outcome": lambda outcome: {**outcome, "dealer": (outcome["dealer"] + 1) % 3}}),
        ("Ruled", {"by": lambda _: 1}),
    ],
)
async def test_a_forged_ruling_is_noticed(log, event, fields):
    """A call of attention, a fine, a confirmation or a ruling that the log does not owe to its maker's move is found."""
    played = await Misplayed(log, 41, target=40, terms=TERMS).play(deals=10)
    forgery = with_event(None, event, **fields)
    verdict = await verify_table(await copied(played, forgery, rechain=True), played.address)
    assert forgery.done
    assert {found for _, found in codes(verdict)} & {"not_by_the_rules", "unreadable"}


@pytest.mark.parametrize(("convention", "players"), [("sochi", 3), ("leningrad", 4)])
async def test_a_sheet_that_the_players_keep(projector, site, log, connection, convention, players):
    """What they wrote, right or wrong, is the sheet of the books and of the score file; deals replay to what was due (4.2.4-4.2.10)."""
    terms = {"terms": TERMS | {"entries": "by_hand"}}
    played = await Misplayed(log, 34, convention=convention, players=players, target=200, **terms).play(deals=12)
    assert await projector.at_least.wait(played.commits[-1].position)
    assert (await verify_table(log, played.address, connection))["problems"] == []
    shown = await site.read(played, "/sheet")
    assert shown["sheet"] == played.pulka.sheet.document()
    scored = score_document(json.dumps(await site.read(played, "/score-file")))
    assert (scored["sheet"], scored["settlement"]) == (shown["sheet"], shown["settlement"])
    for deal in (await site.read(played, "/deals"))["deals"]:
        record = await site.read(played, f"/deals/{deal['number']}")
        replayed = replay_document(json.dumps(record))
        assert not hasattr(replayed, "refused"), (replayed, record["moves"][replayed.move])
        assert replayed["score"] == deal["written"], deal["number"]


async def test_the_arbiter_reads_the_books_of_a_private_table(site, log):
    """He judges at a table that nobody else without a seat may look at (4.2.16, 5.5)."""
    played = await Misplayed(log, 33, terms=TERMS | {"visibility": "private"}).play(deals=1)
    assert (await site.get(f"/tables/{played.id}/sheet", "somebody", at_least=played.commits[-1].position)).status_code == 403
    assert (await site.read(played, "/sheet", JUDGE))["sheet"] == played.pulka.sheet.document()


@pytest.mark.parametrize(("version", "problems"), [(1, set()), (2, {"not_by_the_rules"})])
async def test_what_was_heard_in_version_1_is_verified_as_it_was_heard(log, version, problems):
    """F7: a call that came to nothing stands in a log of version 1; now it is refused, and a log of version 2 that has it is wrong."""
    rules = {"preset": "sochi", "version": version}
    played = PlayedTable(log, 31, convention=rules, terms=TERMS)
    while match.phase(played.pulka) != "auction":
        await played.step()
    declarer = match.to_act(played.pulka)

    async def says(move):
        seat, now = match.to_act(played.pulka), BEGAN + 1000 * (len(played.commits) + 1)
        await played.commit(played.seats[seat], match.decide(played.pulka, seat, move, now))

    for move in (Bid("6S"), Bid("pass"), Bid("pass")):
        await says(move)
    twelve = hand_text(played.pulka.deal.held(declarer)).split()
    for move in (Discard(tuple(twelve[:2])), Declare("6S"), Whist("pass"), Whist("pass")):
        await says(move)
    call, caller = CallAttention("3.4.12", declarer), (declarer + 1) % 3
    assert match.decide(played.pulka, caller, call) == Refused(
        "call_not_allowed", "3.4.12", "The deal is over: no order can be changed any more."
    )
    court = played.pulka.deal
    as_before = msgspec.structs.replace(court, terms=msgspec.structs.replace(court.terms, unchecked=True))
    heard = match.decide(msgspec.structs.replace(played.pulka, deal=as_before), caller, call)
    await played.commit(played.seats[caller], heard)
    await played.commit("clock", match.pause_over(played.pulka))
    assert {found for _, found in codes(await verify_table(log, played.address))} == problems
