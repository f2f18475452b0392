"""`pulka keys check`: whether the key files can be used, are closed to others, and have every key that the log needs."""

from __future__ import annotations

import asyncio
import datetime as dt
import re
import stat
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final, TypeVar

import asyncpg
import click
import msgspec

from services.cli.console.logs import log_to
from services.cli.console.progress import how_far
from services.cli.operator.connections import completed, told_in_words
from services.cli.operator.key_files import HOME_OPTION, JSON_OPTION, URL_OPTION, Place, asked, instances, place_of
from services.cli.serving.composition import require_reachable
from services.ledger.audit.against import signed_in
from services.ledger.audit.gathering import QUIET, ends_of
from services.lobby.vault import vault_schema
from services.table.openings import Openings
from shared.eventlog.port import EventLog
from shared.events import key_files
from shared.events.checkpoint_document import Signed, sign, wrong_with
from shared.events.key_files import OTHERS, KeyFileError, Keys
from shared.events.keys import SigningKey
from shared.events.token_keys import PublicKeys, TokenSigner, read_public
from shared.projections.core.checkpoint import CONNECT_S
from shared.web.auth import LIFETIME, READ, Issuer, Tokens
from shared.web.log_connection import connected_log
from shared.web.problems import Problem
from shared.web.settings import Settings

WRONG: Final = 1  # exit status: a key is missing, or a file is open to others
PLAYER: Final = "nobody"  # whom the token of the trial names; no player id looks like it
BOX: Final = re.compile(rb'"key":"([a-z0-9][a-z0-9_-]{0,31})","nonce":"')  # of a box; quotes in a player's text have a backslash

_Read = TypeVar("_Read")


class Found(msgspec.Struct, frozen=True):
    """One thing that is wrong: what about, in a word, and in a sentence what to do."""

    about: str
    code: str
    message: str


@click.command()
@URL_OPTION
@click.option("--files-only", is_flag=True, help="Look at the files alone; ask neither the log nor any instance.")
@HOME_OPTION
@JSON_OPTION
def check(urls: tuple[str, ...], home: Path | None, *, files_only: bool, as_json: bool) -> None:
    """Check the keys: modes of the files, that a token and a checkpoint verify, which master keys log and vault need, what instances know.

    The log is read where PULKA_NATS_URL and PULKA_POSTGRES_DSN, or a running home, say where it is. Exit status 1 when something is wrong.
    """
    place = place_of(home)
    wrong: list[Found] = []
    about = _files(place, wrong)
    if not files_only:
        settings = completed(place.settings)
        if settings.nats_url and settings.postgres_dsn:
            log_to(sys.stderr, "warning")
            require_reachable(settings)
            with told_in_words(settings):
                about |= asyncio.run(_needed(settings, set(about["master"]["opens"]), wrong))
        about["instances"] = [_instance(url, about, wrong) for url in instances(place, urls)]
    if as_json:
        click.echo(msgspec.json.encode({"well": not wrong, **about, "problems": wrong}))
    else:
        _say(about, wrong)
    sys.exit(WRONG if wrong else 0)


# ---- files ----------------------------------------------------------------------------------------------------------------


def _files(place: Place, wrong: list[Found]) -> dict[str, Any]:
    files = place.files
    master: Keys = _read("master", files.master_keys, key_files.read, wrong) or ()
    own = not place.elsewhere("master")  # a home has all; services elsewhere have what they need
    signing = _read("signing", files.signing_key, key_files.read, wrong) if own or files.signing_key.exists() else None
    public = _read("token", files.token_public_keys, _usable_public, wrong, closed=False)
    private = _read("token", files.token_key, key_files.read, wrong) if own or files.token_key.exists() else None
    if signing:
        _try_checkpoint(SigningKey(*signing[0]), wrong)
    if public and private:
        _try_token(private, public, files.token_public_keys, wrong)
    before = public[1] if public else 0
    return {
        "master": {"file": str(files.master_keys), "seals": master[0][0] if master else None, "opens": [key_id for key_id, _ in master]},
        "signing": {
            "file": str(files.signing_key),
            "signs": signing[0][0] if signing else None,
            "keys": [{"id": key_id, "public": SigningKey(key_id, key).public} for key_id, key in signing or ()],
        },
        "token": {
            "file": str(files.token_key),
            "public_file": str(files.token_public_keys),
            "signs": private[0][0] if private else None,
            "known": [key_id for key_id, _ in public[0]] if public else [],
            "hmac_before": before or None,
            "hmac_until": before + LIFETIME if before else None,
        },
    }


