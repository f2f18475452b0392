"""Which words the defenders may say on a contract, and in which order (3.8): one grammar for the table, for score files and for what-if.

Every word is one letter of a history, in capitals the resting dealer's; what comes after each history is one table. Seats do not matter
here: who speaks is the first defender, the second, or the resting dealer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import msgspec

from shared.rules.convention.options import Convention
from shared.rules.deck.contract import LEVEL
from shared.rules.deck.seats import DEALER_RESTS, DUMMY
from shared.rules.language.refusal import Refused
from shared.rules.scoring.outcome import Call

#: `ask` a defender, or for a `return` of the whist where the level has one, else the `dealer`; `lay`: the whister chooses open or
#: closed play; `pair`: both play closed; `dummy`: the one defender of two players plays with the dummy's hand laid.
Turn: TypeAlias = Literal["ask", "return", "dealer", "lay", "pair", "dummy"]
#: What a history leads to: a word of somebody, their choice of open or closed play, the play, or `made`: nobody whists, the contract counts
#: as made, unplayed.
Next: TypeAlias = Literal["ask", "lay", "pair", "dummy", "dealer", "made"]

FIRST, SECOND, DEALER = 0, 1, 2
SPEAKERS: Final = (FIRST, SECOND, DEALER)
WORDS: Final[tuple[Call, ...]] = ("whist", "half", "pass")
_AFTER: Final[dict[str, tuple[Turn, int]]] = {
    "": ("ask", FIRST),
    "w": ("ask", SECOND),
    "p": ("ask", SECOND),
    "ww": ("pair", FIRST),
    "wp": ("lay", FIRST),
    "pw": ("lay", SECOND),
    "pp": ("dealer", FIRST),
    "ph": ("return", FIRST),
    "phw": ("lay", FIRST),
    "php": ("dealer", FIRST),
    "wph": ("return", SECOND),
    "wphw": ("lay", SECOND),
    "wphp": ("dealer", SECOND),
}
#: The one defender of two players: nobody passes the whist on to them or takes it back (Decision 19).
_AFTER_ALONE: Final[dict[str, tuple[Turn, int]]] = {"": ("ask", FIRST), "w": ("dummy", FIRST)}
_DEALER_WHISTS, _DEALER_PASSES = "W", "P"
HALF_AFTER: Final = "p"  # the second defender's half-whist follows the first one's pass (3.8.7)
HALF_ALONE: Final = ""  # of two players the one defender may say it at once: nobody sits behind the dummy to be asked (Decision 19)
HALF_INSTEAD_OF_LAY: Final = "wp"  # the first hand goes down to half when the second passed (3.8.14)
CHECKED_LEVEL: Final = 10


class Asked(msgspec.Struct, frozen=True, gc=False):
    """What the words are said on: the `contract` at a table of so many `players`.

    `dark`: it was bought in the dark (3.3.19). `knows`: the resting dealer has seen the declarer's hand, for they were invited to share a
    misere (3.6.9).
    """

    convention: Convention
    players: int
    contract: str
    dark: bool = False
    knows: bool = False

    @property
    def alone(self) -> bool:
        """Two play, and there is one defender (Decision 19)."""
        return self.players == DUMMY


# ---- the options, each asked in one place ------------------------------------------------------------------------------


def is_checked(convention: Convention, contract: str | None) -> bool:
    """A ten that is played without whist calls, both defenders' hands laid (FN39)."""
    return convention.ten == "checked" and LEVEL.get(contract or "") == CHECKED_LEVEL


def may_half(convention: Convention, contract: str | None) -> bool:
    """Whether somebody can go for half on this contract (3.8.7)."""
    return LEVEL.get(contract or "") in convention.half_whist


def may_first_half(convention: Convention) -> bool:
    """Whether the first hand, having whisted, may go down to half when the second has passed (3.8.14)."""
    return convention.first_hand_half


def may_return(convention: Convention, contract: str | None) -> bool:
    """Whether who passed may take the whist back from who went for half (3.8.8.1)."""
    return LEVEL.get(contract or "") in convention.pass_return


def may_dealer_whist(convention: Convention, players: int) -> bool:
    """Whether a resting dealer is asked when neither defender whists (3.8.8, Decision 15)."""
    return players == DEALER_RESTS and convention.dealer_whist != "off"


def dealer_answers(convention: Convention) -> bool:
    """Whether a dealer who whists writes for missing tricks (Decision 15)."""
    return convention.dealer_whist != "free"


