"""Who sits at a table may change under its clocks and streams: who sees what from when, and what stands still meanwhile."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from services.table.table import Turn, deadline, fold, initial, next_deal
from services.table.view import view
from shared.eventlog.aggregates.aggregates import Committed, RefusedAt
from shared.events import address
from shared.events.commit import decode
from shared.events.sealing import TableCodec
from shared.rules.language.member_events import NewcomerSeated, PulkaResumed, SubstituteSeated
from shared.rules.language.moves import Answer, Bid, Join, Leave, Propose, Ready
from shared.rules.pulka import decider as match
from shared.rules.pulka.members import AWAY
from shared.web.problems import Problem
from tests.services.table.playing import KEYS, PLAYERS, TABLE_ID, Playing
from tests.services.table.test_table import _hidden_cards, _without_contracts, _without_offers
from tests.services.table.test_viewer_stream import reader_of, token, told

YES = Answer(accept=True)


async def sends(playing, player, move):
    """A move that is accepted."""
    outcome = await playing.send(player, move)
    assert isinstance(outcome, Committed), outcome
    return outcome


async def all_consent(playing):
    """Everybody who is asked says yes; the last answer's outcome."""
    while (motion := (table := await playing.table()).pulka.members.motion) is not None:
        outcome = await sends(playing, table.pulka.seats[motion.waiting[0]], YES)
    return outcome


async def substituted(phase="play", **options):
    """A table at which eve has taken ben's seat in the middle of a deal."""
    playing = await Playing(**options).open()
    await playing.until(phase)
    await sends(playing, "eve", Join(1))
    await all_consent(playing)
    return playing


async def test_5_4_7_the_substitute_sees_the_seats_cards_from_now_on_and_the_other_no_more():
    """View and stream: eve has ben's hand, ben is a spectator; what was shown before stays shown to ben alone."""
    playing = await substituted("auction")
    reader, pulka = reader_of(playing), (await playing.table()).pulka
    hand = pulka.secrets.hands[1]
    hers, his = await reader.now(TABLE_ID, token("eve")), await reader.now(TABLE_ID, token("ben"))
    assert (hers["seat"], hers["hand"]) == (1, hand)
    assert (his["seat"], his["hand"], his["hands"]) == (None, None, [None] * 3)
    _, to_her = await told(reader, token("eve"), 0)
    _, to_him = await told(reader, token("ben"), 0)
    dealt = [
        next(event["hands"] for frame in frames for event in msgspec.json.decode(frame.data)["events"] if event["type"] == "CardsDealt")
        for frames in (to_her, to_him)
    ]
    assert dealt == [[None] * 3, [None, hand, None]]
    await playing.until("auction", 2)
    after = (await playing.table()).pulka.secrets.hands
    for who, expected in (("eve", [None, after[1], None]), ("ben", [None] * 3)):
        _, frames = await told(reader, token(who), 0)
        last = [event for frame in frames for event in msgspec.json.decode(frame.data)["events"] if event["type"] == "CardsDealt"][-1]
        assert last["hands"] == expected


async def test_5_4_7_only_the_substitute_can_move_for_the_seat():
    """From the last consent on the seat is hers; the other is refused like any stranger."""
    playing = await substituted("auction", seed=4)
    while match.to_act((await playing.table()).pulka) != 1:
        await playing.step()
    refused = await playing.send("ben", Bid("pass"))
    assert isinstance(refused, RefusedAt)
    assert refused.refused.code == "not_seated"
    move = match.legal_moves((await playing.table()).pulka, 1)[0]
    await sends(playing, "eve", move)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
async def test_5_4_7_nobody_is_shown_a_card_that_he_may_not_know_whoever_comes_and_goes(seed):
    """A search through every byte of every view and frame, by player: each is shown what his seat of that moment may know."""
    playing, shown = await Playing(seed=seed, target=4).open(), 0
    reader, people = reader_of(playing), (*PLAYERS[:3], "eve", "fay")
    for step in range(160):
        table = await playing.table()
        if table.pulka.status == "over":
            break
        outcome = await playing.step()
        if step == 20 and match.phase(outcome.loaded.state.pulka) != "between_deals":
            await sends(playing, "eve", Join(2))
            outcome = await all_consent(playing)
        if step == 40:
            await sends(playing, "fay", Join())
            outcome = await all_consent(playing)
        after = outcome.loaded.state
        for player in people:
            seat = after.pulka.seats.index(player) if player in after.pulka.seats else None
            hidden = _hidden_cards(after, seat)
            frames = (await told(reader, token(player), outcome.commit.revision - 1))[1]
            events = [_without_contracts(event) for event in msgspec.json.decode(frames[0].data)["events"]]
            frame, body = (msgspec.json.encode(part).decode() for part in (events, _without_offers(view(after, seat, "", 0, []))))
            for card, text in itertools.product(hidden, (frame, body)):
                shown += 1
                assert card not in text, (card, player, match.phase(after.pulka))
    assert {"eve", "fay"} <= set((await playing.table()).pulka.seats)
    assert shown > 5_000


