"""Which account the servers run under. Postgres refuses to run as root, so root needs somebody else.

An ordinary user runs them under their own account. Root, in this order: itself, in a user namespace where it is called nobody (files
stay root's and no account is needed); else the account nobody; else the owner of the closed folder that HOME lies in (root in
somebody's home). The first that can reach HOME is taken; where it cannot read the servers' programs, they are copied into HOME.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec

from shared.web.service import CannotStart

NOBODY = 65534  # the kernel's overflow id; every distribution calls it nobody
LAUNCH = Path(__file__).with_name("launch.py")
PROBE_SECONDS = 10  # a probe takes milliseconds; more means a hung file system


class Account(msgspec.Struct, frozen=True):
    """`uid`, `gid`: owner of the servers' folders, None for whoever we are. `prefix`: a command that puts us in a namespace."""

    name: str
    uid: int | None = None
    gid: int | None = None
    prefix: tuple[str, ...] = ()

    def start(self, command: list[str], log: Path, death_signal: int, folder: Path) -> subprocess.Popen[bytes]:
        """Start `command` under this account, tied to the calling thread's life; output goes to the end of `log`.

        A session of its own keeps Ctrl-C from the servers until the services have drained.
        """
        owner = "-" if self.uid is None else f"{self.uid}:{self.gid}"
        launch = [sys.executable, "-I", "-S", str(LAUNCH), str(os.getpid()), str(int(death_signal)), owner]
        with log.open("ab") as output:
            return subprocess.Popen(  # noqa: S603 - our own programs
                [*launch, *self.prefix, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                cwd=folder,
                env=SERVER_ENVIRONMENT,
            )

    def run(self, command: list[str], limit: float) -> subprocess.CompletedProcess[str]:
        """Run a short `command` under this account to its end, at most `limit` seconds; output is captured."""
        return subprocess.run(  # noqa: S603 - our own programs
            [*self.prefix, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=limit,
            cwd="/",
            env=SERVER_ENVIRONMENT,
            user=self.uid,
            group=self.gid,
            extra_groups=None if self.uid is None else [],
        )

    def can(self, test: str, path: Path) -> bool:
        """Whether this account passes `test` (of test(1): -r, -w, -x) on `path`."""
        try:
            return self.run([_SH, "-c", f'test {test} "$1"', "sh", str(path)], PROBE_SECONDS).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False

    def own(self, path: Path) -> None:
        """Give `path` and what is in it to this account; a no-op where it is its own already."""
        uid = os.geteuid() if self.uid is None else self.uid
        gid = os.getegid() if self.gid is None else self.gid
        if os.geteuid() != 0 or path.stat().st_uid == uid:
            return
        for inner in (*path.rglob("*"), path):  # the folder last: its owner says that all of it was done
            os.chown(inner, uid, gid, follow_symlinks=False)


_SH = shutil.which("sh") or "/bin/sh"
SERVER_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}  # nothing of ours: no PG* variable may steer the servers


def choose_account(home: Path) -> Account:
    """The account that runs the servers with their data in `home`; raises `CannotStart` when nobody can reach it."""
    if os.geteuid() != 0:
        return Account("self")
    for account in _candidates(home):
        if account.uid is not None:
            home.chmod(0o711)  # another account must pass through to its own folders; what lies beside them is closed
        if account.can("-x", home):
            return account
    raise CannotStart(f"no account that Postgres may run under can reach {home}: choose another --home")


def _candidates(home: Path) -> list[Account]:
    found = []
    unshare = shutil.which("unshare")
    if unshare:
        prefix = (unshare, "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "--")
        found.append(Account("namespace", prefix=prefix))
    found.append(Account("nobody", NOBODY, _group(NOBODY)))
    owners = dict.fromkeys(folder.stat().st_uid for folder in home.parents)
    found.extend(Account("owner", uid, _group(uid)) for uid in owners if uid != 0)
    return found


def _group(uid: int) -> int:
    """The account's own group; a folder's might be root's."""
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return NOBODY
