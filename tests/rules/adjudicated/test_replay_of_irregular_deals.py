"""`pulka replay` of deals of the adjudicated mode, and that the exported moves bring the same score (deploy/docs/deal-record.md)."""

from __future__ import annotations

from shared.rules.score_files.deal_record import ReplayRefused, replay_document
from tests.rules.words import FIRST, SECOND, TALON, THIRD

OPENING = [
    {"seat": 0, "type": "bid", "bid": "6S"},
    {"seat": 1, "type": "bid", "bid": "pass"},
    {"seat": 2, "type": "bid", "bid": "pass"},
    {"seat": 0, "type": "discard", "cards": ["7C", "8C"]},
    {"seat": 0, "type": "contract", "contract": "6S"},
    {"seat": 1, "type": "whist", "call": "whist"},
    {"seat": 2, "type": "whist", "call": "whist"},
]


def record(*moves, **more):
    document = {"convention": "sochi", "players": 3, "dealer": 2, "mode": "adjudicated", "hands": [FIRST, SECOND, THIRD], "talon": TALON}
    return document | {"moves": [*OPENING, *moves]} | more


def test_3_9_16_1_is_replayed():
    """A revoke is recorded, called and corrected; the answer shows where the deal stands."""
    told = replay_document(
        record(
            {"seat": 0, "type": "play", "card": "AD"},
            {"seat": 1, "type": "play", "card": "AC"},
            {"by": 0, "type": "call_attention", "rule": "3.9.16", "seat": 1},
        )
    )
    assert (told["phase"], told["to_act"]) == ("play", 1)
    assert told["legal"] == [{"type": "play", "card": "JD"}, {"type": "play", "card": "QD"}, {"type": "claim"}]
    assert [event["type"] for event in told["events"][-3:]] == ["AttentionCalled", "TricksTakenBack", "CardExposed"]
    revoke = next(event for event in told["events"] if event.get("card") == "AC")
    assert revoke["irregular"] == "3.9.16"


def test_a_call_names_its_maker_either_way():
    """Without `by` the record's `seat` is who calls, and the offender is found by the act."""
    told = replay_document(
        record(
            {"seat": 0, "type": "play", "card": "AD"},
            {"seat": 1, "type": "play", "card": "AC"},
            {"seat": 2, "type": "call_attention", "rule": "3.9.16.1"},
        )
    )
    assert told["events"][-3] == {"type": "AttentionCalled", "rule": "3.9.16.1", "seat": 1, "by": 2, "act": 0, "card": "AC"}


def test_enforced_records_are_refused_the_same():
    """The same card in an enforced record ends it."""
    moves = ({"seat": 0, "type": "play", "card": "AD"}, {"seat": 1, "type": "play", "card": "AC"})
    told = replay_document(record(*moves, mode="enforced"))
    assert isinstance(told, ReplayRefused)
    assert told.refused.code == "must_follow_suit"
