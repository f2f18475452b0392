"""After the settlement (4.2.14): a result is corrected, or the whole pulka annulled, by who is entitled to it (4.2.16).
Reading · evolve · decide.

Until then a wrong entry is a matter of the sheet (4.2.7-4.2.10). Nothing that was played changes by it: a correction adds whists to what
each seat has won, none of them out of nothing, and an annulment takes back all of it. Both are final: what was corrected wrongly is
corrected again, an annulled pulka stays annulled [conv]. A pulka that is annulled while it is played ends with the deal in progress, which
is always finished (5.4.18). Who is entitled is for the table service to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import msgspec

from shared.rules.language import amount
from shared.rules.language.amount import LARGEST, Amount, exact, written
from shared.rules.language.correction_events import AnnulmentOrdered, PulkaAnnulled, ResultCorrected
from shared.rules.language.game_events import Event, PulkaClosed
from shared.rules.language.refusal import Malformed, Refused
from shared.rules.pulka.state import Pulka, settled_now
from shared.rules.pulka.turns import phase

FINEST: Final = 10_000  # the largest denominator: far finer than any settlement (a mountain point is divided by five at most)

ANNULLED: Final = "annulled"  # reason of a `PulkaClosed`
ANNULLED_ALREADY: Final = Refused("already_annulled", "4.2.16", "The pulka has already been annulled.")
NOT_CLOSED: Final = Refused("not_closed", "4.2.14", "The pulka is not settled yet; until then correct its sheet instead.")


def read_amounts(given: Sequence[int | str], path: str = "amounts") -> tuple[Amount, ...]:
    """The whists by seat of a correction as a document has them at `path`. Raises `Malformed`."""
    read = tuple(amount.read(value, f"{path}[{seat}]") for seat, value in enumerate(given))
    for seat, number in enumerate(read):
        if number.denominator > FINEST:
            raise Malformed(f"{path}[{seat}]", f"must be given in parts of at most {FINEST}")
    return read


# ---- evolve ------------------------------------------------------------------------------------------------------------


def result_corrected(pulka: Pulka, event: ResultCorrected) -> Pulka:
    """One correction more."""
    return msgspec.structs.replace(pulka, corrections=(*pulka.corrections, event))


def annulment_ordered(pulka: Pulka, event: AnnulmentOrdered) -> Pulka:
    """It goes on to the end of the deal."""
    return msgspec.structs.replace(pulka, annulling=event)


def pulka_annulled(pulka: Pulka, event: PulkaAnnulled) -> Pulka:
    """What was played stays."""
    return msgspec.structs.replace(pulka, annulled=event, annulling=None)


# ---- decide ------------------------------------------------------------------------------------------------------------


def correct(pulka: Pulka, author: str, amounts: Sequence[Amount], reason: str) -> tuple[Event, ...] | Refused:
    """Add `amounts`, whists by seat, to what was won."""
    refused = _refused(pulka)
    if refused is not None:
        return refused
    if len(amounts) != pulka.players:
        return Refused("malformed", "4.2.14", f"This pulka has {pulka.players} players; each needs one number.")
    if sum(amounts) != 0:
        return Refused("not_zero_sum", "4.2.14", f"The amounts must sum to zero; these sum to {written(sum(amounts))}.")
    if not any(amounts):
        return Refused("nothing_to_correct", "4.2.16", "All amounts are zero, so there is nothing to correct.")
    return (ResultCorrected(len(pulka.corrections) + 1, tuple(str(written(number)) for number in amounts), author, reason),)


def correct_within_bounds(pulka: Pulka, author: str, amounts: Sequence[Amount], reason: str) -> tuple[Event, ...] | Refused:
    """As `correct`, for what is asked now: all corrections of a pulka together must stay numbers that can be stored and read [conv].

    Apart from it, since what was accepted before there was this bound stays accepted when a log is checked.
    """
    decided = correct(pulka, author, amounts, reason)
    if isinstance(decided, Refused):
        return decided
    if any(not -LARGEST <= number <= LARGEST or number.denominator > FINEST for number in _together(pulka, amounts)):
        return Refused(
            "corrections_out_of_bounds",
            "4.2.16",
            f"All corrections of a pulka together may come to at most {LARGEST} whists a seat, in parts of at most {FINEST}.",
        )
    return decided


def _together(pulka: Pulka, amounts: Sequence[Amount]) -> list[Amount]:
    """What each seat is corrected by with `amounts` too."""
    earlier = [[amount.read(text, "amounts") for text in one.amounts] for one in pulka.corrections]
    return [exact(sum(seat, Fraction(0))) for seat in zip(amounts, *earlier, strict=True)]


def annul(pulka: Pulka, author: str, reason: str) -> tuple[Event, ...] | Refused:
    """Make the pulka count for nothing: at once, or when the deal in progress is over."""
    if pulka.status != "playing":
        refused = _refused(pulka)
        return (PulkaAnnulled(author, reason),) if refused is None else refused
    if pulka.annulling is not None:
        return ANNULLED_ALREADY
    ordered = AnnulmentOrdered(author, reason)
    return (ordered,) if phase(pulka) != "between_deals" else (ordered, *ended(annulment_ordered(pulka, ordered)))


def ended(pulka: Pulka) -> tuple[Event, ...]:
    """The end of a pulka whose annulment was ordered, when no deal goes on: closed, as it stands, and annulled."""
    if pulka.annulling is None:
        return ()
    closed = PulkaClosed(ANNULLED, settled_now(pulka))
    return closed, PulkaAnnulled(pulka.annulling.author, pulka.annulling.reason)


def _refused(pulka: Pulka) -> Refused | None:
    if pulka.status != "over":
        return NOT_CLOSED
    return None if pulka.annulled is None else ANNULLED_ALREADY
