"""The auction: who calls when, and who wins (3.3). State is `Auction` in `position.py`; which calls are allowed stands in `calling.py`.

Evolve, then decide, then what is on offer. What a call in the dark brings with it is `dark.py`'s, an invitation to share a misere
`invitation.py`'s.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from shared.rules.deal import dark, invitation
from shared.rules.deal.calling import HERE, PASS, TAKE, bids_without_talon, legal_calls, lowest_game, objection, standing_step, step
from shared.rules.deal.incidents import Invitation
from shared.rules.deal.laying import defenders_laid
from shared.rules.deal.play import begin
from shared.rules.deal.position import NOBODY, Auction, Deal, Game, Setup, bit
from shared.rules.deck.cards import CARDS
from shared.rules.deck.contract import LADDER, LEVEL, MISERE
from shared.rules.deck.seats import clockwise_from
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import AllPassed, AuctionWon, BidMade, InvitationAnswered, TalonCardOpened, TalonTaken
from shared.rules.language.moves import Bid, Invite, Look, Take
from shared.rules.language.refusal import Refused

WORDS = frozenset((*LADDER, PASS, HERE, TAKE))


# ---- evolve ------------------------------------------------------------------------------------------------------------


def bid_made(deal: Deal, event: BidMade) -> Deal:
    """The auction after a call, and who is next."""
    auction = called(deal.auction, deal.setup, event)
    to_act = next_or_winner(auction, deal.setup, event.seat)
    return Deal(deal.setup, deal.phase, to_act, deal.full_hands, auction, deal.game, deal.play, deal.score, deal.incidents)


def called(auction: Auction, setup: Setup, call: BidMade) -> Auction:
    """The auction after one more call. A player who calls with open eyes has seen their cards (3.3.19)."""
    calls, own, bid = (*auction.calls, call), bit(call.seat), call.bid
    everybody, unseen = auction.called | own, auction.unseen if call.dark else auction.unseen & ~own
    if bid == PASS:
        return Auction(
            calls,
            auction.standing,
            auction.holder,
            everybody,
            auction.passed | own,
            auction.out | own,
            auction.over_misere,
            auction.dark,
            auction.no_talon,
            unseen,
            auction.dark_passed | own if call.dark else auction.dark_passed,
            auction.shared,
        )
    over_misere = auction.over_misere or (auction.standing == MISERE and auction.holder != call.seat)
    standing = auction.standing if bid == HERE else lowest_game(setup, auction) if bid == TAKE else bid
    after = Auction(
        calls,
        standing,
        call.seat,
        everybody,
        auction.passed,
        auction.out,
        over_misere,
        call.dark,
        call.no_talon,
        unseen,
        auction.dark_passed,
        auction.shared,
    )
    if not over_misere:
        return after
    # FN41: once a misere is outbid, only who has not called at all may still call.
    return replace(after, out=after.passed | after.called & ~own & ~_still_in(setup, after))


def _still_in(setup: Setup, auction: Auction) -> int:
    """Who has called and keeps a say over an outbid misere, where it is also bid without the talon (Decision 10) [conv]: its bidder as
    long as that is higher, and over it whoever bid a nine.
    """
    if not bids_without_talon(setup.convention):
        return 0
    highest = standing_step(auction) - step(MISERE, no_talon=True)
    if highest > 0:
        return 0
    kept = [call.seat for call in auction.calls if (call.bid == MISERE if highest < 0 else LEVEL.get(call.bid, 0) >= LEVEL["9S"])]
    return sum(map(bit, set(kept)))


def next_caller(auction: Auction, setup: Setup, seat: int) -> int | None:
    """The next seat that has a say, clockwise from `seat`; the holder of the last bid has none over it."""
    silent = auction.out if auction.holder == NOBODY else auction.out | bit(auction.holder)
    for neighbour in clockwise_from(setup.players, seat):
        if neighbour in setup.order and not silent & bit(neighbour):
            return neighbour
    return None


def next_or_winner(auction: Auction, setup: Setup, seat: int) -> int | None:
    """The next caller, or with nobody left to call the winner in the dark, who takes the talon; else nobody."""
    neighbour = next_caller(auction, setup, seat)
    if neighbour is None and auction.unseen and auction.holder != NOBODY and auction.unseen & bit(auction.holder):
        return auction.holder
    return neighbour


def auction_won(deal: Deal, event: AuctionWon) -> Deal:
    """The winner is declarer; a misere bid is the contract at once (3.3.11, 3.3.9). Without the talon nothing is put away (FN41)."""
    contract = MISERE if event.bid == MISERE else ""
    calls = (None,) * deal.setup.players
    game = Game(event.seat, event.bid, contract, calls=calls, looked=deal.game.looked, dark=event.dark, no_talon=event.no_talon)
    won = Deal(deal.setup, "discard", event.seat, deal.full_hands, deal.auction, game, None, None, deal.incidents)
    if not event.no_talon:
        return won
    return begin(won) if contract else replace(won, phase="contract")


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide(deal: Deal, seat: int, move: Bid) -> tuple[DealEvent, ...] | Refused:
    """A call, and what it ends: the winner takes the talon, shown to all (3.3.11, 3.4.1), or all have passed (3.3.12).

    Who wins in the dark is asked once more, and takes the talon or says misere (3.3.19).
    """
    setup, auction = deal.setup, deal.auction
    if move.bid not in WORDS:
        return Refused("malformed", "3.3.7", f"{move.bid!r} is no call: there are 6S to 10NT, misere, pass, here and take.")
    if deal.phase != "auction":
        return Refused("wrong_phase", "3.3.11", "The auction is over; no call can be added or withdrawn.")
    if seat != deal.to_act:
        if auction.passed & bit(seat):
            return Refused("not_your_turn", "3.3.10", "A pass is final: a player who has passed has no further turn in this auction.")
        return Refused("not_your_turn", "3.3.2", f"Calls go clockwise from the first hand, one a turn; it is seat {deal.to_act}'s turn.")
    # only the winner in the dark is on turn over their own bid
    refused = dark.objection_to_bid(auction, move) if auction.holder == seat else objection(setup, auction, seat, move)
    if refused is not None:
        return refused
    return call_made(deal, BidMade(seat, move.bid, move.dark, move.no_talon))


def decide_answer(deal: Deal, invited: Invitation, seat: int, accept: bool) -> tuple[DealEvent, ...]:  # noqa: FBT001 - what was said
    """The resting dealer's answer to an invitation; accepted, the misere is bid at once (3.6.9)."""
    answered = InvitationAnswered(seat, accept)
    if not accept:
        return (answered,)
    return (answered, *call_made(invitation.invitation_answered(deal, answered), BidMade(invited.seat, MISERE)))


