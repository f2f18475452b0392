"""The one table of what is hidden: complete, in agreement with the events' forms, and what the page of events says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from shared.events.catalogue import StoredTableEvent
from shared.events.hidden import BOXED, BOXED_NAMES, HIDDEN_UNTIL, MARKS, ROWS
from shared.events.sealed import Sealed
from shared.rules.language.game_events import CardPlayed, DealRevealed, Event

FORMS = get_args(StoredTableEvent)
SALTS = {"salt", "salts"}
EVENTS = Path(__file__).resolve().parents[2] / "deploy" / "docs" / "events.md"


def boxes_in(kind):
    """The fields of a stored event that may hold a box."""
    return [name for name, hint in get_type_hints(kind).items() if Sealed in parts_of(hint)]


def parts_of(hint):
    """Every type that a hint is made of."""
    return {hint} | {part for inner in get_args(hint) for part in parts_of(inner)}


def subclasses(kind):
    return [kind, *(below for one in kind.__subclasses__() for below in subclasses(one))]


def without_a_row(rows):
    """Fields that hold a box, or events that carry salts, of which `rows` say nothing."""
    boxes = {(form, name) for form in FORMS for name in boxes_in(form)} - {(row.form, row.field) for row in rows}
    salted = {kind for kind in subclasses(Event) if SALTS & set(kind.__struct_fields__)} - {DealRevealed}
    return boxes | {(kind, "salt") for kind in salted - {row.event for row in rows}}


def test_every_box_has_a_row():
    """Nothing is sealed of which the table does not say who may see it and until when; and no row speaks of a box that is none."""
    assert not without_a_row(ROWS)
    assert [(row.form, row.field) for row in ROWS if row.kind and row.field not in boxes_in(row.form)] == []


@pytest.mark.parametrize("left_out", [row for row in ROWS if row.kind], ids=lambda row: f"{row.event.__name__}.{row.field}")
def test_a_row_that_is_left_out_is_missed(left_out):
    """The test above would notice each of them."""
    assert without_a_row([row for row in ROWS if row is not left_out])


@pytest.mark.parametrize("kind", dict.fromkeys(row.event for row in ROWS if row.kind), ids=lambda kind: kind.__name__)
def test_the_stored_form_differs_by_its_boxes_alone(kind):
    """Same name and same fields in the same order, without the salts, so that the rows alone say how the one is made of the other."""
    [form] = {row.form for row in BOXED[kind]}
    assert form.__struct_config__.tag == kind.__struct_config__.tag == kind.__name__
    assert set(form.__struct_fields__) == set(kind.__struct_fields__) - SALTS
    assert len({row.until for row in BOXED[kind]}) == 1


def test_what_is_told_by_which_event():
    """Every box is opened to all by an event that the log may hold; what has no box is found by its mark."""
    assert set(HIDDEN_UNTIL) == BOXED_NAMES
    assert {row.until for row in ROWS} <= set(FORMS)
    assert [row.event for row in ROWS if not row.kind] == [CardPlayed]
    assert len(MARKS) == 2  # of a revoke; of the box that is never told, with the server's chain


def test_the_page_says_what_the_rows_say():
    """The table of deploy/docs/events.md, row by row: event, field, box, who sees it, until when."""
    section = EVENTS.read_text(encoding="utf-8").partition("\n## What is sealed\n")[2].partition("\n## ")[0]
    written = [[cell.strip() for cell in line.split("|")[1:-1]] for line in re.findall(r"^\| `.*$", section, re.MULTILINE)]
    assert written == [
        [
            f"`{row.event.__name__}`",
            f"`{row.field}`{f' {row.only.words}' if row.only else ''}",
            f"`{row.kind}`" if row.kind else "none",
            row.who.words,
            f"`{row.until.__name__}`",
        ]
        for row in ROWS
    ]
