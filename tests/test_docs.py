"""The product's own documents say what the product does: every word of the contract stands there, and every example is run."""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import fields

from services.cli.serving.composition import SERVICES
from shared.events.catalogue import LANGUAGE
from shared.events.keys import MasterKeys
from shared.rules.convention.customs import CUSTOMS, WHO
from shared.rules.convention.options import PRESETS, AllPass, Convention, to_document
from shared.rules.language.game_events import DealRevealed
from shared.rules.language.moves import AnyMove
from shared.rules.open_cards.document import solve_document
from shared.rules.score_files.deal_record import ReplayRefused, replay_document
from shared.rules.score_files.score_file import score_document
from shared.web import application
from shared.web.problems import TITLES
from shared.web.settings import Settings
from tests.events.played import play
from tests.events.story import stored
from tests.token_keys import token_files

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "deploy" / "docs"


def page(name):
    """A page of the documents."""
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


INDEX, RULES, EVENTS = (page(name) for name in ("formats", "rules", "events"))
PAGES = re.findall(r"^\| .*\]\(([\w-]+)\.md\) \|", INDEX, re.MULTILINE)  # in the order of the index
FORMATS = "\n".join(page(name) for name in PAGES)
BLOCK = re.compile(r"```(\w+) ?(\w*)\n(.*?)```", re.DOTALL)
ANSWERS = {"score": score_document, "replay": replay_document, "solve": solve_document}
PRESETS_IN_FULL = "The presets, in full:"
REFUSED = re.compile(r'\bRefused\(\s*"([a-z_]+)",\s*"([0-9.]*)"')
PROBLEM = re.compile(r'\bProblem\(\s*[0-9]{3},\s*"([a-z_]+)"')


def section(text, title):
    """What stands under a heading, up to the next one of its rank."""
    return re.split(r"^## ", text.partition(f"\n## {title}\n")[2], flags=re.MULTILINE)[0]


def words(text):
    """Everything that is set as code."""
    return set(re.findall(r"`([^`\n]+)`", text))


