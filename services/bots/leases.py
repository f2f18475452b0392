"""The leases of bot hosts as the lobby keeps them: a `LeaseStore` over HTTP."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import quote

import msgspec

from services.bots.client import Api
from shared.leases.port import Instance, ShareLease

_LEASES: Final = "/v1/lobby/bots/leases"
_HOSTS: Final = "/v1/lobby/bots/hosts"


class LobbyLeases:
    """Asks as whom `api` is, a bot host. Raises `ApiProblem` and `ApiUnreachable`."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def standing(self) -> tuple[list[ShareLease], list[Instance]]:
        """See `LeaseStore.standing`."""
        told = await self._api.get(_LEASES)
        return msgspec.convert(told["leases"], list[ShareLease]), msgspec.convert(told["hosts"], list[Instance])

    async def renew(self, holder: str, names: Collection[str], held: Mapping[str, int]) -> frozenset[str]:
        """See `LeaseStore.renew`."""
        told = await self._api.send("PUT", f"{_HOSTS}/{quote(holder)}", {"names": list(names), "held": dict(held)})
        return frozenset(told["held"])

    async def take(self, holder: str, seen: ShareLease) -> ShareLease | None:
        """See `LeaseStore.take`."""
        told = await self._api.post(_LEASES, {"holder": holder, "seen": msgspec.to_builtins(seen)})
        return msgspec.convert(told["lease"], ShareLease | None)

    async def release(self, held: Mapping[str, int]) -> None:
        """See `LeaseStore.release`."""
        await self._api.post(f"{_LEASES}/released", {"held": dict(held)})

    async def leave(self, holder: str) -> None:
        """See `LeaseStore.leave`."""
        await self._api.send("DELETE", f"{_HOSTS}/{quote(holder)}", None)
