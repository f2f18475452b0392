"""Whole adjudicated pulkas through the match: stored sealed, opened again, proved at the end, and shown to nobody who may not know."""

from __future__ import annotations

import random
from functools import reduce

import pytest

from services.ledger.audit.rules_check import move_behind
from shared.events.commit import decode
from shared.events.deal_proof import verify_deals
from shared.events.redaction import PublicCodec
from shared.rules.adjudicated.court import ARBITER
from shared.rules.adjudicated.moves_of_events import PAUSE_OVER
from shared.rules.adjudicated.replaying import RecordedMove, write_move
from shared.rules.convention.options import PRESETS, resolve, to_document
from shared.rules.language.game_events import DarkTalonTaken, DealRevealed, DealScored
from shared.rules.language.irregular_events import Redealt, TalonReturned
from shared.rules.language.moves import Bid, CallAttention, Concede, Confirm, Cut, Declare, Discard, Ruling, Take, Whist
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka, StartDeal
from shared.rules.score_files.deal_record import replay_document
from tests.events import story
from tests.events.played import PLAYERS
from tests.rules.adjudicated.test_court_properties import anything

SEED = story.SERVER_SEED


def opened(attention="players", players=3, convention="sochi"):
    """A match whose first deal has been cut and dealt, and its commits."""
    terms = {"mode": "adjudicated", "attention": attention}
    pulka = Pulka(table_id=story.TABLE.id)
    log = [match.open_pulka(pulka, OpenPulka(resolve(convention, 20), story.RULES_DIGEST, players, 20, PLAYERS[:players], terms, 0))]
    pulka = reduce(match.evolve, log[-1], pulka)
    return dealt(pulka, log)


def dealt(pulka, log):
    log.append(match.start_deal(pulka, StartDeal(pulka.number + 1, SEED)))
    pulka = reduce(match.evolve, log[-1], pulka)
    return moved(pulka, log, match.cutter(pulka), Cut(11)), log


def moved(pulka, log, maker, move):
    decided = match.decide(pulka, maker, move)
    if isinstance(decided, Refused):
        return pulka
    log.append(decided)
    return reduce(match.evolve, decided, pulka)


def played(seed, attention="players", players=3, wild=0.1):
    """One deal with all kinds of irregular acts in it, to its reveal; the match, and what each commit holds."""
    rng = random.Random(seed)
    pulka, log = opened(attention, players)
    while pulka.deal is not None:
        if rng.random() < wild:
            pulka = moved(pulka, log, *anything(rng, pulka.deal))
        elif match.to_act(pulka) is not None:
            pulka = moved(pulka, log, match.to_act(pulka), match.default_move(pulka))
        elif rng.random() < 0.3:
            log.append(match.pause_over(pulka))
            pulka = reduce(match.evolve, log[-1], pulka)
        else:
            pulka = moved(pulka, log, rng.randrange(players), Confirm())
    return pulka, log


@pytest.mark.parametrize("seed", range(40))
def test_an_adjudicated_deal_is_stored_and_proved(seed):
    """What is sealed opens to the same events, folds to the same match, and the revealed deal fits every box."""
    pulka, log = played(seed, attention=("players", "server")[seed % 2], players=3 + seed % 2)
    commits = [decode(data) for data in story.stored(log)]
    assert [story.CODEC.open(commit) for commit in commits] == [tuple(events) for events in log]
    assert all(report.verified for report in verify_deals(commits)), verify_deals(commits)
    assert reduce(match.evolve, [event for events in log for event in events], Pulka(table_id=story.TABLE.id)) == pulka
    assert isinstance(log[-1][-1], DealRevealed)


@pytest.mark.parametrize("seed", range(40))
def test_the_record_of_a_deal_replays_to_the_same_events(seed):
    """The moves that the log stands for, replayed by `pulka replay`, bring the same events and the same score."""
    attention = ("players", "server")[seed % 2]
    _, log = played(seed, attention)
    dealt_cards, revealed = log[2][-1], log[-1][-1]
    moves = []
    for events in log[3:]:
        if type(events[0]).__name__ in PAUSE_OVER:
            continue
        maker, move = moved_by(events[0])
        moves.append(write_move(RecordedMove(maker, move)))
    told = replay_document(
        {
            "convention": to_document(PRESETS["sochi"]), "players": 3, "dealer": 0, "target": 20,
            "mode": "adjudicated", "attention": attention,
            "hands": list(dealt_cards.hands), "talon": dealt_cards.talon, "moves": moves, "entropy": revealed.server_seed,
        }
    )  # fmt: skip
    assert isinstance(told, dict), told.document()
    lived = [type(event).__name__ for events in log[3:] for event in events if not isinstance(event, DealRevealed)]
    assert [event["type"] for event in told["events"]] == lived
    scored = next((event for events in log for event in events if isinstance(event, DealScored)), None)
    assert (told["score"] is None) == (scored is None)
    if scored is not None:
        assert told["score"]["entries"] == list(scored.entries)


