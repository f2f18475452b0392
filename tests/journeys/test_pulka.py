"""Whole pulkas over HTTP on real servers, and the promises that a client relies on while he plays one."""

from __future__ import annotations

import itertools
import json
import threading
import time
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest

from shared.rules.score_files.deal_record import replay_document
from shared.rules.score_files.score_file import score_document
from tests.journeys.club import PATIENCE, Club, Party, Person


@pytest.mark.parametrize(("convention", "players"), [("sochi", 3), ("leningrad", 4), ("rostov", 3), ("sochi", 2), ("leningrad", 5)])
def test_a_pulka_is_played_scored_audited_and_replayed(club, convention, players):
    """From sign-up to settlement: zero sum (4.2.14), the score file and every deal record give the same sheet again, the audit verifies."""
    party = Party(club, seed=7, convention=convention, players=players, target=2)
    view = party.play_out()
    ledger = f"/v1/ledger/tables/{party.table}"
    last = party.acknowledged[-1]["position"]
    sheet = party.people[0].get(f"{ledger}/sheet", params={"at_least": last}).json()
    assert sheet["closed"]
    assert sum(sheet["settlement"]["rounded"]) == 0
    assert sheet["sheet"] == view["sheet"]
    assert sheet["settlement"] == view["settlement"]
    again = score_document(party.people[0].get(f"{ledger}/score-file").content)
    assert (again["sheet"], again["settlement"]) == (sheet["sheet"], sheet["settlement"])
    for number, written in enumerate(sheet["deals"], 1):
        record = party.people[0].get(f"{ledger}/deals/{number}").json()
        replayed = replay_document(msgspec.json.encode(record))
        assert replayed["score"] == written
    verdict = httpx.get(f"{club.url}{ledger}/audit/verify", trust_env=False).json()
    assert verdict == {"verified": True, "commits": len(party.history()), "head": party.history()[-1]["hash"], "problems": []}


def test_history_has_no_gap_and_every_answer_is_in_it(club):
    """Revisions count from 1 without gaps, and each acknowledged answer is the commit at its revision, as its player saw it."""
    party = Party(club, target=1)
    party.play_out()
    history = party.history()
    assert [frame["revision"] for frame in history] == list(range(1, len(history) + 1))
    hashes = {frame["revision"]: frame["hash"] for frame in history}
    assert all(hashes[answer["revision"]] == answer["hash"] for answer in party.acknowledged)


def test_a_double_click_makes_one_event(club):
    """The same key in parallel, and again in a later phase, is one commit and one answer."""
    party = Party(club)
    seat = party.waiting_view("cut")["to_act"]
    answers: list[httpx.Response] = []
    clicks = [threading.Thread(target=lambda: answers.append(_posted(party, seat))) for _ in range(8)]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    party.until("play")
    answers.append(_posted(party, seat))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    other = party.people[seat].move(party.table, {"type": "cut", "at": 12}, key="double")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")


def _posted(party: Party, seat: int) -> httpx.Response:
    person = party.people[seat]
    headers = {"Authorization": f"Bearer {person.token}", "Idempotency-Key": "double"}
    return httpx.post(
        f"{person.club.url}/v1/tables/{party.table}/moves", json={"type": "cut", "at": 11}, headers=headers, trust_env=False, timeout=20
    )


def test_of_different_moves_on_one_revision_one_is_made(club):
    """Eight cuts at once: one is accepted, the others are told the current revision, with `If-Match` by 412 and without it by 409."""
    party = Party(club)
    view = party.waiting_view("cut")
    person, path = party.people[view["to_act"]], f"{club.url}/v1/tables/{party.table}/moves"
    answers: list[httpx.Response] = []

    def cut(at: int) -> None:
        seen = {"If-Match": f'"{view["revision"]}"'} if at % 2 else {}
        headers = {"Authorization": f"Bearer {person.token}", "Idempotency-Key": f"cut-{at}", **seen}
        answers.append(httpx.post(path, json={"type": "cut", "at": at}, headers=headers, trust_env=False, timeout=20))

    cuts = [threading.Thread(target=cut, args=(at,)) for at in range(8, 16)]
    for each in cuts:
        each.start()
    for each in cuts:
        each.join()
    (made,) = [answer.json() for answer in answers if answer.status_code == 200]
    refused = [answer for answer in answers if answer.status_code != 200]
    assert {answer.status_code for answer in refused} <= {409, 412}
    assert len(refused) == 7
    assert {answer.json()["revision"] for answer in refused} == {made["revision"]}
    assert [frame["hash"] for frame in party.history(after=view["revision"])] == [made["hash"]]


