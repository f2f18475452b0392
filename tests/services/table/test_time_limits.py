"""Pulkas that are played to a time, which the times of the log tell."""

from __future__ import annotations

from shared.rules.language.game_events import DealRevealed, DealScored, PulkaClosed
from tests.services.table.playing import BEGAN, Playing


async def test_5_4_4_a_pulka_that_is_played_to_a_time_ends_with_the_deal_in_which_it_is_reached():
    """The deal that is going on when the agreed minutes are over is played to its end, and is the last (5.4.4)."""
    playing = await Playing({"preset": "federation", "ends_when": "time:3"}, target=None).open()
    numbers = {}
    while (table := await playing.table()).pulka.status != "over":
        numbers[table.pulka.number] = playing.now
        last = await playing.step()
    assert [type(event) for event in last.events][-3:] == [DealScored, DealRevealed, PulkaClosed]
    assert last.events[-1].reason == "time:3"
    ended = {number: at for number, at in numbers.items() if number < table.pulka.number}
    assert all(at < BEGAN + 180_000 for at in ended.values())
    assert playing.now >= BEGAN + 180_000
