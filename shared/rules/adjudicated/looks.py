"""Looking where one may not, and showing what one may not show: talon, discard, closed tricks, cards of one's own (3.2.19, 3.4.9, 3.9.8,
3.9.11.2, 3.9.15).
"""

from __future__ import annotations

from msgspec.structs import replace

from shared.rules.adjudicated.court import Act, Court, Maker
from shared.rules.adjudicated.play_acts import Decided, fine, opponents
from shared.rules.deal.decider import evolve as deal_after
from shared.rules.deal.position import NOBODY, Deal, bit
from shared.rules.deck.cards import CARD_NUMBER, CARDS, hand_text
from shared.rules.deck.contract import ALL_PASS, MISERE, TRICKS
from shared.rules.language.game_events import CardExposed, CardPlayed, Event, TrickShown
from shared.rules.language.irregular_events import AttentionCalled, CardsShown, Peeked
from shared.rules.language.moves import Expose, Peek
from shared.rules.language.refusal import Refused
from shared.rules.scoring.outcome import Infraction

SEEN_TALON = "3.2.19"
LOOKED_INTO_DISCARD = "3.4.9"
LOOKED_INTO_TRICK = "3.9.11.2"
SHOWN = "3.9.15"

# ---- evolve ------------------------------------------------------------------------------------------------------------


def peeked(court: Court, event: Peeked) -> Court:
    """Nothing changes in the game; where it was irregular it is kept."""
    if not event.irregular:
        return court
    kind = {"talon": "show_talon" if event.show else "peek_talon", "discard": "peek_discard", "trick": "peek_trick"}[event.what]
    act = Act(kind, event.irregular, event.seat, event.seat, court.deal, _number(court.deal))  # type: ignore[arg-type]  # the words of ActKind
    return replace(court, acts=(*court.acts, act))


def trick_shown(court: Court, event: TrickShown) -> Court:
    """Nobody objected: to look at this trick is no offence any more (3.9.11.1)."""
    return replace(court, deal=deal_after(court.deal, event), tricks_shown=court.tricks_shown | bit(event.number))


def cards_shown(court: Court, event: CardsShown) -> Court:
    """They are exposed from the beginning of the play on, or at once."""
    act = Act("expose", event.irregular, event.seat, event.seat, court.deal, _number(court.deal))
    return replace(court, acts=(*court.acts, act), shown=(*court.shown, (event.seat, event.cards)))


def card_exposed(court: Court, event: CardExposed) -> Court:
    """They lie on the table from now on."""
    shown = tuple(one for one in court.shown if one != (event.seat, event.cards))
    return replace(court, deal=deal_after(court.deal, event), shown=shown)


def _number(deal: Deal) -> int:
    return deal.play.number if deal.play is not None else 0


# ---- the acts ----------------------------------------------------------------------------------------------------------


def decide_peek(court: Court, seat: int, move: Peek) -> Decided:
    """A look, where there is something to be looked at."""
    match move.what:
        case "talon":
            return _at_talon(court, seat, move)
        case "discard":
            return _at_discard(court, seat, move)
    return _at_trick(court, seat, move)


def _at_talon(court: Court, seat: int, move: Peek) -> Decided:
    deal = court.deal
    closed = deal.game.contract == ALL_PASS and deal.play is not None and deal.play.number <= len(deal.setup.talon)
    if not (deal.phase == "auction" or (closed and court.ended is None)) or court.talon_with != NOBODY:
        return Refused("wrong_phase", "3.2.21", "The talon does not lie face down on the table.")
    cards = " ".join(CARDS[card] for card in deal.setup.talon)
    return (Peeked(seat, "talon", cards, 0, move.show, SEEN_TALON),)


def _at_discard(court: Court, seat: int, move: Peek) -> Decided:
    deal = court.deal
    if not deal.game.discarded or deal.phase in ("auction", "discard"):
        return Refused("wrong_phase", "3.4.9", "Nothing has been discarded.")
    rule = LOOKED_INTO_TRICK
    if seat == deal.game.declarer:
        rule = LOOKED_INTO_DISCARD if deal.play is not None and deal.play.played else ""
    return (Peeked(seat, "discard", hand_text(deal.game.discarded), 0, move.show, rule),)


def _at_trick(court: Court, seat: int, move: Peek) -> Decided:
    """The last closed trick may always be asked for (3.9.8); an older one, or another's, is looked at against the rule."""
    play = court.deal.play
    closed = () if play is None else play.closed
    number = len(closed) if move.trick is None else move.trick
    if not 1 <= number <= len(closed):
        return Refused("wrong_phase", "3.9.8", f"Trick {number} is not closed." if move.trick else "No trick is closed yet.")
    cards = " ".join(one.card for one in closed[number - 1] if isinstance(one, CardPlayed))
    may = number == len(closed) or court.tricks_shown & bit(number)
    return (Peeked(seat, "trick", cards, number, move.show, "" if may else LOOKED_INTO_TRICK),)


def decide_expose(court: Court, seat: int, move: Expose) -> Decided:
    """Cards that they hold, before or during the play."""
    deal = court.deal
    if deal.phase == "scored" or court.ended is not None:
        return Refused("wrong_phase", SHOWN, "The deal has been played.")
    if len(set(move.cards)) != len(move.cards):
        return Refused("duplicate_card", SHOWN, "Each card is shown once.")
    for card in move.cards:
        if not deal.held(seat) >> CARD_NUMBER[card] & 1:
            return Refused("card_not_held", SHOWN, f"{card} is not in the hand of seat {seat}.")
    return (CardsShown(seat, " ".join(move.cards), SHOWN),)


def lying_from_now(court: Court) -> tuple[Event, ...]:
    """Shown cards that the play has not begun with yet: each becomes an exposed card (3.9.15)."""
    if court.deal.phase != "play":
        return ()
    return tuple(CardExposed(seat, cards, "forbid", opponents(court.deal, seat), SHOWN) for seat, cards in court.shown)


# ---- attention ---------------------------------------------------------------------------------------------------------


def shown(court: Court, maker: Maker, index: int, act: Act) -> Decided:  # noqa: ARG001 - the shape of all remedies
    """The cards lie exposed already; the call is kept."""
    return (AttentionCalled(act.rule, act.seat, maker, index),)


def looked(court: Court, maker: Maker, index: int, act: Act) -> Decided:
    """A look into the discard or a trick costs one trick (3.4.9, 3.9.11.2); in the last trick nothing (3.9.21)."""
    if act.trick == TRICKS:
        return Refused("call_not_allowed", "3.9.21", "What is done in the last trick is not punished.")
    called = AttentionCalled(act.rule, act.seat, maker, index)
    return (called, fine(court, Infraction(act.rule, act.seat))) if _answers(court.deal, act.seat) else (called,)


def _answers(deal: Deal, seat: int) -> bool:
    """Whether the look costs anything: declarer or whister, and everybody in all-pass; no defender of a misere, no passer [conv]."""
    game = deal.game
    if game.contract == ALL_PASS:
        return seat in deal.setup.order
    if seat == game.declarer:
        return True
    if deal.phase in ("contract", "whist"):  # whether they whist is not decided: the score looks at their last word
        return game.contract != MISERE
    return game.contract != MISERE and bool(game.calls) and game.calls[seat] == "whist"


def talon_cards(deal: Deal) -> str:
    """The talon as it lies."""
    return " ".join(CARDS[card] for card in deal.setup.talon)
