"""One adjudicated deal over HTTP for every kind of irregularity that the Code remedies: the act as it happened, the call, the remedy, the
sheet by the Code's number, the books that prove it, and no card told to anybody who may not know it.
"""

from __future__ import annotations

import time

import msgspec

from tests.journeys.club import Person
from tests.journeys.courtroom import Courtroom, lowest


def types(events):
    return [event["type"] for event in events]


def played_six(club, **terms):
    """First hand declares six spades, both others whist; he leads."""
    return Courtroom(club, **terms).bids("6S pass pass").orders().whists()


def revoked(room):
    """First hand leads a suit that second hand can follow, and second hand plays another one; the suit led."""
    led, wrong = next(
        (suit, other[0])
        for suit in "CDHS"
        if room.suit(room.first, suit) and room.suit(room.second, suit)
        for other in [[card for card in room.hand(room.second) if card[1] != suit]]
        if other
    )
    room.plays(room.first, lowest(room.suit(room.first, led)))
    (card,) = room.plays(room.second, wrong)
    assert "irregular" not in card  # the mark is nobody's but the log's: it would tell what the hand holds (3.9.19)
    return led, wrong


def six(room, tricks):
    """What six spades write with these tricks by seat in Sochi, both whisting (4.1.1, 3.8.1, 3.8.6)."""
    declarer, others = room.first, (room.second, room.third)
    missing = max(0, 6 - tricks[declarer])
    wanted = [(declarer, "mountain" if missing else "pool", None, 2 * missing if missing else 2)]
    for seat in others:
        wanted += [(seat, "whists", declarer, 2 * tricks[seat])] if tricks[seat] else []
        wanted += [(seat, "whists", declarer, 2 * missing)] if missing else []
    if sum(tricks[seat] for seat in others) < 4:
        wanted += [(seat, "mountain", None, 2 * (2 - tricks[seat])) for seat in others if tricks[seat] < 2]
    return sorted(wanted, key=str)


def plain(written):
    return sorted(((seat, column, on, amount) for seat, column, on, amount, _ in written), key=str)


def test_3_9_16_1_a_revoke_in_time(club):
    """Called before the next trick, the card becomes exposed and the right one is played; the deal is scored as if nothing had been."""
    room = played_six(club)
    led, wrong = revoked(room)
    called = room.calls(room.first, "3.9.16", room.second)
    assert types(called)[:3] == ["AttentionCalled", "TricksTakenBack", "CardExposed"]
    assert (called[0]["rule"], called[0]["by"], called[0]["card"]) == ("3.9.16.1", room.first, wrong)
    assert room.view()["exposed"][room.second] == wrong
    room.plays(room.second, room.suit(room.second, led)[0])
    room.plays_out()
    outcome = room.confirms()["outcome"]
    assert "infractions" not in outcome
    assert plain(room.written()) == six(room, outcome["tricks"])
    room.proves_itself()


def test_3_9_16_2_a_late_revoke(club):
    """Called tricks later, the cards after it are taken back and played again, and at the end a trick of the offender's side goes to the
    declarer.
    """
    room = played_six(club)
    revoked(room)
    while (room.view()["trick"] or {"number": 0})["number"] < 3 or not room.view()["trick"]["cards"]:
        room.default()
    called = room.calls(room.first, "3.9.16", room.second)
    assert types(called)[:3] == ["AttentionCalled", "TricksTakenBack", "CardExposed"]
    assert called[0]["rule"] == "3.9.16.2"
    assert len(called[1]["cards"]) > 4
    assert room.view()["tricks"] == [0, 0, 0]
    room.plays_out()
    before = room.view()["court"]["result"]["tricks"]
    outcome = room.confirms()["outcome"]
    (forfeited,) = room.named("TrickForfeited")
    assert forfeited["rule"] == "3.9.16.2"
    assert [now - then for now, then in zip(outcome["tricks"], before, strict=True)][room.first] == (
        1 if forfeited["to"] is not None else 0
    )
    assert forfeited["to"] in (room.first, None)
    if forfeited["to"] is not None:
        assert plain(room.written()) == six(room, outcome["tricks"])
    room.proves_itself()


def test_3_9_14_2_a_lead_out_of_turn_by_the_declarer(club):
    """His card lies exposed, and is played when a defender demands it."""
    room = Courtroom(club).bids("pass 6S pass").orders().whists()
    wrong = room.hand(room.second)[0]
    (card,) = room.plays(room.second, wrong)
    assert card["irregular"] == "3.9.14.2"
    called = room.calls(room.third, "3.9.14.2", room.second)
    assert types(called)[:3] == ["AttentionCalled", "TricksTakenBack", "CardExposed"]
    assert called[2]["command"] == "demand"
    demanded = None
    while demanded is None and room.view()["phase"] in ("play", "remedy"):
        view = room.view()
        if view["phase"] == "remedy":
            room.does(view["to_act"], type="remedy", choice="card", card=wrong)
            for other in [card for card in room.hand(room.second) if card != wrong][:1]:
                room.refused(room.second, "must_play_exposed", type="play", card=other)
            demanded = room.plays(room.second, wrong)
        else:
            room.default()
    room.plays_out()
    room.confirms()
    assert room.scored()["outcome"]["contract"] == "6S"
    room.proves_itself()


