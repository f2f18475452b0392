"""Exposed cards (3.9.14): they lie face up until played, and the holder's opponents command them. Also a line that a claimer is held to.

What binds the next card is worked out from `Incidents` at each turn (`allowed`). An opponent who has a choice is asked first
(`question`, appended to what a move causes by `interrupting.py`), and their choice binds that one card (`Bound`). Evolve, decide, what is
on offer.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from shared.rules.deal.incidents import NONE, Bound, Exposure, Incidents, Line, Question
from shared.rules.deal.play import legal_cards
from shared.rules.deal.position import Deal, TrickPlay
from shared.rules.deck.cards import CARD_NUMBER, CARDS, DECK, SUIT_MASKS, SUIT_OF, card_numbers, hand_text, mask_of
from shared.rules.deck.contract import MISERE, is_game
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import CardExposed, HeldToLine, RemedyAsked, RemedyChosen
from shared.rules.language.moves import Play, Remedy
from shared.rules.language.refusal import Refused

EXPOSED = "exposed"  # what such a question is about

# ---- evolve ------------------------------------------------------------------------------------------------------------


def card_exposed(deal: Deal, event: CardExposed) -> Deal:
    """From now on these cards lie on the table until they are played (3.9.14)."""
    incidents = deal.incidents or NONE
    command = event.command if event.command in ("forbid", "demand", "name") else "forbid"
    one = Exposure(event.seat, mask_of(event.cards), command, event.commanders, event.rule)  # type: ignore[arg-type]  # narrowed above
    return replace(deal, incidents=replace(incidents, exposures=(*incidents.exposures, one)))


def held_to_line(deal: Deal, event: HeldToLine) -> Deal:
    """The claimer follows what they stated (3.9.14.4)."""
    incidents = deal.incidents or NONE
    line = Line(event.seat, tuple(CARD_NUMBER[card] for card in event.line.split()))
    return replace(deal, incidents=replace(incidents, lines=(*incidents.lines, line)))


def remedy_asked(deal: Deal, event: RemedyAsked) -> Deal:
    """The deal waits for the first seat that is asked."""
    turn = deal.to_act if deal.to_act is not None else event.of
    asked = Question(event.about, event.of, event.choices, mask_of(event.cards), event.rule, event.seats, deal.phase, turn)
    return replace(deal, phase="remedy", to_act=event.seats[0], pending=asked)


def remedy_chosen(deal: Deal, event: RemedyChosen) -> Deal:
    """The choice binds the next card of the hand in question; who leaves it to others asks the next, and at last nobody binds it.

    Of several commanders one demand suffices: who forbids leaves it to the next too, and only the last one's word forbids it (3.9.14).
    """
    asked = deal.pending
    if not isinstance(asked, Question):
        return deal
    leaves_it = event.choice == "pass" or (event.choice == "forbid" and asked.about == EXPOSED)
    if leaves_it and len(asked.waiting) > 1:
        return replace(deal, to_act=asked.waiting[1], pending=replace(asked, waiting=asked.waiting[1:]))
    back = replace(deal, phase=asked.phase, to_act=asked.turn, pending=None)
    if asked.about != EXPOSED or back.play is None:
        return back
    cards = DECK
    if event.choice == "card" and event.card is not None:
        cards = 1 << CARD_NUMBER[event.card]
    elif event.choice == "forbid":
        cards = ~lying(back, asked.of) & DECK
    bound = Bound(asked.of, cards, back.play.played, asked.rule)
    return replace(back, incidents=replace(back.incidents or NONE, bound=bound))


# ---- what lies there, and what it binds --------------------------------------------------------------------------------


def lying(deal: Deal, seat: int) -> int:
    """The mask of the cards of `seat` that lie exposed now."""
    cards = 0
    for one in (deal.incidents or NONE).exposures:
        if one.seat == seat:
            cards |= one.cards
    return cards & deal.held(seat)


def allowed(deal: Deal) -> int:
    """The mask of the cards that the hand on turn may play: legal ones, as far as exposed cards, their commanders or a line leave a choice.

    Meant for a deal in play with nothing pending; an opponent who has a choice must have been asked (`question`).
    """
    play, incidents = deal.play, deal.incidents
    if play is None:
        return 0
    legal = legal_cards(play, deal.held(play.turn))
    if incidents is None:
        return legal
    bound = incidents.bound
    if bound is not None and bound.hand == play.turn and bound.played == play.played:
        return legal & bound.cards or legal
    planned = _of_the_line(deal, incidents, legal)
    if planned:
        return planned
    found = _commanded(deal, legal)
    if found is None:
        return legal
    one, cards = found
    choices = _choices(one, play, cards, legal)
    forced = one.command == "name" or choices == ("card",)
    return cards if forced and cards.bit_count() == 1 else legal


def question(deal: Deal) -> RemedyAsked | None:
    """What a commander must be asked before the hand on turn plays, if they have a choice."""
    play, incidents = deal.play, deal.incidents
    if play is None or incidents is None or deal.pending is not None or deal.phase != "play" or deal.to_act is None or not play.left:
        return None
    if incidents.bound is not None and incidents.bound.hand == play.turn and incidents.bound.played == play.played:
        return None
    legal = legal_cards(play, deal.held(play.turn))
    if _of_the_line(deal, incidents, legal):
        return None
    found = _commanded(deal, legal)
    if found is None:
        return None
    one, cards = found
    choices = _choices(one, play, cards, legal)
    if cards.bit_count() == 1 and (one.command == "name" or cards == legal or choices == ("card",)):
        return None  # there is nothing to choose
    return RemedyAsked(EXPOSED, one.commanders, play.turn, choices, hand_text(cards), one.rule)


def _choices(one: Exposure, play: TrickPlay, cards: int, legal: int) -> tuple[str, ...]:
    """What a commander may choose: an exposed card cannot be forbidden on its holder's own lead, nor where no other card may be played."""
    if one.command == "forbid":
        return ("card", "forbid") if play.led and legal & ~cards else ("card",)
    return ("card", "pass")


