"""Mutation testing of the rules: does a test fail when one thing in `shared/rules` is wrong?

`python -m tests.rules.mutants --sample 150 --seed 1` changes one operator, number, word or condition at a time in a copy of the tree, runs
the tests of the rules on it until one fails, and prints one JSON line a mutant, then a summary. `--only auction.py:180` runs the mutants of
one line again. Survivors are looked at by hand and stand in `MUTANTS.md`.

What is not changed: docstrings, annotations, sentences for people (any text with a space), and what only type checkers read.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
RULES = "shared/rules"
#: Deterministic tests first: they are quick, and kill most. `test_coverage` reads the text of the rules instead of running them.
QUICK = ("test_[1-5]_*.py", "test_behaviour_cases.py", "test_code_scoring_cases.py", "test_offer.py", "test_convention.py")
SLOW = ("test_s*.py", "test_replay.py", "test_perft.py", "test_deal_properties.py")
LEFT_OUT = ("test_coverage.py",)
#: As in pyproject.toml, but for warnings: pytest warns of modules that were loaded before it, as here they are on purpose.
SETTINGS = "[pytest]\npythonpath = .\nasyncio_mode = auto\naddopts = --import-mode=importlib\n"
PATIENCE = 240  # seconds for one mutant on a busy machine; all tests of the rules take about 25 on a quiet one

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


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every change of one file."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    offsets = [0]
    for line in text.encode().splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    passed_over = _not_run(tree)
    for node in ast.walk(tree):
        if node in passed_over or not hasattr(node, "col_offset"):
            continue
        start = offsets[node.lineno - 1] + node.col_offset
        end = offsets[node.end_lineno - 1] + node.end_col_offset
        old = text.encode()[start:end].decode()
        for new in _changes(node):
            yield Mutant(path.name, node.lineno, start, end, old, f"({new})")


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
            case ast.Expr(value=ast.Constant()):
                inside = [node]
            case ast.Call(func=ast.Name(id="cast")):
                inside = [node.args[0]]
        found.update(each for one in inside if one is not None for each in ast.walk(one))
    return found


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


def sample(size: int, seed: int) -> list[Mutant]:
    """`size` mutants spread over all files in proportion to what there is to change, one a file at least."""
    draw = random.Random(seed)
    by_file = {path.name: list(mutants_of(path)) for path in sorted((ROOT / RULES).glob("*.py"))}
    total = sum(map(len, by_file.values()))
    drawn: list[Mutant] = []
    for found in by_file.values():
        drawn += draw.sample(found, min(len(found), max(1, round(size * len(found) / total))))
    draw.shuffle(drawn)
    return drawn


def copied() -> Path:
    """A copy of what the tests of the rules need; the tree itself is never changed."""
    place = Path(tempfile.mkdtemp(prefix="mutants-"))
    for folder in ("shared", "tests", "services", "deploy"):
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (place / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    return place


def killed(place: Path, mutant: Mutant, stamp: int) -> str:
    """How it went with `mutant` in the copy: "killed", "timeout" (which kills too) or "survived"."""
    target = place / RULES / mutant.file
    whole = target.read_bytes()
    target.write_bytes(whole[: mutant.start] + mutant.new.encode() + whole[mutant.end :])
    os.utime(target, (stamp, stamp))  # no second is used twice, so that no compiled file stands for another text
    try:
        for patterns in (QUICK, SLOW):
            how = _tested(place, patterns)
            if how:
                return how
        return "survived"
    finally:
        target.write_bytes(whole)


def _tested(place: Path, patterns: tuple[str, ...]) -> str:
    """Runs the tests in a child of this process, which has loaded pytest already; "" if all passed."""
    files = sorted({str(path) for pattern in patterns for path in (place / "tests" / "rules").glob(pattern) if path.name not in LEFT_OUT})
    child = os.fork()
    if child == 0:
        status = 3
        try:
            status = _run(place, files)
        finally:
            os._exit(status)  # never back into the parent's loop
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "" if os.waitstatus_to_exitcode(status) == 0 else "killed"
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def _run(place: Path, files: list[str]) -> int:
    """In the child: quietly, until the first failure; Hypothesis draws the same examples each time and shrinks nothing."""
    import hypothesis  # noqa: PLC0415 - loaded by `main` already
    import pytest  # noqa: PLC0415

    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    os.chdir(place)
    sys.path[0] = str(place)
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutants", phases=phases, derandomize=True, database=None)
    hypothesis.settings.load_profile("mutants")
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--rootdir", str(place), "-c", str(place / "pytest.ini")]
    return int(pytest.main([*options, *files]))


def main() -> int:
    """Sample, run, tell."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--sample", type=int, default=150)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--only", help="file.py or file.py:line")
    asked = reader.parse_args()
    for module in ("hypothesis", "pytest", "_pytest.assertion.rewrite", "msgspec", "pytest_asyncio"):
        importlib.import_module(module)  # once, for all children
    os.nice(19)
    if asked.only:
        file, _, line = asked.only.partition(":")
        chosen = [one for one in mutants_of(ROOT / RULES / file) if not line or one.line == int(line)]
    else:
        chosen = sample(asked.sample, asked.seed)
    place = copied()
    try:
        clean = next((how for how in (_tested(place, QUICK), _tested(place, SLOW)) if how), "")
        if clean:
            print("the tests fail without any mutant", file=sys.stderr)
            return 1
        counted: dict[str, Counter[str]] = defaultdict(Counter)
        for number, mutant in enumerate(chosen):
            how = killed(place, mutant, 1_000_000_000 + number)
            counted[mutant.file][how] += 1
            print(json.dumps({"how": how, "at": f"{mutant.file}:{mutant.line}", "old": mutant.old, "new": mutant.new}), flush=True)
        total = sum(counted.values(), Counter())
        share = 1 - total["survived"] / max(1, total.total())
        print(json.dumps({"mutants": total.total(), "seed": asked.seed, "killed": round(share, 4), **total}), flush=True)
    finally:
        shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
