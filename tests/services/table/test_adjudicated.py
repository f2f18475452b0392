"""A served table whose players may break the rules: what each viewer is shown, whose turn runs how long, and who may judge."""

from __future__ import annotations

import msgspec
import pytest

from services.table.table import begins_a_turn, deadline, fold, initial, next_deal, shortest_turn
from services.table.view import view
from services.table.viewers import viewer_of
from shared.eventlog.aggregates.aggregates import Committed, RefusedAt
from shared.events import address
from shared.events.commit import decode
from shared.events.redaction import PublicCodec
from shared.rules.adjudicated.court import ARBITER
from shared.rules.language.game_events import DealScored
from shared.rules.language.moves import Bid, CallAttention, Confirm, Expose, Peek, Remedy, RuledEntry, Ruling, WriteEntry
from shared.rules.pulka import decider as match
from shared.web.auth import READ, Caller
from shared.web.problems import Problem
from tests.services.table.misplaying import ALL, JUDGE, Known, Misplaying
from tests.services.table.playing import KEYS, PLAYERS, TABLE_ID

NAMES_CONTRACTS = {"bid", "contract", "auction"}  # "7S" is a contract and a card; the auction is public


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["players", "server"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("players", [2, 3, 4, 5])
async def test_whatever_is_done_no_viewer_is_shown_a_card_that_he_may_not_know(players, seed, attention):
    """A search through every byte of every view and frame of players who break rules finds no hidden card, no seed, and no sign of a
    revoke, for any seat and a spectator; the arbiter sees all cards (3.2.19, 3.9.19, 5.5.1).
    """
    terms = {"attention": attention, "arbiter": JUDGE}
    playing = await Misplaying(players=players, seed=seed, target=20 if players == 2 else 2, terms=terms).open()
    known, redaction, shown = Known(players), PublicCodec(KEYS), 0
    for _ in range(400):
        if (await playing.table()).pulka.status == "over":
            break
        outcome = await playing.step()
        if not isinstance(outcome, Committed):
            continue
        after = outcome.loaded.state
        known.hear(playing.tables.codec.open(outcome.commit))
        revealed = after.pulka.deal is None
        for viewer in (None, *range(players)):
            frame = scrubbed(redaction.redacted(outcome.commit, viewer))
            body = scrubbed(view(after, viewer, "", 0, []))
            text = msgspec.json.encode([frame, body]).decode()
            hidden = set() if revealed else set(ALL.split()) - known.of[viewer]
            assert not [card for card in hidden if card in text], (viewer, match.phase(after.pulka), text)
            shown += len(hidden)
            assert not [one for one in frame if one["type"] == "CardPlayed" and one.get("irregular", "").startswith("3.9.16")]
            assert revealed or after.pulka.secrets.server_seed not in text
        if not revealed:
            judged = view(after, "arbiter", "", 0, [])
            assert None not in (*judged["hands"], judged["talon"])
            assert judged["legal"] == []
            assert after.pulka.secrets.server_seed not in msgspec.json.encode(judged).decode()
    assert shown > 1_000


def scrubbed(told):
    """Without the values that name contracts, and without moves on offer, which hold nothing but one's own."""
    if isinstance(told, dict):
        return {
            name: scrubbed(value)
            for name, value in told.items()
            if name not in NAMES_CONTRACTS and not (name == "legal" and any(move["type"] in ("bid", "contract") for move in value))
        }
    return [scrubbed(value) for value in told] if isinstance(told, (list, tuple)) else told


async def auction(**terms):
    """A table in its first auction, and the seats in the order in which they call."""
    playing = await Misplaying(wild=0.0, terms={"arbiter": JUDGE, **terms}).open()
    pulka = (await playing.until("auction")).pulka
    return playing, [pulka.seats[(pulka.dealer + step) % 3] for step in (1, 2, 3)]


async def all_pass(playing, order):
    """All pass, and the third hand plays out of turn; attention ends the deal (3.9.14.3), whose result waits to be confirmed."""
    for player in order:
        await playing.send(player, Bid("pass"))
    pulka = (await playing.table()).pulka
    seat = pulka.seats.index(order[2])
    card = view(await playing.table(), seat, "", 0, [])["hand"].split()[0]
    await playing.send(order[2], msgspec.convert({"type": "play", "card": card}, match.AnyMove))
    ended = await playing.send(order[0], CallAttention("3.9.14.3"))
    while match.phase((table := await playing.table()).pulka) == "remedy":  # who could have done better may claim it
        ended = await playing.send(table.pulka.seats[match.to_act(table.pulka)], Remedy("pass"))
    return ended


async def test_the_pause_after_a_deal_ends_by_the_clock():
    """Nobody need confirm: after `pause_s` the deal is scored, once; who confirms does not make the others wait longer."""
    playing, order = await auction(pause_s=7)
    ended = await all_pass(playing, order)
    table = await playing.table()
    assert (match.phase(table.pulka), match.to_act(table.pulka)) == ("scored", None)
    assert deadline(table) == ended.commit.at + 7_000
    await playing.send(order[1], Confirm())
    assert deadline(await playing.table()) == ended.commit.at + 7_000
    shown = view(await playing.table(), 0, "", 0, [])
    assert (shown["court"]["confirmed"].count(True), shown["court"]["result"]["contract"]) == (1, "all_pass")
    scored = await playing.runs_out()
    assert (scored.commit.actor, type(scored.events[0])) == ("clock", DealScored)
    assert (await playing.tables.time_out(TABLE_ID, playing.turn, playing.now)).repeated


async def test_all_confirm_and_the_deal_is_scored_at_once():
    """With the last confirmation; nobody confirms twice."""
    playing, order = await auction()
    await all_pass(playing, order)
    for player in order[:2]:
        await playing.send(player, Confirm())
    assert (await playing.send(order[0], Confirm())).refused.code == "not_your_turn"
    assert DealScored in map(type, (await playing.send(order[2], Confirm())).events)


async def test_a_call_out_of_turn_leaves_the_turn_where_it_is():
    """It waits for its turn (3.3.18); the player on turn keeps his clock, and what he saw before holds."""
    playing, order = await auction()
    before = await playing.table()
    early = await playing.send(order[2], Bid("7S"))
    after = await playing.table()
    assert (after.turn_revision, deadline(after)) == (before.turn_revision, deadline(before))
    assert not begins_a_turn(early.commit)
    assert view(after, None, "", 0, [])["court"]["waiting_calls"] == [{"seat": PLAYERS.index(order[2]), "bid": "7S"}]
    assert isinstance(await playing.send(order[0], Bid("pass"), if_match=before.revision), Committed)


async def test_moves_out_of_turn_hold_for_the_turn_that_was_seen():
    """Who says what he has seen is refused when that turn is over, out of turn too; who says nothing is taken at his word."""
    playing, order = await auction()
    seen = (await playing.table()).revision
    await playing.send(order[0], Bid("6S"))
    hand = view(await playing.table(), PLAYERS.index(order[2]), "", 0, [])["hand"].split()
    late = await playing.send(order[2], Expose((hand[0],)), if_match=seen)
    assert (late.refused.code, isinstance(late, RefusedAt)) == ("stale_revision", True)
    assert isinstance(await playing.send(order[2], Expose((hand[0],))), Committed)
    assert view(await playing.table(), None, "", 0, [])["exposed"][PLAYERS.index(order[2])] == hand[0]


async def test_what_somebody_looked_at_he_sees_and_nobody_else():
    """The talon is in the view of who looked (3.2.21), and of the arbiter; when he turns it up it is in everybody's (3.3.16.2)."""
    playing, order = await auction()
    await playing.send(order[1], Peek("talon"))
    talons = {eye: view(await playing.table(), eye, "", 0, [])["talon"] for eye in (*range(3), ARBITER, None)}
    talon = (await playing.table()).pulka.secrets.talon
    assert talons == {eye: talon if eye in (PLAYERS.index(order[1]), ARBITER) else None for eye in talons}
    await playing.send(order[1], Peek("talon", show=True))
    assert view(await playing.table(), None, "", 0, [])["talon"] == talon


async def test_the_arbiter_judges_and_does_not_play():
    """He calls attention and rules (4.2.16); a stranger may do neither (5.5.1), and a player may not rule."""
    playing, order = await auction()
    ruling = Ruling("3.4.12", 0, "so agreed", (RuledEntry(0, "mountain", 3),))
    assert (await playing.send(JUDGE, Bid("pass"))).refused.code == "not_your_turn"
    assert (await playing.send("eve", CallAttention("3.2.19"))).refused.code == "not_seated"
    assert (await playing.send(order[0], ruling)).refused.code == "not_your_turn"
    assert isinstance(await playing.send(JUDGE, ruling), Committed)
    assert view(await playing.table(), None, "", 0, [])["court"]["infractions"][0]["reason"] == "so agreed"


async def test_only_the_arbiter_looks_with_his_eye():
    """His token shows him the table as the arbiter, a private one too; without the scope `read` nothing."""
    playing, _ = await auction(visibility="private")
    table = await playing.table()
    assert viewer_of(table, Caller(JUDGE, frozenset({READ}), 1 << 40)).eye == ARBITER
    with pytest.raises(Problem) as stranger:
        viewer_of(table, Caller("eve", frozenset({READ}), 1 << 40))
    with pytest.raises(Problem) as unread:
        viewer_of(table, Caller(JUDGE, frozenset(), 1 << 40))
    assert (stranger.value.code, unread.value.code) == ("not_seated", "scope_missing")


@pytest.mark.parametrize("seed", range(3))
async def test_it_folds_the_same_from_the_log(seed):
    """Whatever was done, the log folds to what was played; a commit that leaves a turn where it was is told by its bytes."""
    playing = await Misplaying(seed=seed, target=3, terms={"arbiter": JUDGE}).open()
    kept = 0
    for _ in range(250):
        before = await playing.table()
        if before.pulka.status == "over":
            break
        outcome = await playing.step()
        if isinstance(outcome, Committed) and outcome.loaded.state.turn_revision == before.turn_revision:
            assert not begins_a_turn(outcome.commit)
            kept += 1
    assert kept
    table = initial(address.table(TABLE_ID))
    for recorded in await playing.log.read(address.table(TABLE_ID)):
        commit = decode(recorded.data)
        table = fold(table, commit, playing.tables.codec.open(commit))
    assert table == await playing.table()
    assert shortest_turn(table.terms) == 5_000


async def test_a_pulka_is_settled_when_its_players_have_written():
    """Where each keeps his own columns the pulka that would end waits `pause_s`, in which entries are still written (4.2.9)."""
    playing = await Misplaying(wild=0.0, target=1, terms={"entries": "by_hand", "pause_s": 7}).open()
    while not match.settles_next((table := await playing.table()).pulka):
        due = [(seat, entry) for seat in range(3) for entry in match.entries_due(table.pulka, seat)]
        await (playing.send(PLAYERS[due[0][0]], due[0][1]) if due else playing.step())
    assert (match.phase(table.pulka), next_deal(table)) == ("between_deals", None)
    assert deadline(table) == table.turn_began + 7_000
    await playing.send(PLAYERS[0], WriteEntry("mountain", 1))
    assert deadline(await playing.table()) == deadline(table)
    await playing.tables.start_deal(TABLE_ID, table.pulka.number + 1, deadline(table))
    over = (await playing.table()).pulka
    assert over.status == "over"
    assert sum(over.settlement["rounded"]) == 0
