"""Whether a built-in player calls attention at an adjudicated table: only to what they surely know, and only against the other side.

What was done openly bears its rule in the stream (`irregular`): a card out of turn, a call that does not raise, a look at the talon. A
revoke bears no mark; whoever once showed void in a suit and plays it later has revoked (3.9.16), and memory has noticed that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from services.bots.recollection import Memory

REVOKE: Final = "3.9.16"
#: Events whose mark is called at once. A wrong discard is called when the contract is named with it (3.4.6).
OPENLY: Final = ("BidMade", "CardPlayed", "Peeked", "TalonTakenEarly", "ContractDeclared")
_CALLED: Final = "AttentionCalled"


def calls(events: Iterable[dict[str, Any]], memory: Memory, seat: int) -> list[dict[str, Any]]:
    """The moves `call_attention` that the player at `seat` makes after a frame's `events`, which `memory` has heard."""
    told = list(events)
    already = {event["seat"] for event in told if event["type"] == _CALLED}
    wanted = [
        {"type": "call_attention", "rule": event["irregular"], "seat": event["seat"]}
        for event in told
        if event["type"] in OPENLY and event.get("irregular") and event["seat"] not in already and _against(memory, seat, event["seat"])
    ]
    revoked = [offender for offender in sorted(memory.revoked) if offender not in already and _against(memory, seat, offender)]
    return wanted + [{"type": "call_attention", "rule": REVOKE, "seat": offender} for offender in revoked]


def _against(memory: Memory, seat: int, offender: int) -> bool:
    """Whether the two are on different sides: in a game the declarer and the rest, before it and on all-pass everybody."""
    if seat == offender:
        return False
    return memory.declarer is None or memory.declarer in (seat, offender)
