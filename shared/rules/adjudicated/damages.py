"""What open cards prove: undertricks that no discard avoids (3.4.6), games that a shown talon spoilt (3.3.16.3), what a forfeited all-pass
would have been (3.9.14.3). The search plays the recorded deal; the arbiter may always enter another figure (Decision 18).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from shared.rules.adjudicated.court import DAMAGES, Act, Court
from shared.rules.deal.calling import lowest_game, objection
from shared.rules.deal.ending import outcome_document
from shared.rules.deal.position import NOBODY, Deal, Setup, bit
from shared.rules.deck.cards import CARDS, card_numbers, hand_text
from shared.rules.deck.contract import ALL_PASS, GAMES, LADDER, LEVEL, MISERE, PRICE, RANK, STRAIN, STRAINS, TRICKS
from shared.rules.deck.seats import clockwise_from
from shared.rules.deck.trick import BEATING
from shared.rules.language.amount import Amount, divided, exact, read, written
from shared.rules.language.game_events import CardPlayed, Event, HandsLaid, RemedyAsked
from shared.rules.language.irregular_events import DealEnded, DealStopped, FineWritten
from shared.rules.language.moves import Bid
from shared.rules.open_cards.all_pass import AllPassPlay, all_pass_tricks
from shared.rules.open_cards.declarer import best_line
from shared.rules.open_cards.discard import BestDiscard, best_discard
from shared.rules.scoring.infraction_document import infraction_document
from shared.rules.scoring.outcome import DealOutcome, Infraction
from shared.rules.scoring.prices import consolation_price, is_direct, price_on_whist, undertrick_price
from shared.rules.scoring.score import score_deal
from shared.rules.scoring.settlement import WHISTS_A_POINT, divisor, pool_weight, settle
from shared.rules.scoring.sheet import empty_sheet, write

TALON_SHOWN, REST_FORFEITED = "3.3.16.3", "3.9.14.3"


class Trial(msgspec.Struct, frozen=True):
    """What `declarer` would have come to in `contract` with this talon: their `tricks`, and by seat those of the search's line."""

    declarer: int
    contract: str
    tricks: int
    by_seat: tuple[int, ...]

    @property
    def undertricks(self) -> int:
        """How many tricks are missing; on misere those that they take."""
        return self.tricks if self.contract == MISERE else max(0, LEVEL[self.contract] - self.tricks)


# ---- 3.4.6 -------------------------------------------------------------------------------------------------------------


def unavoidable(before: Deal, contract: str) -> tuple[int, dict[str, Any]]:
    """Undertricks with the best discard from the twelve cards and best play, and what proves them; `before` is the deal at the discard.

    Which discard that is, is not told: everybody hears of the proof, and the hands are hidden until the deal is revealed.
    """
    declarer = before.game.declarer
    if not rightly_dealt(before):
        return 0, {}
    best = _best(before, before.full_hands, declarer, contract)
    missing = max(0, LEVEL[contract] - best.tricks)
    return missing, {"declarer": declarer, "contract": contract, "tricks": best.tricks}


def rightly_dealt(deal: Deal) -> bool:
    """Whether the search can play this deal: ten cards in every hand, two in the talon."""
    dealt = sum(hand.bit_count() for hand in deal.setup.dealt)
    return (
        len(deal.setup.talon) == 2
        and dealt == 3 * TRICKS
        and all(deal.setup.dealt[seat].bit_count() == TRICKS for seat in deal.setup.order)
    )


def _best(deal: Deal, hands: tuple[int, ...], declarer: int, contract: str) -> BestDiscard:
    return best_discard(hands, declarer, deal.setup.order[0], contract, deal.setup.order)


# ---- 3.3.16.3 ----------------------------------------------------------------------------------------------------------


def talon_shown(court: Court, act: Act, left: tuple[int, ...]) -> tuple[Event, ...]:
    """The deal is over and the hands are opened; the results of those who had not finished are what may be written on the offender."""
    deal, offender = court.deal, act.seat
    results = tuple(option for seat in left for option in _options(court, offender, seat)) if rightly_dealt(deal) else ()
    hands = tuple(hand_text(hand) if seat in deal.setup.order else None for seat, hand in enumerate(deal.full_hands))
    nothing = DealOutcome(dealer=deal.setup.dealer, contract=None)
    noted = Infraction(TALON_SHOWN, offender, ruled=True, reason="the talon was shown before the auction was over")
    return (
        HandsLaid(hands),
        DealStopped(TALON_SHOWN, offender, results),
        FineWritten(TALON_SHOWN, offender, (), infraction_document(noted, deal.setup.players)),
        DealEnded(outcome_document(nothing, deal.setup.players)),
    )


