"""The end of a deal: what it leaves to be scored, and the event that says what was written."""

from __future__ import annotations

from typing import Any, cast

from msgspec.structs import replace

from shared.rules.deal.insurance import debt
from shared.rules.deal.position import NOBODY, Deal, Score, Setup, bit
from shared.rules.deck.cards import RANKS, SUIT_OF
from shared.rules.deck.contract import ALL_PASS, MISERE, TRICKS, is_game
from shared.rules.deck.seats import defenders
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import Conceded, DealScored
from shared.rules.language.moves import Concede
from shared.rules.language.refusal import Refused
from shared.rules.scoring.infraction_document import infraction_document, infractions_of
from shared.rules.scoring.outcome import Call, DealOutcome
from shared.rules.scoring.score import score_deal
from shared.rules.scoring.series import series_after

ACE, KING, QUEEN = RANKS.index("A"), RANKS.index("K"), RANKS.index("Q")  # of a card: its number modulo 8


# ---- evolve ------------------------------------------------------------------------------------------------------------


def deal_scored(deal: Deal, event: DealScored) -> Deal:
    """Nothing more can happen in this deal."""
    return replace(deal, phase="scored", to_act=None, pending=None, score=Score(event.outcome, event.entries))


def conceded(deal: Deal, _: Conceded) -> Deal:
    """A declarer who has not named the contract yet fails in the bid (3.4.4)."""
    game = deal.game
    return replace(deal, to_act=None, game=replace(game, contract=game.contract or game.bid, gave_up="concede"))


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide_concede(deal: Deal, seat: int, _: Concede) -> tuple[DealEvent, ...] | Refused:
    """The declarer admits "without all", whenever it is their turn after the talon, not on misere (3.5.4)."""
    if deal.phase not in ("discard", "contract", "play"):
        return Refused("wrong_phase", "3.5.4", "The declarer gives up a game on their own turn, after taking the talon.")
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.5.4", f"It is seat {deal.to_act}'s turn.")
    if not may_concede(deal, seat):
        return Refused("call_not_allowed", "3.5.4", "Only the declarer of a trick game may give up; a misere is played out.")
    gave_up = Conceded(seat)
    return gave_up, scored(conceded(deal, gave_up))


def may_concede(deal: Deal, seat: int) -> bool:
    """Whether the seat on turn is the declarer of a trick game, with the talon in hand."""
    game = deal.game
    return seat == game.declarer and MISERE not in (game.bid, game.contract) and deal.phase in ("discard", "contract", "play")


def scored(deal: Deal, taken: tuple[int, ...] = ()) -> DealScored:
    """The score of a deal that is over: played out with tricks `taken`, given up, or left unplayed since nobody whisted."""
    return scored_as(deal.setup, outcome(deal, taken))


def scored_as(setup: Setup, result: DealOutcome) -> DealScored:
    """The score of `result`, whatever was played."""
    entries = score_deal(setup.convention, setup.players, setup.target, setup.sheet, result, setup.series)
    after = series_after(setup.convention, setup.players, result, setup.series)
    document = outcome_document(result, setup.players)
    document["all_pass_in_row"] = after.all_pass_in_row
    if after.dark_in_row:
        document["dark_in_row"] = after.dark_in_row
    if after.bombs:
        document["bombs"] = [list(bombs) for bombs in after.bombs]
    return DealScored(document, tuple([entry.document() for entry in entries]))


def outcome(deal: Deal, taken: tuple[int, ...] = ()) -> DealOutcome:
    """What the deal leaves to be scored."""
    setup, game = deal.setup, deal.game
    trick_game = is_game(game.contract)
    result = DealOutcome(
        dealer=setup.dealer,
        contract=game.contract,
        declarer=None if game.declarer == NOBODY else game.declarer,
        calls=cast("tuple[Call | None, ...]", game.calls) if any(game.calls) else (),
        tricks=_without_all(deal) if game.gave_up == "concede" else deal.counted(taken) if taken else (),
        conceded=game.gave_up == "concede",
        without_three=game.gave_up == "without_three",
        shared=deal.shared,
        talon_tricks=talon_gift(setup.talon) if trick_game and not game.no_talon else 0,
        talon_refused=game.discarded != 0 and game.discarded == sum(map(bit, setup.talon)),
        dark=game.dark,
        dark_pass=tuple(seat for seat in range(setup.players) if deal.auction.dark_passed >> seat & 1) if game.contract == ALL_PASS else (),
    )
    agreed = None if deal.incidents is None else deal.incidents.bargain
    owed = None if agreed is None else debt(setup.convention, agreed, result, setup.players, setup.series)
    return result if owed is None else replace(result, infractions=(*result.infractions, owed))


def _without_all(deal: Deal) -> tuple[int, ...]:
    """What a concession stands for: all ten tricks to the sole whister, else five to each defender; none where nobody was asked (3.5.4)."""
    setup, game = deal.setup, deal.game
    if deal.play is None:
        return ()
    opposed = defenders(setup.players, setup.dealer, game.declarer)
    takers = (game.whister,) if game.whister in opposed else opposed
    return tuple(TRICKS // len(takers) if seat in takers else 0 for seat in range(setup.players))


def talon_gift(talon: tuple[int, ...]) -> int:
    """Whist tricks that the talon gave: an ace 1, ace and king of a suit 2, two aces 3, king and queen of a suit 1 (3.4.11); one that was
    dealt wrongly gives none [conv].
    """
    if len(talon) != 2:
        return 0
    one, other = talon
    high, low = max(one % 8, other % 8), min(one % 8, other % 8)
    if high == low == ACE:
        return 3
    one_suit = SUIT_OF[one] == SUIT_OF[other]
    if high == ACE:
        return 2 if low == KING and one_suit else 1
    return 1 if (high, low) == (KING, QUEEN) and one_suit else 0


def outcome_document(result: DealOutcome, players: int) -> dict[str, Any]:
    """The outcome as the event keeps it: `dealer`, `declarer`, `contract`, then what else there is, under the names of `DealOutcome`.

    `infractions` as a score file has them (`infraction_document.py`).
    """
    document: dict[str, Any] = {"dealer": result.dealer, "declarer": result.declarer, "contract": result.contract}
    if result.calls:
        document["calls"] = list(result.calls)
    if result.tricks:
        document["tricks"] = list(result.tricks)
    if result.talon_tricks:
        document["talon_tricks"] = result.talon_tricks
    if result.dark_pass:
        document["dark_pass"] = list(result.dark_pass)
    for flag in _FLAGS:
        if getattr(result, flag):
            document[flag] = True
    if result.infractions:
        document["infractions"] = [infraction_document(one, players) for one in result.infractions]
    return document


_FLAGS = ("conceded", "without_three", "talon_refused", "shared", "dark")


def outcome_of(document: dict[str, Any]) -> DealOutcome:
    """The outcome that `outcome_document` wrote; what a pulka keeps beside it is passed over."""
    return DealOutcome(
        dealer=document["dealer"],
        declarer=document["declarer"],
        contract=document["contract"],
        calls=tuple(document.get("calls", ())),
        tricks=tuple(document.get("tricks", ())),
        talon_tricks=document.get("talon_tricks", 0),
        dark_pass=tuple(document.get("dark_pass", ())),
        infractions=infractions_of(document.get("infractions", ())),
        **{flag: document.get(flag, False) for flag in _FLAGS},
    )
