"""The two searches over open cards, compiled to machine code. Ask through `search.py`; this module takes a second to import.

All of it stands in one file: numba keeps compiled code beside the source and notices a change of the file that a function stands in, not
of the files that it calls.

A *place* is 0, 1 or 2 in the order of play. A position is two tuples of numbers, masks as in `cards.py`:

* `hands`: of the place that plays next, of its left neighbour, of the third;
* `trick`: who plays next; how many cards players have put into the trick; the suit led (0 before a lead); the cards that would take the
  trick; the place that holds it (-1: nobody); the cards in it; the talon card that leads the next trick (0: none); whether one led this.

`terms` holds what does not change, see `TRUMPS` to `DUMMY`.

Three facts keep the trees small. Only the order of the cards still in play counts, so positions with equal owners from card to card
(`_suit_code`) share one entry of the memo, and with them, where the lowest card is not asked for, positions that differ in the names of
suits. Neighbouring cards of one hand are one move (`_moves`). And a question with a yes or no ("can the declarer take five?") needs only
one good answer from the side that wants it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., object])
Three: TypeAlias = tuple[int, int, int]
Trick: TypeAlias = tuple[int, int, int, int, int, int, int, int]
Terms: TypeAlias = tuple[int, int, int, int, int, int, int]


class Numbers(Protocol):
    """An array of whole numbers; numpy's own types do not say that one of them is an `int`."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: int, /) -> int: ...
    def __setitem__(self, place: int, number: int, /) -> None: ...


TRUMPS: Final = 0  # places in `terms`: their mask, 0 if there are none
LOWEST_TRUMP: Final = 1  # its number, 0 if there is none
DECLARER: Final = 2  # the declarer's place, -1 on all-pass
ON_MISERE: Final = 3  # 1 if the declarer wants no trick
FIRST: Final = 4  # on all-pass, the place of the first hand
TALON_HOLDER: Final = 5  # 3, the "place" of a resting dealer, where a talon card may take the trick; -1 where it only names the suit
DUMMY: Final = 6  # the place of the hand that nobody owns, on all-pass for two; else -1

NOBODY: Final = -1
EVERY_CARD: Final = -1  # takes a trick that nobody has led to
SEAT_BITS: Final = 4  # of a result of all-pass: four bits a place, the resting dealer's last


def compiled(signature: str) -> Callable[[F], F]:
    """Compile to machine code at once, and keep it beside the source or in the user's cache; where neither can be written, for this
    process only. It runs without the interpreter's lock.
    """

    def compile_now(function: F) -> F:
        try:
            ready = njit(signature, cache=True, nogil=True)(function)
        except RuntimeError:  # numba found no folder that it may write to
            ready = njit(signature, nogil=True)(function)
        return cast("F", ready)

    return compile_now


def _tables() -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """By `present << 8 | own`, the cards of a suit in play and those of one hand: the lowest of each run of neighbours in the hand; and
    the sum of 3^k over the hand's cards, the k-th lowest in play counting 3^k.
    """
    index = np.arange(1 << 16)
    present, own = index >> 8, index & index >> 8 & 0xFF
    lowest, code, place = np.zeros_like(index), np.zeros_like(index), np.zeros_like(index)
    below = np.zeros(index.shape, dtype=bool)  # whether the next lower card in play is the hand's too
    for rank in range(8):
        there, mine = (present >> rank & 1).astype(bool), (own >> rank & 1).astype(bool)
        lowest |= np.where(mine & ~below, 1 << rank, 0)
        code += np.where(mine, 3**place, 0)
        place += there
        below = np.where(there, mine, below)
    return lowest.astype(np.int16), code.astype(np.int16)


