"""Cards in a trick game: win cheaply, draw trumps, lead from length, do not spend a high card where a low one does (3.5, 3.9)."""

from __future__ import annotations

import random
from typing import Final

from services.bots.sight import HIGHER, LOWER, NO_TRUMP, Sight
from shared.rules.deck.cards import SUIT_MASKS

#: What it costs to part with a card, by rank from the seven up: tricks it might have taken later.
_SPENT: Final = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16, 0.28, 0.4)
_TRUMP_SPENT: Final = 0.22  # a trump might always have taken one more
_SURE: Final = 0.97  # odds that count as certain


def choose(sight: Sight, generator: random.Random) -> int:
    """The card to play now."""
    if len(sight.legal) == 1:
        return sight.legal[0]
    if sight.led is not None:
        return follow(sight)
    scores = declarer_leads(sight) if sight.seat == sight.declarer else defender_leads(sight)
    return max(scores, key=lambda card: (scores[card], generator.random()))


# ---- Following -------------------------------------------------------------------------------------------------------


def follow(sight: Sight) -> int:
    """The card whose chance to bring the trick home is worth most after what it spends."""
    holder = sight.winning()
    rivals = sight.rivals()

    def worth(card: int) -> tuple[float, float]:
        spent = _cost(sight, card)
        if holder is None or sight.beats(card, holder[1]):
            won = sight.holds(card, rivals)
            friend = _friend_wins(sight, card) if won < _SURE else 0.0
            return max(won, friend) - spent, -spent
        mine = holder[0] not in rivals
        won = sight.holds(holder[1], rivals) if mine else _friend_wins(sight, holder[1])
        return won - spent, -spent

    return max(sight.legal, key=worth)


def _friend_wins(sight: Sight, best: int) -> float:
    """Chance that a partner who still plays takes the trick from `best`, which a rival holds or will beat."""
    if sight.seat == sight.declarer or sight.declarer is None:
        return 0.0
    friends = [seat for seat in sight.later if seat != sight.declarer]
    return max((sight.beaten_by(best, seat) for seat in friends), default=0.0) * (0.8 if sight.declarer not in sight.later else 0.5)


def _cost(sight: Sight, card: int) -> float:
    """What the card would be worth later: masters and trumps most, and the guard of a high card a little."""
    suit = card >> 3
    outside = (sight.against() | _elsewhere(sight)) & SUIT_MASKS[suit] & ~(1 << card)
    if suit == sight.trump:
        above = (HIGHER[card] & outside).bit_count()
        return _TRUMP_SPENT + _SPENT[card & 7] + (0.25 if not above else 0.0)
    if not outside & ~sight.hand:
        return 0.05 + _SPENT[card & 7] * (1.0 if sight.trump == NO_TRUMP else 0.3)  # nobody else has the suit: all alike, long cards
    below = (outside & LOWER[card] & ~sight.hand).bit_count()
    strength = below / max(1, (outside & ~sight.hand).bit_count())  # share of the others' cards that it beats
    return 0.4 * strength**2 + _SPENT[card & 7] * 0.3 + _guards(sight, card)


def _guards(sight: Sight, card: int) -> float:
    """Throwing the small card beside a king, or the second beside a queen, bares it."""
    mine = sight.hand & SUIT_MASKS[card >> 3]
    higher_here = mine & HIGHER[card]
    if not higher_here or card & 7 >= 6:
        return 0.0
    top = mine.bit_length() - 1
    above = (HIGHER[top] & (sight.against())).bit_count()
    return 0.15 if above and mine.bit_count() == above + 1 else 0.0


def _elsewhere(sight: Sight) -> int:
    """Cards that friends may hold."""
    held = 0
    for seat in sight.order:
        if seat != sight.seat and seat not in sight.rivals():
            held |= sight.could_hold(seat)
    return held


# ---- Leading ---------------------------------------------------------------------------------------------------------


