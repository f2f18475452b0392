"""`pulka solve`: where the answer goes and which status tells what (deploy/docs/command-line.md)."""

import json

import pytest
from click.testing import CliRunner

from services.cli.player.solve import solve

OPEN = {"hands": ["AS 7H", "KS 8H", "QS 9H"], "leader": 0, "contract": "6S", "declarer": 0}


def run(document, *options):
    """Status, standard output, standard error for a document on standard input."""
    text = document if isinstance(document, str) else json.dumps(document)
    done = CliRunner().invoke(solve, ["-", *options], input=text)
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize(
    ("document", "keys"), [(OPEN, {"declarer_tricks", "line"}), (OPEN | {"contract": "all_pass", "declarer": None}, {"tricks", "line"})]
)
def test_an_answer_is_one_object_on_standard_output(document, keys, options):
    """With or without --json."""
    status, out, err = run(document, *options)
    assert (status, err) == (0, "")
    assert set(json.loads(out)) == keys


@pytest.mark.parametrize("document", ["{", "", "[]", {**OPEN, "leader": 3}])
def test_an_error_is_one_object_on_standard_error(document):
    """Status 2; nothing on standard output."""
    status, out, err = run(document)
    assert (status, out) == (2, "")
    assert json.loads(err)["error"]["code"] == "malformed"


def test_positions_are_solved_line_by_line():
    """A refused document's error names its place, and the lines after it are answered."""
    status, out, _ = run("\n".join(json.dumps(document) for document in (OPEN, {**OPEN, "hands": ["AS", "KS", "1S"]}, OPEN)), "--lines")
    first, wrong, last = (json.loads(line) for line in out.splitlines())
    assert status == 0
    assert first == last == {"declarer_tricks": 1, "line": ["AS", "KS", "QS", "7H", "8H", "9H"]}
    assert wrong == {"error": {"code": "malformed", "path": "hands[2]", "message": "'1S' is no card"}}
