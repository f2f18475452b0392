"""Discard and contract: a wrong number of cards, a wrong order, a corrected one, an outsider's advice (3.4.4-3.4.12)."""

from __future__ import annotations

from msgspec.structs import replace

from shared.rules.adjudicated import damages
from shared.rules.adjudicated.court import Act, Court, Maker
from shared.rules.adjudicated.placing import ended
from shared.rules.adjudicated.play_acts import Decided, fine, wrong_count
from shared.rules.deal.decider import decide as deal_decides
from shared.rules.deal.decider import evolve as deal_after
from shared.rules.deal.ending import outcome, outcome_document
from shared.rules.deal.laying import defenders_laid
from shared.rules.deal.play import begin
from shared.rules.deal.position import NOBODY, Deal
from shared.rules.deck.cards import CARD_NUMBER
from shared.rules.deck.contract import LEVEL, MISERE, RANK, is_game
from shared.rules.language.game_events import CardsDiscarded, ContractDeclared, Event
from shared.rules.language.irregular_events import AttentionCalled, ContractTakenBack, DealEnded, DealStopped, OrderRefused
from shared.rules.language.moves import Declare, Discard
from shared.rules.language.refusal import Refused
from shared.rules.scoring.outcome import Infraction

WRONG_ORDER, WRONG_HAND, SECOND_ORDER, ADVICE_ON_ORDER = "3.4.4", "3.4.6", "3.4.8", "3.4.12"
MOST_DISCARDED = 4

# ---- the acts ----------------------------------------------------------------------------------------------------------


def decide_discard(court: Court, seat: int, move: Discard) -> Decided:
    """Two cards, or by mistake none to four: then the hand is not of ten (3.4.6)."""
    deal = court.deal
    decided = deal_decides(deal, seat, move)
    if not isinstance(decided, Refused) or decided.code != "wrong_discard_count" or len(move.cards) > MOST_DISCARDED:
        return decided
    if len(set(move.cards)) != len(move.cards):
        return Refused("duplicate_card", "3.4.2", "The discarded cards must differ.")
    for card in move.cards:
        if not deal.full_hands[seat] >> CARD_NUMBER[card] & 1:
            return Refused("card_not_held", "3.4.2", f"{card} is not in the declarer's hand.")
    put_away = CardsDiscarded(seat, " ".join(move.cards), irregular=WRONG_HAND)
    if deal.game.contract == MISERE and deal.setup.order[0] != seat:
        return put_away, defenders_laid(deal)
    return (put_away,)


def decide_contract(court: Court, seat: int, move: Declare, now: int | None) -> Decided:
    """The order, without a discard too; a wrong one; or a second one (3.4.8)."""
    deal = court.deal
    if deal.phase == "discard" and seat == deal.to_act and deal.game.contract != MISERE:
        ordered = decide_contract(replace(court, deal=replace(deal, phase="contract")), seat, move, now)
        if isinstance(ordered, Refused):
            return ordered
        declared, *rest = ordered
        return replace(declared, irregular=WRONG_HAND), *rest
    if seat == deal.game.declarer and is_game(deal.game.contract) and _before_the_lead(deal):
        return _again(court, seat, move, now)
    decided = deal_decides(deal, seat, move)
    if isinstance(decided, Refused):
        if decided.code not in ("contract_below_bid", "misere_not_first_bid"):
            return decided
        wrong = ContractDeclared(seat, move.contract, WRONG_ORDER)
        return (wrong, *_without_all(contract_declared(court, wrong), seat)) if court.wrong_orders else (wrong,)
    if court.fixed_order and move.contract != court.fixed_order:
        return Refused("call_not_allowed", ADVICE_ON_ORDER, f"After an outsider's advice the order is {court.fixed_order}.")
    return tuple(replace(event, at=now or 0) if isinstance(event, ContractDeclared) else event for event in decided)


def _before_the_lead(deal: Deal) -> bool:
    return deal.phase in ("whist", "lay") or (deal.play is not None and not deal.play.played)


def _again(court: Court, seat: int, move: Declare, now: int | None) -> Decided:
    """A slip of the tongue is corrected at once; after a pause, and while nobody has whisted, one level higher in any strain; after a whist
    not at all (3.4.7, 3.4.8).
    """
    deal = court.deal
    if court.fixed_order:
        return Refused("call_not_allowed", ADVICE_ON_ORDER, "After an outsider's advice neither strain nor level is changed.")
    if move.contract not in LEVEL:
        return Refused("misere_not_first_bid", "3.3.9", "Misere is ordered only by bidding it.")
    if RANK[move.contract] < RANK[deal.game.bid]:
        return Refused("contract_below_bid", "3.4.3", f"The bid was {deal.game.bid}.")
    at_once = deal.game.history == "" if now is None or not court.contract_at else now - court.contract_at <= court.terms.order_pause_ms
    if not at_once:
        if any(word in "whW" for word in deal.game.history):
            return Refused("call_not_allowed", "3.4.7", "Somebody has whisted: the order stands.")
        if LEVEL[move.contract] != LEVEL[deal.game.contract] + 1:
            return Refused("call_not_allowed", SECOND_ORDER, "After a pause the order can only be raised by one level.")
    return (ContractDeclared(seat, move.contract, at=now or 0),)


