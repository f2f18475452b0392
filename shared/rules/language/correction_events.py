"""What organisers do to a pulka, as events: its result is corrected after the settlement, or it is annulled (4.2.16).

Past tense; names and fields are part of the storage contract (frozen, additive), as those of `game_events`.
"""

from __future__ import annotations

from shared.rules.language.game_events import Event


class ResultCorrected(Event, frozen=True, tag="ResultCorrected"):
    """The table's correction `number`, from 1: to what each seat has won `amounts` are added, exact whists as text, which sum to zero.

    `author` is the arbiter's player id, or `operator:` and a name; `reason` is for everybody to read.
    """

    number: int
    amounts: tuple[str, ...]
    author: str
    reason: str


class AnnulmentOrdered(Event, frozen=True, tag="AnnulmentOrdered"):
    """A pulka that is still played ends with the deal in progress, which is always finished (5.4.18), and is annulled then."""

    author: str
    reason: str


class PulkaAnnulled(Event, frozen=True, tag="PulkaAnnulled"):
    """The closed pulka counts for nothing: nobody owes anybody anything for it. Its sheet stays what was played; fields as above."""

    author: str
    reason: str
