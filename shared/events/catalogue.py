"""The persisted language: every event that the log may hold, in the form in which it is stored. This page is the storage contract.

* A name or a field that was ever written stays: `tests/corpus/language.json` freezes them, and the commits in `tests/corpus` must fold for
  ever.
* A new field has a default and needs nothing else: old commits read as the default, older instances pass over it. A new event needs nothing
  else either.
* Any other change raises `commit.SCHEMA` and comes with a function in `upcast` that makes the new form of the old one.

Events of a table are those of the rules, except that some of them hold cards or seeds that somebody may not know yet. Those are stored with
sealed boxes, under the same name and with the same fields; the salts go into the boxes (`hidden`). Events of lobby and ledger are stored as
they are.
"""

from __future__ import annotations

from typing import Final

import msgspec

from shared.events.ledger_events import AnyLedgerEvent, LedgerEvent
from shared.events.lobby_events import AnyLobbyEvent, LobbyEvent
from shared.events.sealed import Sealed
from shared.rules.language import chain_events as chained
from shared.rules.language import correction_events as correction
from shared.rules.language import game_events as game
from shared.rules.language import irregular_events as irregular
from shared.rules.language import member_events as member
from shared.rules.language.game_events import Event
from shared.rules.pulka import imported


class SealedDealStarted(Event, frozen=True, tag="DealStarted"):
    """`DealStarted` with the server's seed in a box."""

    number: int
    dealer: int
    commitment: str
    algorithm: int
    server_seed: Sealed


class SealedSeatDrawStarted(Event, frozen=True, tag="SeatDrawStarted"):
    """`SeatDrawStarted` with the server's seed in a box."""

    commitment: str
    algorithm: int
    server_seed: Sealed


class SealedDealerDrawStarted(Event, frozen=True, tag="DealerDrawStarted"):
    """`DealerDrawStarted` with the server's seed in a box."""

    commitment: str
    server_seed: Sealed


class SealedCardsDealt(Event, frozen=True, tag="CardsDealt", omit_defaults=True):
    """`CardsDealt` with a box a hand, `""` for a seat that rests, and one for the talon."""

    hands: tuple[Sealed | str, ...]
    talon: Sealed
    deal: int
    dark: bool = False


class SealedDarkTalonTaken(Event, frozen=True, tag="DarkTalonTaken"):
    """`DarkTalonTaken` with the talon in a box of the declarer's."""

    seat: int
    cards: Sealed
    deal: int


class SealedCardsDiscarded(Event, frozen=True, tag="CardsDiscarded", omit_defaults=True):
    """`CardsDiscarded` with the two cards in a box."""

    seat: int
    cards: Sealed
    deal: int
    irregular: str = ""


class SealedHandSeen(Event, frozen=True, tag="HandSeen"):
    """`HandSeen` with the hand in a box."""

    seat: int
    hand: int
    cards: Sealed
    deal: int


class SealedPeeked(Event, frozen=True, tag="Peeked", omit_defaults=True):
    """`Peeked` with the cards in a box, where not all saw them."""

    seat: int
    what: str
    cards: Sealed | str
    trick: int = 0
    show: bool = False
    irregular: str = ""
    deal: int = 0


class SealedTalonTakenEarly(Event, frozen=True, tag="TalonTakenEarly", omit_defaults=True):
    """`TalonTakenEarly` with the talon in a box."""

    seat: int
    cards: Sealed
    irregular: str
    deal: int = 0


class SealedTalonReturned(Event, frozen=True, tag="TalonReturned", omit_defaults=True):
    """`TalonReturned` with hand and talon in a box each."""

    seat: int
    hand: Sealed
    talon: Sealed
    deal: int = 0


SealedEvent = (
    SealedSeatDrawStarted
    | SealedDealerDrawStarted
    | SealedDealStarted
    | SealedCardsDealt
    | SealedDarkTalonTaken
    | SealedCardsDiscarded
    | SealedHandSeen
    | SealedPeeked
    | SealedTalonTakenEarly
    | SealedTalonReturned
)

OpenEvent = (
    game.PulkaOpened
    | game.PulkaRefused
    | member.SeatCardDrawn
    | member.SeatsDrawn
    | chained.KeysRegistered
    | chained.ChainsCommitted
    | chained.ChainCommitted
    | chained.LinkOpened
    | chained.LinkMissed
    | chained.DealerDrawn
    | game.SeedAdded
    | game.DeckCut
    | game.MisereInvited
    | game.InvitationAnswered
    | game.BidMade
    | game.AuctionWon
    | game.AllPassed
    | game.TalonTaken
    | game.GaveUpWithoutThree
    | game.ContractDeclared
    | game.WhistCalled
    | game.PlayChosen
    | game.HandsLaid
    | game.Conceded
    | game.ClaimMade
    | game.ClaimAnswered
    | game.HeldToLine
    | game.ProposalMade
    | game.ProposalAnswered
    | game.TrickShown
    | game.BargainStruck
    | game.PauseAgreed
    | game.ActTakenBack
    | game.StopAgreed
    | game.CardExposed
    | game.RemedyAsked
    | game.RemedyChosen
    | irregular.CardsShown
    | irregular.AttentionCalled
    | irregular.CardGiven
    | irregular.CallTakenBack
    | irregular.BidderExcluded
    | irregular.ContractTakenBack
    | irregular.OrderRefused
    | irregular.TricksTakenBack
    | irregular.LeadRestricted
    | irregular.CardNamed
    | irregular.PlansDisputed
    | irregular.TrickForfeited
    | irregular.FineWritten
    | irregular.RestForfeited
    | irregular.DealStopped
    | irregular.DealEnded
    | irregular.Redealt
    | irregular.Confirmed
    | irregular.Ruled
    | irregular.EntryWritten
    | irregular.EntryCorrected
    | irregular.EntryFined
    | irregular.WarningGiven
    | irregular.LateEntryAsked
    | irregular.EntriesClosed
    | game.TalonCardOpened
    | game.CardPlayed
    | game.TrickWon
    | game.DealScored
    | game.TurnTimedOut
    | game.DealRevealed
    | member.ConsentAsked
    | member.ConsentAnswered
    | member.NewcomerSeated
    | member.SubstituteSeated
    | member.PlayerLeaves
    | member.SettlementDemanded
    | member.PulkaAdjourned
    | member.SeatReady
    | member.PulkaResumed
    | game.PulkaClosed
    | correction.ResultCorrected
    | correction.AnnulmentOrdered
    | correction.PulkaAnnulled
    | imported.PulkaRecorded
    | imported.PulkaArchived
)
StoredTableEvent = SealedEvent | OpenEvent

LANGUAGE: Final[dict[str, tuple[type[Event | LobbyEvent | LedgerEvent], ...]]] = {
    "table": StoredTableEvent.__args__,
    "lobby": AnyLobbyEvent.__args__,
    "ledger": AnyLedgerEvent.__args__,
}

decode_table_event: Final = msgspec.json.Decoder(StoredTableEvent).decode
decode_lobby_event: Final = msgspec.json.Decoder(AnyLobbyEvent).decode
decode_ledger_event: Final = msgspec.json.Decoder(AnyLedgerEvent).decode
encode_event: Final = msgspec.json.Encoder(order="deterministic").encode
