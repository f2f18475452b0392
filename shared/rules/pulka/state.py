"""A match as its events left it, and the commands of the service itself that begin it and its deals. Records, and nothing that decides."""

from __future__ import annotations

from typing import Any

import msgspec

from shared.rules.adjudicated.court import Court
from shared.rules.adjudicated.sheet_entries import KeptSheet
from shared.rules.convention.options import PRESETS, Convention
from shared.rules.deal.decider import Deal
from shared.rules.language.chain_events import ChainsCommitted
from shared.rules.language.correction_events import AnnulmentOrdered, PulkaAnnulled, ResultCorrected
from shared.rules.pulka.links import Chains
from shared.rules.pulka.members import Members
from shared.rules.pulka.seat_draw import SeatDraw
from shared.rules.scoring.series import Series
from shared.rules.scoring.settlement import settlement
from shared.rules.scoring.sheet import Sheet, empty_sheet
from shared.rules.scoring.stakes import agreed_stake


class Secrets(msgspec.Struct, frozen=True, gc=False):
    """What of the present deal nobody may know before it is revealed, as text.

    `seen` are the hands that the resting dealer looked at; `returned` the hand and the talon made of an early taker's cards (3.3.17).
    """

    server_seed: str = ""
    hands: tuple[str, ...] = ()
    talon: str = ""
    discard: str | None = None
    seen: tuple[int, ...] = ()
    returned: dict[str, str] = {}


class Pulka(msgspec.Struct, frozen=True):
    """A match as its events left it. `status` is `waiting`, `playing`, `over` or `refused`; `number` counts deals from 1, `void` those
    of them that were dealt anew.

    `dealer` deals the present deal, `next_dealer` the next; `last_dealer` dealt the last deal on this sheet, None where it has none.
    `series` is what the last deal left to this one: all-pass deals in a row, bombs. `commitment` is "" between two deals. What was agreed
    (convention, players, target, seats, terms) means nothing before the pulka is opened. `stopping`: it ends with this deal. `corrections`
    and `annulled` came after the settlement, which they leave as it was; `annulling`: it ends with this deal, too, and is annulled then.
    """

    table_id: str
    status: str = "waiting"
    convention: Convention = PRESETS["code"]
    rules_digest: str = ""
    players: int = 0
    target: int | None = None
    seats: tuple[str, ...] = ()
    terms: dict[str, Any] = {}
    sheet: Sheet = empty_sheet(0)
    dealer: int = 0
    next_dealer: int = 0
    last_dealer: int | None = None
    number: int = 0
    void: int = 0
    series: Series = Series()
    commitment: str = ""
    seeds: tuple[tuple[int, str], ...] = ()
    cut_at: int | None = None
    secrets: Secrets = Secrets()
    deal: Deal | Court | None = None
    draw: SeatDraw | None = None
    members: Members = Members()
    settlement: dict[str, Any] | None = None
    stopping: bool = False
    kept_sheet: KeptSheet | None = None
    corrections: tuple[ResultCorrected, ...] = ()
    annulled: PulkaAnnulled | None = None
    annulling: AnnulmentOrdered | None = None
    chains: Chains = Chains()
    keys: tuple[str, ...] = ()


def settled_now(pulka: Pulka) -> dict[str, Any]:
    """The settlement of the match as if it ended now, as `PulkaClosed` has it (4.2.14)."""
    return settlement(pulka.convention, pulka.target, pulka.sheet, agreed_stake(pulka.terms), pulka.last_dealer)


# ---- Commands of the service itself; a seat's are moves. ---------------------------------------------------------------


class OpenPulka(msgspec.Struct, frozen=True):
    """Begin a match on resolved terms, which `rules_digest` covers; `lot` is a random number that draws the first dealer (3.2.1).

    Where the terms say `"seating": "drawn"`, `draw_seed` (64 hex digits, the server's secret) is what the draw for seats begins with.
    With `chains` nobody can choose a deck: then the server's link of round 0 is `draw_seed`, and the first dealer follows from it, not from
    `lot`. `keys`: the players' public keys by seat, "" without one; none at all where it is empty.
    """

    convention: Convention
    rules_digest: str
    players: int
    target: int | None
    seats: tuple[str, ...]
    terms: dict[str, Any]
    lot: int
    draw_seed: str = ""
    chains: ChainsCommitted | None = None
    keys: tuple[str, ...] = ()


class StartDeal(msgspec.Struct, frozen=True):
    """Begin deal `number` with the server's secret `seed` (64 hex digits): with chains the server's link of that round, the first of
    `renewed` where the chain before has come to its beginning.
    """

    number: int
    seed: str
    renewed: ChainsCommitted | None = None
