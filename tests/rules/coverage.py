"""Which test shows which rule of the Code, and where the program cites it: `python -m tests.rules.coverage` writes `COVERAGE.md`.

The rules are data (`rules_of_the_code.toml`). A test claims the rule in its name (`test_3_9_16_2_late_revoke`, `test_fn39_a_checked_ten`)
and those that its docstring cites; the table names the latter only where no test is named after the rule.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RULES, TABLE = HERE / "rules_of_the_code.toml", HERE / "COVERAGE.md"

CITED = re.compile(r"(?<![\w.])(?<!Python )(?:FN[1-9]\d?|[1-5]\.\d{1,2}(?:\.\d{1,2})*)(?![\w]|\.\d)")
NAMED = re.compile(r"test_(?:fn(?P<footnote>\d+)|(?P<rule>[1-5](?:_\d+)+))(?:_|$)")


class Catalogue(NamedTuple):
    """`rules` in words by number, `reasons` why some cannot be shown online."""

    rules: dict[str, str]
    reasons: dict[str, str]
    sections: dict[str, str]


class Test(NamedTuple):
    """A test function: its file under `tests/`, its name, the rule it is named after ("" for none), the rules that its docstring cites."""

    file: str
    name: str
    named_after: str
    cites: frozenset[str]


def catalogue() -> Catalogue:
    """The Code's rules as the data has them."""
    data = tomllib.loads(RULES.read_text(encoding="utf-8"))
    words = data["rules"] | {number: said for number, (said, _) in data["not_online"].items()}
    reasons = {number: reason for number, (_, reason) in data["not_online"].items()}
    return Catalogue({number: words[number] for number in sorted(words, key=place)}, reasons, data["sections"])


def place(number: str) -> tuple[bool, list[int]]:
    """Where a number stands: the rules in the Code's order, then its footnotes."""
    return number.startswith("FN"), [int(part) for part in re.findall(r"\d+", number)]


def sources(*folders: str) -> Iterator[tuple[Path, str]]:
    """Every Python file under these folders of the repository, with its text."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path, path.read_text(encoding="utf-8")


@cache
def parsed(text: str) -> ast.Module:
    """The syntax tree of a file, made once: several questions are asked of each."""
    return ast.parse(text)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function of a file, methods and inner ones too."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def tests() -> list[Test]:
    """Every test function of the repository."""
    return [
        Test(path.relative_to(ROOT / "tests").as_posix(), node.name, named_after(node.name), cited(ast.get_docstring(node) or ""))
        for path, text in sources("tests")
        for node in functions(parsed(text))
        if node.name.startswith("test_")
    ]


def named_after(name: str) -> str:
    """The rule that a test's name begins with: "3.9.16.2", "FN39", or ""."""
    match = NAMED.match(name)
    if match is None:
        return ""
    return f"FN{match['footnote']}" if match["footnote"] else match["rule"].replace("_", ".")


def cited(text: str) -> frozenset[str]:
    """The rule numbers in a text; a number of two parts may be one of another kind, so a caller checks it against the catalogue."""
    return frozenset(CITED.findall(text))


def shown_by(all_tests: Iterable[Test]) -> dict[str, list[Test]]:
    """The tests of each rule: those named after it, or else those whose docstring cites it."""
    named, told = defaultdict(list), defaultdict(list)
    for test in all_tests:
        if test.named_after:
            named[test.named_after].append(test)
        for number in test.cites:
            told[number].append(test)
    return {number: named.get(number) or told[number] for number in {*named, *told}}


def places_in_program() -> dict[str, set[str]]:
    """Where the program cites each rule: `file:function`, or the file alone for what stands outside of functions and classes."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, text in sources("shared", "services"):
        owner = _owners(parsed(text))
        name = path.relative_to(ROOT).as_posix().removeprefix("shared/rules/")
        for number, line in enumerate(text.splitlines(), 1):
            for rule in CITED.findall(line):
                found[rule].add(f"{name}:{owner[number]}" if number in owner else name)
    return found


def _owners(tree: ast.AST) -> dict[int, str]:
    """The innermost function or class around each line."""
    owner: dict[int, str] = {}
    for node in ast.walk(tree):  # outer before inner
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            owner |= dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), node.name)
    return owner


def table() -> str:
    """The whole of `COVERAGE.md`."""
    code, shown, places = catalogue(), shown_by(tests()), places_in_program()
    lines = [
        "# Rules of the Code, and where each is shown",
        "",
        "Written by `python -m tests.rules.coverage`; the rules are in `rules_of_the_code.toml`. Files of the program without a folder are",
        "those of `shared/rules`; tests without a folder are those of `tests/rules`.",
    ]
    section = ""
    for number, words in code.rules.items():
        if _section(number) != section:
            section = _section(number)
            title = f"{section} {code.sections[section]}" if section in code.sections else section
            lines += ["", f"## {title}", "", "| rule | what it says | tests | in the program |", "|---|---|---|---|"]
        lines.append(f"| {number} | {words} | {_tests_cell(number, code, shown)} | {_joined(places.get(number, ()))} |")
    return "\n".join(lines) + "\n"


def _section(number: str) -> str:
    if number.startswith("FN"):
        return "Footnotes"
    return "1 General" if number.startswith("1.") else ".".join(number.split(".")[:2])


def _tests_cell(number: str, code: Catalogue, shown: dict[str, list[Test]]) -> str:
    if number in code.reasons:
        return f"cannot be online: {code.reasons[number]}"
    if number in shown:
        return _joined(f"{test.file.removeprefix('rules/')}:{test.name}" for test in shown[number])
    return "**none**"


def _joined(places: Iterable[str]) -> str:
    """`file: one, other; file: …`"""
    by_file: dict[str, list[str]] = defaultdict(list)
    for one in sorted(places):
        file, _, name = one.partition(":")
        by_file[file] += [f"`{name}`"] if name else []
    return "; ".join(f"{file}: {', '.join(names)}" if names else file for file, names in by_file.items())


def main() -> int:
    """Write the table; tell which rules nothing shows yet."""
    TABLE.write_text(table(), encoding="utf-8")
    code, shown = catalogue(), shown_by(tests())
    missing = [number for number in code.rules if number not in shown and number not in code.reasons]
    for number in missing:
        sys.stdout.write(f"{number} has no test: {code.rules[number]}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
