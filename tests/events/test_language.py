"""The storage contract: no name or field is ever lost, and every version ever written still opens and folds."""

from __future__ import annotations

import copy
import json
from functools import reduce

import msgspec
import pytest

from services.ledger.audit.rules_check import move_behind
from shared.events.catalogue import LANGUAGE, encode_event
from shared.events.chain import verify_chain
from shared.events.commit import SCHEMA, decode
from shared.events.deal_proof import verify_deals
from shared.events.upcast import STEPS, NewerSchema, current
from shared.rules.language.game_events import CardPlayed, DealStarted, Event, PulkaOpened
from shared.rules.pulka import decider as pulkas
from shared.rules.pulka.decider import Pulka, StartDeal
from tests.events import frozen, story

GOLDEN = json.loads(frozen.GOLDEN.read_text())
FILES = sorted(path.stem for path in frozen.CORPUS.glob("*_schema_*.jsonl"))
PLAYED = [name for name in FILES if "_played_" in name]


def test_nothing_stored_is_renamed_or_removed():
    """Every frozen event and field is there, with its type; and all that is there is frozen (else run `python -m tests.events.frozen`)."""
    assert frozen.extended(GOLDEN, frozen.language()) == GOLDEN


BREAKS = {
    "an event removed": lambda now: now["table"].pop("CardPlayed"),
    "an event renamed": lambda now: now["table"].update(CardLaid=now["table"].pop("CardPlayed")),
    "a field removed": lambda now: now["table"]["CardPlayed"].pop("by"),
    "a field renamed": lambda now: now["table"]["CardPlayed"].update(who=now["table"]["CardPlayed"].pop("by")),
    "a field's type changed": lambda now: now["table"]["CardPlayed"]["seat"].update(type="str"),
    "a new field without a default": lambda now: now["table"]["CardPlayed"].update(mood={"type": "str", "required": True}),
    "a default taken away": lambda now: now["table"]["CardsDiscarded"]["deal"].update(required=True),
    "a service removed": lambda now: now.pop("lobby"),
    "the envelope changed": lambda now: now["envelope"]["Commit"].pop("prev_hash"),
}


@pytest.mark.parametrize("change", BREAKS.values(), ids=BREAKS.keys())
def test_a_break_of_the_contract_is_refused(change):
    """Whatever would make old commits unreadable is refused by the check that guards the language."""
    golden = copy.deepcopy(GOLDEN)
    golden["table"]["CardsDiscarded"]["deal"]["required"] = False
    now = copy.deepcopy(golden)
    change(now)
    with pytest.raises(frozen.Broken):
        frozen.extended(golden, now)


def test_additions_are_welcome():
    """A new event, and a new field with a default, break nothing."""
    now = copy.deepcopy(GOLDEN)
    now["table"]["DeckEaten"] = {"by": {"type": "str", "required": True}}
    now["table"]["CardPlayed"]["mood"] = {"type": "str", "required": False}
    assert frozen.extended(GOLDEN, now) == now


def test_every_event_of_the_rules_can_be_stored():
    """No event that the rules can decide is missing in the catalogue, and the catalogue has none but theirs."""
    stored = {event.__struct_config__.tag for event in LANGUAGE["table"]}
    assert stored == {event.__struct_config__.tag for event in Event.__subclasses__()}


@pytest.mark.parametrize("service", LANGUAGE)
def test_the_corpus_has_every_event(service):
    """Each event of today's schema is kept in a stored commit (a new one: run `python -m tests.events.frozen`)."""
    assert {event.__struct_config__.tag for event in LANGUAGE[service]} == frozen.covered(service)


@pytest.mark.parametrize("name", FILES)
def test_every_version_ever_written_opens(name):
    """Each stored commit of the corpus opens to the events that it has always held."""
    kept = frozen.lines(name)
    assert kept
    for entry in kept:
        commit = decode(entry["commit"].encode())
        opened = json.loads(msgspec.json.encode(frozen.codec_of(commit).open(commit)))
        for event, expected in zip(opened, entry["opened"], strict=True):
            assert expected.items() <= event.items()  # fields that were added since stand at their defaults


@pytest.mark.parametrize("name", PLAYED)
def test_every_version_ever_written_folds(name):
    """Each pulka of the corpus is verified and folds to a match in which all its deals were played."""
    lying = [entry["commit"].encode() for entry in frozen.lines(name)]
    assert verify_chain(lying).problems == ()
    commits = [decode(data) for data in lying]
    assert all(report.verified for report in verify_deals(commits))
    events = [event for commit in commits for event in story.CODEC.open(commit)]
    pulka = reduce(pulkas.evolve, events, Pulka(table_id=story.TABLE.id))
    started = [event for event in events if type(event).__name__ == "DealStarted"]
    assert (pulka.number, pulkas.phase(pulka)) == (len(started), "between_deals")


@pytest.mark.parametrize("name", PLAYED)
def test_every_version_ever_written_is_decided_as_it_was(name):
    """Decision 28: each move of the corpus, decided anew by the version of its pulka's convention, makes the events that were stored."""
    commits = [decode(entry["commit"].encode()) for entry in frozen.lines(name)]
    pulka = Pulka(table_id=story.TABLE.id)
    for commit in commits:
        events = story.CODEC.open(commit)
        match events[0]:
            case PulkaOpened():
                decided = events
            case DealStarted(number=number, server_seed=seed):
                decided = pulkas.start_deal(pulka, StartDeal(number, seed))
            case first:
                decided = pulkas.decide(pulka, *move_behind(first), commit.at)
        assert list(map(encode_event, decided)) == list(map(encode_event, events)), commit.revision
        pulka = reduce(pulkas.evolve, events, pulka)
    assert pulka.convention.version == (2 if "_version_2_" in name else 1)


def test_schema_0_named_no_player_of_a_card():
    """Commits of schema 0 have no `by`: raised to today's form, each card was played by the seat that held it."""
    stored = [
        msgspec.json.decode(raw) for entry in frozen.lines("table_played_schema_0") for raw in decode(entry["commit"].encode()).events
    ]
    assert any(event["type"] == "CardPlayed" for event in stored)
    assert not any("by" in event for event in stored)
    commits = [decode(entry["commit"].encode()) for entry in frozen.lines("table_played_schema_0")]
    played = [event for commit in commits for event in story.CODEC.open(commit) if isinstance(event, CardPlayed)]
    assert played
    assert all(event.by == event.seat for event in played)


def test_every_step_has_an_example():
    """No upcasting step is without a stored commit that goes through it."""
    kept = [decode(entry["commit"].encode()) for name in FILES for entry in frozen.lines(name)]
    used = {
        (commit.aggregate.partition(".")[0], msgspec.json.decode(raw)["type"], commit.schema) for commit in kept for raw in commit.events
    }
    assert used >= STEPS.keys()
    assert {commit.schema for commit in kept} == set(range(SCHEMA + 1))


def test_a_newer_schema_is_refused():
    """A commit from a later version is not guessed at: it stops the reader, naming both schemas."""
    commit = msgspec.structs.replace(decode(story.stored(story.whole())[0]), schema=SCHEMA + 1)
    with pytest.raises(NewerSchema, match=rf"schema {SCHEMA + 1}.*knows {SCHEMA}"):
        story.CODEC.open(commit)


def test_todays_commits_are_not_touched():
    """A commit of today's schema is handed on as it lies, byte for byte: upcasting costs nothing where there is nothing to raise."""
    commit = decode(story.stored(story.whole())[4])
    assert current(commit) is commit.events
