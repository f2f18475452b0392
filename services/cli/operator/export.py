"""`pulka export`: export the ledger's rows from a server or straight from the database; an interrupted export can resume."""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import IO, Any, Final, get_args

import click
import msgspec

from services.cli.console.logs import log_to
from services.cli.console.plural import counted
from services.cli.console.progress import how_far
from services.cli.console.server_url import SERVER_URL
from services.cli.operator.connections import completed
from services.cli.operator.export_source import CONTROL, Fetch, control_in, from_database, from_server, whole
from services.ledger.exports.export_columns import What
from services.ledger.exports.export_files import FormName, NoSuchForm, NotInstalled, form_of
from services.ledger.exports.export_forms import Dialect, Form, Ndjson, Separator
from services.ledger.exports.export_rows import PART, Place
from shared.web.auth import issuing
from shared.web.service import CannotStart
from shared.web.settings import Settings, read_settings

FINISHED: Final = ".new"  # behind it while it gets its form, for a moment at the end
PARTIAL: Final = ".part"  # behind the file's name until all of it is there; holds NDJSON with its cursors, whatever the form will be
OPERATOR: Final = "operator"  # whose name the command's own token has
LIFETIME: Final = 3600  # seconds: a whole club takes minutes


@click.command()
@click.argument("what", type=click.Choice(get_args(What)))
@click.option("--player", metavar="ID", help="Only what concerns this player.")
@click.option(
    "--format", "form", type=click.Choice(get_args(FormName)), default="ndjson", show_default=True, help="csv, parquet: rows only."
)
@click.option("--separator", type=click.Choice(get_args(Separator)), default="comma", show_default=True, help="csv: between the columns.")
@click.option("--bom", is_flag=True, help="csv: begin with a UTF-8 byte order mark for Excel; keep what looks like a date as text.")
@click.option("--names", is_flag=True, help="With the players' names, as the lobby knows them now.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="File to write.  [default: standard output]")
@click.option("--resume", is_flag=True, help="Continue with the FILE.part of an earlier run.")
@click.option(
    "--url",
    type=SERVER_URL,
    help="Ask this server.  [default: read the database, of PULKA_POSTGRES_DSN or PULKA_HOME]",
)
@click.option("--token", envvar="PULKA_TOKEN", help="Ask with this token.  [default: as the operator, with the keys of PULKA_HOME]")
@click.option("--json", "as_json", is_flag=True, help="Report what was written to --out as one JSON object.")
def export(  # noqa: PLR0913 - a parameter an option
    what: What,
    player: str | None,
    form: FormName,
    separator: Separator,
    out: Path | None,
    url: str | None,
    token: str | None,
    *,
    bom: bool,
    names: bool,
    resume: bool,
    as_json: bool,
) -> None:
    """Write all WHAT: sheet entries, deal records, score files, statement lines, or the double entry.

    A file appears under its name when it is whole; until then FILE.part holds what is there, and --resume continues it.
    """
    settings = read_settings(os.environ)
    if out is None and (resume or as_json):
        raise click.UsageError("--resume and --json need --out")
    if out is None and form == "parquet" and sys.stdout.isatty():
        raise click.UsageError("parquet cannot be shown in a terminal; give --out FILE")
    dialect = Dialect(separator, bom)
    writer = _writer(form, what, player, None if dialect == Dialect() else dialect)
    if player is not None and (not player or "\0" in player):
        raise click.BadParameter("no player has this id", param_hint="--player")
    if out is not None:
        _require_free(out, resume=resume)
    log_to(sys.stderr, "warning")
    if url is not None:
        fetch = from_server(url, _token(settings, token), what, player, names=names)
    else:
        fetch = from_database(completed(settings), what, player, names=names)
    if out is None:
        _told_of_nobody(player, asyncio.run(_through(fetch, writer, sys.stdout.buffer)))
        return
    partial = out.with_name(out.name + PARTIAL)
    with _held(partial, resume=resume):
        try:
            rows = asyncio.run(_collected(fetch, partial, _Asked(what, player, names), resume=resume))
        except BaseException:
            if partial.exists() and not partial.stat().st_size:
                partial.unlink()  # nothing came, so there is nothing to go on with
            raise
        _converted(partial, writer, out)
    _told_of_nobody(player, rows)
    if as_json:
        click.echo(msgspec.json.encode({"file": str(out), "what": what, "player": player, "format": form, "rows": rows}))
    else:
        click.echo(f"{out}: {counted(rows, 'row')}", err=True)


def _writer(form: FormName, what: What, player: str | None, dialect: Dialect | None) -> Form:
    """What writes the rows down. Raises `BadParameter` for a form that they do not have, `CannotStart` for one that is not installed."""
    try:
        return form_of(form, what, player, dialect, resumed=False)
    except NoSuchForm as wrong:
        raise click.BadParameter(str(wrong), param_hint="--format") from None
    except NotInstalled as missing:
        raise CannotStart(str(missing)) from None


def _told_of_nobody(player: str | None, rows: int) -> None:
    """An id with a slip of the pen gives an empty file, as a player without pulkas does."""
    if player is not None and not rows:
        click.echo(f"You may see no data of a player with the id {player}.", err=True)


# ---- where it comes from -----------------------------------------------------------------------------------------------


def _token(settings: Settings, given: str | None) -> str | None:
    """The token that was given, else the operator's own, else none: whoever has no keys sees what everybody may see."""
    if given:
        return given
    try:
        return issuing(settings).issue_operator(OPERATOR, int(time.time()), LIFETIME, secrets.token_hex(8))
    except CannotStart:
        click.echo("no token and no keys: exporting only public pulkas that are over", err=True)
        return None


# ---- where it goes -----------------------------------------------------------------------------------------------------


def _require_free(out: Path, *, resume: bool) -> None:
    """Raises `CannotStart` for what an export must not take the place of: whatever there is, but for its own unfinished files."""
    if not out.parent.is_dir():
        raise click.BadParameter(f"{out.parent} is no folder", param_hint="--out")
    for path in (out, out.with_name(out.name + PARTIAL), out.with_name(out.name + FINISHED)):
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            raise CannotStart(f"{path} is not a regular file; choose another --out")
    if out.exists():
        left = out.with_name(out.name + PARTIAL).exists()  # the whole file took its name, and its part was not removed yet
        told = f"; if it is that export, whole, {out.name + PARTIAL} can go" if resume and left else ""
        raise CannotStart(f"{out} exists; an export never overwrites a file{told}")


@contextmanager
def _held(partial: Path, *, resume: bool) -> Iterator[None]:
    """`partial` is this run's alone. Raises `CannotStart`: an earlier run left it, or another writes it."""
    try:
        handle = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (0 if resume else os.O_EXCL), 0o666)
    except FileExistsError:
        raise CannotStart(_WRITTEN.format(partial) if _is_held(partial) else _LEFT.format(partial)) from None
    with os.fdopen(handle, "rb"):
        if not _took(handle):
            raise CannotStart(_WRITTEN.format(partial))
        if not partial.exists() or partial.stat().st_ino != os.fstat(handle).st_ino:
            raise CannotStart(f"another export has finished {partial} meanwhile")
        yield


