"""Who sits in a pulka, over HTTP on real servers: drawn seats, stakes, newcomers, substitutes, adjourning, leaving."""

from __future__ import annotations

import time

import httpx
import msgspec

from shared.rules.deck.chain import link_after
from shared.rules.pulka.seat_draw import cards_of, lowest_first
from shared.rules.score_files.deal_record import replay_document
from shared.rules.score_files.score_file import score_document
from tests.journeys.club import PATIENCE, Club, Party, Person


def drawn(club, **terms) -> Party:
    """A party whose seats have been drawn for; its people sit in the order of their new seats."""
    party = Party(club, seed=5, **terms)
    view = party.waiting_view("draw")
    assert (view["to_act"], view["legal"], view["seats"]) == (0, [{"type": "draw", "place": 1}], [person.id for person in party.people])
    for seat, person in enumerate(party.people):
        answer = person.move(party.table, {"type": "draw", "place": 11 * seat + 3})
        assert answer.status_code == 200, answer.text
        party.acknowledged.append(answer.json())
    told = next(event for event in party.acknowledged[-1]["events"] if event["type"] == "SeatsDrawn")
    party.people = [next(person for person in party.people if person.id == player) for player in told["seats"]]
    return party


def test_3_1_1_seats_are_drawn_for_and_everybody_can_check_it(club):
    """Committed before anybody draws, told after the last card: cards and seats follow from seed and places; then the pulka is played."""
    party = drawn(club, seating="drawn", stake=3, target=1)
    opened, *draws = party.history()[:4]
    started = opened["events"][2]
    assert (started["type"], started["server_seed"]) == ("SeatDrawStarted", None)
    digest, sat = opened["events"][0]["rules_digest"], opened["events"][0]["seats"]
    places = tuple((event["seat"], event["place"]) for frame in draws for event in frame["events"] if event["type"] == "SeatCardDrawn")
    told = draws[-1]["events"][-2]
    assert link_after(party.table, told["server_seed"]) == started["commitment"]
    assert list(cards_of(told["server_seed"], party.table, digest, places, ())) == told["cards"]
    assert [sat[seat] for seat in lowest_first(tuple(told["cards"]))] == told["seats"]
    for seat, person in enumerate(party.people):
        assert person.view(party.table)["seat"] == seat
        assert [event for frame in party.history(seat) for event in frame["events"]].count(told) == 1

    view = party.play_out()
    ledger = f"/v1/ledger/tables/{party.table}"
    sheet = party.people[0].get(f"{ledger}/sheet", params={"at_least": party.acknowledged[-1]["position"]}).json()
    assert sheet["settlement"] == view["settlement"]
    assert [payment == 3 * whists for payment, whists in zip(sheet["settlement"]["payments"], sheet["settlement"]["rounded"], strict=True)]
    assert score_document(party.people[0].get(f"{ledger}/score-file").content)["settlement"] == sheet["settlement"]
    assert httpx.get(f"{club.url}{ledger}/audit/verify", trust_env=False).json()["verified"]


def test_3_1_1_a_hand_is_shown_to_who_sits_there_after_the_draw(club):
    """The draw moves people to other seats under open streams: each is dealt to where he sits now, and sees no other hand."""
    party = drawn(club, seating="drawn")
    party.until("auction")
    for seat, person in enumerate(party.people):
        hands = [event["hands"] for frame in party.history(seat) for event in frame["events"] if event["type"] == "CardsDealt"]
        assert [place for place, hand in enumerate(hands[0]) if hand is not None] == [seat]
        assert msgspec.json.encode(person.view(party.table)["hand"]) == msgspec.json.encode(hands[0][seat])


YES = {"type": "answer", "accept": True}


def consent(party: Party) -> dict:
    """Everybody who is asked consents; what the last answer said."""
    while (view := party.view())["consent"] is not None:
        seat = view["consent"]["waiting"][0]
        answer = party.people[seat].move(party.table, YES)
        assert answer.status_code == 200, answer.text
        party.acknowledged.append(answer.json())
    return party.acknowledged[-1]


