"""The last move of a deal, whose decision reaches past the score, and what it costs in folds.

One fold is left in the decision, since what is revealed and who is due next follow from it. The one that a served table makes of the stored
commit stays as well: states are made of commits and of nothing else. It takes 9 µs, once a deal.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import reduce

import pytest

from shared.rules.language.game_events import DealRevealed, DealScored
from shared.rules.pulka import decider as match
from shared.rules.pulka.decider import Pulka
from tests.events.played import play
from tests.lot import drawn_events


def last_moves(convention, players, lot):
    """Each match just before a deal's last move, and what that move caused."""
    _, told = play(convention, players, lot, deals=8)
    pulka, found = Pulka(table_id="0-3i5bd3vhe6jsa6m6lmm6nxpv3p"), []
    for events in told:
        if any(isinstance(event, DealScored) for event in events):
            found.append((pulka, events))
        pulka = reduce(match.evolve, events, pulka)
    return found


@pytest.mark.parametrize(("convention", "players"), [("sochi", 3), ("leningrad", 4), ("classic", 3)])
def test_a_decision_folds_each_event_of_a_last_move_once(convention, players, monkeypatch):
    """Score and secrets are read from one fold of what the move caused, and whoever is due next from the same state, revealed."""
    plain, folded = match.evolve, []

    def counting(pulka, event):
        folded.append(event)
        return plain(pulka, event)

    seen = 0
    for pulka, _ in last_moves(convention, players, 5):
        monkeypatch.setattr(match, "evolve", counting)
        folded.clear()
        _, events = drawn_events(pulka, random.Random(1))
        monkeypatch.undo()
        if not any(isinstance(event, DealRevealed) for event in events):
            continue
        seen += 1
        assert max(Counter(map(id, folded)).values()) == 1
        assert {id(event) for event in folded} <= set(map(id, events))
    assert seen > 2
