"""Who gives an order at the command line, and why, in words that stay in the log."""

from __future__ import annotations

import getpass
from typing import Final

import click

from shared.rules.language.one_line import BROKEN, is_one_line

LONGEST: Final = 500  # characters of a name or a reason: a sentence or two, which stay in the log for ever


def author_of(given: str | None) -> str:
    """The name after `--by`, else that of the account. Raises `click.UsageError`."""
    if given is not None:
        return sentence("--by", given)
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # an account without a name, as in a container
        raise click.UsageError("--by NAME: this account has no name") from None


def sentence(option: str, text: str) -> str:
    """What was said after `option`, in one line. Raises `click.BadParameter`."""
    line = " ".join(text.split())
    if not 0 < len(line) <= LONGEST:
        raise click.BadParameter(f"1 to {LONGEST} characters", param_hint=option)
    if not is_one_line(line) or not line.isprintable():
        raise click.BadParameter(BROKEN, param_hint=option)
    return line
