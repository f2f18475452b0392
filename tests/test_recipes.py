"""The recipes of the contributing page are patches: they go onto a copy of the tree, the checks pass there, and the new things show."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
RECIPES = ROOT / "deploy" / "docs" / "recipes"
PAGE = (ROOT / "deploy" / "docs" / "contributing.md").read_text(encoding="utf-8")
ORDER = ("option", "event", "route", "refusal", "view", "command")  # a route and a refusal go on from the event
LEFT_OUT = (".git", ".venv", ".pulka", ".pytest_cache", ".hypothesis", "__pycache__", "node_modules")
BIN = Path(sys.executable).parent
NAMED = (  # the recipes' own tests, and the guards that a forgotten step trips
    "tests/rules/convention",
    "tests/rules/scoring/test_4_1_2_ten_prize.py",
    "tests/rules/score_files/test_convention_words.py",
    "tests/rules/score_files/test_explanation.py",
    "tests/rules/test_coverage.py",
    "tests/events/test_language.py",
    "tests/services/lobby/test_renaming.py",
    "tests/services/ledger/views/test_contracts_played.py",
    "tests/services/ledger/audit/test_tampered_rows.py::test_every_column_of_every_row_is_verified[closed-rows0]",
    "tests/services/cli/player/test_price.py",
    "tests/test_docs.py",
    "tests/test_layout.py",
)
PRIZE = {"preset": "sochi", "ten_prize": 5}
TEN = {"players": 3, "deals": [{"declarer": 0, "contract": "10S", "calls": [None, "pass", "pass"]}]}
RECORD = {
    "convention": PRIZE,
    "players": 3,
    "dealer": 2,
    "hands": ["AS KS QS JS TS 9S AH KH AD KD", "8S 7S QH JH TH 9H 8H 7H QD JD", "TD 9D 8D 7D AC KC QC JC TC 9C"],
    "talon": "7C 8C",
    "moves": [
        {"seat": 0, "type": "bid", "bid": "10S"},
        {"seat": 1, "type": "bid", "bid": "pass"},
        {"seat": 2, "type": "bid", "bid": "pass"},
        {"seat": 0, "type": "discard", "cards": ["7C", "8C"]},
        {"seat": 0, "type": "contract", "contract": "10S"},
        {"seat": 1, "type": "whist", "call": "pass"},
        {"seat": 2, "type": "whist", "call": "pass"},
    ],
}

pytestmark = [pytest.mark.slow, pytest.mark.servers, pytest.mark.timeout(300)]  # types and tests of a whole copy: a minute when busy


def run(copy: Path, *command: object, given: str = "", **environment: str) -> str:
    """What a command says in the copy; whatever it complains of fails the test."""
    where = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    done = subprocess.run([str(word) for word in command], cwd=copy, input=given, env=where, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def pulka(copy: Path, *arguments: str, given: object = None) -> str:
    """What the command `pulka` of the copy prints."""
    program = "from services.cli.main import main; main()"
    return run(copy, sys.executable, "-c", program, *arguments, given="" if given is None else json.dumps(given))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The tree with every recipe on it, and what is written by programs written anew."""
    copy = tmp_path_factory.mktemp("recipes") / "tree"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for name in ORDER:
        run(copy, "git", "apply", "--recount", "-C1", RECIPES / f"{name}.patch")
    for module in ("tests.events.frozen", "tests.rules.coverage"):
        run(copy, sys.executable, "-m", module)
    run(copy, sys.executable, "deploy/docs/house.py")
    return copy


def files_of(name: str) -> list[str]:
    """The files that a recipe touches."""
    return re.findall(r"^\+\+\+ b/(\S+)$", (RECIPES / f"{name}.patch").read_text(encoding="utf-8"), re.MULTILINE)


def test_every_patch_is_a_recipe():
    """Each lies beside the page and is in the order above."""
    assert {path.stem for path in RECIPES.glob("*.patch")} == set(ORDER)


@pytest.mark.parametrize("name", ORDER)
def test_the_page_names_every_file_of_a_recipe(name):
    """The section of a recipe names each file that its patch touches, and links to the patch."""
    section = PAGE.partition(f"](recipes/{name}.patch)")[2].partition("\n### ")[0]
    assert [file for file in files_of(name) if f"`{file}`" not in section] == []


def test_the_checks_of_make_check_pass(copy):
    """Lint, form, types, import contracts, sentences: as the Makefile runs them."""
    lines = (copy / "Makefile").read_text(encoding="utf-8").partition("\nlint: setup\n")[2].partition("\n\n")[0].splitlines()
    assert len(lines) >= 5
    for line in lines:
        program, *rest = line.strip().removeprefix("$(BIN)/").split()
        run(copy, BIN / program, *rest)


def test_the_named_tests_pass(copy, nats_urls, postgres_dsn):
    """The recipes' own tests, and those that guard options, events, documents and rows."""
    servers = {"PULKA_NATS_URL": nats_urls.operator, "PULKA_POSTGRES_DSN": postgres_dsn}
    run(copy, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *NAMED, **servers)


def test_the_option_shows_everywhere(copy, tmp_path):
    """In `pulka conventions`, `score`, `replay` and `whatif`; and the command of the last recipe answers."""
    listed = json.loads(pulka(copy, "conventions", json.dumps(PRIZE), "--json"))["options"]
    assert [line["value"] for line in listed if line["option"] == "ten_prize"] == [5]
    assert json.loads(pulka(copy, "score", "-", given=TEN | {"convention": PRIZE}))["sheet"]["pool"] == [15, 0, 0]
    assert json.loads(pulka(copy, "replay", "-", given=RECORD))["score"]["pool"] == [15, 0, 0]
    path = tmp_path / "played.json"
    path.write_text(json.dumps(TEN | {"convention": "sochi"}), encoding="utf-8")
    told = json.loads(pulka(copy, "whatif", str(path), "--convention", json.dumps(PRIZE), "--json"))
    assert told["sheet"]["pool"] == [15, 0, 0]
    assert any(pair["would"] and pair["would"]["rule"] == "4.1.2" for pair in told["differences"]["deals"][0]["entries"])
    assert json.loads(pulka(copy, "price", "7S", "--json"))["pool"] == 4
