"""The words of the sheet: each is there in both languages, and nothing drawn, printed or shown in Russian has a Latin letter."""

from __future__ import annotations

import ast
import re
import string
from pathlib import Path

import pytest
from rich.console import Console

import services
from services.cli.console.settlement_drawing import drawn_settlement, drawn_since
from services.cli.console.terminal_sheet import sheet_text
from services.ledger.sheet.drawn_sheet import drawn_sheet, names_shown
from services.ledger.sheet.printed_sheet import PrintedDeal, PrintedTerms, printed_sheet
from services.ledger.sheet.sheet_words import WORDS
from shared.rules.convention.options import PRESETS, resolve
from shared.rules.score_files.score_file import score_document, scored
from shared.rules.score_files.scorer_words import Lang
from shared.rules.score_files.what_if import as_played, what_if
from tests.rules.score_files.told_pulkas import CLASSIC, HUSSAR, IRREGULAR, LENINGRAD, NAMES, ROSTOV, SOCHI
from tests.services.ledger.sheet.drawn_pulkas import played

FILES = {"sochi": SOCHI, "leningrad": LENINGRAD, "rostov": ROSTOV, "classic": CLASSIC, "hussar": HUSSAR, "irregular": IRREGULAR}
SINCE = {
    "corrections": [
        {"revision": 8, "at": 1_700_000_000_000, "author": "судья", "reason": "неверный счёт", "amounts": ["1", "-1", "0", "0"]}
    ],
    "annulled": {"revision": 9, "at": 1_700_000_060_000, "author": "судья", "reason": "краплёная колода"},
    "recorded": True,
}
TAG = re.compile(r"<[^>]*>")


def latin(text: str) -> list[str]:
    """The lines that have a Latin letter, tags and style sheets aside."""
    plain = TAG.sub("\n", re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL))
    return [line for line in plain.splitlines() if re.search("[A-Za-z]", line)]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("name", FILES)
def test_no_latin_letter_is_left_on_a_russian_sheet(name: str, *, named: bool) -> None:
    """Picture, page, comparison and the terminal's sheet and settlement, of regular and irregular pulkas, with what came after them."""
    file, lang = FILES[name], "ru"
    pulka = scored(file)
    names = NAMES[lang][: pulka.players] if named else None
    since = SINCE | {"corrections": [one | {"amounts": one["amounts"][: pulka.players]} for one in SINCE["corrections"]]}
    score = score_document(file) | since
    score["deals"] = [deal | {"entries": [*deal["entries"]]} for deal in score["deals"]]
    deals = [PrintedDeal(number, deal.outcome) for number, deal in enumerate(pulka.deals, 1)]
    terms = PrintedTerms(resolve({"preset": "sochi", "ten": "checked"}), pulka.target, 2, 1_700_000_000_000)
    assert latin(drawn_sheet(score, pulka.target, names, lang).decode()) == []
    assert latin(printed_sheet(score, deals, terms, names, lang).decode()) == []
    for other in PRESETS:
        compared = what_if(as_played(pulka), resolve(other, pulka.target))
        assert latin(printed_sheet(score, deals, terms, names, lang, compared).decode()) == []
    console = Console(width=120, record=True, quiet=True)
    shown = names_shown(names, pulka.players, lang)
    console.print(sheet_text(score, pulka.target, names, lang), drawn_settlement(score["settlement"], shown, lang), markup=False)
    if (decided := drawn_since(score, shown, lang, first=0)) is not None:
        console.print(decided)
    assert latin(console.export_text()) == []


@pytest.mark.parametrize(("preset", "players"), [(preset, players) for preset in PRESETS for players in (2, 3, 4, 5)])
def test_a_drawn_pulka_has_a_page_without_a_latin_letter(preset: str, players: int) -> None:
    """Whatever the rules write in a pulka played by lot, with sections and what the players wrote themselves."""
    score, deals = played(preset, players, 20, 3, 12)
    more = {
        "kept": [{"deal": 1, "seat": 0, "column": "whists", "on": 1, "amount": "-1/2"}],
        "section": 1,
        "sections": [{"first_deal": 1}, {"first_deal": 5}],
    }
    page = printed_sheet(score | more, deals, PrintedTerms(PRESETS[preset], 20), None, "ru").decode()
    assert latin(page) == []


def test_every_word_is_there_in_both_languages_with_the_same_parts() -> None:
    """A key that one language lacks, or a part that one leaves out, is a hole in a sentence."""
    parts = {
        lang: {key: {name for _, name, _, _ in string.Formatter().parse(text) if name} for key, text in words.items()}
        for lang, words in WORDS.items()
    }
    assert parts["en"] == parts["ru"]


def test_every_word_that_is_asked_for_is_there() -> None:
    """`word(lang, "…")` somewhere in the services names a key of `WORDS`; no page ends in a KeyError."""
    lang: Lang = "ru"
    asked = {
        (file.name, node.args[1].value)
        for file in Path(services.__path__[0]).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "word"
        and len(node.args) > 1
        and isinstance(node.args[1], ast.Constant)
    }
    assert asked
    assert {(file, key) for file, key in asked if key not in WORDS[lang]} == set()
