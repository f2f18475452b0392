"""Claims (3.9.14.4, 3.9.15, Decision 24): declarer or a whister on turn says how many of the rest they take, and shows their hand.

Agreed by all who are asked, the deal ends with these tricks. Refused by one, the same turn goes on: with a line the claimer is held to it,
without one their cards lie exposed and the opponents name them. Evolve, decide, what is on offer.
"""

from __future__ import annotations

from msgspec.structs import replace

from shared.rules.deal.ending import scored
from shared.rules.deal.incidents import NONE, OpenClaim
from shared.rules.deal.position import NOBODY, Deal, TrickPlay, bit
from shared.rules.deck.cards import CARD_NUMBER, CARDS, hand_text, mask_of
from shared.rules.deck.contract import ALL_PASS, MISERE, TRICKS, is_game
from shared.rules.deck.seats import clockwise_from, defenders
from shared.rules.language.deal_events import DealEvent
from shared.rules.language.game_events import CardExposed, ClaimAnswered, ClaimMade, HeldToLine
from shared.rules.language.moves import Claim
from shared.rules.language.refusal import Refused

# ---- evolve ------------------------------------------------------------------------------------------------------------


def claim_made(deal: Deal, event: ClaimMade) -> Deal:
    """The deal waits for those who must agree."""
    waiting = asked(deal, event.seat)
    line = tuple(CARD_NUMBER[card] for card in event.line.split())
    pending = OpenClaim(event.seat, event.tricks, line, mask_of(event.hand), waiting, deal.phase, event.seat)
    return replace(deal, phase="claim", to_act=waiting[0] if waiting else None, pending=pending)


def claim_answered(deal: Deal, event: ClaimAnswered) -> Deal:
    """The next is asked, or nobody: the tricks are taken, and the score follows. A refusal gives the turn back to the claimer."""
    claim = deal.pending
    if not isinstance(claim, OpenClaim):
        return deal
    if event.accept and len(claim.waiting) > 1:
        return replace(deal, to_act=claim.waiting[1], pending=replace(claim, waiting=claim.waiting[1:]))
    if event.accept:
        return replace(deal, to_act=None, play=taken_as(deal, agreed_tricks(deal, claim)), pending=replace(claim, waiting=()))
    incidents = deal.incidents or NONE
    return replace(
        deal,
        phase=claim.phase,
        to_act=claim.turn,
        pending=None,
        incidents=replace(incidents, refused_claims=incidents.refused_claims | bit(claim.seat)),
    )


# ---- who is asked, and what a claim comes to ---------------------------------------------------------------------------


def asked(deal: Deal, seat: int) -> tuple[int, ...]:
    """Who must agree to a claim of `seat`: to the declarer's each defender who plays their own cards, clockwise, or who plays both hands;
    to a whister's the declarer, then the other whister.
    """
    setup, game = deal.setup, deal.game
    if deal.play is None:
        return ()
    if seat == game.declarer:
        opposed = defenders(setup.players, setup.dealer, game.declarer)
        players = [deal.play.course.player_of[one] for one in opposed]
        return tuple(dict.fromkeys(players))
    whisters = tuple(one for one in clockwise_from(setup.players, seat) if game.calls[one] == "whist" and one != game.declarer)
    return game.declarer, *whisters


def commanders(deal: Deal, seat: int) -> tuple[int, ...]:
    """Who names the cards of a refused claimer: the sole whister, else the defenders from the declarer's left; the declarer a whister's."""
    setup, game = deal.setup, deal.game
    if seat != game.declarer:
        return (game.declarer,)
    whisters = [one for one, call in enumerate(game.calls) if call == "whist"]
    if len(whisters) == 1:
        return (whisters[0],)
    return defenders(setup.players, setup.dealer, game.declarer)


def hands_of(deal: Deal, seat: int) -> tuple[int, ...]:
    """The hands whose cards `seat` plays."""
    if deal.play is None:
        return ()
    return tuple(hand for hand in deal.setup.order if deal.play.course.player_of[hand] == seat)


def left(deal: Deal) -> int:
    """How many tricks are still to come, the one on the table included."""
    return TRICKS - sum(deal.tricks)