def _is_held(partial: Path) -> bool:
    """Whether a run has it now."""
    try:
        with partial.open("rb") as file:
            return not _took(file.fileno())
    except FileNotFoundError:
        return False


def _took(handle: int) -> bool:
    """Take the lock of an open file, which falls with the process; false where another has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _through(fetch: Fetch, form: Form, out: IO[bytes]) -> int:
    """Straight to `out`, in its form; how many rows there were."""
    rows = 0
    with how_far("rows") as told:
        out.write(form.head(_NOWHERE) if not isinstance(form, Ndjson) else b"")
        gathered = _Gathered(form, out)
        async with aclosing(whole(fetch, None)) as lines:
            async for line in lines:
                rows = gathered.line(line)
                told(rows)
        gathered.close()
    out.flush()
    return rows


class _Asked(msgspec.Struct, frozen=True):
    """What an export is of, as its first line says it; its rows and another's do not belong into one file."""

    what: str
    player: str | None = None
    names: bool = False


async def _collected(fetch: Fetch, partial: Path, asked: _Asked, *, resume: bool) -> int:
    """Everything in the file `partial`, which may hold a part of it; returns how many rows that are. Raises `CannotStart`."""
    cursor, length, rows = _left(partial, asked) if resume else (None, 0, None)
    if rows is not None:
        return rows
    with partial.open("r+b" if length else "wb") as file, how_far("rows") as told:
        file.truncate(length)
        file.seek(length)
        found = 0
        async with aclosing(whole(fetch, cursor)) as lines:
            async for line in lines:
                file.write(line)
                if not line.startswith(CONTROL):
                    found += 1
                    told(found)
                elif (control := control_in(line)) is not None and control.end is not None:
                    rows = control.end["rows"]
        file.flush()
        os.fsync(file.fileno())
    assert rows is not None, "only the end ends it"  # noqa: S101 - says what `whole` promises
    return rows


