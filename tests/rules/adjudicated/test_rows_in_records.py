"""Rows of the adjudicated mode as deal records tell them, to `pulka replay` (deploy/docs/rules.md: Adjudicated mode)."""

from __future__ import annotations

import pytest

from shared.rules.score_files.deal_record import ReplayRefused, replay_document
from tests.rules.adjudicated.test_replay_of_irregular_deals import OPENING, record
from tests.rules.words import FIRST, SECOND, THIRD

LED = [{"seat": 0, "type": "play", "card": "KD"}, {"seat": 1, "type": "play", "card": "QD"}, {"seat": 2, "type": "play", "card": "7D"}]
#: Three rounds of spades, declarer's: the first two are older tricks then.
SPADES = [
    {"seat": seat, "type": "play", "card": card}
    for cards in (("AS", "8S", "7D"), ("KS", "7S", "8D"), ("QS", "9C", "9D"))
    for seat, card in enumerate(cards)
]
#: Second hand has the ace of diamonds, and takes the first trick with it; third hand has spades.
SPREAD = ["AS KS QS JS TS 9S AH KH KD QD", "8H 7H AC KC QC JC TC 9C AD JD", "TD 9D 8D 7D QH JH TH 9H 8S 7S"]


def refused(document):
    told = replay_document(document)
    assert isinstance(told, ReplayRefused), told
    return told.refused.code, told.refused.rule


@pytest.mark.parametrize(
    "move",
    [
        {"seat": 0, "type": "peek", "what": "talon"},
        {"seat": 0, "type": "expose", "cards": ["AS"]},
        {"seat": 0, "type": "confirm"},
        {"seat": 0, "type": "entry", "column": "pool", "amount": 2},
        {"by": 0, "type": "call_attention", "rule": "3.9.16", "seat": 1},
        {"type": "ruling", "rule": "3.2.16", "seat": 1, "reason": "seen", "redeal": True},
    ],
)
def test_4_2_16_acts_of_the_other_mode_are_refused_by_a_rule(move):
    """In an enforced record they are no malformed input but moves that this mode does not know."""
    assert refused(record(move, mode="enforced")) == ("wrong_phase", "4.2.16")


def test_4_2_6_no_entries_in_the_course_of_a_deal():
    """Who writes by hand does it after the deal, and a record ends there."""
    assert refused(record({"seat": 0, "type": "entry", "column": "pool", "amount": 2})) == ("wrong_phase", "4.2.6")


def test_3_9_11_1_an_older_trick_that_nobody_minds():
    """To look at it is no offence when all have agreed, at another older one it still is."""
    agreed = [
        {"seat": 1, "type": "propose", "what": "older_trick", "trick": 1},
        {"seat": 2, "type": "answer", "accept": True},
        {"seat": 0, "type": "answer", "accept": True},
    ]
    looks = [{"seat": 1, "type": "peek", "what": "trick", "trick": number} for number in (1, 2)]
    events = replay_document(record(*SPADES, *agreed, *looks))["events"]
    assert [event.get("irregular", "") for event in events if event["type"] == "Peeked"] == ["", "3.9.11.2"]


def test_3_9_11_2_a_look_before_the_call_counts_for_a_whister():
    """A defender who looks into the discard before he has spoken loses a trick if he whists, and nothing if he passes."""
    seen = [{"seat": 1, "type": "peek", "what": "discard"}, {"by": 0, "type": "call_attention", "rule": "3.9.11.2", "seat": 1}]
    missing = {}
    for call in ("whist", "pass"):
        spoken = [{"seat": 1, "type": "whist", "call": call}, {"seat": 2, "type": "whist", "call": "whist"}]
        settled = [{"type": "ruling", "rule": "3.9.22", "seat": 0, "reason": "as played", "tricks": [6, 2, 2]}]
        laid = [] if call == "whist" else [{"seat": 2, "type": "lay", "open": False}]
        document = record(*laid, *settled)
        document["moves"] = [*OPENING[:5], *seen, *spoken, *laid, *settled]
        missing[call] = replay_document(document)["score"]["mountain"]
    assert missing == {"whist": [0, 2, 0], "pass": [0, 0, 0]}


def test_3_9_14_1_only_the_suit_that_was_led_is_forbidden():
    """`suit` may be left out, but it cannot be another one."""
    lead = [
        {"seat": 0, "type": "play", "card": "QD"},
        {"seat": 1, "type": "play", "card": "AD"},
        {"seat": 2, "type": "play", "card": "7D"},
        {"seat": 2, "type": "play", "card": "QH"},
        {"by": 0, "type": "call_attention", "rule": "3.9.14.1", "seat": 2},
    ]
    order = {"by": 0, "type": "remedy", "choice": "order"}
    told = replay_document(record(*lead, order | {"suit": "H"}, hands=SPREAD))
    assert told["legal"] == [{"type": "play", "card": "7H"}, {"type": "play", "card": "8H"}, {"type": "claim"}]
    assert refused(record(*lead, order | {"suit": "C"}, hands=SPREAD)) == ("call_not_allowed", "3.9.14.1")


def test_3_9_16_2_a_record_lists_the_cards_that_may_be_named():
    """What `legal` holds can be sent back as it is: each card that the opponent may name, then his pass."""
    late = [*LED[:1], {"seat": 1, "type": "play", "card": "9C"}, LED[2], {"seat": 0, "type": "play", "card": "AD"}]
    told = replay_document(record(*late, {"by": 0, "type": "call_attention", "rule": "3.9.16", "seat": 1}))
    assert told["phase"] == "remedy"
    assert told["legal"] == [{"type": "remedy", "choice": "card", "card": card} for card in ("JD", "QD")] + [
        {"type": "remedy", "choice": "pass"}
    ]


def test_3_3_8_the_discard_of_an_unheard_bidder_is_offered_without_cards():
    """As any other declarer's (deploy/docs/deal-record.md)."""
    bids = [{"seat": seat, "type": "bid", "bid": bid} for seat, bid in ((0, "6H"), (1, "6C"), (2, "pass"), (0, "pass"))]
    document = {"convention": "sochi", "players": 3, "dealer": 2, "mode": "adjudicated", "hands": [FIRST, SECOND, THIRD], "talon": "7C 8C"}
    told = replay_document(document | {"moves": bids})
    assert (told["phase"], told["declarer"]) == ("discard", 1)
    assert told["legal"] == [{"type": "discard"}, {"type": "concede"}]


def test_3_3_16_1_two_who_saw_the_talon_stay_out():
    """The exclusion of a second bidder does not bring back the first: the third alone bids, or all have passed."""
    seen = [
        {"seat": 0, "type": "bid", "bid": "6S"},
        {"seat": 1, "type": "peek", "what": "talon"},
        {"seat": 0, "type": "peek", "what": "talon"},
        {"by": 2, "type": "call_attention", "rule": "3.2.21", "seat": 1},
        {"by": 2, "type": "call_attention", "rule": "3.2.21", "seat": 0},
    ]
    document = {"convention": "sochi", "players": 3, "dealer": 2, "mode": "adjudicated", "hands": [FIRST, SECOND, THIRD], "talon": "7C 8C"}
    told = replay_document(document | {"moves": [*seen, {"seat": 2, "type": "bid", "bid": "6C"}]})
    assert (told["phase"], told["declarer"]) == ("discard", 2)
    told = replay_document(document | {"moves": [*seen, {"seat": 2, "type": "bid", "bid": "pass"}]})
    assert (told["phase"], told["contract"]) == ("play", "all_pass")
