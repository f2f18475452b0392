"""Links at a served table: together in one commit, alone after a moment, named when they are missed (3.2.3)."""

from __future__ import annotations

import asyncio

import pytest

from services.bots.chain import OwnChain
from services.table.link_gathering import LinkGathering
from services.table.table import LINKS_S, Turn, deadline
from services.table.view import view
from shared.eventlog.aggregates.aggregates import Committed, Nothing, RefusedAt, Request
from shared.events import address
from shared.events.commit import decode
from shared.rules.deck.shuffle import CHAINED
from shared.rules.language.chain_events import LinkMissed, LinkOpened
from shared.rules.language.game_events import CardsDealt
from shared.rules.language.moves import Cut, OpenLink
from shared.rules.pulka import decider as match
from tests.services.table.playing import PLAYERS, TABLE_ID, Playing

CHAINS = [OwnChain.of(TABLE_ID, player) for player in PLAYERS]


class Linked(Playing):
    """A table whose players, or some of them, have promised chains."""

    def __init__(self, committed=(0, 1, 2), players=3):
        super().__init__(players=players)
        self.committed = committed
        self.gathering = LinkGathering(self.tables, lambda: self.now)

    async def open(self):
        ends = tuple(CHAINS[seat].end if seat in self.committed else "" for seat in range(self.opening.players))
        await self.tables.open(TABLE_ID, self.tables.promised(TABLE_ID, self.opening, ends), self.now, None)
        return self

    async def link(self, seat):
        """The link that `seat` is asked for, as its client finds it in the view."""
        return CHAINS[seat].link(view(await self.table(), seat, "", self.now, ()))

    async def opens(self, seat, link=None, player=None):
        link = link or await self.link(seat)
        request = Request(command_id=f"link-{seat}-{link}", actor=PLAYERS[seat], digest=link, now=self.now)
        return await self.gathering.open(TABLE_ID, player or PLAYERS[seat], OpenLink(link), request)

    async def all_open(self):
        return await asyncio.gather(*(self.opens(seat) for seat in (await self.table()).pulka.chains.waiting))

    async def cut(self):
        """A deal, its deck cut, links asked for."""
        await self.tables.start_deal(TABLE_ID, (await self.table()).pulka.number + 1, self.now)
        pulka = (await self.table()).pulka
        return await self.send(pulka.seats[match.cutter(pulka)], Cut(11))


@pytest.fixture
async def cut():
    """The first deal, its deck cut, three links asked for."""
    playing = await Linked().open()
    await playing.all_open()
    await playing.cut()
    return playing


async def test_3_2_3_links_that_come_together_are_one_commit_with_the_cards(cut):
    """Whoever opened gets that commit for an answer; nothing was waited for."""
    before = (await cut.table()).revision
    answers = await cut.all_open()
    assert all(isinstance(answer, Committed) for answer in answers)
    assert {answer.commit.revision for answer in answers} == {before + 1}
    kinds = [type(event) for event in answers[0].events]
    assert kinds[:4] == [LinkOpened, LinkOpened, LinkOpened, CardsDealt]
    table = await cut.table()
    assert (match.phase(table.pulka), table.revision) == ("auction", before + 1)


async def test_3_2_3_a_link_that_comes_alone_waits_for_a_moment_only(cut):
    """It is in the log by itself, and the turn of the others did not begin anew."""
    before = await cut.table()
    answer = await cut.opens(1)
    assert [type(event) for event in answer.events] == [LinkOpened]
    after = await cut.table()
    assert (after.pulka.chains.waiting, deadline(after)) == ((0, 2), deadline(before))
    assert view(after, 0, "", cut.now, ())["legal"] == [{"type": "link"}]
    assert view(after, 1, "", cut.now, ())["legal"] == []
    assert (await cut.all_open())[0].events[2].hands


async def test_3_2_3_a_link_that_does_not_fit_is_refused_and_keeps_nobodys_back(cut):
    """The others' links are in the log all the same."""
    right = [await cut.link(0), await cut.link(1)]
    wrong = cut.opens(2, "ab" * 32)
    refused, *answers = await asyncio.gather(wrong, cut.opens(0, right[0]), cut.opens(1, right[1]))
    assert isinstance(refused, RefusedAt)
    assert refused.refused.code == "link_does_not_fit"
    assert all(isinstance(answer, Committed) for answer in answers)
    assert (await cut.table()).pulka.chains.waiting == (2,)


async def test_3_2_3_a_link_sent_again_changes_nothing(cut):
    """Under another key, in the same deal and in the next; a stranger's is refused."""
    link = await cut.link(0)
    await cut.opens(0, link)
    assert isinstance(await cut.tables.move(TABLE_ID, "ann", OpenLink(link), None, Request("again", "ann", "", cut.now)), Nothing)
    await cut.all_open()
    assert isinstance(await cut.tables.move(TABLE_ID, "ann", OpenLink(link), None, Request("later", "ann", "", cut.now)), Nothing)
    assert (await cut.opens(0, link, player="eli")).refused.code == "not_seated"


async def test_3_2_3_whoever_hangs_up_takes_nobodys_link_along(cut):
    """Not even their own, once it has come."""
    waiting = asyncio.create_task(cut.opens(0))
    while not cut.gathering._open:  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(0)
    waiting.cancel()
    answers = await asyncio.gather(*(cut.opens(seat) for seat in (1, 2)))
    assert [type(event) for event in answers[0].events][:4] == [LinkOpened, LinkOpened, LinkOpened, CardsDealt]


async def test_3_2_3_when_the_time_is_over_the_deal_goes_on_and_names_who_missed_it(cut):
    """Five seconds after the cut, neither earlier nor with a link more or less."""
    await cut.opens(1)
    table = await cut.table()
    ends = table.turn_began + 1000 * LINKS_S
    assert deadline(table) == ends
    early = await cut.tables.time_out(TABLE_ID, Turn(table.turn_revision, ends - 1), ends)
    assert isinstance(early, Nothing)
    done = await cut.tables.time_out(TABLE_ID, Turn(table.turn_revision, ends), ends)
    assert [event for event in done.events if isinstance(event, LinkMissed)] == [LinkMissed(0), LinkMissed(2)]
    assert any(isinstance(event, CardsDealt) for event in done.events)
    chains = view(await cut.table(), 0, "", cut.now, ())["chains"]
    assert [own is None for own in chains["seats"]] == [True, False, True]


async def test_3_2_1_the_first_dealer_waits_for_all_links():
    """Round 0: before the first deal."""
    playing = await Linked(committed=(0, 2)).open()
    table = await playing.table()
    assert (match.phase(table.pulka), deadline(table)) == ("links", table.turn_began + 1000 * LINKS_S)
    await playing.all_open()
    assert match.phase((await playing.table()).pulka) == "between_deals"


async def test_3_2_3_a_pulka_is_played_to_its_end_with_chains():
    """Every deal is of algorithm 2; what the server promised is what it used, and the log folds to the same from its beginning."""
    playing = await Linked(committed=(0, 2)).open()
    await playing.all_open()
    while (pulka := (await playing.table()).pulka).status != "over":
        if match.phase(pulka) == "between_deals":
            await playing.cut()
            await playing.all_open()
        else:
            await playing.step()
    assert pulka.number > 1
    assert pulka.chains.server.round == pulka.number
    deals = [event for commit in await committed(playing) for event in commit if type(event).__name__ == "DealStarted"]
    assert {event.algorithm for event in deals} == {CHAINED}


async def committed(playing):
    """The events of all commits."""
    return [playing.tables.codec.open(decode(one.data)) for one in await playing.log.read(address.table(TABLE_ID))]