def moved_by(event):
    """As the ledger tells it: the move behind a commit's first event."""
    return move_behind(event)


def test_3_2_20_only_the_taker_is_shown_the_talon():
    """A talon that was taken, and a look at it, are shown to who took or looked, and the shuffled cards to their owner alone."""
    pulka, log = opened()
    taker = pulka.deal.setup.order[1]
    talon = pulka.secrets.talon
    pulka = moved(pulka, log, taker, Take())
    pulka = moved(pulka, log, pulka.deal.setup.order[0], CallAttention("3.2.20"))
    commits = [decode(data) for data in story.stored(log)]
    codec = PublicCodec(story.KEYS)
    for viewer in (*range(3), None):
        taken = codec.redacted(commits[3], viewer)[0]
        assert (taken["cards"] == talon) == (viewer == taker)
        returned = next(event for event in codec.redacted(commits[4], viewer) if event["type"] == "TalonReturned")
        assert (returned["hand"] is not None) == (viewer == taker)
        assert returned["talon"] is None
        assert "salt" not in returned | taken


def test_3_3_17_a_talon_that_was_given_back_and_taken_in_the_dark_is_proved():
    """Who won in the dark takes the talon drawn anew after an early taker: that one is sealed, revealed and proved (3.3.17, 3.3.19)."""
    pulka, log = opened("server", convention={"preset": "classic", "dark": {"limit": 3, "opening_rounds": 0}})
    one, two, three = pulka.deal.setup.order
    for seat, move in ((one, Bid("7S", dark=True)), (three, Take()), (two, Bid("pass")), (one, Take())):
        pulka = moved(pulka, log, seat, move)
    taken = log[-1][-1]
    assert isinstance(taken, DarkTalonTaken)
    assert taken.cards == pulka.secrets.returned["talon"] != pulka.secrets.talon
    pulka = moved(pulka, log, one, Discard(tuple(taken.cards.split())))
    for move in (Declare("7S"), Whist("whist"), Whist("whist"), Concede()):
        pulka = moved(pulka, log, match.to_act(pulka), move)
    for seat in range(3):
        pulka = moved(pulka, log, seat, Confirm())
    commits = [decode(data) for data in story.stored(log)]
    assert isinstance(log[-1][-1], DealRevealed)
    assert [report.problems for report in verify_deals(commits)] == [()]


def test_3_9_19_no_reader_is_told_of_a_revoke():
    """The mark of a revoke would tell what its hand holds: no copy has it, the log has."""
    _, log = next((played(seed, wild=0.3) for seed in range(300) if _revoked(played(seed, wild=0.3)[1])), (None, None))
    assert log is not None
    commits = [decode(data) for data in story.stored(log)]
    stored = b"".join(bytes(event) for commit in commits for event in commit.events)
    assert b'"irregular":"3.9.16' in stored
    for viewer in (0, None):
        shown = b"".join(bytes(event) for commit in commits for event in PublicCodec(story.KEYS).encoded(commit, viewer))
        assert b'"irregular":"3.9.16' not in shown


def _revoked(log):
    return any(getattr(event, "irregular", "").startswith("3.9.16") for events in log for event in events if hasattr(event, "by"))


def test_3_2_9_a_void_deal_is_not_counted():
    """A redeal reveals the cards, and the named dealer deals anew; the pulka counts one deal less."""
    pulka, log = opened()
    dealer = pulka.dealer
    pulka = moved(pulka, log, ARBITER, Ruling("3.2.15", dealer, "no cut", redeal=True))
    assert isinstance(log[-1][-2], Redealt)
    assert (match.phase(pulka), pulka.next_dealer, pulka.number, pulka.void) == ("between_deals", dealer, 1, 1)


def test_3_3_17_two_talons_given_back_in_one_deal_are_both_proved():
    """Two bidders take the talon one after the other: what each gave back is kept apart, revealed and proved (3.2.20, 3.3.17)."""
    pulka, log = opened("server")
    one, two, three = pulka.deal.setup.order
    pulka = moved(pulka, log, one, Bid("6S"))
    given = []
    for seat in (three, two):
        pulka = moved(pulka, log, seat, Take())
        given += [event for event in log[-1] if isinstance(event, TalonReturned)]
    assert pulka.secrets.returned == {
        "hand": given[1].hand, "talon": given[1].talon, "hand 1": given[0].hand, "talon 1": given[0].talon,
    }  # fmt: skip
    while pulka.deal is not None and match.to_act(pulka) is not None and match.phase(pulka) != "scored":
        pulka = moved(pulka, log, match.to_act(pulka), match.default_move(pulka))
    for seat in range(3):
        pulka = moved(pulka, log, seat, Confirm())
    assert isinstance(log[-1][-1], DealRevealed)
    assert [report.problems for report in verify_deals([decode(data) for data in story.stored(log)])] == [()]
