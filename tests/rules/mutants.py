"""Mutation testing of the rules: does a test fail when one thing in `shared/rules` is wrong?

`python -m tests.rules.mutants --sample 150 --seed 1` changes one operator, number, word or condition at a time, runs the tests of the rules
on it until one fails, and prints one JSON line a mutant, then a summary. `--only deal/auction.py:180 scoring/help.py:40` runs those of some
lines again.
Survivors are looked at by hand and stand in `MUTANTS.md`.

The tests are collected once, then each mutant has a child of that process. A change inside of a function is made there, in memory; one that
counts at import (a table, a field, a default) is made in a copy of the tree and imported afresh, as is whatever survived in memory, since
what was worked out at import would not have seen it.

What is not changed: docstrings, annotations, sentences for people (any text with a space), what only type checkers read, and whether a
record is `frozen` or watched by the garbage collector.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[2]
RULES = "shared/rules"
#: What kills most comes first; all other tests of the rules follow. `test_coverage` reads the text of the rules instead of running them.
FIRST = (
    "convention/test_convention.py",
    "deal/test_behaviour_cases.py",
    "deck/test_1_general.py",
    "score_files/test_deal_record.py",
    "scoring/test_code_scoring_cases.py",
)
LEFT_OUT = ("test_coverage.py",)
#: Quick tests of other folders that hold the rules' documents to their word: the frozen language of events, options, the command line.
OTHERS = ("events/test_language.py", "services/cli/player/test_conventions.py", "services/cli/console/test_documents.py")
#: As in pyproject.toml, but for warnings: pytest warns of modules that were loaded before it, as here they are on purpose.
SETTINGS = (
    "[pytest]\npythonpath = .\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\naddopts = --import-mode=importlib\n"
)
PATIENCE = 40  # seconds of processor time for one mutant; all tests of the rules take about 10

COMPARED = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.In: "not in", ast.NotIn: "in",
    ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
COMPUTED = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Mod: "//", ast.BitAnd: "|", ast.BitOr: "&", ast.BitXor: "&",
    ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: in `file`, at `line`, the text from `start` to `end` (byte offsets) becomes `new`."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str
    in_function: bool

    def applied(self, whole: bytes) -> bytes:
        """The file with the change."""
        return whole[: self.start] + self.new.encode() + whole[self.end :]


def mutants_of(path: Path, rules: Path) -> Iterator[Mutant]:
    """Every change of one file in the folder `rules`."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    offsets = [0]
    for line in text.encode().splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    passed_over, later = _not_run(tree), _run_when_called(tree)
    for node in ast.walk(tree):
        if node in passed_over or not hasattr(node, "col_offset"):
            continue
        start = offsets[node.lineno - 1] + node.col_offset
        end = offsets[node.end_lineno - 1] + node.end_col_offset
        old = text.encode()[start:end].decode()
        for new in _changes(node):
            yield Mutant(path.relative_to(rules).as_posix(), node.lineno, start, end, old, f"({new})", node in later)


