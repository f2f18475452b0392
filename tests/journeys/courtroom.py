"""Three people at an adjudicated table: what they do over HTTP, right or wrong, and what must hold of a deal whatever was done in it."""

from __future__ import annotations

import re

import msgspec

from shared.rules.score_files.deal_record import replay_document
from shared.rules.score_files.score_file import score_document
from tests.journeys.club import Club, Party, Person

SUITS = "SCDH"
RANKS = "789TJQKA"
CARD = re.compile(r"\b[789TJQKA][SCDH]\b")
#: Events in which everybody may read cards: they were played, turned up, laid, shown, or named aloud.
OPEN = {
    *(
        "CardPlayed",
        "TalonCardOpened",
        "TalonTaken",
        "HandsLaid",
        "CardExposed",
        "CardsShown",
        "ClaimMade",
        "HeldToLine",
        "TricksTakenBack",
    ),
    *("AttentionCalled", "RemedyAsked", "RemedyChosen", "CardNamed", "DealStopped", "DealEnded", "DealScored", "FineWritten", "Peeked"),
    *("BidMade", "AuctionWon", "ContractDeclared", "DealRevealed"),
}


def lowest(cards):
    """The lowest of some cards, of equals the first in S C D H."""
    return min(cards, key=lambda card: (RANKS.index(card[0]), SUITS.index(card[1])))


