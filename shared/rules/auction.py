"""The auction: who may call what, and who wins (3.3). State is `Auction` in `position.py`; here evolve, then decide, then what is on offer.

Conventions differ in three questions: who may say "here" (Decision 9), how low a bid may be after all-pass deals (3.7.8), whether jumps go.
"""

from __future__ import annotations

from collections.abc import Iterator

from shared.rules.cards import CARDS
from shared.rules.contract import GAMES, LADDER, LEVEL, MISERE, RANK
from shared.rules.game_events import AllPassed, AuctionWon, BidMade, DealEvent, TalonCardOpened, TalonTaken
from shared.rules.moves import Bid
from shared.rules.position import NOBODY, Auction, Deal, Game, Setup, bit
from shared.rules.refusal import Refused
from shared.rules.seats import active, clockwise_from

PASS, HERE, TAKE = "pass", "here", "take"
WORDS = frozenset((*LADDER, PASS, HERE, TAKE))


# ---- evolve ------------------------------------------------------------------------------------------------------------


def bid_made(deal: Deal, event: BidMade) -> Deal:
    """The auction after a call, and whose call is next; with nobody left to call, nobody's."""
    auction = called(deal.auction, deal.setup, event.seat, event.bid)
    to_act = next_caller(auction, deal.setup, event.seat)
    return Deal(deal.setup, deal.phase, to_act, deal.full_hands, auction, deal.game, deal.play, deal.score, deal.incidents)


def called(auction: Auction, setup: Setup, seat: int, bid: str) -> Auction:
    """The auction after `seat` said `bid`."""
    calls, everybody = (*auction.calls, (seat, bid)), auction.called | bit(seat)
    if bid == PASS:
        return Auction(
            calls, auction.standing, auction.holder, everybody, auction.passed | bit(seat), auction.out | bit(seat), auction.over_misere
        )
    over_misere = auction.over_misere or auction.standing == MISERE
    # FN41: once a misere is outbid, only who has not called at all may still call.
    out = auction.out | (auction.called & ~bit(seat) if over_misere else 0)
    standing = auction.standing if bid == HERE else lowest_game(setup) if bid == TAKE else bid
    return Auction(calls, standing, seat, everybody, auction.passed, out, over_misere)


def next_caller(auction: Auction, setup: Setup, seat: int) -> int | None:
    """The next seat that has a say, clockwise from `seat`; the holder of the last bid has none over himself."""
    silent = auction.out if auction.holder == NOBODY else auction.out | bit(auction.holder)
    for neighbour in clockwise_from(setup.players, seat):
        if neighbour in setup.order and not silent & bit(neighbour):
            return neighbour
    return None


def auction_won(deal: Deal, event: AuctionWon) -> Deal:
    """The winner is declarer; a misere bid is the contract at once (3.3.11, 3.3.9)."""
    contract = MISERE if event.bid == MISERE else ""
    game = Game(event.seat, event.bid, contract, calls=(None,) * deal.setup.players)
    return Deal(deal.setup, "discard", event.seat, deal.full_hands, deal.auction, game, None, None, deal.incidents)


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide(deal: Deal, seat: int, move: Bid) -> tuple[DealEvent, ...] | Refused:
    """A call, and what it ends: the winner takes the talon, shown to all (3.3.11, 3.4.1), or all have passed (3.3.12)."""
    if move.bid not in WORDS:
        return Refused("malformed", "3.3.7", f"{move.bid!r} is no call: there are 6S to 10NT, misere, pass, here and take.")
    setup, auction = deal.setup, deal.auction
    if deal.phase != "auction":
        return Refused("wrong_phase", "3.3.11", "The auction is over; no call can be added or withdrawn.")
    if seat != deal.to_act:
        if auction.passed & bit(seat):
            return Refused("not_your_turn", "3.3.10", "A pass is final: who has passed has no further turn in this auction.")
        return Refused("not_your_turn", "3.3.2", f"Calls go clockwise from the first hand, one a turn; it is seat {deal.to_act}'s turn.")
    refused = objection(setup, auction, seat, move)
    if refused is not None:
        return refused
    made = BidMade(seat, move.bid)
    after = called(auction, setup, seat, move.bid)
    if next_caller(after, setup, seat) is not None:
        return (made,)
    if after.holder == NOBODY:
        if setup.talon_leads:
            return (made, AllPassed(), TalonCardOpened(CARDS[setup.talon[0]]))
        return (made, AllPassed())
    talon = " ".join(CARDS[card] for card in setup.talon)
    return (made, AuctionWon(after.holder, after.standing), TalonTaken(after.holder, talon))


