"""Whole pulkas through the log and back: what was decided, what is stored, and what an auditor makes of it."""

from __future__ import annotations

from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.events.catalogue import encode_event
from shared.events.chain import verify_chain
from shared.events.commit import decode, hash_of
from shared.events.deal_proof import verify_deals
from shared.events.redaction import PublicCodec
from shared.rules.language.game_events import CardsDealt, DealRevealed
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import Pulka
from tests.events import story
from tests.events.played import play

CLUB = {"preset": "classic", "shared_misere": True, "misere_no_talon": True}
TABLES = {
    "convention_players": st.sampled_from(
        [
            *(("sochi", 3), ("sochi", 4), ("leningrad", 4), ("rostov", 3), ("sochi", 2), ("rostov", 2), ("leningrad", 5)),
            *(("classic", 3), (CLUB, 4), ("classic", 2), (CLUB, 5)),
        ]
    ),
    "lot": st.integers(0, 10_000),
}


@pytest.mark.slow
@settings(max_examples=12, deadline=None)  # a pulka each, some 40 ms
@given(**TABLES)
def test_the_log_gives_back_what_was_decided(convention_players, lot):
    """Folded from its stored bytes, a pulka is in the state that its decisions left it in, event by event."""
    decided, told = play(*convention_players, lot, deals=12)
    opened = [story.CODEC.open(decode(data)) for data in story.stored(told)]
    assert [list(map(encode_event, events)) for events in opened] == [list(map(encode_event, events)) for events in told]
    folded = reduce(match.evolve, (event for events in opened for event in events), Pulka(table_id=story.TABLE.id))
    assert folded == decided


@settings(max_examples=12, deadline=None)  # a pulka each, some 40 ms
@given(**TABLES)
def test_every_deal_proves_itself(convention_players, lot):
    """Chain and deals of any pulka are verified from the stored bytes alone, without a key."""
    decided, told = play(*convention_players, lot, deals=12)
    lying = story.stored(told)
    assert verify_chain(lying, known={len(lying): hash_of(lying[-1])}).problems == ()
    reports = verify_deals(map(decode, lying))
    assert [report.number for report in reports] == list(range(1, decided.number + 1))
    assert all(report.verified for report in reports), reports


@settings(max_examples=24, deadline=None)  # half a pulka each, some 20 ms
@given(viewer=st.sampled_from([None, 0, 1, 2]), **TABLES)
def test_no_viewer_is_sent_a_hidden_hand(convention_players, lot, viewer):
    """Until a deal is revealed, nobody is sent another's hand as dealt, nor in the dark his own, unless it was laid or he looked at it."""
    _, told = play(*convention_players, lot, deals=6)
    public = PublicCodec(story.KEYS)
    viewer = viewer if viewer is None else viewer % convention_players[1]
    hidden: list[str] = []
    for events, data in zip(told, story.stored(told), strict=True):
        if any(isinstance(event, DealRevealed) for event in events):
            hidden = []
        for event in events:
            if isinstance(event, CardsDealt):
                hidden = [hand for seat, hand in enumerate(event.hands) if hand and (event.dark or seat != viewer)]
        sent = b"".join(
            encode_event(event) for event in public.redacted(decode(data), viewer) if event["type"] not in {"HandsLaid", "HandSeen"}
        )
        assert not any(hand.encode() in sent for hand in hidden)


@pytest.mark.parametrize("viewer", [None, 0, 1, 2, 3])
def test_a_viewer_can_convert_what_he_is_sent(viewer):
    """What a viewer is sent is every event in its order, under its own name."""
    _, told = play("leningrad", 4, 7, deals=3)
    public = PublicCodec(story.KEYS)
    sent = [[event["type"] for event in public.redacted(decode(data), viewer)] for data in story.stored(told)]
    assert sent == [[type(event).__name__ for event in events] for events in told]
