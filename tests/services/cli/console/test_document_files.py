"""Whatever file a person names, a command answers at once: what is no regular file of a document's size is one line and status 2 (F18)."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from services.cli.console import documents
from services.cli.console.documents import LARGEST, lines_of, read_document
from shared.events.key_files import KeyFileError
from shared.events.keys import MasterKeys
from shared.rules.language.refusal import Malformed

COMMANDS = {
    "score": (),
    "replay": (),
    "solve": (),
    "score --lines": (),
    "solve --lines": (),
    "import": (),
    "sheet": (),
    "whatif": ("--convention", "sochi"),
    "audit verify --against": (),
}
#: The command line for each list of arguments, one after another in one process: what each ended with and said.
EACH = [
    sys.executable,
    "-c",
    """
import contextlib, io, json, sys
from services.cli.main import main
told = []
for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    with contextlib.redirect_stderr(io.TextIOWrapper(io.BytesIO(), write_through=True)) as said:
        try:
            main()
        except SystemExit as ended:
            told.append((ended.code, said.buffer.getvalue().decode()))
print(json.dumps(told))
""",
]
PULKA = [sys.executable, "-c", "from services.cli.main import main; main()"]


@pytest.fixture
def files(tmp_path):
    """What a person may name by mistake, and what is said of it."""
    fifo, folder, large = tmp_path / "fifo", tmp_path / "folder", tmp_path / "large.json"
    os.mkfifo(fifo)
    folder.mkdir()
    with large.open("wb") as file:
        file.truncate(1 << 34)  # 16 GiB of nothing: no room is taken, and whoever reads all of it never ends
    return {
        "device": ("/dev/zero", "is a device"),
        "pipe": (str(fifo), "is a pipe"),
        "folder": (str(folder), "is a folder"),
        "large": (str(large), "MiB"),
        "missing": (str(tmp_path / "none"), "No such file"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_no_document_is_one_line(tmp_path, files, command):
    """F18: a device without end, a pipe that nobody writes to, a folder, a file of gigabytes: status 2 and one line that names it."""
    away = {"PULKA_HOME": str(tmp_path), "PULKA_NATS_URL": "127.0.0.1:1", "PULKA_POSTGRES_DSN": "postgresql://127.0.0.1:1/none"}
    calls = [[*command.split(), named, *COMMANDS[command]] for named, _ in files.values()]
    done = subprocess.run(
        [*EACH, json.dumps(calls)], capture_output=True, text=True, timeout=60, check=True, env=os.environ | away, stdin=subprocess.DEVNULL
    )
    for (named, said), (status, told) in zip(files.values(), json.loads(done.stdout), strict=True):
        assert (status, told.count("\n")) == (2, 1), told
        assert named in told
        assert said in told


def test_standard_input_without_end_is_one_line():
    """F18: `-` may be a device too; no more than a document of it is read."""
    with open("/dev/zero", "rb") as zero:  # noqa: PTH123 - a device
        for options in ((), ("--lines",)):
            done = subprocess.run([*PULKA, "score", "-", *options], stdin=zero, capture_output=True, timeout=60, check=False)
            assert (done.returncode, done.stdout) == (2, b"")
            assert json.loads(done.stderr)["error"]["message"].endswith("MiB, which no such document has")


def test_a_document_of_the_largest_size_is_read(tmp_path):
    """The bound is a bound of bytes: one of exactly so many is read, one byte more is refused; a link to a file is a file."""
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b" " * LARGEST)
    link.symlink_to(path)
    assert len(read_document(str(link))) == LARGEST
    path.write_bytes(b" " * (LARGEST + 1))
    with pytest.raises(Malformed, match="over 1 MiB"):
        read_document(str(path))


def test_many_lines_may_be_more_than_a_document(tmp_path, monkeypatch):
    """With `--lines` the bound is a line's: a file of a million deal records is read line by line."""
    monkeypatch.setattr(documents, "LARGEST", 10)
    path = tmp_path / "lines"
    path.write_bytes(b"123456789\n" * 5)
    assert list(lines_of(str(path))) == [b"123456789\n"] * 5
    path.write_bytes(b"123456789\n" + b"1" * 12)
    lines = lines_of(str(path))
    assert next(lines) == b"123456789\n"
    with pytest.raises(Malformed, match="a line"):
        next(lines)


def test_a_closed_standard_input_is_one_line():
    """A command that was started without a standard input says that it cannot be read."""
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *PULKA, "score", "-"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_a_file_of_keys_is_a_file(tmp_path):
    """F18: a setting that names a device or a pipe in place of a file of keys is said, and not waited for."""
    os.mkfifo(tmp_path / "keys")
    for path in (tmp_path / "keys", tmp_path):
        with pytest.raises(KeyFileError, match="no file of keys"):
            MasterKeys.load(path)
