"""A pulka that was played elsewhere: its score file is scored once, kept as what it means, and means the same when it is read again."""

from __future__ import annotations

import json
from functools import reduce
from pathlib import Path

import msgspec
import pytest

from shared.rules.convention.rules_digest import rules_digest
from shared.rules.language.moves import Bid
from shared.rules.language.refusal import Malformed
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import Pulka
from shared.rules.pulka.imported import PulkaArchived, PulkaRecorded, imported, imported_again, sheet_before
from shared.rules.pulka.state import settled_now
from shared.rules.score_files.score_file import score_document

CASES = [json.loads(line) for line in (Path(__file__).parents[1] / "cases" / "score.jsonl").read_text().splitlines()]
FILE = {
    "convention": "sochi",
    "players": 3,
    "target": 20,
    "start": {"pool": [16, 10, 0], "mountain": [5, 0, 0], "whists": [[1, 0, 8]], "deals": 4},
    "deals": [
        {"dealer": 2, "declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "tricks": [6, 2, 2]},
        {"contract": "all_pass", "tricks": [2, 5, 3]},
    ],
    "stake": "1/2",
}
SEATS = ("ann", "ben", "cid")


def stored(event: PulkaRecorded) -> PulkaRecorded:
    """The event as somebody reads it in the log."""
    return msgspec.json.decode(msgspec.json.encode(event), type=PulkaRecorded)


def test_f32_names_are_not_recorded() -> None:
    """F32: what players are called in a file is read and stays out of the log, which nothing is ever taken from; `seats` say who played."""
    named = FILE | {"names": ["Анна", "Борис", "Вера"]}
    assert imported(named, SEATS, "public", "op") == imported(FILE, SEATS, "public", "op")
    with pytest.raises(Malformed, match="names"):
        imported(FILE | {"names": ["Анна"]}, SEATS, "public", "op")


@pytest.mark.parametrize("case", [case for case in CASES if "error" not in case], ids=lambda case: case["id"])
def test_what_is_recorded_is_what_was_scored(case):
    """For every case of `pulka score`: the imported deals, sheet and settlement are its answer, and the kept file gives it again."""
    file = case["input"]
    answer, event = json.loads(json.dumps(score_document(file))), stored(imported(file, (), "public", "operator:a"))
    assert [deal["entries"] for deal in event.deals] == [deal["entries"] for deal in answer["deals"]]
    assert event.settlement == answer["settlement"]
    pulka = match.evolve(Pulka("t"), event)
    assert (pulka.sheet.document(), pulka.status, pulka.number) == (answer["sheet"], "over", len(answer["deals"]))
    assert json.loads(json.dumps(score_document(event.score_file))) == answer
    assert stored(imported_again(event)) == event


def test_decision_16_a_table_rounds_by_the_dealer_of_its_last_deal():
    """F10: from sheet and last dealer a table settles to what the file of the same pulka gives, whoever dealt (Decision 16)."""
    rounded = []
    for dealer in range(4):
        deal = {"dealer": dealer, "contract": "all_pass", "tricks": [0 if seat == dealer else 3 for seat in range(4)]}
        deal["tricks"][(dealer + 1) % 4] = 4
        file = {"convention": "sochi", "players": 4, "start": {"mountain": [0, 0, 0, 1]}, "deals": [deal]}
        pulka = match.evolve(Pulka("t"), imported(file, (), "public", "op"))
        assert pulka.last_dealer == dealer
        assert settled_now(pulka) == pulka.settlement
        rounded.append(pulka.settlement["rounded"])
    assert rounded == [[28, -12, -3, -13], [-3, 28, -12, -13], [-3, -3, 28, -22], [-12, -3, -3, 18]]


def test_the_kept_file_says_everything_and_nothing_twice():
    """Its convention is resolved, its dealers are named, what stood on the paper before stays as it was sent; the digest covers all."""
    event = stored(imported(FILE, SEATS, "private", "operator:a"))
    assert event.score_file["convention"]["help"] == "largest"
    assert [deal["dealer"] for deal in event.score_file["deals"]] == [2, 0]
    assert event.score_file["start"] == FILE["start"]
    assert (event.score_file["stake"], event.terms) == ("1/2", {"visibility": "private", "stake": "1/2"})
    assert event.rules_digest == rules_digest(event.score_file["convention"], 3, 20, event.terms)
    assert (event.seats, event.author, event.target) == (SEATS, "operator:a", 20)
    assert sheet_before(event).pool == (16, 10, 0)
    assert event.deals[1]["outcome"]["all_pass_in_row"] == 1


def test_what_was_recorded_before_a_check_came_is_still_read():
    """A stored file is scored again by what it takes to score it; a new one with these words is refused (F8)."""
    event = stored(imported(FILE, SEATS, "private", "operator:a"))
    deals = [{"dealer": 2, "declarer": 0, "contract": "6S", "calls": [None, "half", "pass"]}]
    before = msgspec.structs.replace(event, score_file=event.score_file | {"deals": deals})
    again = imported_again(before)
    assert [entry["rule"] for entry in again.deals[0]["entries"]] == ["3.8.7", "3.8.7"]
    assert stored(imported_again(again)) == stored(again)
    with pytest.raises(Malformed) as caught:
        imported(FILE | {"deals": deals}, SEATS, "private", "operator:a")
    assert caught.value.path == "deals[0].calls"


def test_no_deal_at_all():
    """A file without deals is a pulka that was begun and settled."""
    event = imported({"convention": "sochi", "players": 4, "deals": []}, (), "public", "operator:a")
    assert match.evolve(Pulka("t"), event).settlement["rounded"] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("file", "seats", "visibility", "path"),
    [
        (FILE | {"players": 9}, (), "public", "players"),
        (FILE | {"deals": [{"contract": "all_pass", "tricks": [4, 5, 3]}]}, (), "public", "deals[0].tricks"),
        (FILE, ("ann", "ben"), "public", "seats"),
        (FILE, ("ann", "ben", "ann"), "public", "seats"),
        (FILE, (), "private", "visibility"),
    ],
)
def test_a_wrong_file_is_refused_at_its_place(file, seats, visibility, path):
    """The paths are those of `pulka score`; seats are all different, one a player, and a private pulka has some."""
    with pytest.raises(Malformed) as wrong:
        imported(file, seats, visibility, "operator:a")
    assert wrong.value.path == path


