"""5.4.7, 5.4.18, 5.4.25: substitutes, leaving, adjourning, and the settlement that is demanded when somebody has gone."""

from __future__ import annotations

from shared.rules.language.game_events import PulkaClosed, TurnTimedOut
from shared.rules.language.member_events import (
    ConsentAnswered,
    ConsentAsked,
    PlayerLeaves,
    PulkaAdjourned,
    PulkaResumed,
    SeatReady,
    SettlementDemanded,
    SubstituteSeated,
)
from shared.rules.language.moves import Answer, Cut, Join, Leave, Propose, Ready, Settle
from shared.rules.language.refusal import Refused
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import StartDeal
from shared.rules.pulka.members import AWAY, Members
from shared.rules.scoring.settlement import settlement
from tests.rules.pulka.sitting import Match

YES, NO = Answer(accept=True), Answer(accept=False)


def away(game: Match, seat: int) -> Match:
    """The match in which `seat` has let so many turns run out that he counts as away."""
    for _ in range(AWAY):
        game.pulka = match.evolve(game.pulka, TurnTimedOut(seat, 0))
    return game


# ---- substitutes -------------------------------------------------------------------------------------------------------


def test_5_4_7_a_substitute_plays_on_from_the_last_consent() -> None:
    """All others and the replaced one himself consent; then the seat, its cards and its sheet are the substitute's at once."""
    game = Match().plays(1).until("play")
    sheet, deal, to_act = game.pulka.sheet, game.pulka.deal, match.to_act(game.pulka)
    assert game.joins("eve", 1) == (ConsentAsked("substitute", "eve", 1, (0, 1, 2)),)
    game.does(0, YES)
    game.does(1, YES)
    assert game.does(2, YES) == (ConsentAnswered(2, accept=True), SubstituteSeated(1, "eve", "ben"))
    assert game.pulka.seats == ("ann", "eve", "cid")
    assert (game.pulka.sheet, game.pulka.deal, match.to_act(game.pulka)) == (sheet, deal, to_act)
    game.plays(2)


def test_5_4_7_who_leaves_is_not_asked() -> None:
    """When the player himself has said that he leaves, the consent of the others is enough (5.4.18)."""
    game = Match().until("auction")
    game.does(1, Leave())
    assert game.joins("eve", 1) == (ConsentAsked("substitute", "eve", 1, (0, 2)),)
    assert game.refused(1, NO) == ("not_your_turn", "5.4.18")
    game.does(2, YES)
    assert game.does(0, YES)[-1] == SubstituteSeated(1, "eve", "ben")
    assert not game.pulka.members.left


def test_5_4_25_who_seems_away_is_not_asked_and_may_object() -> None:
    """A seat whose turns ran out again and again holds nobody up; but its player, should he be there, keeps it."""
    game = away(Match().until("auction"), 1)
    assert game.joins("eve", 1)[0] == ConsentAsked("substitute", "eve", 1, (0, 2))
    assert game.refused(1, YES) == ("not_your_turn", "5.4.18")
    game.does(1, NO)
    assert game.pulka.members.motion is None


def test_5_4_7_a_seat_that_is_not_there_and_a_player_who_sits_there() -> None:
    """A substitute is somebody else, at a seat that the table has."""
    game = Match()
    for player, seat, expected in (("eve", 3, ("malformed", "5.4.7")), ("ann", 1, ("call_not_allowed", "3.1.2"))):
        answer = match.decide_join(game.pulka, player, Join(seat))
        assert isinstance(answer, Refused)
        assert (answer.code, answer.rule) == expected


def test_5_4_7_an_agreed_newcomer_does_not_take_a_seat_besides() -> None:
    """Who sits down after the deal does not sit down twice."""
    game = Match().until("auction")
    game.joins("eve")
    for seat in range(3):
        game.does(seat, YES)
    answer = match.decide_join(game.pulka, "eve", Join(0))
    assert isinstance(answer, Refused)
    assert (answer.code, answer.rule) == ("call_not_allowed", "5.4.7")