def shared_out(deal: Deal, declarers: int) -> tuple[int, ...]:
    """Tricks by seat when the declarer ends with `declarers` of the ten and the defence with the rest.

    A sole whister's side has them at the whister's seat; a dealer who whists rests, so their side has them left of the declarer. Of two
    defenders who answer for themselves the one with fewer takes the next, of equals the first [conv].
    """
    setup, game, tricks = deal.setup, deal.game, list(deal.tricks)
    opposed = defenders(setup.players, setup.dealer, game.declarer)
    tricks[game.declarer] = declarers
    takers = (game.whister,) if game.whister in opposed else opposed[:1] if game.whister == setup.resting != NOBODY else opposed
    while sum(tricks) < TRICKS:
        tricks[min(takers, key=lambda seat: tricks[seat])] += 1
    return tuple(tricks)


def taken_as(deal: Deal, tricks: tuple[int, ...]) -> TrickPlay | None:
    """The play with these `tricks` by seat taken, as everybody agreed; a dummy's are with its defender's already (Decision 19)."""
    by_hand = tricks + (0,) * (len(deal.full_hands) - len(tricks))
    return None if deal.play is None else replace(deal.play, taken=by_hand)


def agreed_tricks(deal: Deal, claim: OpenClaim) -> tuple[int, ...]:
    """Tricks by seat when the claim stands. What a whister does not claim is the declarer's."""
    taken, game = deal.tricks, deal.game
    if claim.seat == game.declarer:
        return shared_out(deal, taken[game.declarer] + claim.tricks)
    tricks = list(taken)
    own = hands_of(deal, claim.seat)
    tricks[claim.seat if claim.seat in own else own[0]] += claim.tricks
    tricks[game.declarer] += left(deal) - claim.tricks
    return tuple(tricks)


# ---- decide ------------------------------------------------------------------------------------------------------------


def decide_claim(deal: Deal, seat: int, move: Claim) -> tuple[DealEvent, ...] | Refused:
    """A claim by declarer or whister on their turn in the play, of no more tricks than there are; on misere of none."""
    if deal.phase != "play":
        return Refused("wrong_phase", "3.9.14.4", "Tricks are claimed while the cards are played.")
    if seat != deal.to_act:
        return Refused("not_your_turn", "3.9.14.4", f"A claim is made on one's own turn; it is seat {deal.to_act}'s.")
    if not may_claim(deal, seat):
        return Refused("call_not_allowed", "3.9.14.4", "Only the declarer or a whister claims, and not again after a refused claim.")
    most = 0 if deal.game.contract == MISERE else left(deal)
    if not 0 <= move.tricks <= most:
        return Refused("claim_out_of_range", "3.9.14.4", f"There are {most} tricks to be claimed, not {move.tricks}.")
    line = move.line or ()
    if len(set(line)) != len(line):
        return Refused("duplicate_card", "3.9.14.4", "A line plays each card once.")
    held = sum(deal.held(hand) for hand in hands_of(deal, seat))
    for card in line:
        if not held >> CARD_NUMBER[card] & 1:
            return Refused("card_not_held", "3.9.2", f"{card} is not in a hand that you play.")
    return (ClaimMade(seat, move.tricks, " ".join(line), hand_text(held)),)


def may_claim(deal: Deal, seat: int) -> bool:
    """Whether the seat on turn may claim: declarer of a game or a misere, or a whister; not on all-pass, where everybody plays alone."""
    game = deal.game
    if deal.phase != "play" or game.contract in ("", ALL_PASS) or (deal.incidents or NONE).refused_claims & bit(seat):
        return False
    return seat == game.declarer or (is_game(game.contract) and game.calls[seat] == "whist")


def decide_answer(deal: Deal, claim: OpenClaim, seat: int, accept: bool) -> tuple[DealEvent, ...] | Refused:  # noqa: FBT001 - the answer
    """The last agreement ends the deal with the claimed tricks; the first refusal lets it go on (Decision 24)."""
    answered = ClaimAnswered(seat, accept)
    if accept:
        after = claim_answered(deal, answered)
        return (answered,) if after.play is None or after.to_act is not None else (answered, scored(after, after.play.taken))
    by = commanders(deal, claim.seat)
    lying = [(hand, deal.held(hand)) for hand in hands_of(deal, claim.seat)]
    shown = [CardExposed(hand, hand_text(held), "name", by, "3.9.14.4") for hand, held in lying if held]
    if claim.line:  # where the plan says nothing, the opponents name the card
        return answered, *shown, HeldToLine(claim.seat, " ".join(CARDS[card] for card in claim.line))
    return answered, *shown
