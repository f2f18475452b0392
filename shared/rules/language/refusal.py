"""How the rules say no: a refusal by a rule is a value, a document that cannot be read is an exception."""

from __future__ import annotations

import msgspec


class Refused(msgspec.Struct, frozen=True):
    """What was asked is against a rule; nothing has changed.

    `code` is a stable snake_case word (deploy/docs/refusals.md), `rule` the number of the Code's rule that decides, or "" where
    none does (a wrong phase, a stale revision), `message` one sentence for a person.
    """

    code: str
    rule: str
    message: str


class Malformed(Exception):
    """A document breaks its format. `path` names the place ("deals[0].tricks", "" for the whole), `message` what is wrong there.

    `code` is "malformed", but for a well-formed document whose contents a later part makes impossible ("pulka_over").
    """

    def __init__(self, path: str, message: str, code: str = "malformed") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.code = code
        self.path = path
        self.message = message

    def document(self) -> dict[str, str]:
        """The `error` object of a command's answer: `code`, `path`, `message`."""
        return {"code": self.code, "path": self.path, "message": self.message}


class NotJson(Malformed):
    """The document is not JSON at all; a command that reads one document a line ends differently for these."""
