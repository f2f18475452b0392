"""`pulka keys`: make keys, see whether they are the right ones, put new ones in their place while people play."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Final

import click
import msgspec

from services.cli.embedded.keys import ENTROPY_BYTES, INSTEAD, ensure_token_keys, new_id, told_in_a_line
from services.cli.operator.key_files import HOME_OPTION, JSON_OPTION, place_of
from services.cli.operator.keys_check import check
from services.cli.operator.keys_rotate import rotate
from shared.events.keys import MasterKeys, SigningKey
from shared.web.service import CannotStart

LONGEST_SWITCH: Final = 7 * 24 * 60  # minutes; a roll-out that takes longer than a week is not one


@click.group()
def keys() -> None:
    """Make keys, check them, and rotate them while people play. No key is ever shown."""


keys.add_command(check)
keys.add_command(rotate)


@keys.command()
@HOME_OPTION
@click.option(
    "--switch-in",
    "minutes",
    type=click.IntRange(0, LONGEST_SWITCH),
    default=0,
    show_default=True,
    help="In a club that has no token keys yet: minutes until the lobby signs with them, while older instances are exchanged.",
)
@JSON_OPTION
def new(home: Path | None, minutes: int, *, as_json: bool) -> None:
    """Make the key files that are missing: of the HOME, or those that the PULKA_…_FILE variables name. What is there stays as it is.

    For `pulka serve`; `pulka up` makes its own. Copy the files to where the services run: the private token key to the lobby alone, the
    public ones to all.
    """
    place = place_of(home)
    files, made = place.files, []
    older = files.master_keys.exists()
    if not older and place.home.has_log:
        raise CannotStart(f"{files.master_keys} is missing, and {place.home.path} has a log: put it back ({INSTEAD['master_keys']})")
    for file in msgspec.structs.astuple(files):
        _folder(file.parent, place.home.path)
    with told_in_a_line():
        if not older:
            MasterKeys.create(files.master_keys, new_id(), secrets.token_bytes(ENTROPY_BYTES))
            made.append(files.master_keys)
        if not files.signing_key.exists():
            SigningKey.create(files.signing_key, new_id(), secrets.token_bytes(ENTROPY_BYTES))
            made.append(files.signing_key)
        if ensure_token_keys(files.token_key, files.token_public_keys, int(time.time()) + 60 * minutes if older else 0):
            made += [files.token_key, files.token_public_keys]
        public = SigningKey.load(files.signing_key).public
    if as_json:
        named = {field: str(path) for field, path in msgspec.structs.asdict(files).items()}
        click.echo(msgspec.json.encode({"made": [str(path) for path in made], "files": named, "signing_public": public}))
        return
    for path in msgspec.structs.astuple(files):
        click.echo(f"{path}: {'made' if path in made else 'is there'}")
    click.echo(f"public signing key, for everybody to write down: {public}")


def _folder(folder: Path, home: Path) -> None:
    """A home's folder of keys is made, for its owner alone; any other has to be there."""
    if folder == home / "keys":
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    elif not folder.is_dir():
        raise CannotStart(f"{folder} is no folder")