def call_made(deal: Deal, made: BidMade) -> tuple[DealEvent, ...]:
    """An allowed call and all that follows from it."""
    auction = called(deal.auction, deal.setup, made)
    seen = dark.own_hand_seen(deal, made.seat) if deal.auction.unseen != auction.unseen else ()
    if next_or_winner(auction, deal.setup, made.seat) is not None:
        return (made, *seen)
    after = bid_made(deal, made)
    if auction.holder == NOBODY:
        return (made, *seen, AllPassed(), *dark.all_look(after), *_first_talon_card(deal.setup))
    return (made, *seen, *won_openly(after))


def won_openly(deal: Deal) -> tuple[DealEvent, ...]:
    """The auction is over and its winner has seen their cards: they take the talon, shown to all, or leave it if they bid so."""
    setup, auction, seat = deal.setup, deal.auction, deal.auction.holder
    look = dark.all_look(deal)
    if not auction.no_talon:
        return (AuctionWon(seat, auction.standing), *look, TalonTaken(seat, " ".join(CARDS[card] for card in setup.talon)))
    won = AuctionWon(seat, auction.standing, no_talon=True)
    lays = won.bid == MISERE and setup.order[0] != seat
    return (won, *look, defenders_laid(auction_won(deal, won))) if lays else (won, *look)


def forced_all_pass(deal: Deal) -> tuple[DealEvent, ...]:
    """What a deal begins with that is an all-pass before anybody is asked (3.7.9); nothing for any other."""
    return (AllPassed(forced=True), *_first_talon_card(deal.setup)) if deal.setup.forced else ()


def _first_talon_card(setup: Setup) -> tuple[TalonCardOpened, ...]:
    return (TalonCardOpened(CARDS[setup.talon[0]]),) if setup.talon_leads else ()


# ---- what is on offer --------------------------------------------------------------------------------------------------


def legal(deal: Deal, seat: int) -> Iterator[Bid | Look | Take | Invite]:
    """Everything that is accepted from the seat on turn: calls from the lowest, then a look at one's cards, an invitation."""
    setup, auction = deal.setup, deal.auction
    if dark.won(deal):
        yield Take()
        yield from (move for move in (Bid(MISERE),) if dark.objection_to_bid(auction, move) is None)
    else:
        yield from legal_calls(setup, auction, seat)
    if auction.unseen & bit(seat):
        yield Look()
    if invitation.objection(deal, seat) is None:
        yield Invite()
