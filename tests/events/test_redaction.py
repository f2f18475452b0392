"""What each viewer is shown of a commit."""

from __future__ import annotations

import itertools
import json

import msgspec
import pytest

from shared.events.commit import decode
from shared.events.redaction import PublicCodec
from shared.rules.deck import shuffle
from shared.rules.language import game_events as game
from tests.events import story
from tests.events.played import play_chained

VIEWERS = [None, 0, 1, 2, 3]
PUBLIC = PublicCodec(story.KEYS)


def shown(viewer, at=None, codec=PUBLIC):
    """Everything a viewer is shown before the reveal, or the events of the commit at index `at`."""
    lying = story.stored(story.whole())
    if at is not None:
        return codec.redacted(decode(lying[at]), viewer)
    return [event for data in lying[:-1] for event in codec.redacted(decode(data), viewer)]


def the(events, kind):
    return next(event for event in events if event["type"] == kind)


@pytest.mark.parametrize("viewer", VIEWERS)
def test_a_hand_is_its_owners(viewer):
    """Of the cards dealt each seat sees its own ten, a spectator none; nobody sees the talon; a resting seat's hand is empty for all."""
    hands, _ = story.cards()
    dealt = the(shown(viewer), "CardsDealt")
    assert dealt == {
        "type": "CardsDealt",
        "hands": [hand if seat == viewer or not hand else None for seat, hand in enumerate(hands)],
        "talon": None,
        "deal": 1,
    }


@pytest.mark.parametrize("viewer", VIEWERS)
def test_a_discard_is_its_declarers(viewer):
    """Only the declarer sees what he put away (3.4.2)."""
    seen = story.discard() if viewer == story.DECLARER else None
    assert the(shown(viewer), "CardsDiscarded") == {"type": "CardsDiscarded", "seat": 1, "cards": seen, "deal": 1}


@pytest.mark.parametrize("viewer", VIEWERS)
def test_a_hand_that_was_seen_is_shown_to_the_dealer_alone(viewer):
    """The resting dealer sees the defender's hand that he looked at; all others see that he looked (3.8.8)."""
    seen = story.cards()[0][2] if viewer == story.DEALER else None
    assert the(shown(viewer), "HandSeen") == {"type": "HandSeen", "seat": 0, "hand": 2, "cards": seen, "deal": 1}


@pytest.mark.parametrize("viewer", VIEWERS)
def test_no_byte_of_what_is_hidden(viewer):
    """In every byte shown before the reveal there is no server's seed, no salt, no talon-to-be and no hand that the viewer may not know."""
    hands, talon = story.cards()
    to_the_talon = [event for at in range(7) for event in shown(viewer, at)]
    sent = msgspec.json.encode(to_the_talon).decode()
    allowed = set(hands[viewer].split()) if viewer is not None else set()
    for card in {*" ".join(hands).split(), *talon.split()} - allowed:
        assert f'"{card}' not in sent
        assert f" {card}" not in sent
    everything = msgspec.json.encode(shown(viewer)).decode()
    for secret in (story.SERVER_SEED, *story.revealed().salts.values()):
        assert secret not in everything
    laid = {2, 3}  # these hands were laid on the table in the play
    for seat in set(range(1, 4)) - laid - {viewer}:
        assert hands[seat] not in everything


def test_the_reveal_is_everybodys():
    """After the deal each viewer is shown the same: seed, hands, talon, discard and salts."""
    last = [PUBLIC.redacted(decode(story.stored(story.whole())[-1]), viewer) for viewer in VIEWERS]
    assert all(events == last[0] for events in last)
    assert msgspec.convert(the(last[0], "DealRevealed"), type(story.revealed())) == story.revealed()


def test_the_past_is_not_shown_differently_later():
    """A commit is shown to a viewer as it was before the reveal, whenever he asks: what is shown depends on commit and viewer only."""
    whole, part = story.stored(story.whole()), story.stored(story.before_reveal())
    assert [PUBLIC.redacted(decode(data), 2) for data in whole[: len(part)]] == [PUBLIC.redacted(decode(data), 2) for data in part]