def must_whist(convention: Convention, contract: str | None) -> bool:
    """Whether this contract must be whisted: six spades, where that is agreed (3.8.9, FN61)."""
    return convention.stalingrad and contract == "6S"


def must_whist_dark(contract: str | None, *, dark: bool) -> bool:
    """Whether both whist unasked: a six that was bought in the dark (3.3.19)."""
    return dark and LEVEL.get(contract or "") == LEVEL["6S"]


# ---- the grammar -------------------------------------------------------------------------------------------------------


def next_word(asked: Asked, history: str) -> tuple[Next, int]:
    """What follows the words said so far, and who it concerns; of `made` that is nobody, and the number means nothing."""
    if history.endswith(_DEALER_WHISTS):
        return "dealer", DEALER
    if history.endswith(_DEALER_PASSES):
        return "made", FIRST
    turn, speaker = (_AFTER_ALONE if asked.alone else _AFTER).get(history, ("dealer", FIRST))
    if turn == "dealer" or (turn == "return" and not may_return(asked.convention, asked.contract)):
        # who has seen the declarer's hand whists not [conv]
        return ("ask", DEALER) if may_dealer_whist(asked.convention, asked.players) and not asked.knows else ("made", FIRST)
    return ("ask" if turn == "return" else turn), speaker


def takes_word(asked: Asked, what: Next, call: str) -> bool:
    """Whether there is a word to say at all, `what` being next: where open or closed play is chosen only a half instead of it (3.8.14)."""
    return what == "ask" or (what == "lay" and call == "half" and may_first_half(asked.convention))


def objection(asked: Asked, history: str, call: str) -> Refused | None:
    """Why whoever is asked after `history` may not say this; None if they may."""
    if call == "whist":
        return None
    if must_whist(asked.convention, asked.contract) and (call == "pass" or asked.alone):
        return Refused("call_not_allowed", "3.8.9", "In this pulka six spades must be whisted (FN61).")
    if call == "pass":
        return None
    what, speaker = next_word(asked, history)
    if what == "ask" and speaker == DEALER:
        return Refused("call_not_allowed", "3.8.8", "A resting dealer whists or passes.")
    if not may_half(asked.convention, asked.contract):
        return Refused("call_not_allowed", "3.8.7", f"There is no half-whist on {asked.contract} in this pulka.")
    if what == "lay" and history != HALF_INSTEAD_OF_LAY:
        return Refused("call_not_allowed", "3.8.14", "Only the first hand may lower a whist to half-whist, after whist and pass.")
    if what == "ask" and history != (HALF_ALONE if asked.alone else HALF_AFTER):
        return Refused("call_not_allowed", "3.8.7", "Only the second defender says half-whist, after the first has passed.")
    return None


def letter(call: str, *, of_dealer: bool) -> str:
    """The word as a history has it."""
    return call[0].upper() if of_dealer else call[0]


#: The last words of first defender, second and resting dealer; None of who was not asked.
LastWords: TypeAlias = tuple[Call | None, Call | None, Call | None]


def last_words(asked: Asked, *, cut_short: bool = False) -> frozenset[LastWords]:
    """Every end that the calls can have, as last words; with `cut_short` also where they can have stopped before it (3.5.4, 3.4.6).

    A checked ten has no words, and of a dark six both whist.
    """
    silent: LastWords = (None, None, None)
    if is_checked(asked.convention, asked.contract):
        return frozenset((silent,))
    if must_whist_dark(asked.contract, dark=asked.dark):
        both: LastWords = ("whist", None if asked.alone else "whist", None)
        return frozenset((silent, both)) if cut_short else frozenset((both,))
    return frozenset(words for words, whole in _histories(asked) if whole or cut_short)


def _histories(asked: Asked) -> Iterator[tuple[LastWords, bool]]:
    """The last words after every history that the rules allow, and whether the calls can be over with it."""
    waiting: list[tuple[str, LastWords]] = [("", (None, None, None))]
    while waiting:
        history, words = waiting.pop()
        what, speaker = next_word(asked, history)
        yield words, what != "ask"
        for call in WORDS:
            if takes_word(asked, what, call) and objection(asked, history, call) is None:
                first, second, dealer = (call if speaker == one else words[one] for one in SPEAKERS)
                waiting.append((history + letter(call, of_dealer=speaker == DEALER), (first, second, dealer)))
