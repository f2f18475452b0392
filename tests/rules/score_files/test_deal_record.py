"""`pulka replay`: deal records, read strictly, played through the rules, and answered as deploy/docs/deal-record.md says."""

from __future__ import annotations

import json

import pytest

from shared.rules.language.refusal import Malformed, NotJson, Refused
from shared.rules.score_files.deal_record import ReplayRefused, replay_document
from tests.rules.words import FIRST, SECOND, THIRD

BIDS = [{"seat": 0, "type": "bid", "bid": "6S"}, {"seat": 1, "type": "bid", "bid": "pass"}, {"seat": 2, "type": "bid", "bid": "pass"}]
DISCARD = {"seat": 0, "type": "discard", "cards": ["7C", "8C"]}
CONTRACT = {"seat": 0, "type": "contract", "contract": "6S"}
WHISTS = [{"seat": 1, "type": "whist", "call": "whist"}, {"seat": 2, "type": "whist", "call": "pass"}]
OPEN = {"seat": 1, "type": "lay", "open": True}


def record(*moves, **fields):
    return {
        "convention": "sochi",
        "players": 3,
        "dealer": 2,
        "hands": [FIRST, SECOND, THIRD],
        "talon": "7C 8C",
        "moves": list(moves),
    } | fields


def test_before_the_first_call():
    """A record without moves shows the first hand's turn, and nothing of a contract or score."""
    answer = replay_document(record())
    assert (answer["phase"], answer["to_act"]) == ("auction", 0)
    assert answer["legal"][:2] == [{"type": "bid", "bid": "pass"}, {"type": "bid", "bid": "6S"}]
    assert (answer["contract"], answer["declarer"], answer["tricks"], answer["events"], answer["score"]) == (
        None,
        None,
        [0, 0, 0],
        [],
        None,
    )


def test_the_example_of_the_format():
    """JSON text and what it means are answered alike; open play asks the whister for the hand on turn (3.8.5)."""
    moves = (*BIDS, DISCARD, CONTRACT, *WHISTS, OPEN, {"seat": 0, "type": "play", "card": "AS"})
    answer = replay_document(record(*moves))
    assert answer == replay_document(json.dumps(record(*moves)).encode())
    assert (answer["phase"], answer["to_act"], answer["contract"], answer["declarer"]) == ("play", 1, "6S", 0)
    assert answer["legal"] == [{"type": "play", "card": "7S"}, {"type": "play", "card": "8S"}, {"type": "claim"}]
    assert answer["events"][-3:] == [
        {"type": "PlayChosen", "seat": 1, "open": True},
        {"type": "HandsLaid", "hands": [None, SECOND, THIRD]},
        {"type": "CardPlayed", "seat": 0, "card": "AS", "by": 0},
    ]
    assert {"type": "CardsDiscarded", "seat": 0, "cards": "7C 8C"} in answer["events"], "the pulka's salt has no place in a record"


@pytest.mark.parametrize(
    ("moves", "legal"),
    [
        ((*BIDS,), [{"type": "discard"}, {"type": "concede"}]),
        ((*BIDS, DISCARD, CONTRACT, WHISTS[0]), [{"type": "whist", "call": "whist"}, {"type": "whist", "call": "pass"}]),
        ((*BIDS, DISCARD, CONTRACT, *WHISTS), [{"type": "lay", "open": True}, {"type": "lay", "open": False}]),
    ],
)
def test_legal_moves_leave_out_what_is_free_or_at_its_default(moves, legal):
    """A discard is offered without cards, `open` is always given."""
    assert replay_document(record(*moves))["legal"] == legal


def test_the_other_hands_cards_are_offered_with_hand():
    """`hand` stands only for another seat's card (3.8.5)."""
    moves = (*BIDS, DISCARD, CONTRACT, *WHISTS, OPEN, {"seat": 0, "type": "play", "card": "AS"}, {"seat": 1, "type": "play", "card": "7S"})
    answer = replay_document(record(*moves))
    assert answer["to_act"] == 1
    assert {move["hand"] for move in answer["legal"] if move["type"] == "play"} == {2}