def test_a_token_that_only_reads_cannot_move(club):
    """Whoever was given a token to watch with sees what its player sees, and acts as nobody."""
    party = Party(club)
    seat = party.waiting_view("cut")["to_act"]
    read = party.people[seat].post("/v1/lobby/tokens", {"scopes": ["read"]}).json()["token"]
    headers = {"Authorization": f"Bearer {read}", "Idempotency-Key": "mine"}
    path = f"{club.url}/v1/tables/{party.table}"
    assert httpx.get(path, headers=headers, trust_env=False).json()["seat"] == seat
    refused = httpx.post(f"{path}/moves", json={"type": "cut", "at": 9}, headers=headers, trust_env=False)
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing")
    assert party.view()["phase"] == "cut"


def test_no_log_line_or_metric_holds_a_secret(nats_url, postgres_dsn, namespace, tmp_path):
    """At the most talkative level, through refusals and a whole pulka: no card, seed, token, name, password or server's password."""
    with Club(nats_url, postgres_dsn, namespace, tmp_path, PULKA_LOG_LEVEL="debug") as club:
        party = Party(club, target=1)
        named = party.people[0].post("/v1/lobby/players", {"name": "Zoroaster", "password": "open sesame"})
        party.people[0].post("/v1/lobby/tokens", {"player": named.json()["player"]["id"], "password": "closed sesame"})
        party.until("play")
        party.people[0].post(f"/v1/tables/{party.table}/moves", {"type": "discard", "cards": ["AS", "KS"]}, Idempotency_Key="no")
        party.play_out()
        told = club.client().get("/metrics").text + club.client().get("/health").text
        secrets = {"Zoroaster", "open sesame", "closed sesame", named.json()["token"], *(person.token for person in party.people)}
        secrets |= {urlsplit(url).password for url in (nats_url, postgres_dsn)} - {None}
        for event in (event for frame in party.history() for event in frame["events"] if event["type"] == "DealRevealed"):
            secrets |= {event["server_seed"], *event["hands"], event["talon"], *event["salts"].values()}
            secrets |= {event["discard"]} if event["discard"] else set()
    told += club.errors.read_text()
    assert "request_answered" in told
    assert "request_refused" in told
    assert "pulka_http_requests_total" in told
    assert not [secret for secret in secrets if secret in told]


