"""After the settlement (4.2.14): a result is corrected, or the whole pulka annulled, by who is entitled to it (4.2.16). Reading · decide.

Until then a wrong entry is a matter of the sheet (4.2.7-4.2.10). Nothing that was played changes by it: a correction adds whists to what
each seat has won, none of them out of nothing, and an annulment takes back all of it. Both are final: what was corrected wrongly is
corrected again, an annulled pulka stays annulled [conv]. Who is entitled is for the table service to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shared.rules import amount
from shared.rules.amount import Amount, written
from shared.rules.correction_events import PulkaAnnulled, ResultCorrected
from shared.rules.game_events import Event
from shared.rules.pulka_state import Pulka
from shared.rules.refusal import Malformed, Refused

FINEST: Final = 10_000  # the largest denominator: far finer than any settlement (a mountain point is divided by five at most)

NOT_CLOSED: Final = Refused("not_closed", "4.2.14", "The pulka is not settled yet; until then its sheet is what is corrected.")


def read_amounts(given: Sequence[int | str], path: str = "amounts") -> tuple[Amount, ...]:
    """The whists by seat of a correction as a document has them at `path`. Raises `Malformed`."""
    read = tuple(amount.read(value, f"{path}[{seat}]") for seat, value in enumerate(given))
    for seat, number in enumerate(read):
        if number.denominator > FINEST:
            raise Malformed(f"{path}[{seat}]", f"must be given in parts of at most {FINEST}")
    return read


def correct(pulka: Pulka, author: str, amounts: Sequence[Amount], reason: str) -> tuple[Event, ...] | Refused:
    """Add `amounts`, whists by seat, to what was won."""
    refused = _refused(pulka)
    if refused is not None:
        return refused
    if len(amounts) != pulka.players:
        return Refused("malformed", "4.2.14", f"This pulka has {pulka.players} players; each needs one number.")
    if sum(amounts) != 0:
        return Refused("not_zero_sum", "4.2.14", f"What some win others lose; these amounts sum to {written(sum(amounts))}.")
    if not any(amounts):
        return Refused("nothing_to_correct", "4.2.16", "Amounts of nothing correct nothing.")
    return (ResultCorrected(len(pulka.corrections) + 1, tuple(str(written(number)) for number in amounts), author, reason),)


def annul(pulka: Pulka, author: str, reason: str) -> tuple[Event, ...] | Refused:
    """Make the pulka count for nothing."""
    refused = _refused(pulka)
    return (PulkaAnnulled(author, reason),) if refused is None else refused


def _refused(pulka: Pulka) -> Refused | None:
    if pulka.status != "over":
        return NOT_CLOSED
    if pulka.annulled is not None:
        return Refused("already_annulled", "4.2.16", "The pulka is annulled already, and counts for nothing.")
    return None
