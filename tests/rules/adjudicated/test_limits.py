"""Until when attention may be called, by whom, under which names, and what is refused otherwise."""

from __future__ import annotations

import pytest

from shared.rules.adjudicated.court import ARBITER
from shared.rules.convention.options import resolve
from shared.rules.deal.decider import open_deal
from shared.rules.deck.cards import CARDS, card_numbers
from shared.rules.language.irregular_events import CardGiven, Redealt
from shared.rules.language.moves import Bid, CallAttention, Confirm, Declare, Peek, Play, WriteEntry
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import Pulka, StartDeal
from shared.rules.score_files.deal_record import replay_document
from shared.rules.scoring.sheet import empty_sheet
from tests.events import story
from tests.rules.adjudicated.seated import CLOSED, Seated
from tests.rules.adjudicated.test_4_2_entries_by_hand import AtTable
from tests.rules.words import FIRST, SECOND, TALON, THIRD, table


def counted_wrongly(*hands):
    """A recorded deal of three whose hands have other numbers of cards."""
    return open_deal(resolve("sochi", 20), 3, 20, 2, empty_sheet(3), 0, hands, TALON, counted=False)


LONG_AND_SHORT = (f"{FIRST} 8S", SECOND.removeprefix("8S "), THIRD)


# ---- the dealing -------------------------------------------------------------------------------------------------------


def test_3_2_12_a_card_turned_up_by_the_dealer():
    """One card shown by the dealer's fault: the cards are dealt anew (3.2.11, 3.2.12)."""
    assert isinstance(Seated(recorded=True).calls(0, "3.2.12").last[1], Redealt)
    assert isinstance(Seated(recorded=True).calls(0, "3.2.11").last[1], Redealt)


def test_fn13_the_dealer_shows_a_card_a_second_time():
    """The agreed points, two, and the deal passes on (FN13); the first time it is dealt anew."""
    assert isinstance(Seated(recorded=True).calls(0, "FN13").last[1], Redealt)
    sat = Seated(recorded=True, dealer_warned=True).calls(0, "FN13").confirmed()
    assert sat.entries() == [(2, "mountain", None, 2, "3.2.17")]


def test_fn14_faults_of_the_dealing_are_called_before_the_auction():
    """Once somebody has called, what the dealer did is no more to be said (3.2.18, FN14)."""
    Seated("6S", recorded=True).refused(1, CallAttention("FN14"), "call_not_allowed", "3.2.18")
    assert isinstance(Seated(recorded=True).calls(1, "FN14").last[1], Redealt)


def test_fn15_one_hand_long_and_one_short():
    """Found in the auction too, when all have called, the cards are dealt anew (FN15, 3.2.16)."""
    sat = Seated("6S pass", deal=counted_wrongly(*LONG_AND_SHORT), recorded=True).calls(0, "FN15")
    assert isinstance(sat.last[1], Redealt)
    missing = counted_wrongly(FIRST, SECOND.removeprefix("8S "), THIRD)
    Seated("6S pass", deal=missing, recorded=True).refused(1, CallAttention("3.2.16"), "call_not_allowed", "3.2.18")


def test_3_2_16_where_intent_is_thinkable_the_holder_chooses():
    """Called by the arbiter, who has a card too many has the cards dealt anew or gives one to who is short (3.2.16)."""
    sat = Seated(deal=counted_wrongly(*LONG_AND_SHORT), recorded=True).does(ARBITER, CallAttention("3.2.16", 0))
    assert (sat.court.to_act, sat.deal.pending.choices) == (0, ("redeal", "give"))
    sat.chooses(0, "give", card="9S")
    assert sat.last[1] == CardGiven(0, 1, "9S", "3.2.16")
    assert [sat.deal.held(seat).bit_count() for seat in range(3)] == [10, 10, 10]
    other = Seated(deal=counted_wrongly(*LONG_AND_SHORT), recorded=True).does(ARBITER, CallAttention("3.2.16", 0))
    assert isinstance(other.chooses(0, "redeal").last[1], Redealt)


