"""`pulka score` and `pulka replay`: where the answer goes and which status tells what (deploy/docs/command-line.md)."""

import json
import random

import pytest
from click.testing import CliRunner

from services.cli.player.replay import replay
from services.cli.player.score import score
from tests.load.bench_documents import CONVENTIONS, played

GOOD = {
    "convention": "sochi",
    "players": 3,
    "deals": [{"declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "tricks": [6, 2, 2]}],
}
ELEVEN = {**GOOD, "deals": [{**GOOD["deals"][0], "tricks": [6, 2, 3]}]}
OVER = {**GOOD, "target": 2, "start": {"pool": [2, 2, 2]}}
RECORD = {
    "convention": "sochi",
    "players": 3,
    "dealer": 2,
    "hands": ["AS KS QS JS TS 9S AH KH AD KD", "8S 7S AC KC QC JC TC 9C 7H 8H", "QH JH TH 9H QD JD TD 9D 8D 7D"],
    "talon": "7C 8C",
    "moves": [{"seat": 0, "type": "bid", "bid": "6S"}, {"seat": 1, "type": "bid", "bid": "pass"}],
}
TOO_LOW = {**RECORD, "moves": [RECORD["moves"][0], {"seat": 1, "type": "bid", "bid": "6S"}]}


def run(command, document, *options):
    """Status, standard output, standard error of a command on standard input."""
    text = document if isinstance(document, str | bytes) else json.dumps(document)
    done = CliRunner().invoke(command, ["-", *options], input=text)
    return done.exit_code, done.stdout, done.stderr


def test_a_language_without_words_to_say_is_wrong_usage():
    """`--lang` is that of `--explain`; JSON has none, and nobody gets English for Russian without a word."""
    status, out, err = run(score, GOOD, "--lang", "ru")
    assert (status, out, "--explain" in err) == (2, "", True)


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize(
    ("command", "document", "keys"),
    [
        (score, GOOD, {"deals", "sheet", "closed", "settlement"}),
        (replay, RECORD, {"phase", "to_act", "legal", "tricks", "contract", "declarer", "events", "score"}),
    ],
)
def test_an_answer_is_one_object_on_standard_output(command, document, keys, options):
    """With or without --json."""
    status, out, err = run(command, document, *options)
    assert (status, err) == (0, "")
    assert set(json.loads(out)) == keys


@pytest.mark.parametrize(
    ("command", "document", "status", "code"),
    [
        (score, "{", 2, "malformed"),
        (score, b"\xff", 2, "malformed"),
        (score, "", 2, "malformed"),
        (score, "[" * 100_000, 2, "malformed"),
        (score, {**GOOD, "surprise": 1}, 2, "malformed"),
        (score, ELEVEN, 2, "malformed"),
        (score, OVER, 1, "pulka_over"),
        (replay, "null", 2, "malformed"),
        (replay, {**RECORD, "talon": "7C"}, 2, "malformed"),
        (replay, TOO_LOW, 1, "bid_too_low"),
    ],
)
def test_an_error_is_one_object_on_standard_error(command, document, status, code):
    """Status 2 for what cannot be read, 1 for what a rule refuses; nothing on standard output."""
    exit_code, out, err = run(command, document)
    assert (exit_code, out) == (status, "")
    assert json.loads(err)["error"]["code"] == code


def test_the_place_of_what_is_wrong_is_named():
    """The example of deploy/docs/score-file.md."""
    _, _, err = run(score, ELEVEN)
    assert json.loads(err)["error"] == {"code": "malformed", "path": "deals[0].tricks", "message": "sum is 11, must be 10"}


def test_a_refused_move_is_named_with_its_rule():
    """Moves are counted from 0."""
    _, _, err = run(replay, TOO_LOW)
    error = json.loads(err)["error"]
    assert (error["move"], error["rule"], set(error)) == (1, "3.3.8", {"code", "rule", "move", "message"})


def test_lines_are_answered_in_order_and_a_refused_one_does_not_end_them():
    """Status 0 as long as every line is JSON."""
    lines = "\n".join(json.dumps(document) for document in (GOOD, ELEVEN, OVER, GOOD))
    status, out, err = run(score, lines, "--lines")
    answers = [json.loads(line) for line in out.splitlines()]
    assert (status, err) == (0, "")
    assert ["deals" in answer for answer in answers] == [True, False, False, True]
    assert [answer["error"]["code"] for answer in answers[1:3]] == ["malformed", "pulka_over"]


def test_a_line_that_is_not_json_makes_the_status_2():
    """The lines after it are answered all the same; blank lines are none."""
    status, out, _ = run(replay, f"{json.dumps(RECORD)}\n\n{{\n{json.dumps(RECORD)}\n", "--lines")
    answers = [json.loads(line) for line in out.splitlines()]
    assert status == 2
    assert ["phase" in answer for answer in answers] == [True, False, True]


@pytest.mark.parametrize(("command", "text"), [(score, '{"players":3,"players":4,"deals":[]}'), (replay, '{"players":3,"players":4}')])
def test_a_member_that_is_named_twice(command, text):
    """F11: status 2, and the path of the member."""
    status, out, err = run(command, text)
    error = json.loads(err)["error"]
    assert (status, out, error["code"], error["path"]) == (2, "", "malformed", "players")


def test_a_missing_file_is_a_usage_error():
    """Status 2, and the name of the file."""
    done = CliRunner().invoke(score, ["no such file"])
    assert done.exit_code == 2
    assert "no such file" in done.stderr


def test_a_file_that_cannot_be_read_is_bad_input(tmp_path):
    """Exit status 2 and one JSON object that names the file, like any other bad input."""
    done = CliRunner().invoke(score, [str(tmp_path / "none.json")])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "none.json: No such file" in json.loads(done.stderr)["error"]["message"]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "which"), [(replay, 0), (score, 1)])
