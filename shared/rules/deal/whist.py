"""The defenders' answer to the contract: whist, pass or half-whist, its return, the resting dealer's whist, then open or closed play (3.8).

What comes after which words stands in `scoring/whist_calls.py`; `Game.history` keeps them, a letter a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from shared.rules.deal.ending import scored
from shared.rules.deal.laying import defenders_laid
from shared.rules.deal.play import begin
from shared.rules.deal.position import NOBODY, Deal, Game, Setup
from shared.rules.deck.seats import defenders
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import PlayChosen, WhistCalled
from shared.rules.language.moves import Lay, Look, Whist
from shared.rules.language.refusal import Refused
from shared.rules.scoring import whist_calls
from shared.rules.scoring.whist_calls import DEALER, Asked, Next, letter


def asked_on(setup: Setup, game: Game) -> Asked:
    """What the words are said on. Who was invited to share a misere has seen the declarer's hand (3.6.9)."""
    return Asked(setup.convention, setup.players, game.contract, game.dark, game.looked == game.declarer)


def next_word(setup: Setup, game: Game) -> tuple[Next, int]:
    """What follows the words said so far, and the seat it concerns, `NOBODY` when the contract counts as made, unplayed."""
    return _next_word(setup, game, asked_on(setup, game))


def _next_word(setup: Setup, game: Game, asked: Asked) -> tuple[Next, int]:
    what, speaker = whist_calls.next_word(asked, game.history)
    if what == "made":
        return what, NOBODY
    return what, setup.resting if speaker == DEALER else defenders(setup.players, setup.dealer, game.declarer)[speaker]


# ---- evolve ------------------------------------------------------------------------------------------------------------


def whist_called(deal: Deal, event: WhistCalled) -> Deal:
    """The next word, the whister's choice, or the play; `to_act` is nobody when the contract stands unplayed."""
    return _said(deal, event, asked_on(deal.setup, deal.game))


def _said(deal: Deal, event: WhistCalled, asked: Asked) -> Deal:
    setup, seat = deal.setup, event.seat
    calls = (*deal.game.calls[:seat], event.call, *deal.game.calls[seat + 1 :])
    history = deal.game.history + letter(event.call, of_dealer=seat == setup.resting)
    game = replace(deal.game, calls=calls, history=history, whister=NOBODY)
    what, whom = _next_word(setup, game, asked)
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
    """In open play the whister plays both hands, in closed play each defender their own."""
    return begin(deal, both_by=event.seat if event.open else NOBODY)


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide_whist(deal: Deal, seat: int, move: Whist) -> tuple[DealEvent, ...] | Refused:
    """A word on the contract, and what it ends (3.8.1-3.8.8)."""
    asked = asked_on(deal.setup, deal.game)
    if not _takes_words(deal, asked, move):
        return Refused("wrong_phase", "3.8.1", "The defenders speak after the contract is named and before the cards are played.")
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.8.1", f"The left neighbour of the declarer speaks first; it is seat {deal.to_act}'s turn.")
    refused = whist_calls.objection(asked, deal.game.history, move.call)
    if refused is not None:
        return refused
    said = WhistCalled(seat, move.call)
    after = _said(deal, said, asked)
    if after.to_act is None:
        return said, scored(after)
    if after.game.whister == deal.setup.resting != NOBODY or (after.play is not None and deal.setup.has_dummy):
        return said, defenders_laid(after)
    return (said,)


def _takes_words(deal: Deal, asked: Asked, move: Whist) -> bool:
    return deal.phase in _CALLED and whist_calls.takes_word(asked, _CALLED[deal.phase], move.call)


_CALLED: Final[dict[str, Next]] = {"whist": "ask", "lay": "lay"}


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
    asked = asked_on(deal.setup, deal.game)
    for move in _WORDS[deal.phase]:
        if _takes_words(deal, asked, move) and whist_calls.objection(asked, deal.game.history, move.call) is None:
            yield move
    if deal.phase == "lay":
        yield from (Lay(open=True), Lay(open=False))
    elif seat == deal.setup.resting and deal.game.looked == NOBODY:
        yield from (Look(hand) for hand in defenders(deal.setup.players, deal.setup.dealer, deal.game.declarer))


_WORDS: Final = {"whist": (Whist("whist"), Whist("half"), Whist("pass")), "lay": (Whist("half"),)}