def test_fn69_who_did_not_speak_before_the_auction_answers_for_his_cards():
    """A deal that was played counts as dealt right; a wrong number found in play is its holder's (FN69, 3.9.18)."""
    sat = Seated("6S pass pass 7C/8C 6S whist whist", deal=counted_wrongly(*LONG_AND_SHORT), recorded=True)
    Seated("6S", deal=sat.start, recorded=True).refused(2, CallAttention("FN69", 1), "call_not_allowed", "3.9.18")
    sat.say("AS").calls(2, "FN69", seat=1)
    assert sat.last[1].infraction == {"rule": "3.9.18", "seat": 1}
    sat.plays_on().confirmed()
    assert sum(sat.court.score.outcome["tricks"]) == 10


def test_3_2_13_a_record_may_be_dealt_wrongly():
    """`pulka replay` takes hands of other numbers in adjudicated records, and only there."""
    hands = list(LONG_AND_SHORT)
    record = {"convention": "sochi", "players": 3, "dealer": 2, "mode": "adjudicated", "hands": hands, "talon": TALON}
    told = replay_document(record | {"moves": [{"seat": 1, "type": "call_attention", "rule": "3.2.13"}]})
    assert told["phase"] == "between_deals"
    assert told["events"][-1]["type"] == "Redealt"


# ---- the auction -------------------------------------------------------------------------------------------------------


def test_3_3_16_the_talon_after_the_auction():
    """When the auction is over nothing is called about a shown talon (3.3.16); nor does it lie there any more (3.2.21)."""
    sat = Seated("6S pass").peeks(0, "talon", show=True).say("pass")
    sat.refused(1, CallAttention("3.3.16"), "call_not_allowed", "3.3.16")
    sat.refused(1, Peek("talon"), "wrong_phase", "3.2.21")


def test_fn24_who_saw_the_talon_in_an_all_pass():
    """By 3.2.19 the first two tricks are his, whoever's cards are the highest (FN24, 3.3.16.1)."""
    sat = Seated("pass pass").peeks(2, "talon").calls(0, "3.3.16.1").plays_on(lambda court: court.play.number == 3)
    assert sat.deal.tricks == (0, 0, 2)


def test_3_3_17_under_its_own_number():
    """A talon that was taken by mistake may be called by the rule that says what becomes of the cards (3.3.17)."""
    assert "TalonReturned" in Seated("6S").takes(1).calls(0, "3.3.17").names()


def test_fn26_at_a_tournament_the_arbiter_decides():
    """He may have the cards dealt anew instead of drawing two (FN26)."""
    sat = Seated("6S").takes(1).rules("3.3.17", 1, redeal=True, reason="a tournament")
    assert sat.court.redealt


@pytest.mark.parametrize(("rule", "words", "act"), [("FN22", "7S", "6H"), ("3.3.8", "7S", "6H")])
def test_fn22_a_partner_points_out_an_insufficient_bid(rule, words, act):
    """Then he may make any call that is possible (FN22)."""
    sat = Seated(words).does(1, Bid(act)).calls(0, rule)
    assert sat.court.to_act == 1


def test_fn27_a_call_out_of_turn_under_its_footnote():
    """Called by its footnote it is the same (FN27)."""
    assert Seated().does(2, Bid("6D")).calls(0, "FN27").last[0].rule == "3.3.18"


# ---- the play ----------------------------------------------------------------------------------------------------------


def test_fn33_looking_into_the_discard_under_its_footnote():
    """The declarer's look into his own discard after the first lead (FN33)."""
    assert Seated(CLOSED).say("AD").peeks(0, "discard").calls(1, "FN33").last[1].infraction["rule"] == "3.4.9"


def test_3_9_12_the_lost_trick_goes_to_nobody():
    """Whoever calls a look into a trick by this rule gets no trick by it (3.9.12)."""
    sat = Seated(f"{CLOSED} AD QD 7D KD JD 8D").peeks(1, "trick", 1).calls(0, "3.9.12").plays_on().confirmed()
    assert sat.court.score.outcome["infractions"] == [{"rule": "3.9.11.2", "seat": 1}]
    assert sum(sat.court.score.outcome["tricks"]) == 10


def test_fn67_a_revoke_is_in_time_until_the_next_tricks_first_card():
    """After the trick, before the next lead, the card is still changed without a fine; after it no more (FN67)."""
    assert Seated(CLOSED).say("AD").does(1, "AC").say("7D").calls(0, "3.9.16").last[0].rule == "3.9.16.1"
    assert Seated(CLOSED).say("AD").does(1, "AC").say("7D KD").calls(0, "3.9.16").last[0].rule == "3.9.16.2"


