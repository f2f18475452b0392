"""A sheet on which each player keeps his own columns, and wrong entries on it (4.2.4-4.2.10)."""

from __future__ import annotations

from functools import reduce

from shared.rules.convention.options import PRESETS
from shared.rules.deal.ending import outcome_of
from shared.rules.deck.cards import CARDS, card_numbers
from shared.rules.language.game_events import PulkaClosed
from shared.rules.language.moves import Bid, CallAttention, Concede, Confirm, Cut, Declare, Discard, Remedy, Whist, WriteEntry
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import OpenPulka, Pulka, StartDeal
from shared.rules.score_files.deal_document import deal_document
from shared.rules.score_files.score_file import score_document
from tests.events import story
from tests.events.played import PLAYERS


class AtTable:
    """A match of three whose players write for themselves. After `deal` the first hand has conceded a six: 12 into his mountain, the others
    write 12 whists each on him.
    """

    def __init__(self, target=20, convention="sochi", **more):
        terms = {"mode": "adjudicated", "entries": "by_hand"} | more
        self.pulka, self.log, self.outcomes = Pulka(table_id=story.TABLE.id), [], []
        opening = OpenPulka(PRESETS[convention], story.RULES_DIGEST, 3, target, PLAYERS[:3], terms, 2)
        self.happens(match.open_pulka(self.pulka, opening))

    def happens(self, events):
        assert not isinstance(events, Refused), events
        self.last = events
        self.log += events
        self.pulka = reduce(match.evolve, events, self.pulka)
        return self

    def does(self, maker, move):
        return self.happens(match.decide(self.pulka, maker, move))

    def refused(self, maker, move, code, rule):
        decided = match.decide(self.pulka, maker, move)
        assert isinstance(decided, Refused), decided
        assert (decided.code, decided.rule) == (code, rule)
        return self

    def starts(self):
        self.happens(match.start_deal(self.pulka, StartDeal(self.pulka.number + 1, story.SERVER_SEED)))
        return self

    def auction(self):
        """The next deal to the end of its auction: the first hand has bid a six."""
        self.starts().does(match.cutter(self.pulka), Cut(16))
        first, second, third = self.pulka.deal.setup.order
        return self.does(first, Bid("6S")).does(second, Bid("pass")).does(third, Bid("pass"))

    def deal(self):
        self.auction()
        declarer = self.pulka.deal.declarer
        self.does(declarer, Concede())
        for seat in range(3):
            self.does(seat, Confirm())
        self.outcomes.append(next(event.outcome for event in self.last if type(event).__name__ == "DealScored"))
        return self

    def made(self):
        """A six that nobody whists, and everybody writes what is due."""
        self.auction()
        declarer = self.pulka.deal.declarer
        lowest = [CARDS[card] for card in card_numbers(self.pulka.deal.held(declarer))[:2]]
        self.does(declarer, Discard(tuple(lowest))).does(declarer, Declare("6S"))
        self.does(match.to_act(self.pulka), Whist("pass")).does(match.to_act(self.pulka), Whist("pass"))
        for seat in range(3):
            self.does(seat, Confirm())
        return self.all_write()

    def writes(self, seat, column, amount, on=None):
        return self.does(seat, WriteEntry(column, amount, on))

    def all_write(self):
        """Everybody writes what is due, once more."""
        for (seat, column, on), amount in self.pulka.kept_sheet.due:
            self.writes(seat, column, amount, on)
        return self

    def names(self):
        return [type(event).__name__ for event in self.last]


def test_4_2_4_each_keeps_his_own_columns():
    """The score tells what is due; only what the players write stands on the sheet."""
    sat = AtTable().deal()
    assert sat.pulka.sheet.mountain == (0, 0, 0)
    assert dict(sat.pulka.kept_sheet.due) == {(0, "mountain", None): 12, (1, "whists", 0): 12, (2, "whists", 0): 12}
    sat.all_write()
    assert (sat.pulka.sheet.mountain, sat.pulka.sheet.whists) == ((12, 0, 0), ((0, 0, 0), (12, 0, 0), (12, 0, 0)))
    sat.refused(0, CallAttention("4.2.7"), "call_not_allowed", "4.2.7")
    sat.refused(0, WriteEntry("whists", 3), "malformed", "4.2.1")


def test_4_2_7_the_first_wrong_entry_is_corrected():
    """An entry above what is due, called before the end of the next auction: corrected, and a warning."""
    sat = AtTable().deal().writes(0, "mountain", 12).writes(1, "whists", 14, 0)
    sat.does(2, CallAttention("4.2.7", 1))
    assert sat.names() == ["AttentionCalled", "EntryCorrected", "WarningGiven"]
    assert sat.pulka.sheet.whists[1] == (12, 0, 0)


