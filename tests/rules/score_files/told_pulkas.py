"""Worked pulkas as score files, and what is told of them; run as a program it writes the golden texts anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from shared.rules.convention.options import resolve
from shared.rules.score_files.explanation import explained
from shared.rules.score_files.players_called import Lang
from shared.rules.score_files.score_file import scored
from shared.rules.score_files.what_if import as_played, what_if
from shared.rules.score_files.what_if_words import compared_lines

GOLDEN: Final = Path(__file__).parent / "golden"
NAMES: Final = {"ru": ["Анна", "Борис", "Вера", "Григорий", "Дина"], "en": ["Anna", "Boris", "Vera", "Grigory", "Dina"]}

SOCHI: Final[dict[str, Any]] = {
    "convention": "sochi",
    "players": 3,
    "target": 10,
    "stake": "1/2",
    "deals": [
        {"dealer": 2, "declarer": 0, "contract": "6S", "calls": [None, "whist", "pass"], "tricks": [6, 2, 2]},
        {"dealer": 0, "declarer": 1, "contract": "7H", "calls": ["whist", None, "whist"], "tricks": [2, 5, 3]},
        {"dealer": 1, "contract": "all_pass", "tricks": [3, 2, 5]},
        {"dealer": 2, "contract": "all_pass", "tricks": [0, 6, 4]},
        {"dealer": 0, "declarer": 2, "contract": "misere", "tricks": [4, 5, 1]},
        {"dealer": 1, "declarer": 0, "contract": "9NT", "calls": [None, "pass", "pass"]},
    ],
}
LENINGRAD: Final[dict[str, Any]] = {
    "convention": "leningrad",
    "players": 4,
    "target": 10,
    "deals": [
        {"dealer": 3, "declarer": 1, "contract": "8D", "calls": ["pass", None, "whist", None], "tricks": [1, 7, 2, 0]},
        {"dealer": 0, "declarer": 2, "contract": "6C", "calls": [None, "half", None, "pass"]},
        {"dealer": 1, "contract": "all_pass", "tricks": [4, 1, 3, 2]},
        {"dealer": 2, "declarer": 3, "contract": "7S", "calls": ["whist", "pass", None, None], "tricks": [1, 1, 0, 8]},
    ],
}
ROSTOV: Final[dict[str, Any]] = {
    "convention": "rostov",
    "players": 3,
    "deals": [
        {"dealer": 2, "contract": "all_pass", "tricks": [6, 2, 2]},
        {"dealer": 0, "declarer": 1, "contract": "6H", "calls": ["pass", None, "whist"], "tricks": [1, 4, 5]},
        {"dealer": 1, "contract": "all_pass", "tricks": [0, 7, 3]},
    ],
}
CLASSIC: Final[dict[str, Any]] = {
    "convention": "classic",
    "players": 3,
    "target": 40,
    "deals": [
        {"dealer": 2, "contract": "all_pass", "tricks": [2, 5, 3], "dark_pass": [0, 2]},
        {"dealer": 2, "declarer": 0, "contract": "7S", "calls": [None, "whist", "whist"], "tricks": [8, 0, 2], "dark": True},
    ],
}
HUSSAR: Final[dict[str, Any]] = {
    "convention": "sochi",
    "players": 2,
    "target": 4,
    "deals": [
        {"dealer": 1, "declarer": 0, "contract": "8C", "calls": [None, "whist"], "tricks": [9, 1]},
        {"dealer": 0, "contract": "all_pass", "tricks": [3, 4]},
        {"dealer": 1, "declarer": 1, "contract": "6NT", "calls": ["pass", None]},
    ],
}
IRREGULAR: Final[dict[str, Any]] = {
    "convention": {"preset": "sochi", "without_three": [6], "shared_misere": True},
    "players": 4,
    "deals": [
        {
            "dealer": 3,
            "declarer": 0,
            "contract": "6S",
            "calls": [None, "whist", "pass", None],
            "tricks": [6, 2, 2, 0],
            "infractions": [{"rule": "3.4.9", "seat": 0}],
        },
        {"dealer": 0, "declarer": 1, "contract": "7D", "infractions": [{"rule": "3.5.4", "seat": 1}]},
        {"dealer": 1, "declarer": 2, "contract": "6H", "without_three": True},
        {"dealer": 2, "declarer": 3, "contract": "misere", "tricks": [4, 5, 0, 1], "shared": True},
        {
            "dealer": 3,
            "contract": "all_pass",
            "tricks": [2, 5, 2, 1],
            "infractions": [
                {"rule": "3.2.21", "seat": 3},
                {"rule": "3.3.16.3", "seat": 0, "whists": [[1, 0, 40]], "reason": "proved: 9H of seat 1"},
                {"rule": "4.2.7", "seat": 2, "mountain": 3, "reason": "a fine for a wrong entry"},
            ],
        },
    ],
}

#: Name of the text: the file, the language, whether its players have names, and the convention that it is compared with.
TEXTS: Final[dict[str, tuple[dict[str, Any], Lang, bool, str | None]]] = {
    f"{name}{'' if named else '_without_names'}.{lang}.txt": (file, lang, named, other)
    for name, file, named, other in (
        ("sochi", SOCHI, True, None),
        ("sochi", SOCHI, False, None),
        ("leningrad", LENINGRAD, True, None),
        ("rostov", ROSTOV, False, None),
        ("classic", CLASSIC, True, None),
        ("hussar", HUSSAR, True, None),
        ("irregular", IRREGULAR, True, None),
        ("sochi_as_leningrad", SOCHI, True, "leningrad"),
        ("leningrad_as_rostov", LENINGRAD, False, "rostov"),
    )
    for lang in ("en", "ru")
}  # type: ignore[misc]  # the languages are literals


def text(name: str) -> str:
    """What is told, as it stands in the golden file."""
    file, lang, named, other = TEXTS[name]
    pulka = scored(file | ({"names": NAMES[lang][: file["players"]]} if named else {}))
    lines = explained(pulka, lang) if other is None else compared_lines(what_if(as_played(pulka), resolve(other, pulka.target)), lang)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for golden in TEXTS:
        (GOLDEN / golden).write_text(text(golden), encoding="utf-8")
