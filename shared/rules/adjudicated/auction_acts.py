"""The auction at an adjudicated table: calls out of turn, insufficient calls, and a talon that was seen or taken too early (3.2.19-3.2.21,
3.3.8, 3.3.9, 3.3.16-3.3.18).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from msgspec.structs import replace

from shared.rules.adjudicated import damages
from shared.rules.adjudicated.court import NAMED_SUIT, SERVER, TALON, Act, Court, Maker, NamedSuit, settled
from shared.rules.adjudicated.looks import talon_cards
from shared.rules.adjudicated.placing import ended
from shared.rules.adjudicated.play_acts import Decided, fine
from shared.rules.deal import auction as lawful
from shared.rules.deal import dark
from shared.rules.deal.calling import PASS, TAKE, lowest_game, objection
from shared.rules.deal.decider import decide as deal_decides
from shared.rules.deal.decider import evolve as deal_after
from shared.rules.deal.position import NOBODY, Auction, Deal, bit
from shared.rules.deck.cards import CARD_NUMBER, CARDS, SUITS, card_numbers, hand_text, mask_of
from shared.rules.deck.contract import ALL_PASS, LADDER, MISERE, RANK, STRAIN, TRICKS, is_game
from shared.rules.deck.seats import active, clockwise_from, defenders
from shared.rules.language.game_events import AllPassed, AuctionWon, BidMade, CardPlayed, Event, RemedyAsked, TalonCardOpened, TalonTaken
from shared.rules.language.irregular_events import (
    AttentionCalled,
    BidderExcluded,
    CallTakenBack,
    RestForfeited,
    TalonReturned,
    TalonTakenEarly,
)
from shared.rules.language.moves import Bid, Take
from shared.rules.language.refusal import Refused
from shared.rules.scoring.outcome import Infraction

EARLY, INSUFFICIENT, SECOND_MISERE, TAKEN = "3.3.18", "3.3.8", "3.3.9", "3.2.20"
NOTHING_HEARD = ("bid_too_low", "misere_not_first_bid")  # objections to calls that are made all the same

# ---- the acts ----------------------------------------------------------------------------------------------------------


def decide_bid(court: Court, seat: int, move: Bid) -> Decided:
    """A call: in turn and sufficient, or one that waits for its turn (3.3.18), or one that does not raise the last bid (3.3.8)."""
    deal = court.deal
    if deal.phase != "auction" or move.bid not in lawful.WORDS or seat not in deal.setup.order:
        return lawful.decide(deal, seat, move)  # refused there
    if seat != deal.to_act:
        return _early(court, seat, move)
    if _won_in_the_dark(court):
        return lawful.decide(deal, seat, move)
    refused = objection(deal.setup, deal.auction, seat, move)
    if refused is None or (move.bid == TAKE and _after_two_passes(court, seat)):
        return said(court, seat, move)
    if refused.code not in NOTHING_HEARD or move.dark or move.no_talon:
        return refused
    made = BidMade(seat, move.bid, irregular=SECOND_MISERE if refused.code == "misere_not_first_bid" else INSUFFICIENT)
    return made, *concluded(bid_made(court, made))


def _early(court: Court, seat: int, move: Bid) -> Decided:
    auction = court.deal.auction
    if auction.passed & bit(seat):
        return Refused("already_passed", "3.3.10", "A pass is final: a player who has passed does not call again in this auction.")
    if auction.out & bit(seat) or move.bid not in (*LADDER, PASS) or move.dark or move.no_talon:
        return Refused("not_your_turn", "3.3.2", f"It is seat {court.deal.to_act}'s turn to call.")
    if any(one == seat for one, _, _ in court.early):
        return Refused("not_your_turn", EARLY, "Your call already waits for your turn.")
    return (BidMade(seat, move.bid, irregular=EARLY),)


def _is_ordinary(court: Court) -> bool:
    """Whether the auction has gone as it should: then what a call ends is what it always ends."""
    return court.pretender == court.talon_with == court.first_tricks_of == NOBODY and not court.excluded


def _won_in_the_dark(court: Court) -> bool:
    """Whether the winner is asked once more, for they have not looked yet (3.3.19); not a last bidder who was thought outbid."""
    return court.pretender == NOBODY and dark.won(court.deal)


def said(court: Court, seat: int, move: Bid) -> tuple[Event, ...]:
    """A sufficient call of the seat on turn, and what it ends."""
    made = BidMade(seat, move.bid, move.dark, move.no_talon)
    if _is_ordinary(court):
        return lawful.call_made(court.deal, made)
    seen = dark.own_hand_seen(court.deal, seat) if not move.dark and court.deal.auction.unseen & bit(seat) else ()
    return made, *seen, *concluded(bid_made(court, made))


def concluded(court: Court) -> tuple[Event, ...]:
    """What follows when nobody has anything to call any more: the winner takes the talon, or all have passed."""
    deal = court.deal
    won_in_the_dark = _won_in_the_dark(court)
    if deal.phase != "auction" or (deal.to_act is not None and not won_in_the_dark):
        return ()
    holder = deal.auction.holder if court.pretender == NOBODY else court.pretender
    if court.talon_with not in (NOBODY, holder):  # the talon is not there: now everybody sees it
        index = next(number for number, act in enumerate(court.acts) if act.kind == "take" and act.standing)
        called = taken_early(court, SERVER, index, court.acts[index])
        return () if isinstance(called, Refused) else called
    if won_in_the_dark:
        return ()
    if holder == NOBODY:
        return all_passed(court)
    return lawful.won_openly(deal) if court.pretender == NOBODY else won(deal, holder, lowest_sufficient(deal))


def all_passed(court: Court) -> tuple[Event, ...]:
    """All-pass; where the talon is not opened, who saw it takes all ten tricks (3.2.19)."""
    setup, look = court.deal.setup, dark.all_look(court.deal)
    if setup.talon_leads:
        return AllPassed(), *look, TalonCardOpened(CARDS[setup.talon[0]])
    if court.first_tricks_of == NOBODY:
        return (AllPassed(), *look)
    tricks = tuple(TRICKS if seat == court.first_tricks_of else 0 for seat in range(len(court.deal.full_hands)))
    after = deal_after(court.deal, AllPassed())
    return AllPassed(), *look, RestForfeited("3.2.19", court.first_tricks_of, tricks), ended(after, tricks)


def decide_take(court: Court, seat: int, move: Take) -> Decided:
    """The third hand after two passes buys the talon so (3.3.15); anybody else takes it too early (3.2.20)."""
    deal = court.deal
    if _won_in_the_dark(court):
        return deal_decides(deal, seat, move)
    if deal.phase != "auction":
        return Refused("wrong_phase", TAKEN, "The talon lies on the table only while the auction goes on.")
    if seat not in deal.setup.order or court.talon_with != NOBODY:
        return Refused("call_not_allowed", TAKEN, "The talon is not on the table, or you take no part in this deal.")
    if court.excluded & bit(seat) or deal.auction.passed & bit(seat):
        return Refused("already_passed", "3.3.10", "You have no more say in this auction.")
    if _after_two_passes(court, seat):
        return said(court, seat, Bid(TAKE))
    return (TalonTakenEarly(seat, talon_cards(deal), TAKEN),)


def _after_two_passes(court: Court, seat: int) -> bool:
    """Whether it is the third hand, and the others have passed: then the talon is theirs to take (3.3.15)."""
    first, second, third = court.deal.setup.order
    return seat == third and court.deal.auction.passed == bit(first) | bit(second) and not court.excluded


# ---- evolve ------------------------------------------------------------------------------------------------------------


def bid_made(court: Court, event: BidMade) -> Court:
    """The call counts, or waits for its turn, or nobody noticed that it does not raise the last bid."""
    deal, seat = court.deal, event.seat
    if event.irregular == EARLY:
        act = Act("early_call", EARLY, seat, seat, deal, bid=event.bid)
        return replace(court, acts=(*court.acts, act), early=(*court.early, (seat, event.bid, len(court.acts))))
    early = tuple(one for one in court.early if one[0] != seat)
    if event.irregular:
        act = Act("call", event.irregular, seat, seat, deal, bid=event.bid, pretender=court.pretender)
        auction = replace(deal.auction, calls=(*deal.auction.calls, event), called=deal.auction.called | bit(seat))
        heard = replace(deal, auction=auction, to_act=_next_heard(auction, deal, seat, seat))
        return replace(court, deal=heard, acts=(*court.acts, act), early=early, pretender=seat)
    after = deal_after(deal, event)
    if event.bid == PASS:
        if court.pretender == NOBODY:
            return replace(court, deal=after, early=early)
        return replace(court, deal=replace(after, to_act=_next_heard(after.auction, deal, seat, court.pretender)), early=early)
    counted = (*court.calls, replace(event, bid=after.auction.standing))
    return replace(court, deal=after, early=early, calls=counted, pretender=NOBODY)


def _next_heard(auction: Auction, deal: Deal, seat: int, pretender: int) -> int | None:
    """Who calls after `seat` when all take the pretender's call for a good one: anybody else who has not passed, the last bidder too."""
    for neighbour in clockwise_from(deal.setup.players, seat):
        if neighbour in deal.setup.order and neighbour != pretender and not auction.out & bit(neighbour):
            return neighbour
    return None