async def test_3_1_2_a_newcomer_is_a_spectator_until_he_sits_and_everybodys_seat_is_his_own_again():
    """He asks, all consent, and after the deal each stream goes on from its player's new seat; the deal after that he rests and deals."""
    playing = await Playing(seed=2).open()
    await playing.until("auction")
    await sends(playing, "eve", Join())
    assert (await reader_of(playing).now(TABLE_ID, token("eve")))["seat"] is None
    await all_consent(playing)
    assert (await reader_of(playing).now(TABLE_ID, None))["newcomer"] == "eve"
    table = await playing.until("auction", 2)
    pulka = table.pulka
    assert pulka.players == 4
    assert pulka.seats[pulka.dealer] == "eve"
    for player in (*PLAYERS[:3], "eve"):
        body = await reader_of(playing).now(TABLE_ID, token(player))
        assert pulka.seats[body["seat"]] == player
        assert body["hand"] == pulka.secrets.hands[body["seat"]]
        _, frames = await told(reader_of(playing), token(player), 0)
        events = [event for frame in frames for event in msgspec.json.decode(frame.data)["events"]]
        assert sum(event["type"] == "NewcomerSeated" for event in events) == 1


async def test_5_4_18_in_an_adjourned_pulka_no_clock_runs_also_after_a_restart():
    """Nothing is due, however long it lasts, and the log alone says so; when all are ready the next deal is due at once."""
    playing = await Playing().open()
    await playing.until("auction")
    await sends(playing, "ann", Propose("adjourn"))
    await all_consent(playing)
    while match.phase((await playing.table()).pulka) != "between_deals":
        await playing.step()
    table = await playing.table()
    assert (deadline(table), next_deal(table)) == (None, None)
    playing.now += 30 * 24 * 3600 * 1000
    codec, folded = TableCodec(KEYS), initial(address.table(TABLE_ID))
    for recorded in await playing.log.read(address.table(TABLE_ID)):
        commit = decode(recorded.data)
        folded = fold(folded, commit, codec.open(commit))
    assert folded == table
    assert not isinstance(await playing.tables.start_deal(TABLE_ID, 2, playing.now), Committed)
    for player in PLAYERS[:2]:
        await sends(playing, player, Ready())
    last = await sends(playing, PLAYERS[2], Ready())
    assert last.events[-1] == PulkaResumed()
    assert next_deal(await playing.table()) == 2


async def test_5_4_18_asking_and_answering_leave_the_turn_and_its_clock_alone():
    """Whoever is to act still has until the same deadline, and may answer besides; a substitute for him has the whole time."""
    playing = await Playing(seed=1).open()
    before = await playing.until("auction")
    seat = match.to_act(before.pulka)
    await sends(playing, "eve", Join(seat))
    await sends(playing, before.pulka.seats[seat], YES)
    during = await playing.table()
    assert (during.turn_revision, deadline(during)) == (before.turn_revision, deadline(before))
    outcome = await all_consent(playing)
    assert isinstance(outcome.events[-1], SubstituteSeated)
    after = await playing.table()
    assert (after.turn_revision, after.turn_began) == (outcome.commit.revision, outcome.commit.at)


async def test_5_4_18_who_leaves_is_played_for_by_the_clock_and_counts_as_away():
    """His turns run out as for anybody who sleeps, so that the deal is finished; in the view he is away, then the table adjourns."""
    playing = await Playing(seed=3).open()
    await playing.until("auction")
    await sends(playing, "ann", Leave())
    for _ in range(200):
        table = await playing.table()
        if match.phase(table.pulka) == "between_deals":
            break
        if match.to_act(table.pulka) == 0:
            await playing.tables.time_out(TABLE_ID, Turn(table.turn_revision, deadline(table)), deadline(table))
        else:
            await playing.step()
    body = await reader_of(playing).now(TABLE_ID, None)
    assert (body["adjourned"], body["leaving"]) == (True, [True, False, False])
    assert body["away"][0] == ((await playing.table()).pulka.members.missed.count(0) >= AWAY)


async def test_5_5_a_stranger_can_only_ask_for_a_seat():
    """Whoever does not sit there may ask to; every other move of his is refused, his answer too."""
    playing = await Playing().open()
    await playing.until("auction")
    await sends(playing, "eve", Join())
    for move in (YES, Bid("pass"), Ready(), Propose("adjourn"), Leave()):
        refused = await playing.send("eve", move)
        assert (refused.refused.code, refused.refused.rule) == ("not_seated", "5.5")


async def test_5_4_7_at_a_private_table_a_replaced_players_stream_ends():
    """Only who sits at a private table may look at it: with the seat goes the view, under an open stream too."""
    playing = await substituted("auction", terms={"visibility": "private"})
    reader = reader_of(playing)
    with pytest.raises(Problem) as refused:
        await reader.now(TABLE_ID, token("ben"))
    assert (refused.value.status_code, refused.value.code) == (403, "not_seated")
    assert (await reader.now(TABLE_ID, token("eve")))["seat"] == 1


async def test_3_1_2_the_newcomers_seat_stands_in_the_commit_that_ends_the_deal():
    """Score, reveal and the new seats are one commit: nobody sees a table with half of it."""
    playing = await Playing(seed=2).open()
    await playing.until("auction")
    await sends(playing, "eve", Join())
    await all_consent(playing)
    while match.phase((await playing.table()).pulka) != "between_deals":
        outcome = await playing.step()
    assert [type(event).__name__ for event in outcome.events[-3:]] == ["DealScored", "DealRevealed", "NewcomerSeated"]
    assert isinstance(outcome.events[-1], NewcomerSeated)
