"""Whether a table could have heard the whist calls of a recorded deal: each seat's last word, against the grammar of 3.8."""

from __future__ import annotations

from shared.rules.convention.options import Convention
from shared.rules.deck.seats import defenders
from shared.rules.language.refusal import Malformed
from shared.rules.scoring.outcome import DealOutcome
from shared.rules.scoring.whist_calls import (
    DEALER,
    Asked,
    LastWords,
    last_words,
    may_dealer_whist,
    may_first_half,
    may_half,
    may_return,
    must_whist,
    must_whist_dark,
)

ENDS_AT_THE_ORDER = ("3.4.4", "3.4.6", "3.5.4")


def ended_early(outcome: DealOutcome) -> bool:
    """The deal could end before all had called or ten tricks were played: without all (3.5.4), a refused order (3.4.4), or a wrong hand at
    the order (3.4.6), also where an arbiter ruled otherwise on what that costs.
    """
    return outcome.conceded or any(one.rule in ENDS_AT_THE_ORDER for one in outcome.infractions)


def check_calls(convention: Convention, players: int, outcome: DealOutcome, place: str) -> None:
    """Raises `Malformed` for words that nobody could have said, or not in any order."""
    if not outcome.is_game or outcome.without_three or not outcome.calls:
        return
    asked = Asked(convention, players, outcome.contract or "", dark=outcome.dark)
    seats = _speakers(players, outcome)
    first, second, dealer = (None if seat is None else outcome.calls[seat] for seat in seats)
    heard = last_words(asked, cut_short=ended_early(outcome))
    # a dealer who only passed may be left out
    if (first, second, dealer) not in heard and (dealer is not None or (first, second, "pass") not in heard):
        raise _refusal(asked, (first, second, dealer), place, seats)


def _speakers(players: int, outcome: DealOutcome) -> tuple[int | None, int | None, int | None]:
    """The seats of first and second defender and of the resting dealer, None where there is none."""
    order = defenders(players, outcome.dealer, outcome.declarer or 0)
    rests = outcome.dealer not in (*order, outcome.declarer)
    return order[0], order[1] if len(order) > 1 else None, outcome.dealer if rests else None


def _refusal(asked: Asked, words: LastWords, place: str, seats: tuple[int | None, ...]) -> Malformed:
    """Why these words cannot have been said: the first reason that holds."""
    convention, contract = asked.convention, asked.contract
    first, second, dealer = words
    if must_whist_dark(contract, dark=asked.dark):
        return Malformed(place, "a six that was bought in the dark both whist, unasked (3.3.19)")
    if must_whist(convention, contract) and {"pass", "half"} & {first, second}:
        who = "the defender" if asked.alone else "both defenders"
        return Malformed(place, f"{who} must whist six spades: the option `stalingrad` is set (3.8.9, FN61)")
    if "half" in (first, second) and not may_half(convention, contract):
        half = seats[words.index("half")]
        return Malformed(f"{place}[{half}]", f"no half-whist on {contract}: the option `half_whist` has no such level (3.8.7)")
    if dealer is not None and not may_dealer_whist(convention, asked.players):
        return Malformed(f"{place}[{seats[DEALER]}]", "the dealer does not whist: the option `dealer_whist` is off (3.8.8)")
    if dealer is not None and "whist" in (first, second):
        return Malformed(f"{place}[{seats[DEALER]}]", "the dealer is asked only when no defender whists (3.8.8)")
    if first == "half" and not asked.alone and not may_first_half(convention):
        why = "half-whist is the second defender's (3.8.7), the first hand's only where the option `first_hand_half` is set (3.8.14)"
        return Malformed(place, why)
    if "half" in (first, second) and "whist" in (first, second) and not may_return(convention, contract):
        return Malformed(place, f"the whist is not taken back on {contract}: the option `pass_return` has no such level (3.8.8.1)")
    return Malformed(place, "the defenders speak one after another, left of the declarer first (3.8.1)")