def declarer_leads(sight: Sight) -> dict[int, float]:
    """Trumps first while the defenders have any, then tricks that stand, then the longest suit."""
    out = sight.against()
    scores: dict[int, float] = {}
    trumps = sight.hand & SUIT_MASKS[sight.trump] if sight.trump != NO_TRUMP else 0
    missing_trumps = out & SUIT_MASKS[sight.trump] if sight.trump != NO_TRUMP else 0
    for card in sight.legal:
        suit = card >> 3
        mine, theirs = sight.hand & SUIT_MASKS[suit], out & SUIT_MASKS[suit]
        if suit == sight.trump:
            scores[card] = _trump_lead(card, trumps, missing_trumps)
            continue
        stands = sight.holds(card, sight.rivals())
        length = mine.bit_count()
        score = 0.3 * stands + 0.05 * length
        if not HIGHER[card] & theirs:
            score += 0.25 + (0.1 if missing_trumps == 0 or not trumps else 0.0)
        elif _touching(card, mine) and card == mine.bit_length() - 1:
            score += 0.2 + 0.04 * length  # two that touch drive out what is higher
        else:
            score += 0.1 - _SPENT[card & 7] + (0.1 if length >= 4 else 0.0) - (0.15 if _bare_honour(mine, theirs) else 0.0)
        scores[card] = score
    return scores


def _trump_lead(card: int, trumps: int, missing: int) -> float:
    """Draw them from the top while they are out; a long holding without the top forces it out, from below or with two that touch."""
    if not missing:
        return 0.02 - _SPENT[card & 7] * 0.1 if trumps.bit_count() > 1 else 0.0
    master = not HIGHER[card] & missing
    if master:
        top = trumps.bit_length() - 1
        return 1.0 if card == top and trumps.bit_count() >= 2 else 0.6
    enough = trumps.bit_count() > missing.bit_count() / 2
    if _touching(card, trumps) and card == trumps.bit_length() - 1:
        return 0.9 if enough else 0.1
    has_master = not HIGHER[trumps.bit_length() - 1] & missing
    if has_master:
        return 0.05
    return (0.55 if enough else 0.0) - _SPENT[card & 7]


def defender_leads(sight: Sight) -> dict[int, float]:
    """Tricks that stand, then sequences, then low from length; not away from a lone honour; a forced trump wears the declarer down."""
    scores: dict[int, float] = {}
    declarer = sight.declarer if sight.declarer is not None else sight.seat
    theirs_all = sight.could_hold(declarer)
    friends = [seat for seat in sight.order if seat not in (sight.seat, declarer)]
    for card in sight.legal:
        suit = card >> 3
        mine, theirs = sight.hand & SUIT_MASKS[suit], theirs_all & SUIT_MASKS[suit]
        length = mine.bit_count()
        stands = sight.holds(card, (declarer,))
        friendly = max((sight.beaten_by(card, seat) for seat in friends), default=0.0) if stands < _SURE else 0.0
        if suit == sight.trump:
            scores[card] = 0.5 * stands - 0.2 - _SPENT[card & 7]
            continue
        top = card == mine.bit_length() - 1
        if not HIGHER[card] & theirs:
            score = 0.3 + 0.5 * stands  # nothing of the declarer's beats it in the suit
        elif top and _touching(card, mine):
            score = 0.45
        elif _bare_honour(mine, theirs) or (mine & HIGHER[card] and not HIGHER[mine.bit_length() - 1] & theirs):
            score = 0.1 - _SPENT[card & 7]  # away from a high card that would have taken a trick
        else:
            score = 0.3 - _SPENT[card & 7] + 0.3 * friendly
        if not theirs and sight.trump != NO_TRUMP:
            score += 0.1  # the declarer must trump
        if length == 1 and sight.trump != NO_TRUMP and sight.hand & SUIT_MASKS[sight.trump]:
            score += 0.1  # void next time
        scores[card] = score + 0.02 * length
    return scores


def _touching(card: int, mine: int) -> bool:
    """Whether the card just below is held too."""
    return card & 7 > 0 and bool(mine >> (card - 1) & 1)


def _bare_honour(mine: int, theirs: int) -> bool:
    """Whether the best card is a king or queen that something out there beats and nothing supports."""
    top = mine.bit_length() - 1
    return top & 7 in (5, 6) and bool(HIGHER[top] & theirs) and not _touching(top, mine)