def lowest_sufficient(deal: Deal) -> str:
    """The lowest game that would have been a good call (3.3.8)."""
    above = max(RANK[deal.auction.standing] if deal.auction.standing else 0, RANK[lowest_game(deal.setup, deal.auction)] - 1)
    return next((game for game in LADDER if RANK[game] > above and is_game(game)), LADDER[-1])


def call_taken_back(court: Court, event: CallTakenBack) -> Court:
    """The call never was; of one that waited for its turn nothing else goes."""
    act = court.acts[event.act]
    acts = settled(court.acts, event.act) if act.kind == "call" else court.acts
    if act.kind == "early_call":
        return replace(court, early=tuple(one for one in court.early if one[2] != event.act))
    back = replace(act.before, incidents=court.deal.incidents, full_hands=court.deal.full_hands)
    return replace(court, deal=back, acts=acts, pretender=act.pretender)


def talon_taken_early(court: Court, event: TalonTakenEarly) -> Court:
    """The player holds twelve cards."""
    deal = court.deal
    act = Act("take", event.irregular, event.seat, event.seat, deal)
    hands = _with(deal, event.seat, deal.full_hands[event.seat] | mask_of(event.cards or ""))
    return replace(court, deal=replace(deal, full_hands=hands), acts=(*court.acts, act), talon_with=event.seat)


