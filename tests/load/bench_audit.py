"""The audit's figures: how fast a stranger's program checks an export, chains alone and all of it, and how fast a proof is. JSON lines.

Needs no server: whole pulkas are played into a log in memory by a seeded lot, and written as an export with a signed checkpoint.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType

from shared.eventlog.memory import MemoryLog, MemoryStore
from shared.events import checkpoint_document as document
from shared.events import merkle
from shared.events.commit import hash_of
from shared.events.export_file import ExportWriter
from shared.events.keys import SigningKey
from tests.load.figures import tell
from tests.services.ledger.played import PlayedTable

PROGRAM = Path(__file__).resolve().parents[2] / "deploy" / "verify" / "verify.py"
KEY = SigningKey("bench", b"b" * 32)
CLUB = 100_000  # tables, for the proofs
PROOFS = 2_000


async def played(commits: int) -> list[tuple[str, list[bytes]]]:
    """Whole pulkas of three and four players with so many commits in all, or a few more."""
    log, tables = MemoryLog(MemoryStore()), []
    while commits > 0:
        seed = len(tables)
        table = await PlayedTable(log, seed, partition=seed % 8, players=3 + seed % 2, target=30).play()
        tables.append((table.id, [recorded.data for recorded in table.commits]))
        commits -= len(table.commits)
    return tables


def exported(tables: list[tuple[str, list[bytes]]]) -> bytes:
    """The export, with the proof of every table."""
    leaves = document.in_order(document.leaf_of(table, list(map(hash_of, commits))) for table, commits in tables)
    tree, writer = document.tree_of(leaves), ExportWriter()
    lines = [writer.header(0), *(writer.table(*table) for table in tables)]
    lines.append(writer.checkpoint(document.sign(KEY, 1, 0, leaves, None)))
    lines += [writer.proof(leaf, document.path_in(tree, place)) for place, leaf in enumerate(leaves)]
    return b"".join([*lines, writer.end()])


def program() -> ModuleType:
    """`deploy/verify/verify.py` as a module."""
    spec = importlib.util.spec_from_file_location("verify", PROGRAM)
    assert spec is not None and spec.loader is not None  # noqa: PT018 - it is a file of ours
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def chains(verify: ModuleType, path: Path) -> float:
    """Commits a second: the file read, and every chain checked, in one process."""
    export, began = verify.Export(path), time.perf_counter()
    for table, lines, _, head in export.tables():
        if verify.intact(f"table.{table[0]}.{table}", lines, head) is None:
            raise AssertionError(table)
    if export.problems:
        raise AssertionError(export.problems)
    return float(export.commits / (time.perf_counter() - began))


def whole(path: Path, commits: int) -> float:
    """Commits a second: the program as a stranger runs it, start and all, on every core."""
    began = time.perf_counter()
    subprocess.run([sys.executable, str(PROGRAM), str(path), "--key", KEY.public], check=True, stdout=subprocess.DEVNULL)
    return commits / (time.perf_counter() - began)


def proofs() -> tuple[float, float]:
    """Milliseconds to grow the tree of a large club's checkpoint, and microseconds for one proof from it."""
    leaves = [document.Leaf(f"{place % 8}-{place:026}", 500, "0" * 64, "1" * 64) for place in range(CLUB)]
    began = time.perf_counter()
    tree = document.tree_of(leaves)
    grown = time.perf_counter()
    hashes = merkle.Tree(place.to_bytes(32, "big") for place in range(500))
    for place in range(PROOFS):
        document.path_in(tree, place * 41 % CLUB)
        document.path_in(hashes, place % 500)
    return 1000 * (grown - began), 1e6 * (time.perf_counter() - grown) / PROOFS


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--commits", type=int, default=150_000)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    tables = asyncio.run(played(chosen.commits))
    commits = sum(len(stored) for _, stored in tables)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export.ndjson"
        path.write_bytes(exported(tables))
        of, verify = f"{len(tables)} tables, {commits} commits, {path.stat().st_size / 1e6:.0f} MB", program()
        tell(
            "audit_chains_of_export",
            "commits/s",
            [chains(verify, path) for _ in range(chosen.rounds)],
            of=f"{of}; hash, place and link of each, one process",
        )
        everything = [whole(path, commits) for _ in range(chosen.rounds)]
        tell("audit_export_checked", "commits/s", everything, of=f"{of}; chains, deals, tricks, settlements, proofs, signature")
    grown, proved = zip(*(proofs() for _ in range(chosen.rounds)), strict=True)
    tell("audit_tree_grown", "ms", grown, of=f"{CLUB} tables")
    tell("audit_proof", "us", proved, of=f"one commit of 500 in one table of {CLUB}, tree at hand")


if __name__ == "__main__":
    main()
