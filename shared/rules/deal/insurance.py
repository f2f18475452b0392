"""The insurance of 3.8.5.1: a defender who insists on their plan guarantees its result to those who would play otherwise.

The others leave both hands to the guarantor. If the result is worse than guaranteed, the guarantor owes each their loss in whists (E9 of
the Code's examples: a misere let through that would have been caught once is 25 + 25 whists to each).
"""

from __future__ import annotations

from msgspec.structs import replace

from shared.rules.convention.options import Convention
from shared.rules.deal.incidents import Bargain
from shared.rules.deal.position import NOBODY, Deal
from shared.rules.deck.contract import MISERE, is_game
from shared.rules.language.amount import exact, written
from shared.rules.language.refusal import Refused
from shared.rules.scoring.outcome import DealOutcome, Infraction
from shared.rules.scoring.score import score_deal
from shared.rules.scoring.series import Series
from shared.rules.scoring.settlement import settle
from shared.rules.scoring.sheet import BySeat, empty_sheet, write

RULE = "3.8.5.1"


def objection(deal: Deal, seat: int) -> Refused | None:
    """Why `seat` may not offer to play the defence by their plan: before the defence plays, over open hands. None if they may."""
    game, play = deal.game, deal.play
    one_plan = game.contract == MISERE or (is_game(game.contract) and game.whister != NOBODY)
    if deal.phase != "play" or play is None or not one_plan or not game.laid:
        return Refused("wrong_phase", RULE, "A plan is disputed when the defence's hands lie open, before the defence plays.")
    if seat == game.declarer or deal.setup.has_dummy:
        return Refused("call_not_allowed", RULE, "Only a defence of more than one player can dispute its plan.")
    if any(play.played & deal.full_hands[hand] for hand in deal.setup.order if hand != game.declarer):
        return Refused("wrong_phase", RULE, "The defence has already begun to play.")
    return None


def debt(convention: Convention, agreed: Bargain, played: DealOutcome, players: int, series: Series) -> Infraction | None:
    """What the guarantor owes when the deal came out as `played`: to each acceptor the whists by which their net of this deal, settled
    alone (4.2.14), is worse than with the guaranteed tricks. None when it is nothing.
    """
    due = _net(convention, replace(played, tricks=agreed.tricks, conceded=False), players, series)
    got = _net(convention, played, players, series)
    owed = tuple((seat, agreed.seat, exact(due[seat] - got[seat])) for seat in agreed.acceptors if due[seat] > got[seat])
    if not owed:
        return None
    missed = written(exact(sum(whists for _, _, whists in owed)))
    reason = f"the guaranteed result was missed by {missed} whists"
    return Infraction(RULE, agreed.seat, ruled=True, whists=tuple(sorted(owed)), reason=reason)


def _net(convention: Convention, outcome: DealOutcome, players: int, series: Series) -> BySeat:
    nothing = empty_sheet(players)
    return settle(convention, None, write(nothing, score_deal(convention, players, None, nothing, outcome, series))).net
