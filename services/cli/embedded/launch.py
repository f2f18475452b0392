"""Runs in the new process, just before the server's program takes its place: ties its life to its parent's.

Started by path with `python -I -S` (nothing of the project is imported), in the session that `Popen` set up:

    launch.py PARENT_PID SIGNAL UID:GID|- PROGRAM ARGUMENT…

On Linux the kernel sends SIGNAL when the thread that started us ends (`PR_SET_PDEATHSIG`; it survives `exec`). Elsewhere a
watchdog process of our own looks at the parent's pid (macOS: untested).
"""

import ctypes
import os
import signal
import sys
import time

ON_LINUX: bool = sys.platform == "linux"  # typed, since mypy would take the other branch for dead
PR_SET_PDEATHSIG = 1  # <sys/prctl.h>
WATCHDOG_SECONDS = 0.5  # how long a server may outlive its parent where the kernel does not tell


def tie_to_parent(parent: int, number: int) -> None:
    """Make sure that this process gets signal `number` when `parent` is gone."""
    if ON_LINUX:
        if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0) != 0:
            sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
        if os.getppid() != parent:  # it died before the tie was made, so no signal will come
            sys.exit("the parent is gone")
        return
    server = os.getpid()
    if os.fork() == 0:
        watch(parent, server, number)


def watch(parent: int, server: int, number: int) -> None:
    """The watchdog: ends with the server, or ends it when the parent is gone."""
    while _alive(server):
        if not _alive(parent):
            os.kill(server, number)
            break
        time.sleep(WATCHDOG_SECONDS)
    os._exit(0)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def become(owner: str) -> None:
    """Take the account `uid:gid`. Here and not by `Popen`, since that account may not be able to read this very Python."""
    if owner != "-":
        uid, gid = map(int, owner.split(":"))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)


def main(arguments: list[str]) -> None:
    """Take the account, tie, then become the program."""
    parent, number, owner, program = int(arguments[0]), int(arguments[1]), arguments[2], arguments[3:]
    for caught in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(caught, signal.SIG_DFL)  # Python ignores SIGPIPE, and an ignored signal stays ignored after exec
    become(owner)
    tie_to_parent(parent, number)  # after the change of account, which would undo it
    os.execv(program[0], program)  # noqa: S606 - no shell wanted


if __name__ == "__main__":
    main(sys.argv[1:])
