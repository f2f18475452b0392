"""Which events one deal is folded from, whatever happens around it in the pulka."""

from __future__ import annotations

from shared.rules.language.game_events import (
    ActTakenBack,
    AllPassed,
    AuctionWon,
    BargainStruck,
    BidMade,
    CardExposed,
    CardPlayed,
    CardsDealt,
    CardsDiscarded,
    ClaimAnswered,
    ClaimMade,
    Conceded,
    ContractDeclared,
    DarkTalonTaken,
    DealScored,
    GaveUpWithoutThree,
    HandSeen,
    HandsLaid,
    HeldToLine,
    InvitationAnswered,
    MisereInvited,
    PauseAgreed,
    PlayChosen,
    ProposalAnswered,
    ProposalMade,
    RemedyAsked,
    RemedyChosen,
    StopAgreed,
    TalonCardOpened,
    TalonTaken,
    TrickShown,
    TrickWon,
    WhistCalled,
)

DealEvent = (
    CardsDealt
    | MisereInvited
    | InvitationAnswered
    | BidMade
    | AuctionWon
    | AllPassed
    | TalonTaken
    | DarkTalonTaken
    | CardsDiscarded
    | GaveUpWithoutThree
    | ContractDeclared
    | HandSeen
    | WhistCalled
    | PlayChosen
    | HandsLaid
    | Conceded
    | ClaimMade
    | ClaimAnswered
    | HeldToLine
    | ProposalMade
    | ProposalAnswered
    | TrickShown
    | BargainStruck
    | PauseAgreed
    | ActTakenBack
    | StopAgreed
    | CardExposed
    | RemedyAsked
    | RemedyChosen
    | TalonCardOpened
    | CardPlayed
    | TrickWon
    | DealScored
)