def test_a_finished_deal_is_scored_on_the_sheet_it_started_from():
    """The score is what this deal wrote on the sheet it was given: here two points, one of them as help (4.2.3)."""
    sheet = {"pool": [19, 10, 0], "mountain": ["1/2", 0, 0], "whists": [[1, 0, 8]]}
    passed = [{"seat": seat, "type": "whist", "call": "pass"} for seat in (1, 2)]
    answer = replay_document(record(*BIDS, DISCARD, CONTRACT, *passed, target=20, sheet=sheet))
    assert (answer["phase"], answer["to_act"], answer["legal"]) == ("scored", None, [])
    score = answer["score"]
    assert (score["pool"], score["mountain"], score["whists"]) == ([1, 1, 0], [0, 0, 0], [[0, 1, 10]])
    assert {entry["rule"] for entry in score["entries"]} == {"3.5.3", "4.2.3"}


def test_bombs_come_from_the_record():
    """A bomb that waits for the declarer multiplies what the deal writes (FN29)."""
    passed = [{"seat": seat, "type": "whist", "call": "pass"} for seat in (1, 2)]
    assert replay_document(record(*BIDS, DISCARD, CONTRACT, *passed, bombs=[[4], [], []]))["score"]["pool"] == [8, 0, 0]


def test_all_pass_in_a_row_come_from_the_record():
    """The exit level follows the series that the record begins in (3.7.8)."""
    convention = {"preset": "sochi", "all_pass": {"exit_levels": [6, 7]}}
    refused = replay_document(record(BIDS[0], convention=convention, all_pass_in_row=2))
    assert (refused.refused.code, refused.refused.rule) == ("bid_too_low", "3.7.8")


def test_3_7_9_a_forced_deal_begins_in_the_play():
    """One of the all-pass deals that begin a pulka has no calls: the first talon card lies, and the first hand plays (3.7.9)."""
    answer = replay_document(record(convention="classic", forced=True))
    assert (answer["phase"], answer["to_act"], answer["contract"]) == ("play", 0, "all_pass")
    assert [event["type"] for event in answer["events"]] == ["AllPassed", "TalonCardOpened"]
    assert answer["events"][0]["forced"]


def test_a_pulka_that_has_ended_takes_no_move():
    """On a sheet that is closed before the deal, or by it, a well-formed move finds the pulka over, whatever else is wrong (4.2.15)."""
    closed = {"pool": [4, 4, 5]}
    answer = replay_document(record(target=4, sheet=closed))
    assert (answer["phase"], answer["to_act"], answer["legal"]) == ("over", None, [])
    for move in (BIDS[0], BIDS[1], CONTRACT):
        assert replay_document(record(move, target=4, sheet=closed)).document() | {"message": ""} == {
            "code": "pulka_over",
            "rule": "4.2.15",
            "move": 0,
            "message": "",
        }
    passed = [{"seat": seat, "type": "whist", "call": "pass"} for seat in (1, 2)]
    closing = (*BIDS, DISCARD, CONTRACT, *passed, BIDS[0])
    for pool, code in (([2, 4, 4], "pulka_over"), ([1, 4, 4], "wrong_phase")):
        assert replay_document(record(*closing, target=4, sheet={"pool": pool})).refused.code == code
    with pytest.raises(Malformed):
        replay_document(record(BIDS[0] | {"bid": "5S"}, target=4, sheet=closed))


@pytest.mark.parametrize(
    "act",
    [
        {"seat": 1, "type": "peek", "what": "talon"},
        {"seat": 1, "type": "expose", "cards": ["7S"]},
        {"seat": 1, "type": "entry", "column": "pool", "amount": 2},
        {"by": 1, "seat": 0, "type": "call_attention", "rule": "3.9.3"},
        {"seat": 1, "type": "confirm"},
        {"by": "arbiter", "seat": 0, "type": "ruling", "rule": "3.9.3", "reason": "a trial", "redeal": True},
    ],
)
def test_4_2_16_an_enforced_record_refuses_acts_of_the_adjudicated_mode_by_their_move(act):
    """What only an adjudicated table knows is a rule's refusal of that move in an enforced record, no new word (deploy/docs/moves.md)."""
    refused = replay_document(record(BIDS[0], act))
    assert (refused.refused.code, refused.refused.rule, refused.move) == ("wrong_phase", "4.2.16", 1)
    with pytest.raises(Malformed) as wrong:
        replay_document(record(BIDS[0], act | {"colour": "red"}))
    assert wrong.value.path == "moves[1].colour"


