"""A card on the table at an adjudicated table: in turn or out of it, following or not, one of a seat or two; and the trick that it closes.

Whose card is missing is worked out anew after every card: hands may be short, and cards may lie in any order.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from shared.rules.adjudicated.court import Act, ActKind, Court
from shared.rules.deal.decider import evolve as deal_after
from shared.rules.deal.ending import outcome, outcome_document
from shared.rules.deal.position import NOBODY, Deal, TrickPlay
from shared.rules.deck.cards import CARD_NUMBER, CARDS
from shared.rules.deck.contract import ALL_PASS, TRICKS
from shared.rules.deck.trick import playable
from shared.rules.language.game_events import CardPlayed, Event, TalonCardOpened, TrickWon
from shared.rules.language.irregular_events import REVOKE, DealEnded

OUT_OF_TURN = {"defender": "3.9.14.1", "declarer": "3.9.14.2", "all_pass": "3.9.14.3"}

# ---- what a card would be ----------------------------------------------------------------------------------------------


def seats_in(play: TrickPlay) -> tuple[int, ...]:
    """The hands that have a card in the trick, in the order of play; one that played two is in it twice."""
    return tuple(one.seat for one in play.trick if isinstance(one, CardPlayed))


def breaches(deal: Deal, hand: int, card: int) -> tuple[tuple[ActKind, str], ...]:
    """What is irregular about `card` of `hand` now, with the rule: out of turn (twice in one trick: `surplus`), not following."""
    play = deal.play
    if play is None:
        return ()
    found: list[tuple[ActKind, str]] = []
    surplus = hand in seats_in(play)
    if hand != play.turn or surplus:
        found.append(("surplus" if surplus else "turn", out_of_turn_rule(deal, hand)))
    if not surplus and not playable(deal.held(hand), play.led, play.course.trumps) >> card & 1:
        found.append(("revoke", REVOKE))
    return tuple(found)


def out_of_turn_rule(deal: Deal, hand: int) -> str:
    """The rule for a card out of turn, by whose it is."""
    if deal.game.contract == ALL_PASS:
        return OUT_OF_TURN["all_pass"]
    return OUT_OF_TURN["declarer" if hand == deal.game.declarer else "defender"]


# ---- evolve ------------------------------------------------------------------------------------------------------------


def card_played(court: Court, event: CardPlayed) -> Court:
    """The card lies in the trick; what is irregular about it is kept, with the deal as it stood."""
    deal, play = court.deal, court.deal.play
    if play is None:
        return court
    card = CARD_NUMBER[event.card]
    found = breaches(deal, event.seat, card)
    acts = tuple(Act(kind, rule, event.seat, event.by, deal, play.number, card) for kind, rule in found)
    if any(kind == "surplus" for kind, _ in found):
        laid = replace(play, trick=(*play.trick, event), played=play.played | 1 << card)
        placed = replace(deal, play=laid)
    else:
        placed = deal_after(deal, event)
    return replace(court, deal=mended(placed, event.seat), acts=(*court.acts, *acts))


def trick_won(court: Court, event: TrickWon) -> Court:
    """The winner leads; a hand without cards is passed over."""
    return replace(court, deal=mended(deal_after(court.deal, event)))


def talon_card_opened(court: Court, event: TalonCardOpened) -> Court:
    """A talon card leads the trick (3.7.6)."""
    return replace(court, deal=mended(deal_after(court.deal, event)))


def mended(deal: Deal, last: int = NOBODY) -> Deal:
    """The deal with turn and number of missing cards set by who has a card in the trick and who has any left; `last` played last."""
    play = deal.play
    if play is None or deal.phase != "play":
        return deal
    inside, after = seats_in(play), play.course.after
    seat = play.turn if last == NOBODY else after[last]
    missing: list[int] = []
    for _ in range(3):
        if seat not in inside and deal.held(seat):
            missing.append(seat)
        seat = after[seat]
    turn = missing[0] if missing else play.turn
    to_act = player(play, turn)
    if (turn, len(missing), to_act) == (play.turn, play.left, deal.to_act):
        return deal
    return replace(deal, to_act=to_act, play=replace(play, turn=turn, left=len(missing)))


def player(play: TrickPlay, hand: int) -> int:
    """Who plays the next card of `hand`: a dummy's lead is not everybody's who plays it later (Decision 19)."""
    return play.course.player_of[hand] if play.trick else play.course.lead_of[hand]


# ---- decide ------------------------------------------------------------------------------------------------------------


def closing(court: Court) -> Iterator[Event]:
    """What the last card of a trick causes: who takes it, the next talon card, the end of the deal."""
    deal, play = court.deal, court.deal.play
    if play is None or play.left or not play.trick:
        return
    won = TrickWon(_taker(court, play), play.number)
    yield won
    after = trick_won(court, won).deal
    if play.number == TRICKS:
        yield ended(after)
    elif not any(after.held(seat) for seat in after.setup.order):  # every hand was short: the last winner has what is left [conv]
        taken = after.play.taken if after.play is not None else ()
        rest = TRICKS - sum(taken)
        yield ended(after, tuple(tricks + rest * (hand == won.seat) for hand, tricks in enumerate(taken)))
    elif play.number < play.course.talon_tricks:
        yield TalonCardOpened(CARDS[deal.setup.talon[play.number]])


def _taker(court: Court, play: TrickPlay) -> int:
    """Who takes the trick (3.9.4): tricks 1 and 2 of an all-pass go to who saw the talon (3.2.19); where nobody followed a suit that the
    talon only named, to whoever played first [conv].
    """
    if court.deal.game.contract == ALL_PASS and play.number <= 2 and court.first_tricks_of != NOBODY:
        return court.first_tricks_of
    return seats_in(play)[0] if play.winner == NOBODY else play.winner


def ended(deal: Deal, tricks: tuple[int, ...] | None = None) -> DealEnded:
    """The end of a deal that was played, with `tricks` by hand if they are not those taken."""
    taken = deal.play.taken if deal.play is not None else ()
    return DealEnded(outcome_document(outcome(deal, taken if tricks is None else tricks), deal.setup.players))