_LOWEST, _CODE = cast("tuple[Numbers, Numbers]", _tables())
_COUNT: Numbers = np.array([mask.bit_count() for mask in range(256)], dtype=np.int64)
_SHORTER: Numbers = np.array([(3**length - 1) // 2 for length in range(9)], dtype=np.int64)  # codes of all shorter suits


# ---- cards -------------------------------------------------------------------------------------------------------------


@compiled("int64(int64)")
def _cards_in(hand: int) -> int:
    return _COUNT[hand & 255] + _COUNT[hand >> 8 & 255] + _COUNT[hand >> 16 & 255] + _COUNT[hand >> 24 & 255]


@compiled("int64(int64)")
def _suit_of(bit: int) -> int:
    suit = 255
    while not suit & bit:
        suit <<= 8
    return suit


@compiled("int64(int64)")
def _highest(cards: int) -> int:
    while cards & cards - 1:
        cards &= cards - 1
    return cards


@compiled("int64(int64, int64, int64, int64)")
def _suit_code(present: int, one: int, two: int, shift: int) -> int:
    """Who owns the suit's cards in play, from the lowest up: a number under 2^14."""
    suit = present >> shift & 255
    return _SHORTER[_COUNT[suit]] + _CODE[suit << 8 | one >> shift & 255] + 2 * _CODE[suit << 8 | two >> shift & 255]


@compiled("int64(int64, int64)")
def _runs(own: int, present: int) -> int:
    """The lowest card of each run of neighbours."""
    return (
        _LOWEST[(present & 255) << 8 | own & 255]
        | _LOWEST[(present >> 8 & 255) << 8 | own >> 8 & 255] << 8
        | _LOWEST[(present >> 16 & 255) << 8 | own >> 16 & 255] << 16
        | _LOWEST[(present >> 24 & 255) << 8 | own >> 24 & 255] << 24
    )


# ---- moves -------------------------------------------------------------------------------------------------------------

_POSITION = "UniTuple(int64, 3), UniTuple(int64, 8)"
_TERMS = "UniTuple(int64, 7)"


@compiled(f"int64({_POSITION}, {_TERMS})")
def _moves(hands: Three, trick: Trick, terms: Terms) -> int:
    """The cards that may be played (3.9.3), the lowest of neighbours alone."""
    held, left, right = hands
    _, _, led, _, _, table, pending, _ = trick
    legal = held
    if led:
        legal = held & led
        if not legal:
            legal = held & terms[TRUMPS]
        if not legal:
            legal = held
    return _runs(held, held | left | right | table | (pending if terms[TALON_HOLDER] != NOBODY else 0)) & legal


@compiled(f"Tuple(({_POSITION}))({_POSITION}, int64, int64)")
def play(hands: Three, trick: Trick, bit: int, trumps: int) -> tuple[Three, Trick]:
    """The position with one more card in the trick. A full trick stays open, with its holder; see `close`."""
    held, left, right = hands
    turn, count, led, beating, holder, table, pending, from_talon = trick
    if beating & bit:
        suit = _suit_of(bit)
        if not led:
            led = suit
        holder = turn
        beating = suit & -(bit << 1)
        if suit != trumps:
            beating |= trumps
    following = 0 if turn == 2 else turn + 1
    return (left, right, held ^ bit), (following, count + 1, led, beating, holder, table | bit, pending, from_talon)


@compiled(f"Tuple(({_POSITION}))({_POSITION}, {_TERMS})")
def close(hands: Three, trick: Trick, terms: Terms) -> tuple[Three, Trick]:
    """The next trick: its winner leads (3.9.1), after a trick that the talon led the first hand, and the talon leads once more if it
    has a card left (3.7.6.1, 3.7.6.3).
    """
    one, two, three = hands
    turn, _, _, _, holder, _, card, from_talon = trick
    leader = terms[FIRST] if from_talon else holder
    if leader != turn:
        one, two, three = (two, three, one) if leader == (turn + 1) % 3 else (three, one, two)
    if not card:
        return (one, two, three), (leader, 0, 0, EVERY_CARD, NOBODY, 0, 0, 0)
    suit = _suit_of(card)
    beating = suit if terms[TALON_HOLDER] == NOBODY else suit & -(card << 1)
    return (one, two, three), (leader, 0, suit, beating, terms[TALON_HOLDER], card, 0, 1)


# ---- which move first: it decides nothing but how long the search takes ------------------------------------------------


@compiled(f"int64(int64, {_POSITION}, int64)")
def _first_of(moves: int, hands: Three, trick: Trick, declarer: int) -> int:
    """The likeliest good move of a trick game: leads that win, then the lowest; cheap winners over an opponent; else the lowest."""
    turn, count, _, beating, holder, _, _, _ = trick
    if count == 0:
        against = hands[1] | hands[2]
        if turn != declarer:
            against = hands[1] if (turn + 1) % 3 == declarer else hands[2]
        for shift in range(0, 32, 8):
            best = _highest(moves >> shift & 255)
            if best > against >> shift & 255:
                return best << shift
        return moves & -moves
    partner_holds = turn != declarer != holder
    wanted = moves & ~beating if partner_holds else moves & beating
    return wanted & -wanted if wanted else moves & -moves


@compiled("int64(int64, UniTuple(int64, 8), int64)")
def _first_of_misere(moves: int, trick: Trick, declarer: int) -> int:
    """The same on misere: the declarer gets rid of their highest loser; defenders lead low, stay under a declarer who holds the trick, and
    let the last hand throw its highest.
    """
    turn, count, _, beating, holder, _, _, _ = trick
    losers = moves & ~beating
    if count == 0 or not losers:
        return _highest(moves) if count == 2 else moves & -moves
    if turn == declarer or count == 2:
        return _highest(losers)
    if holder == declarer:
        return losers & -losers
    return moves & -moves


# ---- one against two: trick games and misere ---------------------------------------------------------------------------


@compiled(f"int64(UniTuple(int64, 3), int64, {_TERMS})")
def _name_free_key(hands: Three, turn: int, terms: Terms) -> int:
    """A number that two positions share only if they are one but for ranks out of play and the names of suits other than trumps."""
    trumps, shift, declarer = terms[TRUMPS], terms[LOWEST_TRUMP], terms[DECLARER]
    present = hands[0] | hands[1] | hands[2]
    seen_from = (turn - declarer) % 3
    if seen_from == 0:
        one, two = hands[1], hands[2]
    elif seen_from == 1:
        one, two = hands[0], hands[1]
    else:
        one, two = hands[2], hands[0]
    a = _suit_code(present, one, two, shift)
    b = _suit_code(present, one, two, shift + 8 & 31)
    c = _suit_code(present, one, two, shift + 16 & 31)
    d = _suit_code(present, one, two, shift + 24 & 31)
    if not trumps:
        a, b = min(a, b), max(a, b)
        a, c = min(a, c), max(a, c)
        a, d = min(a, d), max(a, d)
    b, c = min(b, c), max(b, c)
    b, d = min(b, d), max(b, d)
    c, d = min(c, d), max(c, d)
    return (((a << 14 | b) << 14 | c) << 14 | d) << 2 | seen_from


def new_memo(numbers: int) -> Numbers:
    """An empty memo; `numbers` is a power of two, at most 2^24 (see `_slot`)."""
    return np.zeros(numbers, dtype=np.int64)


@compiled("int64(int64, int64)")
def _slot(key: int, size: int) -> int:
    """Where a memo of `size` numbers, a power of two, keeps it. The multiplier spreads neighbouring keys (2^64 over the golden ratio)."""
    return (key * -7046029254386353131 >> 40 & size - 1) & -2


@compiled(f"boolean({_POSITION}, int64, {_TERMS}, int64[::1])")
def takes(hands: Three, trick: Trick, need: int, terms: Terms, memo: Numbers) -> bool:
    """Whether the declarer takes at least `need` of the tricks still open, both sides playing best.

    `memo`, zeros at first, serves any question with the same terms. It holds pairs: a position between two tricks, and the least and
    (times 16) the most tricks that the declarer is known to take from there.
    """
    declarer, slot, key, least, most = terms[DECLARER], 0, 0, 0, 0
    turn, count = trick[0], trick[1]
    if need <= 0:
        return True
    if count == 0:
        most = _cards_in(hands[0])
        if need > most:
            return False
        key = _name_free_key(hands, turn, terms)
        slot = _slot(key, len(memo))
        if memo[slot] == key:
            least, most = memo[slot + 1] & 15, memo[slot + 1] >> 4
            if need <= least or need > most:
                return need <= least
    wants = (turn == declarer) != (terms[ON_MISERE] == 1)
    moves, taken = _moves(hands, trick, terms), not wants
    while moves and taken != wants:
        bit = _first_of_misere(moves, trick, declarer) if terms[ON_MISERE] else _first_of(moves, hands, trick, declarer)
        moves ^= bit
        new_hands, new_trick = play(hands, trick, bit, terms[TRUMPS])
        open_need = need
        if count == 2:
            if new_trick[4] == declarer:
                open_need -= 1
            new_hands, new_trick = close(new_hands, new_trick, terms)
        taken = takes(new_hands, new_trick, open_need, terms, memo)
    if count == 0:
        memo[slot] = key
        memo[slot + 1] = max(least, need) | most << 4 if taken else least | min(most, need - 1) << 4
    return taken


# ---- each for himself: all-pass ----------------------------------------------------------------------------------------


@compiled("int64(UniTuple(int64, 3), int64)")
def _key(hands: Three, turn: int) -> int:
    """The same with the names of suits: of equal cards the lowest is played, and suits are lower and higher."""
    one, two = hands[1], hands[2]
    present = hands[0] | one | two
    key = 0
    for shift in range(0, 32, 8):
        key = key << 14 | _suit_code(present, one, two, shift)
    return key << 2 | turn


@compiled(f"int64({_POSITION}, {_TERMS}, int64[::1])")
def result(hands: Three, trick: Trick, terms: Terms, memo: Numbers) -> int:
    """The tricks still open, by place, `SEAT_BITS` each: from the last card backward everybody plays the card that gives them fewest,
    among these the lowest.

    `memo`, zeros at first, serves any question with the same terms: pairs of a position between two tricks and its result. Cards are
    tried from the lowest up, so the first that leaves its player without a trick is their choice.
    """
    slot, key = 0, 0
    turn, count, led, _, _, _, pending, _ = trick
    between = count == 0 and not led and not pending
    if between:
        if not hands[0]:
            return 0
        key = _key(hands, turn)
        slot = _slot(key, len(memo))
        if memo[slot] == key:
            return memo[slot + 1]
    chooser = turn
    if turn == terms[DUMMY]:
        chooser = (turn + 2) % 3 if count else terms[FIRST]
    moves, chosen, fewest = _moves(hands, trick, terms), 0, 16
    while moves and fewest:
        bit = moves & -moves
        moves ^= bit
        new_hands, new_trick = play(hands, trick, bit, 0)
        won = 0
        if count == 2:
            won = 1 << SEAT_BITS * new_trick[4]
            new_hands, new_trick = close(new_hands, new_trick, terms)
        tricks = won + result(new_hands, new_trick, terms, memo)
        own = tricks >> SEAT_BITS * chooser & 15
        if own < fewest:
            chosen, fewest = tricks, own
    if between:
        memo[slot], memo[slot + 1] = key, chosen
    return chosen
