"""What the commands of `pulka keys` have in common: which files are meant, and which instances use them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import click
import httpx
import msgspec

from services.cli.console.server_url import SERVER_URL, server_away
from services.cli.embedded.home import Home
from services.cli.embedded.keys import KeyFiles
from shared.web.auth import token_keys_file, token_public_keys_file
from shared.web.service import CannotBeDone, CannotStart
from shared.web.settings import Settings, home_of, read_settings

Kind: TypeAlias = Literal["master", "signing", "token"]

KINDS: Final = ("master", "signing", "token")
PATIENCE: Final = 5.0  # seconds for one answer of /health; a service that cannot say how it is answers within one
WAIT_S: Final = 30.0  # seconds until every instance has taken up a changed file; they look once a second, and files are copied by people
PAUSE_S: Final = 0.25  # seconds between two questions meanwhile

HOME_OPTION = click.option("--home", type=click.Path(path_type=Path), help="Folder with the keys.  [default: PULKA_HOME or .pulka]")
URL_OPTION = click.option(
    "--url",
    "urls",
    type=SERVER_URL,
    multiple=True,
    help="An instance's address, one each.  [default: the `pulka up` of the home]",
)
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")


class Place(msgspec.Struct, frozen=True):
    """The files that are meant, and whether a variable named any of those of a kind: then services elsewhere may use them."""

    settings: Settings
    home: Home
    files: KeyFiles

    def elsewhere(self, kind: Kind) -> bool:
        """Whether files of this kind were named: instances that are not the home's own use them."""
        given = {
            "master": self.settings.master_keys_file,
            "signing": self.settings.signing_key_file,
            "token": self.settings.token_key_file or self.settings.token_public_keys_file,
        }
        return bool(given[kind])


def place_of(home: Path | None) -> Place:
    """What the variables say, or the folder `home`. Raises `BadSetting`."""
    settings = read_settings(os.environ)
    if home is not None:
        named = {"master_keys_file": "", "signing_key_file": "", "token_key_file": "", "token_public_keys_file": ""}
        settings = msgspec.structs.replace(settings, home=str(home), **named)
    own = home_of(settings) / "keys"
    files = KeyFiles(
        master_keys=Path(settings.master_keys_file) if settings.master_keys_file else own / "master_keys",
        signing_key=Path(settings.signing_key_file) if settings.signing_key_file else own / "signing_key",
        token_key=token_keys_file(settings),
        token_public_keys=token_public_keys_file(settings),
    )
    return Place(settings, Home(home_of(settings)), files)


class Instance(msgspec.Struct, frozen=True):
    """What an instance says of its keys: which master key seals and which open, by service; which tokens it takes; which key signs them."""

    url: str
    seals: tuple[str, ...]
    opens: tuple[frozenset[str], ...]
    takes: frozenset[str]
    signs: tuple[str, ...]
    trouble: str | None

    def knows(self, kind: Kind, key_id: str) -> bool:
        """Whether it can do with what is sealed or signed under this key."""
        return key_id in self.takes if kind == "token" else all(key_id in opens for opens in self.opens)

    def uses(self, kind: Kind, key_id: str) -> bool:
        """Whether it seals or signs under this key, if it does so at all."""
        return all(used == key_id for used in (self.signs if kind == "token" else self.seals))


def asked(url: str) -> Instance:
    """What the instance at `url` says. Raises `ServersUnreachable`, `CannotStart` for what is no instance of this version."""
    try:
        told = httpx.get(f"{url.rstrip('/')}/health", timeout=PATIENCE, trust_env=False).json()
        services: list[dict[str, Any]] = list(told["services"].values())
        masters = [service["master_keys"] for service in services if "master_keys" in service]
        return Instance(
            url,
            tuple(one["seals"] for one in masters),
            tuple(frozenset(one["opens"]) for one in masters),
            frozenset(told["token_keys"]["known"]),
            tuple(service["token_key"] for service in services if "token_key" in service),
            next((one["trouble"] for one in (*masters, told["token_keys"]) if one["trouble"]), None),
        )
    except (httpx.TransportError, httpx.InvalidURL) as away:
        raise server_away(url, away) from away
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CannotStart(f"{url}/health says nothing of keys: it is another server, or still an older version of this one") from None


def wait_for(urls: Sequence[str], holds: Callable[[Instance], bool], what: str) -> None:
    """Until `holds` for every instance. Raises `CannotBeDone` with `what` did not come in time, and as `asked`."""
    until = time.monotonic() + WAIT_S
    for url in urls:
        while not holds(found := asked(url)):
            if time.monotonic() > until:
                raise CannotBeDone(f"{url} {what}{f': {found.trouble}' if found.trouble else ''}")
            time.sleep(PAUSE_S)


def instances(place: Place, urls: Sequence[str]) -> list[str]:
    """The instances that use the files: those that were named, else the process that runs in the home. Raises `CannotStart`."""
    if urls:
        return list(urls)
    try:
        own = place.home.address()
        if own is None and place.home.held:
            raise CannotStart(f"{place.home.path} is starting or stopping: try again when it is ready")
    except PermissionError:
        raise CannotStart(f"{place.home.path} belongs to another user: run this as they") from None
    return [] if own is None else [own]
