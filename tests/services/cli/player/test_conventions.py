"""`pulka conventions`: every option of every convention, with the rule it turns on, and how two conventions differ."""

import json
import re
import subprocess
import sys

import msgspec
import pytest
from click.testing import CliRunner

from services.cli.player.conventions import conventions
from shared.rules.convention.options import PRESETS, AllPass, Convention, digest, resolve
from shared.rules.convention.sources import OPTION_SOURCES

CITED = re.compile(r"(\d(\.\d+)+|FN\d+|Decision \d+)(, (\d(\.\d+)+|FN\d+|Decision \d+))*")


def run(*arguments):
    """Exit status, standard output, standard error."""
    done = CliRunner().invoke(conventions, list(arguments))
    return done.exit_code, done.stdout, done.stderr


def test_every_option_has_its_source():
    """No option is without a rule, a footnote or a decision, and no source without an option."""
    outer = {field.name for field in msgspec.structs.fields(Convention)} - {"preset", "version", "all_pass"}
    inner = {f"all_pass.{field.name}" for field in msgspec.structs.fields(AllPass)}
    assert OPTION_SOURCES.keys() == outer | inner
    assert all(CITED.fullmatch(told.source) for told in OPTION_SOURCES.values())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("сочинка", "ленинградка", "ростов", "классика", "по Кодексу", "по правилам федерации")),
        (("sochi",), ("ответственный", "жлобский вист", "1-2-3", "Сталинград", "сн. 59")),
        (("sochi", "--diff", "leningrad"), ("полуответственный", "джентльменский вист", "по двойной цене")),
        (("sochi", "--diff", "sochi"), ("Условия те же самые.",)),
        (('{"preset": "classic", "version": 1}', "--diff", "classic"), ("первой редакции", "классика")),
    ],
)
def test_conventions_in_the_words_of_players(arguments, words, monkeypatch):
    """In Russian conventions and options have the names that players use, and no Latin letter is left but in the keys to say them by."""
    monkeypatch.setenv("COLUMNS", "200")  # no text is torn apart
    status, told, _ = run(*arguments, "--lang", "ru")
    assert status == 0
    assert all(word in told for word in words)
    keys = sorted({*OPTION_SOURCES, *PRESETS, "version"}, key=len, reverse=True)
    words_alone = re.sub("|".join(rf"\b{re.escape(key)}\b" for key in keys), "", told)
    assert not re.search("[A-Za-z]", words_alone)


def test_russian_names_stand_beside_their_keys(monkeypatch):
    """Whoever reads a convention in Russian can write an option down: its key stands below its name."""
    monkeypatch.setenv("COLUMNS", "200")
    _, one, _ = run("leningrad", "--lang", "ru")
    _, every, _ = run("--lang", "ru")
    assert [key for key in OPTION_SOURCES if key not in one] == []
    assert [preset for preset in PRESETS if preset not in every] == []
    _, differing, _ = run("sochi", "--diff", "leningrad", "--json")
    _, told, _ = run("sochi", "--diff", "leningrad", "--lang", "ru")
    assert [one["option"] for one in json.loads(differing)["differences"] if one["option"] not in told] == []


@pytest.mark.parametrize("name", PRESETS)
def test_one_convention(name):
    """All options with their values, in JSON and as a table for people."""
    status, told, _ = run(name, "--json")
    document = json.loads(told)
    assert (status, document["preset"], document["digest"]) == (0, name, digest(PRESETS[name]))
    assert [line["option"] for line in document["options"]] == list(OPTION_SOURCES)
    status, told, _ = run(name)
    assert status == 0
    assert "whister_remise" in told


def test_a_record_of_ones_own_against_a_preset():
    """Only what differs is told, the nested options of all-pass too."""
    own = '{"preset": "sochi", "ten": "checked", "all_pass": {"prices": [2]}}'
    status, told, _ = run(own, "--diff", "sochi", "--json")
    document = json.loads(told)
    assert status == 0
    assert [(one["option"], one["left"], one["right"]) for one in document["differences"]] == [
        ("ten", "checked", "whisted"),
        ("all_pass.prices", [2], [1, 2, 3]),
    ]
    assert document["left"]["digest"] == digest(resolve(json.loads(own)))
    assert run("sochi", "--diff", "leningrad")[1].count("remise_factor") == 1