def test_bad_input_is_a_problem_document_and_no_event(club):
    """Whatever is sent wrongly gets a stable code, the place or the rule, and leaves the table as it was."""
    party = Party(club)
    view = party.until("play")
    seat = view["to_act"]
    mine, other = party.people[seat], party.people[(seat + 1) % 3]
    path = f"/v1/tables/{party.table}/moves"
    held = party.view(seat)["hand"].split()
    foreign = next(card for card in ("AS", "KS", "QS", "JS", "TS", "9S", "8S", "7S", "AC", "KC", "QC") if card not in held)
    cases = [
        (mine.post(path, b"{", Idempotency_Key="a1"), 400, "malformed"),
        (mine.post(path, {"type": "play", "card": "AS", "colour": 1}, Idempotency_Key="a2"), 400, "malformed"),
        (mine.post(path, {"type": "play", "card": 5}, Idempotency_Key="a3"), 400, "malformed"),
        (mine.post(path, {"type": "fly"}, Idempotency_Key="a4"), 400, "malformed"),
        (mine.post(path, {"type": "play", "card": "1S"}, Idempotency_Key="a5"), 400, "malformed"),
        (mine.post(path, {"type": "play", "card": held[0]}), 400, "idempotency_key_missing"),
        (mine.post(path, {"type": "play", "card": foreign}, Idempotency_Key="a6"), 409, "card_not_held"),
        (mine.post(path, {"type": "bid", "bid": "6S"}, Idempotency_Key="a7"), 409, "wrong_phase"),
        (other.post(path, {"type": "play", "card": held[0]}, Idempotency_Key="a8"), 409, "not_your_turn"),
        (Person(club, "a stranger").post(path, {"type": "play", "card": held[0]}, Idempotency_Key="a9"), 403, "not_seated"),
        (mine.post(path, {"type": "play", "card": held[0]}, Idempotency_Key="b1", If_Match='"1"'), 412, "stale_revision"),
        (mine.post(path, {"type": "play", "card": held[0]}, Idempotency_Key="b2", If_Match="x"), 400, "malformed"),
        (mine.post(path, b"[" + b" " * 70_000 + b"]", Idempotency_Key="b3"), 413, "body_too_large"),
        (mine.get(f"/v1/tables/{party.table}/events?after=99999&follow=false"), 400, "malformed"),
        (mine.get("/v1/tables/0-nothing"), 404, "no_such_table"),
        (
            httpx.post(club.url + path, json={"type": "play", "card": "AS"}, headers={"Idempotency-Key": "b4"}, trust_env=False),
            401,
            "token_missing",
        ),
        (
            httpx.post(
                club.url + path,
                json={"type": "lay", "open": True},
                headers={"Idempotency-Key": "b5", "Authorization": "Bearer x.y.z"},
                trust_env=False,
            ),
            401,
            "token_invalid",
        ),
    ]
    for answer, status, code in cases:
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
    rules = [answer.json() for answer, status, _ in cases if status == 409]
    assert all(problem["rule"] and problem["revision"] == view["revision"] for problem in rules)
    assert party.view()["revision"] == view["revision"]


def test_no_byte_of_any_answer_shows_a_hidden_card(club):
    """Views, frames and answers, for every seat and a spectator, never hold a card that their reader may not know."""
    party = Party(club, seed=3)
    party.until("discard", "play")
    hands = [set(party.view(seat)["hand"].split()) for seat in range(3)]
    for seat, hidden in itertools.product((None, *range(3)), range(3)):
        if seat == hidden:
            continue
        said = json.dumps([_without_bids(event) for frame in party.history(seat) for event in frame["events"]])
        talon = set((party.view()["talon"] or "").split())
        assert not {card for card in hands[hidden] - talon if card in said}


def _without_bids(event: dict) -> dict:
    return {name: value for name, value in event.items() if name not in {"bid", "contract"}}


def test_of_two_the_dummy_is_nobodys_until_it_is_laid(club):
    """The third hand is shown to nobody before it is laid, after the first card of an all-pass, and then to all (Decision 19)."""
    party = Party(club, players=2)
    view = party.until("auction")
    assert (view["players"], len(view["seats"]), view["counts"]) == (2, 2, [10, 10, 10])
    while party.waiting_view()["phase"] == "auction":
        seat = party.view()["to_act"]
        assert party.people[seat].move(party.table, {"type": "bid", "bid": "pass"}).status_code == 200
    first = party.waiting_view("play")["to_act"]
    assert all(_dummy_seen(party, seat) is None for seat in (None, 0, 1))
    party.step()
    seen = {_dummy_seen(party, seat) for seat in (None, 0, 1)}
    assert len(seen) == 1
    party.step()
    view = party.view(1 - first)  # he has followed, and plays the dummy's card too
    assert (view["to_act"], {move["hand"] for move in view["legal"]}) == (1 - first, {2})
    assert seen.pop() == view["hands"][2]
    while party.waiting_view()["deal"] == 1:
        party.step()
    events = [event for seat in (None, 0, 1) for frame in party.history(seat) for event in frame["events"]]
    assert all(event["hands"][2] is None for event in events if event["type"] == "CardsDealt")
    assert all(event["hands"][2] and "hand:2" in event["salts"] for event in events if event["type"] == "DealRevealed")


def _dummy_seen(party: Party, seat: int | None) -> str | None:
    if seat is not None:
        return party.view(seat)["hands"][2]
    return httpx.get(f"{party.people[0].club.url}/v1/tables/{party.table}", trust_env=False).json()["hands"][2]