def test_3_9_14_1_a_lead_out_of_turn_by_a_whister(club):
    """The lead was his partner's: the declarer has the card exposed and forbids that suit for the rightful lead (FN64)."""
    room = Courtroom(club).bids("pass 6S pass").orders().whists()
    suit = next(s for s in "CDHS" if room.suit(room.third, s) and room.suit(room.first, s) and len(room.suit(room.first, s)) < 10)
    wrong = room.suit(room.third, suit)[0]
    (card,) = room.plays(room.third, wrong)
    assert card["irregular"] == "3.9.14.1"
    called = room.calls(room.second, "3.9.14.1", room.third)
    assert types(called) == ["AttentionCalled", "RemedyAsked"]
    view = room.view(room.second)
    assert (view["phase"], view["to_act"], view["pending"]["choices"]) == ("remedy", room.second, ["accept", "card", "forbid", "order"])
    assert {move["choice"] for move in view["legal"]} == {"accept", "card", "forbid", "order"}
    room.refused(room.first, "claim_pending", type="expose", cards=[room.hand(room.first)[0]])
    chosen = room.does(room.second, type="remedy", choice="forbid")
    assert types(chosen) == ["RemedyChosen", "TricksTakenBack", "CardExposed", "LeadRestricted"]
    room.refused(room.first, "must_play_exposed", type="play", card=room.suit(room.first, suit)[0])
    room.plays_out()
    room.confirms()
    room.proves_itself()


def test_3_9_14_3_a_card_out_of_turn_in_all_pass(club):
    """All tricks from then on are the offender's: ten of them, a pool point to each who has none."""
    room = Courtroom(club).bids("pass pass pass")
    room.plays(room.third, room.hand(room.third)[0])
    called = room.calls(room.first, "3.9.14.3", room.third)
    assert types(called)[:3] == ["AttentionCalled", "RestForfeited", "DealEnded"]
    room.plays_out()  # nobody claims that he would have done better
    room.confirms()
    wanted = [(room.third, "mountain", None, 10), (room.first, "pool", None, 1), (room.second, "pool", None, 1)]
    assert plain(room.written()) == sorted(wanted, key=str)
    room.proves_itself()


def test_3_3_16_2_the_talon_turned_up_with_one_bidder_left(club):
    """The auction is over: the talon is the bidder's, at his last call; nobody writes the five points."""
    room = Courtroom(club).bids("6S pass")
    (peeked,) = room.does(room.third, type="peek", what="talon", show=True)
    assert len(peeked["cards"].split()) == 2
    assert room.view(room.second)["talon"] == peeked["cards"]
    called = room.calls(room.first, "3.3.16.2", room.third)
    assert types(called)[0] == "AttentionCalled"
    view = room.view()
    assert (view["phase"], view["declarer"], view["bid"]) == ("discard", room.first, "6S")
    room.orders().whists("pass pass")
    outcome = room.confirms()["outcome"]
    assert plain(room.written()) == [(room.first, "pool", None, 2)]
    assert "infractions" not in outcome
    room.proves_itself()


def test_3_3_16_3_the_talon_turned_up_with_two_bidders_left(club):
    """The deal is over, hands lie open; each of the others may have the value of what he could have made on the offender, who writes
    nothing.
    """
    room = Courtroom(club)
    room.does(room.first, type="peek", what="talon", show=True)
    called = room.calls(room.second, "3.3.16.3", room.first)
    assert types(called)[:3] == ["AttentionCalled", "HandsLaid", "DealStopped"]
    room.plays_out()
    outcome = room.confirms()["outcome"]
    assert outcome["contract"] is None
    assert all(column == "whists" and on == room.first and rule == "3.3.16.3" for _, column, on, _, rule in room.written())
    room.proves_itself()