def test_a_thousand_lines_are_answered_by_one_process(command, which):
    """A document of one whole deal a line, each answered in its place, and none fails; how fast is for `make bench`."""
    rng = random.Random(300)
    written = [played(rng, CONVENTIONS[number % len(CONVENTIONS)], 3 + number % 2) for number in range(1_000)]
    terms = [{name: record[name] for name in ("convention", "players")} for record, _ in written]
    documents = [record if which == 0 else term | {"deals": [deal]} for (record, deal), term in zip(written, terms, strict=True)]
    lines = "\n".join(json.dumps(document) for document in documents)
    status, out, _ = run(command, lines, "--lines")
    assert (status, len(out.splitlines()), '{"error"' in out) == (0, 1_000, False)


def test_a_sheet_is_explained_as_a_scorer_would():
    """`--explain` tells it in lines of text, in the language that is wanted, each entry with its rule."""
    status, out, err = run(score, GOOD, "--explain")
    assert (status, err) == (0, "")
    assert "  seat 1: writes +8 on seat 0, now 8: 4 tricks at 2 [3.8.1.1]" in out.splitlines()
    _, russian, _ = run(score, GOOD, "--explain", "--lang", "ru")
    assert "  вторая рука пишет на первую руку +8, стало 8: 4 взятки по 2 [3.8.1.1]" in russian.splitlines()
    assert json.loads(run(score, GOOD, "--explain", "--json")[1]) == {"lines": out.splitlines()}


def test_explanations_are_answered_line_by_line_too():
    """With `--lines` each document is told in an object of its own; what cannot be read is an error as ever."""
    lines = "\n".join(json.dumps(document) for document in (GOOD, ELEVEN))
    status, out, _ = run(score, lines, "--lines", "--explain")
    answers = [json.loads(line) for line in out.splitlines()]
    assert (status, [set(answer) for answer in answers]) == (0, [{"lines"}, {"error"}])
    status, out, err = run(score, ELEVEN, "--explain")
    assert (status, out, json.loads(err)["error"]["path"]) == (2, "", "deals[0].tricks")
