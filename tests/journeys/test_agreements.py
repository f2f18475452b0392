"""Claims and proposals over HTTP on real servers: what everybody is told, what the turn is afterwards, and what the deal's record tells."""

from __future__ import annotations

import httpx
import msgspec

from shared.rules.score_files.deal_record import replay_document
from tests.journeys.club import Party


def claimable(party: Party) -> dict:
    """Play on until whoever is to act in a trick game may claim; the table as he sees it."""
    while True:
        view = party.until("play")
        mine = party.view(view["to_act"])
        if {"type": "claim"} in mine["legal"] and mine["contract"] != "misere":
            return mine
        party.step()


def told(party: Party, seat: int, move: dict) -> dict:
    """The commit of a move that is accepted."""
    answer = party.people[seat].move(party.table, move)
    assert answer.status_code == 200, answer.text
    return answer.json()


def all_agree(party: Party, seat: int, move: dict) -> dict:
    """The commit in which the last of those who are asked agreed to `move`."""
    answer = told(party, seat, move)
    while (view := party.view())["phase"] == "claim":
        answer = told(party, view["to_act"], {"type": "answer", "accept": True})
    return answer


def types(commit: dict) -> list[str]:
    return [event["type"] for event in commit["events"]]


def finished(party: Party, number: int, *expected: str) -> None:
    """Deal `number` is played on to its end; its record has the moves named, and replays to what the deal wrote. The audit verifies."""
    while (view := party.waiting_view())["deal"] == number and view["status"] != "over":
        party.step()
    last = party.history()[-1]["position"]
    ledger = f"/v1/ledger/tables/{party.table}"
    sheet = party.people[0].get(f"{ledger}/sheet", params={"at_least": last}).json()
    record = party.people[0].get(f"{ledger}/deals/{number}").json()
    assert set(expected) <= {move["type"] for move in record["moves"]}
    assert replay_document(msgspec.json.encode(record))["score"] == sheet["deals"][number - 1]
    assert httpx.get(f"{party.people[0].club.url}{ledger}/audit/verify", trust_env=False).json()["verified"]


def test_3_9_14_4_an_accepted_claim_ends_the_deal(club):
    """The claimer's hand is shown to all, nobody moves meanwhile, and when all agree the deal is scored and revealed (3.9.14.4, 3.9.15)."""
    party = Party(club, seed=11, target=40)
    mine = claimable(party)
    seat, left = mine["to_act"], 10 - sum(mine["tricks"])
    made = told(party, seat, {"type": "claim", "tricks": left})
    assert types(made) == ["ClaimMade"]
    assert set(mine["hand"].split()) <= set(made["events"][0]["hand"].split())
    for person in (None, 0, 1, 2):
        view = party.view(person) if person is not None else httpx.get(f"{club.url}/v1/tables/{party.table}", trust_env=False).json()
        assert (view["phase"], view["pending"]["what"], view["pending"]["tricks"]) == ("claim", "claim", left)
        assert view["hands"][seat] == mine["hand"]
    early = party.people[seat].move(party.table, mine["legal"][0])
    assert (early.status_code, early.json()["code"]) == (409, "claim_pending")
    while (view := party.view())["phase"] == "claim":
        last = told(party, view["to_act"], {"type": "answer", "accept": True})
    assert types(last) == ["ClaimAnswered", "DealScored", "DealRevealed"]
    assert sum(last["events"][1]["outcome"]["tricks"]) == 10
    finished(party, mine["deal"], "claim", "answer")