def bidder_excluded(court: Court, event: BidderExcluded) -> Court:
    """All bids of the player are void and they have no more say; those of the others stand (3.3.16.1)."""
    deal, seat = court.deal, event.seat
    calls = tuple(call for call in court.calls if call.seat != seat)
    silent, now = deal.auction.passed | court.excluded | bit(seat), deal.auction
    auction = Auction(calls=now.calls, called=now.called, passed=now.passed, out=silent, unseen=now.unseen, dark_passed=now.dark_passed)
    for call in calls:
        over_misere = auction.over_misere or (auction.standing == MISERE and call.bid != MISERE)
        how = {"dark": call.dark, "no_talon": call.no_talon, "over_misere": over_misere}
        auction = replace(auction, standing=call.bid, holder=call.seat, **how)
    if auction.over_misere:  # FN41: once a misere is outbid, only who has not called at all may still call
        auction = replace(auction, out=silent | auction.called & ~bit(auction.holder))
    asked = deal.to_act
    if asked is None or asked in (seat, auction.holder) or auction.out & bit(asked):
        asked = lawful.next_caller(auction, deal.setup, seat if asked is None else asked)
        if asked is not None and auction.out & bit(asked):
            asked = None
    if asked is None and auction.holder != NOBODY and auction.unseen & bit(auction.holder):
        asked = auction.holder  # the winner has not looked, and is asked once more (3.3.19)
    pretender = NOBODY if court.pretender == seat else court.pretender
    early = tuple(one for one in court.early if one[0] != seat)
    first = court.first_tricks_of if seat not in deal.setup.order else seat
    return replace(
        court, deal=replace(deal, auction=auction, to_act=asked), calls=calls, excluded=court.excluded | bit(seat), pretender=pretender,
        early=early, first_tricks_of=first,
    )  # fmt: skip