def test_fn68_a_named_card_must_be_played():
    """In tricks played again the opponents' finesses succeed: what they name and he holds is played (FN68)."""
    sat = Seated(CLOSED).say("AD").does(1, "AC").say("7D KD QD 8D AH").calls(0, "3.9.16.2").chooses(0, "card", card="JD")
    sat.refused(1, Play("QD"), "must_play_exposed", "3.9.14").does(1, "JD")


def test_fn72_advice_on_the_play_under_its_footnote():
    """The nearest opponent names the card (FN72)."""
    assert Seated(CLOSED).calls(1, "FN72").court.to_act == 1


def test_3_9_14_5_too_late():
    """A lead out of turn that was followed by all stands."""
    Seated(CLOSED).does(1, "QD").say("7D AD").refused(0, CallAttention("3.9.14"), "call_not_allowed", "3.9.14.5")


def test_3_9_21_nothing_in_the_last_trick():
    """A card out of turn in the last trick is not called."""
    sat = Seated(CLOSED).plays_on(lambda court: court.play.number == 10)
    early = next(seat for seat in (0, 1, 2) if seat != sat.court.to_act)
    sat.does(early, CARDS[card_numbers(sat.deal.held(early))[0]]).refused(0, CallAttention("3.9.14"), "call_not_allowed", "3.9.21")


def test_3_9_17_when_the_result_is_confirmed_or_written():
    """A second confirmation, a card after the play, and attention after the score are refused (3.9.17)."""
    sat = Seated(CLOSED).say("AD").does(1, "AC").plays_on().does(0, Confirm())
    sat.refused(0, Confirm(), "not_your_turn", "3.9.17").refused(1, Play("AS"), "wrong_phase", "3.9.17")
    sat.does(1, Confirm()).does(2, Confirm()).refused(0, CallAttention("3.9.16"), "wrong_phase", "3.9.17")


def test_3_9_17_the_play_has_not_begun():
    """A revoke needs a card: before the play there is none to be called (3.9.17)."""
    sat = Seated("6S pass pass 7C/8C").does(0, Declare("6S"))
    sat.refused(1, CallAttention("3.9.17"), "call_not_allowed", "3.9.17")


def test_5_5_1_onlookers_say_nothing():
    """Who has no seat cannot call attention (5.5.1)."""
    sat = Seated(CLOSED).refused("onlooker", CallAttention("3.9.16"), "not_seated", "5.5.1")
    sat.refused(3, CallAttention("3.9.16"), "not_seated", "5.5.1")


# ---- the sheet, and enforced tables ------------------------------------------------------------------------------------


def test_4_2_6_nothing_to_write_before_the_first_score():
    """Entries follow a deal (4.2.6), and only a player's own (4.2.4)."""
    AtTable().refused(0, WriteEntry("pool", 2), "wrong_phase", "4.2.6").deal().refused(
        ARBITER, WriteEntry("pool", 2), "not_your_turn", "4.2.4"
    )


def test_4_2_8_an_entry_counts_when_the_pencil_is_down():
    """What was sent is an entry: called under this rule it is corrected (4.2.8)."""
    sat = AtTable().deal().writes(1, "whists", 20, 0).does(0, CallAttention("4.2.8", 1))
    assert sat.pulka.sheet.whists[1][0] == 12


def test_4_2_10_is_noted_for_the_score_file():
    """A forgotten entry is an infraction of the next deal under its rule (4.2.10)."""
    sat = AtTable().deal().writes(0, "mountain", 12).writes(2, "whists", 12, 0).auction()
    noted = [event.infraction for event in sat.last if type(event).__name__ == "FineWritten"]
    assert [(one["rule"], one["whists"]) for one in noted] == [("4.2.10", [[1, 0, -12]])]


def test_4_2_16_at_an_enforced_table_nothing_is_called():
    """What a computer prevents needs no attention (4.2.16)."""
    pulka = Pulka(table_id=story.TABLE.id, status="playing", players=3, deal=table())
    assert not isinstance(match.start_deal(pulka, StartDeal(1, story.SERVER_SEED)), Refused)
    refused = match.decide(pulka, 0, CallAttention("3.9.16"))
    assert (refused.code, refused.rule) == ("wrong_phase", "4.2.16")