def test_a_record_that_names_an_option_twice():
    """F11: which of the two would hold, nobody can tell."""
    status, _, told = run('{"preset": "sochi", "ten": "checked", "ten": "whisted"}')
    assert (status, "convention.ten: given more than once" in " ".join(told.split())) == (2, True)


@pytest.mark.parametrize(("lang", "heads"), [("en", ("the Code", "elsewhere: checked")), ("ru", ("Кодекс", "или: проверяется"))])
def test_each_option_says_where_it_comes_from_and_what_is_played_elsewhere(lang, heads):
    """Beside its rule an option has who plays its value, other values and who plays those, in both languages and as JSON."""
    status, told, _ = run("leningrad", "--lang", lang)
    assert status == 0
    assert all(head in told for head in heads)
    lines = {line["option"]: line for line in json.loads(run("leningrad", "--json")[1])["options"]}
    assert all(line["from"] for line in lines.values())
    assert lines["ten"]["elsewhere"] == [{"value": "checked", "played_by": ["tournament_sheet"], "say": {"ten": "checked"}}]
    assert lines["remise_factor"]["from"] == ["leningrad_table", "federation", "programs"]
    listed = {convention["preset"]: convention for convention in json.loads(run("--json")[1])["conventions"]}
    assert listed["leningrad"]["options"] == list(lines.values())


EXITS = '{"all_pass": {"exit_levels": [6, 7, %d]}}'


@pytest.mark.parametrize("said", [EXITS % 7, EXITS % 8, '{"ten": "checked"}'])
def test_options_alone_are_laid_over_the_name(said):
    """An object without a preset is NAME with these options changed, and the difference says who plays either."""
    document = json.loads(run("leningrad", "--diff", said, "--json")[1])
    changes = json.loads(said)
    (one,) = document["differences"]
    assert one["right"] == changes.get("ten", changes.get("all_pass", {}).get("exit_levels"))
    assert one["left_from"][0] == "code"
    assert one["right_from"]
    own = '{"preset": "leningrad", "all_pass": {"prices": [3]}}'
    found = json.loads(run(own, "--diff", said, "--json")[1])["differences"]
    assert [line["option"] for line in found] == [one["option"]], "what else NAME says stays"
    assert run("leningrad", "--diff", '{"tens": 1}')[0] == 2
    assert run("leningrad", "--diff", '{"ten": "checked", "ten": "whisted"}')[0] == 2


def test_all_of_them():
    """Without a name every preset is listed with what differs from sochi."""
    status, told, _ = run("--json")
    assert (status, [one["preset"] for one in json.loads(told)["conventions"]]) == (0, list(PRESETS))
    assert "leningrad" in run()[1]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("moscow",), "no such convention"),
        (('{"preset": "sochi", "help": "largest", "pool_weight": 2}',), "contradict"),
        (('{"preset": "sochi", "tens": 1}',), "tens"),
        (('{"preset": ',), "convention"),
        (("--diff", "sochi"), "NAME"),
    ],
)
def test_bad_input_names_what_is_wrong(arguments, why):
    """Unknown names, unknown or contradictory options and broken JSON are usage errors: exit status 2 and the reason."""
    status, told, error = run(*arguments)
    assert (status, told) == (2, "")
    assert why in error


def test_equal_records_and_a_reader_that_goes():
    """Two equal records say so; whoever stops reading gets the status of a broken pipe, not that of a refusal."""
    assert run("sochi", "--diff", "sochi") == (0, "no difference\n", "")
    pulka = [sys.executable, "-c", "from services.cli.main import main; main()", "conventions", "--json"]
    with subprocess.Popen(pulka, stdout=subprocess.PIPE) as telling:
        telling.stdout.close()
    assert telling.returncode == 141
