"""The proof of a deal with chains: links, the server's seed, the first dealer and the seats; every lie is named."""

from __future__ import annotations

import msgspec
import pytest

from shared.events.commit import decode
from shared.events.deal_proof import recompute, verify_deals
from shared.events.draw_proof import verify_draw
from shared.rules.deck import shuffle
from shared.rules.language.chain_events import ChainCommitted, ChainsCommitted, DealerDrawn, LinkMissed, LinkOpened
from shared.rules.language.game_events import DealRevealed, DealStarted
from tests.events import story
from tests.events.played import play_chained

OTHER = "ab" * 32
TOLD = play_chained(3, 11, deals=4)[1]


def lying(kind, deal, **changed):
    """The commits as they would stand if the first event of `kind` in `deal` (0: before the first) had been another."""
    number, done, commits = 0, False, []
    for commit in TOLD:
        events = []
        for event in commit:
            number = event.number if isinstance(event, DealStarted) else number
            if isinstance(event, kind) and number == deal and not done:
                event, done = msgspec.structs.replace(event, **changed), True  # noqa: PLW2901 - the lie in place of the event
            events.append(event)
        commits.append(events)
    assert done
    return [decode(data) for data in story.stored(commits)]


def complaints(commits):
    """By deal, 0 for the draw."""
    found = {report.number: {problem.code for problem in report.problems} for report in verify_deals(commits) if report.problems}
    draw = {problem.code for problem in verify_draw(commits)}
    return found | ({0: draw} if draw else {})


def test_an_honest_pulka_with_chains_is_verified():
    """From the log alone, a missed link and a new chain among its deals."""
    commits = [decode(data) for data in story.stored(TOLD)]
    reports = verify_deals(commits)
    assert [(report.number, report.verified) for report in reports] == [(number, True) for number in (1, 2, 3, 4)]
    assert complaints(commits) == {}
    kinds = {type(event) for commit in TOLD for event in commit}
    assert kinds >= {ChainsCommitted, ChainCommitted, LinkOpened, LinkMissed, DealerDrawn}
    again = recompute(commits, 2)
    assert (again.algorithm, [seat for seat, _ in again.links]) == (shuffle.CHAINED, [1])


DEAL_LIES = {
    "a link of no chain": (LinkOpened, 1, {"link": OTHER}, {1: {"link", "shuffle"}}),
    "a link of another seat": (LinkOpened, 3, {"seat": 2}, {3: {"link", "shuffle"}}),
    "another end of a player's chain": (ChainCommitted, 2, {"end": OTHER}, {3: {"link"}}),
    "a chain that held earlier": (ChainCommitted, 2, {"first": 2}, {3: {"link"}}),
    "another seed of the server": (
        DealRevealed, 2, {"server_seed": OTHER}, {2: {"commitment", "salt", "digest", "shuffle"}, 3: {"commitment"}},
    ),
    "another promise": (DealStarted, 2, {"commitment": OTHER}, {2: {"commitment"}}),
    "the shuffle that needs no links": (DealStarted, 2, {"algorithm": 1}, {2: {"unknown_algorithm", "commitment", "shuffle"}}),
    "another first dealer": (DealerDrawn, 0, {"seat": -1}, {0: {"draw"}}),
    "another link of the draw": (LinkOpened, 0, {"link": OTHER}, {0: {"link", "draw"}, 1: {"link"}}),
    "another end of the server's chain": (ChainsCommitted, 0, {"server": OTHER}, {0: {"commitment"}}),
    "an algorithm that nobody knows": (ChainsCommitted, 0, {"algorithm": 3}, {0: {"unknown_algorithm"}}),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "deal", "changed", "named"), DEAL_LIES.values(), ids=DEAL_LIES.keys())
def test_a_lie_about_chains_is_named(kind, deal, changed, named):
    """Whatever differs from what the chains bind everybody to is found where it stands."""
    found = complaints(lying(kind, deal, **changed))
    assert {number: codes for number, codes in found.items() if number in named} == named
