"""`pulka sheet` and `pulka whatif`: of a score file and of a table, drawn, printed and compared."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

from services.cli.serving.temporary_server import own_server
from services.ledger.sheet.drawn_sheet import signed
from shared.rules.score_files.score_file import score_document
from shared.rules.score_files.what_if_document import what_if_document
from tests.rules.score_files.test_what_if import compared, played_file

PULKA = [sys.executable, "-c", "from services.cli.main import main; main()"]
NAMES = ("--name", "Анна", "--name", "<Boris>", "--name", "Vera", "--name", "Grigory")
CARDS = re.compile(r"\x1b\[[0-9;]*m")


def pulka(*arguments, given=None, environment=None):
    """Status, standard output and standard error of a command."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PULKA_")}
    done = subprocess.run(
        [*PULKA, *arguments], input=given, capture_output=True, text=True, check=False, timeout=100, env=clean | (environment or {})
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pulka.json"
    path.write_text(json.dumps(played_file("sochi", 4)), encoding="utf-8")
    return path


@pytest.mark.slow
def test_f32_a_score_file_names_its_players(tmp_path):
    """F32: sheet, picture, page and comparison say the names of the file; `--name` takes their place."""
    path, drawn, page = (tmp_path / name for name in ("pulka.json", "sheet.svg", "sheet.html"))
    path.write_text(json.dumps(played_file("sochi", 3) | {"names": ["Анна", "Борис", "Вера"]}), encoding="utf-8")
    _, sheet, _ = pulka("sheet", str(path), "--lang", "ru")
    pulka("sheet", str(path), "--lang", "ru", "--svg", str(drawn), "--html", str(page))
    _, compared_with, _ = pulka("whatif", str(path), "--convention", "leningrad", "--lang", "ru")
    for told in (sheet, drawn.read_text(encoding="utf-8"), page.read_text(encoding="utf-8"), compared_with):
        assert all(name in told for name in ("Анна", "Борис", "Вера"))
        assert "место" not in told
    _, other, _ = pulka("sheet", str(path), *("--name", "Xenia") * 3)
    assert "Xenia" in other
    assert "Анна" not in other


def test_a_score_file_is_drawn_in_the_terminal(file):
    """Boxes with running totals, then the settlement; without a terminal nothing is struck through."""
    status, told, complaints = pulka("sheet", str(file), *NAMES)
    score = score_document(file.read_bytes())
    assert (status, complaints) == (0, "")
    assert not CARDS.search(told)
    for text in ("Анна", "<Boris>", "to 30", "Settlement", *map(signed, score["settlement"]["rounded"])):
        assert text in told
    assert max(map(len, told.splitlines())) <= 80


def test_a_score_file_from_standard_input_as_json(file):
    """`--json` is the object of `pulka score`."""
    status, told, _ = pulka("sheet", "-", "--json", given=file.read_text(encoding="utf-8"))
    assert (status, json.loads(told)) == (0, score_document(file.read_bytes()))


def test_picture_and_page_are_written_to_files(file, tmp_path):
    """`--svg` and `--html` write files with the names given, in the language asked for, and nothing else is said."""
    svg, html = tmp_path / "sheet.svg", tmp_path / "sheet.html"
    assert pulka("sheet", str(file), "--svg", str(svg), "--html", str(html), "--lang", "ru", *NAMES) == (0, "", "")
    assert ET.fromstring(svg.read_bytes()).get("lang") == "ru"  # noqa: S314 - our own drawing
    page = html.read_text(encoding="utf-8")
    assert ET.fromstring(page).get("lang") == "ru"  # noqa: S314 - our own page
    assert "&lt;Boris&gt;" in page
    assert "Расчёт" in page


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("sheet", "no-such-file"), 2, "nor is it the id of a table"),
        (("whatif", "no-such-file", "--convention", "sochi"), 2, "nor is it the id of a table"),
        (("sheet", "FILE", "--name", "Anna"), 2, "given 1 time, there are 4 players"),
        (("whatif", "FILE", "--convention", "leningrat"), 2, "there are sochi, leningrad"),
        (("whatif", "FILE", "--convention", '{"preset": "sochi", "ten": 3}'), 2, "convention.ten"),
        (("whatif", "FILE"), 2, "--convention"),
        (("sheet", "0-" + "a" * 26, "--url", "http://127.0.0.1:9"), 3, "is the server running?"),
        (("sheet", "FILE", "--svg", "/no/such/folder/sheet.svg"), 2, "/no/such/folder/sheet.svg"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(file, arguments, status, told):
    """A source that there is not, too few names, an unknown convention with those that there are, a server that is away."""
    found, output, complaints = pulka(*(str(file) if word == "FILE" else word for word in arguments))
    assert (found, output) == (status, "")
    assert told in complaints
    assert "Traceback" not in complaints


@pytest.mark.slow
@pytest.mark.parametrize("command", [("sheet",), ("whatif", "--convention", "sochi")])
def test_a_file_that_is_none_is_said_in_a_sentence(tmp_path, command):
    """Without `--json` nobody has to read JSON to learn what is wrong with a file."""
    path = tmp_path / "wrong.json"
    path.write_text('{"convention": "sochi", "players": 3, "deals": [{}]}', encoding="utf-8")
    assert pulka(*command, str(path)) == (2, "", "pulka: deals[0].contract: is required\n")
    assert pulka(*command, "nothing") == (2, "", "pulka: nothing: No such file or directory; nor is it the id of a table\n")


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--svg", "--html"])
def test_a_drawing_takes_nothings_place(file, tmp_path, option):
    """A file or a link in the way is left as it is, status 2, before the source is looked at; one file does not take both drawings."""
    there, other, link = tmp_path / "there", tmp_path / "other", tmp_path / "link"
    there.write_text("mine", encoding="utf-8")
    link.symlink_to(tmp_path / "nowhere")
    for taken in (there, link):
        told = (2, "", f"pulka: {taken} exists; a sheet is not written over anything\n")
        assert pulka("sheet", str(file), option, str(taken)) == told
        assert pulka("sheet", "no-such-file", option, str(taken)) == told
    assert (there.read_text(encoding="utf-8"), link.exists()) == ("mine", False)
    status, _, complaints = pulka("sheet", str(file), "--svg", str(other), "--html", str(other))
    assert (status, "name the same file" in complaints, other.exists()) == (2, True, False)


@pytest.mark.slow
def test_half_a_drawing_does_not_stay(file, tmp_path):
    """What could not be written whole is not there, so that the next run finds nothing in its way."""
    out = tmp_path / "sheet.svg"
    limited = 'ulimit -f 1; exec "$@"'  # a block or two of 512 bytes: as a disk that is full
    done = subprocess.run(
        ["sh", "-c", limited, "sh", *PULKA, "sheet", str(file), "--svg", str(out)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr, out.exists()) == (2, f"pulka: {out}: File too large\n", False)


@pytest.mark.slow
def test_a_file_that_is_none_is_refused_as_by_pulka_score(tmp_path):
    """With `--json`: bad input is status 2 with its path, a deal after the pulka's end status 1."""
    path = tmp_path / "wrong.json"
    path.write_text('{"convention": "sochi", "players": 3, "deals": [{}]}', encoding="utf-8")
    status, _, complaints = pulka("sheet", str(path), "--json")
    assert (status, json.loads(complaints)["error"]["path"]) == (2, "deals[0].contract")
    ten = {"dealer": 0, "declarer": 0, "contract": "10S", "calls": [None, "pass", "pass"]}
    path.write_text(json.dumps({"convention": "sochi", "players": 3, "target": 1, "deals": [ten, ten]}), encoding="utf-8")
    status, _, complaints = pulka("whatif", str(path), "--convention", "sochi", "--json")
    assert (status, json.loads(complaints)["error"]["code"]) == (1, "pulka_over")


@pytest.mark.slow
def test_what_another_convention_would_have_made_of_a_file(file):
    """In words for a player, in both languages, and as the document; a convention may be written out."""
    status, told, _ = pulka("whatif", str(file), "--convention", "leningrad")
    assert status == 0
    assert "Deal 25: " in told
    assert "the same deals as leningrad" in told
    status, told, _ = pulka("whatif", str(file), "--convention", "leningrad", "--lang", "ru")
    assert "Сдача 25, сдаёт место " in told
    status, told, _ = pulka("whatif", str(file), "--convention", '{"preset": "leningrad", "pool_weight": 2}', "--json")
    written_out = {"preset": "leningrad", "pool_weight": 2}
    assert (status, json.loads(told)) == (0, what_if_document(compared(json.loads(file.read_bytes()), written_out), written_out))


@pytest.mark.servers
def test_a_table_is_drawn_and_compared_with_its_players_names():
    """Of a table the names are the lobby's; its deals compared with another convention are what the server says too."""
    with own_server() as url:
        _, told, _ = pulka("demo", "--url", url, "--players", "3", "--target", "2", "--seed", "3", "--json")
        (table,) = json.loads(told)["tables"]
        status, drawn, complaints = pulka("sheet", table["table_id"], "--url", url, "--lang", "ru")
        assert (status, complaints) == (0, "")
        assert all(name in drawn for name in ("Anna", "Boris", "Clara", "окончена"))
        status, told, _ = pulka("sheet", table["table_id"], "--url", url, "--json")
        assert json.loads(told)["sheet"] == table["sheet"]
        status, told, _ = pulka("whatif", table["table_id"], "--url", url, "--convention", "leningrad", "--json")
        assert (status, json.loads(told)) == (0, what_if_document(compared(table["score_file"], "leningrad"), "leningrad"))
        status, page, _ = pulka("sheet", table["table_id"], "--html", "-", environment={"PULKA_PORT": url.rpartition(":")[2].strip("/")})
        assert (status, ET.fromstring(page).tag) == (0, "{http://www.w3.org/1999/xhtml}html")  # noqa: S314 - our own page
        status, _, complaints = pulka("sheet", "0-" + "a" * 26, "--url", url)
        assert (status, "no_such_table" in complaints) == (2, True)
