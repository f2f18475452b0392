"""What may be taken back by everybody's consent (5.4.22 says: nothing without it): one's own last act, as long as it has shown nothing that
was hidden [conv].

That is a call while the auction goes on, a contract on which nobody has said a word, a word on a contract while words are said, and a card
in a trick that is not complete. Not a discard, whose cards nobody may know; nothing after which cards were laid or seen.
"""

from __future__ import annotations

from msgspec.structs import replace

from shared.rules.deal import play as trick_play
from shared.rules.deal.auction import called
from shared.rules.deal.position import NOBODY, Auction, Deal, fresh_trick
from shared.rules.deal.whist import next_word
from shared.rules.deck.cards import mask_of
from shared.rules.deck.contract import MISERE
from shared.rules.language.game_events import ActTakenBack, CardPlayed, TalonCardOpened

_WORD = {"w": "whist", "p": "pass", "h": "half"}


def act_taken_back(deal: Deal, event: ActTakenBack) -> Deal:
    """The deal as it was before the last act of `seat`."""
    return before(deal, event.seat) or deal


def before(deal: Deal, seat: int) -> Deal | None:
    """The deal before the last act, if it was an act of `seat` that may be taken back."""
    match deal.phase:
        case "auction":
            return _before_the_call(deal, seat)
        case "whist" | "lay" if deal.game.history:
            return _before_the_word(deal, seat)
        case "whist" if seat == deal.game.declarer and deal.game.looked == NOBODY:
            return replace(deal, phase="contract", to_act=seat, game=replace(deal.game, contract=""))
        case "play":
            return _before_the_card(deal, seat)
    return None


def _before_the_call(deal: Deal, seat: int) -> Deal | None:
    """A look at one's cards cannot be undone, and a misere that is not bid is not shared (3.3.19, 3.6.9)."""
    now = deal.auction
    if not now.calls or now.calls[-1].seat != seat:
        return None
    before_it = Auction(unseen=now.unseen)
    for call in now.calls[:-1]:
        before_it = called(before_it, deal.setup, call)
    return replace(deal, to_act=seat, auction=replace(before_it, shared=NOBODY if now.shared == seat else now.shared))


def _before_the_word(deal: Deal, seat: int) -> Deal | None:
    """Whose word each letter of the history was follows from the words before it."""
    game, words = deal.game, deal.game.history
    said: list[tuple[int, str]] = []
    for count, letter in enumerate(words):
        _, speaker = next_word(deal.setup, replace(game, history=words[:count]))
        said.append((speaker, _WORD[letter.lower()]))
    if said[-1][0] != seat or game.looked != NOBODY:
        return None
    calls: list[str | None] = [None] * deal.setup.players
    for speaker, word in said[:-1]:
        calls[speaker] = word
    earlier = replace(game, history=words[:-1], calls=tuple(calls), whister=NOBODY)
    what, whom = next_word(deal.setup, earlier)
    whister = whom if what == "lay" else NOBODY
    return replace(deal, phase="lay" if what == "lay" else "whist", to_act=seat, game=replace(earlier, whister=whister))


def _before_the_card(deal: Deal, seat: int) -> Deal | None:
    play = deal.play
    if play is None or not play.trick or not isinstance(play.trick[-1], CardPlayed) or play.trick[-1].by != seat:
        return None
    if deal.game.contract == MISERE and len(play.trick) == 1 and not play.closed and deal.game.laid:
        return None  # the defenders have laid their hands on this card (3.6.6)
    cards = [one.card for one in play.trick if isinstance(one, CardPlayed)]
    course, first = play.course, play.trick[0]
    leader = course.leader if isinstance(first, TalonCardOpened) else first.seat
    empty = fresh_trick(course, leader, play.played & ~mask_of(" ".join(cards)), play.taken, play.number, play.closed)
    earlier = replace(deal, play=empty, to_act=course.player_of[leader])
    for one in play.trick[:-1]:
        earlier = trick_play.talon_card_opened(earlier, one) if isinstance(one, TalonCardOpened) else trick_play.card_played(earlier, one)
    return earlier
