"""Players' names, fetched from the lobby for each answer and stored nowhere: the ledger itself holds no names.

So a name is in no row, no digest, no log line and no cache of the ledger's, and one that was erased is gone from the next answer on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Final, TypeAlias

import httpx
import msgspec
import structlog

PATIENCE: Final = httpx.Timeout(1.0, connect=0.5)  # seconds: it takes milliseconds, and a page without names is worth more than none
AT_ONCE: Final = 100  # ids a question, as many as the lobby takes (deploy/docs/http.md: Lobby)

Names: TypeAlias = Callable[[Collection[str]], Awaitable[Mapping[str, str]]]
"""The names of some players by id, as far as they are known."""

log = structlog.get_logger(__name__)


class _Answer(msgspec.Struct, frozen=True):
    names: dict[str, str | None]


class LobbyNames:
    """Names from the lobby at `url`, a base URL; with "" nobody's are known. Is a `Names`."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._client: httpx.AsyncClient | None = None

    async def __call__(self, players: Collection[str]) -> Mapping[str, str]:
        """The names of `players`; none while the lobby does not answer, which the log says."""
        wanted = list(dict.fromkeys(players))
        if not self._url or not wanted:
            return {}
        found: dict[str, str | None] = {}
        try:
            for first in range(0, len(wanted), AT_ONCE):
                found |= await self._asked(wanted[first : first + AT_ONCE])
        except (httpx.HTTPError, httpx.InvalidURL, msgspec.DecodeError) as away:
            log.warning("names_unavailable", reason=type(away).__name__)
            return {}
        return {player: name for player, name in found.items() if name is not None}

    async def close(self) -> None:
        """Give the connections back."""
        if self._client is not None:
            await self._client.aclose()

    async def _asked(self, wanted: list[str]) -> dict[str, str | None]:
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=PATIENCE, trust_env=False)  # the lobby is where the setting says, behind no proxy
        answer = await self._client.get(f"{self._url}/v1/lobby/names", params={"ids": ",".join(wanted)})
        answer.raise_for_status()
        return msgspec.json.decode(answer.content, type=_Answer).names


async def nobody(_players: Collection[str]) -> Mapping[str, str]:
    """The names where no lobby is known: none."""
    return {}


def by_seat(seats: Sequence[str], names: Mapping[str, str], players: int, unnamed: Callable[[int], str]) -> list[str] | None:
    """The names of a sheet of so many `players`, `unnamed` where one is not known; None where nobody's is, or the seats are others."""
    if len(seats) != players or not any(player in names for player in seats):
        return None
    return [names.get(player) or unnamed(seat) for seat, player in enumerate(seats)]