def test_3_4_6_a_wrong_discard(club):
    """Ordered with a hand not of ten: a remise without two at the least, in mountain and consolation, nobody writes whists."""
    room = Courtroom(club).bids("6S pass pass")
    hand = room.hand(room.first)
    events = room.does(room.first, type="discard", cards=hand[:3])
    assert (events[0]["irregular"], len(events[0]["cards"].split())) == ("3.4.6", 3)
    room.does(room.first, type="contract", contract="6S")
    called = room.calls(room.second, "3.4.6", room.first)
    assert types(called)[0] == "AttentionCalled"
    room.confirms()
    (offence,) = room.scored()["outcome"]["infractions"]
    missing = 2 + offence.get("proved", 0)
    wanted = [
        (room.first, "mountain", None, 2 * missing),
        *((seat, "whists", room.first, 2 * missing) for seat in (room.second, room.third)),
    ]
    assert plain(room.written()) == sorted(wanted, key=str)
    room.proves_itself()


def test_3_4_9_looking_into_the_discard(club):
    """One trick less for the declarer, and it goes to nobody."""
    room = played_six(club)
    room.default()
    (peeked,) = room.does(room.first, type="peek", what="discard")
    assert (peeked["irregular"], len(peeked["cards"].split())) == ("3.4.9", 2)
    called = room.calls(room.third, "3.4.9", room.first)
    assert types(called) == ["AttentionCalled", "FineWritten"]
    assert room.view()["court"]["infractions"] == [{"rule": "3.4.9", "seat": room.first}]
    room.plays_out()
    outcome = room.confirms()["outcome"]
    margin = outcome["tricks"][room.first] - 6
    mountain = sum(amount for seat, column, _, amount, _ in room.written() if (seat, column) == (room.first, "mountain"))
    pool = sum(amount for seat, column, _, amount, _ in room.written() if (seat, column) == (room.first, "pool"))
    assert (pool, mountain) == ((2, 0) if margin >= 1 else (0, 2 * (1 - margin)))
    room.proves_itself()


def test_3_9_14_4_a_claim_without_a_line(club):
    """Refused, it lays the claimer's hand on the table, and the opponents name his cards, not absurdly."""
    room = played_six(club)
    room.does(room.first, type="claim", tricks=10)
    answered = room.does(room.view()["to_act"], type="answer", accept=False)
    assert "CardExposed" in types(answered)
    view = room.view(room.second)
    assert view["exposed"][room.first].split() == room.hand(room.first)
    assert view["phase"] == "remedy"
    named = view["pending"]["cards"][-1]
    room.does(view["to_act"], type="remedy", choice="card", card=named)
    other = next(card for card in room.hand(room.first) if card != named)
    room.refused(room.first, "must_play_exposed", type="play", card=other)
    room.plays(room.first, named)
    room.plays_out()
    outcome = room.confirms()["outcome"]
    assert plain(room.written()) == six(room, outcome["tricks"])
    room.proves_itself()


def test_4_2_7_a_wrong_entry_on_the_sheet(club):
    """Where each keeps his own columns an entry above what is due is corrected when somebody calls it before the end of the next auction;
    the first time with a warning, then with a fine that the partner may write.
    """
    room = Courtroom(club, entries="by_hand").bids("6S pass pass").orders().whists("pass pass")
    declarer, cheat = room.first, room.second
    assert plain(room.confirms()["entries"] and room.written()) == [(declarer, "pool", None, 2)]
    due = {"type": "entry", "column": "pool", "amount": 2}
    assert due in room.view(declarer)["legal"]
    assert room.view()["sheet"]["pool"] == [0, 0, 0]
    room.does(declarer, **due)
    room.does(cheat, type="entry", column="whists", on=declarer, amount=10)
    assert room.view()["court"]["paper"]["written"][-1] == {"seat": cheat, "column": "whists", "amount": 10, "on": declarer}
    called = room.calls(declarer, "4.2.7", cheat)
    assert types(called) == ["AttentionCalled", "EntryCorrected", "WarningGiven"]
    room.proves_itself()
    room.deal()
    room.does(cheat, type="entry", column="whists", on=declarer, amount=8)
    called = room.calls(declarer, "4.2.7", cheat)
    assert types(called) == ["AttentionCalled", "EntryCorrected", "RemedyAsked"]
    assert (room.view()["phase"], room.view()["to_act"]) == ("remedy", declarer)
    room.refused(room.first, "claim_pending", type="bid", bid="6S")
    assert types(room.does(declarer, type="remedy", choice="accept")) == ["RemedyChosen", "EntryFined"]
    room.bids("6S pass pass").orders().whists("pass pass")
    room.confirms()
    (fine,) = [one for one in room.scored()["entries"] if one["rule"] == "4.2.7"]
    assert (fine["seat"], fine["column"], fine["on"], fine["amount"]) == (declarer, "whists", cheat, 8)
    room.does(room.first, type="entry", column="pool", amount=2)
    sheet = room.view()["sheet"]
    assert sheet["whists"] == [[declarer, cheat, 8]]
    room.proves_itself()


