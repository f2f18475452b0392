"""Which calls the rules allow: the ladder, misere, "here", the silent take, calls in the dark and without the talon (3.3, 3.6.4).

Conventions differ in who may say "here" (Decision 9), how low a bid may be after all-pass deals (3.7.8), whether jumps go, whether calls
are made in the dark (3.3.19, Decision 21), and whether misere and nine are also bid without the talon (FN41, Decision 10).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from shared.rules.convention.options import Convention
from shared.rules.deal.position import NOBODY, Auction, Setup, bit
from shared.rules.deck.contract import GAMES, LADDER, LEVEL, MISERE, RANK
from shared.rules.deck.seats import active
from shared.rules.language.moves import Bid
from shared.rules.language.refusal import Refused
from shared.rules.scoring.series import exit_level, plays_dark

PASS, HERE, TAKE = "pass", "here", "take"
SEVEN, NINE, TEN = 7, 9, 10

#: How high a bid stands: ten steps to a rank of the ladder leave room for what is bid without the talon.
STEP: Final[dict[str, int]] = {bid: 10 * rank for bid, rank in RANK.items()} | {"": 0}
#: The same without the talon: a misere goes over every nine, a nine over that, and a ten over all of them (FN41).
BARE_STEP: Final[dict[str, int]] = {MISERE: STEP["9NT"] + 1} | {
    nine: STEP["9NT"] + 2 + place for place, nine in enumerate(game for game in GAMES if LEVEL[game] == NINE)
}


def step(bid: str, *, no_talon: bool) -> int:
    """How high a bid stands, 0 where there is none."""
    return (BARE_STEP if no_talon else STEP)[bid]


def standing_step(auction: Auction) -> int:
    """How high the last bid stands, 0 before any."""
    return (BARE_STEP if auction.no_talon else STEP)[auction.standing]


def bids_without_talon(convention: Convention) -> bool:
    """Whether misere and nine are also bid without the talon (FN41, Decision 10)."""
    return convention.misere_no_talon


def objection(setup: Setup, auction: Auction, seat: int, move: Bid) -> Refused | None:
    """Why the seat on turn may not make this call, if it may not."""
    if move.dark or move.no_talon:
        refused = _objection_to_dark(setup, auction, seat, move) or _objection_to_no_talon(setup, move)
        if refused is not None:
            return refused
    match move.bid:
        case "pass":
            return None
        case "here":
            return _objection_to_here(setup, auction, seat)
        case "take":
            return _objection_to_take(setup, auction, seat)
        case "misere":
            return _objection_to_misere(auction, seat, move)
    return _objection_to_game(setup, auction, seat, move)


def _objection_to_dark(setup: Setup, auction: Auction, seat: int, move: Bid) -> Refused | None:
    """Only a player who has not seen their cards calls in the dark, and only where that is agreed (3.3.19)."""
    if not move.dark:
        return None
    if not plays_dark(setup.convention):
        return Refused("call_not_allowed", "3.3.19", "This pulka does not play calls in the dark.")
    if not auction.unseen & bit(seat):
        return Refused("call_not_allowed", "3.3.19", "You have seen your cards, so you can no longer call in the dark.")
    if move.bid == TAKE or move.no_talon:
        return Refused("call_not_allowed", "3.3.19", "Taking the talon in silence, or bidding without it, is not done in the dark.")
    return None


def _objection_to_no_talon(setup: Setup, move: Bid) -> Refused | None:
    """Misere and nines alone are bid without the talon, and only where that is agreed (FN41)."""
    if not move.no_talon:
        return None
    if not bids_without_talon(setup.convention):
        return Refused("call_not_allowed", "3.6.4", "This pulka does not play bids without the talon (FN41).")
    if move.bid != MISERE and LEVEL.get(move.bid) != NINE:
        return Refused("call_not_allowed", "3.6.4", "Only a misere or a nine is bid without the talon (FN41).")
    return None


def _objection_to_here(setup: Setup, auction: Auction, seat: int) -> Refused | None:
    """Holding the last bid without raising it (3.3.8, Decision 9)."""
    if auction.holder in (NOBODY, seat) or auction.standing == MISERE:
        return Refused("here_not_allowed", "3.3.8", '"Here" holds the last game bid of another player.')
    if auction.over_misere:
        return Refused("here_not_allowed", "3.6.4", "A misere has been outbid, so only a higher bid is allowed.")
    if auction.no_talon:
        return Refused("here_not_allowed", "3.6.4", '"Here" cannot hold a nine without the talon; only a higher bid is allowed (FN41).')
    if auction.dark_passed and LEVEL[auction.standing] < (lowest := lowest_after_dark_pass(setup, auction)):
        return Refused("bid_too_low", "3.3.19", f"After a pass in the dark the lowest bid is of level {lowest}.")
    if not _may_say_here(setup, auction, seat):
        return Refused("here_not_allowed", "3.3.8", _WHO_SAYS_HERE[setup.convention.here])
    return None


_WHO_SAYS_HERE = {
    "senior": '"Here" belongs to the senior of the two players who are left in the auction.',
    "first_hand": '"Here" belongs to the first hand.',
    "off": 'This pulka does not play "here".',
}


def _may_say_here(setup: Setup, auction: Auction, seat: int) -> bool:
    """The convention's answer to who may say it over another's bid (Decision 9)."""
    if setup.convention.here == "first_hand":
        return seat == setup.order[0]
    left = [one for one in active(setup.players, setup.dealer) if not auction.out & bit(one)]
    return setup.convention.here == "senior" and len(left) == 2 and seat == left[0]


def _objection_to_take(setup: Setup, auction: Auction, seat: int) -> Refused | None:
    """The third hand takes the talon in silence after two passes (3.3.15, FN23); of two players the second, after one [conv]."""
    if not setup.convention.silent_take:
        return Refused("call_not_allowed", "3.3.15", "In this pulka the talon is bought by a bid, not taken in silence (FN23).")
    *earlier, last = active(setup.players, setup.dealer)
    if seat != last or auction.passed != sum(map(bit, earlier)):
        return Refused("call_not_allowed", "3.3.15", "Only the last hand may take the talon in silence, when all before it have passed.")
    return None


def _objection_to_misere(auction: Auction, seat: int, move: Bid) -> Refused | None:
    """Only as one's first call (3.3.9), over what is lower; of two the first caller has it (3.6.4).

    Who bid a misere that a nine has outbid may go on to one without the talon: the intention is the same [conv].
    """
    if auction.called & bit(seat) and not (move.no_talon and bid_misere(auction, seat)):
        return Refused("misere_not_first_bid", "3.3.9", "Misere may only be a player's first call.")
    if step(MISERE, no_talon=move.no_talon) <= standing_step(auction) or (auction.standing == MISERE and auction.dark):
        return Refused("bid_too_low", "3.6.4", f"Misere does not outbid {auction.standing}{' without the talon' * auction.no_talon}.")
    return None


def bid_misere(auction: Auction, seat: int) -> bool:
    """Whether `seat` has bid a misere in this auction."""
    return any(call.seat == seat and call.bid == MISERE for call in auction.calls)


def _objection_to_game(setup: Setup, auction: Auction, seat: int, move: Bid) -> Refused | None:
    """A game goes above the last bid, without a jump where those are not allowed (3.3.8), and not below the exit level (3.7.8)."""
    bid, standing = move.bid, auction.standing
    if bids_without_talon(setup.convention) and bid_misere(auction, seat):
        return Refused("call_not_allowed", "3.6.4", "A player who bid misere can only bid misere without the talon after that (FN41).")
    if (BARE_STEP if move.no_talon else STEP)[bid] <= (BARE_STEP if auction.no_talon else STEP)[standing]:
        if standing == MISERE:
            return Refused("bid_too_low", "3.6.4", _over_misere(auction))
        return Refused("bid_too_low", "3.3.8", f"A bid must be higher than the last one, {standing}.")
    if auction.dark and standing == MISERE and not move.dark and LEVEL[bid] < TEN:
        return Refused("bid_too_low", "3.3.19", "Only a dark nine or an open ten outbids a dark misere.")
    if auction.dark_passed and LEVEL[bid] < (lowest := lowest_after_dark_pass(setup, auction)):
        return Refused("bid_too_low", "3.3.19", f"After a pass in the dark the lowest bid is of level {lowest}.")
    if setup.series.all_pass_in_row and LEVEL[bid] < exit_level(setup.convention, setup.series):
        return Refused("bid_too_low", "3.7.8", f"After all-pass the lowest bid is of level {exit_level(setup.convention, setup.series)}.")
    if setup.convention.step_by_step and bid != (following := next_step(setup, auction, move)):
        return Refused("bid_not_on_ladder", "3.3.8", f"Bids climb step by step: the next one is {following}.")
    return None


def _over_misere(auction: Auction) -> str:
    if auction.no_talon:
        return "Only a nine without the talon or a ten outbids a misere without the talon (FN41)."
    return "Only a nine or a ten outbids a misere (FN41)."


def lowest_game(setup: Setup, auction: Auction) -> str:
    """The lowest game that could be bid where nobody has bid yet."""
    return f"{max(exit_level(setup.convention, setup.series), lowest_after_dark_pass(setup, auction))}S"


def lowest_after_dark_pass(setup: Setup, auction: Auction) -> int:
    """The level that a bid needs after a dark pass in this auction, 0 where there was none: a seven, and higher where the deals before
    were such all-passes too, as if this one were the next (Decision 27). In version 1 only the next auction began higher.
    """
    if not auction.dark_passed or setup.convention.version == 1:
        return 0
    series = setup.series
    passed = replace(series, all_pass_in_row=series.all_pass_in_row + 1, dark_in_row=series.dark_in_row + 1)
    return max(SEVEN, exit_level(setup.convention, passed))


def next_step(setup: Setup, auction: Auction, move: Bid) -> str:
    """The one game that may be bid as `move` is said where jumps are not allowed, "" above 10NT.

    Misere, nobody's second call, is no step of this ladder; over a dark one an open bid begins with the tens.
    """
    floor = RANK["10S"] if auction.standing == MISERE and auction.dark and not move.dark else RANK[lowest_game(setup, auction)]
    games = [game for game in GAMES if not move.no_talon or LEVEL[game] == NINE]
    above = standing_step(auction)
    return next((game for game in games if RANK[game] >= floor and step(game, no_talon=move.no_talon) > above), "")


def legal_calls(setup: Setup, auction: Auction, seat: int) -> Iterator[Bid]:
    """Every call that is accepted from the seat on turn: pass, the ladder upward, here, take; then in the dark, then without the talon."""
    for dark, no_talon in ((False, False), (True, False), (False, True)):
        if (dark and not auction.unseen & bit(seat)) or (no_talon and not bids_without_talon(setup.convention)):
            continue
        for word in (PASS, *LADDER, HERE, TAKE):
            move = Bid(word, dark, no_talon)
            if objection(setup, auction, seat, move) is None:
                yield move
