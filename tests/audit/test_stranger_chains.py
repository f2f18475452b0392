"""`verify.py` over tables with chains: the honest one holds, and each lie that the audit names it names as well."""

from __future__ import annotations

import pytest

from shared.events.commit import encode
from tests.audit import stranger
from tests.events import story
from tests.events.played import PLAYERS, play_chained
from tests.events.test_chain_proof import DEAL_LIES, TOLD, lying


def actor(events):
    """Who makes a commit with these events: the player of the seat whose move it is, or the service."""
    first = events[0]
    seat = getattr(first, "by", getattr(first, "seat", None))
    return PLAYERS[seat] if type(first).__name__ in stranger.verify().MOVES else "service"


@pytest.mark.parametrize(("players", "lot"), [(2, 5), (3, 11), (4, 7), (5, 9)])
def test_a_pulka_with_chains_is_accepted(tmp_path, players, lot):
    """At every size: links of the draw and of the deals, a missed one, and a chain that is promised later."""
    told = play_chained(players, lot, deals=4)[1]
    assert stranger.problems(tmp_path / "export", stranger.exported({story.TABLE.id: story.stored(told, actor=actor)})) == []


@pytest.mark.parametrize(("kind", "deal", "changed", "named"), DEAL_LIES.values(), ids=DEAL_LIES.keys())
def test_a_lie_about_chains_is_named(tmp_path, kind, deal, changed, named):
    """By the same code as the audit, or as malformed where this program cannot go on."""
    commits = [encode(commit) for commit in lying(kind, deal, **changed)]
    found = {code for _, _, code in stranger.problems(tmp_path / "export", stranger.exported({story.TABLE.id: commits}))}
    codes = set().union(*named.values())
    assert found & codes or (codes & {"unknown_algorithm"} and "malformed" in found)


def test_a_missed_link_that_was_opened_is_named(tmp_path):
    """The operator takes a link out of the log and signs anew: the cards do not follow from what is left."""
    told = [[event for event in commit if not (type(event).__name__ == "LinkOpened" and number > 8)] for number, commit in enumerate(TOLD)]
    found = stranger.problems(tmp_path / "export", stranger.exported({story.TABLE.id: story.stored([one for one in told if one])}))
    assert "shuffle" in {code for _, _, code in found}