def test_c_03_a_refused_claim_leaves_the_turn_and_the_cards_face_up(club):
    """The same turn goes on, bound to what was stated; the record tells of claim and refusal (C-03, Decision 24)."""
    party = Party(club, seed=12, target=40)
    mine = claimable(party)
    seat, first = mine["to_act"], next(move for move in mine["legal"] if move["type"] == "play")
    line = [first["card"]]
    told(party, seat, {"type": "claim", "tricks": 0, "line": line})
    asked = party.view()["to_act"]
    refused = told(party, asked, {"type": "answer", "accept": False})
    assert types(refused)[0] == "ClaimAnswered"
    assert types(refused)[-1] == "HeldToLine"
    view = party.view(seat)
    assert (view["phase"], view["to_act"], view["turn_revision"], view["pending"]) == ("play", seat, mine["turn_revision"], None)
    assert view["exposed"][seat] == mine["hand"]
    assert [move for move in view["legal"] if move["type"] == "play"] == [first]
    assert {"type": "claim"} not in view["legal"]
    again = party.people[seat].move(party.table, {"type": "claim", "tricks": 0})
    assert (again.status_code, again.json()["code"]) == (409, "call_not_allowed")
    finished(party, mine["deal"], "claim", "answer")


def test_3_9_22_a_contract_is_settled_by_consent(club):
    """Somebody proposes the tricks, all others agree, and the deal is scored with them (3.9.22)."""
    party = Party(club, seed=13, target=40)
    mine = claimable(party)
    proposer = (mine["declarer"] + 1) % 3
    tricks = list(mine["tricks"])
    tricks[mine["declarer"]] += 10 - sum(tricks)
    refused = party.people[proposer].move(party.table, {"type": "propose", "what": "settle_contract", "tricks": 11})
    assert (refused.status_code, refused.json()["code"]) == (409, "claim_out_of_range")
    last = all_agree(party, proposer, {"type": "propose", "what": "settle_contract", "tricks": tricks})
    assert types(last) == ["ProposalAnswered", "DealScored", "DealRevealed"]
    assert last["events"][1]["outcome"]["tricks"] == tricks
    finished(party, mine["deal"], "propose", "answer")


def test_3_9_11_1_an_older_trick_is_shown_when_nobody_objects(club):
    """The view has the last trick only; an older one is told to everybody once all agreed, not after a refusal (3.9.8, 3.9.11.1)."""
    party = Party(club, seed=14, target=40)
    while (view := party.until("play"))["trick"]["number"] < 4:
        party.step()
    ask = {"type": "propose", "what": "older_trick", "trick": 1}
    told(party, 1, ask)
    assert types(told(party, 2, {"type": "answer", "accept": False})) == ["ProposalAnswered"]
    last = all_agree(party, 1, ask)
    assert types(last) == ["ProposalAnswered", "TrickShown"]
    shown = party.history(seat=None)[-1]["events"][1]
    deal = [frame["events"] for frame in party.history() if frame["revision"] < last["revision"]]
    events = [event for commit in deal for event in commit]
    start = max(index for index, event in enumerate(events) if event["type"] == "CardsDealt")
    cards = [event for event in events[start:] if event["type"] in ("TalonCardOpened", "CardPlayed")]
    first = cards[: 4 if cards[0]["type"] == "TalonCardOpened" else 3]
    assert shown["cards"].split() == [event["card"] for event in first]
    assert shown["seats"] == [event.get("seat") for event in first]
    assert party.view()["turn_revision"] == view["turn_revision"]
    finished(party, view["deal"], "propose", "answer")


def test_5_4_18_a_pulka_is_stopped_by_consent(club):
    """The deal is finished, then the pulka is settled with each one's shortage and is over (5.4.18)."""
    party = Party(club, seed=15, target=40)
    party.until("auction")
    assert types(all_agree(party, 2, {"type": "propose", "what": "stop_pulka"})) == ["ProposalAnswered", "StopAgreed"]
    assert party.view()["stopping"]
    view = party.play_out()
    assert (view["status"], view["deal"], sum(view["settlement"]["rounded"])) == ("over", 1, 0)
    closed = party.history()[-1]["events"][-1]
    assert (closed["type"], closed["reason"]) == ("PulkaClosed", "by_consent")
    over = party.people[0].move(party.table, {"type": "propose", "what": "pause"})
    assert (over.status_code, over.json()["code"]) == (409, "pulka_over")
    finished(party, 1, "propose", "answer")
