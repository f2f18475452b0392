"""Cards where tricks are not wanted: the misere, those who catch it, and all-pass (3.6, 3.7)."""

from __future__ import annotations

from services.bots.sight import HIGHER, LOWER, Sight
from shared.rules.deck.cards import SUIT_MASKS, card_numbers
from shared.rules.deck.seats import DUMMY


def choose(sight: Sight) -> int:
    """The card to play now: under the trick if that can be, the most dangerous one when it costs nothing."""
    if len(sight.legal) == 1:
        return sight.legal[0]
    if sight.declarer is not None and sight.seat != sight.declarer:
        return _catch(sight)
    if sight.for_nobody:
        return _for_nobody(sight)
    if sight.led is None:
        return _lead(sight)
    return _duck(sight)


# ---- Taking none -----------------------------------------------------------------------------------------------------


def _duck(sight: Sight) -> int:
    holder = sight.winning()
    if sight.legal[0] >> 3 != sight.led:
        return max(sight.legal, key=lambda card: _relief(sight, card))
    if holder is None:  # three players, a talon card named the suit: this is the first card that counts
        return _lead_of(sight, sight.legal)
    below = [card for card in sight.legal if not sight.beats(card, holder[1]) or _taken_by_ours(sight, card)]
    if below:
        return max(below)
    if not sight.later:
        return max(sight.legal)  # it takes the trick whatever it is: the highest goes
    risky = min(sight.legal)
    chance = sight.holds(risky, sight.later)
    return max(sight.legal) if chance > 0.9 else risky


def _lead(sight: Sight) -> int:
    return _lead_of(sight, sight.legal)


def _lead_of(sight: Sight, cards: tuple[int, ...]) -> int:
    """The lead that is least likely to hold; among equals the one that leaves the hand safest."""
    return max(cards, key=lambda card: (-round(sight.holds(card, sight.later), 2), _relief(sight, card)))


def _relief(sight: Sight, card: int) -> float:
    """How much safer the hand is without the card, counting only the others' cards that are still out."""
    index = card >> 3
    mine = sight.hand & SUIT_MASKS[index]
    return _danger(sight, mine) - _danger(sight, mine ^ (1 << card)) + 0.001 * (card & 7)


def _danger(sight: Sight, mine: int) -> float:
    """Chance that a suit is caught, by what lies below and above each card; 0 when nobody else has any of it."""
    if not mine:
        return 0.0
    theirs = sight.against() & SUIT_MASKS[(mine.bit_length() - 1) >> 3]
    if not theirs:
        return 0.0
    danger = 0.0
    for place, card in enumerate(card_numbers(mine)):
        below = (LOWER[card] & theirs).bit_count()
        above = (HIGHER[card] & theirs).bit_count()
        if below > place:
            danger += (below - place) / (below + above)
    return danger


# ---- The dummy of an all-pass of two ---------------------------------------------------------------------------------


def _for_nobody(sight: Sight) -> int:
    """A dummy's card: its tricks cost nobody, so it takes what would be ours and leaves to the other what is theirs (Decision 19)."""
    holder = sight.winning()
    if holder is None:
        return max(sight.legal, key=lambda card: _dummys_lead(sight, card))
    over = [card for card in sight.legal if sight.beats(card, holder[1])]
    under = [card for card in sight.legal if card not in over]
    if holder[0] == sight.me:
        return min(over) if over else min(under, key=lambda card: card & 7)  # high cards save us another time
    return max(under, key=lambda card: card & 7) if under else min(over)


def _dummys_lead(sight: Sight, card: int) -> float:
    """Good when we can stay under it or have none of the suit, better when the other has little below it and something above."""
    suit = SUIT_MASKS[card >> 3]
    ours = (sight.hands[sight.me] or 0) & suit
    other = next(seat for seat in sight.later if seat != sight.me)
    his = sight.could_hold(other) & suit
    above, below = (his & HIGHER[card]).bit_count(), (his & LOWER[card]).bit_count()
    safe = 1.0
    if ours and not ours & LOWER[card]:
        safe = sight.beaten_by((ours & -ours).bit_length() - 1, other)
    return 2.0 * safe + (0.5 * above / (above + below) if above else 0.0) + 0.001 * (card & 7)


def _taken_by_ours(sight: Sight, card: int) -> bool:
    """Whether a dummy that we play after this card will take the trick from it."""
    if sight.declarer is not None or DUMMY not in sight.later or sight.order[1:] != (sight.seat, DUMMY):
        return False
    follow = (sight.hands[DUMMY] or 0) & SUIT_MASKS[card >> 3]
    return card >> 3 == sight.led and bool(follow & HIGHER[card])


# ---- Catching a misere -----------------------------------------------------------------------------------------------


def _catch(sight: Sight) -> int:
    """Stay below the declarer when they may be left with the trick; get rid of high cards when they cannot."""
    declarer = sight.declarer
    assert declarer is not None  # noqa: S101 - only catchers come here
    his = sight.could_hold(declarer)
    if sight.led is None:
        return max(sight.legal, key=lambda card: _attack(sight, card, his))
    holder = sight.winning()
    following = sight.legal[0] >> 3 == sight.led
    if not following:
        return max(sight.legal, key=lambda card: _ballast(card, his))
    if holder is not None and holder[0] == declarer:
        below = [card for card in sight.legal if card < holder[1]]
        return max(below) if below else max(sight.legal)
    if declarer in sight.later:
        suit_of_his = his & SUIT_MASKS[sight.led]
        best = holder[1] if holder is not None else 0
        hopeful = [card for card in sight.legal if suit_of_his and not LOWER[max(card, best)] & suit_of_his]
        if hopeful:
            return max(hopeful)  # the declarer has nothing below it
        return min(sight.legal)
    return max(sight.legal)  # the declarer has already played under it: the high cards go


def _attack(sight: Sight, card: int, his: int) -> float:
    """A lead is good when the declarer has few cards below it and some above, and better when the other catcher can stay below as well."""
    declarer_suit = his & SUIT_MASKS[card >> 3]
    above, below = (declarer_suit & HIGHER[card]).bit_count(), (declarer_suit & LOWER[card]).bit_count()
    if not declarer_suit:
        return -1.0 - 0.01 * (card & 7)  # the declarer throws what they like
    score = above / (above + below) - 0.3 * below
    for seat in sight.later:
        if seat != sight.declarer:
            partner = sight.could_hold(seat) & SUIT_MASKS[card >> 3]
            forced = partner & HIGHER[card] and not partner & LOWER[card]
            score -= 0.3 if forced and not (HIGHER[(partner & -partner).bit_length() - 1] & declarer_suit) else 0.0
    return score - 0.001 * (card & 7)


def _ballast(card: int, his: int) -> float:
    """Void: throw the card that stands highest over what the declarer may hold in its suit, and none of a suit that they lack."""
    declarer_suit = his & SUIT_MASKS[card >> 3]
    if not declarer_suit:
        return -1.0 + 0.01 * (card & 7)
    return float((LOWER[card] & declarer_suit).bit_count()) + 0.01 * (card & 7)
