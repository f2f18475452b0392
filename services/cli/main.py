"""The command `pulka`. Exit status: 0 done; 1 refused by a rule, or a verification failed; 2 bad input or usage; 3 servers unreachable."""

from __future__ import annotations

import errno
import importlib
import sys

import click
import msgspec

from shared.web.service import CannotStart
from shared.web.settings import BadSetting

USAGE = 2  # exit status
COMMANDS = {
    "up": "services.cli.up:up",
    "serve": "services.cli.serve:serve_command",
    "demo": "services.cli.demo:demo",
    "score": "services.cli.score:score",
    "replay": "services.cli.replay:replay",
    "audit": "services.cli.audit:audit",
    "settings": "services.cli.settings:settings_command",
}


class Commands(click.Group):
    """Imports a command when it is asked for: a scorer need not wait a third of a second for web server, database and log."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """The command called so, if there is one."""
        module, _, name = COMMANDS.get(cmd_name, "").partition(":")
        command: click.Command | None = getattr(importlib.import_module(module), name) if module else None
        return command


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="pulka")
def pulka() -> None:
    """The backend of an online club for Russian preferans."""


def main() -> None:
    """Run the command line; what a person can mend is said in one line, not by a traceback."""
    try:
        pulka.main(prog_name="pulka")
    except CannotStart as reason:
        _fail("cannot_start" if reason.exit_code == USAGE else "unavailable", str(reason), reason.exit_code)
    except BadSetting as reason:
        _fail("bad_setting", str(reason), USAGE)
    except OSError as reason:
        if reason.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        full = reason.errno in (errno.ENOSPC, errno.EDQUOT)
        where = f": {reason.filename}" if reason.filename else ""
        _fail("cannot_start", f"{'disk full' if full else 'no permission'}{where}", USAGE)


def _fail(code: str, message: str, status: int) -> None:
    line = " ".join(message.split())
    if "--json" in sys.argv:
        click.echo(msgspec.json.encode({"error": {"code": code, "message": line}}), err=True)
    else:
        click.echo(f"pulka: {line}", err=True)
    sys.exit(status)
