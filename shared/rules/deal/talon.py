"""The talon in the declarer's hand: two cards go away face down, then the contract is named (3.4). Evolve, decide, what is on offer.

On misere the bid is the contract, so play begins with the discard; else the declarer may give up before it where the convention allows that
(FN40).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from msgspec.structs import replace

from shared.rules.deal.dark import obliged_to_whist
from shared.rules.deal.ending import scored
from shared.rules.deal.laying import catchers_laid, defenders_laid, is_checked
from shared.rules.deal.play import begin
from shared.rules.deal.position import Deal
from shared.rules.deck.cards import CARD_NUMBER, CARDS, card_numbers, mask_of
from shared.rules.deck.contract import GAMES, MISERE, RANK
from shared.rules.deck.seats import defenders
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import CardsDiscarded, ContractDeclared, GaveUpWithoutThree, TalonTaken
from shared.rules.language.moves import Declare, Discard, WithoutThree
from shared.rules.language.refusal import Refused
from shared.rules.scoring.trick_game import may_give_up_without_three
from shared.rules.scoring.whist_calls import FIRST

DISCARDED = 2  # cards put away, as many as the talon had


# ---- evolve ------------------------------------------------------------------------------------------------------------


def talon_taken(deal: Deal, event: TalonTaken) -> Deal:
    """The declarer holds twelve cards."""
    return replace(deal, full_hands=_changed(deal, event.seat, deal.full_hands[event.seat] | mask_of(event.cards)))


def cards_discarded(deal: Deal, event: CardsDiscarded) -> Deal:
    """Ten cards again; the contract is to be named, or is the misere that was bid."""
    away = mask_of(event.cards or "")
    kept = replace(
        deal, full_hands=_changed(deal, event.seat, deal.full_hands[event.seat] & ~away), game=replace(deal.game, discarded=away)
    )
    return begin(kept) if deal.game.contract == MISERE else replace(kept, phase="contract")


def contract_declared(deal: Deal, event: ContractDeclared) -> Deal:
    """The left neighbour at play speaks first (3.8.1); a checked ten has no calls."""
    setup, named = deal.setup, replace(deal, game=replace(deal.game, contract=event.contract))
    if is_checked(named):
        return begin(named)
    return replace(named, phase="whist", to_act=defenders(setup.players, setup.dealer, deal.game.declarer)[FIRST])


def gave_up_without_three(deal: Deal, _: GaveUpWithoutThree) -> Deal:
    """The bid is what the declarer failed in (FN40)."""
    return replace(deal, to_act=None, game=replace(deal.game, contract=deal.game.bid, gave_up="without_three"))


def _changed(deal: Deal, seat: int, hand: int) -> tuple[int, ...]:
    return (*deal.full_hands[:seat], hand, *deal.full_hands[seat + 1 :])


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide_discard(deal: Deal, seat: int, move: Discard) -> tuple[DealEvent, ...] | Refused:
    """Two different cards of the twelve, face down (3.4.2); on misere the defenders' hands are laid if one of them leads (3.6.6), on a dark
    one never (3.6.5).
    """
    for card in move.cards:
        if card not in CARD_NUMBER:
            return Refused("malformed", "1.3.5", f"{card!r} is no card.")
    refused = _not_discarding(deal, seat)
    if refused is not None:
        return refused
    if len(move.cards) != DISCARDED:
        return Refused("wrong_discard_count", "3.4.2", f"Discard two cards, not {len(move.cards)}.")
    if len(set(move.cards)) != DISCARDED:
        return Refused("duplicate_card", "3.4.2", "Discard two different cards.")
    for card in move.cards:
        if not deal.full_hands[seat] >> CARD_NUMBER[card] & 1:
            return Refused("card_not_held", "3.4.2", f"{card} is not in the declarer's hand.")
    put_away = CardsDiscarded(seat, " ".join(move.cards))
    if deal.game.contract == MISERE and deal.setup.order[0] != seat:
        return (put_away, *catchers_laid(deal))
    return (put_away,)


def decide_without_three(deal: Deal, seat: int, _: WithoutThree) -> tuple[DealEvent, ...] | Refused:
    """Giving up before the discard, at the level of the bid (FN40)."""
    refused = _not_discarding(deal, seat)
    if refused is not None:
        return refused
    if not may_give_up(deal):
        return Refused("call_not_allowed", "3.5.4", 'In this pulka a contract at this level cannot be given up "without three" (FN40).')
    gave_up = GaveUpWithoutThree(seat)
    return (gave_up, scored(gave_up_without_three(deal, gave_up)))


def decide_contract(deal: Deal, seat: int, move: Declare) -> tuple[DealEvent, ...] | Refused:
    """A trick game not below the bid (3.4.3); misere only at once (3.3.9, 3.4.4)."""
    contract = move.contract
    if contract not in RANK:
        return Refused("malformed", "3.3.7", f"{contract!r} is no contract: the ladder goes from 6S to 10NT.")
    if deal.phase != "contract":
        return Refused("wrong_phase", "3.4.3", "The contract is named once, after the discard and before the first word of the defenders.")
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.4.3", "Only the declarer names the contract.")
    if contract == MISERE:
        return Refused("misere_not_first_bid", "3.3.9", "Misere cannot be ordered after a game was bid.")
    if RANK[contract] < RANK[deal.game.bid]:
        return Refused("contract_below_bid", "3.4.3", f"The contract may not be lower than the bid, {deal.game.bid}.")
    declared = ContractDeclared(seat, contract)
    after = contract_declared(deal, declared)
    return (declared, defenders_laid(after)) if is_checked(after) else (declared, *obliged_to_whist(after))


def _not_discarding(deal: Deal, seat: int) -> Refused | None:
    if deal.phase != "discard":
        return Refused("wrong_phase", "3.4.2", "The declarer discards once, after the talon is taken.")
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.4.2", "Only the declarer discards.")
    return None


def may_give_up(deal: Deal) -> bool:
    """Whether the convention lets this bidder go without three."""
    return may_give_up_without_three(deal.setup.convention, deal.game.bid)


# ---- what is on offer --------------------------------------------------------------------------------------------------


def legal_discards(deal: Deal) -> Iterator[Discard]:
    """Every pair of the twelve cards, lower cards first."""
    for one, other in combinations(card_numbers(deal.full_hands[deal.game.declarer]), DISCARDED):
        yield Discard((CARDS[one], CARDS[other]))


def legal_contracts(deal: Deal) -> Iterator[Declare]:
    """Every trick game from the bid upward."""
    for contract in GAMES:
        if RANK[contract] >= RANK[deal.game.bid]:
            yield Declare(contract)
