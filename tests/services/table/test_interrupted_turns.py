"""Turns that a claim or a proposal interrupts: whose clock runs, what is given back, and what everybody sees (Decision 24, 3.9.22)."""

from __future__ import annotations

import pytest

from services.table.table import Turn, begins_a_turn, deadline
from services.table.view import view
from shared.eventlog.aggregates.aggregates import Committed, Nothing
from shared.rules.deal.claiming import may_claim
from shared.rules.deal.proposing import PAUSE
from shared.rules.deck.cards import hand_text
from shared.rules.language.game_events import (
    CardExposed,
    CardPlayed,
    ClaimAnswered,
    DealRevealed,
    DealScored,
    PauseAgreed,
    ProposalAnswered,
    PulkaClosed,
    TurnTimedOut,
)
from shared.rules.language.moves import Answer, Claim, Propose, Remedy
from shared.rules.pulka import decider as match
from tests.services.table.playing import PLAYERS, TABLE_ID, Playing


async def claimed(terms=None):
    """A table whose declarer claims ten seconds into his turn, his turn before, and the claim's answer."""
    playing = await Playing(terms=terms, seed=3).open()
    while True:
        table = await playing.until("play")
        deal = table.pulka.deal
        if deal.declarer == deal.to_act and may_claim(deal, deal.to_act):
            break
        await playing.step()
    playing.now = table.turn_began + 9_000
    made = await playing.send(PLAYERS[deal.declarer], Claim(0))
    return playing, table, made


async def answered(playing, move):
    table = await playing.table()
    return await playing.send(PLAYERS[match.to_act(table.pulka)], move)


async def test_c_03_a_rejected_claim_gives_back_the_turn_and_its_clock():
    """While a claim waits the claimer's clock stands; refused, the same turn goes on with the time that it had left (C-03, Decision 24)."""
    playing, before, made = await claimed()
    asked = await playing.table()
    assert (asked.turn_revision, asked.turn_began) == (made.commit.revision, playing.now)
    playing.now += 4_000
    refused = await answered(playing, Answer(accept=False))
    while match.phase((await playing.table()).pulka) == "remedy":
        refused = await answered(playing, Remedy("pass"))
    table = await playing.table()
    assert (match.phase(table.pulka), match.to_act(table.pulka), table.turn_revision) == (
        "play",
        before.pulka.deal.to_act,
        before.turn_revision,
    )
    assert deadline(table) == playing.now + 20_000
    assert table.pulka.deal.play == before.pulka.deal.play
    late = Turn(before.turn_revision, deadline(before))  # what a sweep had read before the claim
    assert isinstance(await playing.tables.time_out(TABLE_ID, late, playing.now), Nothing)
    own = await playing.send(
        PLAYERS[before.pulka.deal.to_act], match.legal_moves(table.pulka, match.to_act(table.pulka))[0], if_match=before.revision
    )
    assert isinstance(own, Committed), refused


async def test_a_claim_that_nobody_answers_is_refused_by_the_clock():
    """Who is asked has a turn of his own; when it runs out the claim counts as refused (3.9.22) [conv]."""
    playing, before, _ = await claimed()
    asked = await playing.table()
    done = await playing.tables.time_out(TABLE_ID, Turn(asked.turn_revision, deadline(asked)), deadline(asked))
    assert [type(event) for event in done.events[:3]] == [TurnTimedOut, ClaimAnswered, CardExposed]
    for _ in range(3):
        table = await playing.table()
        if match.phase(table.pulka) == "play":
            break
        await playing.tables.time_out(TABLE_ID, Turn(table.turn_revision, deadline(table)), deadline(table))
    assert (table.turn_revision, match.to_act(table.pulka)) == (before.turn_revision, before.pulka.deal.to_act)
    done = await playing.tables.time_out(TABLE_ID, Turn(table.turn_revision, deadline(table)), deadline(table))
    assert [type(event) for event in done.events[:2]] == [TurnTimedOut, CardPlayed]


async def agreed(playing, seat, move):
    """Everybody agrees to a proposal of `seat`; the last answer."""
    answer = await playing.send(PLAYERS[seat], move)
    while match.waits_for_answer((await playing.table()).pulka):
        answer = await answered(playing, Answer(accept=True))
    return answer


