"""What a stranger has: `deploy/verify/verify.py`, and exports of tables that were really played."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events import checkpoint_document as document
from shared.events.checkpoint_document import Leaf, Signed
from shared.events.commit import hash_of
from shared.events.export_file import ExportWriter
from shared.events.keys import SigningKey
from tests.services.ledger.played import PlayedTable

PROGRAM = Path(__file__).resolve().parents[2] / "deploy" / "verify" / "verify.py"
KEY = SigningKey("s1", b"k" * 32)
Tables = dict[str, list[bytes]]


@cache
def verify() -> ModuleType:
    """The program as a module."""
    spec = importlib.util.spec_from_file_location("verify_by_a_stranger", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def played(*seeds: int, deals: int = 0, **options: object) -> Tables:
    """Tables played to their end, or for so many deals: their commits by id."""

    async def play() -> Tables:
        log = MemoryLog(MemoryStore())
        tables = [await PlayedTable(log, seed, partition=seed % 8, **options).play(deals=deals) for seed in seeds]
        return {table.id: [recorded.data for recorded in table.commits] for table in tables}

    return asyncio.run(play())


def leaves(tables: Tables) -> list[Leaf]:
    """The tables' leaves, in order."""
    return document.in_order(document.leaf_of(table, list(map(hash_of, commits))) for table, commits in tables.items())


def signed(tables: Tables, number: int = 1, key: SigningKey = KEY) -> Signed:
    """A checkpoint over them."""
    return document.sign(key, number, 1_800_000_000_000, leaves(tables), None)


def exported(tables: Tables, checkpoint: Signed | None = None, over: Sequence[Leaf] = ()) -> bytes:
    """An export of the tables; with a checkpoint over `over` their proofs."""
    writer = ExportWriter()
    tree = document.tree_of(over)
    proofs = [writer_proof for place, leaf in enumerate(over) if (writer_proof := (leaf, document.path_in(tree, place)))[0].table in tables]
    return b"".join(
        [
            writer.header(1_800_000_000_000),
            *(writer.table(table, commits) for table, commits in tables.items()),
            *([writer.checkpoint(checkpoint)] if checkpoint is not None else []),
            *(writer.proof(*proof) for proof in proofs),
            writer.end(),
        ]
    )


def problems(path: Path, data: bytes, **options: object) -> list[tuple[str | None, int, str]]:
    """What the program finds in a file with `data`: table, revision, code."""
    path.write_bytes(data)
    verdict = verify().check(str(path), **options)
    assert verdict["verified"] == (not verdict["problems"])
    return [(one["table"], one["revision"], one["code"]) for one in verdict["problems"]]


def rechained(commits: Iterable[bytes]) -> list[bytes]:
    """The commits hashed anew, as somebody would who knows how: each names the one before again."""
    made: list[bytes] = []
    for data in commits:
        if made:
            begin = data.index(b',"prev_hash":"') + len(b',"prev_hash":"')
            made.append(data[:begin] + hash_of(made[-1]).encode() + data[begin + 64 :])
        else:
            made.append(data)
    return made
