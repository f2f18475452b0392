"""The built-in player over whole deals and pulkas, on the rules themselves."""

import random
import statistics

import pytest

from services.bots.player import choose
from shared.rules.convention.options import PRESETS, resolve
from shared.rules.language.game_events import DealScored
from tests.services.bots.offline import built_in, dealt, naive, opened, play, seen_by

TABLES = [
    *((preset, players) for preset in PRESETS for players in (3, 4)),
    *(("sochi", 2), ("rostov", 2), ("classic", 2), ("sochi", 5), ("leningrad", 5), ("classic", 5)),
]


def outcome_of(steps):
    return next(event.outcome for event in steps[-1].events if isinstance(event, DealScored))


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "players"), TABLES)
def test_every_move_is_legal_and_every_deal_ends(preset, players):
    """Whatever the cards and the convention, the rules accept each move of a built-in player, and the deal comes to its score."""
    generator = random.Random(f"{preset} {players}")
    for number in range(40):
        steps = list(play(dealt(PRESETS[preset], players, generator, dealer=number % players), generator, until=1))
        assert all(step.move in step.seen["legal"] or step.move["type"] in ("discard", "cut") for step in steps)
        assert isinstance(steps[-1].events[0], DealScored) or any(isinstance(event, DealScored) for event in steps[-1].events)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"ten": "checked"},
        {"stalingrad": True},
        {"without_three": [6, 7, 8, 9, 10]},
        {"first_hand_half": True, "half_whist": [6, 7, 8]},
        {"here": "off"},
        {"step_by_step": True},
        {"dealer_whist": "free"},
        {"all_pass": {"exit_levels": [6, 7, 8]}},
        {"all_pass": {"talon": "aside"}},
        {"silent_take": True},
        {"misere_no_talon": True},
        {"shared_misere": True, "dark": {"limit": 3, "opening_rounds": 0}},
    ],
    ids=str,
)
def test_house_options_do_not_confuse_him(options):
    """He plays under options that no preset has, with four players, from any place in a series of all-pass."""
    generator = random.Random(str(options))
    convention = resolve({"preset": "sochi", **options})
    for number in range(15):
        steps = list(play(dealt(convention, 4, generator, dealer=number % 4, series=number % 4), generator, until=1))
        assert outcome_of(steps)["contract"]


@pytest.mark.slow
def test_he_plays_on_without_memory():
    """Somebody who has just come to the table, or whose bot host was restarted, knows only what lies there and still plays by the rules."""
    generator = random.Random(5)
    for number in range(40):
        assert outcome_of(list(play(dealt(PRESETS["sochi"], 3, generator, dealer=number % 3), generator, until=1, remembering=False)))


BY_SUM = {"preset": "federation", "ends_when": "pool_sum"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("preset", "players", "target"),
    [
        *(("sochi", 3, 4), ("leningrad", 4, 3), ("rostov", 3, 4), ("classic", 3, 4), ("classic", 4, 6)),
        *((preset, 2, 4) for preset in ("sochi", "leningrad", "rostov", "code", BY_SUM)),
        *(("sochi", 5, 2), ("rostov", 5, 2)),
    ],
)
def test_pulkas_finish(preset, players, target):
    """A short pulka is over after a few deals: somebody bids often enough, and makes it often enough."""
    generator = random.Random(f"pulka {preset}")
    for lot in range(4):
        steps = list(play(opened(resolve(preset, target), players, target, lot), generator))
        assert steps[-1].pulka.status == "over"
        assert steps[-1].pulka.number <= 25


@pytest.mark.slow
def test_he_beats_somebody_who_only_follows_the_rules():
    """Over a pulka he wins whists from two players who pass and play any card."""
    generator = random.Random(11)
    won = []
    for lot in range(6):
        steps = list(play(opened(resolve("sochi", 10), 3, 10, lot), generator, players=(built_in, naive, naive), until=40))
        last = steps[-1].pulka
        won.append(last.sheet.whist_balance(0) + 10 * (last.sheet.pool[0] - last.sheet.mountain[0]))
    assert statistics.mean(won) > 50


@pytest.mark.slow
@pytest.mark.parametrize(("players", "deals"), [(3, 250), (2, 300)])
def test_games_are_made_more_often_than_not(players, deals):
    """Bids are honest: of the games that are played about seven of ten are made, and most miseres."""
    generator = random.Random(3)
    games, miseres = [], []
    for number in range(deals):
        outcome = outcome_of(list(play(dealt(PRESETS["sochi"], players, generator, dealer=number % players), generator, until=1)))
        if outcome["contract"] == "misere":
            miseres.append(outcome["tricks"][outcome["declarer"]] == 0)
        elif outcome["declarer"] is not None and "tricks" in outcome:
            games.append(outcome["tricks"][outcome["declarer"]] >= int(outcome["contract"].rstrip("SCDHNT")))
    assert 0.6 < statistics.mean(games) < 0.95
    assert statistics.mean(miseres) > 0.6
    assert len(games) > 100


def passing(seen, generator, memory):
    """Somebody who passes, and plays like the built-in player."""
    return (naive if seen["phase"] == "auction" else built_in)(seen, generator, memory)


@pytest.mark.slow
def test_of_two_he_leaves_all_pass_tricks_to_the_dummy():
    """On all-pass of two he and another like him take far less than their two thirds: the dummy's tricks cost nobody (Decision 19)."""
    generator = random.Random(4)
    taken = []
    for number in range(60):
        steps = list(play(dealt(PRESETS["sochi"], 2, generator, dealer=number % 2), generator, until=1, players=(passing,) * 2))
        taken.append(sum(outcome_of(steps)["tricks"]))
    assert statistics.mean(taken) < 5


def test_chance_is_the_generators_alone():
    """The same view, memory and generator give the same move."""
    pulka = dealt(PRESETS["sochi"], 3, random.Random(8))
    first = [step.move for step in play(pulka, random.Random(1), until=1)]
    assert first == [step.move for step in play(pulka, random.Random(1), until=1)]


def test_a_phase_he_does_not_know_gets_the_first_legal_move():
    """Where a table offers moves of a phase that he was not taught, he takes the first rather than hang."""
    seen = seen_by(dealt(PRESETS["sochi"], 3, random.Random(8)), 1)
    offered = {"type": "answer", "accept": True}
    assert choose({**seen, "phase": "claim", "legal": [offered]}, random.Random(0)) == offered


def test_without_a_turn_there_is_no_move():
    """A view that offers nothing is an error of the caller, not a pass."""
    seen = seen_by(dealt(PRESETS["sochi"], 3, random.Random(8)), 2)
    with pytest.raises(ValueError, match="another's turn"):
        choose(seen, random.Random(0))