def talon_returned(court: Court, event: TalonReturned) -> Court:
    """Ten of the twelve cards are the player's hand, two the talon."""
    deal = court.deal
    hand, talon = mask_of(event.hand or ""), (event.talon or "").split()
    setup = replace(deal.setup, talon=(CARD_NUMBER[talon[0]], CARD_NUMBER[talon[1]]))
    return replace(court, deal=replace(deal, setup=setup, full_hands=_with(deal, event.seat, hand)), talon_with=NOBODY)


def _with(deal: Deal, seat: int, hand: int) -> tuple[int, ...]:
    return (*deal.full_hands[:seat], hand, *deal.full_hands[seat + 1 :])


def acts_settled(court: Court, event: AttentionCalled) -> Court:
    """The act is remedied, and it is the one that a question will be about."""
    acts = settled(court.acts, event.act) if event.act >= 0 else court.acts
    return replace(court, acts=acts, called=event.act, confirmed=0)


def early_call_called(court: Court, event: AttentionCalled) -> Court:
    """If they defend, declarer may forbid or order the suit that they named; pass, no trump and misere named nothing (3.3.18)."""
    act = court.acts[event.act]
    strain = STRAIN.get(act.bid, "NT") if is_game(act.bid) else "NT"
    if strain == "NT":
        return court
    return replace(court, named=(*court.named, NamedSuit(event.seat, SUITS.index(strain), event.act)))


# ---- attention ---------------------------------------------------------------------------------------------------------


def early_call(court: Court, maker: Maker, index: int, act: Act) -> Decided:
    """Until the other defender's first lead (3.3.18)."""
    play, deal = court.deal.play, court.deal
    if court.ended is not None and not court.terms.unchecked:
        return Refused("call_not_allowed", EARLY, "The deal is over, so the lead that this call concerned will not be made.")
    if play is not None and any(seat in other_defenders(deal, act.seat) for seat in _leaders(deal)):
        return Refused("call_not_allowed", EARLY, "The lead that this call concerned has already been made.")
    return (AttentionCalled(EARLY, act.seat, maker, index),)


def early_call_due(court: Court) -> tuple[Event, ...]:
    """A call that waited for its turn, and now stands; if it is no longer sufficient the player calls again (3.3.18)."""
    deal = court.deal
    for seat, bid, index in court.early:
        if seat == deal.to_act:
            if objection(deal.setup, deal.auction, seat, Bid(bid)) is None:
                return said(court, seat, Bid(bid))
            return (CallTakenBack(seat, EARLY, index),)
    return ()


def other_defenders(deal: Deal, seat: int) -> tuple[int, ...]:
    """The other defender where `seat` defends."""
    opposed = defenders(deal.setup.players, deal.setup.dealer, deal.game.declarer) if deal.game.declarer != NOBODY else ()
    return tuple(other for other in opposed if seat in opposed and other != seat)


def _leaders(deal: Deal) -> Iterator[int]:
    """Whose card was first in every trick so far."""
    if deal.play is not None:
        for trick in (*deal.play.closed, deal.play.trick):
            yield from (one.seat for one in trick[:1] if isinstance(one, CardPlayed))


def lead_question(court: Court) -> RemedyAsked | None:
    """What the declarer is asked at the first lead of the defender whose partner named a suit out of turn (3.3.18)."""
    deal = court.deal
    if deal.play is None or deal.play.trick or deal.game.contract == ALL_PASS:
        return None
    for one in court.named:
        if deal.play.turn in other_defenders(deal, one.seat):
            return RemedyAsked(NAMED_SUIT, (deal.game.declarer,), deal.play.turn, ("accept", "forbid", "order"), "", EARLY)
    return None


def insufficient(court: Court, maker: Maker, index: int, act: Act) -> Decided:
    """Before the next call (3.3.8, FN22): the player calls again, anything that is allowed, a pass included."""
    now, then = court.deal, act.before
    if now.phase != "auction" or len(now.auction.calls) != len(then.auction.calls) + 1:
        return Refused("call_not_allowed", act.rule, "Attention to an insufficient bid must be called before the next call is made.")
    return AttentionCalled(act.rule, act.seat, maker, index), CallTakenBack(act.seat, act.rule, index)