def _left(partial: Path, asked: _Asked) -> tuple[str | None, int, int | None]:
    """Of an earlier run: its last cursor, the length up to it, and how many rows there are when it is whole. Raises `CannotStart`."""
    cursor, length, at = None, 0, 0
    if not partial.exists():
        return None, 0, None
    with partial.open("rb") as file:
        for line in file:
            if not at and not line.startswith(CONTROL[0]) and not CONTROL[0].startswith(line):  # it begins by saying what it is
                raise CannotStart(_NOT_OURS.format(partial))
            at += len(line)
            if not line.endswith(b"\n"):
                break
            try:
                control = control_in(line)
            except msgspec.DecodeError:
                raise CannotStart(_NOT_OURS.format(partial)) from None
            if control is None:
                continue
            if control.export is not None and msgspec.convert(control.export, _Asked) != asked:
                raise CannotStart(f"{partial} belongs to another export: {control.export}")
            if control.end is not None:
                return None, 0, control.end["rows"]
            if control.place is not None:
                cursor, length = control.place, at
    return cursor, length, None


def _converted(partial: Path, form: Form, out: Path) -> None:
    """What `partial` holds under its name and in its form; it appears all at once."""
    finished = out.with_name(out.name + FINISHED)
    with partial.open("rb") as lines, finished.open("wb") as file:
        file.write(form.head(_NOWHERE) if not isinstance(form, Ndjson) else b"")
        gathered = _Gathered(form, file)
        for line in lines:
            gathered.line(line)
        gathered.close()
        file.flush()
        os.fsync(file.fileno())
    finished.replace(out)
    partial.unlink()


class _Gathered:
    """Lines of NDJSON on their way into another form, some at a time; as NDJSON they stay as they are, without those that are no rows."""

    def __init__(self, form: Form, out: IO[bytes]) -> None:
        self._form, self._out = form, out
        self._rows: list[dict[str, Any]] = []
        self._count = 0

    def line(self, line: bytes) -> int:
        """One more; how many rows there have been."""
        if line.startswith(CONTROL):
            return self._count
        self._count += 1
        if isinstance(self._form, Ndjson):
            self._out.write(line)
            return self._count
        self._rows.append(msgspec.json.decode(line))
        if len(self._rows) >= PART:
            self._write()
        return self._count

    def close(self) -> None:
        """Nothing comes any more."""
        self._write()
        if not isinstance(self._form, Ndjson):
            self._out.write(self._form.end(_NOWHERE))

    def _write(self) -> None:
        if self._rows:
            self._out.write(self._form.rows(self._rows, _NOWHERE))
            self._rows = []


_NOWHERE: Final = Place((0,) * 8)  # neither CSV nor Parquet tells places
_LEFT: Final = "{} was left by an earlier run: --resume goes on with it, or remove it"
_WRITTEN: Final = "another `pulka export` is writing {} now; wait for it, or give another --out"
_NOT_OURS: Final = "{} is no interrupted export; remove it, or leave --resume out"