def test_a_stream_resumes_without_a_gap_or_a_repeat(club):
    """Frames read in pieces, each resumed at the last id, are the whole history (SSE ids and `Last-Event-ID`)."""
    party = Party(club, target=1)
    party.play_out()
    seen: list[int] = []
    address, cursor = f"{club.url}/v1/tables/{party.table}/events", "0"
    while True:
        piece = httpx.get(
            address, params={"follow": "false"}, headers={"Last-Event-ID": cursor, "Accept": "text/event-stream"}, trust_env=False
        )
        ids = [int(line[4:]) for line in piece.text.splitlines() if line.startswith("id: ")][1:7]  # the first is the view's
        if not ids:
            break
        seen += ids
        cursor = str(ids[-1])
    assert seen == list(range(1, party.view()["revision"] + 1))


def test_a_live_stream_shows_what_happens_as_it_happens(club):
    """A follower gets a view, then each commit once it is stored, and the same hashes as the movers."""
    party = Party(club)
    frames: list[dict] = []
    got_five = threading.Event()

    def follow() -> None:
        with httpx.stream(
            "GET", f"{club.url}/v1/tables/{party.table}/events", headers={"Accept": "application/x-ndjson"}, trust_env=False
        ) as answer:
            for line in answer.iter_lines():
                frames.append(json.loads(line))
                if len(frames) == 6:
                    got_five.set()
                    return

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    deadline = time.monotonic() + PATIENCE
    while not frames:
        assert time.monotonic() < deadline
        follower.join(0.01)
    answers = [party.step() for _ in range(5)]
    assert got_five.wait(PATIENCE)
    assert frames[0]["frame"] == "view"
    assert [frame["hash"] for frame in frames[1:]] == [answer["hash"] for answer in answers]


def test_a_turn_that_nobody_takes_times_out(club):
    """The cut and the first call are made by the clock: cut at 16 (3.2.5), then pass."""
    party = Party(club, clock={"move_s": 1, "cut_s": 1})
    deadline = time.monotonic() + PATIENCE
    while party.view()["phase"] == "cut" or len(party.view()["auction"]) < 1:
        assert time.monotonic() < deadline
    events = [event for frame in party.history() for event in frame["events"]]
    timed_out = [event for event in events if event["type"] == "TurnTimedOut"]
    assert len(timed_out) >= 2
    assert next(event for event in events if event["type"] == "DeckCut")["at"] == 16
    assert next(event for event in events if event["type"] == "BidMade")["bid"] == "pass"


def test_a_private_table_is_closed_to_others(club):
    """Without a seat nobody reads a private table: neither view, nor stream, nor ledger."""
    party = Party(club, visibility="private")
    stranger = Person(club, "a stranger")
    for path in (f"/v1/tables/{party.table}", f"/v1/tables/{party.table}/events", f"/v1/ledger/tables/{party.table}/sheet"):
        assert stranger.get(path).status_code == 403, path
        assert httpx.get(club.url + path, trust_env=False).status_code == 401, path
        assert party.people[0].get(path, params={"follow": "false"} if path.endswith("events") else {}).status_code == 200


def test_spectators_are_whole_deals_late_where_the_terms_say_so(club):
    """With a delay of one deal a spectator sees nothing of the deal in play, in view and stream alike."""
    party = Party(club, spectators={"allowed": True, "delay_deals": 1}, target=20)
    in_play = party.until("play")["deal"]
    watched = httpx.get(f"{club.url}/v1/tables/{party.table}", trust_env=False).json()
    assert (watched["delay_deals"], watched["deal"]) == (1, in_play - 1)
    assert _deals_shown(party) == in_play - 1
    while party.waiting_view()["deal"] == in_play:
        party.step()
    assert _deals_shown(party) == in_play


def _deals_shown(party: Party) -> int:
    """How many deals a spectator sees, each from its start to its reveal."""
    shown = [event["type"] for frame in party.history(None) for event in frame["events"]]
    assert shown.count("DealStarted") == shown.count("DealRevealed")
    return shown.count("DealStarted")