def test_4_2_7_the_second_one_costs_as_much():
    """Then it is corrected, and the partner is asked whether he writes as many on him (4.2.7)."""
    sat = AtTable().deal().writes(1, "whists", 14, 0).does(2, CallAttention("4.2.7", 1)).deal()
    first = sat.pulka.deal
    assert first is None
    sat.writes(1, "mountain", 12).writes(0, "whists", 12, 1).writes(2, "whists", 12, 1)
    sat.deal().writes(1, "whists", 15, 2).does(0, CallAttention("4.2.7"))
    assert sat.names() == ["AttentionCalled", "EntryCorrected", "RemedyAsked"]
    assert (match.phase(sat.pulka), match.to_act(sat.pulka)) == ("remedy", 2)
    sat.refused(0, WriteEntry("whists", 12, 2), "claim_pending", "4.2.7")
    sat.does(2, Remedy("accept"))
    assert sat.names() == ["RemedyChosen", "EntryFined"]
    assert sat.pulka.sheet.whists[2][1] == 12 + 3
    assert sat.pulka.sheet.whists[1][2] == 12


def test_4_2_7_too_little_in_ones_mountain():
    """The same for a mountain that is too low: corrected, and the second time as much again into it."""
    sat = AtTable().deal().writes(0, "mountain", 10).does(1, CallAttention("4.2.8", 0))
    assert sat.pulka.sheet.mountain == (12, 0, 0)
    sat.deal().all_write().deal().all_write().deal().writes(0, "mountain", 9).does(1, CallAttention("4.2.7", 0))
    assert sat.names() == ["AttentionCalled", "EntryCorrected", "EntryFined"]
    assert sat.pulka.sheet.mountain[0] == 24 + 3


def test_4_2_9_after_the_next_auction_it_stands():
    """Called later it stands, unless its writer agrees."""
    sat = AtTable().deal().writes(1, "whists", 14, 0).auction()
    assert sat.names()[-1] == "FineWritten"
    sat.does(0, CallAttention("4.2.7", 1))
    assert match.to_act(sat.pulka) == 1
    sat.does(1, Remedy("pass"))
    assert sat.pulka.sheet.whists[1] == (14, 0, 0)
    sat.does(0, CallAttention("4.2.9", 1)).does(1, Remedy("accept"))
    assert sat.pulka.sheet.whists[1] == (12, 0, 0)


def test_4_2_10_what_was_forgotten_is_lost():
    """Not entered by the end of the next auction it is lost, unless all agree."""
    sat = AtTable().deal().writes(0, "mountain", 12).writes(2, "whists", 12, 0).auction()
    sat.writes(1, "whists", 12, 0)
    assert (match.phase(sat.pulka), match.to_act(sat.pulka)) == ("remedy", 2)
    sat.does(2, Remedy("pass"))
    assert sat.pulka.sheet.whists[1] == (0, 0, 0)
    sat.writes(1, "whists", 12, 0).does(2, Remedy("accept")).does(0, Remedy("accept"))
    assert sat.pulka.sheet.whists[1] == (12, 0, 0)


def test_4_2_9_a_score_file_has_the_same_sheet():
    """What stood though it was wrong, and every fine, is an infraction of the next deal: the file brings the same sheet."""
    sat = AtTable().deal().writes(0, "mountain", 12).writes(1, "whists", 14, 0).deal().all_write()
    file = {"convention": "sochi", "players": 3, "target": 20, "deals": [deal_document(outcome_of(one), 3) for one in sat.outcomes]}
    assert score_document(file)["sheet"] == sat.pulka.sheet.document()


def test_4_2_9_after_the_last_deal_until_the_settlement():
    """The pulka is settled when the next deal would start: until then entries are written and corrected."""
    sat = AtTable(target=1).made().made()
    assert (match.phase(sat.pulka), sat.pulka.sheet.pool) == ("between_deals", (1, 1, 1))
    sat.starts()
    assert isinstance(sat.last[0], PulkaClosed)
    assert match.phase(sat.pulka) == "over"


def test_4_2_8_the_server_calls_a_wrong_entry_at_once():
    """Where the server watches, the pencil is hardly down: corrected, and a warning, in the same commit."""
    sat = AtTable(attention="server").deal().writes(1, "whists", 14, 0)
    assert sat.names() == ["EntryWritten", "AttentionCalled", "EntryCorrected", "WarningGiven"]
    assert sat.last[1].by == "server"
    assert sat.pulka.sheet.whists[1] == (12, 0, 0)
    sat.writes(0, "mountain", 12)
    assert sat.names() == ["EntryWritten"]


def test_4_2_8_what_is_not_written_is_no_wrong_entry():
    """Before the pencil is down nothing can be called."""
    AtTable().deal().refused(1, CallAttention("4.2.7", 0), "call_not_allowed", "4.2.7")
