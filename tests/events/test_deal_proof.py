"""The proof of a deal: the honest one holds without a key, and every lie is named."""

from __future__ import annotations

import msgspec
import pytest

from shared.events.commit import decode
from shared.events.deal_proof import verify_deal, verify_deals
from shared.rules.deck import shuffle
from shared.rules.language import game_events as game
from tests.events import story

OTHER_SEED = "ab" * 32


def told(**lies):
    """The table as it would stand in the log if one event of each named kind had been another."""
    events = [[lies.get(type(event).__name__, lambda same: same)(event) for event in commit] for commit in story.whole()]
    return [decode(data) for data in story.stored(events)]


def revealing(**changed):
    return {"DealRevealed": lambda event: msgspec.structs.replace(event, **changed)}


def complaints(commits):
    (report,) = verify_deals(commits)
    assert report.revealed
    assert report.verified == (not report.problems)
    return {problem.code for problem in report.problems}


def test_an_honest_deal_is_verified():
    """From the log alone: commitment, shuffle, hands, talon, discard and what the dealer saw all fit."""
    report = verify_deal(told(), 1)
    assert report is not None
    assert report.verified
    assert (report.number, report.commitment, report.server_seed) == (1, story.started().commitment, story.SERVER_SEED)
    assert verify_deal(told(), 2) is None


def test_a_deal_in_progress_has_nothing_to_hide_yet():
    """A deal that still goes on is not verified, and that is no problem; one that is over without a reveal is."""
    playing = [decode(data) for data in story.stored(story.before_reveal())]
    (report,) = verify_deals(playing)
    assert (report.verified, report.revealed, report.problems, report.server_seed) == (False, False, (), None)
    for end in (msgspec.structs.replace(story.started(), number=2), game.PulkaClosed("all_closed", {})):
        unrevealed = [decode(data) for data in story.stored([*story.before_reveal(), (end,)])]
        assert [problem.code for problem in verify_deals(unrevealed)[0].problems] == ["not_revealed"]


HANDS, TALON = story.cards()
SWAPPED = (HANDS[0], HANDS[2], HANDS[1], HANDS[3])
LIES = {
    "another seed than committed to": (revealing(server_seed=OTHER_SEED), {"commitment", "salt", "digest", "shuffle"}),
    "a commitment to something else": (
        {"DealStarted": lambda event: msgspec.structs.replace(event, commitment="0" * 64)},
        {"commitment"},
    ),
    "two hands exchanged when dealt": (
        {"CardsDealt": lambda event: msgspec.structs.replace(event, hands=SWAPPED)} | revealing(hands=SWAPPED),
        {"shuffle", "digest", "discard"},  # hand 2 is now revealed as another than the dealer saw, and the discard was from hand 1
    ),
    "two hands exchanged when revealed": (revealing(hands=SWAPPED), {"shuffle", "digest", "discard"}),
    "another talon": (revealing(talon=" ".join(reversed(TALON.split()))), {"shuffle", "digest"}),
    "another discard": (revealing(discard=" ".join(HANDS[1].split()[:2])), {"digest"}),
    "no discard": (revealing(discard=None), {"digest"}),
    "a discard of cards not held": (
        {"CardsDiscarded": lambda event: msgspec.structs.replace(event, cards=" ".join(HANDS[2].split()[:2]))}
        | revealing(discard=" ".join(HANDS[2].split()[:2])),
        {"discard"},
    ),
    "another hand shown to the dealer": ({"HandSeen": lambda event: msgspec.structs.replace(event, cards=HANDS[3])}, {"digest"}),
    "a cut that was not made": ({"DeckCut": lambda event: msgspec.structs.replace(event, at=12)}, {"shuffle"}),
    "a player's seed left out": ({"SeedAdded": lambda event: msgspec.structs.replace(event, seed="c0ffed")}, {"shuffle"}),
    "other rules": ({"PulkaOpened": lambda event: msgspec.structs.replace(event, rules_digest="f" * 64)}, {"commitment", "shuffle"}),
    "a salt of its own": (revealing(salts=story.revealed().salts | {"talon": "00" * 16}), {"salt", "digest"}),
    "a salt kept back": (
        revealing(salts={label: salt for label, salt in story.revealed().salts.items() if label != "discard"}),
        {"digest"},
    ),
    "a cut that no rule allows": ({"DeckCut": lambda event: msgspec.structs.replace(event, at=3)}, {"malformed"}),
    "a seed that is none": (revealing(server_seed="short"), {"malformed"}),
    "a salt that is none": (revealing(salts=story.revealed().salts | {"talon": "no hex"}), {"malformed"}),
    "a hand too few": (revealing(hands=HANDS[:3]), {"malformed"}),
    "a seat that is none": ({"HandSeen": lambda event: msgspec.structs.replace(event, hand=7)}, {"malformed"}),
    "another shuffle": (
        {"DealStarted": lambda event: msgspec.structs.replace(event, algorithm=99)},
        {"unknown_algorithm"},
    ),
    "the shuffle of a pulka with chains": (
        {"DealStarted": lambda event: msgspec.structs.replace(event, algorithm=shuffle.CHAINED)},
        {"unknown_algorithm", "commitment", "shuffle"},
    ),
    "another deal's number": (revealing(number=2), {"incomplete"}),
}


@pytest.mark.parametrize(("lie", "named"), LIES.values(), ids=LIES.keys())
def test_a_lie_is_named(lie, named):
    """Whatever differs from what commitment, seeds, cut and boxes bind the server to is found, and nothing else is complained of."""
    assert complaints(told(**lie)) == named


def test_a_deal_without_a_cut_proves_nothing():
    """A deal that was dealt without the cut, or revealed without being dealt, is incomplete (3.2.5)."""
    events = [commit for commit in story.whole() if not isinstance(commit[0], game.DeckCut)]
    assert complaints([decode(data) for data in story.stored(events)]) == {"incomplete"}


def test_every_deal_of_a_table_is_checked():
    """The reports come in the order of the deals, and a lie in one leaves the other verified."""
    second = story.started().server_seed
    promise = shuffle.commitment(OTHER_SEED, story.TABLE.id, 2, story.RULES_DIGEST)
    hands, talon = shuffle.deal_cards(OTHER_SEED, story.TABLE.id, 2, story.RULES_DIGEST, (), 16, 4, 1)
    labels = [*(shuffle.hand_label(seat) for seat in range(4)), shuffle.TALON]
    salts = {label: shuffle.salt(OTHER_SEED, label) for label in labels}
    assert second != OTHER_SEED
    more = [
        (game.DealStarted(2, 1, promise, 1, OTHER_SEED),),
        (game.DeckCut(0, 16), game.CardsDealt(hands, talon, 2, tuple(salts.values()))),
        (game.DealRevealed(2, OTHER_SEED, hands, talon, None, salts),),
    ]
    opened = story.whole()[:-1]
    honest = [decode(data) for data in story.stored([*opened, (story.revealed(),), *more])]
    assert [(report.number, report.verified) for report in verify_deals(honest)] == [(1, True), (2, True)]
    liar = msgspec.structs.replace(story.revealed(), talon="AS KS")
    lying = [decode(data) for data in story.stored([*opened, (liar,), *more])]
    assert [(report.number, report.verified) for report in verify_deals(lying)] == [(1, False), (2, True)]