def test_spectators_are_served_without_keys():
    """A service that holds no keys shows a spectator the same as one that does, and refuses a player's view."""
    keyless = PublicCodec()
    assert shown(None, codec=keyless) == shown(None)
    with pytest.raises(ValueError, match="keys"):
        shown(1, codec=keyless)


def test_open_events_are_shown_as_they_are():
    """What was never secret is shown with its type and all its fields."""
    assert shown(3, at=5) == [{"type": "BidMade", "seat": 1, "bid": "6S"}]
    assert the(shown(None), "DealStarted") == {
        "type": "DealStarted",
        "number": 1,
        "dealer": 0,
        "commitment": story.started().commitment,
        "algorithm": 1,
        "server_seed": None,
    }


def test_as_text_it_is_the_same():
    """What is sent as text is what is shown as objects, for every commit and viewer; commits without boxes go out as they are stored."""
    lying = [decode(data) for data in story.stored(story.whole())]
    for commit, viewer in itertools.product(lying, VIEWERS):
        assert [json.loads(bytes(event)) for event in PUBLIC.encoded(commit, viewer)] == PUBLIC.redacted(commit, viewer)
    assert sum(PUBLIC.encoded(commit, 1) is commit.events for commit in lying) > len(lying) // 2


def dark_story():
    """A deal in which nobody has looked: dealt, one looks, another takes the talon in the dark."""
    hands, talon = story.cards()
    return [
        (story.opening(),),
        (story.started(),),
        (game.DeckCut(3, story.CUT_AT), msgspec.structs.replace(story.dealt(), dark=True)),
        (game.HandSeen(2, 2, hands[2], 1, story.salt(shuffle.seen_label(2))),),
        (game.AuctionWon(1, "6S", dark=True), game.DarkTalonTaken(1, talon, 1, story.salt(shuffle.TALON))),
    ]


@pytest.mark.parametrize("viewer", VIEWERS)
def test_in_the_dark_a_hand_is_shown_to_who_has_looked(viewer):
    """Dealt in the dark, no hand is shown, to its owner neither; his look shows it to him, and a dark talon is its taker's (3.3.19)."""
    hands, talon = story.cards()
    told = [event for data in story.stored(dark_story()) for event in PUBLIC.redacted(decode(data), viewer)]
    dealt = the(told, "CardsDealt")
    assert dealt == {"type": "CardsDealt", "hands": ["", None, None, None], "talon": None, "deal": 1, "dark": True}
    assert the(told, "HandSeen")["cards"] == (hands[2] if viewer == 2 else None)
    assert the(told, "DarkTalonTaken") == {"type": "DarkTalonTaken", "seat": 1, "cards": talon if viewer == 1 else None, "deal": 1}


def test_a_talon_in_the_dark_cannot_be_stored_without_its_cards():
    """What the log does not hold could never be revealed."""
    with pytest.raises(ValueError, match="DarkTalonTaken without its secret"):
        story.stored([(game.DarkTalonTaken(1, None, 1),)])


@pytest.mark.parametrize("viewer", VIEWERS)
def test_the_servers_chain_shows_its_end_and_never_its_beginning(viewer):
    """Not even in a box, in both forms of a frame; nor does anybody see the link of round 0 before it is told."""
    opened = decode(story.stored(play_chained(4, 7, deals=0)[1])[0])
    for told in (PUBLIC.redacted(opened, viewer), [json.loads(bytes(event)) for event in PUBLIC.encoded(opened, viewer)]):
        chains, draw = the(told, "ChainsCommitted"), the(told, "DealerDrawStarted")
        assert (chains["root"], len(chains["server"]), draw["server_seed"]) == ({}, 64, None)
        assert draw["commitment"] == chains["server"]
