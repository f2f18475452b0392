"""Every rule of the Code is shown by a test or says why none can; nothing cites a rule that the Code does not have."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.rules import coverage

CODE = coverage.catalogue()
TESTS = coverage.tests()
#: What no other kind of number looks like: a footnote, or three parts and more.
PLAIN_RULE = re.compile(r"FN\d+|\d+\.\d+\.\d+.*")


def strings(tree: ast.AST) -> Iterator[str]:
    """Every string under a node of the syntax tree."""
    return (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))


def test_the_numbers_of_the_code_are_listed_once():
    """Nothing is both to be tested and impossible."""
    assert all(CODE.rules.values())
    assert all(len(reason) > 20 for reason in CODE.reasons.values())


def test_every_rule_has_a_test_or_a_reason():
    """A rule without a test says why none can exist online."""
    shown = coverage.shown_by(TESTS)
    assert [number for number in CODE.rules if number not in shown.keys() | CODE.reasons.keys()] == []


def test_a_test_is_named_after_a_rule_that_exists():
    """The number in a test's name is a rule of the Code, or a section of it."""
    known = CODE.rules.keys() | CODE.sections.keys()
    assert [(test.file, test.name) for test in TESTS if test.named_after and test.named_after not in known] == []


def test_every_number_cited_is_a_rule():
    """What the program, its documents and the tests cite exists in the Code."""
    known = CODE.rules.keys() | CODE.sections.keys()
    cited = coverage.places_in_program()
    assert {number: places for number, places in cited.items() if PLAIN_RULE.fullmatch(number) and number not in known} == {}
    for document in (coverage.ROOT / "deploy" / "docs").glob("*.md"):
        numbers = coverage.cited(document.read_text(encoding="utf-8"))
        assert {number for number in numbers if PLAIN_RULE.fullmatch(number)} <= known, document.name


def test_the_table_is_fresh():
    """`COVERAGE.md` is what `python -m tests.rules.coverage` writes now."""
    assert coverage.TABLE.read_text(encoding="utf-8") == coverage.table()


# ---- what the engine can answer, and whether a test expects it -----------------------------------------------------------


def refusals() -> set[tuple[str, str]]:
    """Every `(code, rule)` that the rules refuse with, as far as both are written out."""
    found = set()
    for _, text in coverage.sources("shared/rules"):
        for node in ast.walk(coverage.parsed(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Refused":
                code, rule = node.args[:2]
                rules = {one for one in strings(rule) if coverage.CITED.fullmatch(one)}
                found |= {(one, number) for one in strings(code) for number in rules}
    return found


def rules_written() -> set[str]:
    """Every rule number that stands alone as a string in the rules: of refusals, and of entries on the sheet."""
    alone: set[str] = set()
    for path, text in coverage.sources("shared/rules"):
        if path.name != "sources.py":  # it says where options come from and decides nothing
            alone |= {one for one in strings(coverage.parsed(text)) if coverage.CITED.fullmatch(one)}
    return alone


def expected() -> list[set[str]]:
    """The strings of each test of the rules that claims a rule, its table of cases included."""
    found = []
    for path, text in coverage.sources("tests/rules", "tests/services", "tests/journeys"):
        if path.name == "test_coverage.py":
            continue
        tree = coverage.parsed(text)
        tables = {
            node.targets[0].id: set(strings(node))
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for function in coverage.functions(tree):
            if function.name.startswith("test_"):
                named = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
                found.append(set(strings(function)).union(*(tables[name] for name in named & tables.keys())))
    return found


def test_every_refusal_is_expected_by_a_test():
    """Each code that the rules refuse with, by each rule that it cites, stands in a test."""
    seen = expected()
    missing = [pair for pair in refusals() if not any(set(pair) <= one for one in seen)]
    assert sorted(missing) == []


def test_every_rule_of_an_entry_is_expected_by_a_test():
    """Each rule number that can come out of the engine stands in a test as a string to compare with."""
    seen = set().union(*expected())
    assert sorted(rules_written() - seen, key=coverage.place) == []