def objection(setup: Setup, auction: Auction, seat: int, move: Bid) -> Refused | None:
    """Why the seat on turn may not make this call, if it may not."""
    if move.dark or move.no_talon:
        return Refused("call_not_allowed", "3.3.19", "This pulka does not play calls in the dark or without the talon.")
    match move.bid:
        case "pass":
            return None
        case "here":
            return _objection_to_here(setup, auction, seat)
        case "take":
            return _objection_to_take(setup, auction, seat)
        case "misere":
            return _objection_to_misere(auction, seat)
    return _objection_to_game(setup, auction, move.bid)


def _objection_to_here(setup: Setup, auction: Auction, seat: int) -> Refused | None:
    """Holding the last bid without raising it (3.3.8, Decision 9)."""
    if auction.holder in (NOBODY, seat) or auction.standing == MISERE:
        return Refused("here_not_allowed", "3.3.8", '"Here" holds the last game bid of another player.')
    if auction.over_misere:
        return Refused("here_not_allowed", "3.6.4", "Over a misere that was outbid only a higher bid goes.")
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


def _objection_to_misere(auction: Auction, seat: int) -> Refused | None:
    """Only as one's first call (3.3.9), over a game below nine; of two the first caller has it (3.6.4)."""
    if auction.called & bit(seat):
        return Refused("misere_not_first_bid", "3.3.9", "Misere may only be a player's first call.")
    if auction.standing and RANK[auction.standing] >= RANK[MISERE]:
        return Refused("bid_too_low", "3.6.4", f"Misere does not outbid {auction.standing}.")
    return None


def _objection_to_game(setup: Setup, auction: Auction, bid: str) -> Refused | None:
    """A game goes above the last bid, without a jump where those are not allowed (3.3.8), and not below the exit level (3.7.8)."""
    if auction.standing and RANK[bid] <= RANK[auction.standing]:
        if auction.standing == MISERE:
            return Refused("bid_too_low", "3.6.4", "Only a nine or a ten outbids a misere (FN41).")
        return Refused("bid_too_low", "3.3.8", f"A bid must be higher than the last one, {auction.standing}.")
    if LEVEL[bid] < exit_level(setup):
        return Refused("bid_too_low", "3.7.8", f"After all-pass the lowest bid is of level {exit_level(setup)}.")
    if setup.convention.step_by_step and bid != next_step(setup, auction):
        return Refused("bid_not_on_ladder", "3.3.8", f"Bids climb step by step: the next one is {next_step(setup, auction)}.")
    return None


def exit_level(setup: Setup) -> int:
    """The lowest level that may be bid: 6, or after k all-pass deals in a row the k-th of the agreed exits; the last repeats (3.7.8)."""
    exits, in_row = setup.convention.all_pass.exit_levels, setup.series.all_pass_in_row
    return exits[min(in_row, len(exits)) - 1] if in_row else 6


def lowest_game(setup: Setup) -> str:
    """The lowest game that may open the auction."""
    return f"{exit_level(setup)}S"


def next_step(setup: Setup, auction: Auction) -> str:
    """The one game that may be bid where jumps are not allowed, "" above 10NT; misere, nobody's second call, is no step of this ladder."""
    above = RANK[auction.standing] if auction.standing else 0
    lowest = max(above + 1, RANK[lowest_game(setup)])
    return next((game for game in GAMES if RANK[game] >= lowest), "")


# ---- what is on offer --------------------------------------------------------------------------------------------------


def legal(deal: Deal, seat: int) -> Iterator[Bid]:
    """Every call that `decide` accepts from the seat on turn: pass, the ladder upward, here, take."""
    for word in (PASS, *LADDER, HERE, TAKE):
        move = Bid(word)
        if objection(deal.setup, deal.auction, seat, move) is None:
            yield move
