"""After the settlement, over HTTP on real servers: an operator corrects and annuls, players may not, and everybody can see and check it."""

from __future__ import annotations

import subprocess
import sys
import time
from fractions import Fraction

import httpx
import pytest

from tests.journeys.club import PATIENCE, Party

WHY = "the third deal was entered twice"


class Operator:
    """Somebody at the club's desk, with a token that `pulka token` has made from the club's key."""

    def __init__(self, club, name="desk"):
        pulka = [sys.executable, "-c", "from services.cli.main import main; main()"]
        command = [*pulka, "token", "--scope", "operate", "--name", name]
        self.token = subprocess.run(command, env=club.environment, capture_output=True, text=True, timeout=30, check=True).stdout.strip()
        self.http = club.client()

    def post(self, table, what, key, token=None, **body):
        headers = {"Authorization": f"Bearer {token or self.token}", "Idempotency-Key": key}
        return self.http.post(f"/v1/tables/{table}/{what}", json=body, headers=headers)


@pytest.fixture(scope="module")
def party(club):
    """Three people who have played a pulka at a stake to its end."""
    party = Party(club, seed=11, target=1, stake="1/10")
    party.play_out()
    return party


def statement(club, path, **query):
    answer = httpx.get(f"{club.url}/v1/ledger/{path}/statement", params=query, trust_env=False)
    assert answer.status_code == 200, answer.text
    return answer.json()


def until(ask, wanted):
    """Ask until the answer is `wanted`: the lobby follows a few milliseconds later."""
    deadline = time.monotonic() + PATIENCE
    while (answer := ask()) != wanted:
        assert time.monotonic() < deadline, answer


def test_an_operator_corrects_and_annuls_and_the_books_follow(club, party):
    """Each decision is one commit, whatever is repeated; the players' statements, the sheet, the stream and the audit all show it."""
    operator, table = Operator(club), party.table
    net = list(map(Fraction, party.view()["settlement"]["net"]))
    corrected = operator.post(table, "corrections", "c1", amounts=["10/3", "-5/3", "-5/3"], reason=WHY)
    assert corrected.status_code == 200, corrected.text
    event = corrected.json()["events"][0]
    assert (event["type"], event["author"], event["reason"]) == ("ResultCorrected", "operator:desk", WHY)
    assert operator.post(table, "corrections", "c1", amounts=["20/6", "-5/3", "-10/6"], reason=WHY).json() == corrected.json()
    assert operator.post(table, "corrections", "c1", amounts=[1, -1, 0], reason=WHY).json()["code"] == "idempotency_mismatch"
    added = list(map(Fraction, event["amounts"]))
    for seat, person in enumerate(party.people):
        (line,) = statement(club, f"players/{person.id}", at_least=corrected.json()["position"])["pulkas"]
        assert Fraction(line["net"]) == net[seat] + added[seat]
        assert Fraction(line["settled"]["net"]) == net[seat]
        assert Fraction(line["payment"]) == Fraction(line["rounded"], 10)
        assert [(one["author"], one["reason"]) for one in line["corrections"]] == [("operator:desk", WHY)]
    shown = statement(club, f"tables/{table}")
    assert [one["kind"] for one in shown["transactions"]] == ["settlement", "correction"]

    annulled = operator.post(table, "annulment", "a1", reason="two players were one")
    assert annulled.json()["events"] == [{"type": "PulkaAnnulled", "author": "operator:desk", "reason": "two players were one"}]
    assert operator.post(table, "annulment", "a1", reason="two players were one").json() == annulled.json()
    assert operator.post(table, "annulment", "a2", reason="again").json()["code"] == "already_annulled"
    for person in party.people:
        page = statement(club, f"players/{person.id}", at_least=annulled.json()["position"])
        assert page["balance"] == {"whists": "0", "money": "0"}
        assert page["pulkas"][0]["annulled"]["reason"] == "two players were one"
    sheet = party.people[0].get(f"/v1/ledger/tables/{table}/sheet").json()
    assert sheet["annulled"]["author"] == "operator:desk"
    assert list(map(Fraction, sheet["settlement"]["net"])) == net
    told = [event["type"] for frame in party.history(None)[-2:] for event in frame["events"]]
    assert told == ["ResultCorrected", "PulkaAnnulled"]
    assert party.view()["annulled"] == {"author": "operator:desk", "reason": "two players were one"}
    until(lambda: party.people[0].get(f"/v1/lobby/tables/{table}").json()["status"], "annulled")
    verdict = httpx.get(f"{club.url}/v1/ledger/tables/{table}/audit/verify", trust_env=False, timeout=30).json()
    assert (verdict["verified"], verdict["problems"]) == (True, [])


