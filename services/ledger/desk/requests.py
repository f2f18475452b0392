"""What the ledger's handlers ask of every request alike: how long a page is, who may keep an answer, which names can exist."""

from __future__ import annotations

from typing import Annotated, Final

from litestar.params import QueryParameter

from shared.web.problems import Problem

PAGE: Final = 50  # deals or commits a page, some 50 KB
LARGEST_PAGE: Final = 200
NO_STORE: Final = {"Cache-Control": "no-store"}  # what is seen depends on the token

Limit = Annotated[int, QueryParameter(ge=1, le=LARGEST_PAGE)]


def known(player: str) -> None:
    """Raises 404 for a text that Postgres cannot hold: nobody is called so."""
    if "\0" in player:
        raise Problem(404, "no_such_player", "There is no such player.")
