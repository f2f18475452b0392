"""The play of the cards: trick after trick, in games, misere and all-pass alike (3.9, 3.6, 3.7). Evolve, decide, what is on offer.

This is where most moves of a pulka go, so it looks everything up in tables and builds two small records a card. `to_act` is who plays the
cards of `turn`: the whister for both hands in open play, the resting dealer for both when they whist (3.8.5, 3.8.8).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from shared.rules.deal.ending import scored
from shared.rules.deal.laying import catchers_laid, dummy_laid
from shared.rules.deal.position import NOBODY, Course, Deal, Game, Setup, TrickPlay, bit, fresh_trick
from shared.rules.deck.cards import CARD_NUMBER, CARDS, DECK, card_numbers
from shared.rules.deck.contract import ALL_PASS, MISERE, STRAIN, TRICKS
from shared.rules.deck.seats import active, defenders
from shared.rules.deck.trick import BEATING, PLAYED, SUIT_OF_CARD, TRUMPS, WON, playable
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import AllPassed, CardPlayed, TalonCardOpened, TrickWon
from shared.rules.language.moves import Play
from shared.rules.language.refusal import Refused

# ---- evolve ------------------------------------------------------------------------------------------------------------


def begin(deal: Deal, both_by: int = NOBODY) -> Deal:
    """The first lead is always left of the dealer's (3.9.1). `both_by` plays both defenders' hands, if anybody does."""
    setup, game = deal.setup, deal.game
    strain = STRAIN.get(game.contract, "NT")
    player_of = list(range(len(deal.full_hands)))
    lead_of = player_of
    if setup.has_dummy:
        player_of, lead_of = _dummys_players(setup, game)
    elif both_by != NOBODY:
        for seat in defenders(setup.players, setup.dealer, game.declarer):
            player_of[seat] = both_by
    leads = min(2, len(setup.talon)) if game.contract == ALL_PASS and setup.talon_leads else 0
    course = Course(setup.order[0], setup.after, tuple(player_of), tuple(lead_of), TRUMPS[strain], BEATING[strain], leads, setup.resting)
    play = fresh_trick(course, course.leader, 0, (0,) * len(deal.full_hands), 1)
    return Deal(setup, "play", player_of[course.leader], deal.full_hands, deal.auction, game, play, None, deal.incidents)


def _dummys_players(setup: Setup, game: Game) -> tuple[list[int], list[int]]:
    """Who plays each hand's cards, and its leads, of two players: the dummy's its defender.

    On all-pass whoever plays before it, the second hand, and when it leads itself the first hand (Decision 19).
    """
    first, second, _ = setup.order
    if game.declarer != NOBODY:
        first = second = 1 - game.declarer
    return [0, 1, second], [0, 1, first]


def all_passed(deal: Deal, event: AllPassed) -> Deal:
    """Everybody for themselves, no trump (3.7.1, 3.7.5); forced, it counts as passed dark by all (3.7.9)."""
    setup, auction = deal.setup, deal.auction
    if event.forced:
        auction = replace(auction, dark_passed=sum(map(bit, active(setup.players, setup.dealer))))
    game = Game(contract=ALL_PASS, calls=(None,) * setup.players, looked=deal.game.looked)
    return begin(Deal(setup, "play", None, deal.full_hands, auction, game, None, None, deal.incidents))


def talon_card_opened(deal: Deal, event: TalonCardOpened) -> Deal:
    """With four players it is the resting dealer's lead and may take the trick (3.7.6.1); with three it only names the suit (3.7.6.3)."""
    play = deal.play
    if play is None:
        return deal
    card, course = CARD_NUMBER[event.card], play.course
    suit = SUIT_OF_CARD[card]
    beating = suit if course.talon_seat == NOBODY else course.beating[card]
    opened = TrickPlay(course, play.turn, (event,), 3, suit, beating, course.talon_seat, play.played, play.taken, play.number, play.closed)
    return Deal(deal.setup, deal.phase, deal.to_act, deal.full_hands, deal.auction, deal.game, opened, deal.score, deal.incidents)


def card_played(deal: Deal, event: CardPlayed) -> Deal:
    """The card lies in the trick, and holds it if it takes it; the left neighbour at play is next."""
    play = deal.play
    if play is None:
        return deal
    card, seat, course = CARD_NUMBER[event.card], event.seat, play.course
    own, turn, winner, beating = 1 << card, course.after[seat], play.winner, play.beating
    if beating & own:
        winner, beating = seat, course.beating[card]
    after = TrickPlay(
        course,
        turn,
        (*play.trick, event),
        play.left - 1,
        play.led or SUIT_OF_CARD[card],
        beating,
        winner,
        play.played | own,
        play.taken,
        play.number,
        play.closed,
    )
    return replace(deal, to_act=course.player_of[turn], play=after)