def _options(court: Court, offender: int, seat: int) -> Iterator[dict[str, Any]]:
    """What the result of `seat` is worth, and to whom: a game made to themselves, a remise to every other player but the offender."""
    setup = court.deal.setup
    trials = tuple(_trials(court, offender, seat))
    made = [one for one in trials if not one.undertricks]
    if made:
        best = max(made, key=lambda one: value_of_game(setup, one))
        yield from _written(seat, best, value_of_game(setup, best))
        return
    if not trials:
        return
    least = min(trials, key=lambda one: sum(worth_of_remise(setup, one, other) for other in range(setup.players) if other != seat))
    for other in range(setup.players):
        if other not in (seat, offender):
            yield from _written(other, least, worth_of_remise(setup, least, other))


def _written(writer: int, trial: Trial, whists: Amount) -> Iterator[dict[str, Any]]:
    if whists > 0:
        yield {
            "seat": writer,
            "declarer": trial.declarer,
            "contract": trial.contract,
            "tricks": trial.tricks,
            "whists": written(whists),
        }


def _trials(court: Court, offender: int, seat: int) -> Iterator[Trial]:
    """Every contract that `seat` could have ordered, tried with this talon and the best discard; of a strain the search is one."""
    deal = court.deal
    contracts = _open_to(court, offender, seat)
    talon = sum(map(bit, deal.setup.talon))
    hands = tuple(hand | talon if owner == seat else hand for owner, hand in enumerate(deal.full_hands))
    if MISERE in contracts:
        yield _tried(deal, hands, seat, MISERE, [MISERE])[0]
    for strain in STRAINS:
        games = [contract for contract in contracts if contract != MISERE and STRAIN[contract] == strain]
        if games:
            yield from _tried(deal, hands, seat, games[0], games)


def _tried(deal: Deal, hands: tuple[int, ...], seat: int, searched: str, games: list[str]) -> list[Trial]:
    setup = deal.setup
    best = _best(deal, hands, seat, searched)
    thrown = 1 << best.cards[0] | 1 << best.cards[1]
    ten = tuple(hand & ~thrown for hand in hands)
    line = best_line(ten, seat, setup.order[0], searched, (), setup.order)
    by_seat = _tricks_of(setup, ten, line, searched)
    return [Trial(seat, contract, best.tricks, by_seat) for contract in games]


def _tricks_of(setup: Setup, hands: tuple[int, ...], line: tuple[int, ...], contract: str) -> tuple[int, ...]:
    """Tricks by seat of a whole line of play."""
    taken, beating = [0] * len(hands), BEATING[STRAIN[contract]]
    owner = {card: seat for seat in setup.order for card in card_numbers(hands[seat])}
    for start in range(0, 3 * TRICKS, 3):
        best = line[start]
        for card in line[start + 1 : start + 3]:
            if beating[best] >> card & 1:
                best = card
        taken[owner[best]] += 1
    return tuple(taken)


def _open_to(court: Court, offender: int, seat: int) -> tuple[str, ...]:
    """Contracts not below their last call; if they had not called, every call open to them, the offender's bids aside."""
    setup = court.deal.setup
    own = [call.bid for call in court.calls if call.seat == seat]
    if own:
        return (MISERE,) if own[-1] == MISERE else tuple(game for game in GAMES if RANK[game] >= RANK[own[-1]])
    auction = court.deal.auction
    others = [(call.seat, call.bid) for call in court.calls if call.seat not in (offender, seat)]
    holder, standing = others[-1] if others else (NOBODY, "")
    called = auction.called & ~bit(seat)
    aside = replace(auction, standing=standing, holder=holder, called=called, over_misere=False, dark=False, no_talon=False)
    bids = tuple(bid for bid in LADDER if objection(setup, aside, seat, Bid(bid)) is None)
    return bids or (lowest_game(setup, aside),)


# ---- what a result is worth: the net of that deal alone, both defenders whisting, no whister short ---------------------


def value_of_game(setup: Setup, trial: Trial) -> Amount:
    """What a made contract brings its declarer in whists, less those that the defenders write for their tricks."""
    convention, players = setup.convention, setup.players
    price = PRICE[trial.contract]
    points = divided(WHISTS_A_POINT * pool_weight(convention) * price * (players - 1), divisor(convention, players))
    return points if trial.contract == MISERE else exact(points - price_on_whist(convention, price) * (TRICKS - trial.tricks))


def worth_of_remise(setup: Setup, trial: Trial, seat: int) -> Amount:
    """What a failed contract brings another player: their share of the mountain, the consolation, and a defender's own whists."""
    convention, price, k = setup.convention, PRICE[trial.contract], trial.undertricks
    share = divided(WHISTS_A_POINT * undertrick_price(convention, price) * k, divisor(convention, setup.players))
    if trial.contract == MISERE:
        return share
    if is_direct(convention):
        share = 0
    own = trial.by_seat[seat] if seat in setup.order else 0
    return exact(share + consolation_price(convention, price) * k + price_on_whist(convention, price) * own)


