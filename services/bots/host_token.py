"""The token by which a bot host is known to the lobby.

It comes from a file that `pulka token --scope host` filled, and that may be replaced; or, in one process with the lobby, from its key.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from shared.events.key_files import ChangingFile
from shared.web.auth import DAY, Issuer
from shared.web.service import CannotStart
from shared.web.settings import Settings, home_of, variable


def token_file(settings: Settings) -> Path:
    """Where the token is."""
    return Path(settings.bot_token_file) if settings.bot_token_file else home_of(settings) / "keys" / "bot_token"


class FiledToken:
    """The token in the file at `path`, which is followed: another one there counts within a second. Raises `CannotStart` without one."""

    def __init__(self, path: Path) -> None:
        self._file = ChangingFile(path)
        try:
            self._token = _read(path)
        except OSError as wrong:
            raise CannotStart(
                f"cannot read a bot host's token in {path}: {wrong.strerror}; `pulka token --scope host` makes one, "
                f"{variable('bot_token_file')} says where it is"
            ) from None
        if not self._token:
            raise CannotStart(f"{path}: not a bot host's token")

    def __call__(self) -> str:
        """The token now; a file that cannot be read, or has none, changes nothing."""
        if self._file.changed():
            try:
                self._token = _read(self._file.path) or self._token
            except OSError:
                return self._token
        return self._token


class MadeToken:
    """A token made where it is needed, by an `issuer` who has the key anyway; anew when half of its time is over, or the key has changed.

    `clock` is milliseconds since 1970.
    """

    def __init__(self, issuer: Issuer, clock: Callable[[], int]) -> None:
        self._issuer = issuer
        self._clock = clock
        self._token, self._key, self._until = "", "", 0

    def __call__(self) -> str:
        """The token now."""
        now, key = self._clock() // 1000, self._issuer.signer.id
        if now >= self._until or key != self._key:
            self._token, self._key, self._until = self._issuer.issue_host(now), key, now + DAY // 2
        return self._token


def _read(path: Path) -> str:
    """The one word in the file; empty when it has none, or several."""
    words = path.read_text(encoding="ascii", errors="replace").split()
    return words[0] if len(words) == 1 and words[0].isascii() else ""