def test_5_4_7_where_all_have_gone_but_nobody_can_consent() -> None:
    """A newcomer finds nobody to ask; a substitute sits down, for a seat without a player keeps nobody out."""
    game = Match().until("auction")
    for seat in range(3):
        game.does(seat, Leave())
    answer = match.decide_join(game.pulka, "eve", Join())
    assert isinstance(answer, Refused)
    assert (answer.code, answer.rule) == ("call_not_allowed", "5.4.18")
    assert game.joins("eve", 2)[-1] == SubstituteSeated(2, "eve", "cid")


def test_5_4_25_who_shows_himself_is_away_no_more_and_nobody_else_is_back() -> None:
    """The turns that ran out are forgotten of the one who says that he is ready; those of another seat stand."""
    game = away(away(Match().until("auction"), 1), 2)
    game.does(1, Ready())
    assert (game.pulka.members.absent(1), game.pulka.members.absent(2)) == (False, True)


# ---- adjourning --------------------------------------------------------------------------------------------------------


def test_5_4_18_the_deal_is_finished_and_then_nothing_begins_until_all_are_ready() -> None:
    """Adjourned by everybody's consent: after the deal no further one starts; each says that he is ready, the last resumes it."""
    game = Match().until("auction")
    assert game.does(1, Propose("adjourn")) == (ConsentAsked("adjourn", "ben", 1, (0, 2)),)
    assert game.refused(1, YES) == ("not_your_turn", "5.4.18")
    game.does(0, YES)
    game.does(2, YES)
    assert game.refused(0, Propose("adjourn")) == ("call_not_allowed", "5.4.18")
    game.plays(1)
    assert game.events[-1] == PulkaAdjourned("agreed")
    assert (match.phase(game.pulka), match.deal_is_due(game.pulka)) == ("between_deals", False)
    assert match.start_deal(game.pulka, StartDeal(2, "5e" * 32)) == ()
    assert game.refused(0, Cut(9)) == ("wrong_phase", "3.2.2")
    assert game.does(2, Ready()) == (SeatReady(2),)
    assert game.refused(2, Ready()) == ("call_not_allowed", "5.4.18")
    game.does(0, Ready())
    assert game.does(1, Ready()) == (SeatReady(1), PulkaResumed())
    assert match.deal_is_due(game.pulka)
    game.plays(2)
    assert game.pulka.members == Members(missed_before=game.pulka.members.missed_before)


def test_5_4_18_one_who_wants_to_go_on_prevents_an_adjournment() -> None:
    """A refusal, or the proposer's own second thoughts, and the pulka goes on."""
    for seat in (0, 1):
        game = Match().until("auction")
        game.does(1, Propose("adjourn"))
        game.does(seat, NO)
        game.plays(1)
        assert match.deal_is_due(game.pulka)
        assert game.refused(0, YES) == ("wrong_phase", "5.4.18")


def test_5_4_18_a_newcomer_and_a_substitute_come_during_an_adjournment() -> None:
    """Whoever sits down while the clocks stand does so at once, and is ready by it."""
    game = Match().until("auction")
    game.does(0, Leave())
    game.plays(1)
    assert game.events[-1] == PulkaAdjourned("left")
    game.joins("eve")
    game.does(1, YES)
    game.does(2, YES)
    assert game.pulka.players == 4
    vacant = game.pulka.seats.index("ann")
    game.joins("fay", vacant)
    for player in ("ben", "cid"):
        game.does(game.pulka.seats.index(player), YES)
    answer = game.does(game.pulka.seats.index("eve"), YES)
    assert answer[-1] == SubstituteSeated(vacant, "fay", "ann")
    assert game.does(game.pulka.seats.index("ben"), Ready())[-1] == SeatReady(game.pulka.seats.index("ben"))
    assert game.does(game.pulka.seats.index("cid"), Ready())[-1] == PulkaResumed()
    game.plays(2)


