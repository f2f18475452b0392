"""The defenders' answer to the contract: whist, pass or half-whist, its return, the resting dealer's whist, then open or closed play (3.8).

Every word is one letter of `Game.history`, in capitals the dealer's; what comes after each history is one table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from msgspec.structs import replace

from shared.rules.deal.ending import scored
from shared.rules.deal.laying import defenders_laid
from shared.rules.deal.play import begin
from shared.rules.deal.position import NOBODY, Deal, Game, Setup
from shared.rules.deck.contract import LEVEL
from shared.rules.deck.seats import defenders
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import PlayChosen, WhistCalled
from shared.rules.language.moves import Lay, Look, Whist
from shared.rules.language.refusal import Refused

#: `ask` a defender, or for a `return` of the whist where the level has one, else the `dealer`; `lay`: the whister chooses open or
#: closed play; `pair`: both play closed; `dummy`: the one defender of two players plays with the dummy's hand laid.
Turn: TypeAlias = Literal["ask", "return", "dealer", "lay", "pair", "dummy"]

FIRST, SECOND = 0, 1
_AFTER: Final[dict[str, tuple[Turn, int]]] = {
    "": ("ask", FIRST),
    "w": ("ask", SECOND),
    "p": ("ask", SECOND),
    "ww": ("pair", FIRST),
    "wp": ("lay", FIRST),
    "pw": ("lay", SECOND),
    "pp": ("dealer", FIRST),
    "ph": ("return", FIRST),
    "phw": ("lay", FIRST),
    "php": ("dealer", FIRST),
    "wph": ("return", SECOND),
    "wphw": ("lay", SECOND),
    "wphp": ("dealer", SECOND),
}
#: The one defender of two players: nobody passes the whist on to him or takes it back (Decision 19).
_AFTER_ALONE: Final[dict[str, tuple[Turn, int]]] = {"": ("ask", FIRST), "w": ("dummy", FIRST)}
DEALER_WHISTS, DEALER_PASSES = "W", "P"
HALF_AFTER: Final = "p"  # the second defender's half-whist follows the first one's pass (3.8.7)
HALF_ALONE: Final = ""  # of two players the one defender may say it at once: nobody sits behind the dummy to be asked (Decision 19)
DEALER_OF: Final = 4  # players of whom the resting dealer may whist; of five he may not (Decision 15)
HALF_INSTEAD_OF_LAY: Final = "wp"  # the first hand goes down to half when the second passed (3.8.14)


def next_word(setup: Setup, game: Game) -> tuple[Literal["ask", "lay", "pair", "dummy", "dealer", "made"], int]:
    """What follows the words said so far, and the seat it concerns; `made`: nobody whists, the contract counts as made, unplayed."""
    if game.history.endswith(DEALER_WHISTS):
        return "dealer", setup.resting
    if game.history.endswith(DEALER_PASSES):
        return "made", NOBODY
    turn, which = (_AFTER_ALONE if setup.has_dummy else _AFTER).get(game.history, ("dealer", FIRST))
    convention = setup.convention
    if turn == "dealer" or (turn == "return" and LEVEL.get(game.contract) not in convention.pass_return):
        knows = game.looked == game.declarer  # he was invited to share a misere (3.6.9): who has seen the declarer's hand whists not [conv]
        asks_dealer = setup.players == DEALER_OF and convention.dealer_whist != "off" and not knows
        return ("ask", setup.resting) if asks_dealer else ("made", NOBODY)
    seat = defenders(setup.players, setup.dealer, game.declarer)[which]
    return "ask" if turn == "return" else turn, seat


# ---- evolve ------------------------------------------------------------------------------------------------------------


def whist_called(deal: Deal, event: WhistCalled) -> Deal:
    """The next word, the whister's choice, or the play; `to_act` is nobody when the contract stands unplayed."""
    setup, seat = deal.setup, event.seat
    letter = event.call[0]
    calls = (*deal.game.calls[:seat], event.call, *deal.game.calls[seat + 1 :])
    history = deal.game.history + (letter.upper() if seat == setup.resting else letter)
    game = replace(deal.game, calls=calls, history=history, whister=NOBODY)
    what, whom = next_word(setup, game)
    match what:
        case "ask":
            return replace(deal, phase="whist", to_act=whom, game=game)
        case "lay":
            return replace(deal, phase="lay", to_act=whom, game=replace(game, whister=whom))
        case "dealer":
            return begin(replace(deal, game=replace(game, whister=whom)), both_by=whom)
        case "pair":
            return begin(replace(deal, game=game))
        case "dummy":
            return begin(replace(deal, game=replace(game, whister=whom)))
    return replace(deal, phase="whist", to_act=None, game=game)


