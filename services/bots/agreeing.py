"""What a built-in player says to claims and proposals: yes to what they can prove or what costs them nothing; else no (3.9.14.4, 3.9.22).
And which card of a refused claimer they name.

A claim is proved without search: the claimer, on lead, has so many tricks that stand whatever the others hold. Cards that nobody has shown
count against the claimer.
"""

from __future__ import annotations

from typing import Any, Final

from services.bots.hand_value import misere_danger
from services.bots.prospects import misere_value
from services.bots.recollection import Memory
from services.bots.sight import HIGHER
from shared.rules.deck.cards import CARD_NUMBER, DECK, SUIT_MASKS, card_numbers, mask_of
from shared.rules.deck.contract import MISERE, STRAIN, STRAINS, TRICKS
from shared.rules.deck.seats import hands_at_play

#: What nobody is hurt by: a look at an older trick, a pause, and the end of a pulka that somebody has to leave (5.4.18).
_FREE: Final = ("older_trick", "pause", "stop_pulka")


def answer(view: dict[str, Any], memory: Memory) -> dict[str, Any]:
    """The answer to what is pending."""
    pending = view["pending"] or {}
    match pending.get("what"):
        case "claim":
            accept = _right_claim(view, pending, memory)
        case "settle_contract":
            accept = _all_mine(view, pending["tricks"])
        case "invitation":
            accept = _good_misere(view, pending["seat"])
        case what:
            accept = what in _FREE
    return {"type": "answer", "accept": accept}


def _good_misere(view: dict[str, Any], inviter: int) -> bool:
    """Whether half of the misere of the hand that the resting dealer was shown is worth something, with a talon that may come (3.6.9)."""
    return misere_value(misere_danger(mask_of(view["hands"][inviter]))) > 0


def _right_claim(view: dict[str, Any], claim: dict[str, Any], memory: Memory) -> bool:
    """Whether the claimed tricks are the claimer's whatever the others do, and the rest is ours."""
    claimer, declarer, left = claim["seat"], view["declarer"], TRICKS - sum(view["tricks"])
    claimed: int = claim["tricks"]
    if view["contract"] == MISERE:
        return bool(claimer == declarer) and safe_misere(view)
    if claimer == declarer:
        whisters = [seat for seat, call in enumerate(view["calls"]) if call == "whist"]
        ours = len(whisters) == 1 or claimed == left  # two whisters would have to share the rest, as nobody can foresee
    else:
        ours = view["seat"] == declarer  # to the other whister a whister's claim leaves nothing
    return bool(ours) and claimed <= sure_tricks(view, claimer, memory)


def sure_tricks(view: dict[str, Any], claimer: int, memory: Memory) -> int:
    """Tricks that the claimer's hand takes one after the other from the lead: top cards, after the trumps of the others are drawn.

    None counts when the claimer is not on lead, or the lead comes from another hand that they play.
    """
    trick, held, last = view["trick"], view["hands"][claimer], view["last_trick"]
    order = hands_at_play(view["players"], view["dealer"])
    leader = order[0] if last is None else last["winner"]
    if not held or trick is None or trick["cards"] or leader != claimer:
        return 0
    hand = mask_of(held)
    others = [view["hands"][one] for one in order if one != claimer]
    if claimer == view["declarer"] and None not in others:
        against = [mask_of(one) for one in others]
    else:  # what is hidden may all lie in one hand
        against = [DECK & ~hand & ~mask_of(" ".join(dict.fromkeys(memory.out)))]
    trump = STRAINS.index(STRAIN[view["contract"]])
    if trump < len(SUIT_MASKS):
        suit = SUIT_MASKS[trump]
        drawn = _standing(hand & suit, [theirs & suit for theirs in against])
        if drawn < max((theirs & suit).bit_count() for theirs in against):
            return drawn
    return sum(_standing(hand & suit, [theirs & suit for theirs in against]) for suit in SUIT_MASKS)


def _standing(mine: int, against: list[int]) -> int:
    """How many of `mine`, cards of one suit led from the top, stand: all, if those without a higher one against them outlast every hand."""
    tops = sum(not any(HIGHER[card] & theirs for theirs in against) for card in card_numbers(mine))
    return mine.bit_count() if tops >= max(theirs.bit_count() for theirs in against) else tops


def safe_misere(view: dict[str, Any]) -> bool:
    """Whether no play can catch the declarer's hand, all hands lying open: in each suit its lowest card is under the lowest that is out,
    the second lowest under the second, and so on; on lead it needs a suit in which somebody must go above it.
    """
    declarer, order = view["declarer"], hands_at_play(view["players"], view["dealer"])
    if any(view["hands"][hand] is None for hand in order):
        return False
    own = mask_of(view["hands"][declarer])
    table = [CARD_NUMBER[card] for _, card in (view["trick"] or {"cards": []})["cards"]]
    out = sum(mask_of(view["hands"][hand]) for hand in order if hand != declarer) | sum(1 << card for card in table)
    for suit in SUIT_MASKS:
        pairs = zip(card_numbers(own & suit), card_numbers(out & suit), strict=False)  # the longer one's rest meets nobody
        if any(mine > theirs for mine, theirs in pairs):
            return False
    leads = not table and own.bit_count() == TRICKS - sum(view["tricks"]) and view["pending"]["seat"] == declarer
    return not leads or any(own & suit and out & suit for suit in SUIT_MASKS)


def _all_mine(view: dict[str, Any], tricks: list[int]) -> bool:
    """Whether a settlement leaves the player's side every trick that is still to come, which they could not better."""
    seat, declarer = view["seat"], view["declarer"]
    taken: list[int] = view["tricks"]
    rest = TRICKS - sum(taken)
    if seat == declarer:
        return bool(tricks[declarer] == taken[declarer] + rest)
    sole = [one for one, call in enumerate(view["calls"]) if call == "whist"] == [seat]
    return bool(tricks[declarer] == taken[declarer] and (sole or tricks[seat] == taken[seat] + rest))


# ---- exposed cards -----------------------------------------------------------------------------------------------------------


def remedy(view: dict[str, Any]) -> dict[str, Any]:
    """The exposed card that hurts its holder: a lead that is beaten, a high one under what they cannot take; on misere the reverse."""
    named: list[dict[str, Any]] = [move for move in view["legal"] if move["choice"] == "card"]
    if not named:
        return dict(view["legal"][0])
    holder = view["pending"]["of"]
    beating = 0
    for hand, text in enumerate(view["hands"]):
        if text and hand != holder and (holder == view["declarer"] or hand == view["declarer"]):
            beating |= mask_of(text)  # a hand of the other side that the player can see
    table = [CARD_NUMBER[card] for _, card in view["trick"]["cards"]]
    misere, trump = view["contract"] == MISERE, STRAINS.index(STRAIN.get(view["contract"], "NT"))

    def harm(move: dict[str, Any]) -> tuple[bool, int]:
        card = CARD_NUMBER[move["card"]]
        loses = not _takes(card, table, trump) if table else bool(HIGHER[card] & beating)
        return loses != misere, card & 7 if bool(table) != misere else -(card & 7)

    worst = max(named, key=harm)
    return dict(worst)


def _takes(card: int, table: list[int], trump: int) -> bool:
    """Whether `card` takes the trick from the cards on the table."""
    best = table[0]
    for other in (*table[1:], card):
        if (other >> 3 == best >> 3 and other > best) or (other >> 3 == trump != best >> 3):
            best = other
    return best == card