def test_players_may_neither_correct_nor_annul(club, party):
    """Nor can they get a token that may: nobody is given that scope over HTTP."""
    operator, person = Operator(club), party.people[0]
    before = party.view()["revision"]
    for what, body in (("corrections", {"amounts": [5, -5, 0], "reason": WHY}), ("annulment", {"reason": WHY})):
        answer = operator.post(party.table, what, "p1", person.token, **body)
        assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")
        assert httpx.post(f"{club.url}/v1/tables/{party.table}/{what}", json=body, trust_env=False).json()["code"] == "token_missing"
    assert party.view()["revision"] == before
    asked = person.post("/v1/lobby/tokens", {"scopes": ["operate"]})
    assert (asked.status_code, asked.json()["path"]) == (400, "scopes[0]")


def test_5_4_18_a_pulka_that_goes_on_is_annulled_when_its_deal_is_over(club):
    """Its result cannot be corrected before there is one (4.2.14); annulled, it ends with the deal and leaves nobody a whist."""
    operator, going = Operator(club), Party(club, seed=12, target=40)
    refused = operator.post(going.table, "corrections", "g1", amounts=[5, -5, 0], reason=WHY)
    assert (refused.status_code, refused.json()["code"], refused.json()["rule"]) == (409, "not_closed", "4.2.14")
    ordered = operator.post(going.table, "annulment", "g2", reason=WHY)
    assert ordered.json()["events"] == [{"type": "AnnulmentOrdered", "author": "operator:desk", "reason": WHY}]
    view = going.play_out()
    assert (view["deal"], view["annulled"]) == (1, {"author": "operator:desk", "reason": WHY})
    at_least = going.acknowledged[-1]["position"]
    (transaction,) = statement(club, f"tables/{going.table}", at_least=at_least)["transactions"]
    assert (transaction["kind"], transaction["author"], transaction["postings"]) == ("annulment", "operator:desk", [])
    for person in going.people:
        page = statement(club, f"players/{person.id}", at_least=at_least)
        assert (page["pulkas"][0]["net"], page["pulkas"][0]["settled"]) == ("0", None)
        assert (page["pulkas"][0]["annulled"]["reason"], page["balance"]["whists"]) == (WHY, "0")
    until(lambda: going.people[0].get(f"/v1/lobby/tables/{going.table}").json()["status"], "annulled")
    verdict = httpx.get(f"{club.url}/v1/ledger/tables/{going.table}/audit/verify", trust_env=False, timeout=30).json()
    assert (verdict["verified"], verdict["problems"]) == (True, [])


def test_a_table_that_is_none_has_nothing_to_annul(club):
    """Neither an id that nobody was given nor one whose pulka has not begun."""
    operator = Operator(club)
    nowhere = operator.post("0-" + "a" * 26, "annulment", "g1", reason=WHY)
    assert (nowhere.status_code, nowhere.json()["code"]) == (404, "no_such_table")


def test_a_correction_survives_a_restart(club):
    """Killed right after the answer, the club gives the same answer to a repeat, and shows the same books."""
    party = Party(club, seed=13, target=1)
    party.play_out()
    operator = Operator(club)
    first = operator.post(party.table, "corrections", "r1", amounts=[3, -3, 0], reason=WHY)
    before = statement(club, f"tables/{party.table}", at_least=first.json()["position"])
    club.kill()
    club.start()
    assert operator.post(party.table, "corrections", "r1", amounts=[3, -3, 0], reason=WHY).json() == first.json()
    assert statement(club, f"tables/{party.table}", at_least=first.json()["position"]) == before