@pytest.mark.parametrize("mode", ["enforced", "adjudicated"])
@pytest.mark.parametrize("kind", [["peek"], {"peek": 1}, None, 7])
def test_a_type_that_is_no_word_is_malformed_in_both_modes(mode, kind):
    """Whatever stands as a move's `type`, the answer names its place (deploy/docs/refusals.md: malformed comes first)."""
    with pytest.raises(Malformed) as wrong:
        replay_document(record({"seat": 0, "type": kind}, mode=mode))
    assert wrong.value.path == "moves[0].type"


def test_the_first_refused_move_ends_it():
    """A refusal names code, rule, the number of the move from 0, and says why in a sentence."""
    moves = (*BIDS, DISCARD, CONTRACT, *WHISTS, OPEN, {"seat": 0, "type": "play", "card": "AS"}, {"seat": 1, "type": "play", "card": "AC"})
    refused = replay_document(record(*moves, {"seat": 0, "type": "play", "card": "AS"}))
    assert isinstance(refused, ReplayRefused)
    document = refused.document()
    assert document.pop("message")
    assert document == {"code": "must_follow_suit", "rule": "3.9.3", "move": 9}


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"players": 6}, "players"),
        ({"dealer": 3}, "dealer"),
        ({"dealer": -1}, "dealer"),
        ({"colour": "red"}, "colour"),
        ({"convention": "poker"}, "convention"),
        ({"convention": {"preset": "sochi", "here": "always"}}, "convention.here"),
        ({"hands": [FIRST, SECOND]}, "hands"),
        ({"hands": [FIRST, SECOND, "TD 9D"]}, "hands[2]"),
        ({"hands": [FIRST, SECOND, THIRD.replace("TD", "1D")]}, "hands[2]"),
        ({"hands": [FIRST, SECOND, THIRD.replace("TD", "9D")]}, "hands[2]"),
        ({"hands": [FIRST, SECOND, THIRD.replace("TD", "AS")]}, "hands[2]"),
        ({"talon": "7C"}, "talon"),
        ({"talon": "7C AS"}, "talon"),
        ({"talon": 7}, "talon"),
        ({"sheet": {"pool": [1, 2]}}, "sheet.pool"),
        ({"sheet": {"mountain": [0, 0, "1/0"]}}, "sheet.mountain[2]"),
        ({"sheet": {"whists": [[0, 3, 1]]}}, "sheet.whists[0][1]"),
        ({"bombs": [[]]}, "bombs"),
        ({"forced": True}, "forced"),
        ({"all_pass_in_row": 1, "dark_in_row": 1}, "dark_in_row"),
        ({"convention": "classic", "all_pass_in_row": 1, "dark_in_row": 2}, "dark_in_row"),
        ({"all_pass_in_row": -1}, "all_pass_in_row"),
        ({"mode": "blindfold"}, "mode"),
        ({"format": 2}, "format"),
    ],
)
def test_a_record_that_breaks_the_format(fields, path):
    """What is wrong with a record is named by its place."""
    with pytest.raises(Malformed) as malformed:
        replay_document(record(**fields))
    assert malformed.value.path == path


