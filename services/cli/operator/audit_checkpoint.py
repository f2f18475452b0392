"""`pulka audit checkpoint`: sign what the log holds now, and keep the file where nobody who runs the club can change it."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.progress import Progress as Bar

from services.cli.console.plural import counted
from services.cli.operator.audit_access import access, audit_settings
from services.ledger.audit.gathering import NotToBeSigned
from services.ledger.audit.signing import signing_key
from shared.eventlog.aggregates.aggregates import Mismatch
from shared.events.checkpoint_document import Leaf, Signed, kept_text, key_id
from shared.events.keys import SigningKey
from shared.web.service import CannotStart
from shared.web.settings import Settings, home_of

REFUSED = 1  # exit status: the log is not as it should be, and nothing was signed


@click.command()
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the checkpoint with every table's leaf to a new file.")
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def checkpoint(out: Path | None, *, as_json: bool) -> None:
    """Sign the heads of all tables now, with the key of PULKA_SIGNING_KEY_FILE or of HOME/keys.

    Keep the file of --out somewhere else: `pulka audit verify --against FILE` tells what was changed since. Exit status 1 when the log
    is broken or differs from what the ledger has read; then nothing is signed.
    """
    if out is not None:
        _require_room(out)
    settings = audit_settings()
    key = _key(settings)
    try:
        signed, leaves = asyncio.run(_signed(settings, key))
    except NotToBeSigned as refused:
        about = {"table_id": refused.table, **msgspec.structs.asdict(refused.problem)}
        click.echo(msgspec.json.encode({"signed": False, "problem": about}) if as_json else f"nothing was signed: {refused}")
        raise SystemExit(REFUSED) from None
    if out is not None:
        out.write_bytes(kept_text(signed, leaves))
    _say(signed, out, as_json=as_json)


def _say(signed: Signed, out: Path | None, *, as_json: bool) -> None:
    header = signed.header
    if as_json:
        told: dict[str, Any] = {**msgspec.to_builtins(header), "key_id": key_id(header.key), "signature": signed.signature}
        click.echo(msgspec.json.encode({**told, "file": None if out is None else str(out)}))
        return
    click.echo(f"checkpoint {header.number}: {counted(header.tables, 'table')}, {counted(header.commits, 'commit')}, root {header.root}")
    click.echo(f"signed by key {key_id(header.key)}, public {header.key}" + ("" if out is None else f", kept in {out}"))


def _require_room(out: Path) -> None:
    """Raises `CannotStart` unless a new file can be made there: what is signed cannot be taken back."""
    if out.exists():
        raise CannotStart(f"{out} exists; a checkpoint never overwrites a file")
    if not out.parent.is_dir():
        raise CannotStart(f"{out.parent} is no folder")
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise CannotStart(f"no permission to write into {out.parent}")


def _key(settings: Settings) -> SigningKey:
    own = home_of(settings) / "keys" / "signing_key"
    if not settings.signing_key_file and own.exists():
        settings = msgspec.structs.replace(settings, signing_key_file=str(own))
    key = signing_key(settings)
    if key is None:
        raise CannotStart(f"no signing key: PULKA_SIGNING_KEY_FILE is not set, and there is no {own}")
    return key


async def _signed(settings: Settings, key: SigningKey) -> tuple[Signed, list[Leaf]]:
    console = Console(stderr=True)
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("log", total=None)
        async with access(settings, writes=True) as at:
            checkpoints = at.checkpoints(lambda done, every: bar.update(task, completed=done, total=every))
            with suppress(Mismatch):  # the ledger signed its daily one in this moment; ours is the next
                return await checkpoints.sign(key, int(time.time() * 1000))
            return await checkpoints.sign(key, int(time.time() * 1000))