def accepted(answer: httpx.Response) -> dict:
    """The answer to a move that is accepted."""
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_3_1_2_a_newcomer_makes_a_pulka_of_three_one_of_four(club):
    """He asks, all consent, he sits left of the last dealer and deals next; the pulka is played, booked and verified to its end."""
    party = Party(club, seed=11, target=8)
    party.until("auction")
    eve = Person(club, "eve")
    assert eve.move(party.table, {"type": "ready"}).json()["code"] == "not_seated"
    asked = accepted(eve.move(party.table, {"type": "join"}))
    assert asked["events"] == [{"type": "ConsentAsked", "what": "newcomer", "player": eve.id, "seat": None, "asked": [0, 1, 2]}]
    consent(party)
    while (view := party.view())["players"] == 3:
        party.step()
    seat = view["seats"].index(eve.id)
    party.people = [*party.people[:seat], eve, *party.people[seat:]]
    view = party.until("auction")
    assert (view["dealer"], party.view(seat)["seat"]) == (seat, seat)
    party.play_out()

    ledger, last = f"/v1/ledger/tables/{party.table}", party.acknowledged[-1]["position"]
    sheet = eve.get(f"{ledger}/sheet", params={"at_least": last}).json()
    assert [section["players"] for section in sheet["sections"]] == [3, 4]
    for section in (1, 2):
        shown = eve.get(f"{ledger}/sheet", params={"section": section}).json()
        again = score_document(eve.get(f"{ledger}/score-file", params={"section": section}).content)
        assert {name: again[name] for name in ("deals", "sheet", "settlement")} == {name: shown[name] for name in again if name != "closed"}
    first = sheet["sections"][1]["first_deal"]
    records = [eve.get(f"{ledger}/deals/{number}").json() for number in range(1, first + len(sheet["deals"]))]
    assert [record["players"] for record in records] == [3] * (first - 1) + [4] * len(sheet["deals"])
    assert [replay_document(msgspec.json.encode(record))["score"] for record in records[first - 1 :]] == sheet["deals"]
    lines = [person.get(f"/v1/ledger/players/{person.id}/statement").json()["pulkas"][0]["rounded"] for person in party.people]
    assert lines == sheet["settlement"]["rounded"]
    assert sum(lines) == 0
    assert eve.get(f"{ledger}/audit/verify").json()["problems"] == []


def test_5_4_7_a_substitute_takes_over_seat_cards_and_sheet(club):
    """In the middle of a deal: her view has the hand, his has none, both under open eyes of the audit; the result is hers at the end."""
    party = Party(club, seed=12, target=2)
    view = party.until("auction")
    leaver, eve = party.people[view["to_act"]], Person(club, "eve")
    seat, hand = view["to_act"], leaver.view(party.table)["hand"]
    accepted(eve.move(party.table, {"type": "join", "seat": seat}))
    assert consent(party)["events"][-1] == {"type": "SubstituteSeated", "seat": seat, "player": eve.id, "replaced": leaver.id}
    party.people[seat] = eve
    assert (eve.view(party.table)["hand"], leaver.view(party.table)["hand"], leaver.view(party.table)["seat"]) == (hand, None, None)
    assert leaver.move(party.table, {"type": "bid", "bid": "pass"}).json()["code"] == "not_seated"
    settlement = party.play_out()["settlement"]
    ledger, last = f"/v1/ledger/tables/{party.table}", party.acknowledged[-1]["position"]
    assert eve.get(f"{ledger}/sheet", params={"at_least": last}).json()["settlement"] == settlement
    (line,) = eve.get(f"/v1/ledger/players/{eve.id}/statement").json()["pulkas"]
    assert (line["seat"], line["net"]) == (seat, settlement["net"][seat])
    assert leaver.get(f"/v1/ledger/players/{leaver.id}/statement").json()["pulkas"] == []
    assert eve.get(f"{ledger}/audit/verify").json()["problems"] == []