# ---- leaving, and the settlement ---------------------------------------------------------------------------------------


def test_5_4_18_who_leaves_stops_the_table_after_the_deal_until_he_is_back() -> None:
    """Leaving is said once and taken back by `ready`; before the end of the deal that stops nothing, later it resumes the pulka."""
    game = Match().until("auction")
    assert game.does(2, Leave()) == (PlayerLeaves(2),)
    assert game.refused(2, Leave()) == ("call_not_allowed", "5.4.18")
    assert game.does(2, Ready()) == (SeatReady(2),)
    game.does(2, Leave())
    game.plays(1)
    assert game.events[-1] == PulkaAdjourned("left")
    game.does(0, Ready())
    game.does(1, Ready())
    assert game.does(2, Ready()) == (SeatReady(2), PulkaResumed())


def test_5_4_18_any_player_may_demand_the_settlement_when_another_leaves() -> None:
    """After the deal, which is always finished, each writes his shortage into the mountain, and all is settled (4.2.3, 4.2.14)."""
    game = Match(lot=2).plays(3).until("auction")
    game.does(0, Leave())
    assert game.does(1, Settle()) == (SettlementDemanded(1),)
    assert game.refused(2, Settle()) == ("call_not_allowed", "5.4.18")
    game.plays(4)
    closed = game.events[-1]
    assert closed == PulkaClosed("demanded", settlement(game.pulka.convention, 50, game.pulka.sheet))
    assert closed.settlement["mountain"] == [
        high + 50 - pool for high, pool in zip(game.pulka.sheet.mountain, game.pulka.sheet.pool, strict=True)
    ]
    assert sum(closed.settlement["rounded"]) == 0
    assert game.refused(1, Ready()) == ("pulka_over", "4.2.15")
    answer = match.decide_join(game.pulka, "eve", Join(0))
    assert isinstance(answer, Refused)
    assert (answer.code, answer.rule) == ("pulka_over", "4.2.15")


def test_5_4_18_a_settlement_is_demanded_at_once_in_an_adjourned_pulka() -> None:
    """No deal is in progress: the demand closes the pulka."""
    game = Match().until("auction")
    game.does(0, Leave())
    game.plays(1)
    assert [type(event) for event in game.does(2, Settle())] == [SettlementDemanded, PulkaClosed]


def test_5_4_18_nobody_demands_it_as_long_as_all_are_there() -> None:
    """The one who leaves cannot demand it himself; who has come back in time takes the ground from the demand."""
    game = Match().until("auction")
    assert game.refused(0, Settle()) == ("call_not_allowed", "5.4.18")
    game.does(0, Leave())
    assert game.refused(0, Settle()) == ("call_not_allowed", "5.4.18")
    game.does(1, Settle())
    game.does(0, Ready())
    game.plays(1)
    assert match.deal_is_due(game.pulka)


def test_5_4_18_who_has_gone_without_a_word_counts_as_away() -> None:
    """So many turns run out in this deal and the last: then a settlement may be demanded; a turn or two give no right to it."""
    game = Match().until("auction")
    for _ in range(AWAY - 1):
        game.pulka = match.evolve(game.pulka, TurnTimedOut(2, 0))
    assert game.refused(0, Settle()) == ("call_not_allowed", "5.4.18")
    game.plays(1).until("cut")
    game.pulka = match.evolve(game.pulka, TurnTimedOut(2, 0))
    assert game.pulka.members.away(2)
    assert game.does(0, Settle()) == (SettlementDemanded(0),)
    assert game.does(2, Ready()) == (SeatReady(2),)
    assert not game.pulka.members.demanded


def test_5_4_18_before_the_seats_are_drawn_nobody_comes_or_goes() -> None:
    """While a pulka has not begun its lobby table is what one leaves."""
    waiting = match.Pulka(table_id="x")
    answer = match.decide_join(waiting, "eve", Join())
    assert isinstance(answer, Refused)
    assert (answer.code, answer.rule) == ("wrong_phase", "3.1.1")
