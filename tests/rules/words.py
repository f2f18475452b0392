"""Deals for tests, and moves as single words: `6S`, `pass`, `7C/8C` (a discard), `whist`, `half`, `open`, `look:1`, `AS`, `concede`.

In the auction also `dark:6S` and `bare:9S` (without the talon), `look`, `taken` (the talon of a dark auction), `invite`, `yes`, `no`.
"""

from __future__ import annotations

from shared.rules.convention.options import resolve
from shared.rules.deal.decider import Deal, decide, evolve, open_deal
from shared.rules.deck.cards import CARDS
from shared.rules.deck.seats import hand_count, hands_at_play
from shared.rules.language.moves import Answer, Bid, Concede, DealMove, Declare, Discard, Invite, Lay, Look, Play, Take, Whist, WithoutThree
from shared.rules.language.refusal import Refused
from shared.rules.scoring.series import dark_deals_in_row
from shared.rules.scoring.sheet import empty_sheet

#: First, second and third hand, and a talon in clubs: spades and top cards, clubs, red cards.
FIRST = "AS KS QS JS TS 9S AH KH AD KD"
SECOND = "8S 7S AC KC QC JC TC 9C QD JD"
THIRD = "TD 9D 8D 7D QH JH TH 9H 8H 7H"
TALON = "7C 8C"


def table(convention="sochi", *, players=3, dealer=None, hands=(FIRST, SECOND, THIRD), talon=TALON, in_row=0, target=20, **before) -> Deal:
    """A deal in which the last seat deals, so that seats 0, 1 and 2 are first, second and third hand, of two players the dummy third.

    Of five, seats 0, 1 and 3. `hands` are given in their order. `before` is what else a pulka brings into it: `bombs`, `dark_in_row`,
    `forced`.
    """
    dealer = players - 1 if dealer is None else dealer
    by_seat = dict(zip(hands_at_play(players, dealer), hands, strict=True))
    dealt = tuple(by_seat.get(seat, "") for seat in range(hand_count(players)))
    rules = resolve(convention, target)
    before = {"dark_in_row": dark_deals_in_row(rules, in_row, None)} | before
    return open_deal(rules, players, target, dealer, empty_sheet(players), in_row, dealt, talon, **before)


def shuffled(rng, convention="sochi", players=3, in_row=0) -> Deal:
    """A deal of cards shuffled by `rng`, dealt by a seat that it draws."""
    cards = list(CARDS)
    rng.shuffle(cards)
    hands = [" ".join(cards[start : start + 10]) for start in (0, 10, 20)]
    return table(convention, players=players, dealer=rng.randrange(players), hands=hands, talon=" ".join(cards[30:]), in_row=in_row)


_SIMPLE = {
    "concede": Concede(),
    "without_three": WithoutThree(),
    "open": Lay(open=True),
    "closed": Lay(open=False),
    "look": Look(),
    "taken": Take(),
    "invite": Invite(),
    "yes": Answer(accept=True),
    "no": Answer(accept=False),
}


def as_move(deal: Deal, word: str) -> DealMove:
    """The word as the deal's phase understands it; a card of another hand is found by the turn."""
    if word in _SIMPLE:
        return _SIMPLE[word]
    if word.startswith(("dark:", "bare:")):
        return Bid(word[5:], dark=word.startswith("dark"), no_talon=word.startswith("bare"))
    if word.startswith("look:"):
        return Look(int(word[5:]))
    if "/" in word:
        return Discard(tuple(word.split("/")))
    if word in CARDS and deal.phase not in ("auction", "contract"):  # "7S" is a card and a bid
        turn = None if deal.play is None or deal.play.turn == deal.to_act else deal.play.turn
        return Play(word, turn)
    match deal.phase:
        case "auction":
            return Bid(word)
        case "contract":
            return Declare(word)
    return Whist(word)


def as_word(move: DealMove) -> str:
    """The word that `as_move` reads as this move."""
    for word, simple in _SIMPLE.items():
        if move == simple:
            return word
    match move:
        case Bid(bid=word, dark=True):
            return f"dark:{word}"
        case Bid(bid=word, no_talon=True):
            return f"bare:{word}"
        case Look(hand=hand):
            return f"look:{hand}"
        case Discard(cards=cards):
            return "/".join(cards)
        case Play(card=word) | Bid(bid=word) | Declare(contract=word) | Whist(call=word):
            return word


def after(deal: Deal, words: str) -> Deal:
    """The deal after the words, each said by the seat on turn."""
    for word in words.split():
        events = decide(deal, deal.to_act, as_move(deal, word))
        assert not isinstance(events, Refused), (word, events)
        for event in events:
            deal = evolve(deal, event)
    return deal
