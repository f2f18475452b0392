"""All-pass with all hands open: what everybody takes when everybody minimises their own tricks (3.7, Decision 18).

Three players without a common interest: the result is by backward induction. From the last card on, whoever plays chooses the card after
which they take fewest tricks; among these the lowest, suits S C D H, then rank [conv]. So everybody can foresee everybody.
"""

from __future__ import annotations

import msgspec

from shared.rules.deck.cards import card_numbers
from shared.rules.deck.contract import TRICKS
from shared.rules.open_cards.search import NOBODY, RESTING_DEALER, Position, Search, Three
from shared.rules.open_cards.seating import by_place, order_of_play


class AllPassPlay(msgspec.Struct, frozen=True):
    """A moment of an all-pass, by seat; `hands`, `trick` and `order` as in `declarer.py`.

    `talon`: the cards (numbers) that lead tricks from this one on, in their order, two, one or none: none too where the talon lies aside.
    The leader of such a trick is the first hand, who plays first to it. `dealer`: the resting dealer, who takes a trick that their card
    wins (3.7.6.1), or None: then it only names the suit (3.7.6.3). `dummy`: the hand that belongs to nobody, with two players; it is
    played by whoever plays before it, by the next after it when it leads (Decision 19).
    """

    hands: tuple[int, ...]
    leader: int
    trick: tuple[int, ...] = ()
    talon: tuple[int, ...] = ()
    dealer: int | None = None
    dummy: int | None = None
    order: Three | None = None


def all_pass_tricks(play: AllPassPlay) -> tuple[int, ...]:
    """The tricks still open, by seat, the resting dealer's and a dummy's among them."""
    seats, search, position = _asked(play)
    return _by_seat(play, seats, search.result(position))


def all_pass_line(play: AllPassPlay) -> tuple[int, ...]:
    """The cards that are played, as numbers, without those of the talon."""
    _, search, position = _asked(play)
    dummy, first = search.dummy, search.first
    line: list[int] = []
    while position[0][0]:
        place, count = position[1][0], position[1][1]
        chooser = place if place != dummy else (place + 2) % 3 if count else first
        fewest, chosen, following = TRICKS + 1, -1, position
        for card in card_numbers(search.legal(position)):
            after, winner = search.after(position, card)
            own = search.result(after)[chooser] + (winner == chooser)
            if own < fewest:
                fewest, chosen, following = own, card, after
        line.append(chosen)
        position = following
    return tuple(line)


def _asked(play: AllPassPlay) -> tuple[Three, Search, Position]:
    seats = play.order or order_of_play(play.hands)
    dummy = NOBODY if play.dummy is None else seats.index(play.dummy)
    leader = seats.index(play.leader)
    first = leader if play.talon or dummy == NOBODY else (dummy + 1) % 3
    search = Search.of_all_pass(first, talon_takes=play.dealer is not None, dummy=dummy)
    return seats, search, search.position(by_place(play.hands, seats), leader, play.trick, play.talon)


def _by_seat(play: AllPassPlay, seats: Three, tricks: tuple[int, int, int, int]) -> tuple[int, ...]:
    taken = [0] * len(play.hands)
    for seat, count in zip(seats, tricks, strict=False):
        taken[seat] = count
    if play.dealer is not None:
        taken[play.dealer] = tricks[RESTING_DEALER]
    return tuple(taken)
