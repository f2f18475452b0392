"""Exposed cards: who commands them at which turn, and what that leaves their holder (3.9.14)."""

from __future__ import annotations

from functools import reduce

from shared.rules.deal.decider import decide, default_move, evolve, legal_moves
from shared.rules.deal.exposed import allowed, lying, question
from shared.rules.deck.cards import CARDS, card_numbers, mask_of
from shared.rules.language.game_events import CardExposed, CardPlayed, RemedyAsked, TrickWon
from shared.rules.language.moves import Concede, Play, Remedy
from tests.rules.words import after, table
from tests.spec import given

PAIR = "6S pass pass 7C/8C 6S whist whist"
DRAWN = f"{PAIR} AS 8S 9D KS 7S 8D"  # the second hand has no trumps left


def exposed(deal, seat, cards, command, *by, rule="3.9.14.1"):
    """The deal with cards that lie open, and its question asked if there is one."""
    deal = evolve(deal, CardExposed(seat, cards, command, by, rule))
    asked = question(deal)
    return deal if asked is None else evolve(deal, asked)


def done(deal, *moves):
    for move in moves:
        deal = reduce(evolve, decide(deal, deal.to_act, move), deal)
    return deal


def choices(deal):
    return {move.choice for move in legal_moves(deal, deal.to_act)}


def playable(deal):
    return {move.card for move in legal_moves(deal, deal.to_act) if not isinstance(move, Concede)}


def test_3_9_14_an_exposed_card_waits_until_it_may_be_played():
    """Always within the rules of following: no question while it cannot be played (3.9.14)."""
    deal = exposed(after(table(), f"{PAIR} AS"), 1, "QD", "forbid", 0)
    assert (deal.phase, deal.to_act, playable(deal)) == ("play", 1, {"8S", "7S"})
    given(deal).when(1, "8S").then(CardPlayed(1, "8S", 1))


def test_3_9_14_at_the_first_chance_it_is_played_unless_forbidden():
    """The opponent is asked when it could be thrown: it must be played, or is forbidden for that trick (3.9.14)."""
    deal = exposed(after(table(), DRAWN), 1, "QD", "forbid", 0)
    given(deal).when(0, "QS").then(CardPlayed(0, "QS", 0), RemedyAsked("exposed", (0,), 1, ("card", "forbid"), "QD", "3.9.14.1"))
    deal = after(deal, "QS")
    assert (deal.phase, deal.to_act, choices(deal), default_move(deal)) == ("remedy", 0, {"card", "forbid"}, Remedy("card", card="QD"))
    given(deal).when(0, Remedy("pass")).then_refused("call_not_allowed", "3.9.14.1")
    assert playable(done(deal, Remedy("card", card="QD"))) == {"QD"}
    forbidden = done(deal, Remedy("forbid"))
    assert playable(forbidden) == {"AC", "KC", "QC", "JC", "TC", "9C", "JD"}
    given(forbidden).when(1, "QD").then_refused("must_play_exposed", "3.9.14")
    again = after(forbidden, "JD 7D JS")
    assert (again.phase, again.pending.of) == ("remedy", 1)  # for that trick only


def test_3_9_14_asked_for_another_card_where_there_is_none_it_goes():
    """It is not forbidden where the hand has no other card to play (3.9.14)."""
    deal = after(exposed(after(table(), DRAWN), 1, "QD", "forbid", 0), "AD")
    assert (deal.phase, choices(deal)) == ("remedy", {"card", "forbid"})
    deal = after(done(deal, Remedy("forbid")), "JD 7D KD")
    assert (deal.phase, deal.to_act, playable(deal)) == ("play", 1, {"QD"})


def test_3_9_14_on_his_own_lead_it_cannot_be_forbidden():
    """The holder who leads leads it (3.9.14); of several the opponent says which."""
    deal = after(exposed(after(table(), f"{PAIR} AH"), 1, "QD", "forbid", 0), "8S QH")
    assert (deal.phase, deal.to_act, playable(deal)) == ("play", 1, {"QD"})
    several = after(exposed(after(table(), f"{PAIR} AH"), 1, "JD KC", "forbid", 0), "8S QH")
    assert (several.phase, several.to_act, choices(several)) == ("remedy", 0, {"card"})
    assert default_move(several) == Remedy("card", card="JD")
    assert playable(done(several, Remedy("card", card="KC"))) == {"KC"}


def test_3_9_14_with_several_the_opponent_chooses_the_order():
    """Where only exposed cards may be played he names one of them (3.9.14)."""
    deal = after(exposed(after(table(), DRAWN), 1, "QD JD", "forbid", 0), "AD")
    assert (deal.phase, choices(deal)) == ("remedy", {"card"})
    given(deal).when(0, Remedy("card", card="9C")).then_refused("call_not_allowed", "3.9.14.1")
    given(deal).when(0, Remedy("card", card="TD")).then_refused("card_not_held", "3.9.2")
    assert playable(done(deal, Remedy("card", card="JD"))) == {"JD"}


