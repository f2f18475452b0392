"""What an operator changes and signs anew is noticed by the verifier that members are given, or it says that it does not look there."""

from __future__ import annotations

import random

import pytest

from tests.audit import mutations, stranger


@pytest.fixture(scope="module")
def tables():
    """Tables in play and tables that are over."""
    return stranger.played(40, 41, deals=4) | stranger.played(140, 141, target=2)


@pytest.mark.parametrize("name", mutations.CLASSES)
def test_a_change_is_noticed(tables, tmp_path, name):
    """Eight of each kind, over several tables."""
    lot, done = random.Random(name), 0
    for _ in range(4):
        for table, commits in tables.items():
            changed = mutations.made(commits, mutations.CLASSES[name], lot)
            if changed is not None and done < 8:
                assert mutations.noticed(tmp_path / "export", table, changed), (table, name)
                done += 1
    assert done >= 4


def test_without_a_change_nothing_is_noticed(tables, tmp_path):
    """The tables read and written anew, as the changed ones are."""
    for table, commits in tables.items():
        again = mutations.made(commits, lambda _commits, _lot: True, random.Random(1))
        assert mutations.noticed(tmp_path / "export", table, again) == []


def test_what_is_not_checked_is_said(tables, tmp_path):
    """Entries are not; the words say so, and there is no plain OK."""
    (tmp_path / "export").write_bytes(stranger.exported(tables))
    verdict = stranger.verify().check(str(tmp_path / "export"))
    assert (verdict["verified"], verdict["proved"]) == (True, False)