async def test_an_agreed_pause_stops_the_clock_for_so_long():
    """The turn goes on as it was, with the time of the pause on top (5.4.11) [conv]."""
    playing = await Playing().open()
    before = await playing.until("auction")
    playing.now = before.turn_began + 9_000
    asker = (match.to_act(before.pulka) + 1) % 3
    done = await agreed(playing, asker, Propose("pause"))
    assert isinstance(done.events[-1], PauseAgreed)
    table = await playing.table()
    assert (table.turn_revision, match.to_act(table.pulka)) == (before.turn_revision, match.to_act(before.pulka))
    assert deadline(table) == playing.now + 20_000 + 1_000 * PAUSE
    assert not begins_a_turn(done.commit)  # whoever looks at the clocks folds the table
    await playing.step()
    assert deadline(await playing.table()) == playing.now + 30_000


async def test_a_proposal_dies_with_a_refusal_by_the_clock():
    """Who does not answer has not agreed; the clock of the turn has stood meanwhile (3.9.22) [conv]."""
    playing = await Playing().open()
    before = await playing.until("auction")
    await playing.send(PLAYERS[0], Propose("stop_pulka"))
    asked = await playing.table()
    done = await playing.tables.time_out(TABLE_ID, Turn(asked.turn_revision, deadline(asked)), deadline(asked))
    assert [type(event) for event in done.events] == [TurnTimedOut, ProposalAnswered]
    table = await playing.table()
    assert (match.phase(table.pulka), table.turn_revision, table.pulka.stopping) == ("auction", before.turn_revision, False)


@pytest.mark.parametrize(("convention", "players"), [("sochi", 3), ("leningrad", 4)])
async def test_5_4_18_a_pulka_that_all_agree_to_stop_ends_with_its_deal(convention, players):
    """The deal is played to its end, then each one's shortage counts and the pulka is closed (5.4.18)."""
    playing = await Playing(convention, players, target=50).open()
    await playing.until("auction")
    await agreed(playing, players - 1, Propose("stop_pulka"))
    assert (await playing.table()).pulka.stopping
    outcome = None
    while (await playing.table()).pulka.status != "over":
        outcome = await playing.step()
    assert [type(event) for event in outcome.events[-3:]] == [DealScored, DealRevealed, PulkaClosed]
    closed, pulka = outcome.events[-1], (await playing.table()).pulka
    assert (closed.reason, pulka.number) == ("by_consent", 1)
    weight = pulka.convention.pool_weight
    shortage = [high + weight * (50 - pool) for high, pool in zip(pulka.sheet.mountain, pulka.sheet.pool, strict=True)]
    assert (closed.settlement["mountain"], sum(closed.settlement["rounded"])) == (shortage, 0)


async def test_before_the_cards_are_dealt_nothing_is_proposed():
    """Proposals are made in a deal; there is nothing to interrupt before it (5.4.18) [conv]."""
    playing = await Playing().open()
    outcome = await playing.send(PLAYERS[0], Propose("stop_pulka"))
    assert (outcome.refused.code, outcome.refused.rule) == ("wrong_phase", "3.2.5")


async def test_everybody_sees_what_is_pending_and_exposed():
    """Claim and claimer's cards are shown to every seat and to spectators (3.9.15)."""
    playing, before, _ = await claimed()
    deal = before.pulka.deal
    hand = hand_text(deal.held(deal.declarer))
    table = await playing.table()
    for seat in (None, 0, 1, 2):
        shown = view(table, seat, "", 0, [])
        assert (shown["phase"], shown["to_act"]) == ("claim", shown["pending"]["asked"][0])
        assert (shown["pending"]["what"], shown["pending"]["seat"], shown["pending"]["tricks"]) == ("claim", deal.declarer, 0)
        assert (shown["exposed"][deal.declarer], shown["hands"][deal.declarer]) == (hand, hand)
    await answered(playing, Answer(accept=False))
    shown = view(await playing.table(), None, "", 0, [])
    assert (shown["pending"]["what"], shown["pending"]["of"], shown["exposed"][deal.declarer]) == ("remedy", deal.declarer, hand)
