"""`pulka keys rotate`: a new key in the place of an old one, without a move that fails.

Always in two steps. First the new key is added behind: every instance knows it, and nobody uses it yet. Then it is made the first: from now
on it seals or signs, and no instance meets what it does not know. Instances take up a changed file by themselves, within a second.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from services.cli.console.plural import counted
from services.cli.embedded.keys import ENTROPY_BYTES, new_id, told_in_a_line
from services.cli.operator.key_files import HOME_OPTION, JSON_OPTION, KINDS, URL_OPTION, Kind, Place, asked, instances, place_of, wait_for
from shared.events import key_files
from shared.events.key_files import Keys
from shared.events.keys import SigningKey
from shared.events.token_keys import public_half, public_text, read_public
from shared.web.service import CannotStart

DOES: Final = {"master": "seals", "signing": "signs checkpoints", "token": "signs tokens"}


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--to", "key_id", metavar="ID", help="The second step: from now on the key ID, which all instances know, seals or signs.")
@click.option("--forget", metavar="ID", help="token: take the key ID out of the public ones. Every token that it signed ends at once.")
@URL_OPTION
@HOME_OPTION
@JSON_OPTION
def rotate(kind: Kind, key_id: str | None, forget: str | None, urls: tuple[str, ...], home: Path | None, *, as_json: bool) -> None:
    """Put a new key in the place of the master key, the signing key or the token key.

    First the key is added, then it is used. Both happen in one run where the command can see that every instance has read the changed file:
    with one --url for each of them, or for a HOME. Otherwise, and always for the signing key, whose public half people must learn first, it
    adds the key and says what to run next.
    """
    if key_id is not None and forget is not None:
        raise click.UsageError("--to or --forget, one of the two")
    if forget is not None and kind != "token":
        raise click.UsageError("--forget is for token keys: what older master keys sealed needs them, and the log has all signing keys")
    place = place_of(home)
    where = "" if home is None else f" --home {home}"
    with told_in_a_line():
        answer = _forgotten(place, forget) if forget is not None else _rotated(place, kind, key_id, urls, where)
    click.echo(msgspec.json.encode(answer) if as_json else answer["message"])


def _rotated(place: Place, kind: Kind, key_id: str | None, urls: Sequence[str], where: str) -> dict[str, Any]:
    """Add a key, unless `key_id` was added before; use it, when all know it. `where`: the option that names the home, for the next step."""
    at = [] if kind == "signing" else instances(place, urls)  # no instance has to know a signing key before; people have to
    for url in at:
        asked(url)  # before anything is changed
    path, added = _file(place, kind), key_id is None
    if key_id is None:
        key_id = _add(place, kind)
    elif key_id not in dict(key_files.read(path)):
        raise CannotStart(f"{path} has no key {key_id}: `pulka keys check` lists those that it has")
    told: dict[str, Any] = {"kind": kind, "key": key_id, "file": str(path), "instances": at, "uses": False}
    if kind == "signing":
        told["public"] = SigningKey(key_id, dict(key_files.read(path))[key_id]).public
    if added and (kind == "signing" or (place.elsewhere(kind) and not at)):  # instances that nobody named may use the file
        return told | {"message": _next_step(place, told, where)}
    lacking = f"does not know the {kind} key {key_id} yet, so nothing uses it; go on with --to {key_id}"
    wait_for(at, lambda one: one.knows(kind, key_id), lacking)
    _use(place, kind, key_id)
    wait_for(at, lambda one: one.uses(kind, key_id), f"does not use the {kind} key {key_id} yet; its file may be another one")
    seen = f"; {counted(len(at), 'instance')} asked" if at else ""
    return told | {"uses": True, "message": f"{key_id} {DOES[kind]} from now on{seen}. Back up {path}."}


def _next_step(place: Place, told: dict[str, Any], where: str) -> str:
    """What to do between the two steps."""
    kind, key_id = told["kind"], told["key"]
    run = f"then run: pulka keys rotate {kind} --to {key_id}{where}"
    if kind == "signing":
        return f"step 1 of 2: {key_id} is added and signs nothing yet. Publish its public half, {told['public']}; {run}"
    file = place.files.token_public_keys if kind == "token" else told["file"]
    return (
        f"step 1 of 2: {key_id} is added to {file}, and nothing uses it yet. Bring the file to every instance, see by "
        f"`pulka keys check --url …` for each that it knows {key_id}; {run}"
    )


def _file(place: Place, kind: Kind) -> Path:
    return {"master": place.files.master_keys, "signing": place.files.signing_key, "token": place.files.token_key}[kind]


def _add(place: Place, kind: Kind) -> str:
    """A new key behind those that are there; its id. Of a token key the public half is known before the private one is there."""
    path = _file(place, kind)
    key = key_files.new_key(new_id(), secrets.token_bytes(ENTROPY_BYTES))
    with key_files.held(path):
        there = key_files.read(path)
        if kind == "token":
            public = place.files.token_public_keys
            known, before = read_public(public)
            key_files.replace(public, public_text([(key[0], public_half(key[1])), *known], before))
        key_files.replace(path, key_files.lines([*there, key]))
    return key[0]


def _use(place: Place, kind: Kind, key_id: str) -> None:
    """Make it the first. Older master keys go on opening; what signed before never signs again, so its private half goes."""
    path = _file(place, kind)
    with key_files.held(path):
        there = dict(key_files.read(path))
        if kind == "token" and dict(read_public(place.files.token_public_keys)[0]).get(key_id) != public_half(there[key_id]):
            raise CannotStart(f"{place.files.token_public_keys} lacks the public half of {key_id}: nobody would take its tokens")
        older: Keys = tuple(one for one in there.items() if one[0] != key_id) if kind == "master" else ()
        key_files.replace(path, key_files.lines([(key_id, there[key_id]), *older]))


def _forgotten(place: Place, key_id: str) -> dict[str, Any]:
    """A public key goes, and with it all tokens that were signed with its private half. Raises `CannotStart` for the one that signs now."""
    private, public = place.files.token_key, place.files.token_public_keys
    with key_files.held(public):
        if private.exists() and key_files.read(private)[0][0] == key_id:
            raise CannotStart(f"{key_id} signs tokens now: rotate first, with `pulka keys rotate token`")
        known, before = read_public(public)
        if key_id not in dict(known):
            raise CannotStart(f"{public} has no key {key_id}: `pulka keys check` lists those that it has")
        key_files.replace(public, public_text([one for one in known if one[0] != key_id], before))
    message = f"{key_id} is forgotten: tokens that it signed are refused as soon as {public} is read anew, within a second"
    return {"kind": "token", "key": key_id, "file": str(public), "forgotten": True, "message": message}