def test_4_2_9_a_wrong_entry_that_nobody_calls_stands(club):
    """At the end of the next auction it counts as written, and what was forgotten is lost (4.2.10); the books say so by the rule."""
    room = Courtroom(club, entries="by_hand").bids("6S pass pass").orders().whists("pass pass")
    declarer, cheat = room.first, room.second
    room.confirms()
    room.does(cheat, type="entry", column="whists", on=declarer, amount=6)
    room.deal().bids("6S pass pass").orders().whists("pass pass")
    room.confirms()
    noted = sorted((one["seat"], one["column"], one["amount"], one["rule"]) for one in room.scored()["entries"] if one["rule"] >= "4.2")
    assert noted == sorted([(cheat, "whists", 6, "4.2.9"), (declarer, "pool", -2, "4.2.10")])
    room.proves_itself()
    assert room.view()["sheet"] == {"pool": [0, 0, 0], "mountain": [0, 0, 0], "whists": [[cheat, declarer, 6]]}


def test_built_in_players_play_on_and_call_what_they_see(club):
    """Two of them with somebody who looks at the talon: they call it (3.2.19), answer what they are asked, confirm; the deal is scored."""
    person = Person(club, "a curious one")
    opened = person.post("/v1/lobby/tables", {"mode": "adjudicated", "bots": 2, "target": 1, "pause_s": 60, "clock": {"move_s": 60}})
    table = opened.json()["id"]
    person.post(f"/v1/lobby/tables/{table}/seats", {"seat": 0})
    person.post(f"/v1/lobby/tables/{table}/ready")
    events, looked, until = [], False, time.monotonic() + 60
    while not any(event["type"] == "DealScored" for event in events):
        assert time.monotonic() < until, events[-3:]
        view = person.view(table)
        if view["legal"] and view["phase"] == "auction" and not looked:
            looked = person.move(table, {"type": "peek", "what": "talon"}).status_code == 200
        elif view["legal"]:
            move = next((one for one in view["legal"] if "pass" in one.values()), view["legal"][0])
            person.move(table, move | ({"cards": view["hand"].split()[:2]} if move["type"] == "discard" else {}))
        events = [event for frame in history(person, table) for event in frame["events"]]
    (called,) = [event for event in events if event["type"] == "AttentionCalled"]
    assert (called["seat"], called["rule"], called["by"] in (1, 2)) == (0, "3.2.19", True)
    assert sorted(event["seat"] for event in events if event["type"] == "Confirmed")[-2:] == [1, 2]
    (scored,) = [event for event in events if event["type"] == "DealScored"]
    assert (0, 5, "3.2.21") in {(one["seat"], one["amount"], one["rule"]) for one in scored["entries"]}


def history(person, table):
    answer = person.get(f"/v1/tables/{table}/events?follow=false&after=0", headers={"Accept": "application/x-ndjson"})
    frames = [msgspec.json.decode(line) for line in answer.text.splitlines()]
    return [frame for frame in frames if frame["frame"] == "commit"]


def test_4_2_16_the_arbiter_sees_all_cards_and_rules(club):
    """He has no seat, sees every hand and tells nobody; his ruling stands instead of the rule's own fine, with his reason in the books."""
    room = Courtroom(club, arbiter=True).bids("6S pass pass").orders().whists()
    seen = room.judge.view(room.table)
    assert (seen["seat"], seen["legal"]) == (None, [])
    assert [hand.split() for hand in seen["hands"]] == [room.hand(seat) for seat in range(3)]
    assert len(seen["discard"].split()) == 2
    assert room.judge.post(f"/v1/lobby/tables/{room.table}/seats", {}).json()["code"] == "arbiter_has_no_seat"
    room.default()
    room.does(room.first, type="peek", what="discard")
    called = room.does("arbiter", type="call_attention", rule="3.4.9", seat=room.first)
    assert (called[0]["by"], types(called)) == ("arbiter", ["AttentionCalled", "FineWritten"])
    room.refused(room.second, "not_your_turn", type="ruling", rule="3.4.9", seat=room.first, reason="so I say", redeal=True)
    written = [{"seat": room.first, "column": "mountain", "amount": 3}]
    ruled = room.does("arbiter", type="ruling", rule="3.4.9", seat=room.first, reason="a look by mistake", entries=written)
    assert (ruled[0]["type"], ruled[0]["by"]) == ("Ruled", "arbiter")
    room.plays_out()
    outcome = room.confirms()["outcome"]
    fine = (room.first, "mountain", None, 3)
    assert plain(room.written()) == sorted([*six(room, outcome["tricks"]), fine], key=str)
    assert [one["why"] for one in room.scored()["entries"] if one["rule"] == "3.4.9"] == ["a look by mistake"]
    room.proves_itself()
