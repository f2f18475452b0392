"""What if, in words: what `pulka whatif` tells a player, in both languages."""

from __future__ import annotations

import re

import pytest

from shared.rules.convention.options import PRESETS
from shared.rules.score_files.what_if_words import SENTENCES, compared_lines
from tests.rules.score_files.test_what_if import SIX, compared, file_of, played_file, ten


@pytest.mark.parametrize("preset", list(PRESETS))
def test_it_is_told_in_russian_too(preset):
    """All sentences are there in both languages, and a whole comparison in Russian has not one Latin letter."""
    assert SENTENCES["en"].keys() == SENTENCES["ru"].keys()
    names = ["Анна", "Борис", "Вера", "Гриша"]
    lines = list(compared_lines(compared(played_file(preset, 4), "leningrad"), "ru", names))
    assert len(lines) > 100
    assert not re.search("[A-Za-z]", " ".join(lines))


def test_it_is_told_as_a_player_reads_it():
    """One deal in words: who played what, each entry here and there with its reason, the results side by side."""
    lines = list(compared_lines(compared(file_of([SIX | {"tricks": [5, 3, 2]}]), "leningrad"), "en", ["Anna", "Boris", "Vera"]))
    assert lines[0] == "Pulka of 3, sochi, to 10: the same deals as leningrad"
    assert "Deal 1: Anna, 6♠ / −1" in lines
    assert "  Anna, mountain: +2 → +4 (+2) [4.1.1: 6♠ without 1 at 4]" in lines
    assert "  Boris, whists on Anna: +10, the same [3.8.13: 5 tricks at 2 → 3.8.14: half of 5: 5/2 tricks at 4]" in lines
    assert "  Vera, whists on Anna: – → +10 (+10) [3.8.14: half of 5: 5/2 tricks at 4]" in lines
    assert lines[-3].startswith("  Anna: ")


def test_who_helped_is_called_by_his_name():
    """A reason that names a seat names its player, in both languages; without names it names the seat (4.2.3)."""
    comparison = compared(file_of([ten(0), ten(0)]), "sochi")
    for lang, names, told in (
        ("en", ["Anna", "Boris", "Vera"], "help from Anna"), ("ru", ["Анна", "Борис", "Вера"], "помощь от игрока Анна"),
        ("en", None, "help from seat 0"), ("ru", None, "помощь от первой руки"),
    ):  # fmt: skip
        assert any(f"[4.2.3: {told}]" in line for line in compared_lines(comparison, lang, names))