def _without_all(court: Court, seat: int) -> tuple[Event, ...]:
    """A second wrong order: "without all" at the level of the bid (3.4.4, Decision 23)."""
    refused = OrderRefused(seat)
    after = order_refused(court, refused)
    return refused, ended(after.deal, ())


# ---- evolve ------------------------------------------------------------------------------------------------------------


def cards_discarded(court: Court, event: CardsDiscarded) -> Court:
    """The hand is what is left; if it is not of ten, that is kept."""
    act = (Act("count", event.irregular, event.seat, event.seat, court.deal),) if event.irregular else ()
    return replace(court, deal=deal_after(court.deal, event), acts=(*court.acts, *act))


def contract_declared(court: Court, event: ContractDeclared) -> Court:
    """The contract, in place of an earlier one: all words on that one are void."""
    deal, acts = court.deal, court.acts
    if deal.phase == "discard":
        acts = (*acts, Act("count", WRONG_HAND, event.seat, event.seat, deal))
    if event.contract == MISERE or RANK[event.contract] < RANK[deal.game.bid]:
        acts = (*acts, Act("contract", WRONG_ORDER, event.seat, event.seat, deal, bid=event.contract))
    if deal.phase != "contract":
        deal = _anew(deal)
    misere = replace(deal, game=replace(deal.game, contract=MISERE))
    named = begin(misere) if event.contract == MISERE else deal_after(deal, event)
    return replace(court, deal=named, acts=acts, contract_at=event.at, ended=None)


def _anew(deal: Deal) -> Deal:
    game = replace(deal.game, contract="", calls=(None,) * deal.setup.players, history="", whister=NOBODY)
    return replace(deal, phase="contract", to_act=game.declarer, game=game, play=None)


def contract_taken_back(court: Court, _: ContractTakenBack) -> Court:
    """The declarer orders again."""
    return replace(court, deal=_anew(court.deal), wrong_orders=court.wrong_orders + 1, ended=None, stopped=False, confirmed=0)


def order_refused(court: Court, _: OrderRefused) -> Court:
    """The bid is what the declarer failed in, and nobody has whisted."""
    deal = _anew(court.deal)
    game = replace(deal.game, contract=deal.game.bid, gave_up="concede")
    return replace(court, deal=replace(deal, to_act=None, game=game), stopped=True)


def order_fixed(court: Court, _: AttentionCalled) -> Court:
    """After an outsider's advice the declarer's order stands; without one they order what they bid last (3.4.12) [conv]."""
    return replace(court, fixed_order=court.game.contract or court.game.bid)


def deal_stopped(court: Court, event: DealStopped) -> Court:
    """The cards are put down; what they prove may be claimed."""
    results = event.results if event.rule == damages.TALON_SHOWN else ()
    return replace(court, deal=replace(court.deal, to_act=None), results=results, stopped=True)


# ---- attention ---------------------------------------------------------------------------------------------------------


def wrong_order(court: Court, maker: Maker, index: int, act: Act) -> Decided:
    """Before the first lead the declarer must order again (3.4.4); later, or if nobody speaks, the order stands [conv]."""
    play = court.deal.play
    if play is not None and play.played:
        return Refused("call_not_allowed", WRONG_ORDER, "The play has begun: the order stands.")
    return AttentionCalled(WRONG_ORDER, act.seat, maker, index), ContractTakenBack(act.seat, WRONG_ORDER, index)


def advised(court: Court, maker: Maker, seat: int) -> Decided:
    """An outsider's advice on strain or level, before the first lead: the declarer may change neither (3.4.12). Of a deal that is over
    nothing can be changed in any case.
    """
    deal = court.deal
    if court.ended is not None and not court.terms.unchecked:
        return Refused("call_not_allowed", ADVICE_ON_ORDER, "The deal is over: no order can be changed any more.")
    if (
        seat == NOBODY
        or seat != deal.game.declarer
        or deal.game.bid == MISERE
        or not (deal.phase in ("discard", "contract") or _before_the_lead(deal))
    ):
        return Refused("call_not_allowed", ADVICE_ON_ORDER, "Only a declarer's order is fixed, before the first lead.")
    return (AttentionCalled(ADVICE_ON_ORDER, seat, maker),)


def wrong_hand(court: Court, maker: Maker, index: int, act: Act) -> Decided:
    """Before the first lead the deal is over, without two or without what was unavoidable and two more (3.4.6); later, and on a misere,
    3.9.18.
    """
    deal = court.deal
    if deal.game.contract == MISERE or (deal.play is not None and deal.play.played):
        return wrong_count(court, maker, index, act)
    if not deal.game.contract:
        return Refused("call_not_allowed", WRONG_HAND, "The declarer has not named the contract yet.")
    undertricks, proof = damages.unavoidable(act.before, deal.game.contract)
    stopped = DealStopped(WRONG_HAND, act.seat, (proof,))
    after = deal_stopped(court, stopped).deal
    result = replace(outcome(after, ()), calls=())
    return (
        AttentionCalled(WRONG_HAND, act.seat, maker, index),
        stopped,
        fine(court, Infraction(WRONG_HAND, act.seat, proved=undertricks or None)),
        DealEnded(outcome_document(result, deal.setup.players)),
    )
