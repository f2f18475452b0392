"""The command `pulka`. Exit status: 0 done; 1 refused by a rule, or a verification failed; 2 bad input or usage; 3 servers unreachable."""

from __future__ import annotations

import errno
import importlib
import sys

import click
import msgspec
from click.utils import PacifyFlushWrapper

from shared.rules.language.refusal import Malformed
from shared.web.service import CannotStart
from shared.web.settings import BadSetting

REFUSED, USAGE = 1, 2  # exit statuses
READER_GONE = 141  # exit status: what a shell shows for SIGPIPE, as in `pulka conventions | head -1`
INTERRUPTED = 130  # exit status after Ctrl-C, as shells count it: 128 + SIGINT; 1 would be a failed verification
CODES = {REFUSED: "refused", USAGE: "cannot_start", 3: "unavailable"}  # by exit status: what an error object of `--json` says
AS_JSON = "--json"  # an option of every command
TOLD = {
    errno.ENOSPC: "disk full",
    errno.EDQUOT: "disk full",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.EROFS: "read-only file system",
    errno.ENOENT: "no such file or folder",
    errno.ENOTDIR: "not a folder",
    errno.EISDIR: "a folder and no file",
    errno.EEXIST: "is there already",
    errno.ENOTEMPTY: "folder not empty",
    errno.ELOOP: "links in a circle",
    errno.ENAMETOOLONG: "name too long",
}
WITHOUT_PATH = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS}  # the rest without a path is a defect of ours
COMMANDS = {
    "up": "services.cli.serving.up:up",
    "serve": "services.cli.serving.serve:serve_command",
    "demo": "services.cli.serving.demo:demo",
    "score": "services.cli.player.score:score",
    "sheet": "services.cli.player.sheet:sheet",
    "whatif": "services.cli.player.whatif:whatif",
    "replay": "services.cli.player.replay:replay",
    "solve": "services.cli.player.solve:solve",
    "conventions": "services.cli.player.conventions:conventions",
    "audit": "services.cli.operator.audit:audit",
    "erase": "services.cli.operator.erase:erase",
    "keys": "services.cli.operator.keys:keys",
    "token": "services.cli.operator.token:token",
    "archive": "services.cli.operator.archive:archive",
    "export": "services.cli.operator.export:export",
    "streams": "services.cli.operator.streams:streams",
    "ledger": "services.cli.operator.ledger:ledger",
    "import": "services.cli.operator.import_pulka:import_command",
    "stats": "services.cli.player.players:stats",
    "standings": "services.cli.player.players:standings",
    "settings": "services.cli.operator.settings:settings_command",
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
        sys.exit(pulka.main(prog_name="pulka", standalone_mode=False))
    except SystemExit:
        if type(sys.stdout) is PacifyFlushWrapper:  # click's sign that nobody reads on; its own status would say "refused by a rule"
            sys.exit(READER_GONE)
        raise
    except click.ClickException as wrong:
        if AS_JSON in sys.argv:
            _fail("usage", wrong.format_message(), wrong.exit_code)
        wrong.show()
        sys.exit(wrong.exit_code)
    except click.Abort:
        click.echo("pulka: interrupted", err=True)
        sys.exit(INTERRUPTED)
    except (CannotStart, BadSetting, Malformed) as reason:
        _refuse(reason)
    except OSError as reason:
        what = TOLD.get(reason.errno or 0)
        if what is None or (reason.filename is None and reason.errno not in WITHOUT_PATH):
            raise
        _fail("cannot_start", f"{what}: {reason.filename}" if reason.filename else what, USAGE)


def _refuse(reason: CannotStart | BadSetting | Malformed) -> None:
    match reason:
        case CannotStart():
            _fail(CODES[reason.exit_code], str(reason), reason.exit_code)
        case BadSetting():
            _fail("bad_setting", str(reason), USAGE)
        case Malformed():  # a document that was to be read
            _fail(reason.code, str(reason), USAGE if reason.code == "malformed" else REFUSED, reason.document())


def _fail(code: str, message: str, status: int, error: dict[str, str] | None = None) -> None:
    """Say it in a sentence, or with `--json` by the object `error`, by default of code and message; end with `status`."""
    line = " ".join(message.split())
    if AS_JSON in sys.argv:
        click.echo(msgspec.json.encode({"error": error or {"code": code, "message": line}}), err=True)
    else:
        click.echo(f"pulka: {line}", err=True)
    sys.exit(status)