# ---- 3.9.14.3 ----------------------------------------------------------------------------------------------------------


def of_forfeited_tricks(act: Act, tricks: tuple[int, ...]) -> tuple[dict[str, Any], ...]:
    """By player what they lose against the search's line from before the act, where that is more."""
    setup = act.before.setup
    held = {act.before.held(seat).bit_count() - (seat not in seats_in(act.before)) for seat in setup.order}
    if not rightly_dealt(act.before) or len(held) > 1:  # somebody has a card too many or too few
        return ()
    line = line_of_all_pass(act.before)
    found = []
    for seat in range(setup.players):
        lost = lost_by(setup, line, tricks, seat)
        if seat != act.seat and lost > 0:
            found.append({"seat": seat, "declarer": act.seat, "contract": ALL_PASS, "by_seat": list(line), "whists": written(lost)})
    return tuple(found)


def seats_in(deal: Deal) -> tuple[int, ...]:
    """The hands that have played to the trick."""
    return tuple(one.seat for one in deal.play.trick if isinstance(one, CardPlayed)) if deal.play is not None else ()


def line_of_all_pass(deal: Deal) -> tuple[int, ...]:
    """All ten tricks by seat when everybody minimises their own from here on."""
    play, setup = deal.play, deal.setup
    if play is None:
        return deal.tricks
    talon = setup.talon[play.number - 1 :] if play.course.talon_tricks >= play.number else ()
    cards = tuple(CARDS.index(one.card) for one in play.trick if one.card not in {CARDS[card] for card in setup.talon})
    leader = play.turn
    for _ in cards:
        leader = play.course.after[play.course.after[leader]]
    hands = tuple(deal.held(seat) for seat in range(len(deal.full_hands)))
    dealer = setup.resting if talon and setup.resting != NOBODY else None
    rest = all_pass_tricks(AllPassPlay(hands, leader, cards, tuple(talon), dealer, _dummy(setup), setup.order))
    return tuple(taken + more for taken, more in zip(play.taken, (*rest, 0, 0), strict=False))


def _dummy(setup: Setup) -> int | None:
    return next((seat for seat in setup.order if seat >= setup.players), None)


def lost_by(setup: Setup, line: tuple[int, ...], tricks: tuple[int, ...], seat: int) -> Amount:
    """How much better the line's tricks would have been for `seat` than those of the table: nets of that deal alone (3.3.16.3)."""
    return exact(_net(setup, line)[seat] - _net(setup, tricks)[seat])


def _net(setup: Setup, tricks: tuple[int, ...]) -> tuple[Amount, ...]:
    result = DealOutcome(dealer=setup.dealer, contract=ALL_PASS, tricks=tricks[: setup.players])
    nothing = empty_sheet(setup.players)
    entries = score_deal(setup.convention, setup.players, None, nothing, result, setup.series)
    return settle(setup.convention, None, write(nothing, entries)).net


# ---- who writes what ---------------------------------------------------------------------------------------------------


def question(court: Court) -> RemedyAsked | None:
    """The next player, clockwise from the offender, who may write a proved result on them and has not said whether they do."""
    if not court.results or court.ended is None:
        return None
    offender = court.acts[court.called].seat
    for seat in clockwise_from(court.setup.players, offender):
        if not court.heard & bit(seat) and any(one["seat"] == seat for one in court.results):
            rule = TALON_SHOWN if court.ended.contract is None else REST_FORFEITED
            return RemedyAsked(DAMAGES, (seat,), offender, ("result", "pass"), "", rule)
    return None


def chosen(court: Court, seat: int, of: int, rule: str, declarer: int | None) -> tuple[Event, ...]:
    """The whists of one result: that of `declarer`, or the largest (FN25)."""
    own = [one for one in court.results if one["seat"] == seat and declarer in (None, one["declarer"])]
    if not own:
        return ()
    best = max(own, key=lambda one: read(one["whists"], "whists"))
    number = read(best["whists"], "whists")
    why = f"proved: {best['contract']} of seat {best['declarer']}" if rule == TALON_SHOWN else "proved: another line of all-pass"
    entry = {"seat": seat, "column": "whists", "on": of, "amount": best["whists"], "rule": rule, "why": why}
    ruled = Infraction(rule, of, ruled=True, whists=((seat, of, number),), reason=why)
    return (FineWritten(rule, of, (entry,), infraction_document(ruled, court.setup.players)),)