class Courtroom(Party):
    """A party of three. `first`, `second`, `third` are the hands of the deal (3.3.2); `events` are the deal's as its movers saw them."""

    def __init__(self, club: Club, *, arbiter: bool = False, **terms):
        self.judge = Person(club, "the arbiter") if arbiter else None
        agreed = {"mode": "adjudicated", "pause_s": 60, "target": 100, **({"arbiter": self.judge.id} if arbiter else {}), **terms}
        super().__init__(club, **agreed)
        self.events = []
        self.deals = []
        self.deal()

    # ---- what they do --------------------------------------------------------------------------------------------------

    def deal(self):
        """The cut of the next deal; the hands are dealt."""
        view = self.waiting_view("cut")
        self.events, self.number = [], view["deal"]
        self.first, self.second, self.third = [(view["dealer"] + step) % 3 for step in (1, 2, 3)]
        self.does(view["to_act"], type="cut", at=16)
        return self

    def does(self, maker, /, **move):
        """A move that is accepted; its events as the mover sees them."""
        person = self.judge if maker == "arbiter" else self.people[maker]
        answer = person.move(self.table, move)
        assert answer.status_code == 200, (maker, move, answer.text)
        self.acknowledged.append(answer.json())
        self.events += answer.json()["events"]
        return answer.json()["events"]

    def refused(self, seat, code, /, **move):
        """A move that is refused so."""
        answer = self.people[seat].move(self.table, move)
        assert (answer.status_code, answer.json()["code"]) == (409, code), answer.text
        return self

    def calls(self, by, rule, seat):
        return self.does(by, type="call_attention", rule=rule, seat=seat)

    def bids(self, words):
        """Calls in turn."""
        for word in words.split():
            self.does(self.view()["to_act"], type="bid", bid=word)
        return self

    def orders(self, contract="6S", discard=None):
        """The declarer puts two cards away, the lowest unless it is said, and names his contract."""
        view = self.view()
        declarer = view["declarer"]
        hand = self.hand(declarer)
        away = discard or [lowest(hand), lowest(set(hand) - {lowest(hand)})]
        self.does(declarer, type="discard", cards=away)
        self.does(declarer, type="contract", contract=contract)
        return self

    def whists(self, words="whist whist"):
        """Both defenders speak; two whisters play closed."""
        for word in words.split():
            self.does(self.view()["to_act"], type="whist", call=word)
        return self

    def hand(self, seat):
        return self.view(seat)["hand"].split()

    def suit(self, seat, suit):
        return [card for card in self.hand(seat) if card[1] == suit]

    def legal_cards(self, seat):
        return [move["card"] for move in self.view(seat)["legal"] if move["type"] == "play"]

    def plays(self, seat, card):
        return self.does(seat, type="play", card=card)

    def default(self):
        """Whoever is to act plays his lowest legal card, or lets a remedy be."""
        view = self.view()
        seat = view["to_act"]
        legal = self.view(seat)["legal"]
        cards = [move["card"] for move in legal if move["type"] == "play"]
        if cards:
            return self.does(seat, **next(move for move in legal if move.get("card") == lowest(cards)))
        return self.does(seat, **next((move for move in legal if move.get("choice") == "pass"), legal[0]))

    def plays_out(self):
        """Everybody plays on to the end of the deal, which then waits to be confirmed."""
        while (view := self.view())["phase"] not in ("scored", "cut", "between_deals", "over"):
            assert view["to_act"] is not None, view
            self.default()
        return self

    def confirms(self):
        """All agree; what was written."""
        assert self.view()["phase"] == "scored"
        for seat in range(3):
            self.does(seat, type="confirm")
        return self.scored()

    # ---- what holds ----------------------------------------------------------------------------------------------------

    def named(self, kind):
        """The deal's events of a kind."""
        return [event for event in self.events if event["type"] == kind]

    def scored(self):
        (scored,) = self.named("DealScored")
        return scored

    def written(self):
        """What the deal wrote, as (seat, column, on, amount, rule)."""
        return [(one["seat"], one["column"], one.get("on"), one["amount"], one["rule"]) for one in self.scored()["entries"]]

    def proves_itself(self):
        """The ledger has this deal's entries, scores them again from the score file, replays the record to them, verifies the log; and
        nobody was shown a card that he had no right to see before the deal was revealed.
        """
        ledger, reader = f"/v1/ledger/tables/{self.table}", self.people[0]
        last = self.acknowledged[-1]["position"]
        sheet = reader.get(f"{ledger}/sheet", params={"at_least": last}).json()
        assert sheet["deals"][-1]["entries"] == self.scored()["entries"]
        again = score_document(reader.get(f"{ledger}/score-file").content)
        assert (again["sheet"], again["settlement"]) == (sheet["sheet"], sheet["settlement"])
        assert sheet["sheet"] == self.view()["sheet"]
        record = reader.get(f"{ledger}/deals/{self.number}").json()
        assert record["mode"] == "adjudicated"
        replayed = replay_document(msgspec.json.encode(record))
        assert replayed["score"] == sheet["deals"][-1], replayed
        verdict = reader.get(f"{ledger}/audit/verify").json()
        assert (verdict["verified"], verdict["problems"]) == (True, [])
        self.leaks_nothing()
        return record

    def leaks_nothing(self):
        """Events of this table as each seat and a spectator were shown them: closed ones hold no card, private ones only one's own."""
        public = self.history(None)
        truth = {event["number"]: event for frame in public for event in frame["events"] if event["type"] == "DealRevealed"}
        assert truth
        for frame in public:
            for event in frame["events"]:
                assert event["type"] in OPEN or not cards_in(event), event
                assert event["type"] != "Peeked" or event.get("show") or event["what"] == "trick" or event["cards"] is None, event
                assert not (event["type"] == "CardPlayed" and event.get("irregular", "").startswith("3.9.16")), event
        for seat in range(3):
            for frame, seen in zip(public, self.history(seat), strict=True):
                assert frame["hash"] == seen["hash"]
                for open_event, own in zip(frame["events"], seen["events"], strict=True):
                    if open_event == own or own.get("deal") not in truth:
                        continue
                    mine = set(truth[own["deal"]]["hands"][seat].split())
                    if own.get("seat") == seat:  # what he put away, looked at or took himself
                        mine |= set(truth[own["deal"]]["talon"].split()) | set((truth[own["deal"]]["discard"] or "").split())
                    assert cards_in(own) - cards_in(open_event) <= mine, (seat, own)


def cards_in(event):
    return set(CARD.findall(msgspec.json.encode(event).decode()))
