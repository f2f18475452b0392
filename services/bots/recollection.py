"""What a player remembers of the deal in progress: who plays it, which cards are out, who showed void in what.

A fold of the stream's events, nothing else. The view shows the last trick only (3.9.8), so whoever wants to know what is gone has to watch.
A player who has just come to the table remembers nothing and plays on with what lies there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from shared.rules.deck.seats import hands_at_play

UNKNOWN = "?"  # the suit of a trick of which not all was heard
NO_TRUMP = ""  # neither misere nor all-pass nor a game without trumps has a suit that must be played when void


class Memory(msgspec.Struct, frozen=True):
    """`out`: cards played, and talon cards opened in all-pass. `voids`: (seat, suit) pairs that somebody showed by not following (3.9.3).

    `led` is the suit of the trick on the table, "" before its first card; `trump` the contract's suit or ""; `laid` whether hands lie open.
    `by_hand`: each player writes their own entries after a deal. `trick` are the hands with a card in it.
    `revoked` are seats that showed void in a suit and played it later in the deal: what they did not follow to was a revoke (3.9.16).
    `order` holds the hands at play, first hand first, empty before the first deal; `declarer` who won the auction.
    """

    players: int = 0
    order: tuple[int, ...] = ()
    declarer: int | None = None
    out: tuple[str, ...] = ()
    voids: frozenset[tuple[int, str]] = frozenset()
    led: str = ""
    trump: str = NO_TRUMP
    laid: bool = False
    revoked: frozenset[int] = frozenset()
    trick: tuple[int, ...] = ()
    by_hand: bool = False

    def after(self, events: Iterable[dict[str, Any]]) -> Memory:
        """The memory after a frame's events."""
        memory = self
        for event in events:
            memory = _remembered(memory, event)
        return memory

    def may_have_turn(self, seat: int, last: dict[str, Any]) -> bool:
        """Whether `seat` may be on turn after the event `last`, which this memory has seen: false only where it surely is not.

        The table knows the rules better; this only spares looks at it.
        """
        if not self.order:
            return True
        match last.get("type"):
            case "CardPlayed":
                return self.led == UNKNOWN or self._may_play(seat, self._next(last["seat"]))
            case "TrickWon":
                after_talon = last["number"] == 2 and self._may_play(
                    seat, self.order[0]
                )  # first hand leads after the talon's tricks (3.7.6)
                return after_talon or self._may_play(seat, last["seat"])
            case "TalonCardOpened" | "CardsDealt" | "AllPassed":
                return self.order[0] == seat
            case "TalonTaken":
                return bool(last["seat"] == seat)
            case "DealRevealed" | "EntryWritten":
                return self.by_hand  # nobody's: the table itself begins the next deal
            case "LinkOpened" | "ChainCommitted":
                return False
            case "DealStarted":
                return bool((last["dealer"] - 1) % self.players == seat)  # `seat` cuts (3.2.5)
        return True

    def _next(self, hand: int) -> int:
        """Whose card comes after that of `hand`: the next in order that has none in the trick yet; cards may have come out of turn."""
        place = self.order.index(hand)
        following = (*self.order[place + 1 :], *self.order[: place + 1])
        return next((other for other in following if other not in self.trick), following[0])

    def _may_play(self, seat: int, hand: int) -> bool:
        """Whether `seat` may be who plays the cards of `hand`: a laid hand of a defender may be played by another (3.8.5)."""
        return seat != self.declarer if self.laid and hand != self.declarer else seat == hand


def _remembered(memory: Memory, event: dict[str, Any]) -> Memory:
    match event.get("type"):
        case "PulkaOpened":
            return Memory(players=event["players"], by_hand=event.get("terms", {}).get("entries") == "by_hand")
        case "NewcomerSeated":
            return Memory(players=len(event["seats"]), by_hand=memory.by_hand)
        case "DealStarted":
            return Memory(
                players=memory.players,
                by_hand=memory.by_hand,
                order=hands_at_play(memory.players, event["dealer"]) if memory.players else (),
            )
        case "AuctionWon":
            return msgspec.structs.replace(memory, declarer=event["seat"])
        case "ContractDeclared":
            strain = event["contract"].lstrip("167890")
            return msgspec.structs.replace(memory, trump=strain if strain in ("S", "C", "D", "H") else NO_TRUMP)
        case "HandsLaid":
            return msgspec.structs.replace(memory, laid=True)
        case "TalonCardOpened":
            return msgspec.structs.replace(memory, out=(*memory.out, event["card"]), led=event["card"][1])
        case "CardPlayed":
            return _played(memory, event["seat"], event["card"])
        case "TrickWon":
            memory = msgspec.structs.replace(memory, led="", trick=())
    return _remedied(memory, event)


def _remedied(memory: Memory, event: dict[str, Any]) -> Memory:
    """What calls of attention change."""
    match event.get("type"):
        case "AttentionCalled" if event["rule"].startswith("3.9.16"):
            return msgspec.structs.replace(memory, revoked=memory.revoked - {event["seat"]})
        case "TricksTakenBack":
            return _taken_back(memory, event["cards"])
    return memory


def _taken_back(memory: Memory, cards: list[str]) -> Memory:
    """These cards are in their hands again; what was learnt from them is forgotten with all that was learnt of voids."""
    out = tuple(card for card in memory.out if card not in cards)
    return msgspec.structs.replace(memory, out=out, voids=frozenset(), led=UNKNOWN, trick=())


def _played(memory: Memory, seat: int, card: str) -> Memory:
    out, suit = (*memory.out, card), card[1]
    memory = msgspec.structs.replace(memory, trick=(*memory.trick, seat))
    if (seat, suit) in memory.voids:
        memory = msgspec.structs.replace(memory, revoked=memory.revoked | {seat})
    if memory.led == UNKNOWN:  # somewhere in a trick that goes on after cards were taken back
        return msgspec.structs.replace(memory, out=out)
    if memory.led in ("", suit):
        return msgspec.structs.replace(memory, out=out, led=suit)
    shown = {(seat, memory.led)} if suit == memory.trump or not memory.trump else {(seat, memory.led), (seat, memory.trump)}
    return msgspec.structs.replace(memory, out=out, voids=memory.voids | shown)