def test_nothing_is_played_at_a_recorded_pulka():
    """Every move is refused: it is over."""
    pulka = match.evolve(Pulka("t"), imported(FILE, SEATS, "public", "operator:a"))
    assert match.decide(pulka, 0, Bid("6S")).code == "pulka_over"
    assert match.open_pulka(pulka, None) == ()
    assert match.phase(pulka) == "over"


def test_who_knows_only_that_it_was_archived_knows_that_it_is_over():
    """The last commit alone makes a match at which nothing begins."""
    archived = PulkaArchived(17, "ab" * 32, "operator:a")
    pulka = match.evolve(Pulka("t"), archived)
    assert (match.phase(pulka), match.open_pulka(pulka, None), match.deal_is_due(pulka)) == ("over", (), False)
    whole = reduce(match.evolve, (imported(FILE, SEATS, "public", "operator:a"), archived), Pulka("t"))
    assert whole.settlement is not None


def test_a_sheet_that_nobody_could_read_again_is_refused():
    """A number that grows past what a document may hold is named by the deal that brings it there."""
    full = FILE | {"start": {"pool": [0, 0, 0], "mountain": [0, 0, 0], "whists": [[1, 0, 10**12]]}}
    with pytest.raises(Malformed) as refused:
        imported(full, SEATS, "public", "operator:a")
    assert refused.value.path == "deals[0]"


def test_a_kept_sheet_is_recorded_and_what_nobody_could_read_again_is_refused():
    """The deals' entries come to it, the file has it, and it means the same when it is read again; no number grows too long."""
    kept = {"pool": [0, "1/3", 0], "whists": [[1, 0, 5]]}
    event = stored(imported(FILE | {"deals": [FILE["deals"][0] | {"kept": kept}, FILE["deals"][1]]}, SEATS, "public", "operator:a"))
    sheet = {"pool": [0, "1/3", 0], "mountain": [0, 0, 0], "whists": [[1, 0, 5]]}
    assert [deal.get("kept") for deal in event.score_file["deals"]] == [sheet, None]
    assert event.deals[0]["outcome"]["kept"] == sheet
    assert match.evolve(Pulka("t"), event).sheet.document() == json.loads(json.dumps(score_document(event.score_file)))["sheet"]
    assert stored(imported_again(event)) == event
    long = {"pool": [f"1/{10**37}", 0, 0]}
    with pytest.raises(Malformed, match="more than 40 characters") as caught:
        imported(FILE | {"deals": [FILE["deals"][0] | {"kept": long}, FILE["deals"][0]]}, SEATS, "public", "operator:a")
    assert caught.value.path == "deals[0]"