def test_3_9_14_2_a_declarers_card_is_played_on_demand_only():
    """Any defender may demand it, left of the declarer first; if nobody does he plays what he likes (3.9.14.2)."""
    deal = exposed(after(table(), PAIR), 0, "AH", "demand", 1, 2, rule="3.9.14.2")
    assert (deal.phase, deal.to_act, choices(deal), default_move(deal)) == ("remedy", 1, {"card", "pass"}, Remedy("pass"))
    assert playable(done(deal, Remedy("card", card="AH"))) == {"AH"}
    second = done(deal, Remedy("pass"))
    assert (second.phase, second.to_act) == ("remedy", 2)
    free = done(second, Remedy("pass"))
    assert (free.phase, free.to_act, len(playable(free))) == ("play", 0, 10)
    given(free).when(0, "AH").then(CardPlayed(0, "AH", 0))


def test_3_9_15_an_exposed_card_never_goes_back_into_the_hand():
    """It lies there until it is played, and then no more (3.9.15)."""
    deal = exposed(after(table(), DRAWN), 1, "QD JD", "forbid", 0)
    assert lying(deal, 1) == mask_of("QD JD")
    deal = done(deal, Play("QS"), Remedy("card", card="QD"), Play("QD"), Play("7D"))
    assert lying(deal, 1) == mask_of("JD")
    assert lying(deal, 0) == lying(deal, 2) == 0


def test_3_9_14_4_a_whole_hand_goes_before_single_cards():
    """Who must have each card named is asked about that alone."""
    deal = evolve(after(table(), DRAWN), CardExposed(1, "QD", "forbid", (0,), "3.9.14.1"))
    deal = evolve(deal, CardExposed(1, "AC KC QC JC TC 9C QD JD", "name", (0,), "3.9.14.4"))
    deal = after(deal, "QS")
    assert choices(deal) == {"card", "pass"}
    assert allowed(deal) == mask_of("AC KC QC JC TC 9C QD JD")


def test_3_9_14_4_a_single_card_that_may_be_named_needs_no_question():
    """Where only one is not absurd it must be played, and nobody is asked (3.9.14.4)."""
    deal = after(evolve(after(table(), DRAWN), CardExposed(1, "AC QD", "name", (0,), "3.9.14.4")), "QS")
    assert (deal.phase, deal.to_act, playable(deal)) == ("play", 1, {"QD"})


def test_who_leaves_it_to_others_names_nothing():
    """A card that stands beside another choice means nothing (3.9.14)."""
    deal = exposed(after(table(), PAIR), 0, "AH", "demand", 1, rule="3.9.14.2")
    assert len(playable(done(deal, Remedy("pass", card="AH")))) == 10
    assert len(playable(done(deal, Remedy("pass", card="7C")))) == 10  # not even one that he does not hold


def test_a_question_of_another_kind_binds_no_card():
    """Only what was asked about exposed cards is about the next card; another choice is its asker's affair."""
    deal = evolve(after(table(), PAIR), RemedyAsked("redeal", (1,), 0, ("redeal", "card"), "AS", "3.2.15"))
    assert (deal.phase, deal.to_act, deal.pending.about) == ("remedy", 1, "redeal")
    back = done(deal, Remedy("card", card="AS"))
    assert (back.phase, back.to_act, back.incidents, len(playable(back))) == ("play", 0, None, 10)


def test_a_command_of_a_later_version_counts_as_the_usual_one():
    """An event that says more than this version knows still exposes the card (3.9.14)."""
    deal = evolve(after(table(), DRAWN), CardExposed(1, "QD", "another", (0,), "3.9.14.1"))
    assert choices(after(deal, "QS")) == {"card", "forbid"}


def test_nothing_lies_exposed_that_was_not_shown():
    """Of the other cards in the hand none lies on the table (3.9.14)."""
    deal = exposed(after(table(), PAIR), 1, "QD", "forbid", 0)
    assert (lying(deal, 1), lying(deal, 2)) == (mask_of("QD"), 0)


def test_no_question_between_a_trick_and_what_follows_it():
    """The question about the next trick's lead comes behind all that the last card of a trick causes (3.9.5)."""
    deal = evolve(after(table(), f"{PAIR} AS 8S"), CardExposed(0, "AH AD", "name", (1, 2), "3.9.14.4"))
    given(deal).when(2, "9D").then(
        CardPlayed(2, "9D", 2), TrickWon(0, 1), RemedyAsked("exposed", (1, 2), 0, ("card", "pass"), "AD AH", "3.9.14.4")
    )
    assert [CARDS[card] for card in card_numbers(lying(deal, 0))] == ["AD", "AH"]