def saw_talon(court: Court, maker: Maker, index: int, act: Act) -> Decided:
    """The player has no more say (3.2.19, 3.3.16.1) and writes five into their mountain (3.2.21); once the auction is over, only that."""
    called = AttentionCalled(SEEN if court.deal.phase == "auction" and not court.stopped else "3.2.21", act.seat, maker, index)
    points = () if _fined(court, act.seat) else (five_points(court, act.seat),)
    return called, *points, *excluded(court, act.seat, "3.3.16.1")


SEEN = "3.2.19"


def _fined(court: Court, seat: int) -> bool:
    return any(one.rule == "3.2.21" and one.seat == seat for one in court.infractions)


def five_points(court: Court, seat: int) -> Event:
    """The fine of a deliberate look (3.2.21, Decision 23)."""
    entry = {"seat": seat, "column": "mountain", "amount": 5, "rule": "3.2.21", "why": "fine: 5 points"}
    return fine(court, Infraction("3.2.21", seat), (entry,))


def excluded(court: Court, seat: int, rule: str) -> tuple[Event, ...]:
    """Out of the auction, if the player was in it and it goes on; and what that ends."""
    if court.deal.phase != "auction" or court.stopped or court.excluded & bit(seat) or seat not in court.deal.setup.order:
        return ()
    out = BidderExcluded(seat, rule)
    return out, *concluded(bidder_excluded(court, out))


def taken_early(court: Court, maker: Maker, index: int, act: Act) -> Decided:
    """The player has no more say; their twelve cards are shuffled, and two drawn blind are the talon (3.2.20, 3.3.17)."""
    if court.deal.phase != "auction" or court.talon_with != act.seat:
        return Refused("call_not_allowed", TAKEN, "The auction is over, and the player who took the talon has won it.")
    kept, drawn = _drawn(court, act.seat)
    back = TalonReturned(act.seat, hand_text(kept), " ".join(CARDS[card] for card in drawn))
    out = BidderExcluded(act.seat, TAKEN)
    after = bidder_excluded(talon_returned(court, back), out)
    return AttentionCalled(TAKEN, act.seat, maker, index), back, out, *concluded(after)


def _drawn(court: Court, seat: int) -> tuple[int, tuple[int, int]]:
    """What is left in the hand, and the two cards that are drawn: an order that only the deal's secret entropy decides."""
    cards = card_numbers(court.deal.full_hands[seat])
    order = sorted(cards, key=lambda card: hashlib.sha256(f"{court.entropy} talon {card}".encode()).digest())
    one, other = order[:2]
    return court.deal.full_hands[seat] & ~(1 << one | 1 << other), (one, other)


def showed_talon(court: Court, maker: Maker, index: int, act: Act) -> Decided:
    """Everybody has seen it: with one other player in the auction it is theirs (3.3.16.2), with more the deal is over (3.3.16.3)."""
    deal = court.deal
    called = AttentionCalled("3.3.16.2", act.seat, maker, index)
    if deal.phase != "auction":
        return Refused("call_not_allowed", "3.3.16", "The auction is over.")
    bidders = active(deal.setup.players, deal.setup.dealer)
    left = tuple(seat for seat in bidders if seat != act.seat and not deal.auction.out & bit(seat))
    if not left:
        return called, *excluded(court, act.seat, "3.3.16.2")
    if len(left) > 1:
        return AttentionCalled("3.3.16.3", act.seat, maker, index), *damages.talon_shown(court, act, left)
    own = [call.bid for call in court.calls if call.seat == left[0]]
    if own:
        return called, *won(deal, left[0], own[-1])
    return called, RemedyAsked(TALON, left, act.seat, ("talon", "pass"), "", "3.3.16.2")


def won(deal: Deal, seat: int, bid: str) -> tuple[Event, ...]:
    """The player has won the auction from `bid`."""
    return AuctionWon(seat, bid), *dark.all_look(deal), TalonTaken(seat, talon_cards(deal))


def remedy_talon(court: Court, seat: int, offender: int, choice: str) -> tuple[Event, ...]:
    """Who had not called takes the talon and orders any trick contract, or passes: then the deal is all-pass by 3.2.19 [conv]."""
    if choice == "talon":
        return won(court.deal, seat, lowest_game(court.deal.setup, court.deal.auction))
    out = BidderExcluded(offender, "3.2.19")
    after = bidder_excluded(court, out)
    return out, *all_passed(after)
