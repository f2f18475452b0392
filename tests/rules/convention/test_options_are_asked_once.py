"""Each option is asked in one module: whoever else has the same question calls its function, so that two places cannot disagree."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from shared.rules.convention.options import AllPass, Convention
from shared.rules.convention.sources import OPTION_SOURCES

ROOT = Path(__file__).parents[3]
RULES = ROOT / "shared" / "rules"
OWN_ROOM = "convention"  # reads options to resolve a document and to say what contradicts, and decides nothing in a deal
#: Reads beside the deciding module, with the reason.
ALLOWED = {
    ("all_pass", "score_files/what_if.py"): "hands the whole of it on to the series, which asks it",
    ("dark", "score_files/what_if.py"): "likewise",
}
#: Records whose fields are options, by the names that the code gives to values of them.
OWNERS = {"Convention": set(Convention.__struct_fields__), "AllPass": set(AllPass.__struct_fields__)}


def owner_of(node: ast.expr, names: dict[str, str]) -> str:
    """Which of the two records an expression is, "" for anything else."""
    match node:
        case ast.Name(id=name):
            return names.get(name, "")
        case ast.Attribute(attr="convention"):
            return "Convention"
        case ast.Attribute(attr="all_pass", value=value) if owner_of(value, names) == "Convention":
            return "AllPass"
        case ast.Call(func=ast.Name(id="resolve" | "from_document") | ast.Attribute(attr="resolve" | "from_document")):
            return "Convention"
        case ast.Subscript(value=ast.Name(id="PRESETS")):
            return "Convention"
    return ""


def named(function: ast.FunctionDef, outer: dict[str, str]) -> dict[str, str]:
    """The function's names for either record: parameters, and what it assigns."""
    names = dict(outer)
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    names |= {one.arg: one.annotation.id for one in arguments if isinstance(one.annotation, ast.Name) and one.annotation.id in OWNERS}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=True))
                names |= {to.id: owner for to, value in pairs if isinstance(to, ast.Name) and (owner := owner_of(value, names))}
    return names


def reads(tree: ast.AST, names: dict[str, str]) -> Iterator[str]:
    """The options that the code under `tree` reads, as `OPTION_SOURCES` names them; `all_pass` where all of it is handed on."""
    for node in ast.iter_child_nodes(tree):
        inner = named(node, names) if isinstance(node, ast.FunctionDef) else names
        if isinstance(node, ast.Attribute):
            owner = owner_of(node.value, inner)
            if owner and node.attr in OWNERS[owner]:
                yield f"all_pass.{node.attr}" if owner == "AllPass" else node.attr
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr" and owner_of(node.args[0], inner):
            yield "getattr"
        yield from reads(node, inner)


def readers(under: Path = RULES) -> dict[str, set[str]]:
    """By option the modules under a folder that read it, outside the convention's own room."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(under.rglob("*.py")):
        place = path.relative_to(under).as_posix()
        if not place.startswith(f"{OWN_ROOM}/"):
            for option in reads(ast.parse(path.read_text()), {}):
                found[option].add(place)
    return found


def test_each_option_is_asked_in_one_module() -> None:
    """Every option has its one deciding module in the rules, or its exception above."""
    found = readers()
    assert found.pop("getattr", set()) == set(), "an option that is read by its name in text cannot be followed"
    whole = found.pop("all_pass", set())
    assert set(found) - {"preset", "version"} == set(OPTION_SOURCES), "each option decides something, and the walk sees where"
    several = {option: places - {place for one, place in ALLOWED if one == option} for option, places in found.items()}
    assert {option: sorted(places) for option, places in several.items() if len(places) > 1 and option not in ("preset", "version")} == {}
    assert {place for place in whole if ("all_pass", place) not in ALLOWED} <= {
        place for option, places in found.items() if option.startswith("all_pass.") for place in places
    }


def test_services_ask_the_rules() -> None:
    """Outside the rules nobody reads an option for themselves; a preset's name and a version they may show."""
    found = readers(ROOT / "services")
    for folder in ("events", "eventlog", "projections", "web"):
        found |= readers(ROOT / "shared" / folder)
    assert found.keys() <= {"preset", "version"}


def test_no_exception_is_left_over() -> None:
    """An exception that nothing needs any more is taken away."""
    found = readers()
    assert {(option, place) for option, place in ALLOWED if place not in found[option]} == set()