def rows(text):
    """The tables' rows, as lists of cells."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def sources(*folders):
    return "\n".join(path.read_text(encoding="utf-8") for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))


def examples():
    """Each input of the formats with the answer that is printed after it."""
    blocks = BLOCK.findall(FORMATS)
    return [
        pytest.param(kind, text, msgspec.json.decode(answer[2]), id=f"{kind} {number}")
        for number, ((language, kind, text), answer) in enumerate(pairwise(blocks))
        if language == "json" and kind in ANSWERS
    ]


def answered(kind, text):
    answer = ANSWERS[kind](text)
    return {"error": answer.document()} if isinstance(answer, ReplayRefused) else answer


@pytest.mark.parametrize(("kind", "text", "answer"), examples())
def test_an_example_answers_as_printed(kind, text, answer):
    """A score file or deal record of the formats gives the answer that stands below it."""
    assert msgspec.json.decode(msgspec.json.encode(answered(kind, text))) == answer


def test_there_are_examples():
    """Two score files, deal records of three and of two players, a refused one, two open positions, and a record that a claim ends."""
    assert [param.values[0] for param in examples()] == ["score", "score", *["replay"] * 3, "solve", "solve", "replay"]


def test_every_json_block_is_json():
    """What is printed as JSON can be read."""
    for text in (FORMATS, RULES, EVENTS):
        for language, _, block in BLOCK.findall(text):
            if language == "json":
                msgspec.json.decode(block)


def test_every_option_is_described_with_its_values():
    """Each option of the convention has a row with meaning, and each word that it takes stands there."""
    described = {name: row for row in rows(page("convention").partition(PRESETS_IN_FULL)[0]) for name in words(row[0])}
    options = [field.name for field in fields(Convention) if field.name != "all_pass"]
    options += [f"all_pass.{field.name}" for field in fields(AllPass)]
    assert [option for option in options if option not in described] == []
    for option in options:
        owner = AllPass if option.startswith("all_pass.") else Convention
        schema = msgspec.json.schema_components([owner])[1][owner.__name__]["properties"][option.rpartition(".")[2]]
        for choice in (schema, *schema.get("anyOf", ())):
            if option != "preset":
                missing = [word for word in choice.get("enum", ()) if not re.search(rf"\b{re.escape(str(word))}\b", described[option][1])]
                assert missing == [], option


def test_every_source_of_a_value_is_named():
    """Who can stand in `from` and `played_by` has a row."""
    sources, _, options = section(page("convention"), "What others play").partition("By option:")
    assert [word for row in rows(sources) for word in words(row[0])] == list(WHO)
    played = {
        option: "; ".join(f"`{one.value if isinstance(one.value, str) else json.dumps(one.value)}` {', '.join(one.who)}" for one in customs)
        for option, customs in CUSTOMS.items()
    }
    assert {row[0].strip("`"): row[1] for row in rows(options)[1:]} == played


def test_the_presets_are_printed_in_full():
    """The table of presets is the presets."""
    head, *table = rows(page("convention").partition(PRESETS_IN_FULL)[2].partition("\n## ")[0])
    names = head[1:]
    assert names == list(PRESETS)
    printed = {
        row[0].strip("`"): [cell.strip("`") for cell in row[1:]] for row in table if row[0] != "---" and not row[0].startswith("---")
    }
    for place, name in enumerate(names):
        options = to_document(PRESETS[name])
        inner = options.pop("all_pass")
        whole = options | {f"all_pass.{option}": value for option, value in inner.items()}
        assert printed.keys() == whole.keys() - {"preset", "version"}
        for option, cells in printed.items():
            value = whole[option]
            assert (cells[place] if isinstance(value, str) else msgspec.json.decode(cells[place])) == value, (name, option)


def test_every_refusal_is_documented():
    """Each code of the rules, the services and the HTTP layer stands among refusals, each rule's with the rule's number."""
    documented = words(page("refusals"))
    code = sources("shared/rules", "shared/web", "services/table", "services/lobby", "services/ledger")
    used = {one for one, _ in REFUSED.findall(code)} | set(PROBLEM.findall(code)) | set(TITLES)
    assert len(used) > 40
    assert used - documented == set()
    assert used - set(TITLES) == set()  # a problem document's `type` leads to what its code says
    refusals = (*rows(section(RULES, "What is enforced")), *rows(section(RULES, "Adjudicated mode").partition("Refused there")[2]))
    enforced = {(word, rule) for row in refusals for rule in row[0].split(", ") for word in words(row[1])}
    assert {pair for pair in REFUSED.findall(sources("shared/rules")) if pair[1]} - enforced == set()


def test_every_move_is_documented_with_its_fields():
    """Each move has a row that names its fields."""
    described = {row[0].strip("`"): words(row[1]) for row in rows(page("moves"))}
    for kind in AnyMove.__args__:
        named = {name for word in described[kind.__struct_config__.tag] for name in re.findall(r"\w+", word)}
        assert {field.name for field in fields(kind)} <= named, kind


@pytest.mark.parametrize(
    ("service", "title"), [("table", "A table's events"), ("lobby", "The lobby's events"), ("ledger", "The ledger's events")]
)
def test_every_event_is_documented_with_its_fields(service, title):
    """Each stored event has a row with exactly the fields that it has in the log."""
    described = {tag: words(row[1]) for row in rows(section(EVENTS, title)) for tag in words(row[0])}
    assert described == {kind.__struct_config__.tag: {field.name for field in fields(kind)} for kind in LANGUAGE[service]}


def operations(tmp_path):
    path = tmp_path / "master_keys"
    MasterKeys.create(path, "k1", secrets.token_bytes(32))
    settings = Settings(master_keys_file=str(path), **token_files(tmp_path))
    app = application.build([create(settings) for create in SERVICES.values()], settings)
    document = app.openapi_schema.to_schema()
    return {(method.upper(), route): item[method] for route, item in document["paths"].items() for method in item}


def test_every_route_is_documented(tmp_path):
    """Each operation of the OpenAPI document stands in the formats, its query parameters too, and none that does not exist."""
    there = operations(tmp_path)
    http = page("http") + page("books") + page("players")
    named = {tuple(word.split(" ", 1)) for word in words(http) if re.fullmatch(r"(GET|POST|PUT|PATCH|DELETE) /\S*", word)}
    assert named - {("GET", "/"), ("GET", "/schema/openapi.json")} == there.keys()
    everywhere = {name for word in words(FORMATS) for name in re.findall(r"[\w-]+", word)}
    parameters = {parameter["name"] for item in there.values() for parameter in item.get("parameters", ())}
    assert parameters - everywhere == set()


def test_the_decisions_are_numbered():
    """The code refers to decisions by their numbers: there are 28, and every number that is referred to is one."""
    numbers = [int(number) for number in re.findall(r"^([0-9]+)\. \*\*", section(RULES, "Decisions"), re.MULTILINE)]
    assert numbers == list(range(1, 29))
    referred = {int(number) for number in re.findall(r"\bDecisions? ([0-9]+)", sources("shared", "services", "tests"))}
    assert referred
    assert referred <= set(numbers)


def test_a_table_can_be_checked_by_hand(tmp_path):
    """The program in events.md proves the table of the corpus and prints what stands below it; of a changed seed it complains."""
    (program,) = [text for language, kind, text in BLOCK.findall(EVENTS) if (language, kind) == ("python", "check")]
    (printed,) = [text for language, _, text in BLOCK.findall(EVENTS) if language == "text"]
    kept = (ROOT / "tests" / "corpus" / "table_story_schema_1.jsonl").read_text(encoding="utf-8").splitlines()
    stored = [msgspec.json.decode(line)["commit"] for line in kept]

    def run(commits):
        path = tmp_path / "commits"
        path.write_text("\n".join(commits) + "\n", encoding="utf-8")
        return subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=30, check=False)

    honest = run(stored)
    assert honest.stdout == printed, honest.stderr
    forged = run([*stored[:-1], stored[-1].replace('"server_seed":"31', '"server_seed":"32')])
    assert forged.stdout.count("DOES NOT FIT") == printed.count("fits")
    assert "the chain breaks at revision 4" in run([*stored[:2], stored[2].replace("c0ffee", "c0ffed"), *stored[3:]]).stderr


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_tables_of_every_size_can_be_checked_by_hand(tmp_path, players):
    """The program in events.md proves every deal of two to five players, the dummy's hand too (3.2.8, 3.2.10)."""
    (program,) = [text for language, kind, text in BLOCK.findall(EVENTS) if (language, kind) == ("python", "check")]
    _, told = play("sochi", players, 7, deals=3)
    path = tmp_path / "commits"
    path.write_bytes(b"".join(data + b"\n" for data in stored(told)))
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, timeout=30, check=False)
    deals = [line for line in done.stdout.splitlines() if line.startswith("deal ")]
    assert len(deals) == sum(isinstance(event, DealRevealed) for events in told for event in events) > 1
    assert all(line.count("hand:") == 3 and "DOES NOT FIT" not in line for line in deals), done.stdout + done.stderr


def test_links_lead_somewhere():
    """Every link of the documents and the README to a file or a heading of ours holds."""
    for document in (*DOCS.glob("*.md"), ROOT / "README.md"):
        for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
            name, _, anchor = target.partition("#")
            file = (document.parent / name).resolve() if name else document
            assert file.exists(), (document.name, target)
            if anchor:
                text = file.read_text(encoding="utf-8")
                headings = {heading.lower() for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}
                anchors = {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings} | set(
                    re.findall(r'<a id="([\w-]+)">', text)
                )
                assert anchor in anchors, (document.name, target)


def test_every_command_stands_in_the_readme():
    """The README's table names each command of `pulka`."""
    table = "\n".join(line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `pulka"))
    commands = re.findall(
        r'^    "(\w+)": "services\.cli', (ROOT / "services" / "cli" / "main.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(commands) > 15
    assert [name for name in commands if not re.search(rf"`(pulka )?{name}\b", table)] == []


def test_every_page_is_short_and_in_the_index():
    """A page has at most 400 lines, and each page of the formats stands in their index."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in DOCS.glob("*.md")}
    assert [name for name, text in pages.items() if len(text.splitlines()) > 400] == []
    assert set(PAGES) <= pages.keys()
    assert len(PAGES) > 10