def _not_run(tree: ast.Module) -> set[ast.AST]:
    """Nodes that never run, or that are no part of a rule: annotations, docstrings, type aliases, texts inside of f-strings, asserts."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        inside: list[ast.AST | None] = []
        match node:
            case ast.arg():
                inside = [node.annotation]
            case ast.FunctionDef():
                inside = [node.returns]
            case ast.AnnAssign(annotation=annotation, value=value):
                inside = [annotation]
                if "TypeAlias" in ast.unparse(annotation):
                    inside.append(value)
            case ast.Assign(value=ast.Subscript()) | ast.Import() | ast.ImportFrom() | ast.Assert() | ast.JoinedStr():
                inside = [node]
            case ast.Expr(value=ast.Constant()) | ast.keyword(arg="frozen" | "gc"):
                inside = [node]
            case ast.Call(func=ast.Name(id="cast")):
                inside = [node.args[0]]
        found.update(each for one in inside if one is not None for each in ast.walk(one))
    return found


def _run_when_called(tree: ast.Module) -> set[ast.AST]:
    """Nodes in the bodies of functions; their decorators and defaults count at import."""
    bodies = (line for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for line in node.body)
    return {node for line in bodies for node in ast.walk(line)}


def _changes(node: ast.AST) -> Iterator[str]:
    """What stands for `node` in its mutants, as source text."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield f"{ast.unparse(left)} {COMPARED[type(op)]} {ast.unparse(right)}"
        case ast.BoolOp(op=op, values=values):
            yield (" or " if isinstance(op, ast.And) else " and ").join(f"({ast.unparse(value)})" for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield ast.unparse(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in COMPUTED:
            yield f"({ast.unparse(left)}) {COMPUTED[type(op)]} ({ast.unparse(right)})"
        case ast.Constant(value=bool(value)):
            yield repr(not value)
        case ast.Constant(value=int(value)):
            yield repr(value + 1)
        case ast.Constant(value=str(value)) if value and " " not in value:
            yield repr(value + "?")
        case ast.Yield(value=value) if value is not None:
            yield "None"
        case ast.IfExp(test=test, body=body, orelse=other) if isinstance(test, (ast.Name, ast.Attribute, ast.Call)):
            yield f"({ast.unparse(body)}) if not ({ast.unparse(test)}) else ({ast.unparse(other)})"


def sample(place: Path, size: int, seed: int) -> list[Mutant]:
    """`size` mutants spread over the files of all rooms in proportion to what there is to change, one a file at least."""
    draw = random.Random(seed)
    rules = place / RULES
    by_file = {path: list(mutants_of(path, rules)) for path in sorted(rules.rglob("*.py"))}
    total = sum(map(len, by_file.values()))
    drawn: list[Mutant] = []
    for found in by_file.values():
        drawn += draw.sample(found, min(len(found), max(1, round(size * len(found) / total))))
    draw.shuffle(drawn)
    return drawn


# ---- in memory ---------------------------------------------------------------------------------------------------------


class Loop:
    """A plugin of pytest that runs the collected tests once for each mutant, in children."""

    def __init__(self, chosen: list[Mutant], place: Path) -> None:
        self.chosen, self.place = chosen, place
        self.counted: Counter[str] = Counter()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests: run them for no mutant, which must succeed, then for each."""
        if _in_child(lambda: _run(session)) or _in_child(lambda: _start_afresh(self.place)):
            raise pytest.UsageError("the tests fail without any mutant")
        for number, mutant in enumerate(self.chosen):
            how = _in_child(lambda one=mutant: _changed_in_memory(one, self.place) or _run(session)) if mutant.in_function else ""
            how = how or self._from_a_copy(mutant, 1_000_000_000 + number)
            self.counted[how or "survived"] += 1
            _tell({"how": how or "survived", "at": f"{mutant.file}:{mutant.line}", "old": mutant.old, "new": mutant.new})
        return True

    def _from_a_copy(self, mutant: Mutant, stamp: int) -> str:
        target = self.place / RULES / mutant.file
        whole = target.read_bytes()
        target.write_bytes(mutant.applied(whole))
        os.utime(target, (stamp, stamp))  # no second is used twice, so that no compiled file stands for another text
        try:
            return _in_child(lambda: _start_afresh(self.place))
        finally:
            target.write_bytes(whole)


def _run(session: pytest.Session) -> int:
    """The collected tests until the first failure."""
    for item, following in zip(session.items, [*session.items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0


def _changed_in_memory(mutant: Mutant, place: Path) -> int:
    """Puts the changed code into the functions of the loaded module; 0, as for a run that goes on."""
    module = sys.modules[f"shared.rules.{mutant.file.removesuffix('.py').replace('/', '.')}"]
    path = place / RULES / mutant.file
    codes = dict(_codes(compile(mutant.applied(path.read_bytes()), str(path), "exec")))
    for thing in vars(module).values():
        for function in _functions(thing, module.__name__):
            function.__code__ = codes.get(function.__qualname__, function.__code__)
    return 0


def _codes(code: types.CodeType) -> Iterator[tuple[str, types.CodeType]]:
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield inner.co_qualname, inner
            yield from _codes(inner)


def _functions(thing: object, module: str) -> Iterator[types.FunctionType]:
    """The functions of `module` in one of its names: itself, what a cache wraps, a class's methods and properties."""
    if getattr(thing, "__module__", "") != module:
        return
    if isinstance(thing, type):
        for one in list(vars(thing).values()):
            yield from _functions(one.fget if isinstance(one, property) else one, module)
    elif isinstance(thing, types.FunctionType):
        yield thing
    elif hasattr(thing, "cache_clear"):
        thing.cache_clear()
        yield from _functions(thing.__wrapped__, module)


# ---- afresh ------------------------------------------------------------------------------------------------------------


def copied() -> Path:
    """A copy of what the tests of the rules need; the tree itself is never changed."""
    place = Path(tempfile.mkdtemp(prefix="mutants-"))
    for folder in ("shared", "tests", "services", "deploy"):
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (place / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    return place


def _start_afresh(place: Path) -> int:
    """In the child: forgets the rules and their tests, and runs pytest on the copy."""
    _forget(place)
    return int(pytest.main(_options(place)))


def _forget(place: Path) -> None:
    """From now on the rules and tests that are imported are those of the copy."""
    for name in [name for name in sys.modules if name.partition(".")[0] in {"shared", "services", "tests"}]:
        del sys.modules[name]
    os.chdir(place)
    sys.path[:] = [str(place), *(path for path in sys.path if Path(path or ".").resolve() != ROOT)]


def _options(place: Path) -> list[str]:
    """Of pytest, for the tests of the rules in the copy, those of `FIRST` first; nothing is printed."""
    tests = place / "tests"
    rules = tests / "rules"
    files = {path.relative_to(rules).as_posix(): str(path) for path in sorted(rules.rglob("test_*.py")) if path.name not in LEFT_OUT}
    ordered = dict.fromkeys([*(files[name] for name in FIRST), *(str(tests / name) for name in OTHERS), *files.values()])
    return ["-x", "-p", "no:cacheprovider", "-p", "no:terminal", "--rootdir", str(place), "-c", str(place / "pytest.ini"), *ordered]


# ---- children ----------------------------------------------------------------------------------------------------------


def _in_child(work: Callable[[], int]) -> str:
    """How `work` ended in a child of this process: "" with 0, else "killed", or "timeout", which kills too."""
    child = os.fork()
    if child == 0:
        status = 3
        try:
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))  # counted from the child's birth; the kernel ends it
            status = work()
        finally:
            os._exit(status)  # never back into the parent's loop
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return "timeout" if status in (-signal.SIGXCPU, -signal.SIGKILL) else "killed" if status else ""


def _tell(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def main() -> int:
    """Sample, run, tell."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--sample", type=int, default=150)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--only", nargs="+", default=[], help="file.py or file.py:line")
    asked = reader.parse_args()
    place = copied()
    if asked.only:
        places = [place_asked.partition(":") for place_asked in asked.only]
        chosen = [
            one for file, _, line in places for one in mutants_of(place / RULES / file, place / RULES) if not line or one.line == int(line)
        ]
    else:
        chosen = sample(place, asked.sample, asked.seed)
    os.nice(19)
    # Hypothesis draws the same examples each time and shrinks nothing.
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutants", phases=phases, derandomize=True, deadline=None, database=None)
    hypothesis.settings.load_profile("mutants")
    try:
        loop = Loop(chosen, place)
        _forget(place)
        status = pytest.main(_options(place), plugins=[loop])
        total = loop.counted.total()
        share = 1 - loop.counted["survived"] / max(1, total)
        _tell({"mutants": total, "seed": asked.seed, "share killed": round(share, 4), **loop.counted})
    finally:
        shutil.rmtree(place)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
