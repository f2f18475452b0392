"""Killed without warning: the table process in mid-trick, NATS in mid-publish. Nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import threading
import time

import httpx
import pytest

from services.cli.embedded import EmbeddedServers
from tests.journeys.club import PATIENCE, Club, Party

pytestmark = pytest.mark.chaos


def _check_history(party: Party, answers: list[dict]) -> None:
    history = party.history()
    assert [frame["revision"] for frame in history] == list(range(1, len(history) + 1))
    hashes = {frame["revision"]: frame["hash"] for frame in history}
    lost = [answer for answer in answers if hashes.get(answer["revision"]) != answer["hash"]]
    assert not lost


def _when_back(party: Party, condition):
    """What `condition` answers once the servers are back; errors of a server that is away are waited out."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return condition()
        except (httpx.HTTPError, AssertionError):
            assert time.monotonic() < deadline, party.people[0].club.errors.read_text()[-3000:]


def test_the_table_process_is_killed_in_mid_trick(nats_url, postgres_dsn, namespace, tmp_path):
    """After `kill -9` and a restart, seats, dealer, cards and turn are as they were, streams resume, and the pulka goes on to its end."""
    with Club(nats_url, postgres_dsn, namespace, tmp_path) as club:
        party = Party(club, target=1, convention="rostov")
        read = party.history()
        for _ in range(3):
            party.until("play")
            party.step()  # in mid-trick
            before = [party.view(seat) for seat in range(3)]
            club.kill()
            club.start()
            after = [party.view(seat) for seat in range(3)]
            for old, new in zip(before, after, strict=True):
                assert {**old, "clock": 0, "presence": 0} == {**new, "clock": 0, "presence": 0}
            read += party.history(after=read[-1]["revision"])
            party.step()
        party.play_out()
        read += party.history(after=read[-1]["revision"])
        assert read == party.history()
        _check_history(party, party.acknowledged)


def test_a_move_whose_answer_was_lost_is_repeated_with_its_key(nats_url, postgres_dsn, namespace, tmp_path):
    """Whoever repeats an unanswered move after the crash gets the one answer, whether it had been stored or not."""
    with Club(nats_url, postgres_dsn, namespace, tmp_path) as club:
        party = Party(club, target=20)
        for _ in range(4):
            seat = party.waiting_view("auction", "play", "discard", "contract", "whist", "lay", "cut")["to_act"]
            move, key = party.choice(seat), secrets.token_hex(8)
            killer = threading.Thread(target=club.kill)
            killer.start()
            unanswered = None
            with contextlib.suppress(httpx.HTTPError):  # an answer that never comes is what this test is about
                unanswered = party.people[seat].move(party.table, move, key)
            killer.join()
            club.start()
            again = party.people[seat].move(party.table, move, key)
            assert again.status_code == 200, again.text
            if unanswered is not None and unanswered.status_code == 200:
                assert unanswered.json() == again.json()
            party.acknowledged.append(again.json())
            made = [frame for frame in party.history() if frame["hash"] == again.json()["hash"]]
            assert len(made) == 1
        _check_history(party, party.acknowledged)


def test_nobody_is_flagged_by_our_outage(nats_url, postgres_dsn, namespace, tmp_path):
    """A turn that an outage fell into gets the time back: nobody times out before what he was promised, counted without the outage."""
    with Club(nats_url, postgres_dsn, namespace, tmp_path) as club:
        party = Party(club, target=20, clock={"move_s": 6, "cut_s": 6})
        party.until("auction")
        began = party.view()
        assert began["phase"] == "auction"
        club.kill()
        away_until = time.monotonic() + 5
        while time.monotonic() < away_until:
            time.sleep(0.05)  # the outage itself is what passes
        club.start()
        deadline = time.monotonic() + PATIENCE
        while not any(event["type"] == "TurnTimedOut" for frame in party.history() for event in frame["events"]):
            assert time.monotonic() < deadline
        frame = next(
            frame for frame in party.history() if frame["events"][0]["type"] == "TurnTimedOut" and frame["revision"] > began["revision"]
        )
        flagged = frame["events"][0]
        assert flagged["credit"] >= 4_000
        assert frame["at"] >= flagged["deadline"] + flagged["credit"]


def test_nats_is_killed_in_mid_publish(postgres_dsn, tmp_path):
    """NATS dies again and again; every acknowledged move is in the log, once, and the services go on without a restart."""
    with (
        EmbeddedServers(tmp_path / "home", postgres=False) as servers,
        Club(servers.nats_url, postgres_dsn, "chaos" + secrets.token_hex(3), tmp_path) as club,
    ):
        parties = [Party(club, seed=seed, target=50, clock={"move_s": 600, "cut_s": 600}) for seed in range(3)]
        stop = threading.Event()
        failures: list[BaseException] = []
        players = [threading.Thread(target=_play_on, args=(party, stop, failures)) for party in parties]
        for player in players:
            player.start()
        for _ in range(4):
            counts = [len(party.acknowledged) for party in parties]
            deadline = time.monotonic() + PATIENCE
            while any(len(party.acknowledged) < count + 5 for party, count in zip(parties, counts, strict=True)):
                assert time.monotonic() < deadline, failures or club.errors.read_text()[-3000:]
                assert not failures
                time.sleep(0.005)  # the interval of a poll
            os.kill(servers.pids["nats"], signal.SIGKILL)
            os.waitid(os.P_PID, servers.pids["nats"], os.WEXITED | os.WNOWAIT)  # dead with all its threads, and left for its owner to reap
            servers.revive()
        stop.set()
        for player in players:
            player.join()
        assert not failures
        for party in parties:
            _check_history(party, party.acknowledged)


def _play_on(party: Party, stop: threading.Event, failures: list[BaseException]) -> None:
    try:
        while not stop.is_set():
            seat = _when_back(party, party.waiting_view)["to_act"]
            move, key = _when_back(party, lambda seat=seat: party.choice(seat)), secrets.token_hex(8)
            answer = _when_back(party, lambda seat=seat, move=move, key=key: _settled(party, seat, move, key))
            if answer.status_code == 200:
                party.acknowledged.append(answer.json())
    except BaseException as failure:  # noqa: BLE001 - told by the test's own thread
        failures.append(failure)


def _settled(party: Party, seat: int, move: dict, key: str) -> httpx.Response:
    answer = party.people[seat].move(party.table, move, key)
    assert answer.status_code not in {502, 503}, answer.text
    return answer