def play_chosen(deal: Deal, event: PlayChosen) -> Deal:
    """In open play the whister plays both hands, in closed play each defender his own."""
    return begin(deal, both_by=event.seat if event.open else NOBODY)


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide_whist(deal: Deal, seat: int, move: Whist) -> tuple[DealEvent, ...] | Refused:
    """A word on the contract, and what it ends (3.8.1-3.8.8)."""
    if not _takes_words(deal, move):
        return Refused("wrong_phase", "3.8.1", "The defenders speak when the contract is named, before the cards are played.")
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.8.1", f"The left neighbour of the declarer speaks first; it is seat {deal.to_act}'s turn.")
    refused = _objection(deal, seat, move.call)
    if refused is not None:
        return refused
    said = WhistCalled(seat, move.call)
    after = whist_called(deal, said)
    if after.to_act is None:
        return said, scored(after)
    if after.game.whister == deal.setup.resting != NOBODY or (after.play is not None and deal.setup.has_dummy):
        return said, defenders_laid(after)
    return (said,)


def _takes_words(deal: Deal, move: Whist) -> bool:
    if deal.phase == "lay":
        return move.call == "half" and deal.setup.convention.first_hand_half
    return deal.phase == "whist"


def _objection(deal: Deal, seat: int, call: str) -> Refused | None:
    """Why the seat that is asked may not say this, if it may not."""
    game, convention = deal.game, deal.setup.convention
    if convention.stalingrad and game.contract == "6S" and (call == "pass" or (call == "half" and deal.setup.has_dummy)):
        return Refused("call_not_allowed", "3.8.9", "In this pulka six spades must be whisted (FN61).")
    if call != "half":
        return None
    if seat == deal.setup.resting:
        return Refused("call_not_allowed", "3.8.8", "A resting dealer whists or passes.")
    if LEVEL[game.contract] not in convention.half_whist:
        return Refused("call_not_allowed", "3.8.7", f"There is no half-whist on {game.contract} in this pulka.")
    if deal.phase == "lay" and game.history != HALF_INSTEAD_OF_LAY:
        return Refused("call_not_allowed", "3.8.14", "Only the first hand may go down to half, after whist and pass.")
    if deal.phase == "whist" and game.history != (HALF_ALONE if deal.setup.has_dummy else HALF_AFTER):
        return Refused("call_not_allowed", "3.8.7", "Half-whist is the second defender's, when the first has passed.")
    return None


def decide_lay(deal: Deal, seat: int, move: Lay) -> tuple[DealEvent, ...] | Refused:
    """The only whister lays both hands or leaves them closed (3.8.5)."""
    if deal.phase != "lay":
        return Refused("wrong_phase", "3.8.5", "Open or closed play is chosen when one defender whists, before the first lead.")
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.8.5", "The whister alone chooses open or closed play.")
    chosen = PlayChosen(seat, move.open)
    return (chosen, defenders_laid(deal)) if move.open else (chosen,)


# ---- what is on offer --------------------------------------------------------------------------------------------------


def legal_words(deal: Deal, seat: int) -> Iterator[Whist | Look | Lay]:
    """Every answer that is accepted from the seat on turn, in phases `whist` and `lay`."""
    for move in _WORDS[deal.phase]:
        if _takes_words(deal, move) and _objection(deal, seat, move.call) is None:
            yield move
    if deal.phase == "lay":
        yield from (Lay(open=True), Lay(open=False))
    elif seat == deal.setup.resting and deal.game.looked == NOBODY:
        yield from (Look(hand) for hand in defenders(deal.setup.players, deal.setup.dealer, deal.game.declarer))


_WORDS: Final = {"whist": (Whist("whist"), Whist("half"), Whist("pass")), "lay": (Whist("half"),)}