@pytest.mark.parametrize(
    ("move", "path"),
    [
        ({"type": "bid", "bid": "6S"}, "moves[3].seat"),
        ({"seat": 3, "type": "bid", "bid": "6S"}, "moves[3].seat"),
        ({"seat": True, "type": "bid", "bid": "6S"}, "moves[3].seat"),
        ({"seat": 0}, "moves[3].type"),
        ({"seat": 0, "type": "juggle"}, "moves[3].type"),
        ({"seat": 0, "type": "cut", "at": 16}, "moves[3].type"),
        ({"seat": 0, "type": "bid", "bid": "5S"}, "moves[3].bid"),
        ({"seat": 0, "type": "bid", "bid": "all_pass"}, "moves[3].bid"),
        ({"seat": 0, "type": "contract", "contract": "pass"}, "moves[3].contract"),
        ({"seat": 0, "type": "contract", "contract": "6S\n"}, "moves[3].contract"),
        ({"seat": 0, "type": "play", "card": "as"}, "moves[3].card"),
        ({"seat": 0, "type": "play", "card": "AS", "hand": 5}, "moves[3].hand"),
        ({"seat": 0, "type": "play", "card": "AS", "hand": 3}, "moves[3]"),
        ({"seat": 0, "type": "play", "card": "AS", "speed": 1}, "moves[3].speed"),
        ({"seat": 0, "type": "discard", "cards": "7C 8C"}, "moves[3].cards"),
        ({"seat": 0, "type": "discard", "cards": ["7C", "0C"]}, "moves[3].cards[1]"),
        ({"seat": 1, "type": "whist", "call": "maybe"}, "moves[3].call"),
        ({"seat": 1, "type": "lay"}, "moves[3].open"),
    ],
)
def test_a_move_that_breaks_the_format(move, path):
    """What is wrong with a move is named by its place, whatever the moves before it."""
    with pytest.raises(Malformed) as malformed:
        replay_document(record(*BIDS, move))
    assert (malformed.value.code, malformed.value.path) == ("malformed", path)


TWO = {"players": 2, "dealer": 1}
FIVE = {"players": 5, "dealer": 4, "hands": [FIRST, SECOND, "", THIRD, ""]}


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        (TWO | {"hands": [FIRST, SECOND]}, "hands"),
        (TWO | {"hands": [FIRST, SECOND, ""]}, "hands[2]"),
        (TWO | {"hands": [FIRST, SECOND, THIRD, ""]}, "hands"),
        (TWO | {"dealer": 2}, "dealer"),
        (TWO | {"sheet": {"pool": [0, 0, 0]}}, "sheet.pool"),
        (TWO | {"bombs": [[], [], []]}, "bombs"),
        (TWO | {"moves": [{"seat": 2, "type": "bid", "bid": "pass"}]}, "moves[0].seat"),
        (TWO | {"moves": [{"seat": 0, "type": "play", "card": "AS", "hand": 3}]}, "moves[0]"),
        (FIVE | {"hands": [FIRST, SECOND, THIRD, "", ""]}, "hands[2]"),
        (FIVE | {"dealer": 5}, "dealer"),
        (FIVE | {"players": 6}, "players"),
        (FIVE | {"players": 1}, "players"),
    ],
)
def test_records_of_two_and_of_five_are_read_as_strictly(fields, path):
    """Two players have three hands, the dummy's third, and two of everything else; of five two hands are empty (Decisions 19, 20)."""
    with pytest.raises(Malformed) as malformed:
        replay_document(record() | fields)
    assert malformed.value.path == path


@pytest.mark.parametrize("fields", [TWO, FIVE])
def test_records_of_two_and_of_five_are_read(fields):
    """Before the first call of two or of five it is the first hand's turn, and tricks are told by seat."""
    answer = replay_document(record() | fields)
    assert (answer["phase"], answer["to_act"], answer["tricks"]) == ("auction", 0, [0] * fields["players"])


@pytest.mark.parametrize("text", ["", "{", "[1", "nul", b"\xff{}"])
def test_text_that_is_not_json(text):
    """Text that is not JSON is told apart from a record that breaks the format."""
    with pytest.raises(NotJson):
        replay_document(text)


def test_a_missing_field_is_the_place():
    """A field that is required is named."""
    fields = record()
    del fields["talon"]
    with pytest.raises(Malformed) as malformed:
        replay_document(fields)
    assert malformed.value.path == "talon"


def test_a_refusal_is_no_malformed_move():
    """A well-formed move at a wrong moment is a refusal by a rule, not a malformed record."""
    refused = replay_document(record(CONTRACT))
    assert refused == ReplayRefused(Refused("wrong_phase", "3.4.3", refused.refused.message), 0)


def test_a_wrong_infraction_of_an_adjudicated_deal_is_named_by_its_path():
    """What a record notes beside its moves is read as in a score file, and the place that is wrong is named (4.2.9)."""
    wrong = {"rule": "4.2.9", "seat": 7, "ruled": True, "mountain": [[7, 1]], "reason": "stands"}
    with pytest.raises(Malformed) as refused:
        replay_document(record(mode="adjudicated", infractions=[wrong]))
    assert refused.value.path.startswith("infractions[0].")