def _read(about: str, path: Path, load: Callable[[Path], _Read], wrong: list[Found], *, closed: bool = True) -> _Read | None:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        if closed and mode & OTHERS:
            wrong.append(Found(about, "mode", f"{path} is open to others ({mode:04o}): chmod 600 {path}"))
        return load(path)
    except KeyFileError as cannot:
        wrong.append(Found(about, "unreadable", str(cannot)))
    except OSError as cannot:
        absent = isinstance(cannot, FileNotFoundError)
        more = "; `pulka keys new` makes what is missing" if absent else ""
        wrong.append(Found(about, "missing" if absent else "unreadable", f"{path}: {cannot.strerror}{more}"))
    return None


def _usable_public(path: Path) -> tuple[Keys, int]:
    found = read_public(path)
    try:
        PublicKeys(*found)
    except ValueError:
        raise KeyFileError(f"{path}: what stands there is no public key") from None
    return found


def _try_token(private: Keys, public: tuple[Keys, int], path: Path, wrong: list[Found]) -> None:
    now = int(time.time())
    try:
        Tokens(PublicKeys(*public)).verify(Issuer(TokenSigner(private)).issue(PLAYER, (READ,), now, 60), now)
    except Problem:
        wrong.append(Found("token", "token_refused", f"{path} lacks the public half of {private[0][0]}, which signs: run `pulka keys new`"))


def _try_checkpoint(key: SigningKey, wrong: list[Found]) -> None:
    if wrong_with(sign(key, 1, 0, [], None), frozenset({key.public})):
        wrong.append(Found("signing", "checkpoint_refused", f"what {key.id} signs does not verify"))


# ---- the log --------------------------------------------------------------------------------------------------------------


async def _needed(settings: Settings, known: set[str], wrong: list[Found]) -> dict[str, Any]:
    """Which master keys the log's boxes, the vault and the table service's own notes name, and which keys signed."""
    log = await connected_log(settings, "pulka keys", on_closed=None)
    try:
        with how_far("commits") as told:
            boxes = await _in_boxes(log, told)
        signed = await signed_in(log)
    finally:
        await log.close()
    notes, vault = await _in_rows(settings)
    for where, ids in (("log", set(boxes)), ("vault", set(vault)), ("log", notes - set(boxes))):
        said = f"the {where} needs this master key, which is not in the file: put it back"
        wrong += [Found("master", "key_missing", f"{key_id}: {said}") for key_id in sorted(ids - known)]
    for event in signed[-1:]:
        found = wrong_with(Signed(event.signed, event.signature), frozenset())
        wrong += [Found("signing", problem.code, f"checkpoint {event.number}: {problem.message}") for problem in found]
    return {
        "needed": {"log": dict(sorted(boxes.items())), "vault": dict(sorted(vault.items())), "sealed_with": sorted(notes)},
        "signed_by": list(dict.fromkeys(event.key for event in signed)),
    }


async def _in_boxes(log: EventLog, told: Callable[[int], None]) -> dict[str, int]:
    """Master keys by id: how many commits have boxes under it."""
    found: dict[str, int] = {}
    commits = 0
    for stream, end in (await ends_of(log)).items():
        if not end:
            continue
        quiet = 0
        async with aclosing(log.follow(stream)) as batches:
            async for batch in batches:
                for stored in batch:
                    for key_id in {one.decode() for one in BOX.findall(stored.data)}:
                        found[key_id] = found.get(key_id, 0) + 1
                commits += len(batch)
                told(commits)
                quiet = 0 if batch else quiet + 1
                if quiet == QUIET or (batch and batch[-1].sequence >= end):
                    break
    return found