def trick_won(deal: Deal, event: TrickWon) -> Deal:
    """The winner leads to the next trick (3.9.1), but after a trick that the talon led the first hand plays first (3.7.6.1)."""
    play = deal.play
    if play is None:
        return deal
    seat, taken, course = event.seat, play.taken, play.course
    turn = course.leader if event.number <= course.talon_tricks else seat
    after = TrickPlay(
        course, turn, (), 3, 0, DECK, NOBODY, play.played, _one_more(taken, seat), event.number + 1, (*play.closed, play.trick)
    )
    return replace(deal, to_act=course.lead_of[turn], play=after)


def _one_more(taken: tuple[int, ...], seat: int) -> tuple[int, ...]:
    more = list(taken)
    more[seat] += 1
    return tuple(more)


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide_play(deal: Deal, seat: int, move: Play) -> tuple[DealEvent, ...] | Refused:
    """One card to the trick (3.9.2), and all that follows from it: the trick, a talon card, laid hands, the score."""
    card = CARD_NUMBER.get(move.card)
    hand = seat if move.hand is None else move.hand
    if card is None or not 0 <= hand < len(deal.full_hands):
        return _malformed(move)
    play = deal.play
    if play is None or deal.phase != "play":
        return Refused("wrong_phase", "3.9.2", "No trick is being played.")
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.9.1", f"It is seat {deal.to_act}'s turn to play.")
    if hand != play.turn:
        return Refused("not_your_hand", "3.9.2", f"The next card comes from the hand of seat {play.turn}.")
    own = 1 << card
    held = deal.full_hands[hand] & ~play.played
    if not held & own:
        return Refused("card_not_held", "3.9.2", f"{move.card} is not in the hand of seat {hand}.")
    if play.led and not play.led & own:
        refused = _objection_to_another_suit(deal, play, held, move)
        if refused is not None:
            return refused
    if play.left > 1:
        if play.played == 0:
            return *PLAYED[seat][hand][card], *_laid_after_first_card(deal, seat)
        return PLAYED[seat][hand][card]
    return _trick_closed(deal, play, hand if play.beating & own else play.winner, PLAYED[seat][hand][card])


def _objection_to_another_suit(deal: Deal, play: TrickPlay, held: int, move: Play) -> Refused | None:
    """Why a card that does not follow may not be played, if it may not: the suit led or a trump is held (3.9.3)."""
    trumps = play.course.trumps
    if held & play.led:
        return Refused("must_follow_suit", _rule_of_following(deal), f"{move.card} does not follow the suit led, and the hand has it.")
    if held & trumps and not trumps >> CARD_NUMBER[move.card] & 1:
        return Refused("must_trump", "3.9.3", f"{move.card} is no trump; the hand has one, and none of the suit led.")
    return None


def _trick_closed(deal: Deal, play: TrickPlay, winner: int, played: tuple[CardPlayed]) -> tuple[DealEvent, ...]:
    """The trick belongs to `winner` (3.9.4); all-pass opens its second talon card, and the tenth trick ends the deal."""
    assert winner != NOBODY, "one of three hands can follow any talon card (Decision 7)"  # noqa: S101 - a property test shows it
    won = WON[winner][play.number]
    if play.number == TRICKS:
        return *played, won, scored(deal, _one_more(play.taken, winner))
    if play.number < play.course.talon_tricks:
        return *played, won, TalonCardOpened(CARDS[deal.setup.talon[play.number]])
    return *played, won


def _laid_after_first_card(deal: Deal, seat: int) -> tuple[DealEvent, ...]:
    """The catchers' hands after a misere's own lead (3.6.6), the dummy's on all-pass (Decision 19)."""
    if deal.game.contract == MISERE and seat == deal.game.declarer:
        return catchers_laid(deal)
    if deal.game.contract == ALL_PASS and deal.setup.has_dummy:
        return (dummy_laid(deal),)
    return ()


def _malformed(move: Play) -> Refused:
    if move.card in CARD_NUMBER:
        return Refused("malformed", "3.9.2", f"There is no hand {move.hand}.")
    return Refused("malformed", "1.3.5", f"{move.card!r} is no card.")


def _rule_of_following(deal: Deal) -> str:
    """Misere and all-pass have a rule of their own that says it."""
    return {MISERE: "3.6.7", ALL_PASS: "3.7.5"}.get(deal.game.contract, "3.9.3")


# ---- what is on offer --------------------------------------------------------------------------------------------------


def legal_cards(play: TrickPlay, held: int) -> int:
    """The mask of the cards that `turn` may play from `held`."""
    return playable(held, play.led, play.course.trumps)


def legal_plays(deal: Deal, seat: int, only: int = DECK) -> Iterator[Play]:
    """Every card of the mask `only` that is accepted from the seat on turn, suits S C D H, each upward; `hand` stands only for another
    seat's card.
    """
    if deal.play is None:
        return
    turn = deal.play.turn
    for card in card_numbers(legal_cards(deal.play, deal.held(turn)) & only):
        yield Play(CARDS[card], None if turn == seat else turn)
