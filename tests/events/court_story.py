"""What an adjudicated table seals: somebody peeks at the talon, somebody takes it, his cards are shuffled; and a wrong discard."""

from __future__ import annotations

from shared.rules.deck import shuffle
from shared.rules.language import game_events as game
from shared.rules.language import irregular_events as irregular
from tests.events import story


def whole() -> list[tuple[game.Event, ...]]:
    """The story's table up to the cards, then the acts."""
    hands, talon = story.cards()
    taker, peeker = 2, 3
    twelve = f"{hands[taker]} {talon}".split()
    returned = (story.salt(shuffle.RETURNED_HAND), story.salt(shuffle.RETURNED_TALON))
    return [
        (story.opening(),),
        (story.started(),),
        (game.DeckCut(3, story.CUT_AT), story.dealt()),
        (irregular.Peeked(peeker, "talon", talon, irregular="3.2.19", deal=1, salt=story.salt(shuffle.TALON)),),
        (irregular.TalonTakenEarly(taker, talon, "3.2.20", 1, story.salt(shuffle.TALON)),),
        (irregular.TalonReturned(taker, " ".join(twelve[2:]), " ".join(twelve[:2]), 1, returned),),
        (game.CardsDiscarded(story.DECLARER, hands[story.DECLARER].split()[0], 1, story.salt(shuffle.DISCARD), "3.4.6"),),
    ]