async def _in_rows(settings: Settings) -> tuple[set[str], dict[str, int]]:
    """Under which keys the table service noted that it sealed; by key, how many persons' keys in the vault are wrapped under it."""
    connection = await asyncpg.connect(settings.postgres_dsn, timeout=CONNECT_S)
    try:
        seen = f"{settings.namespace}_" * bool(settings.namespace) + f"{Openings.name}_v{Openings.version}"
        notes = await _rows(connection, f'SELECT key_id AS id, 1 AS many FROM "{seen}".key_seen')  # noqa: S608 - the schema is a setting, checked there
        vault = await _rows(
            connection,
            "SELECT convert_from(wrapped, 'UTF8')::json->>'key' AS id, count(*) AS many "  # noqa: S608 - see above
            f'FROM "{vault_schema(settings.namespace)}".person_keys GROUP BY 1',
        )
    finally:
        await connection.close()
    return set(notes), vault


async def _rows(connection: Any, statement: str) -> dict[str, int]:
    try:
        return {row["id"]: row["many"] for row in await connection.fetch(statement)}
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
        return {}  # of a club where this service never ran


# ---- instances ------------------------------------------------------------------------------------------------------------


def _instance(url: str, about: dict[str, Any], wrong: list[Found]) -> dict[str, Any]:
    one = asked(url)
    lacking = [key_id for key_id in about["master"]["opens"] if not one.knows("master", key_id)]
    untaken = [key_id for key_id in about["token"]["known"] if not one.knows("token", key_id)]
    for kind, ids in (("master", lacking), ("token", untaken)):
        if ids:
            wrong.append(Found(kind, "instance_lacks_key", f"{url} does not know {', '.join(ids)}: bring it the file"))
    if one.trouble is not None:
        wrong.append(Found("instance", "file_not_used", f"{url}: {one.trouble}"))
    return {"url": url, "seals": sorted(set(one.seals)), "signs_tokens": sorted(set(one.signs)), "takes": sorted(one.takes)}


# ---- what it says ---------------------------------------------------------------------------------------------------------


def _say(about: dict[str, Any], wrong: Sequence[Found]) -> None:
    master, signing, token = about["master"], about["signing"], about["token"]
    click.echo(f"master keys   {master['file']}: {master['seals']} seals; {', '.join(master['opens']) or 'none'} open")
    click.echo(f"signing key   {signing['file']}: {signing['signs']} signs")
    for one in signing["keys"]:
        click.echo(f"              {one['id']}, public {one['public']}")
    click.echo(f"token key     {token['file']}: {token['signs']} signs; known in {token['public_file']}: {', '.join(token['known'])}")
    if token["hmac_before"]:
        first, last = (dt.datetime.fromtimestamp(token[name], dt.UTC) for name in ("hmac_before", "hmac_until"))
        click.echo(f"              players' tokens by HMAC from before {first:%Y-%m-%d %H:%M} UTC: good to {last:%Y-%m-%d} at the latest")
    if "needed" in about:
        needed = about["needed"]
        click.echo(f"needed by     log: {_counts(needed['log'])}; vault: {_counts(needed['vault'])}")
        click.echo(f"signed by     {', '.join(about['signed_by']) or 'nobody yet'}")
    for one in about.get("instances", ()):
        signs = f", {', '.join(one['signs_tokens'])} signs tokens" if one["signs_tokens"] else ""
        click.echo(f"instance      {one['url']}: {', '.join(one['seals']) or 'nothing'} seals{signs}")
    for problem in wrong:
        click.echo(f"{problem.about}: {problem.code}: {problem.message}")
    click.echo("NOT WELL" if wrong else "well")


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{key_id} ({many})" for key_id, many in found.items()) or "no key"