def test_5_4_18_an_adjourned_pulka_waits_for_its_players_across_a_restart(nats_url, postgres_dsn, namespace, tmp_path):
    """The deal is finished, then nothing happens, though seconds pass and the server is killed; when all are ready it goes on."""
    with Club(nats_url, postgres_dsn, namespace, tmp_path) as club:
        party = Party(club, seed=13, target=2, clock={"move_s": 1, "cut_s": 1})
        accepted(party.people[1].move(party.table, {"type": "propose", "what": "adjourn"}))
        consent(party)
        while not (view := party.view())["adjourned"]:
            if view["to_act"] is not None:
                party.people[view["to_act"]].move(party.table, party.choice(view["to_act"]))  # his second may be over before
        assert (view["phase"], view["clock"]["deadline"], view["ready"]) == ("between_deals", None, [False] * 3)
        accepted(party.people[0].move(party.table, {"type": "ready"}))
        club.kill()
        club.start()
        revision = party.view()["revision"]
        clock = time.monotonic() + 3  # three times the seconds of a turn
        while time.monotonic() < clock:
            assert (party.view()["revision"], party.view()["adjourned"], party.view()["ready"]) == (revision, True, [True, False, False])
        accepted(party.people[1].move(party.table, {"type": "ready"}))
        resumed = accepted(party.people[2].move(party.table, {"type": "ready"}))
        assert [event["type"] for event in resumed["events"]] == ["SeatReady", "PulkaResumed"]
        assert party.waiting_view("cut", "auction")["deal"] == view["deal"] + 1


def test_5_4_18_when_one_leaves_any_player_may_demand_the_settlement(club):
    """The deal is finished; then the pulka is over, shortages are in the mountain, and books and audit have it so."""
    party = Party(club, seed=14, target=40)
    party.until("auction")
    assert party.people[0].move(party.table, {"type": "settle"}).json()["code"] == "call_not_allowed"
    accepted(party.people[2].move(party.table, {"type": "leave"}))
    accepted(party.people[0].move(party.table, {"type": "settle"}))
    assert party.view()["settling"]
    view = party.play_out()
    sheet, settlement = view["sheet"], view["settlement"]
    assert settlement["mountain"] == [high + 40 - pool for high, pool in zip(sheet["mountain"], sheet["pool"], strict=True)]
    assert party.history()[-1]["events"][-1]["reason"] == "demanded"
    ledger, last = f"/v1/ledger/tables/{party.table}", party.acknowledged[-1]["position"]
    booked = party.people[0].get(f"{ledger}/sheet", params={"at_least": last}).json()
    assert (booked["closed"], booked["settlement"]) == (True, settlement)
    assert party.people[0].get(f"{ledger}/audit/verify").json()["problems"] == []


def test_5_4_18_built_in_players_consent_and_are_ready(club):
    """At a table with bots a newcomer needs the people's consent only, and the bots never keep an adjourned pulka waiting."""
    anna, eve = Person(club, "anna"), Person(club, "eve")
    table = anna.post("/v1/lobby/tables", {"bots": 2, "target": 30, "clock": {"move_s": 1, "cut_s": 1}}).json()["id"]
    assert anna.post(f"/v1/lobby/tables/{table}/seats", {"seat": 0}).status_code == 201
    accepted(anna.post(f"/v1/lobby/tables/{table}/ready"))

    def until(holds):
        deadline = time.monotonic() + PATIENCE
        while not holds(view := anna.view(table)):
            assert time.monotonic() < deadline, view
        return view

    until(lambda view: view["status"] == "playing" and view["phase"] == "auction")
    accepted(eve.move(table, {"type": "join"}))
    accepted(anna.move(table, {"type": "answer", "accept": True}))
    until(lambda view: view["newcomer"] == eve.id or view.get("players") == 4)
    accepted(anna.move(table, {"type": "propose", "what": "adjourn"}))
    view = until(lambda view: view["adjourned"] and sum(view["ready"]) == 2)
    assert not view["ready"][view["seat"]]
    for person in (anna, eve):
        accepted(person.move(table, {"type": "ready"}))
    until(lambda view: view["phase"] == "auction" and view["players"] == 4)
