"""Between the start of a deal and its cards: players' own seeds, and the cut, from which the deal follows (3.2.3-3.2.8)."""

from __future__ import annotations

from shared.rules.deck import shuffle
from shared.rules.deck.shuffle import HIGHEST_CUT, LOWEST_CUT, TALON, hand_label
from shared.rules.language.game_events import CardsDealt, DeckCut, Event, SeedAdded
from shared.rules.language.moves import AnyMove, Cut, Seed
from shared.rules.language.refusal import Refused
from shared.rules.pulka.state import Pulka
from shared.rules.scoring.series import is_forced, plays_dark

LONGEST_SEED = 64  # hex digits: 32 bytes, as much as the shuffle's key holds


def decide(pulka: Pulka, cutter: int, seat: int, move: AnyMove) -> tuple[Event, ...] | Refused:
    """What `seat` does before the cards are dealt; the cut of `cutter` deals them, or asks for the links of those who have chains."""
    match move:
        case Seed(seed=seed):
            if not _is_seed(seed):
                return Refused("malformed", "3.2.3", f"A seed is 1 to {LONGEST_SEED} hex digits.")
            if any(seat == seeded for seeded, _ in pulka.seeds):
                return Refused("call_not_allowed", "3.2.3", "You have added your seed to this deal already.")
            return (SeedAdded(seat, seed.lower()),)
        case Cut(at=at):
            if seat != cutter:
                return Refused("not_your_turn", "3.2.5", "The dealer's right neighbour cuts.")
            if not LOWEST_CUT <= at <= HIGHEST_CUT:
                return Refused("malformed", "3.2.6", f"At least four cards lie in each part: `at` is {LOWEST_CUT} to {HIGHEST_CUT}.")
            cut = DeckCut(seat, at)
            return (cut,) if pulka.chains.committed else (cut, deal_cards(pulka, at))
    return Refused("wrong_phase", "3.2.5", "The deck has not been cut yet.")


def _is_seed(text: str) -> bool:
    return 0 < len(text) <= LONGEST_SEED and all(digit in "0123456789abcdefABCDEF" for digit in text)


def deal_cards(pulka: Pulka, cut_at: int) -> CardsDealt:
    """The only deal that commitment, seeds, cut and links allow (3.2.8)."""
    seed = pulka.secrets.server_seed
    links = None if pulka.chains.server is None else pulka.chains.opened
    hands, talon = shuffle.deal_cards(
        seed, pulka.table_id, pulka.number, pulka.rules_digest, pulka.seeds, cut_at, pulka.players, pulka.dealer, links
    )
    salts = (shuffle.salt(seed, hand_label(seat)) if hand else "" for seat, hand in enumerate(hands))  # who rests has nothing to hide
    dark = plays_dark(pulka.convention) and not is_forced(
        pulka.convention, pulka.number
    )  # in a forced all-pass there is nothing to be said in the dark
    return CardsDealt(hands, talon, pulka.number, (*salts, shuffle.salt(seed, TALON)), dark)
