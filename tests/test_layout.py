"""The rooms stay rooms: few modules in a folder, short files, and a sentence at each door. Who may import whom is `make lint`'s."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = 24  # in one folder: what fits on a screen and in a head
LINES = 400  # of one file: an idea that takes more is two
FOLDERS = sorted(path.parent for top in ("shared", "services") for path in (ROOT / top).rglob("__init__.py"))
DRAWERS = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base"}  # names that say nothing of what is inside


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_a_room(folder: Path):
    """A folder says in its `__init__` what it is, holds at most 24 modules, and none of its files is a drawer or longer than 400 lines."""
    assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(modules) <= MODULES
    assert {path.stem for path in modules} & DRAWERS == set()
    long = {name(path): lines for path in modules if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LINES}
    assert long == {}


def test_no_module_stands_outside_of_a_room():
    """Every folder with Python files in it is a package: the import contracts see all of them."""
    for top in ("shared", "services"):
        assert {path.parent for path in (ROOT / top).rglob("*.py")} <= set(FOLDERS)
