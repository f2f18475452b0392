"""`pulka import`: a score file becomes a table of the club, once; a wrong one is refused as `pulka score` refuses it."""

from __future__ import annotations

import json
import socket
import threading

import pytest
from click.testing import CliRunner

from services.cli.operator.import_pulka import import_command
from services.cli.player.score import score
from shared.web.service import CannotStart, ServersUnreachable
from tests.token_keys import token_files

FILE = {"convention": "sochi", "players": 3, "deals": [{"contract": "all_pass", "tricks": [2, 5, 3]}]}
ANSWER = {"table_id": "0-" + "a" * 26, "revision": 1, "position": "TABLE_0:1", "hash": "00" * 32}


class Server:
    """Answers each request with `status` and `body`, and keeps what it was sent."""

    def __init__(self, status="201 Created", body=ANSWER):
        self.requests = []
        self._answer = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n{json.dumps(body)}".encode()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as sent:
                head = [sent.readline().decode().strip()]
                while line := sent.readline().decode().strip():
                    head.append(line)
                length = next(int(line.split(":")[1]) for line in head if line.lower().startswith("content-length"))
                self.requests.append((head[0], dict(line.lower().split(": ", 1) for line in head[1:]), json.loads(sent.read(length))))
                connection.sendall(self._answer)


@pytest.fixture
def run(tmp_path):
    keys = tmp_path / "home" / "keys"
    keys.mkdir(parents=True)
    token_files(keys)
    file = tmp_path / "pulka.json"

    def invoke(document, *arguments, home=tmp_path / "home"):
        file.write_text(document if isinstance(document, str) else json.dumps(document))
        return CliRunner(env={"PULKA_HOME": str(home)}).invoke(import_command, [str(file), *arguments])

    return invoke


def test_a_file_is_sent_and_the_table_named(run):
    """It goes to the server with an operator's token; the answer is the table's id, or the server's own object."""
    with Server() as server:
        plain = run(FILE, "--url", server.url, "--seats", "a,b,c", "--private")
        assert (plain.exit_code, plain.stdout) == (0, ANSWER["table_id"] + "\n")
        assert json.loads(run(FILE, "--url", server.url, "--json").stdout) == ANSWER
        line, headers, body = server.requests[0]
        assert line == "POST /v1/tables/recorded HTTP/1.1"
        assert headers["authorization"].startswith("bearer ")
        assert body == {"score_file": FILE, "seats": ["a", "b", "c"], "visibility": "private"}


def test_the_same_import_has_the_same_key(run):
    """A repeat carries the idempotency key of the first time, other seats or another `--key` another one."""
    with Server() as server:
        for more in ((), (), ("--seats", "a,b,c"), ("--key", "mine")):
            assert run(FILE, "--url", server.url, *more).exit_code == 0
        first, again, seated, own = (headers["idempotency-key"] for _, headers, _ in server.requests)
        assert first == again != seated
        assert own == "mine"


def test_the_key_is_of_the_paper_alone(run):
    """Spaces, order, who sends it and for whose eyes change nothing: the same paper is recorded once."""
    with Server() as server:
        seats = ("--seats", "a,b,c")
        turned = json.dumps(dict(reversed(FILE.items())), indent=3)
        for document, more in ((FILE, ()), (turned, ()), (FILE, ("--name", "night")), (FILE, ("--private",)), (FILE | {"target": 30}, ())):
            assert run(document, "--url", server.url, *seats, *more).exit_code == 0
        *same, other = (headers["idempotency-key"] for _, headers, _ in server.requests)
        assert len(set(same)) == 1
        assert other != same[0]


@pytest.mark.parametrize(
    "document",
    ["no json", FILE | {"players": 9}, FILE | {"deals": [{"contract": "all_pass", "tricks": [9, 5, 3]}]},
     FILE | {"convention": {"preset": "sochi", "ends_when": "deals:1", "help": "none"}, "deals": FILE["deals"] * 2}],
)  # fmt: skip
def test_a_wrong_file_is_refused_as_it_is_scored(run, tmp_path, document):
    """Error and exit status are those of `pulka score`, before anybody is asked."""
    found = run(document, "--url", "http://127.0.0.1:1")
    expected = CliRunner().invoke(score, [str(tmp_path / "pulka.json")])
    assert (found.exit_code, json.loads(found.stderr)) == (expected.exit_code, json.loads(expected.stderr))
    assert found.exit_code in (1, 2)


def test_wrong_seats_are_named(run):
    """As many as players, and nobody twice."""
    assert json.loads(run(FILE, "--seats", "a,b").stderr)["error"]["path"] == "seats"
    assert json.loads(run(FILE, "--private").stderr)["error"]["path"] == "visibility"
    assert run(FILE, "--name", "two words").exit_code == 2


def test_a_server_that_refuses_or_is_away_is_told(run, tmp_path):
    """The problem's code and place; status 3 when nobody answers; without keys nobody is asked."""
    problem = {"code": "malformed", "path": "seats[0]", "detail": "seats[0]: the lobby knows no such player"}
    with Server("400 Bad Request", problem) as server:
        refused = run(FILE, "--url", server.url)
        assert isinstance(refused.exception, CannotStart)
        assert str(refused.exception).endswith("malformed at seats[0]: the lobby knows no such player")
    assert isinstance(run(FILE, "--url", "http://127.0.0.1:1").exception, ServersUnreachable)
    assert isinstance(run(FILE, home=tmp_path / "nowhere").exception, CannotStart)


def test_4_2_16_a_pulka_that_was_annulled_since_is_said_to_be(run):
    """F35: the same file again, after its pulka was annulled: recorded and annulled, by whom and why, and status 1; no bare id."""
    annulled = {"author": "operator:desk", "reason": "entered twice"}
    with Server("201 Created", ANSWER | {"annulled": annulled}) as server:
        told = run(FILE, "--url", server.url)
        assert (told.exit_code, told.stdout) == (1, "")
        assert told.stderr.count("\n") == 1
        for words in (ANSWER["table_id"], "recorded already", "annulled", "operator:desk", "entered twice", "--key"):
            assert words in told.stderr
        as_json = run(FILE, "--url", server.url, "--json")
        assert (as_json.exit_code, json.loads(as_json.stdout)["annulled"]) == (1, annulled)


def test_the_day_of_play_goes_with_it(run):
    """F38: `--played-on` is sent and is part of the key; what is no day is a wrong usage."""
    with Server() as server:
        assert run(FILE, "--url", server.url).exit_code == 0
        assert run(FILE, "--url", server.url, "--played-on", "2026-11-01").exit_code == 0
        assert run(FILE, "--url", server.url, "--played-on", "1.11.2026").exit_code == 2
        (_, plain, nothing), (_, dated, body) = server.requests
    assert "played_on" not in nothing
    assert body["played_on"] == "2026-11-01"
    assert plain["idempotency-key"] != dated["idempotency-key"]