def _of_the_line(deal: Deal, incidents: Incidents, legal: int) -> int:
    """The first card of a stated line that the hand on turn may play, as a mask; 0 where there is none: then the claimer is free."""
    for line in incidents.lines:
        if deal.to_act == line.seat:
            return next((1 << card for card in line.cards if legal >> card & 1), 0)
    return 0


def _commanded(deal: Deal, legal: int) -> tuple[Exposure, int] | None:
    """The exposure that is asked about at this turn, and its cards that may be played and named; a whole hand goes before single cards."""
    assert deal.play is not None  # noqa: S101 - both callers have looked
    for command in ("name", "forbid", "demand"):
        own = [one for one in (deal.incidents or NONE).exposures if (one.seat, one.command) == (deal.play.turn, command) and one.commanders]
        cards = sum({card for one in own for card in _bits(one.cards & legal)})
        if cards:
            return own[0], not_absurd(deal, cards) if command == "name" else cards
    return None


def _bits(mask: int) -> Iterator[int]:
    return (1 << card for card in card_numbers(mask))


def not_absurd(deal: Deal, cards: int) -> int:
    """Of `cards`, which the hand on turn may play, those that may be named without absurdity (3.9.14.4) [conv]; all, if there are none.

    Absurd in a trick game: a lead from under the highest card left of its suit, and throwing such a card when another may be thrown. On
    misere: a card that takes when another one does not. Cards put away count as out: nobody but the declarer knows them.
    """
    play = deal.play
    if play is None:
        return cards
    out = DECK & ~play.played
    sensible = 0
    for card in card_numbers(cards):
        if deal.game.contract == MISERE:
            absurd = bool(play.led and play.beating >> card & 1)
        elif is_game(deal.game.contract):
            absurd = _absurd_in_a_game(card, deal.held(play.turn), out, play.led, play.course.trumps)
        else:
            absurd = False
        sensible |= 0 if absurd else 1 << card
    return sensible or cards


def _absurd_in_a_game(card: int, held: int, out: int, led: int, trumps: int) -> bool:
    suit = SUIT_MASKS[SUIT_OF[card]]
    highest = (out & suit).bit_length() - 1
    if not led:
        above = out & suit & ~((2 << card) - 1)
        return bool(held >> highest & 1 and above & ~held)  # the highest stays, and somebody else can beat this one
    thrown = not suit & (led | trumps)
    return thrown and card == highest


# ---- decide ------------------------------------------------------------------------------------------------------------


def objection(deal: Deal, move: Play) -> Refused | None:
    """Why a card that the rules of following allow may not be played since exposed cards, their commanders or a line say otherwise."""
    may = allowed(deal)
    if may >> CARD_NUMBER[move.card] & 1:
        return None
    incidents = deal.incidents or NONE
    if incidents.lines and any(line.seat == deal.to_act for line in incidents.lines):
        return Refused("must_play_exposed", "3.9.14.4", f"You are held to the line that you stated: {hand_text(may)} is next.")
    return Refused("must_play_exposed", "3.9.14", f"Exposed cards are commanded by the opponents: it must be one of {hand_text(may)}.")


def decide_remedy(deal: Deal, seat: int, move: Remedy) -> tuple[DealEvent, ...] | Refused:
    """The choice that the seat was asked for."""
    asked = deal.pending
    if move.choice == "card" and move.card is None:
        return Refused("malformed", "3.9.14", "`card` says which one must be played.")
    if not isinstance(asked, Question):
        return Refused("wrong_phase", "3.9.14", "No remedy waits for a choice.")
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.9.14", f"It is seat {deal.to_act} that is asked.")
    if move.choice not in asked.choices:
        return Refused("call_not_allowed", asked.rule, f"The choice is between {', '.join(asked.choices)}.")
    if move.choice == "card" and move.card is not None:
        card = CARD_NUMBER[move.card]
        if not deal.held(asked.of) >> card & 1:
            return Refused("card_not_held", "3.9.2", f"{move.card} is not in the hand of seat {asked.of}.")
        if not asked.cards >> card & 1:
            return Refused("call_not_allowed", asked.rule, f"{move.card} cannot be named: it is not exposed, not legal now, or absurd.")
    return (RemedyChosen(seat, move.choice, move.card, move.suit, move.seat),)


# ---- what is on offer --------------------------------------------------------------------------------------------------


def legal_remedies(deal: Deal) -> Iterator[Remedy]:
    """Every choice that is accepted from the seat that is asked."""
    asked = deal.pending
    if not isinstance(asked, Question):
        return
    for choice in asked.choices:
        if choice == "card":
            yield from (Remedy("card", card=CARDS[card]) for card in card_numbers(asked.cards))
        else:
            yield Remedy(choice)  # type: ignore[arg-type]  # the words of `choices` are those of the move


def default_remedy(deal: Deal) -> Remedy:
    """Silence: nobody names or demands a card; an exposed card that nobody forbids is played, the lowest first."""
    remedies = list(legal_remedies(deal))
    free = [one for one in remedies if one.choice == "pass"]
    named = sorted((CARD_NUMBER[one.card] % 8, CARD_NUMBER[one.card], place) for place, one in enumerate(remedies) if one.card)
    return free[0] if free else remedies[named[0][-1]] if named else remedies[0]
