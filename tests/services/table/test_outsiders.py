"""What somebody learns of a table who has no part in it and sends it moves all the same: that they may not, and no revision."""

from __future__ import annotations

import pytest

from services.table.api import Desk, make_move
from services.table.guards import Sender
from services.table.viewer_stream import Reader
from shared.events.redaction import PublicCodec
from shared.rules.language.moves import Bid, Cut, Join
from shared.web.problems import Problem
from shared.web.streams.streaming import Streams
from tests.services.table.playing import KEYS, PLAYERS, TABLE_ID, Playing
from tests.services.table.test_archived import archived
from tests.token_keys import verifier

LATE = {"spectators": {"allowed": True, "delay_deals": 1}}
HIDDEN = [{"visibility": "private"}, LATE, {"spectators": {"allowed": False}}]


async def at(terms):
    """A table in its second auction, and what its handlers work with."""
    playing = await Playing(target=40, terms=terms).open()
    await playing.until("auction", deal=2)
    reader = Reader(playing.tables, PublicCodec(KEYS), lambda: playing.now)
    return playing, Desk(playing.tables, reader, KEYS, Streams(), verifier(), lambda: playing.now, lambda _: None)


async def refused(desk, player, move, seen=None):
    with pytest.raises(Problem) as problem:
        await make_move(desk, TABLE_ID, Sender(player, "key", seen, "0" * 16, 0), move)
    return problem.value


@pytest.mark.parametrize("terms", HIDDEN, ids=str)
async def test_f25_a_refusal_tells_an_outsider_no_revision(terms):
    """F25: a table that they may not look at, or only later, tells a stranger's move no revision, in no field and no word."""
    playing, desk = await at(terms)
    revision = (await playing.table()).revision
    for problem in (await refused(desk, "eve", Bid("pass")), await refused(desk, "eve", Cut(16), seen=0)):
        assert (problem.code, problem.document.revision) == ("not_seated", None)
        assert str(revision) not in problem.detail


@pytest.mark.parametrize("terms", [*HIDDEN, {}], ids=str)
async def test_f25_players_are_told_the_revision(terms):
    """F25: who plays gets it with every refusal, to read the table anew; at an open table everybody sees it anyway."""
    playing, desk = await at(terms)
    revision = (await playing.table()).revision
    assert {(await refused(desk, player, Cut(16))).document.revision for player in PLAYERS[:3]} == {revision}
    assert (await refused(desk, "eve", Cut(16))).document.revision == (None if terms else revision)


@pytest.mark.parametrize("terms", [*HIDDEN, {}], ids=str)
async def test_f25_who_asks_for_a_seat_is_answered_with_what_they_did(terms):
    """F25: the answer to an outsider's `join` has its event, and neither revision nor place in the log unless they see the table."""
    playing, desk = await at(terms)
    answer = await make_move(desk, TABLE_ID, Sender("eve", "key", None, "0" * 16, playing.now), Join())
    assert (answer["revision"], answer["position"] is not None) == ((None, False) if terms else ((await playing.table()).revision, True))
    assert b"ConsentAsked" in bytes(answer["events"][0])


async def test_f25_of_an_archived_table_nobody_is_told_a_revision():
    """F25: who might look at it went with its history, so that the refusal of any move tells nobody how far it came."""
    playing, desk = await at({})
    await archived(playing)
    for player in ("ann", "eve"):
        problem = await refused(desk, player, Bid("pass"))
        assert (problem.code, problem.document.revision) == ("archived", None)
